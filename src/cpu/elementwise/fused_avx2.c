/* Fused binary operations, avx2: see fused.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/elementwise/fused_kern.inc"
