/* Resampling kernels, avx512_bf16: see resampling_kern.h. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/resampling/resampling_kern.inc"
