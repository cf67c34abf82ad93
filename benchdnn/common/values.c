/* What values of each type are: rounding, and rows of them in memory. A batch file walks over billions of values, so
 * loops are compiled for one type each, and for the widest registers there are (BD_ROWS). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/values.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t bits_of(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
INLINE double of_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- one value ---------------------------------------------------------------------------------------- */
/* To the nearest integer of [lo, hi]; NaN to 0. Added to 1.5 * 2^52, a number has no place for a fraction. */
INLINE double round_int(double x, double lo, double hi) {
    x = x < lo ? lo : x > hi ? hi : x == x ? x : 0;
    return (x + 0x1.8p52) - 0x1.8p52;
}

INLINE uint32_t round_bf16_bits(double x) {
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    r = fabsf(f) > FLT_MAX ? u : r;
    return f != f ? 0x7fc00000u : r;
}
INLINE double from_bf16_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* Ten bits of fraction; below 2^-14 multiples of 2^-24. */
INLINE double round_f16(double x) {
    enum { DROPPED = 52 - 10 };
    const uint64_t half = (uint64_t)1 << (DROPPED - 1);
    double a = fabs(x);
    uint64_t u = bits_of(a);
    double r = a < 0x1p-14 ? (a + 0x1.8p28) - 0x1.8p28
                           : of_bits((u + (half - 1) + (u >> DROPPED & 1)) & ~(2 * half - 1));
    r = r > 65504 ? INFINITY : r;
    return x != x ? x : copysign(r, x);
}
INLINE uint16_t to_f16(double x) {
    double r = round_f16(x), a = fabs(r);
    uint64_t u = bits_of(a), normal = (u >> 42) - ((1023 - 15) << 10);
    uint16_t m = a < 0x1p-14 ? (uint16_t)(int)(a * 0x1p24) : a > 65504 ? 0x7c00 : (uint16_t)normal;
    m = x != x ? 0x7e00 : m;
    return (uint16_t)(bits_of(r) >> 48 & 0x8000) | m;
}
/* The bits where a double has its own, and the difference of the exponents as a factor: also right below 2^-14. */
INLINE double from_f16(uint16_t h) {
    uint64_t magnitude = h & 0x7fff;
    double x = of_bits(magnitude << 42) * 0x1p1008;
    x = magnitude > 0x7c00 ? NAN : magnitude == 0x7c00 ? INFINITY : x;
    return h & 0x8000 ? -x : x;
}

INLINE double round_one(const int dt, double x) {
    switch (dt) {
    case dnnl_tp_f32: return (double)(float)x;
    case dnnl_tp_bf16: return x != x ? x : from_bf16_bits(round_bf16_bits(x));
    case dnnl_tp_f16: return round_f16(x);
    case dnnl_tp_s32: return round_int(x, -2147483648., 2147483647.);
    case dnnl_tp_s8: return round_int(x, -128, 127);
    case dnnl_tp_u8: return round_int(x, 0, 255);
    default: return x;
    }
}
INLINE void put_one(const int dt, void *mem, int64_t at, double x) {
    switch (dt) {
    case dnnl_tp_f32: ((float *)mem)[at] = (float)x; break;
    case dnnl_tp_bf16: ((uint16_t *)mem)[at] = (uint16_t)(round_bf16_bits(x) >> 16); break;
    case dnnl_tp_f16: ((uint16_t *)mem)[at] = to_f16(x); break;
    case dnnl_tp_s32: ((int32_t *)mem)[at] = (int32_t)round_one(dt, x); break;
    case dnnl_tp_s8: ((int8_t *)mem)[at] = (int8_t)round_one(dt, x); break;
    case dnnl_tp_u8: ((uint8_t *)mem)[at] = (uint8_t)round_one(dt, x); break;
    default: break;
    }
}
INLINE double get_one(const int dt, const void *mem, int64_t at) {
    switch (dt) {
    case dnnl_tp_f32: return (double)((const float *)mem)[at];
    case dnnl_tp_bf16: return from_bf16_bits((uint32_t)((const uint16_t *)mem)[at] << 16);
    case dnnl_tp_f16: return from_f16(((const uint16_t *)mem)[at]);
    case dnnl_tp_s32: return ((const int32_t *)mem)[at];
    case dnnl_tp_s8: return ((const int8_t *)mem)[at];
    case dnnl_tp_u8: return ((const uint8_t *)mem)[at];
    default: return NAN;
    }
}

/* ---- rows --------------------------------------------------------------------------------------------- */
INLINE void round_row(const int dt, double *to, const double *v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = round_one(dt, v[i]);
}
INLINE void put_row(const int dt, void *mem, const int64_t *step, int64_t n, const double *v) {
    if (!step)
        for (int64_t i = 0; i < n; ++i) put_one(dt, mem, i, v[i]);
    else
        for (int64_t i = 0; i < n; ++i) put_one(dt, mem, step[i], v[i]);
}
INLINE void get_row(const int dt, const void *mem, const int64_t *step, int64_t n, double *v) {
    if (!step)
        for (int64_t i = 0; i < n; ++i) v[i] = get_one(dt, mem, i);
    else
        for (int64_t i = 0; i < n; ++i) v[i] = get_one(dt, mem, step[i]);
}

/* The body is compiled for each type. */
#define BY_TYPE(dt, body, ...)                                 \
    switch (dt) {                                              \
    case dnnl_tp_f32: body(dnnl_tp_f32, __VA_ARGS__); break;   \
    case dnnl_tp_bf16: body(dnnl_tp_bf16, __VA_ARGS__); break; \
    case dnnl_tp_f16: body(dnnl_tp_f16, __VA_ARGS__); break;   \
    case dnnl_tp_s32: body(dnnl_tp_s32, __VA_ARGS__); break;   \
    case dnnl_tp_s8: body(dnnl_tp_s8, __VA_ARGS__); break;     \
    case dnnl_tp_u8: body(dnnl_tp_u8, __VA_ARGS__); break;     \
    default: body(dnnl_tp_data_type_undef, __VA_ARGS__);       \
    }

BD_ROWS void bd_round_row(int dt, double *to, const double *v,
                          int64_t n){BY_TYPE(dt, round_row, to, v, n)} BD_ROWS
    void bd_put_row(int dt, void *mem, const int64_t *step, int64_t n,
                    const double *v){BY_TYPE(dt, put_row, mem, step, n, v)} BD_ROWS
    void bd_get_row(int dt, const void *mem, const int64_t *step, int64_t n, double *v) {
    BY_TYPE(dt, get_row, mem, step, n, v)
}

double bd_round_to(int dt, double x) {
    bd_round_row(dt, &x, &x, 1);
    return x;
}
double bd_get(int dt, const void *mem, int64_t at) { return get_one(dt, mem, at); }
double bd_reinterpret(int from, int to, double x) {
    int64_t bytes = 0;
    if (from == to) return x;
    put_one(from, &bytes, 0, x);
    return get_one(to, &bytes, 0);
}
