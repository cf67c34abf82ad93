/* Implementations of reorder on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)       \
    X(reorder__avx512) \
    X(reorder__avx2)   \
    X(reorder__any)    \
    X(reorder_winograd__avx512) X(reorder_winograd__avx2) X(reorder_winograd__any) X(reorder__ref)
DTP_CPU_LIST(reorder, IMPLS);
