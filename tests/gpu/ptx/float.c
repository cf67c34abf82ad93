/* Instructions on f32 and f64. Rounding other than to nearest is set by the caller (ptx_exec_pure), as are .ftz and .sat.
 * A NaN result of f32 is the GPU's only one, 0x7fffffff. */
#include <math.h>
#include "pure.h"

static float canonical(float f) { return f == f ? f : ptx_bits_f32(0x7fffffff); }
static float flush(float f) { return fabsf(f) < 0x1p-126f ? copysignf(0.f, f) : f; }

/* -0 is below +0; a NaN is left out if the other is a number. */
static float min_f32(float a, float b) {
    return a != a ? canonical(b) : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static float max_f32(float a, float b) {
    return a != a ? canonical(b) : b != b ? a : a > b || (a == b && signbit(b)) ? a : b;
}
static double min_f64(double a, double b) {
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static double max_f64(double a, double b) {
    return a != a ? b : b != b ? a : a > b || (a == b && signbit(b)) ? a : b;
}
static float nan_or(float a, float b, float r) { return a != a || b != b ? ptx_bits_f32(0x7fffffff) : r; }

/* The quick division's quotient is 0 (of an infinity: NaN) for divisors above 2^126. */
static float div_approx(float a, float b) {
    if (fabsf(b) > 0x1p126f && !isinf(b))
        return isinf(a) ? ptx_bits_f32(0x7fffffff) : canonical(a * copysignf(0.f, b));
    return canonical((float)((double)a / (double)b));
}

/* Only the high word of the result is computed. */
static double high_word(double x) {
    return x == x ? ptx_bits_f64(ptx_f64_bits(x) & UINT64_C(0xffffffff00000000))
                  : ptx_bits_f64(UINT64_C(0x7fffffff00000000));
}
static double flush_f64(double x) { return fabs(x) < 0x1p-1022 ? copysign(0., x) : x; }

static bool is_normal(float x) { return fabsf(x) >= 0x1p-126f && !isinf(x) && x == x; }

#define LIST(OP)                                                                                           \
    OP(add_f32, "add.f32", "w:ww", f32, f32, float, canonical(x + y))                                      \
    OP(sub_f32, "sub.f32", "w:ww", f32, f32, float, canonical(x - y))                                      \
    OP(mul_f32, "mul.f32", "w:ww", f32, f32, float, canonical(x *y))                                       \
    OP(fma_f32, "fma.f32", "w:www", f32, f32, float, canonical(fmaf(x, y, z)))                             \
    OP(mad_f32, "mad.f32", "w:www", f32, f32, float, canonical(fmaf(x, y, z)))                             \
    OP(div_f32, "div.f32", "w:ww", f32, f32, float, canonical(x / y))                                      \
    OP(div_full_f32, "div.full.f32", "w:ww", f32, f32, float, canonical(x / y))                            \
    OP(div_approx_f32, "div.approx.f32", "w:ww", f32, f32, float, div_approx(x, y))                        \
    OP(rcp_f32, "rcp.f32", "w:w", f32, f32, float, canonical(1.f / x))                                     \
    OP(rcp_approx_f32, "rcp.approx.f32", "w:w", f32, f32, float, canonical(1.f / x))                       \
    OP(sqrt_f32, "sqrt.f32", "w:w", f32, f32, float, canonical(sqrtf(x)))                                  \
    OP(sqrt_approx_f32, "sqrt.approx.f32", "w:w", f32, f32, float, canonical(sqrtf(x)))                    \
    OP(rsqrt_approx_f32, "rsqrt.approx.f32", "w:w", f32, f32, float,                                       \
       canonical((float)(1. / sqrt((double)x))))                                                           \
    OP(ex2_approx_f32, "ex2.approx.f32", "w:w", f32, f32, float, canonical((float)exp2((double)x)))        \
    OP(lg2_approx_f32, "lg2.approx.f32", "w:w", f32, f32, float, canonical((float)log2((double)x)))        \
    OP(sin_approx_f32, "sin.approx.f32", "w:w", f32, f32, float, canonical((float)sin((double)x)))         \
    OP(cos_approx_f32, "cos.approx.f32", "w:w", f32, f32, float, canonical((float)cos((double)x)))         \
    OP(tanh_approx_f32, "tanh.approx.f32", "w:w", f32, f32, float, canonical((float)tanh((double)x)))      \
    OP(min_f32_, "min.f32", "w:ww", f32, f32, float, min_f32(x, y))                                        \
    OP(max_f32_, "max.f32", "w:ww", f32, f32, float, max_f32(x, y))                                        \
    OP(min_nan_f32, "min.NaN.f32", "w:ww", f32, f32, float, nan_or(x, y, min_f32(x, y)))                   \
    OP(max_nan_f32, "max.NaN.f32", "w:ww", f32, f32, float, nan_or(x, y, max_f32(x, y)))                   \
    OP(neg_f32, "neg.f32", "w:w", u32, u32, uint32_t, x ^ UINT32_C(0x80000000))                            \
    OP(abs_f32, "abs.f32", "w:w", u32, u32, uint32_t, x &UINT32_C(0x7fffffff))                             \
    OP(copysign_f32, "copysign.f32", "w:ww", u32, u32, uint32_t,                                           \
       (y & UINT32_C(0x7fffffff)) | (x & UINT32_C(0x80000000)))                                            \
    OP(add_f64, "add.f64", "d:dd", f64, f64, double, x + y)                                                \
    OP(sub_f64, "sub.f64", "d:dd", f64, f64, double, x - y)                                                \
    OP(mul_f64, "mul.f64", "d:dd", f64, f64, double, x *y)                                                 \
    OP(fma_f64, "fma.f64", "d:ddd", f64, f64, double, fma(x, y, z))                                        \
    OP(mad_f64, "mad.f64", "d:ddd", f64, f64, double, fma(x, y, z))                                        \
    OP(div_f64, "div.f64", "d:dd", f64, f64, double, x / y)                                                \
    OP(rcp_f64, "rcp.f64", "d:d", f64, f64, double, 1. / x)                                                \
    OP(rcp_approx_f64, "rcp.approx.f64", "d:d", f64, f64, double, high_word(flush_f64(1. / flush_f64(x)))) \
    OP(sqrt_f64, "sqrt.f64", "d:d", f64, f64, double, sqrt(x))                                             \
    OP(rsqrt_approx_f64, "rsqrt.approx.f64", "d:d", f64, f64, double, high_word(1. / sqrt(flush_f64(x))))  \
    OP(min_f64_, "min.f64", "d:dd", f64, f64, double, min_f64(x, y))                                       \
    OP(max_f64_, "max.f64", "d:dd", f64, f64, double, max_f64(x, y))                                       \
    OP(neg_f64, "neg.f64", "d:d", u64, u64, uint64_t, x ^ (UINT64_C(1) << 63))                             \
    OP(abs_f64, "abs.f64", "d:d", u64, u64, uint64_t, x &(UINT64_MAX >> 1))                                \
    OP(copysign_f64, "copysign.f64", "d:dd", u64, u64, uint64_t,                                           \
       (y & (UINT64_MAX >> 1)) | (x & (UINT64_C(1) << 63)))

LIST(PTX_FUNCTION)
static const pure_t list[] = {LIST(PTX_ENTRY)};

/* Predicates: the bits of all lanes. */
static uint32_t pack(const uint32_t bit[LANES]) {
    uint32_t r = 0;
    for (int i = 0; i < LANES; ++i) r |= (bit[i] & 1) << i;
    return r;
}

#define TEST(name, letter, lane, condition)                                            \
    static void name(const insn_t *in, lanes_t *restrict d, const lanes_t *const *s) { \
        uint32_t bit[LANES];                                                           \
        (void)in;                                                                      \
        for (int i = 0; i < LANES; ++i) bit[i] = (condition);                          \
        d->u32[0] = pack(bit);                                                         \
    }
TEST(testp_finite_f32, "w", f32, isfinite(s[0]->f32[i]) != 0)
TEST(testp_infinite_f32, "w", f32, isinf(s[0]->f32[i]) != 0)
TEST(testp_number_f32, "w", f32, s[0]->f32[i] == s[0]->f32[i])
TEST(testp_notanumber_f32, "w", f32, s[0]->f32[i] != s[0]->f32[i])
TEST(testp_normal_f32, "w", f32, is_normal(s[0]->f32[i]))
TEST(testp_subnormal_f32, "w", f32, fabsf(s[0]->f32[i]) < 0x1p-126f && s[0]->f32[i] != 0)

static const pure_t tests[] = {
    {"testp.finite.f32", "p:w", testp_finite_f32}, {"testp.infinite.f32", "p:w", testp_infinite_f32},
    {"testp.number.f32", "p:w", testp_number_f32}, {"testp.notanumber.f32", "p:w", testp_notanumber_f32},
    {"testp.normal.f32", "p:w", testp_normal_f32}, {"testp.subnormal.f32", "p:w", testp_subnormal_f32}};

pure_fn *ptx_find_float(const char *name, const char **operands) {
    pure_fn *f = ptx_find_pure(list, sizeof list / sizeof *list, name, operands);
    return f ? f : ptx_find_pure(tests, sizeof tests / sizeof *tests, name, operands);
}

/* Numbers too small to be normal become zero. */
void ptx_flush(lanes_t *v) {
    for (int i = 0; i < LANES; ++i) v->f32[i] = flush(v->f32[i]);
}

/* To 0..1; NaN becomes 0. */
void ptx_saturate(lanes_t *v, uint8_t type) {
    if (type == T_F32) {
        for (int i = 0; i < LANES; ++i) v->f32[i] = v->f32[i] > 0.f ? v->f32[i] < 1.f ? v->f32[i] : 1.f : 0.f;
    } else if (type == T_F64) {
        for (int i = 0; i < LANES; ++i) v->f64[i] = v->f64[i] > 0. ? v->f64[i] < 1. ? v->f64[i] : 1. : 0.;
    }
}
