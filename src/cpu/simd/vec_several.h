/* Operations on several vectors: bytes for the lanes of four, pairs of bf16. Include it after
 * vec_*.h. */
#ifndef DTP_CPU_SIMD_VEC_SEVERAL_H
#define DTP_CPU_SIMD_VEC_SEVERAL_H

#include <stdint.h>

/* Keeps v in a register, so that it is read once. Else the compiler makes it a memory operand of
 * each use. */
V_INLINE vf v_held(vf v) {
#ifdef __AVX__
    __asm__("" : "+v"(v));
#endif
    return v;
}

/* Keeps the order of reads before it and after it. The compiler's own order hides from the
 * processor that a row is read from its begin to its end, so the processor would prefetch less. */
V_INLINE void v_in_order(void) { __asm__ volatile("" ::: "memory"); }

/* v_larger: the greater of x and acc, if `larger` is v_lt(acc, x); with a NaN it is acc. vb4: a
 * byte for each lane of four vectors, in any order; v_sel_b4: a in the lanes of m[0] to m[3], b in
 * the others; v_store_b4: in the order of the lanes; v_least_b4: the lesser of a and b, unsigned,
 * in the lanes of m[0] to m[3], b in the others; v_add_b4: sums, at most 255. v_before: the last
 * lane of a, then b without its last one; v_behind: a without its first lane, then the first one of
 * b. v_bits: the mask whose lane i is bit i; v_load_where: reads the lanes of m; the others are 0.
 * v_put_flags4: as v_put_flags of four vectors. v_pair_bf16: of 2 * VL elements those with even and
 * with odd numbers; v_zip joins them again. */
#if VL == 16
V_INLINE vf v_larger(vm larger, vf x, vf acc) { return v_sel(larger, x, acc); }
typedef struct {
    __m128i at[4];
} vb4;
V_INLINE vb4 v_set1_b4(int x) {
    const __m128i at = _mm_set1_epi8((char)x);
    return (vb4){{at, at, at, at}};
}
V_INLINE vb4 v_sel_b4(const vm *m, vb4 a, vb4 b) {
    return (vb4){{_mm_mask_mov_epi8(b.at[0], m[0], a.at[0]), _mm_mask_mov_epi8(b.at[1], m[1], a.at[1]),
                  _mm_mask_mov_epi8(b.at[2], m[2], a.at[2]), _mm_mask_mov_epi8(b.at[3], m[3], a.at[3])}};
}
V_INLINE void v_store_b4(uint8_t *p, vb4 x) {
    for (int i = 0; i < 4; ++i) _mm_storeu_si128((__m128i *)(void *)(p + 16 * i), x.at[i]);
}
V_INLINE vb4 v_least_b4(const vm *m, vb4 a, vb4 b) {
    return (vb4){{_mm_mask_min_epu8(b.at[0], m[0], a.at[0], b.at[0]),
                  _mm_mask_min_epu8(b.at[1], m[1], a.at[1], b.at[1]),
                  _mm_mask_min_epu8(b.at[2], m[2], a.at[2], b.at[2]),
                  _mm_mask_min_epu8(b.at[3], m[3], a.at[3], b.at[3])}};
}
V_INLINE vb4 v_add_b4(vb4 a, vb4 b) {
    return (vb4){{_mm_adds_epu8(a.at[0], b.at[0]), _mm_adds_epu8(a.at[1], b.at[1]),
                  _mm_adds_epu8(a.at[2], b.at[2]), _mm_adds_epu8(a.at[3], b.at[3])}};
}
V_INLINE vf v_before(vf a, vf b) {
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), 15));
}
V_INLINE vf v_behind(vf a, vf b) {
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), 1));
}
V_INLINE vm v_bits(uint32_t bits) { return (vm)bits; }
V_INLINE vf v_load_where(vm m, const float *p) { return _mm512_maskz_loadu_ps(m, p); }
V_INLINE void v_put_flags4(uint8_t *p, const vm *m) {
    const __mmask64 low = _mm512_kunpackw(m[1], m[0]), high = _mm512_kunpackw(m[3], m[2]);
    _mm512_storeu_si512(p, _mm512_maskz_set1_epi8(_mm512_kunpackd(high, low), 1));
}
V_INLINE void v_pair_bf16(const void *p, vf *even, vf *odd) {
    const __m512i x = _mm512_loadu_si512(p);
    *even = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
    *odd = _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)));
}
V_INLINE void v_zip(vf *even, vf *odd) {
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const vf high = _mm512_permutex2var_ps(*even, _mm512_add_epi32(low, _mm512_set1_epi32(8)), *odd);
    *even = _mm512_permutex2var_ps(*even, low, *odd);
    *odd = high;
}
#elif VL == 8
V_INLINE vf v_larger(vm larger, vf x, vf acc) {
    (void)larger;
    return v_max(x, acc);
}
/* In the order that pack instructions leave: four lanes of each vector, then the other four of
 * each. */
typedef __m256i vb4;
V_INLINE vb4 v_set1_b4(int x) { return _mm256_set1_epi8((char)x); }
V_INLINE vb4 v_sel_b4(const vm *m, vb4 a, vb4 b) {
    const __m256i low = _mm256_packs_epi32(_mm256_castps_si256(m[0]), _mm256_castps_si256(m[1]));
    const __m256i high = _mm256_packs_epi32(_mm256_castps_si256(m[2]), _mm256_castps_si256(m[3]));
    return _mm256_blendv_epi8(b, a, _mm256_packs_epi16(low, high));
}
V_INLINE void v_store_b4(uint8_t *p, vb4 x) { v_put(p, v_bytes_in_order(x), 0); }
V_INLINE vb4 v_least_b4(const vm *m, vb4 a, vb4 b) { return v_sel_b4(m, _mm256_min_epu8(a, b), b); }
V_INLINE vb4 v_add_b4(vb4 a, vb4 b) { return _mm256_adds_epu8(a, b); }
V_INLINE vf v_before(vf a, vf b) {
    const __m256i x = _mm256_castps_si256(_mm256_permute2f128_ps(a, b, 0x21));
    return _mm256_castsi256_ps(_mm256_alignr_epi8(_mm256_castps_si256(b), x, 12));
}
V_INLINE vf v_behind(vf a, vf b) {
    const __m256i x = _mm256_castps_si256(_mm256_permute2f128_ps(a, b, 0x21));
    return _mm256_castsi256_ps(_mm256_alignr_epi8(x, _mm256_castps_si256(a), 4));
}
V_INLINE vm v_bits(uint32_t bits) {
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each));
}
V_INLINE vf v_load_where(vm m, const float *p) { return _mm256_maskload_ps(p, _mm256_castps_si256(m)); }
V_INLINE void v_put_flags4(uint8_t *p, const vm *m) {
    v_store_b4(p, v_sel_b4(m, v_set1_b4(1), v_set1_b4(0)));
}
V_INLINE void v_pair_bf16(const void *p, vf *even, vf *odd) {
    const __m256i x = _mm256_loadu_si256((const __m256i *)p);
    *even = _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
    *odd = _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000)));
}
V_INLINE void v_zip(vf *even, vf *odd) {
    const vf low = _mm256_unpacklo_ps(*even, *odd), high = _mm256_unpackhi_ps(*even, *odd);
    *even = _mm256_permute2f128_ps(low, high, 0x20);
    *odd = _mm256_permute2f128_ps(low, high, 0x31);
}
#else
V_INLINE vf v_larger(vm larger, vf x, vf acc) { return larger ? x : acc; }
typedef struct {
    uint8_t at[4];
} vb4;
V_INLINE vb4 v_set1_b4(int x) { return (vb4){{(uint8_t)x, (uint8_t)x, (uint8_t)x, (uint8_t)x}}; }
V_INLINE vb4 v_sel_b4(const vm *m, vb4 a, vb4 b) {
    for (int i = 0; i < 4; ++i)
        if (m[i]) b.at[i] = a.at[i];
    return b;
}
V_INLINE void v_store_b4(uint8_t *p, vb4 x) {
    for (int i = 0; i < 4; ++i) p[i] = x.at[i];
}
V_INLINE vb4 v_least_b4(const vm *m, vb4 a, vb4 b) {
    for (int i = 0; i < 4; ++i)
        if (m[i] && a.at[i] < b.at[i]) b.at[i] = a.at[i];
    return b;
}
V_INLINE vb4 v_add_b4(vb4 a, vb4 b) {
    for (int i = 0; i < 4; ++i) a.at[i] = (uint8_t)(a.at[i] + b.at[i] < 255 ? a.at[i] + b.at[i] : 255);
    return a;
}
V_INLINE vf v_before(vf a, vf b) {
    (void)b;
    return a;
}
V_INLINE vf v_behind(vf a, vf b) {
    (void)a;
    return b;
}
V_INLINE vm v_bits(uint32_t bits) { return (vm)(bits & 1); }
V_INLINE vf v_load_where(vm m, const float *p) { return m ? *p : 0.f; }
V_INLINE void v_put_flags4(uint8_t *p, const vm *m) {
    v_store_b4(p, v_sel_b4(m, v_set1_b4(1), v_set1_b4(0)));
}
V_INLINE void v_pair_bf16(const void *p, vf *even, vf *odd) {
    *even = v_from_bf16(p);
    *odd = v_from_bf16((const uint16_t *)p + 1);
}
V_INLINE void v_zip(vf *even, vf *odd) { (void)even, (void)odd; }
#endif

#endif
