/* Depthwise convolution kernels, avx2: see depthwise_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/convolution/depthwise_kern.inc"
