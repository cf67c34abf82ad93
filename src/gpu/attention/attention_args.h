/* Arguments of the kernels of attention; included by both halves. */
#ifndef DTP_GPU_ATTENTION_ATTENTION_ARGS_H
#define DTP_GPU_ATTENTION_ATTENTION_ARGS_H

#include "gpu/device/args.h"
#include "gpu/device/finding.h"

enum {
    DTP_ATTENTION_QUERIES = 64, /* of a block */
    DTP_ATTENTION_KEYS = 64,    /* of a step */
    DTP_ATTENTION_THREADS = 128,
    DTP_ATTENTION_MOST_D = 256, /* of the kernel for any type */
    DTP_ATTENTION_PAD = 4,      /* floats after each row of f32.cuh in shared memory */
    DTP_ATTENTION_PART_PAD = 8  /* after each row of probabilities */
};
/* Keys of a step of f32.cuh for heads of d columns, and its floats in shared memory. */
#define DTP_ATTENTION_TILE_KEYS(d) ((d) <= 64 ? 64 : 32)
#define DTP_ATTENTION_TILE_FLOATS(d)                                                        \
    ((DTP_ATTENTION_QUERIES + 2 * DTP_ATTENTION_TILE_KEYS(d)) * ((d) + DTP_ATTENTION_PAD) + \
     DTP_ATTENTION_QUERIES * (DTP_ATTENTION_TILE_KEYS(d) + DTP_ATTENTION_PART_PAD))

typedef struct {
    const void *q, *k, *v;
    void *dst;
    const float *mask;      /* NULL: none */
    const int32_t *offsets; /* NULL: sequences of sq queries and sk keys */
    /* elements: of sequences, of rows */
    int64_t batch_q, batch_k, batch_v, batch_dst, ldq, ldk, ldv, ld_dst;
    int64_t mask_batch, mask_row;
    int32_t n, heads, d, sq, sk; /* with offsets, sq rows in all */
    /* blocks of queries of a head: of a sequence, or of all where there are offsets */
    int32_t groups;
    int32_t type;
    float scale;
    /* rows of tensors are aligned to 16 bytes (kernel for any type: to DTP_GPU_RUN elements) */
    int32_t wide;
    int32_t unused;
    dtp_gpu_note_t note;
} dtp_attention_args_t;

#endif
