/* Arguments of the kernels of resampling; included by both halves. */
#ifndef DTP_GPU_RESAMPLING_RESAMPLING_ARGS_H
#define DTP_GPU_RESAMPLING_RESAMPLING_ARGS_H

#include "gpu/device/args.h"

enum { DTP_RESAMPLING_SPACE = 3 };

/* A spatial dimension, as problems/resampling.h has it; `first` of its places in the table. */
typedef struct {
    double before, from, to, after;
    int64_t in, out, first, step; /* step: of src */
} dtp_gpu_resampling_dim_t;

/* Where an element of dst stands between two of src; as far behind lo as hi, in parts of 1. */
typedef struct {
    int32_t lo, hi;
    float part;
    int32_t unused;
} dtp_gpu_resampling_place_t;

typedef struct {
    dtp_gpu_resampling_place_t *places; /* of all spatial dimensions */
    dtp_gpu_dims_t dims;                /* of dst, in the order of its memory */
    int32_t spatial[DTP_GPU_DIMS];      /* which spatial dimension each is; -1: none */
    int32_t nspatial, linear, has_rules, rounding;
    dtp_gpu_tensor_t src, dst;
    int64_t nplaces;
    dtp_gpu_resampling_dim_t space[DTP_RESAMPLING_SPACE];
} dtp_resampling_args_t;

#endif
