/* Sum on the device: host half. */
#include "common/problems/sum.h"

#include "gpu/device/post_ops.h"
#include "gpu/sum/sum_args.h"

enum { THREADS = 256 };

typedef struct {
    dtp_sum_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
    int64_t run; /* elements of a thread */
} plan_t;

/* Walks dst and the sources together; sources of one layout count once. of: the operand of a source. */
static dnnl_tp_status_t walk(dtp_sum_args_t *a, const dtp_sum_desc_t *d, int64_t stride[][DTP_GPU_DIMS],
                             int *of) {
    dtp_gpu_operand_t operand[DTP_GPU_OPERANDS] = {{&d->dst, a->dst.stride}};
    int n = 1;
    for (int i = 0; i < d->n; ++i) {
        int at = 1;
        while (at < n && !dtp_md_same_layout(operand[at].md, &d->src[i])) ++at;
        of[i] = at;
        if (at < n) continue;
        DTP_DISPATCH(n < DTP_GPU_OPERANDS, UNSUPPORTED_SHAPE);
        operand[n++] = (dtp_gpu_operand_t){&d->src[i], stride[at]};
    }
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    return dtp_gpu_walk(&a->dims, &d->dst, &order, operand, n);
}

static dnnl_tp_status_t sum_init(dtp_pd_t *pd) {
    dtp_sum_desc_t *d = (dtp_sum_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_sum_args_t *a = &plan->args;
    int64_t stride[DTP_GPU_OPERANDS][DTP_GPU_DIMS];
    int of[DTP_SUM_SOURCES];
    DTP_DISPATCH(dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    for (int i = 0; i < d->n; ++i) DTP_DISPATCH(dtp_gpu_takes(d->src[i].data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_md_is_plain(&d->src[0]), UNSUPPORTED_LAYOUT);
    if (dtp_md_is_any(&d->dst)) {
        const dtp_gpu_order_t order = dtp_gpu_order_of(&d->src[0]);
        dtp_gpu_make_dense(&d->dst, &order);
    }
    DTP_DISPATCH(dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(d->n <= DTP_SUM_SOURCES, UNSUPPORTED_SHAPE);
    DTP_TRY(walk(a, d, stride, of));
    bool runs = dtp_gpu_tensor_runs(&a->dst, &a->dims);
    a->dst.type = (int32_t)d->dst.data_type;
    a->n = d->n;
    for (int i = 0; i < d->n; ++i) {
        dtp_sum_source_t *s = &a->source[i];
        const int64_t *own = stride[of[i]];
        for (int k = 0; k < DTP_GPU_DIMS; ++k) {
            DTP_DISPATCH(own[k] <= INT32_MAX, UNSUPPORTED_SHAPE);
            s->stride[k] = (int32_t)own[k];
        }
        const bool has_runs = dtp_gpu_has_runs(&a->dims, own, DTP_GPU_RUN);
        s->scale = dtp_sum_scales(d)[i];
        s->type = (uint8_t)d->src[i].data_type;
        s->aligned = has_runs && own[0] == 1;
        runs &= has_runs;
    }
    plan->run = runs ? DTP_GPU_RUN : 1;
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_sum, runs ? "dtp_sum_runs" : "dtp_sum_each", 0, &plan->kernel);
}

static dnnl_tp_status_t sum_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_sum_desc_t *d = (const dtp_sum_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_sum_args_t a = plan->args;
    dtp_gpu_bind(&a.dst, ctx, DTP_SUM_DST, &d->dst);
    for (int i = 0; i < d->n; ++i) {
        dtp_sum_source_t *s = &a.source[i];
        s->data = dtp_gpu_data(ctx, DTP_SUM_SRC + i, &d->src[i]);
        s->aligned = s->aligned &&
                     dtp_gpu_is_aligned(s->data, DTP_GPU_RUN * dtp_type_size((dnnl_tp_data_type_t)s->type));
    }
    return dtp_gpu_launch_threads(ctx, plan->kernel, dtp_div_up(plan->args.dims.n, plan->run), THREADS, &a);
}

static DTP_GPU_IMPL(sum, "cuda:any", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(plan_t),
                    .pd_init = sum_init, .execute = sum_execute);
DTP_GPU_LIST(sum, &dtp_gpu_sum);
