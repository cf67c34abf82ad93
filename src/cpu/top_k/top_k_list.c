/* Implementations of top-k on the CPU. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(top_k__any)
DTP_CPU_LIST(top_k, IMPLS);
