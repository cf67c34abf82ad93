/* Running sums on the device: host half. Neighbouring lines have a thread each, lines that lie apart a warp each. */
#include "common/problems/graph/cumsum.h"

#include "gpu/cumsum/cumsum_args.h"
#include "gpu/device/view.h"

enum { THREADS = 256, WARP = 32 };

typedef struct {
    dtp_cumsum_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
} plan_t;

static dnnl_tp_status_t cumsum_init(dtp_pd_t *pd) {
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_cumsum_args_t *a = &plan->args;
    const dnnl_tp_data_type_t type = d->src.data_type;
    const bool is_whole = type == dnnl_tp_s64 || type == dnnl_tp_s32;
    DTP_DISPATCH(is_whole || type == dnnl_tp_f32 || type == dnnl_tp_bf16 || type == dnnl_tp_f16 ||
                     type == dnnl_tp_f64,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == type, UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_gpu_lines_init(&a->lines, pd, &d->src, &d->dst));
    a->type = (int32_t)type;
    a->exclusive = d->exclusive;
    a->reverse = d->reverse;
    a->by_warps = a->lines.inner < WARP;
    DTP_DISPATCH(a->lines.count <= INT32_MAX, UNSUPPORTED_SHAPE);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_cumsum, is_whole ? "dtp_cumsum_integers" : "dtp_cumsum_floats",
                          0, &plan->kernel);
}

static dnnl_tp_status_t cumsum_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_cumsum_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_CUMSUM_SRC, &d->src);
    a.dst = dtp_gpu_data(ctx, DTP_CUMSUM_DST, &d->dst);
    return dtp_gpu_launch_threads(ctx, plan->kernel, a.lines.count * (a.by_warps ? WARP : 1), THREADS, &a);
}

static DTP_GPU_IMPL(cumsum, "cuda:scan", .plan_size = sizeof(plan_t), .pd_init = cumsum_init,
                    .execute = cumsum_execute);
DTP_GPU_LIST(cumsum, &dtp_gpu_cumsum);
