/* Exact products, portable: see exact_product.h. */
#define EXACT_NAME dtp_exact_product__portable
#define EXACT_BYTES 16
#include "cpu/gemm/exact_product.inc"
