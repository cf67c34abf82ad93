/* Implementations of prelu on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(prelu__avx512) X(prelu__avx2) X(prelu__any) X(prelu__ref)
DTP_CPU_LIST(prelu, IMPLS);
