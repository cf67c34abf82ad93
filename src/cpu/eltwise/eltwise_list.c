/* Implementations of element-wise operations on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)       \
    X(eltwise__avx512) \
    X(eltwise__avx2) X(eltwise_exact__avx512) X(eltwise_exact__avx2) X(eltwise_exact__any) X(eltwise__ref)
DTP_CPU_LIST(eltwise, IMPLS);
