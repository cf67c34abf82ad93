/* Arguments of the kernels of concat; included by both halves. */
#ifndef DTP_GPU_CONCAT_CONCAT_ARGS_H
#define DTP_GPU_CONCAT_CONCAT_ARGS_H

#include "gpu/device/args.h"

enum { DTP_CONCAT_BATCH = 64 }; /* sources of one launch */

/* Every source is `rows` runs of pieces, which go to the runs of dst from `start` on. All in pieces. */
typedef struct {
    const void *src;
    int64_t pitch, start;
    dtp_gpu_dim_t run;
    int32_t unused;
} dtp_concat_source_t;
typedef struct {
    void *dst;
    int64_t rows, pitch;
    dtp_concat_source_t source[DTP_CONCAT_BATCH];
} dtp_concat_args_t;

#endif
