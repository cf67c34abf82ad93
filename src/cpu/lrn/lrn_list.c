/* Implementations of local response normalization on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(lrn__avx512) X(lrn__avx2) X(lrn__any) X(lrn__ref)
DTP_CPU_LIST(lrn, IMPLS);
