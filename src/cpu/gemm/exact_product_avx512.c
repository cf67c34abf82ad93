/* Exact products, avx512: see exact_product.h. */
#include <immintrin.h>
#include <stddef.h>

typedef __m512i exact_bits_t;
/* The first n elements of 4 or 8 bytes of p, then those of rest. */
static inline __m512i exact_some(__m512i rest, const void *p, int n, size_t size) {
    return size == 8 ? _mm512_mask_loadu_epi64(rest, (__mmask8)((1u << n) - 1), p)
                     : _mm512_mask_loadu_epi32(rest, (__mmask16)((1u << n) - 1), p);
}
static inline void exact_put(void *p, __m512i x, int n, size_t size) {
    if (size == 8) _mm512_mask_storeu_epi64(p, (__mmask8)((1u << n) - 1), x);
    else _mm512_mask_storeu_epi32(p, (__mmask16)((1u << n) - 1), x);
}

#define EXACT_NAME dtp_exact_product__avx512
#define EXACT_BYTES 64
#define EXACT_ADD(x, y, s) _mm512_fmadd_pd(_mm512_set1_pd(x), y, s)
#include "cpu/gemm/exact_product.inc"
