/* Local response normalization on the device: host half. */
#include "common/problems/norms/lrn.h"

#include "gpu/device/post_ops.h"
#include "gpu/device/space.h"
#include "gpu/lrn/lrn_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_lrn_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
} plan_t;

static dnnl_tp_status_t lrn_init(dtp_pd_t *pd) {
    dtp_lrn_desc_t *d = (dtp_lrn_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_lrn_args_t *a = &plan->args;
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_gpu_layout_like(&d->dst, &d->src);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    DTP_TRY(dtp_gpu_space_init(&a->walk, &d->dst, &order));
    const int missing = DTP_SPACE_ALL - d->src.ndims;
    const bool across = d->alg == dnnl_tp_lrn_across_channels;
    for (int w = 0; w < DTP_SPACE_ALL; ++w) {
        const int dim = w < DTP_SPACE_FIRST ? w : w - missing;
        a->size[w] = 1;
        if (w >= DTP_SPACE_FIRST && dim < DTP_SPACE_FIRST) continue; /* an image lacks it */
        a->size[w] = (int32_t)d->src.dims[dim];
        a->src_stride[w] = d->src.strides[dim];
        if (across ? w == DTP_SPACE_CHANNEL : w >= DTP_SPACE_FIRST)
            a->half[w] = (int32_t)dtp_min64(dtp_lrn_half(d), d->src.dims[dim]);
    }
    a->src_type = (int32_t)d->src.data_type;
    a->dst_type = (int32_t)d->dst.data_type;
    a->factor = (float)dtp_lrn_factor(d);
    a->beta = d->beta;
    a->k = d->k;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_lrn, "dtp_lrn", 0, &plan->kernel);
}

static dnnl_tp_status_t lrn_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_lrn_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_LRN_SRC, &d->src);
    a.dst = dtp_gpu_data(ctx, DTP_LRN_DST, &d->dst);
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.walk.dims.n, THREADS, &a);
}

static DTP_GPU_IMPL(lrn, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = lrn_init,
                    .execute = lrn_execute);
DTP_GPU_LIST(lrn, &dtp_gpu_lrn);
