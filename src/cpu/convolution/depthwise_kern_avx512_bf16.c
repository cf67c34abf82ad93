/* Depthwise convolution kernels, avx512_bf16: see depthwise_kern.h. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/convolution/depthwise_kern.inc"
