/* Exact products, avx512: see exact_product.h. */
#include <immintrin.h>

#define EXACT_NAME dtp_exact_product__avx512
#define EXACT_BYTES 64
#define EXACT_ADD(x, y, s) _mm512_fmadd_pd(_mm512_set1_pd(x), y, s)
#include "cpu/gemm/exact_product.inc"
