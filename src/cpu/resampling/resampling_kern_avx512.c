/* Resampling kernels, avx512: see resampling_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/resampling/resampling_kern.inc"
