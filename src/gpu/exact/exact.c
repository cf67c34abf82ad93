/* Eltwise and binary in the arithmetic of integers; see exact.h. */
#include "gpu/exact/exact.h"

#include <stdio.h>

#include "common/problems/eltwise.h"
#include "gpu/device/view.h"
#include "gpu/exact/exact_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_gpu_exact_args_t args;
    dtp_cu_function_t kernel;
} plan_t;

static dnnl_tp_status_t exact_check(const dtp_pd_t *pd, int alg, dnnl_tp_data_type_t type, int exact) {
    DTP_DISPATCH(type == dnnl_tp_s64 || type == dnnl_tp_s32 || type == dnnl_tp_s8 || type == dnnl_tp_u8 ||
                     type == dnnl_tp_boolean,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_arithmetic(type, exact) == type && dtp_ew_takes(alg, type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    return dnnl_tp_success;
}

static dnnl_tp_status_t exact_kernel(dtp_pd_t *pd, const char *kind, dnnl_tp_data_type_t type) {
    char name[64];
    snprintf(name, sizeof name, "dtp_exact_%s_%s", kind, dnnl_tp_dt2str(type));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_exact, name, 0, &((plan_t *)pd->plan)->kernel);
}

/* Parameters of integers are integers; what is too large is limited. */
static int64_t parameter(float x, dnnl_tp_data_type_t type) {
    const int64_t least = type == dnnl_tp_s64 ? INT64_MIN : INT32_MIN, most = -(least + 1);
    return x >= -(float)least ? most : x > (float)least ? (int64_t)x : least;
}

static dnnl_tp_status_t eltwise_init(dtp_pd_t *pd) {
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    dtp_gpu_exact_args_t *a = &((plan_t *)pd->plan)->args;
    const dnnl_tp_data_type_t type = d->src.data_type;
    DTP_TRY(exact_check(pd, (int)d->alg, type, d->exact));
    DTP_DISPATCH(d->dst.data_type == type, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_params_fit(type, d->alpha, d->beta), UNSUPPORTED_ALG);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    const dtp_gpu_operand_t operands[] = {{&d->src, a->src0.stride}, {&d->dst, a->dst.stride}};
    DTP_TRY(dtp_gpu_walk(&a->dims, &d->dst, &order, operands, 2));
    a->function = dtp_ew_unary((int)d->alg);
    a->a = parameter(d->alpha, type);
    a->b = parameter(d->beta, type);
    return exact_kernel(pd, "eltwise", type);
}

static dnnl_tp_status_t eltwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_exact_args_t a = plan->args;
    dtp_gpu_bind(&a.src0, ctx, DTP_ELTWISE_SRC, &d->src);
    dtp_gpu_bind(&a.dst, ctx, DTP_ELTWISE_DST, &d->dst);
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.dims.n, THREADS, &a);
}

static dnnl_tp_status_t binary_init(dtp_pd_t *pd) {
    dtp_binary_desc_t *d = (dtp_binary_desc_t *)pd->op;
    dtp_gpu_exact_args_t *a = &((plan_t *)pd->plan)->args;
    const dnnl_tp_data_type_t type = d->src0.data_type;
    DTP_TRY(exact_check(pd, (int)d->alg, type, d->exact));
    DTP_DISPATCH(d->src1.data_type == type, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == type || d->dst.data_type == dnnl_tp_boolean, UNSUPPORTED_DATA_TYPE);
    dtp_gpu_binary_resolve(d);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    const dtp_gpu_operand_t operands[] = {
        {&d->dst, a->dst.stride}, {&d->src0, a->src0.stride}, {&d->src1, a->src1.stride}};
    DTP_TRY(dtp_gpu_walk(&a->dims, &d->dst, &order, operands, 3));
    a->function = dtp_ew_binary((int)d->alg);
    a->is_truth = d->dst.data_type == dnnl_tp_boolean;
    return exact_kernel(pd, "binary", type);
}

static dnnl_tp_status_t binary_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_binary_desc_t *d = (const dtp_binary_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_exact_args_t a = plan->args;
    dtp_gpu_bind(&a.src0, ctx, DTP_BINARY_SRC0, &d->src0);
    dtp_gpu_bind(&a.src1, ctx, DTP_BINARY_SRC1, &d->src1);
    dtp_gpu_bind(&a.dst, ctx, DTP_BINARY_DST, &d->dst);
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.dims.n, THREADS, &a);
}

DTP_GPU_IMPL(eltwise_exact, "cuda:exact", .plan_size = sizeof(plan_t), .pd_init = eltwise_init,
             .execute = eltwise_execute);
DTP_GPU_IMPL(binary_exact, "cuda:exact", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(plan_t),
             .pd_init = binary_init, .execute = binary_execute);
