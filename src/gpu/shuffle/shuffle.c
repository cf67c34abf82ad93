/* Shuffle on the device: a move between two orders of the two dimensions into which the axis falls. */
#include "common/problems/shuffle.h"

#include "gpu/reorder/move.h"

/* The axis as two dimensions of these sizes and strides. */
static dtp_md_t split_axis(const dtp_md_t *md, int axis, int64_t outer, int64_t inner, int64_t outer_stride,
                           int64_t inner_stride) {
    dtp_md_t to = *md;
    to.ndims = md->ndims + 1;
    for (int i = md->ndims - 1; i > axis; --i) {
        to.dims[i + 1] = to.padded_dims[i + 1] = md->dims[i];
        to.strides[i + 1] = md->strides[i];
    }
    to.dims[axis] = to.padded_dims[axis] = outer;
    to.dims[axis + 1] = to.padded_dims[axis + 1] = inner;
    to.strides[axis] = outer_stride;
    to.strides[axis + 1] = inner_stride;
    return to;
}

static dnnl_tp_status_t shuffle_init(dtp_pd_t *pd) {
    dtp_shuffle_desc_t *d = (dtp_shuffle_desc_t *)pd->op;
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    if (dtp_md_is_any(&d->dst)) dtp_gpu_layout_like(&d->dst, &d->src);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(d->src.ndims < DNNL_TP_MAX_NDIMS, UNSUPPORTED_SHAPE);
    const int64_t group = d->group_size, rows = d->src.dims[d->axis] / group, from = d->src.strides[d->axis],
                  to = d->dst.strides[d->axis];
    /* Element g * rows + r of dst is element r * group + g of src. */
    const dtp_md_t src = split_axis(&d->src, d->axis, group, rows, from, group * from),
                   dst = split_axis(&d->dst, d->axis, group, rows, rows * to, to);
    return dtp_gpu_move_init(pd->plan, pd, &(dtp_gpu_move_problem_t){.src = &src, .dst = &dst});
}

static dnnl_tp_status_t shuffle_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_shuffle_desc_t *d = (const dtp_shuffle_desc_t *)pd->op;
    return dtp_gpu_move_execute(pd->plan, ctx, dtp_gpu_data(ctx, DTP_SHUFFLE_SRC, &d->src),
                                dtp_gpu_data(ctx, DTP_SHUFFLE_DST, &d->dst),
                                (const void *const[DTP_MOVE_QUANTS]){NULL});
}

static DTP_GPU_IMPL(shuffle, "cuda:any", .plan_size = sizeof(dtp_gpu_move_t), .pd_init = shuffle_init,
                    .execute = shuffle_execute);
DTP_GPU_LIST(shuffle, &dtp_gpu_shuffle);
