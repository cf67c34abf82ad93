/* Fused binary operations, AVX-512 with bf16 conversions by one instruction: see fused.h. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/elementwise/fused_kern.inc"
