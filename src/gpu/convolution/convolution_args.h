/* Arguments of the kernels of convolutions and transposed convolutions; included by both halves. */
#ifndef DTP_GPU_CONVOLUTION_CONVOLUTION_ARGS_H
#define DTP_GPU_CONVOLUTION_CONVOLUTION_ARGS_H

#include "gpu/device/space_args.h"

/* Pixels and channels of a block's tile of dst; inputs that are summed at once. */
enum { DTP_CONV_THREADS = 256, DTP_CONV_SIDE = 64, DTP_CONV_CHUNK = 16 };

typedef struct {
    const void *src, *wei, *bia; /* bia: NULL: none */
    void *dst;
    int32_t src_type, wei_type, bia_type, dst_type;
    dtp_gpu_space_t walk;                    /* of dst, in the order of its memory */
    dtp_gpu_window_t window[DTP_SPACE_DIMS]; /* in: of src, out: of dst, also of transposed ones */
    int64_t wei_step[DTP_SPACE_DIMS];
    int64_t src_image, src_channel, wei_group, wei_out, wei_in, bia_step;
    int32_t groups, oc, ic; /* channels of a group */
    int32_t transposed;
    dtp_gpu_dims_t pixels;            /* of a tile's rows: width, height, depth, images */
    int64_t dst_step[4], dst_channel; /* along pixels' dimensions */
    int32_t tiles_m, tiles_n;         /* of a group */
    dtp_gpu_chain_t chain; /* by the linear index {N, C, spatial} of tiles, of the walk otherwise */
} dtp_convolution_args_t;

#endif
