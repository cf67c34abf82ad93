/* Fused binary operations, AVX-512 with bf16 conversions by one instruction (denormals become 0): see
 * fused.h. */
#include "cpu/simd/vec_avx512.h"

#undef V_ISA
#define V_ISA(name) name##__avx512_bf16

V_INLINE void v_to_bf16_native(void *p, vf x) {
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtneps_pbh(x));
}
#define v_to_bf16 v_to_bf16_native

#include "cpu/elementwise/fused_kern.inc"

#undef v_to_bf16
