/* Reduction kernels, avx512: see reduction_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/reduction/reduction_kern.inc"
