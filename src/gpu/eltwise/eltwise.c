/* Element-wise functions on the device: every forward algorithm in f32, any plain layouts. */
#include "common/problems/eltwise.h"

#include "gpu/device/post_ops.h"
#include "gpu/eltwise/eltwise_args.h"
#include "gpu/exact/exact.h"

enum { THREADS = 256, VECTOR_BYTES = 16 };

typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t src, dst;
    dtp_gpu_post_ops_t po;
    dtp_cu_function_t vec, any; /* vec: NULL, or needs memory aligned to VECTOR_BYTES */
    int64_t vec_run, any_run;   /* elements of a thread */
} plan_t;

static bool eltwise_takes(const dtp_eltwise_desc_t *d) {
    const dnnl_tp_data_type_t st = d->src.data_type;
    const bool of_integers = d->alg == dnnl_tp_eltwise_relu || d->alg == dnnl_tp_eltwise_linear ||
                             d->alg == dnnl_tp_eltwise_clip || d->alg == dnnl_tp_eltwise_clip_v2;
    return dtp_gpu_takes(st) && dtp_gpu_takes(d->dst.data_type) &&
           dtp_ew_arithmetic(st, d->exact) == dnnl_tp_f32 && (st <= dnnl_tp_f32 || of_integers) &&
           (d->alg != dnnl_tp_eltwise_round || st == dnnl_tp_f32);
}

/* One type, and memory that the linear index walks without a gap. */
static bool eltwise_is_linear(const plan_t *plan, const dtp_eltwise_desc_t *d) {
    return d->src.data_type == d->dst.data_type && dtp_gpu_is_linear(&plan->dims, plan->src.stride) &&
           dtp_gpu_is_linear(&plan->dims, plan->dst.stride);
}

static dnnl_tp_status_t eltwise_init(dtp_pd_t *pd) {
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_DISPATCH(eltwise_takes(d), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_takes((int)d->alg, dnnl_tp_f32), UNSUPPORTED_ALG);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    const dtp_gpu_operand_t operands[] = {{&d->src, plan->src.stride}, {&d->dst, plan->dst.stride}};
    DTP_TRY(dtp_gpu_walk(&plan->dims, &d->dst, &order, operands, 2));
    dtp_gpu_post_ops_unary(&plan->po, d->alg, d->alpha, d->beta);
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_ELTWISE_DST, &d->dst, &order));
    const bool runs = plan->po.has_runs && dtp_gpu_tensor_runs(&plan->src, &plan->dims) &&
                      dtp_gpu_tensor_runs(&plan->dst, &plan->dims);
    plan->any_run = runs ? DTP_GPU_RUN : 1;
    DTP_TRY(dtp_gpu_kernel(pd, DTP_GPU_MODULE_eltwise, runs ? "dtp_eltwise_runs" : "dtp_eltwise_any", 0,
                           &plan->any));
    return dnnl_tp_success;
}

static dnnl_tp_status_t eltwise_vec_init(dtp_pd_t *pd) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(eltwise_init(pd));
    DTP_DISPATCH(eltwise_is_linear(plan, d), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(!plan->po.chain.tensors, UNSUPPORTED_POST_OPS);
    plan->vec_run = VECTOR_BYTES / (int64_t)dtp_type_size(d->dst.data_type);
    return dtp_gpu_kernel_of(pd, DTP_GPU_MODULE_eltwise, "dtp_eltwise", d->dst.data_type, &plan->vec);
}

static dnnl_tp_status_t eltwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_eltwise_args_t a = {plan->dims, plan->src, plan->dst, plan->po.chain};
    dtp_gpu_bind(&a.src, ctx, DTP_ELTWISE_SRC, &d->src);
    dtp_gpu_bind(&a.dst, ctx, DTP_ELTWISE_DST, &d->dst);
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    if (plan->vec && dtp_gpu_is_aligned(a.src.data, VECTOR_BYTES) &&
        dtp_gpu_is_aligned(a.dst.data, VECTOR_BYTES))
        return dtp_gpu_launch_threads(ctx, plan->vec, dtp_div_up(plan->dims.n, plan->vec_run), THREADS, &a);
    return dtp_gpu_launch_threads(ctx, plan->any, dtp_div_up(plan->dims.n, plan->any_run), THREADS, &a);
}

static DTP_GPU_IMPL(eltwise_vec, "cuda:vec", .plan_size = sizeof(plan_t), .pd_init = eltwise_vec_init,
                    .execute = eltwise_execute);
static DTP_GPU_IMPL(eltwise_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = eltwise_init,
                    .execute = eltwise_execute);
DTP_GPU_LIST(eltwise, &dtp_gpu_eltwise_vec, &dtp_gpu_eltwise_any, &dtp_gpu_eltwise_exact);
