/* Implementations of softmax on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) \
    X(softmax__avx512) X(softmax_f64__avx512) X(softmax__avx2) X(softmax_f64__avx2) X(softmax__ref)
DTP_CPU_LIST(softmax, IMPLS);
