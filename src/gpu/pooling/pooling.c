/* Pooling on the device: host half. */
#include "common/problems/pooling.h"

#include <float.h>

#include "gpu/device/post_ops.h"
#include "gpu/device/space.h"
#include "gpu/pooling/pooling_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_pooling_args_t args; /* without pointers */
    dtp_gpu_post_ops_t po;
    dtp_cu_function_t kernel;
} plan_t;

static float least_of(dnnl_tp_data_type_t type) {
    const float f16_most = 65504.f, bf16_most = 0x1.fep127f;
    switch (type) {
    case dnnl_tp_f16: return -f16_most;
    case dnnl_tp_bf16: return -bf16_most;
    case dnnl_tp_s8: return INT8_MIN;
    case dnnl_tp_u8: return 0;
    default: return -FLT_MAX;
    }
}

static dnnl_tp_status_t check(dtp_pd_t *pd, dtp_pooling_desc_t *d) {
    const dnnl_tp_data_type_t src = d->src.data_type, dst = d->dst.data_type;
    /* s32 is not exact in f32. */
    DTP_DISPATCH(dtp_gpu_takes(src) && dtp_gpu_takes(dst) && src != dnnl_tp_s32 && dst != dnnl_tp_s32,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_md_is_zero(&d->workspace), UNSUPPORTED_PROP);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_gpu_layout_like(&d->dst, &d->src);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    return dnnl_tp_success;
}

static dnnl_tp_status_t pooling_init(dtp_pd_t *pd) {
    dtp_pooling_desc_t *d = (dtp_pooling_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_pooling_args_t *a = &plan->args;
    DTP_TRY(check(pd, d));
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    DTP_TRY(dtp_gpu_space_init(&a->walk, &d->dst, &order));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_POOLING_DST, &d->dst, &order));
    a->volume = 1;
    for (int i = 0; i < DTP_SPACE_DIMS; ++i) {
        const int s = i - (DTP_SPACE_DIMS - d->spatial);
        const dtp_window_t w = s < 0 ? DTP_WINDOW_NONE : dtp_pooling_window(d, s);
        DTP_TRY(dtp_gpu_window_init(&a->window[i], &w, s < 0 ? 0 : d->src.strides[2 + s]));
        a->volume *= (float)w.kernel;
    }
    a->src_image = d->src.strides[0];
    a->src_channel = d->src.strides[1];
    a->src_type = (int32_t)d->src.data_type;
    a->dst_type = (int32_t)d->dst.data_type;
    a->what = d->alg == dnnl_tp_pooling_max                   ? DTP_POOL_MAX
              : d->alg == dnnl_tp_pooling_avg_include_padding ? DTP_POOL_MEAN
                                                              : DTP_POOL_MEAN_INSIDE;
    a->keeps_nan = d->keeps_nan;
    a->least = least_of(d->src.data_type);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_pooling, "dtp_pooling", 0, &plan->kernel);
}

static dnnl_tp_status_t pooling_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_pooling_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_POOLING_SRC, &d->src);
    a.dst = dtp_gpu_data(ctx, DTP_POOLING_DST, &d->dst);
    a.chain = plan->po.chain;
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.walk.dims.n, THREADS, &a);
}

static DTP_GPU_IMPL(pooling, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = pooling_init,
                    .execute = pooling_execute);
DTP_GPU_LIST(pooling, &dtp_gpu_pooling);
