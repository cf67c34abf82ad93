/* Implementations of binary on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(binary__avx512) X(binary__avx2) X(binary__any) X(binary__ref)
DTP_CPU_LIST(binary, IMPLS);
