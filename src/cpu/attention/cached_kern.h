/* Attention over a cache, rows of the heads that share keys: the interface between driver and kernels. */
#ifndef DTP_CPU_ATTENTION_CACHED_KERN_H
#define DTP_CPU_ATTENTION_CACHED_KERN_H

#include <stdint.h>

/* Rows of queries that are computed together, and keys of a block. */
enum { DTP_CACHED_TOGETHER = 4, DTP_CACHED_BLOCK = 256 };

/* Angles by position: {positions, pairs} each; cosines NULL: nothing is turned. */
typedef struct {
    const float *cosines, *sines;
    int64_t pairs;
    int interleaved; /* pairs are neighbours, not one of each half */
} dtp_angles_t;

/* For queries r = first..first + n - 1, r = i * shared + h: row i of head h. Keys 0..before - 1 are rows of
 * past_k, keys before..before + s - 1 are rows of k (turned already); row i stands at position before + i. */
typedef struct {
    const float *q; /* row i of head h: q + i * ldq + h * d */
    const float *past_k, *past_v, *k, *v;
    float *o; /* as q, with ldo */
    int64_t ldq, ldo;
    int64_t first, n, shared, d, before, s;
    /* Added to scores: row i of head h begins at mask + h * mask_head + i * mask_row; NULL: nothing. */
    const float *mask;
    int64_t mask_head, mask_row;
    dtp_angles_t angles;
    int64_t window; /* < 0: none */
    int is_causal;
    float scale, softcap;
    float *scratch; /* dtp_cached_scratch(d) floats */
} dtp_cached_args_t;

typedef struct {
    void (*rows)(const dtp_cached_args_t *a);
    /* dst = row src of d elements, turned by the angles of its position. */
    void (*turn)(const dtp_angles_t *a, int64_t position, const float *src, float *dst, int64_t d);
    double ns; /* per score and column */
} dtp_cached_kern_t;

/* Floats for scaled queries, accumulators and a block of probabilities. */
static inline int64_t dtp_cached_scratch(int64_t d) {
    return DTP_CACHED_TOGETHER * (2 * ((d + 15) / 16 * 16) + DTP_CACHED_BLOCK + 16);
}

#if DTP_X64
extern const dtp_cached_kern_t dtp_cached_kern__avx512, dtp_cached_kern__avx2;
#endif
extern const dtp_cached_kern_t dtp_cached_kern__ref;

#endif
