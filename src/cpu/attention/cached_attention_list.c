/* Implementations of attention over a cache on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(cached_attention__avx512) X(cached_attention__avx2) X(cached_attention__ref)
DTP_CPU_LIST(cached_attention, IMPLS);
