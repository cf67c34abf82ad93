/* Arguments of the kernels of running sums; included by both halves. */
#ifndef DTP_GPU_CUMSUM_CUMSUM_ARGS_H
#define DTP_GPU_CUMSUM_CUMSUM_ARGS_H

#include "gpu/device/args.h"

typedef struct {
    const void *src;
    void *dst;
    dtp_gpu_lines_t lines;
    int32_t type, exclusive, reverse;
    int32_t by_warps; /* a warp has a line, otherwise a thread */
} dtp_cumsum_args_t;

#endif
