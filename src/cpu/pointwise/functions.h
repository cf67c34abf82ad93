/* What the expressions of common/problems/pointwise.inc call. */
#ifndef DTP_CPU_POINTWISE_FUNCTIONS_H
#define DTP_CPU_POINTWISE_FUNCTIONS_H

#include <math.h>
#include <stdint.h>

/* A function of libm in the precision of its argument. */
#define PW_MATH(name, x) _Generic((x), float : name##f, double : name)(x)
/* By the type of x: float, double, and integers through 64 bits. */
#define PW_BY_TYPE(f, x, y) _Generic((x), float : f##_f32, double : f##_f64, default : f##_s64)(x, y)
#define PW_POWER(x, y) PW_BY_TYPE(pw_power, x, y)
#define PW_MODULO(x, y) PW_BY_TYPE(pw_modulo, x, y)
#define PW_REMAINDER(x, y) PW_BY_TYPE(pw_remainder, x, y)
#define PW_SHIFT_LEFT(x, y) pw_shift_left((int64_t)(x), (int64_t)(y), (int)sizeof(x) * 8)
#define PW_SHIFT_RIGHT(x, y) pw_shift_right((int64_t)(x), (int64_t)(y))

static inline float pw_power_f32(float x, float y) { return powf(x, y); }
static inline double pw_power_f64(double x, double y) { return pow(x, y); }
/* Modulo 2^64; below an exponent of 0 the integer part of 1 / x^-y, 0 for x = 0. */
static inline int64_t pw_power_s64(int64_t x, int64_t y) {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    uint64_t z = 1;
    for (uint64_t base = (uint64_t)x; y; y >>= 1, base *= base)
        if (y & 1) z *= base;
    return (int64_t)z;
}

/* The sign of the dividend. By 0 an integer gives 0. */
static inline float pw_remainder_f32(float x, float y) { return fmodf(x, y); }
static inline double pw_remainder_f64(double x, double y) { return fmod(x, y); }
static inline int64_t pw_remainder_s64(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
/* The sign of the divisor. */
static inline float pw_modulo_f32(float x, float y) {
    const float r = fmodf(x, y);
    if (r == 0.f) return copysignf(0.f, y);
    return (r < 0.f) != (y < 0.f) ? r + y : r;
}
static inline double pw_modulo_f64(double x, double y) {
    const double r = fmod(x, y);
    if (r == 0.) return copysign(0., y);
    return (r < 0.) != (y < 0.) ? r + y : r;
}
static inline int64_t pw_modulo_s64(int64_t x, int64_t y) {
    const int64_t r = pw_remainder_s64(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* By fewer than 0 or more bits than there are nothing is left but, on the way to the right, the sign. */
static inline int64_t pw_shift_left(int64_t x, int64_t y, int bits) {
    return y < 0 || y >= bits ? 0 : (int64_t)((uint64_t)x << y);
}
static inline int64_t pw_shift_right(int64_t x, int64_t y) {
    enum { MOST = 63 };
    return x >> (y < 0 || y > MOST ? MOST : y);
}

/* Numbers as integers: towards zero, limited, 0 for what is no number. */
#define PW_LIMITED(name, type, from, low, high, above)                                  \
    static inline type pw_to_##name(from x) {                                           \
        return x != x ? 0 : x >= (above) ? (high) : x <= (from)(low) ? (low) : (type)x; \
    }
PW_LIMITED(s64_f32, int64_t, float, INT64_MIN, INT64_MAX, 0x1p63f)
PW_LIMITED(s64_f64, int64_t, double, INT64_MIN, INT64_MAX, 0x1p63)
PW_LIMITED(s32_f32, int32_t, float, INT32_MIN, INT32_MAX, 0x1p31f)
PW_LIMITED(s32_f64, int32_t, double, INT32_MIN, INT32_MAX, 0x1p31)
PW_LIMITED(s8_f32, int8_t, float, INT8_MIN, INT8_MAX, 128.f)
PW_LIMITED(s8_f64, int8_t, double, INT8_MIN, INT8_MAX, 128.)
PW_LIMITED(u8_f32, uint8_t, float, 0, UINT8_MAX, 256.f)
PW_LIMITED(u8_f64, uint8_t, double, 0, UINT8_MAX, 256.)
#undef PW_LIMITED

#endif
