/* Exact products, avx2: see exact_product.h. */
#define EXACT_NAME dtp_exact_product__avx2
#define EXACT_BYTES 32
#include "cpu/gemm/exact_product.inc"
