/* Depthwise convolution kernels, portable: see depthwise_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/convolution/depthwise_kern.inc"
