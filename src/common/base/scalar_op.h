/* What the scalar expressions of elementwise.inc call besides <math.h>. */
#ifndef DTP_COMMON_BASE_SCALAR_OP_H
#define DTP_COMMON_BASE_SCALAR_OP_H

#include <math.h>
#include <stdint.h>

/* Limited to 0..1; NaN stays. */
static inline double dtp_unit(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

/* x / (1 + exp(u)), also where exp(u) or its inverse is no normal number. */
static inline double dtp_gate(double x, double u) {
    const double e = exp(u > 80 ? -.5 * u : u);
    return u > 80 ? x * e * e : x / (1 + e);
}

/* The larger and the smaller one; NaN where either is NaN. */
static inline double dtp_larger_f64(double x, double y) { return x > y || x != x ? x : y; }
static inline int64_t dtp_larger_s64(int64_t x, int64_t y) { return x > y ? x : y; }
static inline int dtp_larger_s32(int x, int y) { return x > y ? x : y; }
static inline double dtp_smaller_f64(double x, double y) { return x < y || x != x ? x : y; }
static inline int64_t dtp_smaller_s64(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int dtp_smaller_s32(int x, int y) { return x < y ? x : y; }
#define dtp_larger(x, y) \
    _Generic((x), double : dtp_larger_f64, int64_t : dtp_larger_s64, default : dtp_larger_s32)((x), (y))
#define dtp_smaller(x, y) \
    _Generic((x), double : dtp_smaller_f64, int64_t : dtp_smaller_s64, default : dtp_smaller_s32)((x), (y))

/* Integers: towards zero, by 0 it is 0, -2^63 / -1 wraps (in smaller types when the result is stored). */
static inline double dtp_quotient_f64(double x, double y) { return x / y; }
static inline int64_t dtp_quotient_s64(int64_t x, int64_t y) {
    if (y == -1) return (int64_t)(0 - (uint64_t)x);
    return y == 0 ? 0 : x / y;
}
static inline int dtp_quotient_s32(int x, int y) {
    if (y == -1) return (int)(0 - (unsigned)x);
    return y == 0 ? 0 : x / y;
}
#define dtp_quotient(x, y) \
    _Generic((x), double : dtp_quotient_f64, int64_t : dtp_quotient_s64, default : dtp_quotient_s32)((x), (y))

#endif
