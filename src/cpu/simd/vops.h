/* Element-wise functions on rows, in f32 and exactly in other types, and conversions to f32, as
 * tables per instruction set.
 *
 * All element-wise work uses these tables: post-operations, eltwise, and the load/convert/store
 * edges of every kind (reorder, binary, sum, concat, reduction may use them too). Baseline code:
 * the table is chosen once, in pd_init, by dtp_vops(engine isa). */
#ifndef DTP_CPU_SIMD_VOPS_H
#define DTP_CPU_SIMD_VOPS_H

#include <stdint.h>

#include "common/base/elementwise.h"

/* The place of a tensor: in caches; in memory, so that non-temporal stores pay (and alignment
 * allows them); in memory and in place, so that lines are prefetched. */
enum { DTP_MEM_NEAR, DTP_MEM_STREAM, DTP_MEM_FAR };

/* y[i * ldy + j] = f(x[i * ldx + j]), elements of the table's type; x may equal y (with equal
 * strides). */
typedef struct {
    const void *x;
    void *y;
    int64_t ldx, ldy, rows, cols;
    float alpha, beta;
    int stream; /* DTP_MEM_* */
} dtp_eltwise_args_t;
typedef void (*dtp_eltwise_fn_t)(const dtp_eltwise_args_t *a);

/* y[i, j] = x0[i, j] op x1[i, j]; row strides ld*, column strides cs* of the sources 0 or 1; y may
 * equal a source of the same strides. select: cond[i, j] != 0 ? x0 : x1, f32 only. */
typedef struct {
    const void *x0, *x1, *cond;
    void *y;
    int64_t ld0, ld1, ldc, ldy, rows, cols;
    int cs0, cs1, csc;
    int stream;
} dtp_binary_args_t;
typedef void (*dtp_binary_fn_t)(const dtp_binary_args_t *a);

/* Types that are loaded to f32 and stored from it. */
static inline bool dtp_vops_takes(dnnl_tp_data_type_t dt) { return dt >= dnnl_tp_f16 && dt <= dnnl_tp_u8; }

/* n elements, stride elements apart (1 = contiguous), to f32: y[i] = x[i * stride]. s32 rounds to
 * nearest even. */
typedef void (*dtp_load_fn_t)(void *y, const void *x, int64_t n, int64_t stride);
/* n values of f32 to the type: y[i * stride] = saturate(round_to_nearest_even(x[i])); NaN to
 * integers: 0. */
typedef void (*dtp_store_fn_t)(void *y, const void *x, int64_t n, int64_t stride);

enum {
    DTP_VOPS_NTYPES = dnnl_tp_s64 + 1
}; /* dnnl_tp_data_type_t: f16, bf16, f32, s32, s8, u8; others NULL */

typedef struct dtp_vops {
    dtp_eltwise_fn_t eltwise[DTP_EW_NUNARY]; /* by index; NULL: f32 has none */
    dtp_binary_fn_t binary[DTP_EW_NBINARY];
    dtp_load_fn_t load[DTP_VOPS_NTYPES];
    dtp_store_fn_t store[DTP_VOPS_NTYPES];
    /* x[i] = x[i] * scale + shift, in place. */
    void (*scale_shift)(float *x, int64_t n, float scale, float shift);
    /* x[i * ld + j] += scale * (y[i * ldy + j] - shift) */
    void (*axpy)(float *x, int64_t ld, const float *y, int64_t ldy, int64_t rows, int64_t cols, float scale,
                 float shift);
} dtp_vops_t;

/* The fastest table that the bits (DTP_ISA_*) allow. */
const dtp_vops_t *dtp_vops(unsigned isa);
/* The f32 function of a number (dnnl_tp_alg_kind_t or DTP_ALG_*); NULL: there is none. */
dtp_eltwise_fn_t dtp_vops_eltwise(const dtp_vops_t *v, int alg);
dtp_binary_fn_t dtp_vops_binary(const dtp_vops_t *v, int alg);

/* The same in the arithmetic of other types: f64, s64, s32, s8, u8, boolean. Integers wrap;
 * division rounds towards zero, and division by 0 gives 0. NULL: the type has no such function. */
typedef struct {
    dtp_eltwise_fn_t eltwise[DTP_EW_NUNARY];
    dtp_binary_fn_t binary[DTP_EW_NBINARY];
} dtp_exact_t;
const dtp_exact_t *dtp_exact(unsigned isa, dnnl_tp_data_type_t dt);

#endif
