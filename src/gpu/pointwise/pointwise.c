/* Functions of graphs, element by element, on the device: comparisons, selections, functions of numbers, changes of types. Any plain
 * layouts that broadcast. */
#include "common/problems/graph/pointwise.h"

#include <stdio.h>

#include "gpu/device/view.h"
#include "gpu/pointwise/pointwise_args.h"

enum { THREADS = 256, VECTOR_BYTES = 16, OPS = DTP_POINTWISE_NARGS };

typedef struct {
    dtp_gpu_pointwise_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
    int64_t run; /* elements of a thread */
} plan_t;

/* Types that have kernels. */
static bool takes(dnnl_tp_data_type_t type) {
    return type == dnnl_tp_f32 || type == dnnl_tp_s64 || type == dnnl_tp_s32 || type == dnnl_tp_s8 ||
           type == dnnl_tp_u8 || type == dnnl_tp_boolean;
}

/* What the names of the function's two kernels begin with, and elements of a run. */
static dnnl_tp_status_t pointwise_family(const dtp_pointwise_desc_t *d, char *name, size_t size,
                                         int64_t *run) {
    const dnnl_tp_data_type_t type = d->src0.data_type, to = d->dst.data_type;
    *run = DTP_GPU_RUN;
    if (d->fn == DTP_PW_select) {
        const size_t bytes = dtp_type_size(to);
        DTP_DISPATCH(type == dnnl_tp_boolean && d->src1.data_type == to && d->src2.data_type == to,
                     UNSUPPORTED_DATA_TYPE);
        DTP_DISPATCH(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8, UNSUPPORTED_DATA_TYPE);
        *run = VECTOR_BYTES / (int64_t)bytes;
        (void)snprintf(name, size, "dtp_select_%zu", bytes);
        return dnnl_tp_success;
    }
    DTP_DISPATCH(takes(type) && takes(to), UNSUPPORTED_DATA_TYPE);
    if (d->fn == DTP_PW_cast) {
        (void)snprintf(name, size, "dtp_cast_%s", type == dnnl_tp_f32 ? "f32" : "integers");
        return dnnl_tp_success;
    }
    DTP_DISPATCH(dtp_pointwise_takes(d->fn, type), UNSUPPORTED_DATA_TYPE);
    const bool is_truth = dtp_pointwise_is_truth(d->fn);
    DTP_DISPATCH(to == (is_truth ? dnnl_tp_boolean : type), UNSUPPORTED_DATA_TYPE);
    if (is_truth) *run = VECTOR_BYTES / (int64_t)dtp_type_size(type);
    const char *family = is_truth ? "compare" : dtp_pointwise_takes(d->fn, dnnl_tp_s32) ? "number" : "math";
    (void)snprintf(name, size, "dtp_%s_%s", family, dnnl_tp_dt2str(type));
    return dnnl_tp_success;
}

static dnnl_tp_status_t pointwise_init_as(dtp_pd_t *pd, bool by_runs) {
    const dtp_pointwise_desc_t *d = (const dtp_pointwise_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_gpu_pointwise_args_t *a = &plan->args;
    char family[32], name[64];
    DTP_TRY(pointwise_family(d, family, sizeof family, &plan->run));
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    const dtp_md_t *md[] = {&d->dst, &d->src0, &d->src1, &d->src2};
    dtp_gpu_tensor_t *tensor[] = {&a->dst, &a->src0, &a->src1, &a->src2};
    dtp_gpu_operand_t operands[OPS];
    int n = 0;
    for (; n < OPS && !dtp_md_is_zero(md[n]); ++n)
        operands[n] = (dtp_gpu_operand_t){md[n], tensor[n]->stride};
    const dtp_gpu_order_t order = dtp_gpu_order_of(&d->dst);
    DTP_TRY(dtp_gpu_walk(&a->dims, &d->dst, &order, operands, n));
    for (int i = 0; i < n && by_runs; ++i)
        DTP_DISPATCH(dtp_gpu_tensor_has_runs(tensor[i], &a->dims, plan->run), UNSUPPORTED_LAYOUT);
    if (!by_runs) plan->run = 1;
    a->function = d->fn;
    (void)snprintf(name, sizeof name, "%s_%s", family, by_runs ? "runs" : "each");
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_pointwise, name, 0, &plan->kernel);
}
static dnnl_tp_status_t pointwise_init(dtp_pd_t *pd) { return pointwise_init_as(pd, false); }
static dnnl_tp_status_t pointwise_vec_init(dtp_pd_t *pd) { return pointwise_init_as(pd, true); }

static dnnl_tp_status_t pointwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pointwise_desc_t *d = (const dtp_pointwise_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_pointwise_args_t a = plan->args;
    dtp_gpu_bind_runs(&a.src0, ctx, DTP_POINTWISE_SRC0, &d->src0, plan->run);
    if (!dtp_md_is_zero(&d->src1)) dtp_gpu_bind_runs(&a.src1, ctx, DTP_POINTWISE_SRC1, &d->src1, plan->run);
    if (!dtp_md_is_zero(&d->src2)) dtp_gpu_bind_runs(&a.src2, ctx, DTP_POINTWISE_SRC2, &d->src2, plan->run);
    dtp_gpu_bind_runs(&a.dst, ctx, DTP_POINTWISE_DST, &d->dst, plan->run);
    return dtp_gpu_launch_threads(ctx, plan->kernel, dtp_div_up(a.dims.n, plan->run), THREADS, &a);
}

static DTP_GPU_IMPL(pointwise_vec, "cuda:vec", .plan_size = sizeof(plan_t), .pd_init = pointwise_vec_init,
                    .execute = pointwise_execute);
static DTP_GPU_IMPL(pointwise_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = pointwise_init,
                    .execute = pointwise_execute);
DTP_GPU_LIST(pointwise, &dtp_gpu_pointwise_vec, &dtp_gpu_pointwise_any);
