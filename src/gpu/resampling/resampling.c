/* Resampling on the device: host half. */
#include "common/problems/resampling.h"

#include "gpu/device/post_ops.h"
#include "gpu/resampling/resampling_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_resampling_args_t args; /* without pointers */
    dtp_cu_function_t places, kernel;
} plan_t;

static dnnl_tp_status_t check(dtp_pd_t *pd, dtp_resampling_desc_t *d) {
    if (dtp_md_is_any(&d->dst)) dtp_gpu_layout_like(&d->dst, &d->src);
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    for (int i = 0; i < d->dst.ndims; ++i)
        DTP_DISPATCH(d->src.dims[i] <= INT32_MAX && d->dst.dims[i] <= INT32_MAX, UNSUPPORTED_SHAPE);
    return dnnl_tp_success;
}

static void set_space(dtp_resampling_args_t *a, const dtp_resampling_desc_t *d) {
    a->nspatial = d->spatial;
    for (int s = 0; s < d->spatial; ++s) {
        dtp_resampling_rule_t rule = {0};
        if (d->nrule) memcpy(&rule, &d->rule[s * DTP_RESAMPLING_RULE], sizeof rule);
        a->space[s] = (dtp_gpu_resampling_dim_t){
            rule.before,        rule.from,          rule.to,    rule.after,
            d->src.dims[2 + s], d->dst.dims[2 + s], a->nplaces, d->src.strides[2 + s]};
        a->nplaces += d->dst.dims[2 + s];
    }
}

static dnnl_tp_status_t resampling_init(dtp_pd_t *pd) {
    dtp_resampling_desc_t *d = (dtp_resampling_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_resampling_args_t *a = &plan->args;
    DTP_TRY(check(pd, d));
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    const int nd = d->dst.ndims;
    a->dims.ndims = nd;
    a->dims.n = 1;
    for (int i = 0; i < DTP_GPU_DIMS; ++i) {
        const int dim = i < nd ? order.dim[nd - 1 - i] : 0;
        const int64_t size = i < nd ? d->dst.dims[dim] : 1;
        a->dims.dim[i] = dtp_gpu_dim(size);
        a->dims.n *= size;
        a->dst.stride[i] = i < nd ? d->dst.strides[dim] : 0;
        a->src.stride[i] = i < nd ? d->src.strides[dim] : 0;
        a->spatial[i] = i < nd ? dim - 2 : -1;
    }
    a->dims.wide = a->dims.n > INT32_MAX;
    set_space(a, d);
    a->linear = d->alg == dnnl_tp_resampling_linear;
    a->has_rules = d->nrule > 0;
    a->rounding = d->rounding;
    dtp_pd_book(pd, sizeof *a->places * (size_t)a->nplaces, 0);
    DTP_TRY(dtp_gpu_kernel(pd, DTP_GPU_MODULE_resampling, "dtp_resampling_places", 0, &plan->places));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_resampling, "dtp_resampling", 0, &plan->kernel);
}

static dnnl_tp_status_t resampling_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_resampling_args_t a = plan->args;
    if (a.dims.n == 0) return dnnl_tp_success;
    dtp_gpu_bind(&a.src, ctx, DTP_RESAMPLING_SRC, &d->src);
    dtp_gpu_bind(&a.dst, ctx, DTP_RESAMPLING_DST, &d->dst);
    /* As f32, bits pass as they are. */
    if (!a.linear && a.src.type == dnnl_tp_s32 && a.dst.type == dnnl_tp_s32)
        a.src.type = a.dst.type = dnnl_tp_f32;
    a.places = (dtp_gpu_resampling_place_t *)(void *)ctx->scratch;
    DTP_TRY(dtp_gpu_launch_threads(ctx, plan->places, a.nplaces, THREADS, &a));
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.dims.n, THREADS, &a);
}

static DTP_GPU_IMPL(resampling, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = resampling_init,
                    .execute = resampling_execute);
DTP_GPU_LIST(resampling, &dtp_gpu_resampling);
