/* Arguments of the kernels of pointwise functions. */
#ifndef DTP_GPU_POINTWISE_ARGS_H
#define DTP_GPU_POINTWISE_ARGS_H

#include "gpu/device/args.h"

typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t src0, src1, src2, dst; /* without data: the function has fewer sources */
    int64_t function;                       /* dtp_pointwise_fn_t */
} dtp_gpu_pointwise_args_t;

#endif
