/* Scalar conversions between f32 and the small types, portable C: round to nearest even, saturate, NaN to
 * integers gives 0. Used by the portable vectors and by reference implementations. */
#ifndef DTP_COMMON_BASE_HALF_H
#define DTP_COMMON_BASE_HALF_H

#include <stdint.h>

static inline uint32_t dtp_f32_bits(float x) {
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    return v.u;
}
static inline float dtp_bits_f32(uint32_t u) {
    union {
        uint32_t u;
        float f;
    } v = {.u = u};
    return v.f;
}
static inline float dtp_bf16_to_f32(uint16_t h) { return dtp_bits_f32((uint32_t)h << 16); }
static inline uint16_t dtp_f32_to_bf16(float x) {
    uint32_t u = dtp_f32_bits(x);
    if (x != x) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float dtp_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31) return dtp_bits_f32(sign | 0x7f800000u | m << 13 | (m ? 0x400000u : 0));
    if (e == 0) {
        float x = (float)m * 5.9604644775390625e-8f; /* 2^-24 */
        return dtp_bits_f32(sign | dtp_f32_bits(x));
    }
    return dtp_bits_f32(sign | (e + 112) << 23 | m << 13);
}
static inline uint16_t dtp_f32_to_f16(float x) {
    uint32_t u = dtp_f32_bits(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00); /* rounds to 65536 or more */
    if (a < 0x38800000u) { /* below 2^-14: the sum has 2^-24 as its last place */
        float r = dtp_bits_f32(a) + 0.5f;
        return (uint16_t)(sign | (dtp_f32_bits(r) - 0x3f000000u));
    }
    a += 0xfff + (a >> 13 & 1);
    return (uint16_t)(sign | (a - 0x38000000u) >> 13);
}
/* To nearest even for any magnitude. */
static inline float dtp_round_f32(float x) {
    if (!(x > -8388608.f && x < 8388608.f)) return x;
    float a = dtp_bits_f32(dtp_f32_bits(x) & 0x7fffffffu);
    volatile float y = a + 8388608.f; /* not to be simplified */
    return dtp_bits_f32(dtp_f32_bits(y - 8388608.f) | (dtp_f32_bits(x) & 0x80000000u));
}
static inline int32_t dtp_f32_to_s32(float x) {
    if (x != x) return 0;
    if (x >= 2147483648.f) return INT32_MAX;
    if (x <= -2147483648.f) return INT32_MIN;
    return (int32_t)dtp_round_f32(x);
}
static inline int8_t dtp_f32_to_s8(float x) {
    return x != x ? 0 : (int8_t)dtp_round_f32(x < -128.f ? -128.f : x > 127.f ? 127.f : x);
}
static inline uint8_t dtp_f32_to_u8(float x) {
    return x != x ? 0 : (uint8_t)dtp_round_f32(x < 0.f ? 0.f : x > 255.f ? 255.f : x);
}

#endif
