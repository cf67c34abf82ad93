/* Types for argument structs of kernels with windows over an image; included by both halves. */
#ifndef DTP_GPU_DEVICE_SPACE_ARGS_H
#define DTP_GPU_DEVICE_SPACE_ARGS_H

#include "gpu/device/args.h"

/* What a dimension of an image is: N, C, then depth, height and width, of which an image may lack the first ones. */
enum { DTP_SPACE_IMAGE, DTP_SPACE_CHANNEL, DTP_SPACE_FIRST, DTP_SPACE_DIMS = 3, DTP_SPACE_ALL = 5 };

typedef struct {
    dtp_gpu_dims_t dims;
    int64_t stride[DTP_GPU_DIMS]; /* of dst */
    int32_t what[DTP_GPU_DIMS];   /* -1: behind the last dimension */
} dtp_gpu_space_t;

/* Tap k of output o is input o * stride - pad + k * step, which may be outside 0..in-1. */
typedef struct {
    int32_t in, out, kernel, stride, step, pad;
    int64_t src_step;
} dtp_gpu_window_t;

#endif
