/* Fused binary operations, avx512: see fused.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/elementwise/fused_kern.inc"
