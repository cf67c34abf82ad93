/* Writes the plan of a dataflow program: numbers nodes in the order in which one thread would run them, sorts
 * edges (other blocks first, the most critical last), sets initial counters, lays out instances. */
#include <assert.h>
#include <stdlib.h>

#include "common/base/with.h"
#include "exec/dataflow/build/build.h"

enum { WORTH_NS = 1500 }; /* what one hand-off costs, about */

typedef struct {
    dtp_fb_t *b;
    dtp_arena_t *arena;
    dtp_dataflow_region_t *regions;
    dtp_fcsr_t out;  /* per token: consumers of what it makes */
    dtp_fcsr_t next; /* NEXT edges per token: indices of b->next */
    bool *own;       /* has a consumer in its own block */
    double *rank;    /* per token, as in it */
    uint32_t *edge;  /* per token: place_of, then its number in the region as edges have it */
    /* Simulation. */
    int32_t *left, *stack, *order; /* order: of one thread, region by region */
    int32_t *first;                /* per region: where its part begins */
    dtp_fcsr_t entry;   /* per block: tokens with entry tokens, and roots; the most critical last */
    int32_t *blocks_of; /* global blocks in order of (region, preorder = number) */
} emit_t;

static bool has_node(const dtp_ftok_t *k) { return k->kind != DTP_FT_VAR && k->kind != DTP_FT_OUT; }

/* Pairs of `later` and the nodes whose end makes token come. */
static void add_sources(dtp_fb_t *b, dtp_fpairs_t *p, int32_t later, int32_t token) {
    while (b->tok[token].kind == DTP_FT_OUT) {
        add_sources(b, p, later, b->tok[token].a);
        token = b->tok[token].b;
    }
    if (b->tok[token].kind == DTP_FT_IF) token = b->tok[token].b; /* its END */
    dtp_fb_pair(b, p, later, token);
}

/* qsort without context: sorted by these keys. */
typedef struct {
    double rank;
    int32_t own, token;
} sort_key_t;
static int by_key(const void *x, const void *y) {
    const sort_key_t *a = x, *c = y;
#ifdef DTP_BREAK_9_6A
    if (a->own != c->own) return c->own - a->own;
#else
    if (a->own != c->own) return a->own - c->own;
#endif
    if (a->rank != c->rank) return a->rank < c->rank ? -1 : 1;
    return a->token > c->token ? -1 : a->token < c->token; /* equal: in the order of building */
}

static bool sort_tokens(const emit_t *e, int32_t *list, int n, int32_t block, sort_key_t *room) {
    const dtp_fb_t *b = e->b;
    const bool flat = dtp_fb_is_flat(b); /* one block, or functions without edges between them */
    if (n < 2) return n && (flat ? block >= 0 : b->tok[list[0]].block == block);
    int first = 0; /* of those that are not in order; equal ranks are common */
    while (flat && ++first < n) {
        const double a = e->rank[list[first - 1]], c = e->rank[list[first]];
        if (a > c || (a == c && list[first - 1] > list[first])) break;
    }
    if (first == n) return block >= 0;
    for (int i = 0; i < n; ++i)
        room[i] = (sort_key_t){e->rank[list[i]], flat ? block >= 0 : b->tok[list[i]].block == block, list[i]};
    if (n < 16) { /* lists are short */
        for (int i = 1; i < n; ++i) {
            sort_key_t k = room[i];
            int j = i;
            for (; j > 0 && by_key(&k, &room[j - 1]) < 0; --j) room[j] = room[j - 1];
            room[j] = k;
        }
    } else {
        qsort(room, (size_t)n, sizeof *room, by_key);
    }
    bool own = false;
    for (int i = 0; i < n; ++i) {
        list[i] = room[i].token;
        own |= room[i].own != 0;
    }
    return own;
}

static dnnl_tp_status_t connect(emit_t *e) {
    dtp_fb_t *b = e->b;
    int n = b->ntok;
    dtp_fpairs_t p = {.n = 0}, entries = {.n = 0};
    const bool flat = dtp_fb_is_flat(b);
    e->left = dtp_fb_alloc(b, (size_t)n, sizeof *e->left);
    /* Of each token, where they are not what it waits for: dependencies; has it a producer in its own block? */
    const size_t nested = flat ? 0 : (size_t)n;
    uint32_t *waits = dtp_fb_alloc(b, nested, sizeof *waits);
    uint8_t *inside = dtp_fb_alloc(b, nested, 1);
    if (!e->left || !waits || !inside) return dnnl_tp_out_of_memory;
    if (flat) p = (dtp_fpairs_t){.pair = b->dep, .n = b->ndep};
    for (int i = 0; i < b->ndep && !flat; ++i) {
        const dtp_fdep_t *d = &b->dep[i];
        add_sources(b, &p, d->later, d->earlier);
        ++waits[d->later];
        if (b->tok[d->later].block == b->tok[d->earlier].block) inside[d->later] = 1;
    }
    DTP_TRY(b->status);
    for (int i = 0; i < p.n; ++i) ++e->left[p.pair[i].later];
    for (int t = 0; t < n; ++t) {
        dtp_ftok_t *k = &b->tok[t];
        k->pending = flat ? (uint32_t)e->left[t] : waits[t];
        if (!has_node(k)) continue;
        bool in_branch = b->blk[k->block].up >= 0;
        /* The END of an If comes when everything inside has run. */
        for (int32_t in = k->block; in >= 0; in = b->blk[in].up) {
            int32_t end = b->blk[in].kind == DTP_FB_BRANCH ? b->tok[b->blk[in].owner].b : -1;
            if (end >= 0) ++e->left[end];
        }
        if (k->kind == DTP_FT_IF && k->b >= 0) ++e->left[k->b];
        if (k->kind == DTP_FT_END) {
            k->pending = 1;
            continue;
        }
        k->entry = in_branch && !inside[t]; /* in_branch: not flat */
        if (k->entry) {
            ++k->pending;
            ++e->left[t];
        }
        if (k->entry || (!in_branch && k->pending == 0)) dtp_fb_pair(b, &entries, t, k->block);
    }
    DTP_TRY(b->status);
    if (!dtp_fb_csr(b, &e->out, n, p.pair, p.n, false) ||
        !dtp_fb_csr(b, &e->entry, b->nblk, entries.pair, entries.n, false))
        return dnnl_tp_out_of_memory;
    int most = 0;
    for (int t = 0; t < n; ++t) most = (int)dtp_max64(most, e->out.at[t + 1] - e->out.at[t]);
    for (int k = 0; k < b->nblk; ++k) most = (int)dtp_max64(most, e->entry.at[k + 1] - e->entry.at[k]);
    sort_key_t *room = dtp_fb_alloc(b, (size_t)most, sizeof *room);
    e->own = dtp_fb_alloc(b, (size_t)n, sizeof *e->own);
    e->rank = dtp_fb_take(b, (size_t)n, sizeof *e->rank);
    if (!room || !e->own || !e->rank) return dnnl_tp_out_of_memory;
    for (int t = 0; t < n; ++t) e->rank[t] = b->tok[t].rank;
    for (int t = 0; t < n; ++t)
        e->own[t] =
            sort_tokens(e, e->out.to + e->out.at[t], e->out.at[t + 1] - e->out.at[t], b->tok[t].block, room);
    for (int k = 0; k < b->nblk; ++k)
        sort_tokens(e, e->entry.to + e->entry.at[k], e->entry.at[k + 1] - e->entry.at[k], -1, room);
    return dnnl_tp_success;
}

/* ---- Order of one thread ----------------------------------------------------------------------------- */

static void push_list(emit_t *e, int *top, const int32_t *list, int n) {
    for (int i = 0; i < n; ++i) e->stack[(*top)++] = list[i];
}
static void arrive_list(emit_t *e, int *top, const int32_t *list, int n) {
    for (int i = 0; i < n; ++i)
        if (--e->left[list[i]] == 0) e->stack[(*top)++] = list[i];
}
static void enter(emit_t *e, int *top, int32_t block) {
    arrive_list(e, top, e->entry.to + e->entry.at[block], e->entry.at[block + 1] - e->entry.at[block]);
}

/* Numbers the tokens of a region in the order in which one thread runs them when it runs both branches of
 * every If and each body once. */
static int simulate(emit_t *e, int32_t top_block, int at) {
    dtp_fb_t *b = e->b;
    int top = 0;
    if (b->blk[top_block].kind == DTP_FB_COND) {
        const dtp_floop_t *l = &b->loops[b->tok[b->blk[top_block].owner].a];
        for (int v = l->first_var; v < l->first_var + l->nvars; ++v)
            arrive_list(e, &top, e->out.to + e->out.at[v], e->out.at[v + 1] - e->out.at[v]);
    } else {
        push_list(e, &top, e->entry.to + e->entry.at[top_block],
                  e->entry.at[top_block + 1] - e->entry.at[top_block]);
    }
    while (top > 0) {
        int32_t t = e->stack[--top];
        e->order[at++] = t;
        if (dtp_fb_is_flat(b)) {
            arrive_list(e, &top, e->out.to + e->out.at[t], e->out.at[t + 1] - e->out.at[t]);
            continue;
        }
        const dtp_ftok_t *k = &b->tok[t];
        for (int32_t in = k->block; in >= 0; in = b->blk[in].up) {
            int32_t end = b->blk[in].kind == DTP_FB_BRANCH ? b->tok[b->blk[in].owner].b : -1;
            if (end >= 0) arrive_list(e, &top, &end, 1);
        }
        if (k->kind == DTP_FT_IF) {
            if (k->b >= 0) arrive_list(e, &top, &k->b, 1);
            enter(e, &top, b->ifs[k->a].branch[0]);
            enter(e, &top, b->ifs[k->a].branch[1]);
        } else if (k->kind == DTP_FT_TEST) {
            enter(e, &top, b->loops[k->a].body);
        } else {
            arrive_list(e, &top, e->out.to + e->out.at[t], e->out.at[t + 1] - e->out.at[t]);
        }
    }
    return at;
}

/* Where a token's node goes: the blocks' counted nodes, then those that need no counter, each in the order of one
 * thread. */
static uint32_t place_of(const dtp_fb_t *b, const dtp_ftok_t *k) {
    const bool is_direct = k->pending <= 1;
    return 2 * b->blk[is_direct ? k->block : k->armed].local + is_direct;
}

/* The tokens of a region by place_of; NULL when out of memory. */
static int32_t *place_tokens(const emit_t *e, int region, int nblocks) {
    dtp_fb_t *b = e->b;
    const int32_t *tokens = e->order + e->first[region];
    const int n = e->first[region + 1] - e->first[region];
    int32_t *sorted = dtp_fb_take(b, (size_t)n, sizeof *sorted);
    int32_t *at = dtp_fb_alloc(b, 2 * (size_t)nblocks + 1, sizeof *at);
    if (!sorted || !at) return NULL;
    for (int i = 0; i < n; ++i) ++at[e->edge[tokens[i]] + 1];
    for (int k = 0; k < 2 * nblocks; ++k) at[k + 1] += at[k];
    for (int i = 0; i < n; ++i) sorted[at[e->edge[tokens[i]]]++] = tokens[i];
    return sorted;
}

/* ---- One region -------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t *data;
    uint32_t n;
} words_t;

static uint32_t number_of(const emit_t *e, int32_t token) { return e->edge[token] & ~DTP_DATAFLOW_DIRECT; }
static uint32_t put_list(const emit_t *e, words_t *w, const dtp_fcsr_t *csr, int i) {
    for (int k = csr->at[i]; k < csr->at[i + 1]; ++k) w->data[w->n++] = e->edge[csr->to[k]];
    return w->n;
}

static uint32_t node_kind(const dtp_ftok_t *k) {
    switch (k->kind) {
    case DTP_FT_NODE: return k->flags & DTP_DATAFLOW_NOP ? DTP_FK_PAD : DTP_FK_OP;
    case DTP_FT_IF: return DTP_FK_IF;
    case DTP_FT_WHILE: return DTP_FK_WHILE;
    case DTP_FT_CALL: return DTP_FK_CALL;
    case DTP_FT_TEST: return DTP_FK_TEST;
    default: return DTP_FK_PAD;
    }
}

static void *room_for(emit_t *e, size_t n, size_t size) { return dtp_arena_alloc(e->arena, (n + 1) * size); }

static dtp_dataflow_ring_t ring_of(const dtp_fb_t *b, const dtp_dataflow_region_t *regions,
                                   const dtp_ftok_t *k) {
    const dtp_floop_t *l = &b->loops[k->a];
    return (dtp_dataflow_ring_t){.region = &regions[b->blk[l->cond].region],
                                 .window = (uint32_t)l->loop.window,
                                 .index = l->loop.index,
                                 .data_offset = l->loop.data_offset,
                                 .data_stride = l->loop.data_stride};
}

static dnnl_tp_status_t lay_out(dtp_dataflow_region_t *r, dtp_dataflow_ring_t *rings) {
    size_t bytes = dtp_round_up_size(r->link_at + sizeof(uint64_t) * r->n_nodes, DTP_NO_SHARE);
    for (uint32_t i = 0; i < r->n_rings; ++i) { /* inner regions have higher numbers: they are laid out */
        rings[i].ring_at = bytes;
        size_t all, instances = (size_t)rings[i].window + 1;
        if (__builtin_mul_overflow(rings[i].region->bytes, instances, &all) || bytes > SIZE_MAX / 4 - all)
            return dtp_no_memory(SIZE_MAX);
        bytes += all;
    }
    r->bytes = bytes;
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_region(emit_t *e, int region, int32_t top_block, int nblocks) {
    dtp_fb_t *b = e->b;
    dtp_dataflow_region_t *r = &e->regions[region];
    const int32_t *tokens = e->order + e->first[region];
    const int n = e->first[region + 1] - e->first[region];
    const dtp_floop_t *loop = NULL;
    if (b->blk[top_block].kind == DTP_FB_COND) loop = &b->loops[b->tok[b->blk[top_block].owner].a];
    r->kind = loop ? DTP_DATAFLOW_IS_LOOP : region ? DTP_DATAFLOW_IS_FUNCTION : DTP_DATAFLOW_IS_ROOT;
    r->block = top_block;
    r->n_nodes = (uint32_t)n + (loop != NULL); /* EXIT */
    r->n_blocks = (uint32_t)nblocks;
    r->n_vars = loop ? (uint32_t)loop->nvars : 0;
    if (r->n_nodes > DTP_DATAFLOW_MAX_NODES)
        return dtp_fail(dnnl_tp_unimplemented, DTP_BAD_FLOW, "%u nodes in one region", r->n_nodes);

    const int32_t *order = place_tokens(e, region, nblocks);
    if (!order) return dnnl_tp_out_of_memory;
    size_t words = 0;
    uint32_t nchoices = 0, ncallees = 0;
    for (int i = 0; i < n; ++i) {
        const dtp_ftok_t *k = &b->tok[tokens[i]];
        words += (size_t)(e->out.at[tokens[i] + 1] - e->out.at[tokens[i]]);
        const int nnext = e->next.at[tokens[i] + 1] - e->next.at[tokens[i]];
        words += (size_t)nnext + (nnext > 0);
        nchoices += k->kind == DTP_FT_IF || k->kind == DTP_FT_TEST;
        r->n_rings += k->kind == DTP_FT_WHILE;
        ncallees += k->kind == DTP_FT_CALL;
        r->ns += k->ns;
    }
    for (int v = 0; loop && v < loop->nvars; ++v)
        words += (size_t)(e->out.at[loop->first_var + v + 1] - e->out.at[loop->first_var + v]);
    for (int k = 0; k < nblocks; ++k) {
        int32_t g = e->blocks_of[k];
        words += (size_t)(e->entry.at[g + 1] - e->entry.at[g]);
    }

    dtp_dataflow_node_t *nodes = room_for(e, r->n_nodes, sizeof *nodes);
    words_t w = {dtp_arena_take(e->arena, (words + 1) * sizeof *w.data), 0};
    uint8_t *init = room_for(e, r->n_nodes, 1);
    dtp_dataflow_control_block_t *blocks = room_for(e, r->n_blocks, sizeof *blocks);
    dtp_dataflow_choice_t *choices = room_for(e, nchoices, sizeof *choices);
    dtp_dataflow_ring_t *rings = room_for(e, r->n_rings, sizeof *rings);
    dtp_dataflow_callee_t *callees = room_for(e, ncallees, sizeof *callees);
    uint32_t *var_edge = room_for(e, r->n_vars + 1u, sizeof *var_edge);
    uint32_t *at_end = room_for(e, r->n_vars, sizeof *at_end);
    if (!nodes || !w.data || !init || !blocks || !choices || !rings || !callees || !var_edge || !at_end)
        return dnnl_tp_out_of_memory;

    for (int k = 0; k < nblocks; ++k) {
        const dtp_fblk_t *from = &b->blk[e->blocks_of[k]];
        dtp_dataflow_control_block_t *to = &blocks[k];
        to->up = from->up >= 0 ? b->blk[from->up].local : DTP_DATAFLOW_NONE;
        to->end = DTP_DATAFLOW_NONE;
        to->done = k == 0 && loop ? 2 : 1; /* previous iteration and body; guard */
    }
    for (int i = 0; i < n; ++i) {
        uint32_t *edge = &e->edge[order[i]];
        dtp_dataflow_control_block_t *blk = &blocks[*edge / 2];
        const bool is_direct = *edge % 2;
        if (!is_direct && blk->counted++ == 0) blk->first = (uint32_t)i;
        *edge = (uint32_t)i | (is_direct ? DTP_DATAFLOW_DIRECT : 0);
    }
    uint32_t nchoice = 0, nring = 0, ncallee = 0;
    for (int i = 0; i < n; ++i) {
        int32_t t = order[i];
        const dtp_ftok_t *k = &b->tok[t];
        dtp_dataflow_node_t *node = &nodes[i];
        uint32_t local = b->blk[k->block].local;
        if (k->pending > 1) init[i] = (uint8_t)k->pending;
        *node = (dtp_dataflow_node_t){
            .edge = w.n, .index = k->index, .bits = node_kind(k), .sink = DTP_DATAFLOW_NONE};
        if (k->kind == DTP_FT_NODE && !(k->flags & DTP_DATAFLOW_NOP))
            node->bits |= (uint32_t)(k->flags & (DTP_DATAFLOW_COSTLY | DTP_DATAFLOW_WIDE |
                                                 DTP_DATAFLOW_SPLITS | DTP_DATAFLOW_MAY_BLOCK |
                                                 DTP_DATAFLOW_MAY_PEND | (region ? DTP_DATAFLOW_UNKNOWN : 0)))
                          << DTP_FN_FLAGS;
        if (k->rank >= WORTH_NS) node->bits |= DTP_FN_WORTH;
        if (k->kind == DTP_FT_IF) {
            const dtp_fif_t *f = &b->ifs[k->a];
            node->index = nchoice;
            choices[nchoice] = (dtp_dataflow_choice_t){.pred = f->pred};
            for (int s = 0; s < 2; ++s) {
                uint32_t branch = b->blk[f->branch[s]].local;
                choices[nchoice].block[s] = branch;
                if (k->b >= 0) blocks[branch].end = number_of(e, k->b);
            }
            ++nchoice;
            if (k->b < 0) ++blocks[local].done;
            continue;
        }
        if (k->kind == DTP_FT_TEST) {
            node->index = nchoice;
            choices[nchoice++] = (dtp_dataflow_choice_t){loop->loop.test, {0, b->blk[loop->body].local}};
            r->test = (uint32_t)i;
            continue;
        }
        if (k->kind == DTP_FT_WHILE) {
            node->index = nring;
            rings[nring++] = ring_of(b, e->regions, k);
        }
        if (k->kind == DTP_FT_CALL) {
            node->index = ncallee;
            callees[ncallee++] = (dtp_dataflow_callee_t){&e->regions[b->blk[k->a].region], k->index};
        }
        if (e->next.at[t] < e->next.at[t + 1]) {
            node->bits |= DTP_FN_NEXT;
            w.data[w.n++] = (uint32_t)(e->next.at[t + 1] - e->next.at[t]);
            for (int x = e->next.at[t]; x < e->next.at[t + 1]; ++x)
                w.data[w.n++] = (uint32_t)b->next[e->next.to[x]].var;
        }
        put_list(e, &w, &e->out, t);
        if (!e->own[t]) {
            node->sink = local;
            ++blocks[local].done;
        }
    }
    if (loop) {
        r->exit = (uint32_t)n;
        nodes[n] = (dtp_dataflow_node_t){
            .edge = w.n, .index = loop->loop.exit_index, .bits = DTP_FK_EXIT, .sink = DTP_DATAFLOW_NONE};
    }
    nodes[r->n_nodes].edge = w.n;
    for (uint32_t v = 0; loop && v < r->n_vars; ++v) {
        var_edge[v] = w.n;
        put_list(e, &w, &e->out, loop->first_var + (int)v);
    }
    var_edge[r->n_vars] = w.n;
    for (int k = 0; k < nblocks; ++k) {
        blocks[k].entry = w.n;
        blocks[k].n_entry = put_list(e, &w, &e->entry, e->blocks_of[k]) - blocks[k].entry;
    }
    r->n_edges = w.n;
    for (uint32_t v = 0; v < r->n_vars; ++v) at_end[v] = 1;
    for (int i = 0; loop && i < b->nnext; ++i)
        if (&b->loops[b->next[i].loop] == loop) at_end[b->next[i].var] = 0;
    for (uint32_t v = 0; v < r->n_vars; ++v)
        if (at_end[v]) at_end[r->n_at_end++] = v;

    r->nodes = nodes;
    r->edges = w.data;
    r->init = init;
    r->blocks = blocks;
    r->choices = choices;
    r->rings = rings;
    r->callees = callees;
    r->var_edge = var_edge;
    r->at_end = at_end;
    r->done_at = sizeof(dtp_dataflow_instance_t);
    r->count_at = r->done_at + sizeof(uint32_t) * r->n_blocks;
    r->link_at = dtp_round_up_size(r->count_at + r->n_nodes, sizeof(uint64_t));
    return lay_out(r, rings);
}

/* ---- All --------------------------------------------------------------------------------------------- */

/* Connects the tokens and finds the order of one thread. */
static dnnl_tp_status_t arrange(emit_t *e, const dtp_fcsr_t *blocks, int *count) {
    DTP_TRY(connect(e));
    *count = 0;
    for (int r = 0; r < e->b->nregions; ++r) {
        e->first[r] = *count;
        *count = simulate(e, blocks->to[blocks->at[r]], *count);
    }
    e->first[e->b->nregions] = *count;
    return e->b->status;
}

/* What dataflow/run/learn.c needs. */
static dnnl_tp_status_t learn_tables(emit_t *e, dtp_dataflow_plan_t *plan) {
    const dtp_fb_t *b = e->b;
    plan->learns = DTP_WITH_LEARNING && (b->flags & DTP_DATAFLOW_LEARN);
    if (!plan->learns) return dnnl_tp_success;
    const dtp_dataflow_region_t *root = &e->regions[0];
    uint32_t n = 0, *order = room_for(e, root->n_nodes, sizeof *order);
    if (!order) return dnnl_tp_out_of_memory;
    for (int i = 0; i < e->first[1]; ++i) order[n++] = number_of(e, e->order[i]);
    plan->order = order;
    plan->learns = n == root->n_nodes;
    for (int t = 0; t < b->ntok; ++t) {
        const dtp_ftok_t *k = &b->tok[t];
        if (k->kind == DTP_FT_NODE && k->index != DTP_DATAFLOW_NO_INDEX && k->index >= plan->n_index)
            plan->n_index = k->index + 1;
    }
    for (int i = 0; i < b->nloops; ++i) {
        uint32_t index = b->loops[i].loop.exit_index;
        if (index != DTP_DATAFLOW_NO_INDEX && index >= plan->n_index) plan->n_index = index + 1;
    }
    return dnnl_tp_success;
}

/* Tokens with a node: one thread reaches all of them. */
static inline int nodes_of(const dtp_fb_t *b) {
    int n = 0;
    for (int t = 0; t < b->ntok; ++t) n += has_node(&b->tok[t]);
    return n;
}

dnnl_tp_status_t dtp_dataflow_emit(dtp_fb_t *b, dtp_arena_t *arena, const dtp_dataflow_plan_t **out) {
    emit_t e = {.b = b, .arena = arena};
    int n = b->ntok, count;
    e.first = dtp_fb_alloc(b, (size_t)b->nregions, sizeof *e.first);
    e.order = dtp_fb_take(b, (size_t)n, sizeof *e.order);
    e.stack = dtp_fb_take(b, (size_t)n, sizeof *e.stack);
    dtp_fdep_t *pair = dtp_fb_alloc(b, (size_t)b->nblk, sizeof *pair);
    if (!e.first || !e.order || !e.stack || !pair) return dnnl_tp_out_of_memory;

    /* Blocks per region, those around first. */
    dtp_fcsr_t in;
    for (int k = 0; k < b->nblk; ++k) pair[k] = (dtp_fdep_t){k, b->blk[k].region};
    if (!dtp_fb_csr(b, &in, b->nregions, pair, b->nblk, false)) return dnnl_tp_out_of_memory;
    for (int k = 0; k < b->nblk; ++k) b->blk[in.to[k]].local = (uint32_t)(k - in.at[b->blk[in.to[k]].region]);
    DTP_TRY(arrange(&e, &in, &count));
    assert(count == nodes_of(b));
    e.edge = dtp_fb_alloc(b, (size_t)n, sizeof *e.edge);
    if (!e.edge) return dnnl_tp_out_of_memory;
    for (int t = 0; t < n; ++t)
        if (has_node(&b->tok[t])) e.edge[t] = place_of(b, &b->tok[t]);

    dtp_fpairs_t nexts = {.n = 0};
    for (int i = 0; i < b->nnext; ++i) add_sources(b, &nexts, i, b->next[i].token);
    DTP_TRY(b->status);
    if (!dtp_fb_csr(b, &e.next, n, nexts.pair, nexts.n, false)) return dnnl_tp_out_of_memory;

    e.regions = dtp_arena_alloc(arena, sizeof *e.regions * (size_t)b->nregions);
    dtp_dataflow_plan_t *plan = dtp_arena_alloc(arena, sizeof *plan);
    if (!e.regions || !plan) return dnnl_tp_out_of_memory;
    for (int r = b->nregions - 1; r >= 0; --r) {
        e.blocks_of = in.to + in.at[r];
        DTP_TRY(emit_region(&e, r, e.blocks_of[0], in.at[r + 1] - in.at[r]));
    }
    plan->regions = e.regions;
    DTP_TRY(learn_tables(&e, plan));
    plan->n_regions = (uint32_t)b->nregions;
    plan->may_pend = b->may_pend;
    plan->mean_ns = e.regions[0].n_nodes ? e.regions[0].ns / e.regions[0].n_nodes : 0.;
    *out = plan;
    return b->status;
}

/* ---- Renumbering ------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t *number, n, next;
} numbering_t;

static void give_number(numbering_t *x, const uint32_t *index) {
    uint32_t *i = (uint32_t *)(uintptr_t)index;
    if (*i >= x->n) return;
    if (x->number[*i] == DTP_DATAFLOW_NONE) x->number[*i] = x->next++;
    *i = x->number[*i];
}

void dtp_dataflow_renumber(const dtp_dataflow_plan_t *plan, uint32_t n, uint32_t *number) {
    numbering_t x = {number, n, 0};
    for (uint32_t i = 0; i < n; ++i) number[i] = DTP_DATAFLOW_NONE;
    for (uint32_t k = 0; k < plan->n_regions; ++k) {
        const dtp_dataflow_region_t *r = &plan->regions[k];
        for (uint32_t i = 0; i < r->n_nodes; ++i) {
            const dtp_dataflow_node_t *node = &r->nodes[i];
            uint32_t kind = DTP_FN_KIND(node->bits);
            if (kind == DTP_FK_OP || kind == DTP_FK_EXIT) give_number(&x, &node->index);
        }
    }
    for (uint32_t i = 0; i < n; ++i)
        if (number[i] == DTP_DATAFLOW_NONE) number[i] = x.next++;
}
