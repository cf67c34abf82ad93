/* Positions of the best elements on the device: host half. A small number of positions is selected one after the other; for
 * more, each element counts those that are better. */
#include "common/problems/graph/top_k.h"

#include "gpu/device/view.h"
#include "gpu/top_k/top_k_args.h"

enum { WARP = 32 };

typedef struct {
    dtp_top_k_args_t args; /* without pointers */
    dtp_cu_function_t kernel;
    int64_t threads;
} plan_t;

static dnnl_tp_status_t top_k_init(dtp_pd_t *pd) {
    const dtp_top_k_desc_t *d = (const dtp_top_k_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_top_k_args_t *a = &plan->args;
    const dnnl_tp_data_type_t type = d->src.data_type;
    DTP_DISPATCH(type == dnnl_tp_f32 || type == dnnl_tp_f64 || type == dnnl_tp_s64 || type == dnnl_tp_s32 ||
                     type == dnnl_tp_s8 || type == dnnl_tp_u8,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == dnnl_tp_s64, UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_gpu_lines_init(&a->lines, pd, &d->src, &d->dst));
    a->type = (int32_t)type;
    a->smallest = d->smallest;
    a->last = d->last;
    a->nan_worst = d->nan_worst;
    a->k = d->dst.dims[1];
    const int64_t most = INT32_MAX - DTP_TOP_K_THREADS, n = a->lines.n, lines = a->lines.count;
    /* All threads of a group read the line k times; the others once for each element. */
    a->group = a->lines.inner >= WARP ? 1 : n <= 8 * WARP ? WARP : DTP_TOP_K_THREADS;
    const bool counts = a->k > 1 && n <= most / dtp_max64(lines, 1) && a->k * 16 > n;
    plan->threads = a->k == 0 ? 0 : lines * (counts ? n : a->group);
    DTP_DISPATCH(counts || lines <= most, UNSUPPORTED_SHAPE);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_top_k, counts ? "dtp_top_k_count" : "dtp_top_k_select", 0,
                          &plan->kernel);
}

static dnnl_tp_status_t top_k_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_top_k_desc_t *d = (const dtp_top_k_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_top_k_args_t a = plan->args;
    a.src = dtp_gpu_data(ctx, DTP_TOP_K_SRC, &d->src);
    a.dst = dtp_gpu_data(ctx, DTP_TOP_K_DST, &d->dst);
    return dtp_gpu_launch_threads(ctx, plan->kernel, plan->threads, DTP_TOP_K_THREADS, &a);
}

static DTP_GPU_IMPL(top_k, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = top_k_init,
                    .execute = top_k_execute);
DTP_GPU_LIST(top_k, &dtp_gpu_top_k);
