/* Arguments of the kernel of local response normalization; included by both halves. */
#ifndef DTP_GPU_LRN_LRN_ARGS_H
#define DTP_GPU_LRN_LRN_ARGS_H

#include "gpu/device/space_args.h"

typedef struct {
    const void *src;
    void *dst;
    dtp_gpu_space_t walk;
    int64_t src_stride[DTP_SPACE_ALL];
    int32_t size[DTP_SPACE_ALL]; /* of src */
    int32_t half[DTP_SPACE_ALL]; /* neighbours on each side */
    int32_t src_type, dst_type;
    float factor, beta, k; /* of the sum of squares, the power, what is added */
} dtp_lrn_args_t;

#endif
