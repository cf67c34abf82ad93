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

/* `last` = the token after which the next side effect of the block comes. */
typedef struct {
    int32_t last;
    bool used;
} chain_t;

static dnnl_tp_status_t chain_block(dtp_fb_t *b, const int32_t *first_of, const int32_t *next_of,
                                    int32_t block, chain_t *chain);

static bool block_has_effects(const dtp_fb_t *b, const int32_t *first_of, const int32_t *next_of,
                              int32_t block) {
    for (int32_t t = first_of[block]; t >= 0; t = next_of[t]) {
        const dtp_ftok_t *k = &b->tok[t];
        if (k->kind == DTP_FT_NODE && (k->flags & DTP_DATAFLOW_SIDE_EFFECT)) return true;
        if (k->kind == DTP_FT_CALL) return true;
        if (k->kind == DTP_FT_IF && (block_has_effects(b, first_of, next_of, b->ifs[k->a].branch[0]) ||
                                     block_has_effects(b, first_of, next_of, b->ifs[k->a].branch[1])))
            return true;
        if (k->kind == DTP_FT_WHILE && (block_has_effects(b, first_of, next_of, b->loops[k->a].cond) ||
                                        block_has_effects(b, first_of, next_of, b->loops[k->a].body)))
            return true;
    }
    return false;
}

static dnnl_tp_status_t chain_block(dtp_fb_t *b, const int32_t *first_of, const int32_t *next_of,
                                    int32_t block, chain_t *chain) {
    for (int32_t t = first_of[block]; t >= 0; t = next_of[t]) {
        dtp_ftok_kind_t kind = b->tok[t].kind;
        int32_t record = b->tok[t].a;
        int32_t inner[2] = {-1, -1};
        bool effect = kind == DTP_FT_NODE && (b->tok[t].flags & DTP_DATAFLOW_SIDE_EFFECT);
        if (kind == DTP_FT_CALL) effect = true;
        if (kind == DTP_FT_IF) inner[0] = b->ifs[record].branch[0], inner[1] = b->ifs[record].branch[1];
        if (kind == DTP_FT_WHILE) inner[0] = b->loops[record].cond, inner[1] = b->loops[record].body;
        for (int i = 0; i < 2 && inner[0] >= 0; ++i)
            effect |= block_has_effects(b, first_of, next_of, inner[i]);
        if (!effect) continue;
        if (chain->last >= 0) dtp_fb_dep(b, t, chain->last);
        chain->last = t;
        if (kind == DTP_FT_IF) {
            for (int i = 0; i < 2; ++i) {
                chain_t c = {-1, false};
                DTP_TRY(chain_block(b, first_of, next_of, inner[i], &c));
            }
        } else if (kind == DTP_FT_WHILE) {
            /* The next iteration's first effect waits for all of this one: a variable that comes at its end.
             */
            chain_t c = {b->loops[record].first_var + b->loops[record].nvars - 1, false};
            DTP_TRY(chain_block(b, first_of, next_of, inner[0], &c));
            DTP_TRY(chain_block(b, first_of, next_of, inner[1], &c));
        }
    }
    return b->status;
}

/* Loops with effects get one more variable, without NEXT edge. */
static dnnl_tp_status_t order_effects(dtp_fb_t *b) {
    int n = b->ntok;
    int32_t *first_of = dtp_fb_alloc(b, (size_t)b->nblk, sizeof *first_of);
    int32_t *next_of = dtp_fb_alloc(b, (size_t)n + (size_t)b->nloops * 2, sizeof *next_of);
    if (!first_of || !next_of) return dnnl_tp_out_of_memory;
    for (int i = 0; i < b->nblk; ++i) first_of[i] = -1;
    for (int i = n - 1; i >= 0; --i) {
        next_of[i] = first_of[b->tok[i].block];
        first_of[b->tok[i].block] = i;
    }
    for (int i = 0; i < b->nloops; ++i) {
        dtp_floop_t *l = &b->loops[i];
        if (!block_has_effects(b, first_of, next_of, l->cond) &&
            !block_has_effects(b, first_of, next_of, l->body))
            continue;
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
        ++l->nvars;
    }
    for (int i = 0; i < b->nblk; ++i) {
        if (b->blk[i].kind != DTP_FB_ROOT && b->blk[i].kind != DTP_FB_FUNCTION) continue;
        chain_t c = {-1, false};
        DTP_TRY(chain_block(b, first_of, next_of, i, &c));
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

/* Drops repeated dependencies; joins long lists. pred: what is left, by later token. */
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

typedef struct {
    dtp_fb_t *b;
    dtp_fdep_t *edge;
    int n;
} edges_t;

/* With b->ndep dependencies, everything else that fixes an order. */
static bool all_edges(dtp_fb_t *b, dtp_fdep_t **edges, int *count) {
    int64_t room = b->ndep;
    *edges = b->dep;
    *count = b->ndep;
    if (dtp_fb_is_flat(b)) return true;
    for (int pass = 0; pass < 2; ++pass) {
        int64_t n = 0;
        dtp_fdep_t *e = pass ? *edges : NULL;
        if (pass && b->ndep) memcpy(e, b->dep, sizeof *e * (size_t)b->ndep);
        n = b->ndep;
#define ADD(l, x)                            \
    do {                                     \
        if (pass) e[n] = (dtp_fdep_t){l, x}; \
        ++n;                                 \
    } while (0)
        for (int t = 0; t < b->ntok; ++t) {
            const dtp_ftok_t *k = &b->tok[t];
            if (b->blk[k->block].up >= 0) ADD(t, b->blk[k->block].owner);
            if (k->kind == DTP_FT_OUT) {
                ADD(t, k->a);
                ADD(t, k->b);
                ADD(t, (int32_t)k->index);
            }
            if (k->kind == DTP_FT_END) ADD(t, b->ifs[k->a].token);
            for (int32_t in = k->block; in >= 0; in = b->blk[in].up) {
                if (b->blk[in].kind != DTP_FB_BRANCH) continue;
                int32_t end = b->tok[b->blk[in].owner].b;
                if (end >= 0) ADD(end, t);
            }
        }
#undef ADD
        room = n;
        if (room > INT32_MAX / 2) {
            b->status = dnnl_tp_unimplemented;
            return false;
        }
        if (!pass && !(*edges = dtp_fb_alloc(b, (size_t)room, sizeof **edges))) return false;
    }
    *count = (int)room;
    return true;
}

/* order: tokens, earlier ones first. */
static dnnl_tp_status_t sort(dtp_fb_t *b, const dtp_fdep_t *edge, int nedges, dtp_fcsr_t *succ,
                             int32_t **order) {
    int n = b->ntok;
    if (!dtp_fb_csr(b, succ, n, edge, nedges, false)) return dnnl_tp_out_of_memory;
    int32_t *left = dtp_fb_alloc(b, (size_t)n, sizeof *left);
    *order = dtp_fb_alloc(b, (size_t)n, sizeof **order);
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
    dtp_fb_t *b;
    dtp_fcsr_t pred;
    int32_t *pos, *expanded, *reached, *stack;
    int32_t *latest; /* the largest position of what certainly comes before the token */
    int nstack;
} search_t;

/* What certainly comes before t besides its dependencies; -1. */
static void other_earlier(const dtp_fb_t *b, int32_t t, int32_t more[2]) {
    const dtp_ftok_t *k = &b->tok[t];
    more[0] = more[1] = -1;
    if (b->blk[k->block].up >= 0) more[0] = b->blk[k->block].owner;
    if (k->kind == DTP_FT_OUT) more[1] = (int32_t)k->index;
    if (k->kind == DTP_FT_END) more[1] = b->ifs[k->a].token;
}

/* Pushes what certainly comes before t; marks it as reached for v. */
static void expand(search_t *s, int32_t t, int32_t v, int32_t min_pos) {
    if (s->latest[t] < min_pos || s->expanded[t] == v + 1) return;
    s->expanded[t] = v + 1;
    int32_t more[2];
    other_earlier(s->b, t, more);
    for (int i = s->pred.at[t] - 2; i < s->pred.at[t + 1]; ++i) {
        int32_t p = i < s->pred.at[t] ? more[s->pred.at[t] - 1 - i] : s->pred.to[i];
        if (p < 0 || s->reached[p] == v + 1 || s->pos[p] < min_pos) continue;
        s->reached[p] = v + 1;
        s->stack[s->nstack++] = p;
    }
}

static dnnl_tp_status_t reduce(dtp_fb_t *b, const dtp_fcsr_t *pred, const int32_t *order) {
    int n = b->ntok, old = b->ndep;
    search_t s = {.b = b, .pred = *pred};
    s.pos = dtp_fb_alloc(b, (size_t)n, sizeof *s.pos);
    s.expanded = dtp_fb_alloc(b, (size_t)n, sizeof *s.expanded);
    s.reached = dtp_fb_alloc(b, (size_t)n, sizeof *s.reached);
    s.stack = dtp_fb_alloc(b, (size_t)n, sizeof *s.stack);
    s.latest = dtp_fb_alloc(b, (size_t)n, sizeof *s.latest);
    if (!s.pos || !s.expanded || !s.reached || !s.stack || !s.latest) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) s.pos[order[i]] = i;
    for (int t = 0; t < n; ++t) {
        int32_t more[2], latest = -1;
        other_earlier(b, t, more);
        for (int i = 0; i < 2; ++i)
            if (more[i] >= 0 && s.pos[more[i]] > latest) latest = s.pos[more[i]];
        for (int i = s.pred.at[t]; i < s.pred.at[t + 1]; ++i)
            if (s.pos[s.pred.to[i]] > latest) latest = s.pos[s.pred.to[i]];
        s.latest[t] = latest;
    }
    int limit = (int)dtp_max64(SEARCH_MIN, dtp_min64(SEARCH_MAX, SEARCH_TOTAL / (old + 1)));
    b->ndep = 0;
    for (int v = 0; v < n; ++v) {
        int first = s.pred.at[v], end = s.pred.at[v + 1];
        bool inside = b->blk[b->tok[v].block].up >= 0;
        if (end - first + inside < 2) {
            for (int i = first; i < end; ++i) b->dep[b->ndep++] = (dtp_fdep_t){v, s.pred.to[i]};
            continue;
        }
        int32_t min_pos = n;
        for (int i = first; i < end; ++i) min_pos = (int32_t)dtp_min64(min_pos, s.pos[s.pred.to[i]]);
        s.nstack = 0;
        for (int i = first; i < end; ++i) expand(&s, s.pred.to[i], v, min_pos);
        if (inside) {
            int32_t owner = b->blk[b->tok[v].block].owner;
            expand(&s, owner, v, min_pos);
        }
        for (int steps = 0; s.nstack > 0 && steps < limit; ++steps)
            expand(&s, s.stack[--s.nstack], v, min_pos);
        for (int i = first; i < end; ++i)
            if (s.reached[s.pred.to[i]] != v + 1) b->dep[b->ndep++] = (dtp_fdep_t){v, s.pred.to[i]};
    }
    return dnnl_tp_success;
}

/* ---- Ranks ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t rank(dtp_fb_t *b, const dtp_fcsr_t *succ, const int32_t *order) {
    double *region_ns = dtp_fb_alloc(b, (size_t)b->nregions, sizeof *region_ns);
    if (!region_ns) return dnnl_tp_out_of_memory;
    /* Inner regions have higher numbers; functions may be called from anywhere, so twice. */
    for (int pass = 0; pass < 2; ++pass) {
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
    double *rank_of = dtp_fb_alloc(b, (size_t)b->ntok, sizeof *rank_of);
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
    dtp_fdep_t *edge = NULL;
    int nedges;
    dtp_fcsr_t succ, pred;
    int32_t *order;
    if (b->flags & DTP_DATAFLOW_ORDERED) DTP_TRY(order_effects(b));
    make_ends(b);
    DTP_TRY(b->status);
    DTP_TRY(lift(b));
    DTP_TRY(start_conditions(b));
    DTP_TRY(check_next(b));
    DTP_TRY(merge(b, &pred));
    if (!all_edges(b, &edge, &nedges)) return b->status;
    DTP_TRY(sort(b, edge, nedges, &succ, &order));
    DTP_TRY(rank(b, &succ, order));
    return reduce(b, &pred, order);
}
