/* Reorder on the device, and between its memory and the host's: host half.
 *
 * Equal layouts, and what is linear in both, is one copy. Where one tensor lies in memory of the host and the other has another layout or
 * type, an image of the host's tensor in scratch stands for it. Blocked layouts are copied only. */
#include "common/problems/reorder.h"

#include "gpu/reorder/move.h"

typedef struct {
    dtp_gpu_move_t move; /* its kernel is NULL where a copy does */
    bool whole;          /* a copy of tensors that kernels do not read */
    size_t bytes;        /* of a copy, or of the image in scratch of the tensor that the host has */
    bool keeps;          /* of dst, what it held matters */
} plan_t;

static const struct {
    int arg;
    bool is_scale;
} quants[DTP_MOVE_QUANTS] = {[DTP_MOVE_SRC_ZERO_POINT] = {DNNL_TP_ARG_SRC, false},
                             [DTP_MOVE_SRC_SCALE] = {DNNL_TP_ARG_SRC, true},
                             [DTP_MOVE_DST_SCALE] = {DNNL_TP_ARG_DST, true},
                             [DTP_MOVE_DST_ZERO_POINT] = {DNNL_TP_ARG_DST, false}};

static dnnl_tp_status_t check(const dtp_pd_t *pd, const dtp_reorder_desc_t *d) {
    const dtp_attr_t *attr = pd->attr;
    DTP_DISPATCH(d->src.format_kind == dnnl_tp_blocked && d->dst.format_kind == dnnl_tp_blocked,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(d->src.extra.flags == 0 && d->dst.extra.flags == 0, UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES | DTP_ATTR_ZERO_POINTS),
                 UNSUPPORTED_ATTR);
    DTP_DISPATCH(attr->post_ops->len == 0 ||
                     (attr->post_ops->len == 1 && attr->post_ops->entry[0].kind == dnnl_tp_sum),
                 UNSUPPORTED_POST_OPS);
    return dnnl_tp_success;
}

static dnnl_tp_status_t reorder_init(dtp_pd_t *pd) {
    const dtp_reorder_desc_t *d = (const dtp_reorder_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(check(pd, d));
    if (dtp_attr_only(pd->attr, 0) && dtp_md_equal(&d->src, &d->dst) && dtp_md_is_dense(&d->dst)) {
        plan->whole = true;
        plan->bytes = dtp_md_size(&d->dst);
        return dnnl_tp_success;
    }
    dtp_gpu_move_problem_t problem = {.src = &d->src, .dst = &d->dst};
    for (int i = 0; i < DTP_MOVE_QUANTS; ++i)
        problem.quant[i] = quants[i].is_scale ? dtp_attr_scale(pd->attr, quants[i].arg)
                                              : dtp_attr_zero_point(pd->attr, quants[i].arg);
    if (pd->attr->post_ops->len) problem.sum = &pd->attr->post_ops->entry[0];
    DTP_TRY(dtp_gpu_move_init(&plan->move, pd, &problem));
    plan->bytes = plan->move.bytes;
    if (pd->peer_arg < 0 || !plan->move.kernel) return dnnl_tp_success;
    plan->bytes = dtp_md_size(pd->peer_arg == DTP_REORDER_SRC ? &d->src : &d->dst);
    plan->keeps = problem.sum || !dtp_md_is_dense(&d->dst);
    dtp_pd_book(pd, plan->bytes, 0);
    return dnnl_tp_success;
}

static dtp_copy_t how_copied(const dtp_pd_t *pd) {
    return pd->peer_arg == DTP_REORDER_SRC   ? DTP_COPY_TO_ENGINE
           : pd->peer_arg == DTP_REORDER_DST ? DTP_COPY_TO_HOST
                                             : DTP_COPY_WITHIN;
}

static dnnl_tp_status_t reorder_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_reorder_desc_t *d = (const dtp_reorder_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    void *src = dtp_gpu_data(ctx, DTP_REORDER_SRC, &d->src),
         *dst = dtp_gpu_data(ctx, DTP_REORDER_DST, &d->dst);
    void *const host_dst = dst;
    if (plan->whole || !plan->move.kernel)
        return dst == src ? dnnl_tp_success : dtp_gpu_copy(ctx, how_copied(pd), dst, src, plan->bytes);
    if (pd->peer_arg == DTP_REORDER_SRC) {
        DTP_TRY(dtp_gpu_copy(ctx, DTP_COPY_TO_ENGINE, ctx->scratch, src, plan->bytes));
        src = ctx->scratch;
    } else if (pd->peer_arg == DTP_REORDER_DST) {
        dst = ctx->scratch;
        if (plan->keeps) DTP_TRY(dtp_gpu_copy(ctx, DTP_COPY_TO_ENGINE, dst, host_dst, plan->bytes));
    }
    const void *quant[DTP_MOVE_QUANTS];
    for (int i = 0; i < DTP_MOVE_QUANTS; ++i) {
        const int at = quants[i].is_scale ? dtp_pd_scale_index(pd, quants[i].arg)
                                          : dtp_pd_zero_point_index(pd, quants[i].arg);
        quant[i] = at < 0 ? NULL : ctx->ptr[at];
    }
    DTP_TRY(dtp_gpu_move_execute(&plan->move, ctx, src, dst, quant));
    if (pd->peer_arg != DTP_REORDER_DST) return dnnl_tp_success;
    return dtp_gpu_copy(ctx, DTP_COPY_TO_HOST, host_dst, dst, plan->bytes);
}

static DTP_GPU_IMPL(reorder, "cuda:any", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(plan_t),
                    .pd_init = reorder_init, .execute = reorder_execute);
DTP_GPU_LIST(reorder, &dtp_gpu_reorder);
