/* Resampling kernels, portable: see resampling_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/resampling/resampling_kern.inc"
