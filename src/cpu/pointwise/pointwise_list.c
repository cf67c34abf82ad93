/* Implementations of functions of graphs, element by element, on the CPU. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(pointwise__any)
DTP_CPU_LIST(pointwise, IMPLS);
