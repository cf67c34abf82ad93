/* Resampling kernels, avx2: see resampling_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/resampling/resampling_kern.inc"
