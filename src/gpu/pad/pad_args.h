/* Arguments of the kernels of tensors with more around them; included by both halves. */
#ifndef DTP_GPU_PAD_PAD_ARGS_H
#define DTP_GPU_PAD_PAD_ARGS_H

#include "gpu/device/args.h"

typedef struct {
    const void *src;
    void *dst;
    uint64_t value;
    dtp_gpu_dims_t dims; /* of dst; neighbours that nothing changes are one */
    int32_t before[DTP_GPU_DIMS], n[DTP_GPU_DIMS], times[DTP_GPU_DIMS];
    int64_t stride[DTP_GPU_DIMS]; /* of src */
} dtp_pad_args_t;

#endif
