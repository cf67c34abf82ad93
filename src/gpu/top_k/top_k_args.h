/* Arguments of the kernels of positions of the best elements; included by both halves. */
#ifndef DTP_GPU_TOP_K_TOP_K_ARGS_H
#define DTP_GPU_TOP_K_TOP_K_ARGS_H

#include "gpu/device/args.h"

enum { DTP_TOP_K_THREADS = 256 };

typedef struct {
    const void *src;
    int64_t *dst;
    dtp_gpu_lines_t lines; /* of src */
    int64_t k;
    int32_t type, smallest, last, nan_worst;
    int32_t group; /* threads that have a line together: 1, a warp, a block */
    int32_t unused;
} dtp_top_k_args_t;

#endif
