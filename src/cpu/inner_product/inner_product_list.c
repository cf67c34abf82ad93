/* Implementations of inner_product on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)                  \
    X(inner_product__avx512_bf16) \
    X(inner_product__avx512) X(inner_product__avx2) X(inner_product__any) X(inner_product__ref)
DTP_CPU_LIST(inner_product, IMPLS);
