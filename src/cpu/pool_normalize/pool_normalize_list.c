/* Implementations of pooling with normalisation on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(pool_normalize__avx512) X(pool_normalize__avx2) X(pool_normalize__ref)
DTP_CPU_LIST(pool_normalize, IMPLS);
