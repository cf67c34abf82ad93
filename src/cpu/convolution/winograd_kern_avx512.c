/* Transforms of Winograd convolutions, avx512: see winograd_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/convolution/winograd_kern.inc"
