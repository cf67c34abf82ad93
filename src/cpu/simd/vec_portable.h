/* One float as a "vector", in plain C, under the names of vec_avx512.h, which describes each, so
 * that the templates also serve any other processor. */
#ifndef DTP_CPU_SIMD_VEC_H
#define DTP_CPU_SIMD_VEC_H

#include <stdint.h>

#include "common/base/half.h"

#define V_INLINE static inline __attribute__((always_inline))
#define V_ISA(name) name##__portable
#define VL 1
#define V_NREGS 16
#define V_EXP_MIN -88.f
#define V_WHOLE 12582912.f
#define V_POWER 12583039.f
#define V_NORMAL_MAX 13.26f
#define V_HAS_TABLE32 0
typedef float vf;
typedef int vm;

V_INLINE vf v_set1(float x) { return x; }
V_INLINE vf v_zero(void) { return 0.f; }
V_INLINE vf v_load(const float *p) { return *p; }
V_INLINE void v_store(float *p, vf x) { *p = x; }
V_INLINE void v_stream(float *p, vf x) { *p = x; }
V_INLINE void v_fence(void) {}
V_INLINE vf v_load_n(const float *p, int64_t n) { return n ? *p : 0.f; }
V_INLINE vf v_load_like(const float *p, int64_t n) {
    (void)n;
    return *p;
}
V_INLINE void v_store_n(float *p, vf x, int64_t n) {
    if (n) *p = x;
}
V_INLINE vf v_keep_n(vf x, int64_t n) { return n ? x : 0.f; }
V_INLINE vf v_evens(const float *p) { return *p; }
V_INLINE vf v_pick(vf lo, vf hi, const int32_t *index, vf none) {
    return *index < 0 ? none : *index ? hi : lo;
}
V_INLINE vf v_pick4(const vf *x, const int32_t *index, vf none) { return *index < 0 ? none : x[*index]; }
V_INLINE vf v_add(vf a, vf b) { return a + b; }
V_INLINE vf v_sub(vf a, vf b) { return a - b; }
V_INLINE vf v_mul(vf a, vf b) { return a * b; }
V_INLINE vf v_div(vf a, vf b) { return a / b; }
V_INLINE vf v_min(vf a, vf b) { return a < b ? a : b; }
V_INLINE vf v_max(vf a, vf b) { return a > b ? a : b; }
V_INLINE vf v_minimum(vf a, vf b) { return a < b || a != a ? a : b; }
V_INLINE vf v_maximum(vf a, vf b) { return a > b || a != a ? a : b; }
V_INLINE vf v_sqrt(vf a) { return __builtin_sqrtf(a); }
V_INLINE vf v_within(vf x, float most) { return v_max(v_set1(-most), v_min(v_set1(most), x)); }
/* The product of two floats is exact in double. */
V_INLINE vf v_fma(vf a, vf b, vf c) { return (float)((double)a * b + c); }
V_INLINE vf v_fnma(vf a, vf b, vf c) { return (float)(c - (double)a * b); }
V_INLINE vf v_fms(vf a, vf b, vf c) { return (float)((double)a * b - c); }
V_INLINE vf v_abs(vf a) { return __builtin_fabsf(a); }
V_INLINE vf v_neg(vf a) { return -a; }
V_INLINE vf v_xorsign(vf x, vf s) { return dtp_bits_f32(dtp_f32_bits(x) ^ (dtp_f32_bits(s) & 0x80000000u)); }
V_INLINE vf v_round(vf a) { return dtp_round_f32(a); }
V_INLINE vf v_scale2(vf p, vf n) {
    int32_t i = n != n ? 0 : (int32_t)(n < -252.f ? -252.f : n > 252.f ? 252.f : n), h = i >> 1;
    return p * dtp_bits_f32((uint32_t)(h + 127) << 23) * dtp_bits_f32((uint32_t)(i - h + 127) << 23);
}
V_INLINE vf v_power2(vf t) { return dtp_bits_f32(dtp_f32_bits(t) << 23); }
V_INLINE vf v_scale2_near(vf p, vf n) { return p * v_power2(n + V_POWER); }
V_INLINE vf v_fraction(vf x, vf *n) {
    x = v_max(v_set1(-127.f), v_min(v_set1(128.f), x));
    *n = dtp_round_f32(x);
    if (*n > x) *n -= 1.f;
    return x - *n;
}
V_INLINE vm v_lt(vf a, vf b) { return a < b; }
V_INLINE vm v_le(vf a, vf b) { return a <= b; }
V_INLINE vm v_eq(vf a, vf b) { return a == b; }
V_INLINE vm v_ne(vf a, vf b) { return a != b; }
V_INLINE vm v_nan(vf a) { return a != a; }
V_INLINE vm v_or(vm a, vm b) { return a | b; }
V_INLINE int v_any(vm m) { return m; }
V_INLINE vf v_sel(vm m, vf a, vf b) { return m ? a : b; }
V_INLINE vf v_mul_where(vm m, vf a, vf b, vf c) { return m ? a * b : c; }
V_INLINE vm v_not_le(vf a, vf b) { return !(a <= b); }
V_INLINE vf v_keep(vm m, vf a) { return m ? a : 0.f; }
#include "cpu/simd/vec_exp_split.h"
#define V_HAS_FOUR 0
V_INLINE float v_hsum(vf a) { return a; }
V_INLINE float v_hmax(vf a) { return a; }
V_INLINE vf v_recip(vf b) { return 1.f / b; }
V_INLINE vf v_rsqrt(vf x) { return 1.f / __builtin_sqrtf(x); }
V_INLINE vf v_quot(vf a, vf b) { return a / b; }
V_INLINE vf v_split(vf x, vf *e) {
    int small = x < 1.17549435e-38f;
    if (small) x *= 8388608.f;
    uint32_t u = dtp_f32_bits(x);
    *e = (float)((int32_t)(u >> 23) - 127 - (small ? 23 : 0));
    return dtp_bits_f32((u & 0x7fffffu) | 0x3f800000u);
}
V_INLINE vf v_log_special(vf x, vf y) {
    if (x == 0.f) return -__builtin_inff();
    if (x == __builtin_inff()) return x;
    return x > 0.f ? y : __builtin_nanf("");
}

/* ---- Conversions ------------------------------------------------------------------------------------- */
V_INLINE vf v_from_f16(const void *p) { return dtp_f16_to_f32(*(const uint16_t *)p); }
V_INLINE vf v_from_bf16(const void *p) { return dtp_bf16_to_f32(*(const uint16_t *)p); }
V_INLINE vf v_from_bf16_n(const void *p, int64_t n) { return n ? v_from_bf16(p) : 0.f; }
V_INLINE vf v_from_s32(const void *p) { return (float)*(const int32_t *)p; }
V_INLINE vf v_from_s8(const void *p) { return (float)*(const int8_t *)p; }
V_INLINE vf v_from_u8(const void *p) { return (float)*(const uint8_t *)p; }
V_INLINE void v_to_f16(void *p, vf x) { *(uint16_t *)p = dtp_f32_to_f16(x); }
V_INLINE void v_to_bf16(void *p, vf x) { *(uint16_t *)p = dtp_f32_to_bf16(x); }
V_INLINE void v_to_bf16_n(void *p, vf x, int64_t n) {
    if (n) v_to_bf16(p, x);
}
V_INLINE void v_put_bf16(void *p, vf x) { v_to_bf16(p, x); }
V_INLINE void v_put_bf16_n(void *p, vf x, int64_t n) { v_to_bf16_n(p, x, n); }
V_INLINE void v_to_s32(void *p, vf x) { *(int32_t *)p = dtp_f32_to_s32(x); }
V_INLINE void v_to_s8(void *p, vf x) { *(int8_t *)p = dtp_f32_to_s8(x); }
V_INLINE void v_to_u8(void *p, vf x) { *(uint8_t *)p = dtp_f32_to_u8(x); }
V_INLINE void v_put_flags(uint8_t *p, vm m) { *p = (uint8_t)m; }

#endif
