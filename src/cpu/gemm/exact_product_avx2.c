/* Exact products, avx2: see exact_product.h. */
#include <immintrin.h>

#define EXACT_NAME dtp_exact_product__avx2
#define EXACT_BYTES 32
#define EXACT_ADD(x, y, s) _mm256_fmadd_pd(_mm256_set1_pd(x), y, s)
#include "cpu/gemm/exact_product.inc"
