/* Arguments of the kernels of layer normalization. */
#ifndef DTP_GPU_LAYER_NORM_ARGS_H
#define DTP_GPU_LAYER_NORM_ARGS_H

#include "gpu/device/args.h"

enum {
    DTP_LAYER_NORM_RMS = 1,    /* the mean counts as 0 */
    DTP_LAYER_NORM_GLOBAL = 2, /* statistics are given */
    DTP_LAYER_NORM_KEEP = 4    /* statistics are wanted */
};

/* Factors or summands of the elements of a row, dense; data NULL: none. */
typedef struct {
    const void *data;
    int32_t type;
    int32_t aligned; /* to 16 bytes */
} dtp_gpu_layer_norm_values_t;

typedef struct {
    dtp_gpu_rows_t rows;
    float *mean, *variance; /* NULL: not there */
    int64_t stat_stride[DTP_GPU_DIMS];
    dtp_gpu_layer_norm_values_t scale, shift;
    float epsilon;
    uint32_t flags;
    dtp_gpu_scale_t src_scale, dst_scale;
    dtp_gpu_chain_t chain; /* index: row * n + element */
} dtp_gpu_layer_norm_args_t;

#endif
