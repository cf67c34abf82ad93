/* Implementations of running sums on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(cumsum__any) X(cumsum__ref)
DTP_CPU_LIST(cumsum, IMPLS);
