/* Implementations of convolution on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)                     \
    X(convolution_winograd__avx512)  \
    X(convolution_winograd__avx2)    \
    X(convolution_winograd__any)     \
    X(convolution_depthwise__avx512) \
    X(convolution__avx512_bf16)      \
    X(convolution__avx512)           \
    X(convolution_depthwise__avx2)   \
    X(convolution__avx2)             \
    X(convolution_depthwise__any)    \
    X(convolution__any)              \
    X(convolution_exact__avx512) X(convolution_exact__avx2) X(convolution_exact__any) X(convolution__ref)
DTP_CPU_LIST(convolution, IMPLS);
