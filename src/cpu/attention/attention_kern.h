/* Attention of one head over one group of queries: the interface between driver and kernels. */
#ifndef DTP_CPU_ATTENTION_KERN_H
#define DTP_CPU_ATTENTION_KERN_H

#include <stdint.h>

/* Limit of the queries of a call. */
#define DTP_ATTENTION_QUERIES 128
/* Rows of queries that are computed together. */
#define DTP_ATTENTION_ROWS 8
/* Keys per block are a multiple of this. */
#define DTP_ATTENTION_KEYS 16

/* o[i, :] = sum_j softmax_j(scale * q[i, :] . k[j, :] + mask[j]) v[j, :]. Rows have d elements of
 * the kernel's type; strides are elements. If -inf masks all keys of a query, its row is 0. */
typedef struct {
    const void *q, *k, *v;
    void *o;
    int64_t ldq, ldk, ldv, ldo;
    int64_t nq, nk, d; /* nq <= DTP_ATTENTION_QUERIES */
    const float *mask; /* nk values mask_stride apart, or NULL */
    int64_t mask_stride;
    float scale;
    int64_t kb;     /* keys per block */
    float *scratch; /* dtp_attention_scratch(d, kb) floats, 64-byte aligned */
    /* Called between blocks, unless NULL. If it returns nonzero, the kernel ends without o. */
    int (*over)(const void *run);
    const void *run;
} dtp_attention_args_t;
typedef void (*dtp_attention_fn_t)(const dtp_attention_args_t *a);

/* Floats for transposed keys, their biases, a block of probabilities, scaled queries, accumulators,
 * maxima and sums. */
static inline int64_t dtp_attention_scratch(int64_t d, int64_t kb) {
    int64_t d16 = (d + 15) / 16 * 16;
    return kb * d16 + kb + DTP_ATTENTION_ROWS * (kb + 16) + DTP_ATTENTION_ROWS * d16 +
           DTP_ATTENTION_QUERIES * d16 + 2 * DTP_ATTENTION_QUERIES;
}

/* The kernels: X(type of q, k, v and o, function, DTP_ISA_* bits, ns per score and column, which
 * are 4 flops). A kernel for another type needs a file and a line here. */
#if DTP_X64
#define DTP_ATTENTION_KERNELS(X)                                        \
    X(f32, dtp_attention_group__avx512, DTP_ISA_AVX512, 4. / 220)       \
    X(f32, dtp_attention_group__avx2, DTP_ISA_AVX2, 4. / 110)           \
    X(f32, dtp_attention_group__ref, 0, 4.)                             \
    X(bf16, dtp_attention_group_bf16__avx512, DTP_ISA_AVX512, 4. / 200) \
    X(bf16, dtp_attention_group_bf16__avx2, DTP_ISA_AVX2, 4. / 100)     \
    X(bf16, dtp_attention_group_bf16__ref, 0, 4.)
#else
#define DTP_ATTENTION_KERNELS(X) \
    X(f32, dtp_attention_group__ref, 0, 4.) X(bf16, dtp_attention_group_bf16__ref, 0, 4.)
#endif
#define DTP_ATTENTION_DECLARE(type, fn, isa, ns) void fn(const dtp_attention_args_t *a);
DTP_ATTENTION_KERNELS(DTP_ATTENTION_DECLARE)
#undef DTP_ATTENTION_DECLARE

#endif
