/* Arguments of the kernels of binary operations. */
#ifndef DTP_GPU_BINARY_ARGS_H
#define DTP_GPU_BINARY_ARGS_H

#include "gpu/device/args.h"

typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t src0, src1, src2, dst; /* src2: the condition of select, else without data */
    dtp_gpu_scale_t scale0, scale1;
    int64_t function; /* an index of elementwise.h */
    dtp_gpu_chain_t chain;
} dtp_gpu_binary_args_t;

#endif
