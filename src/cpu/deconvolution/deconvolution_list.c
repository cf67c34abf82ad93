/* Implementations of deconvolution on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X)                       \
    X(deconvolution_depthwise__avx512) \
    X(deconvolution_boxes__avx512)     \
    X(deconvolution__avx512_bf16)      \
    X(deconvolution__avx512)           \
    X(deconvolution_depthwise__avx2)   \
    X(deconvolution_boxes__avx2)       \
    X(deconvolution__avx2)             \
    X(deconvolution_depthwise__any)    \
    X(deconvolution_boxes__any)        \
    X(deconvolution__any)              \
    X(deconvolution_exact__avx512)     \
    X(deconvolution_exact__avx2) X(deconvolution_exact__any) X(deconvolution__ref)
DTP_CPU_LIST(deconvolution, IMPLS);
