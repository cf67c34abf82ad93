/* Building calls of the dataflow engine: they record tokens, blocks and dependencies. See build.h. */
#include "exec/dataflow/build/build.h"

dtp_dataflow_builder_t *dtp_dataflow_builder_create(const dnnl_tp_allocator_t *allocator) {
    dtp_fb_t *b = dtp_zalloc(allocator, sizeof *b, DTP_CACHE_LINE);
    if (!b) {
        (void)dtp_no_memory(sizeof *b);
        return NULL;
    }
    dtp_arena_init(&b->arena, allocator);
    dtp_arena_init(&b->scratch, allocator);
    b->status = dtp_arena_grow(&b->arena, (void **)&b->blk, &b->blk_room, 1, sizeof *b->blk);
    if (b->status == dnnl_tp_success) {
        b->blk[0] = (dtp_fblk_t){.kind = DTP_FB_ROOT, .up = -1, .owner = -1};
        b->nblk = b->nregions = 1;
    }
    return b;
}

void dtp_dataflow_builder_destroy(dtp_dataflow_builder_t *b) {
    if (!b) return;
    const dnnl_tp_allocator_t *allocator = b->arena.allocator;
    dtp_arena_free(&b->scratch);
    dtp_arena_free(&b->arena);
    dtp_free(allocator, b);
}

static void mistake(dtp_fb_t *b, const char *what, int a) {
    if (b->status == dnnl_tp_success)
        b->status = dtp_fail(dnnl_tp_invalid_arguments, DTP_BAD_FLOW, "%s %d", what, a);
}

/* Room for one more element; false after any failure. */
static bool grow(dtp_fb_t *b, void **array, int *room, int count, size_t size) {
    if (b->status != dnnl_tp_success) return false;
    b->status = dtp_arena_grow(&b->arena, array, room, count + 1, size);
    return b->status == dnnl_tp_success;
}

void dtp_dataflow_expect(dtp_dataflow_builder_t *b, int nodes, int dependencies) {
    if (nodes > 0) (void)grow(b, (void **)&b->tok, &b->tok_room, nodes - 1, sizeof *b->tok);
    if (dependencies > 0) (void)grow(b, (void **)&b->dep, &b->dep_room, dependencies - 1, sizeof *b->dep);
}

void *dtp_fb_alloc(dtp_fb_t *b, size_t count, size_t size) {
    void *p = dtp_arena_alloc(&b->scratch, (count + 1) * size);
    if (!p) b->status = dnnl_tp_out_of_memory;
    return p;
}

void *dtp_fb_take(dtp_fb_t *b, size_t count, size_t size) {
    void *p = dtp_arena_take(&b->scratch, (count + 1) * size);
    if (!p) b->status = dnnl_tp_out_of_memory;
    return p;
}

int32_t dtp_fb_token(dtp_fb_t *b, dtp_ftok_kind_t kind, int32_t block) {
    if (!grow(b, (void **)&b->tok, &b->tok_room, b->ntok, sizeof *b->tok)) return -1;
    if (block < 0 || block >= b->nblk) {
        mistake(b, "there is no block", block);
        return -1;
    }
    b->tok[b->ntok] = (dtp_ftok_t){.kind = (uint8_t)kind,
                                   .block = block,
                                   .index = DTP_DATAFLOW_NO_INDEX,
                                   .a = -1,
                                   .b = -1,
                                   .armed = block};
    return b->ntok++;
}

static int32_t new_block(dtp_fb_t *b, dtp_fblk_kind_t kind, int32_t up, int32_t owner) {
    if (!grow(b, (void **)&b->blk, &b->blk_room, b->nblk, sizeof *b->blk)) return -1;
    dtp_fblk_t *k = &b->blk[b->nblk];
    *k = (dtp_fblk_t){.kind = (uint8_t)kind, .up = up, .owner = owner};
    k->region = up >= 0 ? b->blk[up].region : b->nregions++;
    k->depth = up >= 0 ? b->blk[up].depth + 1 : 0;
    return b->nblk++;
}

void dtp_fb_dep(dtp_fb_t *b, int32_t later, int32_t earlier) {
    if (!grow(b, (void **)&b->dep, &b->dep_room, b->ndep, sizeof *b->dep)) return;
    b->dep[b->ndep++] = (dtp_fdep_t){later, earlier};
}

dtp_dataflow_token_t dtp_dataflow_node(dtp_dataflow_builder_t *b, dtp_dataflow_block_t block, uint32_t index,
                                       unsigned flags, double ns) {
    int32_t t = dtp_fb_token(b, DTP_FT_NODE, block);
    if (t < 0) return -1;
    const unsigned may_pend = DTP_DATAFLOW_MAY_BLOCK | DTP_DATAFLOW_MAY_PEND;
    if (flags & (DTP_DATAFLOW_WIDE | DTP_DATAFLOW_SPLITS | may_pend)) flags |= DTP_DATAFLOW_COSTLY;
    if (flags & may_pend) b->may_pend = true;
    b->tok[t].index = index;
    b->tok[t].flags = (uint16_t)flags;
    b->tok[t].ns = ns > 0. ? ns : 0.;
    return t;
}

void dtp_dataflow_after(dtp_dataflow_builder_t *b, dtp_dataflow_token_t later, dtp_dataflow_token_t earlier) {
    if (b->status != dnnl_tp_success) return;
    if (later < 0 || later >= b->ntok) mistake(b, "there is no token", later);
    else if (earlier < 0 || earlier >= b->ntok) mistake(b, "there is no token", earlier);
    else if (b->tok[later].kind >= DTP_FT_VAR) mistake(b, "nothing can come before token", later);
    else if (b->tok[earlier].kind == DTP_FT_TEST) mistake(b, "nothing can come after the test", earlier);
    else dtp_fb_dep(b, later, earlier);
}

dtp_dataflow_if_t dtp_dataflow_if(dtp_dataflow_builder_t *b, dtp_dataflow_block_t block,
                                  const dtp_dataflow_ref_t *pred) {
    dtp_dataflow_if_t none = {-1, {-1, -1}}, r;
    r.token = dtp_fb_token(b, DTP_FT_IF, block);
    if (r.token < 0 || !grow(b, (void **)&b->ifs, &b->if_room, b->nifs, sizeof *b->ifs)) return none;
    for (int i = 0; i < 2; ++i) r.branch[i] = new_block(b, DTP_FB_BRANCH, block, r.token);
    if (r.branch[0] < 0 || r.branch[1] < 0) return none;
    b->tok[r.token].a = b->nifs;
    b->ifs[b->nifs++] = (dtp_fif_t){*pred, {r.branch[0], r.branch[1]}, r.token};
    return r;
}

dtp_dataflow_token_t dtp_dataflow_if_out(dtp_dataflow_builder_t *b, dtp_dataflow_token_t if_token,
                                         dtp_dataflow_token_t on_false, dtp_dataflow_token_t on_true) {
    if (b->status != dnnl_tp_success) return -1;
    if (if_token < 0 || if_token >= b->ntok || b->tok[if_token].kind != DTP_FT_IF) {
        mistake(b, "there is no If", if_token);
        return -1;
    }
    int32_t from[2] = {on_false, on_true};
    for (int i = 0; i < 2; ++i) {
        if (from[i] < 0 || from[i] >= b->ntok ||
            b->tok[from[i]].block != b->ifs[b->tok[if_token].a].branch[i]) {
            mistake(b, "an output of an If is not made in its branch: token", from[i]);
            return -1;
        }
    }
    int32_t t = dtp_fb_token(b, DTP_FT_OUT, b->tok[if_token].block);
    if (t < 0) return -1;
    b->tok[t].a = on_false;
    b->tok[t].b = on_true;
    b->tok[t].index = (uint32_t)if_token;
    return t;
}

dtp_dataflow_while_t dtp_dataflow_while(dtp_dataflow_builder_t *b, dtp_dataflow_block_t block,
                                        const dtp_dataflow_loop_t *loop) {
    dtp_dataflow_while_t none = {-1, -1, -1, -1, -1}, r = none;
    if (loop->nvars < 0 || loop->window < 1) {
        mistake(b, "a While has the window", loop->window);
        return none;
    }
    r.token = dtp_fb_token(b, DTP_FT_WHILE, block);
    if (r.token < 0 || !grow(b, (void **)&b->loops, &b->loop_room, b->nloops, sizeof *b->loops)) return none;
    r.cond = new_block(b, DTP_FB_COND, -1, r.token);
    if (r.cond < 0) return none;
    r.test = dtp_fb_token(b, DTP_FT_TEST, r.cond);
    if (r.test < 0) return none;
    r.body = new_block(b, DTP_FB_BODY, r.cond, r.test);
    if (r.body < 0) return none;
    dtp_floop_t *l = &b->loops[b->nloops];
    *l = (dtp_floop_t){.loop = *loop, .cond = r.cond, .body = r.body, .token = r.token};
    l->first_var = r.first_var = b->ntok;
    l->nvars = loop->nvars ? loop->nvars : 1; /* a dummy starts the condition */
    for (int i = 0; i < l->nvars; ++i) {
        int32_t v = dtp_fb_token(b, DTP_FT_VAR, r.cond);
        if (v < 0) return none;
        b->tok[v].a = b->nloops;
        b->tok[v].b = i;
    }
    b->tok[r.token].a = b->tok[r.test].a = b->nloops++;
    b->tok[r.token].index = loop->index;
    return r;
}

void dtp_dataflow_next(dtp_dataflow_builder_t *b, dtp_dataflow_token_t while_token, int var,
                       dtp_dataflow_token_t token) {
    if (b->status != dnnl_tp_success) return;
    if (while_token < 0 || while_token >= b->ntok || b->tok[while_token].kind != DTP_FT_WHILE) {
        mistake(b, "there is no While", while_token);
        return;
    }
    const dtp_floop_t *l = &b->loops[b->tok[while_token].a];
    if (var < 0 || var >= l->loop.nvars) mistake(b, "there is no loop variable", var);
    else if (token < 0 || token >= b->ntok || b->tok[token].block != l->body)
        mistake(b, "a variable's next value is not made in the body: token", token);
    else if (grow(b, (void **)&b->next, &b->next_room, b->nnext, sizeof *b->next))
        b->next[b->nnext++] = (dtp_fnext_t){b->tok[while_token].a, var, token};
}

dtp_dataflow_block_t dtp_dataflow_function(dtp_dataflow_builder_t *b) {
    return new_block(b, DTP_FB_FUNCTION, -1, -1);
}

dtp_dataflow_token_t dtp_dataflow_call(dtp_dataflow_builder_t *b, dtp_dataflow_block_t block,
                                       dtp_dataflow_block_t function, uint32_t index) {
    if (b->status != dnnl_tp_success) return -1;
    if (function < 0 || function >= b->nblk || b->blk[function].kind != DTP_FB_FUNCTION) {
        mistake(b, "there is no function with block", function);
        return -1;
    }
    int32_t t = dtp_fb_token(b, DTP_FT_CALL, block);
    if (t < 0) return -1;
    b->tok[t].a = function;
    b->tok[t].index = index;
    return t;
}

bool dtp_fb_csr(dtp_fb_t *b, dtp_fcsr_t *csr, int n, const dtp_fdep_t *pair, int npairs, bool by_later) {
    csr->at = dtp_fb_alloc(b, (size_t)n + 1, sizeof *csr->at);
    csr->to = dtp_fb_take(b, (size_t)npairs, sizeof *csr->to);
    if (!csr->at || !csr->to) return false;
    for (int i = 0; i < npairs; ++i) ++csr->at[by_later ? pair[i].later : pair[i].earlier];
    int32_t sum = 0;
    for (int i = 0; i <= n; ++i) csr->at[i] = sum += csr->at[i]; /* ends; filling turns them into begins */
    for (int i = npairs - 1; i >= 0; --i) {
        int32_t key = by_later ? pair[i].later : pair[i].earlier;
        csr->to[--csr->at[key]] = by_later ? pair[i].earlier : pair[i].later;
    }
    return true;
}

void dtp_fb_pair(dtp_fb_t *b, dtp_fpairs_t *p, int32_t later, int32_t earlier) {
    if (b->status != dnnl_tp_success) return;
    b->status = dtp_arena_grow(&b->scratch, (void **)&p->pair, &p->room, p->n + 1, sizeof *p->pair);
    if (b->status == dnnl_tp_success) p->pair[p->n++] = (dtp_fdep_t){later, earlier};
}

dnnl_tp_status_t dtp_dataflow_build(dtp_dataflow_builder_t *b, unsigned flags, dtp_arena_t *arena,
                                    const dtp_dataflow_plan_t **plan) {
    *plan = NULL;
    DTP_TRY(b->status);
    b->flags = flags;
    DTP_TRY(dtp_dataflow_order(b));
    dtp_arena_free(&b->scratch);
    if (!dtp_fb_is_flat(b)) {
        DTP_TRY(dtp_dataflow_pads(b));
        dtp_arena_free(&b->scratch);
    }
    return dtp_dataflow_emit(b, arena, plan);
}
