/* Arguments of the kernels of softmax. A row is what is normalised: n elements, `step` apart. */
#ifndef DTP_GPU_SOFTMAX_ARGS_H
#define DTP_GPU_SOFTMAX_ARGS_H

#include "gpu/device/args.h"

/* Elements of a row that kernels hold in registers: of a warp, and of a block of the most threads. */
enum { DTP_SOFTMAX_BLOCK_THREADS = 512, DTP_SOFTMAX_WARP_ROW = 1024, DTP_SOFTMAX_BLOCK_ROW = 16384 };
/* Threads of a block of the other kernels; of columns, in one dimension: warps along the row, lanes over rows. */
enum { DTP_SOFTMAX_ROW_THREADS = 256, DTP_SOFTMAX_COLUMN_WARPS = 8 };

typedef struct {
    dtp_gpu_dims_t rows;
    dtp_gpu_tensor_t src, dst; /* strides of rows */
    int64_t n, src_step, dst_step;
    dtp_gpu_scale_t src_scale, dst_scale;
    int64_t is_log;
    dtp_gpu_chain_t chain; /* index: row * n + element */
} dtp_gpu_softmax_args_t;

#endif
