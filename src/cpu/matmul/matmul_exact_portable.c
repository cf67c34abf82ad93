/* Exact products, portable: see matmul_exact.h. */
#define EXACT_NAME dtp_exact_product__portable
#define EXACT_BYTES 16
#include "cpu/matmul/matmul_exact.inc"
