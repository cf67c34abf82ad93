/* Arguments of the kernels of element-wise functions. */
#ifndef DTP_GPU_ELTWISE_ARGS_H
#define DTP_GPU_ELTWISE_ARGS_H

#include "gpu/device/args.h"

typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t src, dst;
    dtp_gpu_chain_t chain; /* the function first, then the post-operations */
} dtp_gpu_eltwise_args_t;

#endif
