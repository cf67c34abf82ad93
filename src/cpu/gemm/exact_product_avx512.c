/* Exact products, avx512: see exact_product.h. */
#define EXACT_NAME dtp_exact_product__avx512
#define EXACT_BYTES 64
#include "cpu/gemm/exact_product.inc"
