/* Exact products, avx2: see matmul_exact.h. */
#define EXACT_NAME dtp_exact_product__avx2
#define EXACT_BYTES 32
#include "cpu/matmul/matmul_exact.inc"
