/* Arguments of the kernels of sum; included by both halves. */
#ifndef DTP_GPU_SUM_SUM_ARGS_H
#define DTP_GPU_SUM_SUM_ARGS_H

#include "gpu/device/args.h"

enum { DTP_SUM_SOURCES = 64 };

typedef struct {
    const void *data;
    int32_t stride[DTP_GPU_DIMS]; /* as dtp_gpu_tensor_t */
    float scale;
    uint8_t type, aligned, unused[2];
} dtp_sum_source_t;
typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t dst;
    int64_t n;
    dtp_sum_source_t source[DTP_SUM_SOURCES];
} dtp_sum_args_t;

#endif
