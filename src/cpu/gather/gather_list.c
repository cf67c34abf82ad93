/* Implementations of gather on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(gather__avx512) X(gather__avx2) X(gather__ref)
DTP_CPU_LIST(gather, IMPLS);
