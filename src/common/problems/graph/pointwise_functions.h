/* The functions of pointwise.inc by number, and what their expressions call: one text for the CPU,
 * in C, and for devices, in CUDA C++, so that integers have the same bits everywhere. */
#ifndef DTP_COMMON_PROBLEMS_POINTWISE_FUNCTIONS_H
#define DTP_COMMON_PROBLEMS_POINTWISE_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* select: src0 != 0 ? src1 : src2, src0 boolean; cast: src0 in the type of dst, towards zero,
 * limited to the range of the type, and 0 for NaN; between integers modulo 2^bits. */
typedef enum {
    DTP_PW_select,
    DTP_PW_cast,
#define DTP_PW(name, nsrc, types, result, expression) DTP_PW_##name,
#include "common/problems/graph/pointwise.inc"
    DTP_PW_COUNT
} dtp_pointwise_fn_t;

/* PW_MATH: a function of libm in the precision of its argument. PW_BY_TYPE: f by the type of x:
 * float, double, or an integer, computed in 64 bits, or in 32 if it has at most 32. */
#ifdef __CUDACC__
#define PW_FUNCTION static __device__ __forceinline__
#define PW_MATH(name, x) dtp_math::name(x) /* gpu/pointwise/angles.cuh */
#define PW_BY_TYPE(f, x, y) f(x, y)
#else
#define PW_FUNCTION static inline
#define PW_MATH(name, x) _Generic((x), float : name##f, double : name)(x)
#define PW_BY_TYPE(f, x, y) \
    _Generic((x), float : f##_f32, double : f##_f64, int64_t : f##_s64, default : f##_s32)(x, y)
#endif
#define PW_POWER(x, y) PW_BY_TYPE(pw_power, x, y)
#define PW_MODULO(x, y) PW_BY_TYPE(pw_modulo, x, y)
#define PW_REMAINDER(x, y) PW_BY_TYPE(pw_remainder, x, y)
#define PW_SHIFT_LEFT(x, y) pw_shift_left((int64_t)(x), (int64_t)(y), (int)sizeof(x) * 8)
#define PW_SHIFT_RIGHT(x, y) pw_shift_right((int64_t)(x), (int64_t)(y))

PW_FUNCTION float pw_power_f32(float x, float y) { return powf(x, y); }
PW_FUNCTION double pw_power_f64(double x, double y) { return pow(x, y); }
/* remainder has the sign of the dividend, modulo that of the divisor. */
PW_FUNCTION float pw_remainder_f32(float x, float y) { return fmodf(x, y); }
PW_FUNCTION double pw_remainder_f64(double x, double y) { return fmod(x, y); }
PW_FUNCTION float pw_modulo_f32(float x, float y) {
    const float r = fmodf(x, y);
    if (r == 0.f) return copysignf(0.f, y);
    return (r < 0.f) != (y < 0.f) ? r + y : r;
}
PW_FUNCTION double pw_modulo_f64(double x, double y) {
    const double r = fmod(x, y);
    if (r == 0.) return copysign(0., y);
    return (r < 0.) != (y < 0.) ? r + y : r;
}
/* Functions of integers. power: modulo 2^bits; for y < 0 the integer part of 1 / x^-y, 0 for x = 0.
 * The others divided by 0 give 0. */
#define PW_INTEGERS(s, type, u_type)                                                            \
    PW_FUNCTION type pw_power_##s(type x, type y) {                                             \
        if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;                          \
        u_type z = 1;                                                                           \
        for (u_type base = (u_type)x; y; y >>= 1, base *= base)                                 \
            if (y & 1) z *= base;                                                               \
        return (type)z;                                                                         \
    }                                                                                           \
    PW_FUNCTION type pw_remainder_##s(type x, type y) { return y == 0 || y == -1 ? 0 : x % y; } \
    PW_FUNCTION type pw_modulo_##s(type x, type y) {                                            \
        const type r = pw_remainder_##s(x, y);                                                  \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                        \
    }
PW_INTEGERS(s64, int64_t, uint64_t)
PW_INTEGERS(s32, int32_t, uint32_t)
#undef PW_INTEGERS

/* A shift by fewer than 0 bits, or by more than x has, gives 0; to the right it leaves the sign. */
PW_FUNCTION int64_t pw_shift_left(int64_t x, int64_t y, int bits) {
    return y < 0 || y >= bits ? 0 : (int64_t)((uint64_t)x << y);
}
PW_FUNCTION int64_t pw_shift_right(int64_t x, int64_t y) {
    enum { MOST = 63 };
    return x >> (y < 0 || y > MOST ? MOST : y);
}

/* x if it is nearer to 0 than `bound`, a power of 2, else 0. Computed from its bits, because
 * compilers move a choice between numbers after their conversion, which then raises a
 * floating-point exception for numbers out of range. */
#define PW_INSIDE(name, type, bits_type, most_bits, sign)   \
    PW_FUNCTION type pw_inside_##name(type x, type bound) { \
        bits_type bits, most;                               \
        memcpy(&bits, &x, sizeof bits);                     \
        memcpy(&most, &bound, sizeof most);                 \
        bits &= ((bits & most_bits) - most) >> (sign);      \
        memcpy(&x, &bits, sizeof bits);                     \
        return x;                                           \
    }
PW_INSIDE(f32, float, int32_t, INT32_MAX, 31)
PW_INSIDE(f64, double, int64_t, INT64_MAX, 63)
#undef PW_INSIDE

/* Converts to integers: towards zero, limited, 0 for NaN. */
#define PW_LIMITED(to, from, type, via, from_type, low, high, above)            \
    PW_FUNCTION type pw_to_##to##_##from(from_type x) {                         \
        const via y = (via)pw_inside_##from(x, above);                          \
        return x >= (above) ? (high) : x <= (from_type)(low) ? (low) : (type)y; \
    }
PW_LIMITED(s64, f32, int64_t, int64_t, float, INT64_MIN, INT64_MAX, 0x1p63f)
PW_LIMITED(s64, f64, int64_t, int64_t, double, INT64_MIN, INT64_MAX, 0x1p63)
PW_LIMITED(s32, f32, int32_t, int32_t, float, INT32_MIN, INT32_MAX, 0x1p31f)
PW_LIMITED(s32, f64, int32_t, int32_t, double, INT32_MIN, INT32_MAX, 0x1p31)
PW_LIMITED(s8, f32, int8_t, int32_t, float, INT8_MIN, INT8_MAX, 128.f)
PW_LIMITED(s8, f64, int8_t, int32_t, double, INT8_MIN, INT8_MAX, 128.)
PW_LIMITED(u8, f32, uint8_t, int32_t, float, 0, UINT8_MAX, 256.f)
PW_LIMITED(u8, f64, uint8_t, int32_t, double, 0, UINT8_MAX, 256.)
#undef PW_LIMITED

#ifdef __CUDACC__
#define PW_OVERLOADS(f)                                                   \
    PW_FUNCTION float f(float x, float y) { return f##_f32(x, y); }       \
    PW_FUNCTION int64_t f(int64_t x, int64_t y) { return f##_s64(x, y); } \
    PW_FUNCTION int32_t f(int32_t x, int32_t y) { return f##_s32(x, y); }
PW_OVERLOADS(pw_power)
PW_OVERLOADS(pw_modulo)
PW_OVERLOADS(pw_remainder)
#undef PW_OVERLOADS
#endif

#endif
