/* Arguments of the kernel of pool_normalize; included by both halves. */
#ifndef DTP_GPU_POOL_NORMALIZE_POOL_NORMALIZE_ARGS_H
#define DTP_GPU_POOL_NORMALIZE_POOL_NORMALIZE_ARGS_H

#include "gpu/device/args.h"
#include "gpu/device/finding.h"

enum { DTP_POOLN_THREADS = 512 };

typedef struct {
    const void *src;
    const float *mask;      /* NULL: every row counts */
    const int32_t *offsets; /* NULL: sequences of `rows` rows */
    float *dst;
    int64_t batch, ld,
        ld_dst; /* elements: of src from a sequence to the next, from a row to the next; of dst */
    int64_t mask_batch, mask_row;
    int32_t n, rows, h; /* sequences, rows of one of them, or of all where there are offsets; columns */
    int32_t type, aligned, groups; /* of src; runs of rows; of rows that threads share */
    float epsilon;
    int32_t unused;
    dtp_gpu_note_t note;
} dtp_pooln_args_t;

#endif
