/* Finds ranges of steps where running operators beside each other pays: several independent ones that cost
 * more than a hand-off between threads. A chain never becomes one, so it costs nothing. Running: run_dag.c.
 */
#include "exec/segment.h"

enum { MAX_RANGE = 4096 };
static const double hand_off_ns = 3000., worth = 1.25, wide_ns = 200000.;

/* Steps of the range whose results step i reads, each once. */
static int producers(const dtp_lower_t *l, const int *writer, int first, int i, int *out) {
    int n = 0;
    const dtp_step_t *s = l->steps[i];
    for (int k = 0; k < s->nargs + s->npost_args; ++k) {
        if (s->arg[k].buf < 0 || s->arg[k].written) continue;
        int w = writer[s->arg[k].buf], seen = w < first;
        for (int q = 0; q < n && !seen; ++q) seen = out[q] == w;
        if (!seen) out[n++] = w;
    }
    return n;
}

typedef struct {
    dtp_exec_t *e;
    dtp_lower_t *l;
    int *writer;   /* per buffer: the step that writes it, -1 */
    double *depth; /* per step: the longest path that ends with it */
    bool ordered;  /* host closures one after another */
} find_t;

static int host_before(const find_t *f, int first, int i) {
    if (!f->ordered || !f->l->steps[i]->host) return -1;
    for (int k = i - 1; k >= first; --k)
        if (f->l->steps[k]->host) return k;
    return -1;
}

static dnnl_tp_status_t emit(const find_t *f, int first, int n, dtp_dag_t *dag) {
    dtp_arena_t *arena = &f->e->arena;
    int from[DTP_GRAPH_MAX_ARGS + 2 * DTP_IR_MAX_POST + 1], edges = 0;
    uint16_t *indegree = dtp_arena_alloc(arena, sizeof *indegree * (size_t)n);
    int *at = dtp_arena_alloc(arena, sizeof *at * (size_t)(n + 2));
    uint8_t *wide = dtp_arena_alloc(arena, (size_t)n);
    if (!indegree || !at || !wide) return dnnl_tp_out_of_memory;
    for (int pass = 0; pass < 2; ++pass) {
        int *succ = pass ? dtp_arena_alloc(arena, sizeof *succ * (size_t)(edges + 1)) : NULL;
        if (pass && !succ) return dnnl_tp_out_of_memory;
        if (pass)
            for (int i = 0; i < n; ++i)
                at[i + 1] += at[i]; /* at[i + 1] so far counts the edges that leave i */
        for (int i = n - 1; i >= 0; --i) {
            int k = producers(f->l, f->writer, first, first + i, from);
            int h = host_before(f, first, first + i), seen = h < 0;
            for (int q = 0; q < k && !seen; ++q) seen = from[q] == h;
            if (!seen) from[k++] = h;
            if (!pass) {
                indegree[i] = (uint16_t)k;
                edges += k;
                for (int q = 0; q < k; ++q) ++at[from[q] - first + 1];
            } else {
                for (int q = 0; q < k; ++q) succ[--at[from[q] - first + 1]] = i;
            }
        }
        if (pass) dag->succ = succ;
    }
    for (int i = 0; i < n; ++i) {
        at[i] = at[i + 1]; /* the second pass moved each end to its begin */
        wide[i] = dtp_step_ns(f->l->steps[first + i]) > wide_ns;
    }
    at[n] = edges;
    dag->first_step = first;
    dag->nsteps = n;
    dag->indegree = indegree;
    dag->succ_at = at;
    dag->wide = wide;
    return dnnl_tp_success;
}

/* The sum of all against the longest path, of what is not cheaper than a hand-off. */
static bool pays(const find_t *f, int first, int end) {
    int from[DTP_GRAPH_MAX_ARGS + 2 * DTP_IR_MAX_POST + 1];
    double total = 0., longest = 0.;
    for (int i = first; i < end; ++i) {
        double ns = dtp_step_ns(f->l->steps[i]), before = 0.;
        if (f->l->steps[i]->host) ns = hand_off_ns; /* unknown: assumed to be worth it */
        if (ns < hand_off_ns) ns = 0.;
        int k = producers(f->l, f->writer, first, i, from), h = host_before(f, first, i);
        if (h >= 0) from[k++] = h;
        for (int q = 0; q < k; ++q)
            if (f->depth[from[q]] > before) before = f->depth[from[q]];
        f->depth[i] = before + ns;
        total += ns;
        if (f->depth[i] > longest) longest = f->depth[i];
    }
    return total >= 2. * hand_off_ns && total >= worth * longest;
}

static bool plain(const find_t *f, const dtp_step_t *s) {
    bool ok = s->segment < 0 && !s->ctl && !s->norder;
    for (int k = 0; k < s->nargs && ok; ++k) ok = s->arg[k].buf < 0 || f->writer[s->arg[k].buf] != -2;
    return ok;
}

dnnl_tp_status_t dtp_dags(dtp_exec_t *e, dtp_lower_t *l, bool deterministic) {
    if (e->num_threads < 2 || !l->ir->fuse || l->nsteps < 2) return dnnl_tp_success;
    find_t f = {.e = e, .l = l, .ordered = deterministic};
    f.writer = dtp_arena_alloc(l->ir->arena, sizeof *f.writer * (size_t)(l->nbufs + 1));
    f.depth = dtp_arena_alloc(l->ir->arena, sizeof *f.depth * (size_t)l->nsteps);
    dtp_dag_t *dags = dtp_arena_alloc(&e->arena, sizeof *dags * (size_t)(l->nsteps / 2 + 1));
    if (!f.writer || !f.depth || !dags) return dnnl_tp_out_of_memory;
    e->dags = dags;
    for (int b = 0; b < l->nbufs; ++b) f.writer[b] = -1;
    for (int i = 0; i < l->nsteps; ++i)
        for (int k = 0; k < l->steps[i]->nargs; ++k)
            if (l->steps[i]->arg[k].buf >= 0 && l->steps[i]->arg[k].written) {
                int *w = &f.writer[l->steps[i]->arg[k].buf];
                *w = *w == -1 ? i : -2; /* results of an If have several */
            }
    for (int i = 0; i < l->nsteps;) {
        int end = i;
        while (end < l->nsteps && end - i < MAX_RANGE && plain(&f, l->steps[end])) ++end;
        if (end - i >= 2 && pays(&f, i, end)) {
            dtp_dag_t *d = &dags[e->ndags];
            DTP_TRY(emit(&f, i, end - i, d));
            ++e->ndags;
            int room = DTP_DAG_HEAD_INTS + 2 * d->nsteps;
            if (room > e->ncounters) e->ncounters = room;
        }
        i = end > i ? end : i + 1;
    }
    return dnnl_tp_success;
}
