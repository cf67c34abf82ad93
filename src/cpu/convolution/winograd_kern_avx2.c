/* Transforms of Winograd convolutions, avx2: see winograd_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/convolution/winograd_kern.inc"
