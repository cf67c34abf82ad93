/* AVX2 with FMA and F16C: vectors of f32 under the names of vec_avx512.h, which describes each. */
#ifndef DTP_CPU_SIMD_VEC_H
#define DTP_CPU_SIMD_VEC_H

#include <immintrin.h>
#include <stdint.h>

#define V_INLINE static inline __attribute__((always_inline))
#define V_ISA(name) name##__avx2
#define VL 8
#define V_NREGS 16
#define V_EXP_MIN -88.f
#define V_NORMAL_MAX 13.26f
#define V_WHOLE 12582912.f
/* The same, but plus 127: shifted by 23, the bits are those of the power of 2. */
#define V_POWER 12583039.f
#define V_HAS_TABLE32 0
typedef __m256 vf;
typedef __m256 vm;

V_INLINE vf v_set1(float x) { return _mm256_set1_ps(x); }
V_INLINE vf v_zero(void) { return _mm256_setzero_ps(); }
V_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
V_INLINE void v_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
V_INLINE void v_stream(float *p, vf x) { _mm256_stream_ps(p, x); }
V_INLINE void v_fence(void) { _mm_sfence(); }
V_INLINE __m256i v_first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
V_INLINE vf v_load_n(const float *p, int64_t n) { return _mm256_maskload_ps(p, v_first(n)); }
V_INLINE vf v_load_like(const float *p, int64_t n) {
    return _mm256_blendv_ps(v_set1(*p), v_load_n(p, n), _mm256_castsi256_ps(v_first(n)));
}
V_INLINE void v_store_n(float *p, vf x, int64_t n) { _mm256_maskstore_ps(p, v_first(n), x); }
V_INLINE vf v_keep_n(vf x, int64_t n) { return _mm256_and_ps(x, _mm256_castsi256_ps(v_first(n))); }
V_INLINE vf v_evens(const float *p) {
    vf x = _mm256_shuffle_ps(v_load(p), v_load(p + 8), 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}
V_INLINE vf v_pick(vf lo, vf hi, const int32_t *index, vf none) {
    const __m256i i = _mm256_loadu_si256((const __m256i *)index);
    /* bit 3 in the sign's place */
    const __m256 high = _mm256_castsi256_ps(_mm256_slli_epi32(i, 28));
    vf x = _mm256_blendv_ps(_mm256_permutevar8x32_ps(lo, i), _mm256_permutevar8x32_ps(hi, i), high);
    return _mm256_blendv_ps(x, none, _mm256_castsi256_ps(i));
}
V_INLINE vf v_pick4(const vf *x, const int32_t *index, vf none) {
    const __m256i i = _mm256_loadu_si256((const __m256i *)index);
    /* bit 4 in the sign's place */
    const __m256 high = _mm256_castsi256_ps(_mm256_slli_epi32(i, 27));
    const vf y = _mm256_blendv_ps(v_pick(x[0], x[1], index, none), v_pick(x[2], x[3], index, none), high);
    return _mm256_blendv_ps(y, none, _mm256_castsi256_ps(i));
}
V_INLINE vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
V_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
V_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
/* All bits set are a NaN. */
V_INLINE vf v_minimum(vf a, vf b) {
    return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
V_INLINE vf v_maximum(vf a, vf b) {
    return _mm256_or_ps(_mm256_max_ps(a, b), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
V_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
V_INLINE vf v_within(vf x, float most) { return v_max(v_set1(-most), v_min(v_set1(most), x)); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
V_INLINE vf v_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
V_INLINE vf v_fms(vf a, vf b, vf c) { return _mm256_fmsub_ps(a, b, c); }
V_INLINE vf v_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), a); }
V_INLINE vf v_neg(vf a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.f)); }
V_INLINE vf v_xorsign(vf x, vf s) { return _mm256_xor_ps(x, _mm256_and_ps(s, _mm256_set1_ps(-0.f))); }
V_INLINE vf v_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* 2^(t - V_POWER), -127..128. */
V_INLINE vf v_power2(vf t) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23)); }
V_INLINE vf v_scale2(vf p, vf n) {
    const vf low = _mm256_cmp_ps(n, v_set1(-125.f), _CMP_LT_OQ);
    const vf k = _mm256_min_ps(v_add(n, _mm256_and_ps(low, v_set1(149.f))), v_set1(129.f));
    /* 2p times 2^(k - 1), a normal number or inf. */
    const vf y = v_mul(v_add(p, p), v_power2(v_add(k, v_set1(V_POWER - 1.f))));
    if (__builtin_expect(!_mm256_movemask_ps(low), 1)) return y;
    const __m256i bits = _mm256_cvtps_epi32(_mm256_and_ps(low, y));
    return _mm256_blendv_ps(y, _mm256_castsi256_ps(bits), low);
}
V_INLINE vf v_scale2_near(vf p, vf n) { return v_mul(p, v_power2(v_add(n, v_set1(V_POWER)))); }
V_INLINE vf v_fraction(vf x, vf *n) {
    x = v_max(v_set1(-127.f), v_min(v_set1(128.f), x));
    *n = _mm256_floor_ps(x);
    return v_sub(x, *n);
}
V_INLINE vm v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
V_INLINE vm v_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
V_INLINE vm v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
V_INLINE vm v_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
V_INLINE vm v_nan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
V_INLINE vm v_or(vm a, vm b) { return _mm256_or_ps(a, b); }
V_INLINE int v_any(vm m) { return _mm256_movemask_ps(m) != 0; }
V_INLINE vf v_sel(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
V_INLINE vf v_mul_where(vm m, vf a, vf b, vf c) {
    return v_sel(m, v_mul(_mm256_and_ps(m, a), _mm256_and_ps(m, b)), c);
}
V_INLINE vm v_not_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NLE_UQ); }
V_INLINE vf v_keep(vm m, vf a) { return _mm256_and_ps(m, a); }
#include "cpu/simd/vec_exp_split.h"
V_INLINE float v_hsum(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
V_INLINE float v_hmax(vf a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
#define V_HAS_FOUR 1
#define V_HALF(op, x) op(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))
#define V_FOLD4(op)                                                                                    \
    __m128 r0 = V_HALF(op, a[0]), r1 = V_HALF(op, a[1]), r2 = V_HALF(op, a[2]), r3 = V_HALF(op, a[3]); \
    r0 = op(_mm_movelh_ps(r0, r1), _mm_movehl_ps(r1, r0));                                             \
    r2 = op(_mm_movelh_ps(r2, r3), _mm_movehl_ps(r3, r2));                                             \
    r0 = op(_mm_shuffle_ps(r0, r2, 0x88), _mm_shuffle_ps(r0, r2, 0xdd));                               \
    return _mm256_set_m128(r0, r0)
V_INLINE vf v_hsum4(const vf *a) { V_FOLD4(_mm_add_ps); }
V_INLINE vf v_hmax4(const vf *a) { V_FOLD4(_mm_max_ps); }
#undef V_FOLD4
#undef V_HALF
V_INLINE vf v_four_get(vf x, const int r) {
    return r == 0   ? _mm256_permute_ps(x, 0x00)
           : r == 1 ? _mm256_permute_ps(x, 0x55)
           : r == 2 ? _mm256_permute_ps(x, 0xaa)
                    : _mm256_permute_ps(x, 0xff);
}
V_INLINE void v_four_store(float *p, vf x) { _mm_storeu_ps(p, _mm256_castps256_ps128(x)); }
V_INLINE void v_four_add(float *p, vf x) {
    _mm_storeu_ps(p, _mm_add_ps(_mm_loadu_ps(p), _mm256_castps256_ps128(x)));
}
V_INLINE vf v_recip(vf b) { return _mm256_div_ps(_mm256_set1_ps(1.f), b); }
V_INLINE vf v_rsqrt(vf x) {
    const vf r = _mm256_rsqrt_ps(x);
    return v_mul(r, v_fnma(v_mul(v_mul(x, v_set1(.5f)), r), r, v_set1(1.5f)));
}
V_INLINE vf v_quot(vf a, vf b) { return _mm256_div_ps(a, b); }
V_INLINE vf v_split(vf x, vf *e) {
    /* Denormals are scaled up first. */
    vm small = v_lt(x, v_set1(1.17549435e-38f));
    x = v_sel(small, v_mul(v_min(x, v_set1(1.f)), v_set1(8388608.f)), x);
    __m256i u = _mm256_castps_si256(x);
    vf k = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(u, 23), _mm256_set1_epi32(127)));
    *e = v_sub(k, _mm256_and_ps(small, v_set1(23.f)));
    u = _mm256_or_si256(_mm256_and_si256(u, _mm256_set1_epi32(0x7fffff)), _mm256_set1_epi32(0x3f800000));
    return _mm256_castsi256_ps(u);
}
V_INLINE vf v_log_special(vf x, vf y) {
    vf inf = v_set1(__builtin_inff());
    y = v_sel(v_eq(x, v_zero()), v_neg(inf), y);
    y = v_sel(v_eq(x, inf), inf, y);
    return v_sel(_mm256_cmp_ps(x, v_zero(), _CMP_NGE_UQ), v_set1(__builtin_nanf("")), y);
}

V_INLINE void v_transpose(vf *a) {
    vf b[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        b[2 * i] = _mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
        a[4 * i] = _mm256_shuffle_ps(b[4 * i], b[4 * i + 2], 0x44);
        a[4 * i + 1] = _mm256_shuffle_ps(b[4 * i], b[4 * i + 2], 0xee);
        a[4 * i + 2] = _mm256_shuffle_ps(b[4 * i + 1], b[4 * i + 3], 0x44);
        a[4 * i + 3] = _mm256_shuffle_ps(b[4 * i + 1], b[4 * i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        b[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
        a[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
        a[i] = b[i];
    }
}

/* ---- Conversions ------------------------------------------------------------------------------------- */
V_INLINE vf v_from_f16(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
V_INLINE vf v_from_bf16(const void *p) {
    __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}
/* n <= VL elements of two bytes, without a call. */
V_INLINE void v_copy2_n(char *to, const char *from, int64_t n) {
    if (n & 8) {
        __builtin_memcpy(to, from, 16);
        return;
    }
    const int64_t at2 = 2 * (n & 4), at1 = 2 * (n & 6);
    if (n & 4) __builtin_memcpy(to, from, 8);
    if (n & 2) __builtin_memcpy(to + at2, from + at2, 4);
    if (n & 1) __builtin_memcpy(to + at1, from + at1, 2);
}
/* n elements, 0 in the other lanes. */
V_INLINE vf v_from_bf16_n(const void *p, int64_t n) {
    __m128i room = _mm_setzero_si128();
    v_copy2_n((char *)&room, (const char *)p, n);
    return v_from_bf16(&room);
}
V_INLINE vf v_from_s32(const void *p) { return _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)p)); }
V_INLINE vf v_from_s8(const void *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
V_INLINE vf v_from_u8(const void *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
V_INLINE void v_put(void *p, __m256i x, int stream) {
    if (stream) _mm256_stream_si256((__m256i *)p, x);
    else _mm256_storeu_si256((__m256i *)p, x);
}
/* Lanes of 32 bits that hold the result. */
V_INLINE __m256i v_bf16_bits(vf x) {
    __m256i u = _mm256_castps_si256(x), h = _mm256_srli_epi32(u, 16),
            odd = _mm256_and_si256(h, _mm256_set1_epi32(1));
    __m256i r = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7fff)), 16);
    return _mm256_blendv_epi8(r, _mm256_or_si256(h, _mm256_set1_epi32(0x40)), _mm256_castps_si256(v_nan(x)));
}
V_INLINE __m256i v_to_int(vf x, float lo, float hi) {
    const vf y = v_max(v_set1(lo), v_min(x, v_set1(hi)));
    return _mm256_cvtps_epi32(_mm256_and_ps(y, _mm256_cmp_ps(x, x, _CMP_ORD_Q)));
}
V_INLINE __m256i v_s32_bits(vf x) {
    return _mm256_blendv_epi8(v_to_int(x, -2147483648.f, 2147483520.f), _mm256_set1_epi32(INT32_MAX),
                              _mm256_castps_si256(v_le(v_set1(2147483648.f), x)));
}
V_INLINE void v_to_f16(void *p, vf x) { _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, 0)); }
V_INLINE void v_to_bf16(void *p, vf x) {
    __m256i y = v_bf16_bits(x);
    _mm_storeu_si128((__m128i *)p,
                     _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
}
V_INLINE void v_to_bf16_n(void *p, vf x, int64_t n) {
    __m128i room;
    v_to_bf16(&room, x);
    v_copy2_n((char *)p, (const char *)&room, n);
}
/* Of numbers that bf16 holds: nothing is rounded. */
V_INLINE void v_put_bf16(void *p, vf x) {
    const __m256i y = _mm256_srli_epi32(_mm256_castps_si256(x), 16);
    _mm_storeu_si128((__m128i *)p,
                     _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
}
V_INLINE void v_put_bf16_n(void *p, vf x, int64_t n) {
    __m128i room;
    v_put_bf16(&room, x);
    v_copy2_n((char *)p, (const char *)&room, n);
}
V_INLINE void v_to_s32(void *p, vf x) { _mm256_storeu_si256((__m256i *)p, v_s32_bits(x)); }
V_INLINE __m128i v_words(__m256i y) {
    return _mm_packs_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
}
V_INLINE void v_to_s8(void *p, vf x) {
    __m128i w = v_words(v_to_int(x, -128.f, 127.f));
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(w, w));
}
V_INLINE void v_to_u8(void *p, vf x) {
    __m128i w = v_words(v_to_int(x, 0.f, 255.f));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(w, w));
}

V_INLINE void v_put_flags(uint8_t *p, vm m) {
    const __m256i x = _mm256_castps_si256(m);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64((__m128i *)(void *)p, _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1)));
}
V_INLINE void v_to4_f32(char *p, const vf *x, int stream) {
    for (int i = 0; i < 4; ++i) v_put(p + 32 * i, _mm256_castps_si256(x[i]), stream);
}
V_INLINE void v_to4_s32(char *p, const vf *x, int stream) {
    for (int i = 0; i < 4; ++i) v_put(p + 32 * i, v_s32_bits(x[i]), stream);
}
V_INLINE void v_to4_f16(char *p, const vf *x, int stream) {
    for (int i = 0; i < 2; ++i)
        v_put(p + 32 * i, _mm256_set_m128i(_mm256_cvtps_ph(x[2 * i + 1], 0), _mm256_cvtps_ph(x[2 * i], 0)),
              stream);
}
V_INLINE void v_to4_bf16(char *p, const vf *x, int stream) {
    for (int i = 0; i < 2; ++i) {
        __m256i y = _mm256_packus_epi32(v_bf16_bits(x[2 * i]), v_bf16_bits(x[2 * i + 1]));
        v_put(p + 32 * i, _mm256_permute4x64_epi64(y, 0xd8), stream);
    }
}
V_INLINE __m256i v_bytes_in_order(__m256i x) {
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
V_INLINE void v_to4_s8(char *p, const vf *x, int stream) {
    __m256i a = _mm256_packs_epi32(v_to_int(x[0], -128.f, 127.f), v_to_int(x[1], -128.f, 127.f));
    __m256i b = _mm256_packs_epi32(v_to_int(x[2], -128.f, 127.f), v_to_int(x[3], -128.f, 127.f));
    v_put(p, v_bytes_in_order(_mm256_packs_epi16(a, b)), stream);
}
V_INLINE void v_to4_u8(char *p, const vf *x, int stream) {
    __m256i a = _mm256_packs_epi32(v_to_int(x[0], 0.f, 255.f), v_to_int(x[1], 0.f, 255.f));
    __m256i b = _mm256_packs_epi32(v_to_int(x[2], 0.f, 255.f), v_to_int(x[3], 0.f, 255.f));
    v_put(p, v_bytes_in_order(_mm256_packus_epi16(a, b)), stream);
}

#endif
