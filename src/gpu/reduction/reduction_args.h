/* Arguments of the kernels of reductions: result = finish(combine of map(element)). */
#ifndef DTP_GPU_REDUCTION_ARGS_H
#define DTP_GPU_REDUCTION_ARGS_H

#include "gpu/device/args.h"

typedef enum { DTP_MAP_NONE, DTP_MAP_ABS, DTP_MAP_SQUARE, DTP_MAP_POWER } dtp_reduction_map_t;
/* MAXIMUM and MINIMUM are those of floats that keep NaN. */
typedef enum {
    DTP_COMBINE_SUM,
    DTP_COMBINE_MUL,
    DTP_COMBINE_MAX,
    DTP_COMBINE_MIN,
    DTP_COMBINE_MAXIMUM,
    DTP_COMBINE_MINIMUM
} dtp_reduction_combine_t;
typedef enum {
    DTP_FINISH_PART, /* f32, or s64 of integers, to dst.data[part * results + result]; nothing else happens */
    DTP_FINISH_NONE,
    DTP_FINISH_MEAN,
    DTP_FINISH_FLOOR, /* at least eps */
    DTP_FINISH_PLUS,  /* + eps */
    DTP_FINISH_FLOOR_ROOT,
    DTP_FINISH_PLUS_ROOT /* then the p-th root */
} dtp_reduction_finish_t;

/* Threads of a block; of columns: warps share the elements of results, each lane has a run of results. */
enum { DTP_REDUCTION_THREADS = 256 };

typedef struct {
    dtp_gpu_dims_t kept, reduced;
    dtp_gpu_tensor_t src, dst;          /* strides of kept dimensions */
    int64_t reduced_step[DTP_GPU_DIMS]; /* of src */
    int64_t chunk; /* elements of a part, which is blockIdx.y: a multiple of DTP_GPU_RUN */
    int64_t count; /* elements of a result, of the first stage */
    float p, eps;
    int32_t map, combine, finish;
    int32_t by_warps;      /* rows: a warp has a result, otherwise a block */
    dtp_gpu_chain_t chain; /* index: that of kept */
} dtp_gpu_reduction_args_t;

#endif
