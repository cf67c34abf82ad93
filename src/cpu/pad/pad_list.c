/* Implementations of tensors with more around them on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(pad__any)
DTP_CPU_LIST(pad, IMPLS);
