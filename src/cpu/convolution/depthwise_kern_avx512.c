/* Depthwise convolution kernels, avx512: see depthwise_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/convolution/depthwise_kern.inc"
