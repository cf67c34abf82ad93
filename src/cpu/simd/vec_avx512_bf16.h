/* AVX-512 vectors of f32 that become bf16 by one instruction, which makes denormals 0, and products of pairs of bf16; files
 * _avx512_bf16.c use them. Names end in __avx512_bf16. */
#ifndef DTP_CPU_SIMD_VEC_AVX512_BF16_H
#define DTP_CPU_SIMD_VEC_AVX512_BF16_H

#include "cpu/simd/vec_avx512.h"

#undef V_ISA
#define V_ISA(name) name##__avx512_bf16

#define v_to_bf16 v_to_bf16_native
#define v_to_bf16_n v_to_bf16_n_native

/* ---- Pairs of bf16 in lanes of 32 bits --------------------------------------------------------------- */

typedef float __attribute__((aligned(2), may_alias)) v_pair_t; /* aligned as one of them */

#define V_HAS_PAIRS 1
/* One pair in all lanes. */
V_INLINE vf v_set1_pair(const void *p) { return v_set1(*(const v_pair_t *)p); }
/* One element, beside 0. */
V_INLINE vf v_set1_low(const void *p) {
    return _mm512_castsi512_ps(_mm512_maskz_set1_epi16(0x55555555, *(const int16_t *)p));
}
/* c += a.low * b.low + a.high * b.high, denormals count as 0. In place, or the compiler copies sums first. */
V_INLINE void v_dot2(vf *c, vf a, vf b) {
#ifdef __clang__
    *c = _mm512_dpbf16_ps(*c, (__m512bh)a, (__m512bh)b);
#else
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(*c) : "v"(a), "v"(b));
#endif
}
/* v_dot2 of the pair at a and b, the broadcast being part of the instruction. */
V_INLINE void v_dot2_at(vf *c, const void *a, vf b) {
#ifdef __clang__
    v_dot2(c, v_set1_pair(a), b);
#else
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(*c) : "v"(b), "m"(*(const v_pair_t *)a));
#endif
}
/* Elements, each the lower one of a pair whose upper one is 0; n < VL of them. */
V_INLINE vf v_low_pairs(const void *p) {
    return _mm512_castsi512_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}
V_INLINE vf v_low_pairs_n(const void *p, int64_t n) {
    return _mm512_castsi512_ps(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(v_first(n), p)));
}
/* The lower elements of pairs, beside 0. */
V_INLINE vf v_low_halves(const void *p) {
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(0x55555555, p));
}

#endif
