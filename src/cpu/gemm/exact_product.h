/* Exact products of f64, s64 and s32: the interface between drivers and kernels. */
#ifndef DTP_CPU_GEMM_EXACT_PRODUCT_H
#define DTP_CPU_GEMM_EXACT_PRODUCT_H

#include <stdint.h>

enum { DTP_EXACT_ROWS = 8 /* of dst that read a row of the weights together, at most */ };

/* dst[r * dst_row + c] += sum over i < k of a[r * a_row + i * a_k] * b[i * b_k + c * b_col], in the order of i, for r <
 * rows and c < cols. Strides in elements. With more than DTP_EXACT_ROWS rows, or columns that are not neighbours, b is
 * packed by blocks. f64 is rounded once for a product and its sum with AVX2 and AVX-512, twice otherwise. */
typedef struct {
    const char *a, *b;
    char *dst;
    int64_t rows, k, cols, a_row, a_k, b_k, b_col, dst_row;
} dtp_exact_product_block_t;
typedef void dtp_exact_product_fn_t(const dtp_exact_product_block_t *t);

typedef struct {
    dtp_exact_product_fn_t *f64, *s64, *s32; /* integers wrap */
} dtp_exact_product_fns_t;
extern const dtp_exact_product_fns_t dtp_exact_product__avx512, dtp_exact_product__avx2,
    dtp_exact_product__portable;

#endif
