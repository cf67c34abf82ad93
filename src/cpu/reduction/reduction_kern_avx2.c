/* Reduction kernels, avx2: see reduction_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/reduction/reduction_kern.inc"
