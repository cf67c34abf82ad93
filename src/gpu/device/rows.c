/* Kernels of rows; see rows.h. */
#include "gpu/device/rows.h"

enum { WARP = 32, VECTOR_BYTES = 16, LONG_ROW = 4096 };

/* Runs of every row are aligned where element 0 is. */
static bool has_runs(const dtp_gpu_tensor_t *t, int64_t step, int64_t run) {
    for (int d = 0; d < DTP_GPU_DIMS; ++d)
        if (t->stride[d] % run != 0) return false;
    return step == 1;
}

static int64_t step_of(const dtp_md_t *md, int axis) { return md->dims[axis] > 1 ? md->strides[axis] : 1; }

dnnl_tp_status_t dtp_gpu_rows_init(dtp_gpu_rows_t *rows, dtp_gpu_order_t *order, const dtp_md_t *src,
                                   const dtp_md_t *dst, int axis, dtp_gpu_operand_t more) {
    *order = dtp_gpu_order_last(dtp_gpu_order_of(dst), axis);
    const dtp_gpu_order_t outer = dtp_gpu_order_first(*order, order->n - 1);
    const dtp_gpu_operand_t operands[] = {{src, rows->src.stride}, {dst, rows->dst.stride}, more};
    DTP_TRY(dtp_gpu_walk(&rows->dims, dst, &outer, operands, more.md ? 3 : 2));
    rows->n = dst->dims[axis];
    rows->by_warps = rows->n <= DTP_GPU_WARP_ROW;
    rows->src_step = step_of(src, axis);
    rows->dst_step = step_of(dst, axis);
    rows->src.aligned = has_runs(&rows->src, rows->src_step, DTP_GPU_RUN);
    rows->dst.aligned = has_runs(&rows->dst, rows->dst_step, DTP_GPU_RUN);
    return dnnl_tp_success;
}

bool dtp_gpu_rows_have_runs(const dtp_gpu_rows_t *rows, const dtp_gpu_post_ops_t *po) {
    const bool chain = !po->chain.tensors || (po->has_runs && rows->n % DTP_GPU_MAX_RUN == 0);
    return rows->src.aligned && rows->dst.aligned && chain;
}

/* threads: of a block that has a row. */
static void share(const dtp_gpu_rows_t *rows, int64_t threads, dtp_gpu_shape_t *shape) {
    shape->block[0] = rows->by_warps ? DTP_GPU_ROW_THREADS : (uint32_t)threads;
    shape->grid[0] =
        dtp_gpu_grid(rows->by_warps ? dtp_div_up(rows->dims.n, DTP_GPU_ROW_THREADS / WARP) : rows->dims.n);
}

/* Blocks of a few long rows have as many threads as they can: a multiprocessor has one of them, or none. */
void dtp_gpu_rows_share(const dtp_pd_t *pd, const dtp_gpu_rows_t *rows, bool runs, dtp_gpu_shape_t *shape) {
    const bool few = rows->dims.n <= 2 * dtp_gpu_device(pd)->multiprocessors && rows->n >= LONG_ROW;
    share(rows,
          !few   ? DTP_GPU_ROW_THREADS
          : runs ? DTP_GPU_LONG_RUNS_THREADS
                 : DTP_GPU_LONG_ROW_THREADS,
          shape);
}

/* Threads get half of what they can hold, or as little as they can where rows are too few for the device. */
static int64_t threads_of(const dtp_pd_t *pd, const dtp_gpu_rows_t *rows, int64_t run) {
    const int64_t each = rows->dims.n >= 2 * dtp_gpu_device(pd)->multiprocessors ? DTP_GPU_HELD / 2 : run;
    return dtp_min64(dtp_round_up(dtp_div_up(rows->n, each), WARP), DTP_GPU_BLOCK_THREADS);
}

dnnl_tp_status_t dtp_gpu_rows_hold(const dtp_pd_t *pd, dtp_gpu_rows_t *rows, const dtp_gpu_post_ops_t *po,
                                   dtp_gpu_module_t module, const char *stem, const dtp_md_t *src,
                                   const dtp_md_t *dst, dtp_cu_function_t *kernel, dtp_gpu_shape_t *shape) {
    const int64_t run = VECTOR_BYTES / (int64_t)dtp_type_size(src->data_type);
    DTP_DISPATCH(src->data_type == dst->data_type, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(has_runs(&rows->src, rows->src_step, run) && has_runs(&rows->dst, rows->dst_step, run),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(po->chain.len == 0, UNSUPPORTED_POST_OPS);
    DTP_DISPATCH(rows->n % run == 0 && rows->n <= DTP_GPU_BLOCK_ROW, UNSUPPORTED_SHAPE);
    share(rows, threads_of(pd, rows, run), shape);
    return dtp_gpu_kernel_of(pd, module, stem, src->data_type, kernel);
}

bool dtp_gpu_rows_are_aligned(const dtp_gpu_rows_t *rows) {
    return dtp_gpu_is_aligned(rows->src.data, VECTOR_BYTES) &&
           dtp_gpu_is_aligned(rows->dst.data, VECTOR_BYTES);
}
