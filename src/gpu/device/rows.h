/* Host half of kernels of rows: softmax, layer normalization.
 *
 * Rows whose elements lie together may be held in registers (device/rows.cuh); other kernels read a row several times. Short rows have a
 * warp each, others a block. */
#ifndef DTP_GPU_DEVICE_ROWS_H
#define DTP_GPU_DEVICE_ROWS_H

#include "gpu/device/post_ops.h"

/* Rows of src and dst, which have the same dimensions, along axis; more: a tensor of one element for each row, or md NULL.
 * order: of linear indices row * n + element; written. */
dnnl_tp_status_t dtp_gpu_rows_init(dtp_gpu_rows_t *rows, dtp_gpu_order_t *order, const dtp_md_t *src,
                                   const dtp_md_t *dst, int axis, dtp_gpu_operand_t more);
/* Both tensors have runs of DTP_GPU_RUN elements, and so has the chain. */
bool dtp_gpu_rows_have_runs(const dtp_gpu_rows_t *rows, const dtp_gpu_post_ops_t *po);
/* Blocks and threads of kernels that read rows several times; runs: of DTP_GPU_RUN elements, otherwise one by one. */
void dtp_gpu_rows_share(const dtp_pd_t *pd, const dtp_gpu_rows_t *rows, bool runs, dtp_gpu_shape_t *shape);
/* Rows that are held in registers: the kernel <stem>_<type>, and its shape. Unimplemented where types differ, elements do not
 * lie together, rows are too long, or there are post-operations. */
dnnl_tp_status_t dtp_gpu_rows_hold(const dtp_pd_t *pd, dtp_gpu_rows_t *rows, const dtp_gpu_post_ops_t *po,
                                   dtp_gpu_module_t module, const char *stem, const dtp_md_t *src,
                                   const dtp_md_t *dst, dtp_cu_function_t *kernel, dtp_gpu_shape_t *shape);
/* Memory of an execution is aligned as held rows need it; after dtp_gpu_bind. */
bool dtp_gpu_rows_are_aligned(const dtp_gpu_rows_t *rows);

/* Blocks of a grid that has this much to do. */
static inline uint32_t dtp_gpu_grid(int64_t blocks) { return (uint32_t)dtp_min64(blocks, INT32_MAX); }

#endif
