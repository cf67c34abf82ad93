/* Implementations of shuffle on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)       \
    X(shuffle__avx512) \
    X(shuffle__avx2) X(shuffle_moves__avx512) X(shuffle_moves__avx2) X(shuffle_moves__any) X(shuffle__ref)
DTP_CPU_LIST(shuffle, IMPLS);
