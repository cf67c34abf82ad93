/* Softmax and logsoftmax on the device: any axis, any plain layouts, in f32. */
#include "common/problems/softmax.h"

#include "gpu/device/rows.h"
#include "gpu/softmax/softmax_args.h"

enum { WARP = 32, SHORT = WARP / 2 }; /* rows of SHORT elements and fewer have a lane each, as columns have */

typedef struct {
    dtp_gpu_rows_t rows;
    dtp_gpu_post_ops_t po;
    dtp_cu_function_t held, any; /* held: rows in registers, or NULL */
    dtp_gpu_shape_t held_shape, any_shape;
} plan_t;

/* Runs of DTP_GPU_RUN elements lie across the rows; each element of a run is another row's. */
static bool columns_have_runs(dtp_gpu_rows_t *rows) {
    const bool src = dtp_gpu_tensor_runs(&rows->src, &rows->dims),
               dst = dtp_gpu_tensor_runs(&rows->dst, &rows->dims);
    return src && dst && rows->src.aligned && rows->dst.aligned &&
           (rows->src_step | rows->dst_step) % DTP_GPU_RUN == 0;
}

/* Lanes have runs where the blocks still fill the device. */
static dnnl_tp_status_t choose_columns(const dtp_pd_t *pd, plan_t *plan) {
    const bool runs =
        plan->rows.dims.n >= (int64_t)WARP * DTP_GPU_RUN * dtp_gpu_device(pd)->multiprocessors &&
        columns_have_runs(&plan->rows);
    if (!runs) plan->rows.src.aligned = plan->rows.dst.aligned = 0;
    plan->any_shape.block[0] = WARP * DTP_SOFTMAX_COLUMN_WARPS;
    plan->any_shape.grid[0] = dtp_gpu_grid(dtp_div_up(plan->rows.dims.n, runs ? WARP * DTP_GPU_RUN : WARP));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_softmax,
                          runs ? "dtp_softmax_columns_runs" : "dtp_softmax_columns", 0, &plan->any);
}

static dnnl_tp_status_t choose_any(const dtp_pd_t *pd, plan_t *plan) {
    const bool runs = dtp_gpu_rows_have_runs(&plan->rows, &plan->po);
    if ((plan->rows.src_step != 1 && plan->rows.dst_step != 1) || plan->rows.n <= SHORT)
        return choose_columns(pd, plan);
    dtp_gpu_rows_share(pd, &plan->rows, runs, &plan->any_shape);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_softmax, runs ? "dtp_softmax_rows" : "dtp_softmax_rows_any", 0,
                          &plan->any);
}

static dnnl_tp_status_t softmax_init(dtp_pd_t *pd) {
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dtp_gpu_order_t order;
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_SRC));
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_DST));
    DTP_TRY(
        dtp_gpu_rows_init(&plan->rows, &order, &d->src, &d->dst, d->axis, (dtp_gpu_operand_t){NULL, NULL}));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_SOFTMAX_DST, &d->dst, &order));
    return choose_any(pd, plan);
}

static dnnl_tp_status_t softmax_rows_init(dtp_pd_t *pd) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(softmax_init(pd));
    return dtp_gpu_rows_hold(pd, &plan->rows, &plan->po, DTP_GPU_MODULE_softmax, "dtp_softmax_held", &d->src,
                             &d->dst, &plan->held, &plan->held_shape);
}

static dnnl_tp_status_t softmax_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_softmax_args_t a = {plan->rows, dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_SRC),
                                dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_DST), d->alg == dnnl_tp_softmax_log,
                                plan->po.chain};
    dtp_gpu_bind(&a.rows.src, ctx, DTP_SOFTMAX_SRC, &d->src);
    dtp_gpu_bind(&a.rows.dst, ctx, DTP_SOFTMAX_DST, &d->dst);
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, pd, ctx);
    const bool held = plan->held && dtp_gpu_rows_are_aligned(&a.rows);
    return dtp_gpu_launch(ctx, held ? plan->held : plan->any, held ? &plan->held_shape : &plan->any_shape,
                          &a);
}

static DTP_GPU_IMPL(softmax_rows, "cuda:rows", .plan_size = sizeof(plan_t), .pd_init = softmax_rows_init,
                    .execute = softmax_execute);
static DTP_GPU_IMPL(softmax_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = softmax_init,
                    .execute = softmax_execute);
DTP_GPU_LIST(softmax, &dtp_gpu_softmax_rows, &dtp_gpu_softmax_any);
