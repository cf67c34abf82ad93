/* Implementations of gathers and scatters on the CPU. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(indexed__any)
DTP_CPU_LIST(indexed, IMPLS);
