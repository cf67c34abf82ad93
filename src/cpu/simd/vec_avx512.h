/* AVX-512 (F, BW, VL, DQ) vectors of f32 under the names that templates use. vec_avx2.h and
 * vec_portable.h offer the same names; what each must mean is said here once.
 *
 * v_min/v_max(a, b) return b when either is NaN, v_minimum/v_maximum(a, b) NaN then. Tails: *_n
 * touch only the first n < VL elements; loads fill with 0. */
#ifndef DTP_CPU_SIMD_VEC_H
#define DTP_CPU_SIMD_VEC_H

#include <immintrin.h>
#include <stdint.h>

#define V_INLINE static inline __attribute__((always_inline))
#define V_ISA(name) name##__avx512
#define VL 16
#define V_NREGS 32
/* Where exp(x) has become 0 by v_scale2_where: the end of the normal numbers, as scalef takes
 * hundreds of cycles to make others on some processors. Elsewhere x is limited to this first. */
#define V_EXP_MIN -87.3365402f
#define V_NORMAL_MAX 15.f
/* Added to a number below 2^22, it leaves the nearest integer. */
#define V_WHOLE 12582912.f
#define V_HAS_TABLE32 1
typedef __m512 vf;
typedef __mmask16 vm;

V_INLINE vf v_set1(float x) { return _mm512_set1_ps(x); }
V_INLINE vf v_zero(void) { return _mm512_setzero_ps(); }
V_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
V_INLINE void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
/* p aligned to a vector. */
V_INLINE void v_stream(float *p, vf x) { _mm512_stream_ps(p, x); }
V_INLINE void v_fence(void) { _mm_sfence(); }
V_INLINE vm v_first(int64_t n) { return (vm)((1u << n) - 1u); }
V_INLINE vf v_load_n(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(v_first(n), p); }
/* The first n lanes, 1 <= n < VL; the others repeat p[0]: arithmetic raises no floating-point
 * exception there that data does not raise. */
V_INLINE vf v_load_like(const float *p, int64_t n) { return _mm512_mask_loadu_ps(v_set1(*p), v_first(n), p); }
V_INLINE void v_store_n(float *p, vf x, int64_t n) { _mm512_mask_storeu_ps(p, v_first(n), x); }
/* The first n < VL lanes, 0 in the others. */
V_INLINE vf v_keep_n(vf x, int64_t n) { return _mm512_maskz_mov_ps(v_first(n), x); }
/* p[0], p[2], ...; reads 2 * VL floats. */
V_INLINE vf v_evens(const float *p) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_ps(v_load(p), even, v_load(p + 16));
}
/* Lane index[i] of lo followed by hi; none if the index is negative. */
V_INLINE vf v_pick(vf lo, vf hi, const int32_t *index, vf none) {
    const __m512i i = _mm512_loadu_si512(index);
    return _mm512_mask_mov_ps(_mm512_permutex2var_ps(lo, i, hi), _mm512_movepi32_mask(i), none);
}
/* The same of four vectors. */
V_INLINE vf v_pick4(const vf *x, const int32_t *index, vf none) {
    const __m512i i = _mm512_loadu_si512(index);
    const vf y = _mm512_mask_mov_ps(_mm512_permutex2var_ps(x[0], i, x[1]),
                                    _mm512_test_epi32_mask(i, _mm512_set1_epi32(32)),
                                    _mm512_permutex2var_ps(x[2], i, x[3]));
    return _mm512_mask_mov_ps(y, _mm512_movepi32_mask(i), none);
}
V_INLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
V_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
V_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
V_INLINE vf v_minimum(vf a, vf b) {
    return _mm512_mask_min_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b);
}
V_INLINE vf v_maximum(vf a, vf b) {
    return _mm512_mask_max_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b);
}
V_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
/* x, limited to -most..most; what NaN gives is open. */
V_INLINE vf v_within(vf x, float most) { return _mm512_range_ps(x, v_set1(most), 2); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
/* c - a * b */
V_INLINE vf v_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
/* a * b - c */
V_INLINE vf v_fms(vf a, vf b, vf c) { return _mm512_fmsub_ps(a, b, c); }
V_INLINE vf v_abs(vf a) { return _mm512_abs_ps(a); }
V_INLINE vf v_neg(vf a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.f)); }
/* x with the sign of s xor-ed in. */
V_INLINE vf v_xorsign(vf x, vf s) { return _mm512_xor_ps(x, _mm512_and_ps(s, _mm512_set1_ps(-0.f))); }
/* To nearest even, any magnitude. */
V_INLINE vf v_round(vf a) { return _mm512_roundscale_ps(a, 8); }
/* p * 2^n for integral n, over- and underflow as in exact arithmetic (denormals rounded); p in
 * 0.5..2, n >= -160. Processors take 150 cycles to make denormal numbers, so their bits are made as
 * integers. */
V_INLINE vf v_scale2(vf p, vf n) {
    const vm low = _mm512_cmp_ps_mask(n, v_set1(-125.f), _CMP_LT_OQ);
    if (__builtin_expect(low, 0)) n = _mm512_mask_add_ps(n, low, n, v_set1(149.f));
    const vf y = _mm512_scalef_ps(p, n);
    if (__builtin_expect(!low, 1)) return y;
    return _mm512_castsi512_ps(_mm512_mask_cvtps_epi32(_mm512_castps_si512(y), low, y));
}
/* z * 2^n for integral n in -252..0. */
V_INLINE vf v_scale2_down(vf z, vf n) { return _mm512_scalef_ps(z, n); }
/* p * 2^n for integral n in -127..128, where 2^-127 may count as 0 and 2^128 as infinity. */
V_INLINE vf v_scale2_near(vf p, vf n) { return _mm512_scalef_ps(p, n); }
/* The lanes where exp(x) does not count as 0. */
V_INLINE vm v_exp_lanes(vf x) { return _mm512_cmp_ps_mask(x, v_set1(V_EXP_MIN), _CMP_NLT_UQ); }
/* v_scale2_near(p, n), in other lanes than v_exp_lanes 0. */
V_INLINE vf v_scale2_where(vf p, vf n, vm lanes) { return _mm512_maskz_scalef_ps(lanes, p, n); }
/* x - n ln 2 and what stands for n, for exp(x) = v_exp_join(exp(x - n ln 2), n, *lanes); x < 88. No
 * lane raises an exception, infinities included. */
V_INLINE vf v_exp_split(vf x, vf *n, vm *lanes) {
    *lanes = v_exp_lanes(x);
    const vf whole = v_set1(V_WHOLE);
    *n = _mm512_maskz_sub_ps(*lanes, _mm512_maskz_fmadd_ps(*lanes, x, v_set1(1.44269504f), whole), whole);
    return _mm512_maskz_fnmadd_ps(*lanes, *n, v_set1(0.693147182f), x);
}
V_INLINE vf v_exp_join(vf p, vf n, vm lanes) { return v_scale2_where(p, n, lanes); }
/* x - floor(x), and n such that v_scale2_near by it is by floor(x); for infinite x the fraction is
 * 0 (or what keeps the product with 2^n right). */
V_INLINE vf v_fraction(vf x, vf *n) {
    *n = x; /* scalef takes the floor itself */
    return _mm512_reduce_ps(x, 1);
}
V_INLINE vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
V_INLINE vm v_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
V_INLINE vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
V_INLINE vm v_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
V_INLINE vm v_nan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
/* !(a <= b): true of NaN. */
V_INLINE vm v_not_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ); }
V_INLINE vm v_or(vm a, vm b) { return a | b; }
V_INLINE int v_any(vm m) { return m != 0; }
/* m ? a : b */
V_INLINE vf v_sel(vm m, vf a, vf b) { return _mm512_mask_mov_ps(b, m, a); }
/* m ? a : 0 */
V_INLINE vf v_keep(vm m, vf a) { return _mm512_maskz_mov_ps(m, a); }
/* m ? a * b : c; where c stands, nothing is multiplied: the product of data that is not asked for
 * may overflow. */
V_INLINE vf v_mul_where(vm m, vf a, vf b, vf c) { return _mm512_mask_mul_ps(c, m, a, b); }
V_INLINE float v_hsum(vf a) { return _mm512_reduce_add_ps(a); }
V_INLINE float v_hmax(vf a) { return _mm512_reduce_max_ps(a); }
/* v_hsum of four vectors at once, to the same bits; v_four_get gives number r in all lanes, what
 * happens to the result in between happens to each of the four. v_hmax4 is the same for v_hmax (but
 * for the sign of 0).
 */
#define V_HAS_FOUR 1
#define V_FOLD4(op)                                                                            \
    vf p = op(_mm512_shuffle_f32x4(a[0], a[1], 0x44), _mm512_shuffle_f32x4(a[0], a[1], 0xee)); \
    vf q = op(_mm512_shuffle_f32x4(a[2], a[3], 0x44), _mm512_shuffle_f32x4(a[2], a[3], 0xee)); \
    p = op(_mm512_shuffle_f32x4(p, q, 0x88), _mm512_shuffle_f32x4(p, q, 0xdd));                \
    p = op(p, _mm512_permute_ps(p, 0x4e));                                                     \
    return op(p, _mm512_permute_ps(p, 0xb1))
V_INLINE vf v_hsum4(const vf *a) { V_FOLD4(_mm512_add_ps); }
V_INLINE vf v_hmax4(const vf *a) { V_FOLD4(_mm512_max_ps); }
#undef V_FOLD4
V_INLINE vf v_four_get(vf x, const int r) {
    return r == 0   ? _mm512_shuffle_f32x4(x, x, 0x00)
           : r == 1 ? _mm512_shuffle_f32x4(x, x, 0x55)
           : r == 2 ? _mm512_shuffle_f32x4(x, x, 0xaa)
                    : _mm512_shuffle_f32x4(x, x, 0xff);
}
V_INLINE __m128 v_four_pack(vf x) {
    return _mm512_castps512_ps128(
        _mm512_permutexvar_ps(_mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0), x));
}
V_INLINE void v_four_store(float *p, vf x) { _mm_storeu_ps(p, v_four_pack(x)); }
/* p[r] += number r. */
V_INLINE void v_four_add(float *p, vf x) { _mm_storeu_ps(p, _mm_add_ps(_mm_loadu_ps(p), v_four_pack(x))); }
/* 1 / b to about 1 ulp, b normal and finite. */
V_INLINE vf v_recip(vf b) {
    vf r = _mm512_rcp14_ps(b);
    return v_fma(r, v_fnma(b, r, v_set1(1.f)), r);
}
/* 1 / sqrt(x) to about 4 ulp, x normal, positive and finite. */
V_INLINE vf v_rsqrt(vf x) {
    const vf r = _mm512_rsqrt14_ps(x);
    return v_mul(r, v_fnma(v_mul(v_mul(x, v_set1(.5f)), r), r, v_set1(1.5f)));
}
/* a / b to about 1 ulp, b normal and finite. */
V_INLINE vf v_quot(vf a, vf b) {
    vf r = _mm512_rcp14_ps(b);
    r = v_fma(r, v_fnma(b, r, v_set1(1.f)), r);
    vf q = v_mul(a, r);
    return v_fma(r, v_fnma(b, q, a), q);
}
/* x = 2^*e * result, result in [1, 2); negative x gives NaN, 0 gives e = -inf, inf gives e = inf.
 */
V_INLINE vf v_split(vf x, vf *e) {
    *e = _mm512_getexp_ps(x);
    return _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
}
/* Results of log that v_split cannot express; nothing here. */
V_INLINE vf v_log_special(vf x, vf y) {
    (void)x;
    return y;
}

/* 32 floats in registers, looked up by the low five bits of an integer lane. */
typedef struct {
    vf lo, hi;
} v_tab32;
V_INLINE v_tab32 v_tab32_load(const float *p) { return (v_tab32){v_load(p), v_load(p + 16)}; }
V_INLINE vf v_tab32_get(v_tab32 t, vf index_bits) {
    return _mm512_permutex2var_ps(t.lo, _mm512_castps_si512(index_bits), t.hi);
}

/* A square of VL x VL: a[i], row i, becomes column i. */
V_INLINE void v_transpose(vf *a) {
    vf b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 8; ++i) {
        b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        __m512d p0 = _mm512_castps_pd(b[4 * i]), p1 = _mm512_castps_pd(b[4 * i + 1]);
        __m512d p2 = _mm512_castps_pd(b[4 * i + 2]), p3 = _mm512_castps_pd(b[4 * i + 3]);
        a[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(p0, p2));
        a[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p0, p2));
        a[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(p1, p3));
        a[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(p1, p3));
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
        a[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xdd);
    }
}

/* ---- Conversions ------------------------------------------------------------------------------------- */
V_INLINE vf v_from_f16(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
V_INLINE vf v_from_bf16(const void *p) {
    __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}
/* n elements, 0 in the other lanes. */
V_INLINE vf v_from_bf16_n(const void *p, int64_t n) {
    __m512i x = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(v_first(n), p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}
V_INLINE vf v_from_s32(const void *p) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(p)); }
V_INLINE vf v_from_s8(const void *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
V_INLINE vf v_from_u8(const void *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
/* 64 bytes; stream: non-temporal, p aligned to a vector. */
V_INLINE void v_put(void *p, __m512i x, int stream) {
    if (stream) _mm512_stream_si512((__m512i *)p, x);
    else _mm512_storeu_si512(p, x);
}
/* Lanes of 32 bits whose upper half is the result. */
V_INLINE __m512i v_bf16_high(vf x) {
    __m512i u = _mm512_castps_si512(x),
            odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    __m512i r = _mm512_add_epi32(_mm512_add_epi32(u, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_mask_or_epi32(r, v_nan(x), u, _mm512_set1_epi32(0x400000));
}
/* Rounded, limited to lo..hi (integers that are exact in f32), so that no lane raises an exception;
 * NaN gives 0. */
V_INLINE __m512i v_to_int(vf x, float lo, float hi) {
    const vf y = v_max(v_set1(lo), v_min(x, v_set1(hi)));
    return _mm512_maskz_cvtps_epi32(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), y);
}
V_INLINE __m512i v_s32_bits(vf x) {
    __m512i y = v_to_int(x, -2147483648.f, 2147483520.f);
    return _mm512_mask_mov_epi32(y, v_le(v_set1(2147483648.f), x), _mm512_set1_epi32(INT32_MAX));
}
V_INLINE void v_to_f16(void *p, vf x) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(x, 0)); }
V_INLINE void v_to_bf16(void *p, vf x) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(v_bf16_high(x), 16)));
}
V_INLINE void v_to_bf16_n(void *p, vf x, int64_t n) {
    _mm256_mask_storeu_epi16(p, v_first(n), _mm512_cvtepi32_epi16(_mm512_srli_epi32(v_bf16_high(x), 16)));
}
/* By the instruction of AVX512-BF16, which makes denormals 0: only where the processor has it. */
V_INLINE __m256i v_bf16_native(vf x) {
    __m256i y;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
    return y;
}
V_INLINE void v_to_bf16_native(void *p, vf x) { _mm256_storeu_si256((__m256i *)p, v_bf16_native(x)); }
V_INLINE void v_to_bf16_n_native(void *p, vf x, int64_t n) {
    _mm256_mask_storeu_epi16(p, v_first(n), v_bf16_native(x));
}
/* Of numbers that bf16 holds: nothing is rounded. */
V_INLINE void v_put_bf16(void *p, vf x) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(x), 16)));
}
V_INLINE void v_put_bf16_n(void *p, vf x, int64_t n) {
    _mm512_mask_cvtepi32_storeu_epi16(p, v_first(n), _mm512_srli_epi32(_mm512_castps_si512(x), 16));
}
V_INLINE void v_to_s32(void *p, vf x) { _mm512_storeu_si512(p, v_s32_bits(x)); }
V_INLINE void v_to_s8(void *p, vf x) {
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v_to_int(x, -128.f, 127.f)));
}
V_INLINE void v_to_u8(void *p, vf x) {
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v_to_int(x, 0.f, 255.f)));
}

/* A byte for each lane: 1 where m, else 0. */
V_INLINE void v_put_flags(uint8_t *p, vm m) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm_maskz_set1_epi8(m, 1));
}

/* Four vectors to 4 * VL elements at p; stream as for v_put. */
V_INLINE void v_to4_f32(char *p, const vf *x, int stream) {
    for (int i = 0; i < 4; ++i) v_put(p + 64 * i, _mm512_castps_si512(x[i]), stream);
}
V_INLINE void v_to4_s32(char *p, const vf *x, int stream) {
    for (int i = 0; i < 4; ++i) v_put(p + 64 * i, v_s32_bits(x[i]), stream);
}
V_INLINE void v_to4_f16(char *p, const vf *x, int stream) {
    for (int i = 0; i < 2; ++i) {
        __m512i lo = _mm512_castsi256_si512(_mm512_cvtps_ph(x[2 * i], 0));
        v_put(p + 64 * i, _mm512_inserti64x4(lo, _mm512_cvtps_ph(x[2 * i + 1], 0), 1), stream);
    }
}
/* Is one of four vectors' lanes NaN? */
V_INLINE int v_any_nan4(const vf *x) {
    return !_kortestz_mask16_u8(_mm512_cmp_ps_mask(x[0], x[1], _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(x[2], x[3], _CMP_UNORD_Q));
}
/* v_bf16_high of what is no NaN. */
V_INLINE __m512i v_bf16_high_number(vf x) {
    const __m512i u = _mm512_castps_si512(x);
    const __mmask16 odd = _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x10000));
    return _mm512_add_epi32(u,
                            _mm512_mask_mov_epi32(_mm512_set1_epi32(0x7fff), odd, _mm512_set1_epi32(0x8000)));
}
V_INLINE void v_to4_bf16(char *p, const vf *x, int stream) {
    const __m512i odd = _mm512_add_epi32(
        _mm512_set1_epi32(0x00030001),
        _mm512_mullo_epi32(_mm512_set1_epi32(0x00040004),
                           _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
    __m512i high[4];
    if (__builtin_expect(v_any_nan4(x), 0))
        for (int i = 0; i < 4; ++i) high[i] = v_bf16_high(x[i]);
    else
        for (int i = 0; i < 4; ++i) high[i] = v_bf16_high_number(x[i]);
    for (int i = 0; i < 2; ++i)
        v_put(p + 64 * i, _mm512_permutex2var_epi16(high[2 * i], odd, high[2 * i + 1]), stream);
}
/* 16-bit lanes of both pairs, as packs leaves them in groups of four, to bytes in order. */
V_INLINE __m512i v_bytes_in_order(__m512i x) {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                    x);
}
/* Rounded to 16 bits in the order of packs; what does not fit a byte stays outside its range. NaN
 * gives 0. */
V_INLINE void v_to4_words(const vf *x, __m512i *pair) {
    const float most = 512.f;
    __m512i y[4];
    if (__builtin_expect(v_any_nan4(x), 0))
        for (int i = 0; i < 4; ++i) y[i] = v_to_int(x[i], -most, most);
    else
        for (int i = 0; i < 4; ++i) y[i] = _mm512_cvtps_epi32(v_within(x[i], most));
    for (int i = 0; i < 2; ++i) pair[i] = _mm512_packs_epi32(y[2 * i], y[2 * i + 1]);
}
V_INLINE void v_to4_s8(char *p, const vf *x, int stream) {
    __m512i pair[2];
    v_to4_words(x, pair);
    v_put(p, v_bytes_in_order(_mm512_packs_epi16(pair[0], pair[1])), stream);
}
V_INLINE void v_to4_u8(char *p, const vf *x, int stream) {
    __m512i pair[2];
    v_to4_words(x, pair);
    v_put(p, v_bytes_in_order(_mm512_packus_epi16(pair[0], pair[1])), stream);
}

#endif
