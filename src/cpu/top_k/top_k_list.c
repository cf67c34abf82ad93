/* Implementations of top-k on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(top_k__avx512) X(top_k__avx2) X(top_k__any) X(top_k__ref)
DTP_CPU_LIST(top_k, IMPLS);
