/* Arguments of the kernels of softmax. */
#ifndef DTP_GPU_SOFTMAX_ARGS_H
#define DTP_GPU_SOFTMAX_ARGS_H

#include "gpu/device/args.h"

/* Warps of a block of the kernel of columns; they share the elements of rows, a row for each lane. */
enum { DTP_SOFTMAX_COLUMN_WARPS = 8 };

typedef struct {
    dtp_gpu_rows_t rows;
    dtp_gpu_scale_t src_scale, dst_scale;
    int64_t is_log;
    dtp_gpu_chain_t chain; /* index: row * n + element */
} dtp_gpu_softmax_args_t;

#endif
