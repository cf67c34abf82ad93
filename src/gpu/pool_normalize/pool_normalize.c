/* Mean over sequences and normalisation on the device: host half. */
#include "common/problems/graph/pool_normalize.h"

#include "gpu/device/post_ops.h"
#include "gpu/pool_normalize/pool_normalize_args.h"

typedef struct {
    dtp_pooln_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
    uint32_t shared_bytes;
} plan_t;

static dnnl_tp_status_t check(dtp_pd_t *pd, dtp_pool_normalize_desc_t *d) {
    const int nd = d->src.ndims;
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && d->dst.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH((nd == 2 || nd == 3) && d->dst.ndims == 2, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst) && d->src.strides[nd - 1] == 1 &&
                     d->dst.strides[1] == 1,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    return dnnl_tp_success;
}

static dnnl_tp_status_t init_sequences(dtp_pooln_args_t *a, dtp_pd_t *pd,
                                       const dtp_pool_normalize_desc_t *d) {
    const int nd = d->src.ndims;
    int64_t n = nd == 3 ? d->src.dims[0] : 1;
    if (!dtp_md_is_zero(&d->offsets)) {
        DTP_DISPATCH(nd == 2 && dtp_md_is_zero(&d->mask), UNSUPPORTED_SHAPE);
        DTP_DISPATCH(d->offsets.data_type == dnnl_tp_s32 && dtp_md_is_dense_row_major(&d->offsets),
                     UNSUPPORTED_LAYOUT);
        n = dtp_max64(0, d->offsets.dims[0] - 1);
        pd->checks_data = true;
    }
    DTP_DISPATCH(d->dst.dims[0] == n && d->dst.dims[1] == d->src.dims[nd - 1], UNSUPPORTED_SHAPE);
    DTP_DISPATCH(n <= INT32_MAX && d->src.dims[nd - 2] <= INT32_MAX, UNSUPPORTED_SHAPE);
    if (!dtp_md_is_zero(&d->mask)) {
        DTP_DISPATCH(d->mask.data_type == dnnl_tp_f32 && dtp_md_is_plain(&d->mask), UNSUPPORTED_LAYOUT);
        DTP_DISPATCH(nd == 3 && d->mask.ndims == 2 && d->mask.dims[0] == n &&
                         d->mask.dims[1] == d->src.dims[1],
                     UNSUPPORTED_SHAPE);
        a->mask_batch = d->mask.strides[0];
        a->mask_row = d->mask.strides[1];
    }
    a->n = (int32_t)n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t pool_normalize_init(dtp_pd_t *pd) {
    dtp_pool_normalize_desc_t *d = (dtp_pool_normalize_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_pooln_args_t *a = &plan->args;
    const int nd = d->src.ndims;
    DTP_TRY(check(pd, d));
    DTP_TRY(init_sequences(a, pd, d));
    const int64_t h = d->src.dims[nd - 1],
                  room = dtp_gpu_device(pd)->shared_bytes / 2 / (int64_t)sizeof(float);
    DTP_DISPATCH(h <= room, UNSUPPORTED_SHAPE);
    a->rows = (int32_t)d->src.dims[nd - 2];
    a->h = (int32_t)h;
    a->ld = d->src.strides[nd - 2];
    a->batch = nd == 3 ? d->src.strides[0] : 0;
    a->ld_dst = d->dst.strides[0];
    a->type = (int32_t)d->src.data_type;
    a->aligned = (a->ld | a->batch) % DTP_GPU_RUN == 0;
    a->epsilon = d->epsilon;
    const int64_t pieces = dtp_max64(dtp_div_up(h, DTP_GPU_RUN), 1),
                  groups = dtp_min64(DTP_POOLN_THREADS / pieces, a->rows);
    a->groups = (int32_t)dtp_max64(1, dtp_min64(groups, room / dtp_max64(h, 1)));
    plan->shared_bytes = (uint32_t)(a->groups * h * (int64_t)sizeof(float));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_pool_normalize, "dtp_pool_normalize", plan->shared_bytes,
                          &plan->kernel);
}

static dnnl_tp_status_t pool_normalize_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pool_normalize_desc_t *d = (const dtp_pool_normalize_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_pooln_args_t a = plan->args;
    if (ctx->rows >= 0) a.n = (int32_t)ctx->rows;
    a.src = dtp_gpu_data(ctx, DTP_POOLN_SRC, &d->src);
    a.dst = dtp_gpu_data(ctx, DTP_POOLN_DST, &d->dst);
    if (!dtp_md_is_zero(&d->mask)) a.mask = dtp_gpu_data(ctx, DTP_POOLN_MASK, &d->mask);
    if (!dtp_md_is_zero(&d->offsets)) a.offsets = dtp_gpu_data(ctx, DTP_POOLN_OFFSETS, &d->offsets);
    a.aligned = a.aligned && dtp_gpu_is_aligned(a.src, DTP_GPU_RUN * dtp_type_size(d->src.data_type));
    a.note = dtp_gpu_note(ctx);
    const dtp_gpu_shape_t shape = {{(uint32_t)a.n}, {DTP_POOLN_THREADS}, plan->shared_bytes};
    return dtp_gpu_launch(ctx, plan->kernel, &shape, &a);
}

static DTP_GPU_IMPL(pool_normalize, "cuda:block", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
                    .pd_init = pool_normalize_init, .execute = pool_normalize_execute);
DTP_GPU_LIST(pool_normalize, &dtp_gpu_pool_normalize);
