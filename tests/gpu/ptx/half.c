/* f16 and bf16: rounding to them, and their instructions. Sums and products are rounded once. */
#include <math.h>
#include "pure.h"

enum { F16_NAN = 0x7fff, F64_MANTISSA = 52, F64_BIAS = 1023 };

typedef struct {
    int mantissa, exponent; /* bits */
} format_t;

static uint32_t round_to(double x, format_t f, round_t mode) {
    uint64_t bits = ptx_f64_bits(x), m = bits & ((UINT64_C(1) << F64_MANTISSA) - 1);
    uint32_t sign = (uint32_t)(bits >> 63), top = (uint32_t)f.mantissa + (uint32_t)f.exponent;
    uint32_t inf = ((UINT32_C(1) << f.exponent) - 1) << f.mantissa;
    int e = (int)(bits >> F64_MANTISSA & 0x7ff) - F64_BIAS, bias = (1 << (f.exponent - 1)) - 1,
        low = 1 - bias;
    if (e == F64_BIAS + 1) return m ? inf | ((UINT32_C(1) << f.mantissa) - 1) : sign << top | inf;
    if (e == -F64_BIAS) ++e;
    else m |= UINT64_C(1) << F64_MANTISSA;
    int shift = F64_MANTISSA - f.mantissa + (e < low ? low - e : 0);
    if (shift > 60) shift = 60;
    uint64_t q = m >> shift, rest = m & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    switch (mode) {
    case ROUND_RZ: break;
    case ROUND_RM: q += rest && sign; break;
    case ROUND_RP: q += rest && !sign; break;
    case ROUND_RNA: q += rest >= half; break;
    default: q += rest > half || (rest == half && (q & 1));
    }
    uint64_t out = e < low ? q : ((uint64_t)(e + bias - 1) << f.mantissa) + q;
    bool to_max = mode == ROUND_RZ || (mode == ROUND_RM && !sign) || (mode == ROUND_RP && sign);
    if (out >= inf) out = to_max ? inf - 1 : inf;
    return sign << top | (uint32_t)out;
}

uint32_t ptx_round(double x, type_t type, round_t mode) {
    switch (type) {
    case T_F16: return round_to(x, (format_t){10, 5}, mode);
    case T_BF16: return round_to(x, (format_t){7, 8}, mode);
    case T_TF32: return x == x ? round_to(x, (format_t){10, 8}, mode) << 13 : UINT32_C(0x7fffffff);
    default: return round_to(x, (format_t){23, 8}, mode);
    }
}

float ptx_f16_to_f32(uint32_t h) {
    float f = ptx_bits_f32((h & 0x7fff) << 13) * 0x1p112f;
    uint32_t bits = ptx_f32_bits(f) | (h & 0x8000) << 16;
    return ptx_bits_f32((h & 0x7c00) == 0x7c00 ? bits | UINT32_C(0x7f800000) : bits);
}

uint32_t ptx_f32_to_f16(float f) { return ptx_round((double)f, T_F16, ROUND_RN); }

uint32_t ptx_f32_to_bf16(float f) {
    uint32_t bits = ptx_f32_bits(f);
    return f == f ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : F16_NAN;
}

/* The sum, rounded to odd: a second rounding to a shorter format then gives what one rounding would. */
static double add_odd(double a, double b) {
    double s = a + b, t = s - a, error = (a - (s - t)) + (b - t);
    if (!isfinite(s) || error == 0) return s;
    uint64_t bits = ptx_f64_bits(s);
    if (bits & 1) return s;
    return ptx_bits_f64((error > 0) == (s > 0) ? bits + 1 : bits - 1);
}

static double f16(uint32_t h) { return (double)ptx_f16_to_f32(h & 0xffff); }
static double bf16(uint32_t h) { return (double)ptx_bf16_to_f32(h & 0xffff); }
static uint32_t to_f16(double x) { return ptx_round(x, T_F16, ROUND_RN); }
static uint32_t to_bf16(double x) { return ptx_round(x, T_BF16, ROUND_RN); }
static double flush(double x) { return fabs(x) < 0x1p-126 ? copysign(0., x) : x; }

static uint32_t smaller(uint32_t a, uint32_t b, double x, double y) {
    if (x != x) return y != y ? F16_NAN : b & 0xffff;
    return (y != y || x < y || (x == y && signbit(x)) ? a : b) & 0xffff;
}

static uint32_t larger(uint32_t a, uint32_t b, double x, double y) {
    if (x != x) return y != y ? F16_NAN : b & 0xffff;
    return (y != y || x > y || (x == y && signbit(y)) ? a : b) & 0xffff;
}

static uint32_t relu(uint32_t h, double x) { return x != x ? F16_NAN : h & 0x8000 ? 0 : h; }

/* One instruction for single and for packed halves. */
#define BOTH(OP, t, op, name, n1, n2, value)                                  \
    OP(t##_##op, name "." #t, n1, u32, u32, uint32_t, t##_##op##_of(x, y, z)) \
    OP(t##x2_##op, name "." #t "x2", n2, u32, u32, uint32_t,                  \
       (t##_##op##_of(x, y, z) | t##_##op##_of(x >> 16, y >> 16, z >> 16) << 16))
#define SCALAR(OP, t, op, name, n1, n2, value)                          \
    static uint32_t t##_##op##_of(uint32_t x, uint32_t y, uint32_t z) { \
        (void)y, (void)z;                                               \
        return value;                                                   \
    }
#define HALVES(M, OP, t)                                                                                \
    M(OP, t, add, "add", "h:hh", "w:ww", to_##t(add_odd(t(x), t(y))))                                   \
    M(OP, t, sub, "sub", "h:hh", "w:ww", to_##t(add_odd(t(x), -t(y))))                                  \
    M(OP, t, mul, "mul", "h:hh", "w:ww", to_##t(t(x) * t(y)))                                           \
    M(OP, t, fma, "fma", "h:hhh", "w:www", to_##t(add_odd(t(x) * t(y), t(z))))                          \
    M(OP, t, fma_relu, "fma.relu", "h:hhh", "w:www", relu(t##_fma_of(x, y, z), t(t##_fma_of(x, y, z)))) \
    M(OP, t, min, "min", "h:hh", "w:ww", smaller(x, y, t(x), t(y)))                                     \
    M(OP, t, max, "max", "h:hh", "w:ww", larger(x, y, t(x), t(y)))                                      \
    M(OP, t, min_nan, "min.NaN", "h:hh", "w:ww",                                                        \
      t(x) != t(x) || t(y) != t(y) ? F16_NAN : smaller(x, y, t(x), t(y)))                               \
    M(OP, t, max_nan, "max.NaN", "h:hh", "w:ww",                                                        \
      t(x) != t(x) || t(y) != t(y) ? F16_NAN : larger(x, y, t(x), t(y)))                                \
    M(OP, t, neg, "neg", "h:h", "w:w", (x & 0xffff) ^ 0x8000)                                           \
    M(OP, t, abs, "abs", "h:h", "w:w", x & 0x7fff)                                                      \
    M(OP, t, tanh, "tanh.approx", "h:h", "w:w", to_##t(tanh(t(x))))
#define EX2(M, OP)                                                    \
    M(OP, f16, ex2, "ex2.approx", "h:h", "w:w", to_f16(exp2(f16(x)))) \
    M(OP, bf16, ex2, "ex2.approx", "h:h", "w:w", to_bf16(flush(exp2(flush(bf16(x))))))

HALVES(SCALAR, , f16)
HALVES(SCALAR, , bf16)
EX2(SCALAR, )
HALVES(BOTH, PTX_FUNCTION, f16)
HALVES(BOTH, PTX_FUNCTION, bf16)
EX2(BOTH, PTX_FUNCTION)
static const pure_t list[] = {HALVES(BOTH, PTX_ENTRY, f16) HALVES(BOTH, PTX_ENTRY, bf16)
                                  EX2(BOTH, PTX_ENTRY)};

pure_fn *ptx_find_half(const char *name, const char **operands) {
    return ptx_find_pure(list, sizeof list / sizeof *list, name, operands);
}
