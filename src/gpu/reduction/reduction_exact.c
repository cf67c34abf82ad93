/* Reductions for graphs in the arithmetic of s64, s32, s8, u8 and boolean, as on the CPU: integers wrap, means are cut towards
 * zero. */
#include "gpu/reduction/reduction.h"

enum { WARP = 32, WARPS = DTP_REDUCTION_THREADS / WARP, PART = 4096 /* elements of a part at least */ };

typedef struct {
    dtp_gpu_reduction_args_t args;
    dtp_cu_function_t kernel;
    int64_t parts;
} plan_t;

static dtp_gpu_shape_t shape_of(const dtp_gpu_reduction_args_t *a, int64_t parts) {
    const int64_t blocks = a->by_warps ? dtp_div_up(a->kept.n, WARPS) : a->kept.n;
    return (dtp_gpu_shape_t){.grid = {(uint32_t)dtp_min64(blocks, INT32_MAX), (uint32_t)parts},
                             .block = {DTP_REDUCTION_THREADS}};
}

/* Roots are for floats. */
static bool exact_takes(const dtp_reduction_desc_t *d) {
    switch (d->alg) {
    case dnnl_tp_reduction_norm_lp_sum: return d->p == 1.f;
    case dnnl_tp_reduction_norm_lp_power_p_sum: return d->p == 1.f || d->p == 2.f;
    case dnnl_tp_reduction_norm_lp_max:
    case dnnl_tp_reduction_norm_lp_power_p_max: return false;
    default: return true;
    }
}

static dnnl_tp_status_t exact_init(dtp_pd_t *pd) {
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const dnnl_tp_data_type_t type = d->src.data_type;
    DTP_DISPATCH(d->exact && d->dst.data_type == type, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(type == dnnl_tp_s64 || type == dnnl_tp_s32 || type == dnnl_tp_s8 || type == dnnl_tp_u8 ||
                     type == dnnl_tp_boolean,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(exact_takes(d) && d->eps == 0.f, UNSUPPORTED_ALG);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->src);
    DTP_TRY(dtp_gpu_reduction_describe(&plan->args, d, &order));
    dtp_gpu_reduction_cut(pd, &plan->args, shape_of(&plan->args, 1).grid[0], PART, &plan->args.chunk,
                          &plan->parts);
    if (plan->parts > 1) dtp_pd_book(pd, (size_t)(plan->parts * plan->args.kept.n) * sizeof(int64_t), 0);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_reduction_exact, "dtp_reduction_exact", 0, &plan->kernel);
}

static dnnl_tp_status_t exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_reduction_args_t a = plan->args;
    dtp_gpu_bind(&a.src, ctx, DTP_REDUCTION_SRC, &d->src);
    dtp_gpu_bind(&a.dst, ctx, DTP_REDUCTION_DST, &d->dst);
    if (plan->parts > 1) {
        dtp_gpu_reduction_args_t parts = a;
        parts.finish = DTP_FINISH_PART;
        parts.dst.data = ctx->scratch;
        const dtp_gpu_shape_t first = shape_of(&parts, plan->parts);
        DTP_TRY(dtp_gpu_launch(ctx, plan->kernel, &first, &parts));
        dtp_gpu_reduction_join(&a, ctx->scratch, dnnl_tp_s64, plan->parts);
        a.by_warps = true;
    }
    const dtp_gpu_shape_t shape = shape_of(&a, 1);
    return dtp_gpu_launch(ctx, plan->kernel, &shape, &a);
}

DTP_GPU_IMPL(reduction_exact, "cuda:exact", .plan_size = sizeof(plan_t), .pd_init = exact_init,
             .execute = exact_execute);
