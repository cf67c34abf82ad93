/* Exact products, avx512: see matmul_exact.h. */
#define EXACT_NAME dtp_exact_product__avx512
#define EXACT_BYTES 64
#include "cpu/matmul/matmul_exact.inc"
