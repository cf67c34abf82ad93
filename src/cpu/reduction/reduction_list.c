/* Implementations of reduction on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) \
    X(reduction__avx512) X(reduction__avx2) X(reduction__any) X(reduction__exact) X(reduction__ref)
DTP_CPU_LIST(reduction, IMPLS);
