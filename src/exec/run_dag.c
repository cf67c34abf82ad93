/* Running operators beside each other. Ready counters are atomics, ready steps stand on two lock-free stacks:
 * cheap ones, which participants take one by one with the loops inside on one thread, and wide ones, which
 * the owner of the run runs with all threads inside.
 *
 * Nobody waits inside a region: a participant that finds nothing ready leaves it. When others then have more
 * than they can do themselves, they leave, too, and the owner opens the region again for everybody. */
#include "exec/run.h"

typedef struct {
    dtp_run_ctx_t *ctx;
    void **bases;
    const dtp_dag_t *dag;
    _Atomic uint64_t *stack; /* [2]: tag << 32 | step + 1 */
    _Atomic int *left;       /* steps that have not run */
    _Atomic int *dry;        /* participants that left the region for want of work */
    _Atomic int *pending, *next;
} dag_t;
enum { CHEAP, WIDE };

static void push(dag_t *d, int which, int step) {
    uint64_t head = atomic_load_explicit(&d->stack[which], memory_order_relaxed), to;
    do {
        atomic_store_explicit(&d->next[step], (int)(uint32_t)head, memory_order_relaxed);
        to = ((head >> 32) + 1) << 32 | (uint32_t)(step + 1);
    } while (!atomic_compare_exchange_weak_explicit(&d->stack[which], &head, to, memory_order_release,
                                                    memory_order_relaxed));
}

static int pop(dag_t *d, int which) {
    uint64_t head = atomic_load_explicit(&d->stack[which], memory_order_acquire);
    while ((uint32_t)head) {
        int step = (int)(uint32_t)head - 1;
        uint64_t to =
            ((head >> 32) + 1) << 32 | (uint32_t)atomic_load_explicit(&d->next[step], memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&d->stack[which], &head, to, memory_order_acquire,
                                                  memory_order_acquire))
            return step;
    }
    return -1;
}

/* A cheap step that became ready and goes on here, or -1; the others are pushed. */
static int complete(dag_t *d, int step) {
    const dtp_dag_t *g = d->dag;
    int mine = -1;
    for (int k = g->succ_at[step]; k < g->succ_at[step + 1]; ++k) {
        int s = g->succ[k];
        if (atomic_fetch_sub_explicit(&d->pending[s], 1, memory_order_acq_rel) != 1) continue;
        if (g->wide[s]) push(d, WIDE, s);
        else if (mine < 0) mine = s;
        else push(d, CHEAP, s);
    }
    atomic_fetch_sub_explicit(d->left, 1, memory_order_acq_rel);
    return mine;
}

static void participant(void *arg, int slot, int64_t begin, int64_t end) {
    static const dtp_parallel_t alone = {NULL, 1, NULL};
    dag_t *d = arg;
    const dtp_exec_t *e = d->ctx->exec;
    (void)begin;
    (void)end;
    dtp_where_t w = {.par = &alone, .bases = d->bases, .slot = slot, .count = {-1, -1, -1}};
    w.scratch = d->ctx->run->slab + e->slot_scratch_at + (size_t)slot * e->slot_scratch_bytes;
    int step = pop(d, CHEAP);
    while (step >= 0) {
        if (dtp_run_failed(d->ctx) || !dtp_run_step(d->ctx, &e->steps[d->dag->first_step + step], &w)) return;
        step = complete(d, step);
        bool surplus =
            step >= 0 && (uint32_t)atomic_load_explicit(&d->stack[CHEAP], memory_order_relaxed) != 0;
        if (surplus && atomic_load_explicit(d->dry, memory_order_relaxed) > 0) {
            push(d, CHEAP, step); /* somebody could help: back to the owner, who opens the region again */
            return;
        }
        if (step < 0) step = pop(d, CHEAP);
    }
    atomic_fetch_add_explicit(d->dry, 1, memory_order_relaxed);
}

static void run_in_order(dtp_run_ctx_t *ctx, const dtp_dag_t *g, const dtp_where_t *whole) {
    for (int i = 0; i < g->nsteps; ++i)
        if (!dtp_run_step(ctx, &ctx->exec->steps[g->first_step + i], whole)) return;
}

static void start(dag_t *d, _Atomic int *room) {
    const dtp_dag_t *g = d->dag;
    d->stack = (_Atomic uint64_t *)(void *)room;
    d->left = room + 8;
    d->dry = room + 9;
    d->pending = room + DTP_DAG_HEAD_INTS;
    d->next = d->pending + g->nsteps;
    atomic_init(&d->stack[CHEAP], 0);
    atomic_init(&d->stack[WIDE], 0);
    atomic_init(d->left, g->nsteps);
    for (int i = 0; i < g->nsteps; ++i) atomic_init(&d->pending[i], g->indegree[i]);
    for (int i = g->nsteps - 1; i >= 0; --i)
        if (g->indegree[i] == 0) push(d, g->wide[i] ? WIDE : CHEAP, i);
}

void dtp_run_dag(dtp_run_ctx_t *ctx, const dtp_dag_t *g, const dtp_where_t *whole) {
    const dtp_exec_t *e = ctx->exec;
    if (ctx->par->num_threads < 2 || !(ctx->parallelism & DNNL_TP_PARALLELISM_INTER)) {
        run_in_order(ctx, g, whole);
        return;
    }
    dag_t d = {.ctx = ctx, .bases = whole->bases, .dag = g};
    start(&d, ctx->run->counters);
    while (atomic_load_explicit(d.left, memory_order_acquire) > 0 && !dtp_run_failed(ctx)) {
        int wide = pop(&d, WIDE);
        if (wide >= 0) {
            if (!dtp_run_step(ctx, &e->steps[g->first_step + wide], whole)) return;
            int next = complete(&d, wide);
            if (next >= 0) push(&d, CHEAP, next);
            continue;
        }
        atomic_init(d.dry, 0);
        dtp_parallel_for(ctx->par, ctx->par->num_threads, 1, participant, &d);
    }
}
