/* Post-operations of steps: those that passes fused into a node, those that a lowering makes itself. */
#include "exec/compile/lowering/lower.h"

/* Room for so many post-operations and their arguments. */
static dnnl_tp_status_t reserve_posts(dtp_lower_t *l, dtp_step_t *s, int n) {
    dtp_arena_t *arena = l->ir->arena;
    dtp_work_t *w = s->work;
    dtp_ir_post_t *post = dtp_arena_alloc(arena, sizeof *post * (size_t)n);
    dtp_md_t *md = dtp_arena_alloc(arena, sizeof *md * (size_t)n);
    dtp_step_arg_t *arg = dtp_arena_alloc(arena, sizeof *arg * (size_t)(s->nargs + 2 * n));
    if (!post || !md || !arg) return dnnl_tp_out_of_memory;
    memcpy(arg, s->arg, sizeof *arg * (size_t)(s->nargs + s->npost_args));
    for (int i = s->nargs + s->npost_args; i < s->nargs + 2 * n; ++i) arg[i] = (dtp_step_arg_t){.buf = -1};
    if (w->npost) memcpy(post, w->post, sizeof *post * (size_t)w->npost);
    if (w->npost) memcpy(md, w->post_md, sizeof *md * (size_t)w->npost);
    w->post = post;
    w->post_md = md;
    s->arg = arg;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_add_post(dtp_lower_t *l, dtp_step_t *s, const dtp_ir_post_t *post, const dtp_md_t *md,
                              dtp_step_arg_t arg) {
    const int i = s->work->npost;
    DTP_TRY(reserve_posts(l, s, i + 1));
    s->work->npost = i + 1;
    s->work->post[i] = *post;
    s->npost_args = 2 * (i + 1);
    if (!post->is_binary) return dnnl_tp_success;
    s->work->post_md[i] = *md;
    s->arg[s->nargs + 2 * i] = arg;
    return dnnl_tp_success;
}

/* The other operand of a post-operation as it lies for dst: in dst's order of dimensions if it has its shape. */
static dnnl_tp_status_t view_operand(dtp_lower_t *l, int v, const dtp_md_t *dst, dtp_view_t *p) {
    const dnnl_tp_tensor_info_t *t = l->ir->values[v].info;
    bool is_last;
    if (dst->ndims > 2 && !dtp_md_is_dense_row_major(dst) && t->ndims == dst->ndims &&
        !memcmp(t->dims, dst->dims, sizeof *t->dims * (size_t)t->ndims)) {
        return dtp_view_pixels(l, v, p, true, &is_last);
    }
    return dtp_view_dense(l, v, p);
}

dnnl_tp_status_t dtp_add_post_ops(dtp_lower_t *l, dtp_step_t *s, const dtp_ir_node_t *n,
                                  const dtp_md_t *dst) {
    const int before = s->work->npost;
    if (n->npost == 0) return dnnl_tp_success;
    DTP_TRY(reserve_posts(l, s, before + n->npost));
    s->work->npost = before + n->npost;
    s->npost_args = 2 * s->work->npost;
    for (int k = 0; k < n->npost; ++k) {
        const int i = before + k;
        s->work->post[i] = n->post[k];
        if (!n->post[k].is_binary) continue;
        int v = n->post[k].value;
        dtp_view_t p;
        DTP_TRY(view_operand(l, v, dst, &p));
        const dnnl_tp_tensor_info_t *t = l->ir->values[v].info;
        int64_t count = dtp_info_nelems(t);
        if (dst->ndims == 2) {
            int64_t cols = dst->dims[1], rows = count == dst->dims[0] * cols ? dst->dims[0] : 1;
            DTP_TRY(dtp_md_dense2(&s->work->post_md[i], rows, count == 1 ? 1 : cols, t->data_type));
        } else {
            DTP_TRY(dtp_md_padded(&s->work->post_md[i], t, p.strides, dst->ndims));
        }
        s->arg[s->nargs + 2 * i] = (dtp_step_arg_t){.buf = p.buf, .offset = p.offset};
    }
    /* Copies of operands come first. */
    int at = l->nsteps - 1;
    while (l->steps[at] != s) --at;
    memmove(l->steps + at, l->steps + at + 1, sizeof *l->steps * (size_t)(l->nsteps - 1 - at));
    l->steps[l->nsteps - 1] = s;
    return dnnl_tp_success;
}
