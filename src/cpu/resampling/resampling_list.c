/* Implementations of resampling on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(resampling__avx512) X(resampling__avx2) X(resampling__any) X(resampling__ref)
DTP_CPU_LIST(resampling, IMPLS);
