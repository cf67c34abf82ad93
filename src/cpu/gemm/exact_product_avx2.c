/* Exact products, avx2: see exact_product.h. */
#include <immintrin.h>
#include <stddef.h>

typedef __m256i exact_bits_t;
/* Lanes of 4 bytes: those of the first n elements of 4 or 8 bytes. */
static inline __m256i exact_mask(int n, size_t size) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n * (int)(size / 4)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/* The first n elements of p, then those of rest. */
static inline __m256i exact_some(__m256i rest, const void *p, int n, size_t size) {
    const __m256i mask = exact_mask(n, size);
    return _mm256_blendv_epi8(rest, _mm256_maskload_epi32(p, mask), mask);
}
static inline void exact_put(void *p, __m256i x, int n, size_t size) {
    _mm256_maskstore_epi32(p, exact_mask(n, size), x);
}

#define EXACT_NAME dtp_exact_product__avx2
#define EXACT_BYTES 32
#define EXACT_ADD(x, y, s) _mm256_fmadd_pd(_mm256_set1_pd(x), y, s)
#include "cpu/gemm/exact_product.inc"
