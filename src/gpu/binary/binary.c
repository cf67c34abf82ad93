/* Binary operations on the device: f32 arithmetic, any plain layouts that broadcast. */
#include "common/problems/binary.h"
#include "gpu/binary/binary_args.h"
#include "gpu/device/post_ops.h"
#include "gpu/exact/exact.h"

enum { THREADS = 256, VECTOR_BYTES = 16 };

typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t src[3], dst; /* src[2]: of select */
    dtp_gpu_post_ops_t po;
    int nsrc;
    dtp_cu_function_t vec, any; /* vec: NULL, or needs memory aligned to VECTOR_BYTES */
    int64_t vec_run, any_run;   /* elements of a thread */
} plan_t;

static dnnl_tp_status_t binary_check(const dtp_pd_t *pd) {
    const dtp_binary_desc_t *d = (const dtp_binary_desc_t *)pd->op;
    DTP_DISPATCH(dtp_ew_arithmetic(d->src0.data_type, d->exact) == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_gpu_takes(d->src0.data_type) && dtp_gpu_takes(d->src1.data_type) &&
                     dtp_gpu_takes(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_takes((int)d->alg, dnnl_tp_f32), UNSUPPORTED_ALG);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_SRC_0));
    return dtp_gpu_scale_init(pd, DNNL_TP_ARG_SRC_1);
}

static dnnl_tp_status_t binary_init(dtp_pd_t *pd) {
    dtp_binary_desc_t *d = (dtp_binary_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(binary_check(pd));
    dtp_gpu_binary_resolve(d);
    plan->nsrc = d->alg == dnnl_tp_binary_select ? 3 : 2;
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    const dtp_gpu_operand_t operands[] = {{&d->dst, plan->dst.stride},
                                          {&d->src0, plan->src[0].stride},
                                          {&d->src1, plan->src[1].stride},
                                          {&d->src2, plan->src[2].stride}};
    DTP_TRY(dtp_gpu_walk(&plan->dims, &d->dst, &order, operands, 1 + plan->nsrc));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_BINARY_DST, &d->dst, &order));
    bool runs = dtp_gpu_tensor_runs(&plan->dst, &plan->dims) && plan->po.has_runs;
    for (int i = 0; i < plan->nsrc; ++i) runs = dtp_gpu_tensor_runs(&plan->src[i], &plan->dims) && runs;
    plan->any_run = runs ? DTP_GPU_RUN : 1;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_binary, runs ? "dtp_binary_runs" : "dtp_binary_any", 0,
                          &plan->any);
}

static dnnl_tp_status_t binary_vec_init(dtp_pd_t *pd) {
    const dtp_binary_desc_t *d = (const dtp_binary_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(binary_init(pd));
    DTP_DISPATCH(d->src0.data_type == d->dst.data_type && d->src1.data_type == d->dst.data_type,
                 UNSUPPORTED_DATA_TYPE);
    plan->vec_run = VECTOR_BYTES / (int64_t)dtp_type_size(d->dst.data_type);
    DTP_DISPATCH(plan->any_run > 1 && plan->dst.stride[0] == 1, UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_gpu_has_runs(&plan->dims, plan->dst.stride, plan->vec_run), UNSUPPORTED_LAYOUT);
    for (int i = 0; i < plan->nsrc; ++i)
        DTP_DISPATCH(dtp_gpu_has_runs(&plan->dims, plan->src[i].stride, plan->vec_run), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(!plan->po.chain.tensors, UNSUPPORTED_POST_OPS);
    return dtp_gpu_kernel_of(pd, DTP_GPU_MODULE_binary, "dtp_binary", d->dst.data_type, &plan->vec);
}

static dnnl_tp_status_t binary_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_binary_desc_t *d = (const dtp_binary_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_binary_args_t a = {plan->dims,
                               plan->src[0],
                               plan->src[1],
                               plan->src[2],
                               plan->dst,
                               dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_SRC_0),
                               dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_SRC_1),
                               dtp_ew_binary((int)d->alg),
                               plan->po.chain};
    dtp_gpu_bind(&a.src0, ctx, DTP_BINARY_SRC0, &d->src0);
    dtp_gpu_bind(&a.src1, ctx, DTP_BINARY_SRC1, &d->src1);
    if (plan->nsrc > 2) dtp_gpu_bind(&a.src2, ctx, DTP_BINARY_SRC2, &d->src2);
    dtp_gpu_bind(&a.dst, ctx, DTP_BINARY_DST, &d->dst);
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    const uintptr_t all = (uintptr_t)a.src0.data | (uintptr_t)a.src1.data | (uintptr_t)a.dst.data;
    const bool vec = plan->vec && all % VECTOR_BYTES == 0;
    return dtp_gpu_launch_threads(ctx, vec ? plan->vec : plan->any,
                                  dtp_div_up(plan->dims.n, vec ? plan->vec_run : plan->any_run), THREADS, &a);
}

static DTP_GPU_IMPL(binary_vec, "cuda:vec", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(plan_t),
                    .pd_init = binary_vec_init, .execute = binary_execute);
static DTP_GPU_IMPL(binary_any, "cuda:any", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(plan_t),
                    .pd_init = binary_init, .execute = binary_execute);
DTP_GPU_LIST(binary, &dtp_gpu_binary_vec, &dtp_gpu_binary_any, &dtp_gpu_binary_exact);
