/* Kernels of local response normalization, avx512: see lrn_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/lrn/lrn_kern.inc"
