/* Arguments of kernels that move elements from one layout to another (reorder, concat); included by both halves. */
#ifndef DTP_GPU_REORDER_MOVE_ARGS_H
#define DTP_GPU_REORDER_MOVE_ARGS_H

#include "gpu/device/args.h"

enum {
    DTP_MOVE_SRC_ZERO_POINT,
    DTP_MOVE_SRC_SCALE,
    DTP_MOVE_DST_SCALE,
    DTP_MOVE_DST_ZERO_POINT,
    DTP_MOVE_QUANTS
};

/* Tiles of transposition: so many elements along the innermost dimension of dst and of src. */
enum { DTP_MOVE_TILE = 64, DTP_MOVE_TILE_THREADS = 256 };

/* y = (x - zero point) * scale + sum_scale * (old y - sum_zero_point), then / scale + zero point of dst. */
typedef struct {
    dtp_gpu_dims_t dims; /* in the order of dst */
    dtp_gpu_tensor_t src, dst;
    /* Transposition: the dimension along which src lies; tiles along it and along the innermost one. */
    int32_t across, tiles_across, tiles_along;
    int32_t sum_type; /* the type as which the old dst is read */
    int32_t has_sum, has_quants;
    float sum_scale, sum_zero_point;
    int32_t words; /* of a transposition without conversion: rows of both tensors are whole words */
    int32_t unused;
    dtp_gpu_tensor_t quant[DTP_MOVE_QUANTS]; /* data NULL: none */
} dtp_move_args_t;

#endif
