/* AVX-512 vectors of f32 that become bf16 by one instruction, which makes denormals 0; files _avx512_bf16.c use them.
 * Names end in __avx512_bf16. */
#ifndef DTP_CPU_SIMD_VEC_AVX512_BF16_H
#define DTP_CPU_SIMD_VEC_AVX512_BF16_H

#include "cpu/simd/vec_avx512.h"

#undef V_ISA
#define V_ISA(name) name##__avx512_bf16

V_INLINE void v_to_bf16_native(void *p, vf x) {
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtneps_pbh(x));
}
#define v_to_bf16 v_to_bf16_native

#endif
