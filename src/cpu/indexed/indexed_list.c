/* Implementations of gathers and scatters on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(indexed__avx512) X(indexed__avx2) X(indexed__any) X(indexed__ref)
DTP_CPU_LIST(indexed, IMPLS);
