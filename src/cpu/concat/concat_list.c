/* Implementations of concat on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(concat__avx512) X(concat__avx2) X(concat__any) X(concat__ref)
DTP_CPU_LIST(concat, IMPLS);
