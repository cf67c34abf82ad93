/* Arguments of the kernel of pooling; included by both halves. */
#ifndef DTP_GPU_POOLING_POOLING_ARGS_H
#define DTP_GPU_POOLING_POOLING_ARGS_H

#include "gpu/device/space_args.h"

enum { DTP_POOL_MAX, DTP_POOL_MEAN, DTP_POOL_MEAN_INSIDE };

typedef struct {
    const void *src;
    void *dst;
    dtp_gpu_space_t walk;
    dtp_gpu_window_t window[DTP_SPACE_DIMS];
    int64_t src_image, src_channel;
    int32_t src_type, dst_type;
    int32_t what, keeps_nan;
    float least, volume; /* the maximum of nothing; elements of a window */
    dtp_gpu_chain_t chain;
} dtp_pooling_args_t;

#endif
