/* Softmax and logsoftmax on the device: any axis, any plain layouts, in f32. */
#include "common/problems/softmax.h"

#include "gpu/device/post_ops.h"
#include "gpu/softmax/softmax_args.h"

enum { WARP = 32, VECTOR_BYTES = 16 };

typedef struct {
    dtp_gpu_dims_t rows;
    dtp_gpu_tensor_t src, dst; /* strides of rows */
    dtp_gpu_post_ops_t po;
    int64_t n, src_step, dst_step;
    dtp_cu_function_t held, any; /* held: rows in registers, or NULL; needs memory aligned to VECTOR_BYTES */
    dtp_gpu_shape_t held_shape, any_shape;
} plan_t;

/* Runs of a row are aligned where the first one of the tensor is. */
static bool row_runs(const dtp_gpu_tensor_t *t, int64_t step, int64_t run) {
    for (int d = 0; d < DTP_GPU_DIMS; ++d)
        if (t->stride[d] % run != 0) return false;
    return step == 1;
}

static uint32_t grid_of(int64_t blocks) { return (uint32_t)dtp_min64(blocks, INT32_MAX); }

static dnnl_tp_status_t choose_any(const dtp_pd_t *pd, plan_t *plan) {
    const bool rows = plan->src_step == 1 || plan->dst_step == 1;
    const bool runs = plan->src.aligned && plan->dst.aligned &&
                      (!plan->po.chain.tensors || (plan->po.has_runs && plan->n % DTP_GPU_MAX_RUN == 0));
    plan->any_shape.block[0] = rows ? DTP_SOFTMAX_ROW_THREADS : WARP * DTP_SOFTMAX_COLUMN_WARPS;
    plan->any_shape.grid[0] = grid_of(rows ? plan->rows.n : dtp_div_up(plan->rows.n, WARP));
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_softmax,
                          !rows  ? "dtp_softmax_columns"
                          : runs ? "dtp_softmax_rows"
                                 : "dtp_softmax_rows_any",
                          0, &plan->any);
}

static dnnl_tp_status_t softmax_init(dtp_pd_t *pd) {
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_DISPATCH(dtp_gpu_takes(d->src.data_type) && dtp_gpu_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_SRC));
    DTP_TRY(dtp_gpu_scale_init(pd, DNNL_TP_ARG_DST));
    const dtp_gpu_order_t order = dtp_gpu_order_last(dtp_gpu_order_of(&d->dst), d->axis);
    const dtp_gpu_order_t outer = dtp_gpu_order_first(order, order.n - 1);
    const dtp_gpu_operand_t operands[] = {{&d->src, plan->src.stride}, {&d->dst, plan->dst.stride}};
    DTP_TRY(dtp_gpu_walk(&plan->rows, &d->dst, &outer, operands, 2));
    DTP_TRY(dtp_gpu_post_ops_init(&plan->po, pd, DTP_SOFTMAX_DST, &d->dst, &order));
    plan->n = d->src.dims[d->axis];
    plan->src_step = plan->n > 1 ? d->src.strides[d->axis] : 1;
    plan->dst_step = plan->n > 1 ? d->dst.strides[d->axis] : 1;
    plan->src.aligned = row_runs(&plan->src, plan->src_step, DTP_GPU_RUN);
    plan->dst.aligned = row_runs(&plan->dst, plan->dst_step, DTP_GPU_RUN);
    return choose_any(pd, plan);
}

/* A warp has a row, or a block that gives each thread half of what it can hold; all of a block where rows are few. */
static dnnl_tp_status_t choose_held(const dtp_pd_t *pd, plan_t *plan, dnnl_tp_data_type_t type, int64_t run) {
    enum { ROWS = DTP_SOFTMAX_ROW_THREADS / WARP, USUAL = DTP_SOFTMAX_WARP_ROW / WARP / 2 };
    if (plan->n <= DTP_SOFTMAX_WARP_ROW) {
        plan->held_shape.block[0] = DTP_SOFTMAX_ROW_THREADS;
        plan->held_shape.grid[0] = grid_of(dtp_div_up(plan->rows.n, ROWS));
        return dtp_gpu_kernel_of(pd, DTP_GPU_MODULE_softmax, "dtp_softmax_warp", type, &plan->held);
    }
    const int64_t each = plan->rows.n >= 2 * dtp_gpu_device(pd)->multiprocessors ? USUAL : run;
    const int64_t threads = dtp_round_up(dtp_div_up(plan->n, each), WARP);
    plan->held_shape.block[0] = (uint32_t)dtp_min64(threads, DTP_SOFTMAX_BLOCK_THREADS);
    plan->held_shape.grid[0] = grid_of(plan->rows.n);
    return dtp_gpu_kernel_of(pd, DTP_GPU_MODULE_softmax, "dtp_softmax_block", type, &plan->held);
}

static dnnl_tp_status_t softmax_rows_init(dtp_pd_t *pd) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_TRY(softmax_init(pd));
    DTP_DISPATCH(d->src.data_type == d->dst.data_type, UNSUPPORTED_DATA_TYPE);
    const int64_t run = VECTOR_BYTES / (int64_t)dtp_type_size(d->src.data_type);
    DTP_DISPATCH(row_runs(&plan->src, plan->src_step, run) && row_runs(&plan->dst, plan->dst_step, run),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(plan->po.chain.len == 0, UNSUPPORTED_POST_OPS);
    DTP_DISPATCH(plan->n % run == 0 && plan->n <= DTP_SOFTMAX_BLOCK_ROW, UNSUPPORTED_SHAPE);
    return choose_held(pd, plan, d->src.data_type, run);
}

static dnnl_tp_status_t softmax_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_gpu_softmax_args_t a = {plan->rows,
                                plan->src,
                                plan->dst,
                                plan->n,
                                plan->src_step,
                                plan->dst_step,
                                dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_SRC),
                                dtp_gpu_scale(pd, ctx, DNNL_TP_ARG_DST),
                                d->alg == dnnl_tp_softmax_log,
                                plan->po.chain};
    dtp_gpu_bind(&a.src, ctx, DTP_SOFTMAX_SRC, &d->src);
    dtp_gpu_bind(&a.dst, ctx, DTP_SOFTMAX_DST, &d->dst);
    dtp_gpu_post_ops_bind(&a.chain, &plan->po, ctx);
    if (plan->held && dtp_gpu_is_aligned(a.src.data, VECTOR_BYTES) &&
        dtp_gpu_is_aligned(a.dst.data, VECTOR_BYTES))
        return dtp_gpu_launch(ctx, plan->held, &plan->held_shape, &a);
    return dtp_gpu_launch(ctx, plan->any, &plan->any_shape, &a);
}

static DTP_GPU_IMPL(softmax_rows, "cuda:rows", .plan_size = sizeof(plan_t), .pd_init = softmax_rows_init,
                    .execute = softmax_execute);
static DTP_GPU_IMPL(softmax_any, "cuda:any", .plan_size = sizeof(plan_t), .pd_init = softmax_init,
                    .execute = softmax_execute);
DTP_GPU_LIST(softmax, &dtp_gpu_softmax_rows, &dtp_gpu_softmax_any);
