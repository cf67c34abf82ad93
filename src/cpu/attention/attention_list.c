/* Implementations of attention on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(attention__avx512) X(attention__avx2) X(attention__ref)
DTP_CPU_LIST(attention, IMPLS);
