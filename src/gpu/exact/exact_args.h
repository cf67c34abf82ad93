/* Arguments of the kernels of functions in the arithmetic of integers. */
#ifndef DTP_GPU_EXACT_ARGS_H
#define DTP_GPU_EXACT_ARGS_H

#include "gpu/device/args.h"

typedef struct {
    dtp_gpu_dims_t dims;
    dtp_gpu_tensor_t src0, src1, dst; /* src1: of binary */
    int64_t a, b;                     /* parameters of eltwise */
    int32_t function;                 /* an index of elementwise.h */
    int32_t is_truth;                 /* dst is boolean: whether the result is not 0 */
} dtp_gpu_exact_args_t;

#endif
