/* Kernels of local response normalization, avx512_bf16: see lrn_kern.h. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/lrn/lrn_kern.inc"
