/* Host half of kernels of rows: softmax, layer normalization.
 *
 * Kernels may hold rows with adjacent elements in registers (device/rows.cuh); other kernels read a
 * row several times. A short row is the work of a warp, other rows of a block. */
#ifndef DTP_GPU_DEVICE_ROWS_H
#define DTP_GPU_DEVICE_ROWS_H

#include "gpu/device/post_ops.h"

/* Rows along axis of src and dst, which have the same dimensions. more: a tensor with one element
 * for each row, or md NULL. Writes order, that of the linear indices row * n + element. */
dnnl_tp_status_t dtp_gpu_rows_init(dtp_gpu_rows_t *rows, dtp_gpu_order_t *order, const dtp_md_t *src,
                                   const dtp_md_t *dst, int axis, dtp_gpu_operand_t more);
/* Whether both tensors and the tensors of post-operations have runs of DTP_GPU_RUN elements. */
bool dtp_gpu_rows_have_runs(const dtp_gpu_rows_t *rows, const dtp_gpu_post_ops_t *po);
/* Blocks and threads of kernels that read rows several times. runs: they read runs of DTP_GPU_RUN
 * elements, else single elements. */
void dtp_gpu_rows_share(const dtp_pd_t *pd, const dtp_gpu_rows_t *rows, bool runs, dtp_gpu_shape_t *shape);
/* Rows that are held in registers: the kernel <stem>_<type>, and its shape. Unimplemented: types
 * differ, elements are not adjacent, rows are too long, or there are post-operations. */
dnnl_tp_status_t dtp_gpu_rows_hold(const dtp_pd_t *pd, dtp_gpu_rows_t *rows, const dtp_gpu_post_ops_t *po,
                                   dtp_gpu_module_t module, const char *stem, const dtp_md_t *src,
                                   const dtp_md_t *dst, dtp_cu_function_t *kernel, dtp_gpu_shape_t *shape);
/* After dtp_gpu_bind: whether the memory of an execution is aligned as held rows need it. */
bool dtp_gpu_rows_are_aligned(const dtp_gpu_rows_t *rows);

/* Blocks of a grid, limited to the number that a launch accepts. */
static inline uint32_t dtp_gpu_grid(int64_t blocks) { return (uint32_t)dtp_min64(blocks, INT32_MAX); }

#endif
