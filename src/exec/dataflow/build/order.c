/* Dependencies of a dataflow program: checked, lifted to the region they hold back, made few, and ranked.
 *
 * A dependency is redundant when another path orders the two tokens in every run. Such a path goes through
 * nodes of one block, from an If to what is in its branches or comes out of it, and never through one branch
 * only. Finding all such paths is quadratic, so the search per token is bounded. */
#include "exec/dataflow/build/build.h"

enum {
    MAX_FAN_IN = 200,        /* more predecessors are joined first: counters have 8 bits */
    SEARCH_TOTAL = 20000000, /* steps of all searches together, about */
    SEARCH_MIN = 32,
    SEARCH_MAX = 4096,
    GUESSED_TRIPS = 8
};

static dnnl_tp_status_t wrong(const char *what, const dtp_fb_t *b, int32_t token) {
    return dtp_fail(dnnl_tp_invalid_arguments, DTP_BAD_FLOW, "%s: token %d, index %d", what, token,
                    (int)b->tok[token].index);
}

/* ---- Lifting ----------------------------------------------------------------------------------------- */

/* What waits for a whole If waits for its END. */
static int32_t end_of_if(dtp_fb_t *b, int32_t t) {
    if (b->tok[t].kind != DTP_FT_IF) return t;
    if (b->tok[t].b < 0) {
        int32_t e = dtp_fb_token(b, DTP_FT_END, b->tok[t].block);
        if (e < 0) return t;
        b->tok[e].a = b->tok[t].a;
        b->tok[t].b = e;
    }
    return b->tok[t].b;
}

static void make_ends(dtp_fb_t *b) {
    int n = b->ntok;
    for (int i = 0; i < b->ndep; ++i) b->dep[i].earlier = end_of_if(b, b->dep[i].earlier);
    for (int i = 0; i < b->nnext; ++i) b->next[i].token = end_of_if(b, b->next[i].token);
    for (int i = 0; i < n; ++i) {
        if (b->tok[i].kind != DTP_FT_OUT) continue;
        int32_t from_false = end_of_if(b, b->tok[i].a), from_true = end_of_if(b, b->tok[i].b);
        b->tok[i].a = from_false; /* tok may have moved */
        b->tok[i].b = from_true;
    }
}

/* The token of region `region` that holds block (by its owners), or -1. */
static int32_t holder(const dtp_fb_t *b, int32_t later, int region) {
    for (;;) {
        int32_t block = b->tok[later].block;
        if (b->blk[block].region == region) return later;
        while (b->blk[block].up >= 0) block = b->blk[block].up;
        if (b->blk[block].kind != DTP_FB_COND) return -1;
        later = b->blk[block].owner;
    }
}

static bool is_around(const dtp_fb_t *b, int32_t outer, int32_t inner) {
    while (inner >= 0 && inner != outer) inner = b->blk[inner].up;
    return inner == outer;
}

static dnnl_tp_status_t lift(dtp_fb_t *b) {
    for (int i = 0; i < b->ndep; ++i) {
        dtp_fdep_t *d = &b->dep[i];
        int32_t at = b->tok[d->earlier].block, later = holder(b, d->later, b->blk[at].region);
        if (later < 0 || !is_around(b, at, b->tok[later].block))
            return wrong("a token that is not made in a block around is waited for", b, d->earlier);
        d->later = later;
    }
    return b->status;
}

/* ---- Ordered side effects ---------------------------------------------------------------------------- */

/* Effects of a While's condition and body are one chain. */
static int32_t chain_of(const dtp_fb_t *b, int32_t token) {
    const int32_t block = b->tok[token].block;
    return b->blk[block].kind == DTP_FB_BODY ? b->blk[block].up : block;
}

/* Tokens that are side effects, or have some in them. */
static void mark_effects(const dtp_fb_t *b, uint8_t *is_effect) {
    for (int32_t t = 0; t < b->ntok; ++t) {
        const dtp_ftok_t *k = &b->tok[t];
        if (k->kind != DTP_FT_CALL && !(k->kind == DTP_FT_NODE && (k->flags & DTP_DATAFLOW_SIDE_EFFECT)))
            continue;
        for (int32_t around = t; around >= 0 && !is_effect[around];
             around = b->blk[chain_of(b, around)].owner)
            is_effect[around] = 1;
    }
}

/* Loops with effects get one more variable, without NEXT edge: the next iteration's first effect waits for all of
 * this one. */
static dnnl_tp_status_t order_effects(dtp_fb_t *b) {
    const int n = b->ntok;
    int32_t *last = dtp_fb_alloc(b, (size_t)b->nblk, sizeof *last); /* of each chain */
    uint8_t *is_effect = dtp_fb_alloc(b, (size_t)n, 1);
    if (!last || !is_effect) return dnnl_tp_out_of_memory;
    mark_effects(b, is_effect);
    for (int i = 0; i < b->nblk; ++i) last[i] = -1;
    for (int i = 0; i < b->nloops; ++i) {
        dtp_floop_t *l = &b->loops[i];
        if (!is_effect[l->token]) continue;
        /* Variables are consecutive: all of this loop's move behind the others. */
        int32_t first = b->ntok;
        for (int v = 0; v <= l->nvars; ++v) {
            int32_t t = dtp_fb_token(b, DTP_FT_VAR, l->cond);
            if (t < 0) return b->status;
            b->tok[t].a = i;
            b->tok[t].b = v;
        }
        for (int k = 0; k < b->ndep; ++k)
            if (b->dep[k].earlier >= l->first_var && b->dep[k].earlier < l->first_var + l->nvars)
                b->dep[k].earlier += first - l->first_var;
        for (int v = 0; v < l->nvars; ++v) b->tok[l->first_var + v].b = -1; /* nothing any more */
        l->first_var = first;
        last[l->cond] = first + l->nvars++;
    }
    for (int in_body = 0; in_body < 2; ++in_body) /* bodies come behind their conditions */
        for (int32_t t = 0; t < n; ++t) {
            if (!is_effect[t] || (b->blk[b->tok[t].block].kind == DTP_FB_BODY) != in_body) continue;
            int32_t *earlier = &last[chain_of(b, t)];
            if (*earlier >= 0) dtp_fb_dep(b, t, *earlier);
            *earlier = t;
        }
    return b->status;
}

/* ---- Few and acyclic --------------------------------------------------------------------------------- */

static dnnl_tp_status_t start_conditions(dtp_fb_t *b) {
    uint8_t *waits = dtp_fb_alloc(b, (size_t)b->ntok, 1);
    if (!waits) return dnnl_tp_out_of_memory;
    for (int i = 0; i < b->ndep; ++i) waits[b->dep[i].later] = 1;
    for (int i = 0; i < b->nloops; ++i) b->loops[i].loop.nvars = b->loops[i].nvars;
    for (int t = 0; t < b->ntok; ++t) {
        const dtp_fblk_t *k = &b->blk[b->tok[t].block];
        if (k->kind != DTP_FB_COND || waits[t] || b->tok[t].kind > DTP_FT_TEST) continue;
        dtp_fb_dep(b, t, b->loops[b->tok[k->owner].a].first_var);
    }
    return b->status;
}

/* Lists of more than MAX_FAN_IN earlier tokens go through pads. */
static dnnl_tp_status_t join(dtp_fb_t *b, dtp_fcsr_t *pred) {
    const int n = b->ntok;
    b->ndep = 0;
    for (int t = 0; t < n; ++t) {
        int32_t *to = pred->to + pred->at[t];
        int k = pred->at[t + 1] - pred->at[t];
        while (k > MAX_FAN_IN) {
            int made = 0;
            for (int i = 0; i < k; i += MAX_FAN_IN) {
                int32_t pad = dtp_fb_token(b, DTP_FT_PAD, b->tok[t].block);
                if (pad < 0) return b->status;
                for (int j = i; j < k && j < i + MAX_FAN_IN; ++j) dtp_fb_dep(b, pad, to[j]);
                to[made++] = pad;
            }
            k = made;
        }
        for (int i = 0; i < k; ++i) dtp_fb_dep(b, t, to[i]);
    }
    if (b->status != dnnl_tp_success) return b->status;
    return dtp_fb_csr(b, pred, b->ntok, b->dep, b->ndep, true) ? dnnl_tp_success : dnnl_tp_out_of_memory;
}

/* Drops repeated dependencies; joins long lists. What is left stands together by later token, as in pred. */
static dnnl_tp_status_t merge(dtp_fb_t *b, dtp_fcsr_t *pred) {
    if (!dtp_fb_csr(b, pred, b->ntok, b->dep, b->ndep, true)) return dnnl_tp_out_of_memory;
    const int n = b->ntok;
    int32_t *mark = dtp_fb_alloc(b, (size_t)n, sizeof *mark);
    if (!mark) return dnnl_tp_out_of_memory;
    int most = 0;
    b->ndep = 0;
    for (int t = 0, begin = 0; t < n; ++t) {
        const int end = pred->at[t + 1];
        int32_t *to = pred->to + b->ndep; /* at most where they were */
        int k = 0;
        for (int i = begin; i < end; ++i) {
            const int32_t earlier = pred->to[i];
            if (mark[earlier] == t + 1) continue;
            mark[earlier] = t + 1;
            to[k++] = earlier;
        }
        begin = end;
        if (k > most) most = k;
        for (int i = 0; i < k; ++i) b->dep[b->ndep + i] = (dtp_fdep_t){t, to[i]};
        b->ndep += k;
        pred->at[t + 1] = b->ndep;
    }
    return most > MAX_FAN_IN ? join(b, pred) : dnnl_tp_success;
}

/* The dependencies and everything else that fixes an order; the first `certain` of them hold in every run. */
static void all_edges(dtp_fb_t *b, dtp_fpairs_t *edges, int *certain) {
    *certain = b->ndep;
    if (dtp_fb_is_flat(b)) {
        *edges = (dtp_fpairs_t){.pair = b->dep, .n = b->ndep};
        return;
    }
    *edges = (dtp_fpairs_t){.n = 0};
    for (int i = 0; i < b->ndep; ++i) dtp_fb_pair(b, edges, b->dep[i].later, b->dep[i].earlier);
    for (int t = 0; t < b->ntok; ++t) {
        const dtp_ftok_t *k = &b->tok[t];
        if (b->blk[k->block].up >= 0) dtp_fb_pair(b, edges, t, b->blk[k->block].owner);
        if (k->kind == DTP_FT_OUT) dtp_fb_pair(b, edges, t, (int32_t)k->index);
        if (k->kind == DTP_FT_END) dtp_fb_pair(b, edges, t, b->ifs[k->a].token);
    }
    *certain = edges->n;
    for (int t = 0; t < b->ntok; ++t) {
        const dtp_ftok_t *k = &b->tok[t];
        if (k->kind == DTP_FT_OUT) {
            dtp_fb_pair(b, edges, t, k->a);
            dtp_fb_pair(b, edges, t, k->b);
        }
        for (int32_t in = k->block; in >= 0; in = b->blk[in].up) {
            const int32_t end = b->blk[in].kind == DTP_FB_BRANCH ? b->tok[b->blk[in].owner].b : -1;
            if (end >= 0) dtp_fb_pair(b, edges, end, t);
        }
    }
}

/* order: tokens, earlier ones first. */
static dnnl_tp_status_t sort(dtp_fb_t *b, const dtp_fdep_t *edge, int nedges, dtp_fcsr_t *succ,
                             int32_t **order) {
    int n = b->ntok;
    if (!dtp_fb_csr(b, succ, n, edge, nedges, false)) return dnnl_tp_out_of_memory;
    int32_t *left = dtp_fb_alloc(b, (size_t)n, sizeof *left);
    *order = dtp_fb_take(b, (size_t)n, sizeof **order);
    if (!left || !*order) return dnnl_tp_out_of_memory;
    int32_t *to = *order;
    for (int i = 0; i < nedges; ++i) ++left[edge[i].later];
    int done = 0;
    for (int t = 0; t < n; ++t)
        if (!left[t]) to[done++] = t;
    for (int i = 0; i < done; ++i) {
        int32_t t = to[i];
        for (int k = succ->at[t]; k < succ->at[t + 1]; ++k)
            if (--left[succ->to[k]] == 0) to[done++] = succ->to[k];
    }
    for (int t = 0; t < n && done < n; ++t)
        if (left[t] && b->tok[t].kind == DTP_FT_NODE) return wrong("a cycle", b, t);
    for (int t = 0; t < n && done < n; ++t)
        if (left[t]) return wrong("a cycle", b, t);
    return dnnl_tp_success;
}

/* ---- Reduction --------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_fcsr_t *earlier; /* what certainly comes before a token */
    int32_t *pos, *reached, *stack;
    int32_t *latest; /* position of the last token that comes directly before this one; -1: none */
    int nstack;
} search_t;

/* Reaches what certainly comes before t, not before position `least`, and was not reached for v yet; pushes it if there is more
 * before it. */
static void expand(search_t *s, int32_t t, int32_t v, int32_t least) {
    for (int i = s->earlier->at[t]; i < s->earlier->at[t + 1]; ++i) {
        const int32_t p = s->earlier->to[i];
        if (s->reached[p] == v + 1 || s->pos[p] < least) continue;
        s->reached[p] = v + 1;
        if (s->latest[p] >= least) s->stack[s->nstack++] = p;
    }
}

static dnnl_tp_status_t reduce(dtp_fb_t *b, const dtp_fcsr_t *earlier, const int32_t *order) {
    const int n = b->ntok, old = b->ndep;
    search_t s = {.earlier = earlier};
    s.pos = dtp_fb_take(b, (size_t)n, sizeof *s.pos);
    s.reached = dtp_fb_alloc(b, (size_t)n, sizeof *s.reached);
    s.stack = dtp_fb_take(b, (size_t)n, sizeof *s.stack);
    s.latest = dtp_fb_take(b, (size_t)n, sizeof *s.latest);
    if (!s.pos || !s.reached || !s.stack || !s.latest) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) s.pos[order[i]] = i;
    for (int t = 0; t < n; ++t) {
        int32_t latest = -1;
        for (int i = earlier->at[t]; i < earlier->at[t + 1]; ++i)
            if (s.pos[earlier->to[i]] > latest) latest = s.pos[earlier->to[i]];
        s.latest[t] = latest;
    }
    const int limit = (int)dtp_max64(SEARCH_MIN, dtp_min64(SEARCH_MAX, SEARCH_TOTAL / (old + 1)));
    b->ndep = 0;
    for (int first = 0, end; first < old; first = end) { /* those of one token stand together */
        const int32_t v = b->dep[first].later;
        int32_t least = n;
        if (earlier->at[v + 1] - earlier->at[v] < 2) { /* nothing else comes before it */
            b->dep[b->ndep++] = b->dep[first];
            end = first + 1;
            continue;
        }
        for (end = first; end < old && b->dep[end].later == v; ++end)
            least = (int32_t)dtp_min64(least, s.pos[b->dep[end].earlier]);
        s.nstack = 0;
        for (int i = earlier->at[v]; i < earlier->at[v + 1]; ++i)
            if (s.latest[earlier->to[i]] >= least) expand(&s, earlier->to[i], v, least);
        for (int steps = 0; s.nstack > 0 && steps < limit; ++steps) expand(&s, s.stack[--s.nstack], v, least);
        for (int i = first; i < end; ++i)
            if (s.reached[b->dep[i].earlier] != v + 1) b->dep[b->ndep++] = b->dep[i];
    }
    return dnnl_tp_success;
}

/* ---- Ranks ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t rank(dtp_fb_t *b, const dtp_fcsr_t *succ, const int32_t *order) {
    double *region_ns = dtp_fb_alloc(b, (size_t)b->nregions, sizeof *region_ns);
    if (!region_ns) return dnnl_tp_out_of_memory;
    /* Inner regions have higher numbers; functions may be called from anywhere, so twice. */
    for (int pass = 0; pass < 2 && b->nregions > 1; ++pass) {
        for (int t = b->ntok - 1; t >= 0; --t) {
            dtp_ftok_t *k = &b->tok[t];
            if (k->kind == DTP_FT_CALL && pass) k->ns = region_ns[b->blk[k->a].region];
        }
        memset(region_ns, 0, sizeof *region_ns * (size_t)b->nregions);
        for (int t = b->ntok - 1; t >= 0; --t) {
            dtp_ftok_t *k = &b->tok[t];
            if (k->kind == DTP_FT_WHILE) {
                const dtp_floop_t *l = &b->loops[k->a];
                k->ns = GUESSED_TRIPS * region_ns[b->blk[l->cond].region] + l->loop.exit_ns;
            }
            region_ns[b->blk[k->block].region] += k->ns;
        }
    }
    double *rank_of = dtp_fb_take(b, (size_t)b->ntok, sizeof *rank_of);
    if (!rank_of) return dnnl_tp_out_of_memory;
    for (int i = b->ntok - 1; i >= 0; --i) {
        int32_t t = order[i];
        double most = 0.;
        for (int k = succ->at[t]; k < succ->at[t + 1]; ++k)
            if (rank_of[succ->to[k]] > most) most = rank_of[succ->to[k]];
        rank_of[t] = most + b->tok[t].ns;
    }
    for (int t = 0; t < b->ntok; ++t) b->tok[t].rank = rank_of[t];
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_next(dtp_fb_t *b) {
    uint8_t *seen = dtp_fb_alloc(b, (size_t)b->ntok, 1);
    if (!seen) return dnnl_tp_out_of_memory;
    for (int i = 0; i < b->nnext; ++i) {
        int32_t var = b->loops[b->next[i].loop].first_var + b->next[i].var;
        if (seen[var]) return wrong("a loop variable has two next values", b, b->next[i].token);
        seen[var] = 1;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_dataflow_order(dtp_fb_t *b) {
    dtp_fpairs_t edges;
    dtp_fcsr_t succ, earlier;
    int32_t *order, certain;
    if (b->flags & DTP_DATAFLOW_ORDERED) DTP_TRY(order_effects(b));
    if (b->nblk > 1) { /* else there is nothing to lift, nor to lift from */
        make_ends(b);
        DTP_TRY(b->status);
        DTP_TRY(lift(b));
        DTP_TRY(start_conditions(b));
        DTP_TRY(check_next(b));
    }
    DTP_TRY(merge(b, &earlier));
    all_edges(b, &edges, &certain);
    DTP_TRY(b->status);
    DTP_TRY(sort(b, edges.pair, edges.n, &succ, &order));
    DTP_TRY(rank(b, &succ, order));
    if (!dtp_fb_is_flat(b) && !dtp_fb_csr(b, &earlier, b->ntok, edges.pair, certain, true))
        return dnnl_tp_out_of_memory;
    return reduce(b, &earlier, order);
}
