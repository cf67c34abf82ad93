/* Implementations of functions of graphs, element by element, on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(pointwise__avx512) X(pointwise__avx2) X(pointwise__any) X(pointwise__ref)
DTP_CPU_LIST(pointwise, IMPLS);
