/* Implementations of matmul on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)           \
    X(matmul__avx512_bf16) \
    X(matmul__avx512)      \
    X(matmul__avx2)        \
    X(matmul__any) X(matmul_exact__avx512) X(matmul_exact__avx2) X(matmul_exact__any) X(matmul__ref)
DTP_CPU_LIST(matmul, IMPLS);
