/* Batch and group normalization on vectors: the interface between driver and kernels.
 *
 * Elements are a matrix: "cols" kernels have a channel in each column (channels last, or blocks of
 * channels), "rows" kernels have a channel in each row (planes). Statistics belong to a chunk of a
 * channel: mean and sum of squared distances from it. In rows a second pass computes the latter;
 * the first pass leaves the chunk in the first-level cache. Chunks are joined in a fixed order. */
#ifndef DTP_CPU_CHANNEL_NORM_KERN_H
#define DTP_CPU_CHANNEL_NORM_KERN_H

#include <stdint.h>

#include "cpu/simd/vec_types.h"

/* mean[c], m2[c]: of channel c. */
typedef struct {
    const void *src;
    v_type_t type;
    int64_t ld, rows, cols; /* in elements */
    float *mean, *m2;
} dtp_cn_moments_t;
typedef void (*dtp_cn_moments_fn_t)(const dtp_cn_moments_t *a);

/* Joins `entries` chunks of each channel; entry i is at mean + i * ld and m2 + i * ld and has
 * `chunk` elements; the last one of each `period` entries has `tail` elements. out_mean[c],
 * out_var[c]: mean and variance of all. */
typedef struct {
    const float *mean, *m2;
    int64_t ld, entries, period, chunk, tail, channels;
    float *out_mean, *out_var;
} dtp_cn_join_t;
typedef void (*dtp_cn_join_fn_t)(const dtp_cn_join_t *a);

/* mul[c] = factor * scale[c] / sqrt(var[c] + eps), add[c] = factor * shift[c]. scale, shift NULL:
 * 1, 0. */
typedef struct {
    const float *var, *scale, *shift;
    float *mul, *add;
    int64_t channels;
    float eps, factor;
} dtp_cn_factors_t;
typedef void (*dtp_cn_factors_fn_t)(const dtp_cn_factors_t *a);

/* y = (x - mean[c]) * mul[c] + add[c], plus src1; positive: y > 0; dst = max(y, least). src1 and
 * dst have a type. Types: dst f32, or src's own of the real ones. */
typedef struct {
    const void *src;
    void *dst;
    const void *src1;  /* with the layout of dst; NULL: none */
    uint8_t *positive; /* 1 or 0; NULL: not wanted */
    const float *mean, *mul, *add;
    v_type_t src_type, dst_type;
    int64_t ld_src, ld_dst, ld_positive, rows, cols;
    float least; /* minus infinity: none */
    int stream;  /* non-temporal stores; dst is f32 */
    /* Rows exceed the second-level cache, and one long read is fastest: one row after another. */
    int exceeds_l2;
} dtp_cn_apply_t;
typedef void (*dtp_cn_apply_fn_t)(const dtp_cn_apply_t *a);

typedef struct {
    dtp_cn_moments_fn_t moments_cols, moments_rows;
    dtp_cn_join_fn_t join;
    dtp_cn_factors_fn_t factors;
    dtp_cn_apply_fn_t apply_cols, apply_rows;
} dtp_cn_kernels_t;
extern const dtp_cn_kernels_t dtp_cn_kernels__avx512_bf16, dtp_cn_kernels__avx512, dtp_cn_kernels__avx2,
    dtp_cn_kernels__portable;

#endif
