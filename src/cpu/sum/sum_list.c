/* Implementations of sum on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(sum__avx512) X(sum__avx2) X(sum__any) X(sum__ref)
DTP_CPU_LIST(sum, IMPLS);
