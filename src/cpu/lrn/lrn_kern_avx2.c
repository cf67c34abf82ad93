/* Kernels of local response normalization, avx2: see lrn_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/lrn/lrn_kern.inc"
