/* Every element-wise function in every arithmetic of its own, on every instruction set, against an independent
 * evaluation in 128 bits: edge values, random bits, tails, gaps, single sources, in place. A function without an
 * evaluation here does not compile. In f32, every function against its own form in double; how near: test_vops.c. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/primitive/engine.h"
#include "common/base/scalar_op.h"
#include "cpu/simd/vops.h"
#include "support/isas.h"

__extension__ typedef __int128 wide_t;
#if defined(__clang__) && defined(__x86_64__)
typedef __float128 f128_t;
#elif defined(__clang__)
typedef long double f128_t;
#else
typedef _Float128 f128_t;
#endif

/* ---- Evaluation: integers without end, boolean as 0 and 1; f64 with 113 bits or libm's long double ---- */

#define INT1(name, result) \
    static wide_t int_##name(wide_t x, wide_t a, wide_t b) { return (void)x, (void)a, (void)b, (result); }
#define INT2(name, result) \
    static wide_t int_##name(wide_t x, wide_t y) { return (void)x, (void)y, (result); }
#define FLT1(name, result)                                      \
    static f128_t flt_##name(double dx, double da, double db) { \
        const long double x = dx, a = da, b = db;               \
        return (void)x, (void)a, (void)b, (f128_t)(result);     \
    }
#define FLT2(name, result)                           \
    static f128_t flt_##name(double dx, double dy) { \
        const f128_t x = dx, y = dy;                 \
        return (void)x, (void)y, (f128_t)(result);   \
    }

static long double unit(long double x) { return isnan(x) ? x : fminl(1, fmaxl(0, x)); }
static wide_t quotient(wide_t x, wide_t y) {
    if (y == 0) return 0;
    const wide_t q = (x < 0 ? -x : x) / (y < 0 ? -y : y);
    return (x < 0) == (y < 0) ? q : -q;
}

INT1(relu, x > 0 ? x : a * x)
INT1(square, x *x)
INT1(abs, x < 0 ? -x : x)
INT1(linear, a *x + b)
INT1(clip, x<a ? a : x> b ? b : x)
INT1(not, x == 0)
INT1(sign, (x > 0) - (x < 0))
INT2(add, x + y)
INT2(mul, x *y)
INT2(max, x < y ? y : x)
INT2(min, y < x ? y : x)
INT2(maximum, x < y ? y : x)
INT2(minimum, y < x ? y : x)
INT2(div, quotient(x, y))
INT2(sub, x - y)
INT2(ge, !(x < y))
INT2(gt, y < x)
INT2(le, !(y < x))
INT2(lt, x < y)
INT2(eq, x - y == 0)
INT2(ne, x - y != 0)
INT2(squared_difference, (wide_t)(int64_t)(x - y) * (int64_t)(x - y)) /* modulo 2^64, in range */
INT2(and, x *y)
INT2(or, x + y)
INT2(xor, x + y == 1)

FLT1(relu, x > 0 || isnan(x) ? x : a == 0 ? 0 : a * x)
FLT1(tanh, tanhl(x))
FLT1(elu, x > 0 ? x : a * expm1l(x))
FLT1(square, (f128_t)dx *(f128_t)dx)
FLT1(abs, fabsl(x))
FLT1(sqrt, sqrt(dx)) /* correctly rounded */
FLT1(linear, (f128_t)da *(f128_t)dx + (f128_t)db)
FLT1(soft_relu, a *x > 11000 ? x : log1pl(expl(a * x)) / a)
FLT1(hardsigmoid, unit(a *x + b))
FLT1(logistic, 1 / (1 + expl(-x)))
FLT1(exp, expl(x))
FLT1(gelu_tanh, x / (1 + expl(-2 * .797884560802865355879892119868763737L * (x + .044715L * x * x * x))))
FLT1(swish, x / (1 + expl(-a * x)))
FLT1(log, logl(x))
FLT1(clip, x<a ? a : x> b ? b : x)
FLT1(pow, a *powl(x, b))
FLT1(gelu_erf, x / 2 * erfcl(-x * .707106781186547524400844362104849039L))
FLT1(round, rintl(x))
FLT1(mish, x *tanhl(x > 11000 ? x : log1pl(expl(x))))
FLT1(hardswish, x *unit(a *x + b))
FLT1(erf, erfl(x))
FLT1(sign, isnan(x) || x == 0 ? x : copysignl(1, x))
FLT2(add, x + y)
FLT2(mul, x *y)
FLT2(max, x > y ? x : y)
FLT2(min, x < y ? x : y)
FLT2(maximum, isnan(x) || isnan(y) ? NAN : x > y ? x : y)
FLT2(minimum, isnan(x) || isnan(y) ? NAN : x < y ? x : y)
FLT2(div, x / y)
FLT2(sub, x - y)
FLT2(ge, x >= y)
FLT2(gt, x > y)
FLT2(le, x <= y)
FLT2(lt, x < y)
FLT2(eq, x == y)
FLT2(ne, x != y)
FLT2(prelu, x < 0 ? x * y : x)
static f128_t flt_squared_difference(double x, double y) {
    const double d = x - y;
    return (f128_t)d * (f128_t)d;
}

#define OF_f64(name) .f = flt_##name
#define OF_s64(name) .i = int_##name
#define OF_s32(name) .i = int_##name
#define OF_s8(name) .i = int_##name
#define OF_u8(name) .i = int_##name
#define OF_boolean(name) .i = int_##name
#define CASE_OF(type, name) {dnnl_tp_##type, DTP_ALG_##name, #name, OF_##type(name)},
static const struct {
    dnnl_tp_data_type_t dt;
    int alg;
    const char *name;
    wide_t (*i)(wide_t, wide_t, wide_t);
    f128_t (*f)(double, double, double);
} unary[] = {
#define DTP_EW1(name, number, types, ...) DTP_EW_EXACT_##types(CASE_OF, name)
#include "common/base/elementwise.inc"
};
static const struct {
    dnnl_tp_data_type_t dt;
    int alg;
    const char *name;
    wide_t (*i)(wide_t, wide_t);
    f128_t (*f)(double, double);
} binary[] = {
#define DTP_EW2(name, number, types, ...) DTP_EW_EXACT_##types(CASE_OF, name)
#include "common/base/elementwise.inc"
};
enum { NUNARY = sizeof unary / sizeof *unary, NBINARY = sizeof binary / sizeof *binary };

/* ---- Values -------------------------------------------------------------------------------------------- */

enum { GUARD = 0x5b, MAX = 4 * 80 };
static char x_[MAX * 8], y_[MAX * 8], z_[MAX * 8], keep_[MAX * 8];
static uint64_t seed = 88172645463325252ull;
static uint64_t rnd(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

static size_t size_of(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f64 || dt == dnnl_tp_s64 ? 8 : dt == dnnl_tp_s32 ? 4 : 1;
}

static void put(dnnl_tp_data_type_t dt, char *p, int i) {
    static const double doubles[] = {
        NAN,     INFINITY, -INFINITY,         0.,       -0.,  1.,  -1.,  .5,    -.5,  2.5,   DBL_MAX, 3e-324,
        -3e-324, DBL_MIN,  9007199254740993., -DBL_MAX, 1e-9, 30., -30., -700., 710., 1e300, -3.5};
    static const int64_t integers[] = {
        INT64_MIN, INT64_MAX, -1,        0,         1,        9007199254740993, -9007199254740993,
        2,         -2,        INT32_MIN, INT32_MAX, INT8_MIN, INT8_MAX,         UINT8_MAX,
        3,         -3,        7,         255,       256};
    const int nd = sizeof doubles / sizeof *doubles, ni = sizeof integers / sizeof *integers;
    const uint64_t r = rnd();
    if (dt == dnnl_tp_f64) {
        double v = (double)(int64_t)r / 1e18;
        if (i % 3 == 0) v = doubles[r % (unsigned)nd];
        if (i % 7 == 1) memcpy(&v, &r, sizeof v);
        memcpy(p, &v, sizeof v);
        return;
    }
    int64_t v = i % 2 ? (int64_t)r : integers[r % (unsigned)ni];
    if (i % 5 == 1) v = (int64_t)(r % 9) - 4;
    if (dt == dnnl_tp_boolean) v = (int64_t)(r % 4 == 3 ? 1 + r / 4 % 255 : r & 1);
    const int32_t w = (int32_t)v;
    if (dt == dnnl_tp_s64) memcpy(p, &v, sizeof v);
    else if (dt == dnnl_tp_s32) memcpy(p, &w, sizeof w);
    else *p = (char)v;
}
static void fill(dnnl_tp_data_type_t dt, char *p) {
    for (int i = 0; i < MAX; ++i) put(dt, p + (size_t)i * size_of(dt), i);
}

static double as_double(const char *p) {
    double v;
    memcpy(&v, p, sizeof v);
    return v;
}
static wide_t as_wide(dnnl_tp_data_type_t dt, const char *p) {
    int64_t v;
    int32_t w;
    switch (dt) {
    case dnnl_tp_s64: memcpy(&v, p, sizeof v); return v;
    case dnnl_tp_s32: memcpy(&w, p, sizeof w); return w;
    case dnnl_tp_s8: return *(const int8_t *)p;
    case dnnl_tp_u8: return *(const uint8_t *)p;
    default: return *p != 0;
    }
}

/* got is want modulo 2^bits; boolean: the truth of want. */
static bool same_integer(dnnl_tp_data_type_t dt, const char *got, wide_t want) {
    if (dt == dnnl_tp_boolean) return *got == (want != 0);
    return memcmp(got, &want, size_of(dt)) == 0; /* little endian, or equal bytes */
}
static bool same_double(double got, f128_t want) {
    const double w = (double)want;
    if (isnan(w)) return isnan(got);
    if (got == w) return true;
    /* Functions of libm; near the ends of the range they lose digits. */
    return fabs(got - w) <= 1e-11 * fabs(w) || (fabs(w) < 1e-290 && fabs(got) < 1e-290);
}
/* Rounded once: no tolerance. */
static bool is_exact(int alg) {
    switch (alg) {
    case DTP_ALG_relu:
    case DTP_ALG_square:
    case DTP_ALG_abs:
    case DTP_ALG_sqrt:
    case DTP_ALG_linear:
    case DTP_ALG_clip:
    case DTP_ALG_round:
    case DTP_ALG_hardsigmoid: return true;
    default: return alg >= DTP_ALG_prelu; /* all of two arguments */
    }
}

/* ---- Tests --------------------------------------------------------------------------------------------- */

static int lengths(int k) { return k < 20 ? k : k < 40 ? 20 + (k - 20) * 3 : 79; }

static bool right_unary(int t, const char *got, const char *from, double a, double b) {
    if (unary[t].dt != dnnl_tp_f64)
        return same_integer(unary[t].dt, got, unary[t].i(as_wide(unary[t].dt, from), (wide_t)a, (wide_t)b));
    const f128_t want = unary[t].f(as_double(from), a, b);
    const double g = as_double(got);
    if (!is_exact(unary[t].alg)) return same_double(g, want);
    return isnan((double)want) ? isnan(g) : g == (double)want;
}

static void every_unary(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    const int ni = test_isas(isa);
    for (int k = 0; k < ni; ++k)
        for (int t = 0; t < NUNARY; ++t) {
            const dnnl_tp_data_type_t dt = unary[t].dt;
            const size_t size = size_of(dt);
            const dtp_eltwise_fn_t fn = dtp_exact(isa[k], dt)->eltwise[dtp_ew_unary(unary[t].alg)];
            const bool f64 = dt == dnnl_tp_f64, pow = unary[t].alg == DTP_ALG_pow;
            for (int round = 0; round < 60; ++round) {
                const int n = lengths(round), in_place = round & 1;
                const float alpha = round % 3 == 0 && !pow ? 0.f : f64 ? .5f : 3.f;
                const float beta = pow ? (float)(round % 5) - 1.5f : f64 ? .75f : 100.f;
                if (unary[t].alg == DTP_ALG_soft_relu && alpha == 0.f) continue;
                fill(dt, x_);
                memset(y_, GUARD, sizeof y_);
                if (in_place) memcpy(y_, x_, sizeof y_);
                memcpy(keep_, y_, sizeof keep_);
                fn(&(dtp_eltwise_args_t){.x = in_place ? y_ : x_,
                                         .y = y_,
                                         .ldx = 80,
                                         .ldy = 80,
                                         .rows = 3,
                                         .cols = n,
                                         .alpha = alpha,
                                         .beta = beta});
                for (int i = 0; i < 4 * 80; ++i) {
                    const char *got = y_ + (size_t)i * size, *from = x_ + (size_t)i * size;
                    const bool inside = i / 80 < 3 && i % 80 < n;
                    const bool ok = inside ? right_unary(t, got, from, (double)alpha, (double)beta)
                                           : !memcmp(got, keep_ + (size_t)i * size, size);
                    if (!ok)
                        fail_msg("isa %u %s of type %d: element %d of %d, alpha %g beta %g: %g gives %g",
                                 isa[k], unary[t].name, (int)dt, i, n, (double)alpha, (double)beta,
                                 f64 ? as_double(from) : (double)as_wide(dt, from),
                                 f64 ? as_double(got) : (double)as_wide(dt, got));
                }
            }
        }
}

/* Where exp(x) or its inverse is no normal number of f64, and the result is one. */
static void ends_of_f64(void **state) {
    (void)state;
    enum { N = 8000 };
    static double x[N], y[N];
    static const struct {
        int alg;
        float alpha;
        f128_t (*f)(double, double, double);
    } of[] = {{DTP_ALG_mish, 0, flt_mish},
              {DTP_ALG_swish, 1, flt_swish},
              {DTP_ALG_swish, .125f, flt_swish},
              {DTP_ALG_soft_relu, 1, flt_soft_relu},
              {DTP_ALG_soft_relu, 0x1p-20f, flt_soft_relu},
              {DTP_ALG_logistic, 0, flt_logistic}};
    for (size_t k = 0; k < sizeof of / sizeof *of; ++k) {
        const double alpha = (double)of[k].alpha;
        for (int i = 0; i < N; ++i) x[i] = (i - 7600) * .1 / (alpha > 0 ? alpha : 1);
        dtp_exact(0, dnnl_tp_f64)
            ->eltwise[dtp_ew_unary(of[k].alg)](
                &(dtp_eltwise_args_t){.x = x, .y = y, .rows = 1, .cols = N, .alpha = of[k].alpha});
        for (int i = 0; i < N; ++i) {
            const double want = (double)of[k].f(x[i], alpha, 0);
            if (!(fabs(y[i] - want) <= (fabs(want) < DBL_MIN ? DBL_MIN : 1e-14 * fabs(want))))
                fail_msg("function %d, alpha %g: %g becomes %g, not %g", of[k].alg, alpha, x[i], y[i], want);
        }
    }
}

static bool right_binary(int t, const char *got, const char *x, const char *y) {
    const dnnl_tp_data_type_t dt = binary[t].dt;
    int64_t z;
    if (dtp_ew_integers(binary[t].alg, dt, (int64_t)as_wide(dt, x), (int64_t)as_wide(dt, y), &z)
            ? z != as_wide(dt, got)
            : dt != dnnl_tp_f64 && dt != dnnl_tp_boolean)
        return false;
    if (dt != dnnl_tp_f64) return same_integer(dt, got, binary[t].i(as_wide(dt, x), as_wide(dt, y)));
    const double want = (double)binary[t].f(as_double(x), as_double(y)), g = as_double(got);
    return isnan(want) ? isnan(g) : g == want;
}

static void every_binary(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    const int ni = test_isas(isa);
    for (int k = 0; k < ni; ++k)
        for (int t = 0; t < NBINARY; ++t) {
            const dnnl_tp_data_type_t dt = binary[t].dt;
            const size_t size = size_of(dt);
            const dtp_binary_fn_t fn = dtp_exact(isa[k], dt)->binary[dtp_ew_binary(binary[t].alg)];
            for (int round = 0; round < 160; ++round) {
                const int n = lengths(round / 4), cs0 = round & 1, cs1 = round >> 1 & 1;
                const bool in_place = cs0 && round % 3 == 0;
                fill(dt, x_);
                fill(dt, z_);
                memset(y_, GUARD, sizeof y_);
                if (in_place) memcpy(y_, x_, sizeof y_);
                memcpy(keep_, y_, sizeof keep_);
                fn(&(dtp_binary_args_t){.x0 = in_place ? y_ : x_,
                                        .x1 = z_,
                                        .y = y_,
                                        .ld0 = 80,
                                        .ld1 = 79,
                                        .ldy = 80,
                                        .rows = 3,
                                        .cols = n,
                                        .cs0 = cs0,
                                        .cs1 = cs1});
                for (int i = 0; i < 4 * 80; ++i) {
                    const int r = i / 80, c = i % 80;
                    const char *got = y_ + (size_t)i * size;
                    const char *x = x_ + (size_t)(r * 80 + c * cs0) * size,
                               *y = z_ + (size_t)(r * 79 + c * cs1) * size;
                    const bool inside = r < 3 && c < n;
                    const bool ok =
                        inside ? right_binary(t, got, x, y) : !memcmp(got, keep_ + (size_t)i * size, size);
                    if (!ok)
                        fail_msg("isa %u %s of type %d: element %d of %d, forms %d %d", isa[k],
                                 binary[t].name, (int)dt, i, n, cs0, cs1);
                }
            }
        }
}

/* What must hold by name. */
static void edges(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    const int ni = test_isas(isa);
    static const struct {
        int alg;
        int64_t x, y, s64, s32, s8;
    } rows[] = {
        {DTP_ALG_add, 9007199254740993, 1, 9007199254740994, 2, 2},
        {DTP_ALG_add, INT64_MAX, 1, INT64_MIN, 0, 0},
        {DTP_ALG_sub, INT32_MIN, 1, (int64_t)INT32_MIN - 1, INT32_MAX, -1},
        {DTP_ALG_mul, 65536, 65537, 4295032832, 65536, 0},
        {DTP_ALG_div, INT64_MIN, -1, INT64_MIN, 0, 0},
        {DTP_ALG_div, INT32_MIN, -1, 2147483648, INT32_MIN, 0},
        {DTP_ALG_div, INT8_MIN, -1, 128, 128, INT8_MIN},
        {DTP_ALG_div, -7, 2, -3, -3, -3},
        {DTP_ALG_div, 7, 0, 0, 0, 0},
        {DTP_ALG_max, 9007199254740993, 9007199254740992, 9007199254740993, 1, 1},
        {DTP_ALG_eq, 9007199254740993, 9007199254740992, 0, 0, 0},
    };
    for (int k = 0; k < ni; ++k)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
            int64_t x = rows[i].x, y = rows[i].y, z = 0;
            int32_t x4 = (int32_t)x, y4 = (int32_t)y, z4 = 0;
            int8_t x1 = (int8_t)x, y1 = (int8_t)y, z1 = 0;
            dtp_binary_args_t a = {.x0 = &x, .x1 = &y, .y = &z, .rows = 1, .cols = 1, .cs0 = 1, .cs1 = 1};
            const int f = dtp_ew_binary(rows[i].alg);
            dtp_exact(isa[k], dnnl_tp_s64)->binary[f](&a);
            assert_int_equal(z, rows[i].s64);
            a.x0 = &x4, a.x1 = &y4, a.y = &z4;
            dtp_exact(isa[k], dnnl_tp_s32)->binary[f](&a);
            assert_int_equal(z4, (int32_t)rows[i].s32);
            a.x0 = &x1, a.x1 = &y1, a.y = &z1;
            dtp_exact(isa[k], dnnl_tp_s8)->binary[f](&a);
            assert_int_equal(z1, (int8_t)rows[i].s8);
        }
}

/* A table has a function where the types say so, and nowhere else. */
static void tables_are_whole(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64,  dnnl_tp_s32,
                                                dnnl_tp_s8,  dnnl_tp_u8,   dnnl_tp_boolean,
                                                dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16};
    static const int algs[] = {
#define DTP_EW1(name, number, ...) DTP_ALG_##name,
#define DTP_EW2(name, number, ...) DTP_ALG_##name,
#define DTP_EW3(name, number, ...) DTP_ALG_##name,
#include "common/base/elementwise.inc"
    };
    unsigned isa[TEST_ISAS];
    const int ni = test_isas(isa);
    for (int k = 0; k < ni; ++k)
        for (size_t i = 0; i < sizeof algs / sizeof *algs; ++i)
            for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
                const int one = dtp_ew_unary(algs[i]), two = dtp_ew_binary(algs[i]);
                assert_true((one >= 0) != (two >= 0));
                const dtp_exact_t *e = dtp_exact(isa[k], types[t]);
                const dtp_vops_t *v = dtp_vops(isa[k]);
                bool have = one >= 0 ? e->eltwise[one] != NULL : e->binary[two] != NULL;
                if (t >= 6) have = one >= 0 ? v->eltwise[one] != NULL : v->binary[two] != NULL;
                assert_int_equal(have, dtp_ew_takes(algs[i], types[t]));
            }
    assert_int_equal(dtp_ew_unary(dnnl_tp_binary_add), -1);
    assert_int_equal(dtp_ew_binary(dnnl_tp_eltwise_relu), -1);
    assert_false(dtp_ew_takes(0, dnnl_tp_f32));
    assert_false(dtp_ew_takes(dnnl_tp_binary_add, dnnl_tp_data_type_undef));
    assert_false(dtp_alg_is_eltwise((dnnl_tp_alg_kind_t)DTP_ALG_erf));
    assert_false(dtp_alg_is_binary((dnnl_tp_alg_kind_t)DTP_ALG_squared_difference));
    assert_true(dtp_alg_is_eltwise(dnnl_tp_eltwise_clip_v2_use_dst_for_bwd));
    assert_true(dtp_alg_is_binary(dnnl_tp_binary_select));
}

/* ---- f32 ----------------------------------------------------------------------------------------------- */

#define VALUE(name, scalar) \
    case DTP_EW_##name:     \
        return scalar
#define ANY_VALUE(name, scalar) VALUE(name, scalar);
static double scalar1(int index, double x, double a, double b) {
    switch (index) {
#define DTP_EW1(name, number, types, ns, unroll, vector, scalar) DTP_EW_F32_##types(ANY_VALUE, name, scalar)
#include "common/base/elementwise.inc"
    default: return NAN;
    }
}
static double scalar2(int index, double x, double y) {
    switch (index) {
#define DTP_EW2(name, number, types, vector, scalar) DTP_EW_F32_##types(ANY_VALUE, name, scalar)
#include "common/base/elementwise.inc"
    default: return NAN;
    }
}

static bool near(float got, double want) {
    if (isnan(want)) return isnan(got);
    return got == (float)want || fabs((double)got - want) <= 4e-6 * fabs(want) + 1e-7;
}

/* The vector and the scalar form of a row are the same function. */
static void both_forms_agree(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    const int ni = test_isas(isa);
    static float x[MAX], y[MAX], z[MAX];
    for (int i = 0; i < MAX; ++i) {
        x[i] = (float)((double)(int64_t)rnd() / 1e18);
        y[i] = i % 4 ? (float)((double)(int64_t)rnd() / 3e18) : x[i];
        if (i % 16 == 0) x[i] = i % 32 ? 0.f : NAN;
    }
    for (int k = 0; k < ni; ++k) {
        for (int f = 0; f < DTP_EW_NUNARY; ++f) {
            const dtp_eltwise_fn_t fn = dtp_vops(isa[k])->eltwise[f];
            for (int p = 0; fn && p < 4; ++p) {
                const float alpha = p % 2                   ? .5f
                                    : f == DTP_EW_soft_relu ? 1.f
                                                            : 0.f,
                            beta = p / 2 ? 2.f : .75f;
                fn(&(dtp_eltwise_args_t){
                    .x = x, .y = z, .rows = 1, .cols = MAX, .alpha = alpha, .beta = beta});
                for (int i = 0; i < MAX; ++i)
                    if (!near(z[i], scalar1(f, (double)x[i], (double)alpha, (double)beta)))
                        fail_msg("isa %u function %d, alpha %g beta %g: %g gives %g", isa[k], f,
                                 (double)alpha, (double)beta, (double)x[i], (double)z[i]);
            }
        }
        for (int f = 0; f < DTP_EW_NBINARY; ++f) {
            const dtp_binary_fn_t fn = dtp_vops(isa[k])->binary[f];
            if (!fn || f == DTP_EW_select) continue;
            fn(&(dtp_binary_args_t){.x0 = x, .x1 = y, .y = z, .rows = 1, .cols = MAX, .cs0 = 1, .cs1 = 1});
            for (int i = 0; i < MAX; ++i)
                if (!near(z[i], scalar2(f, (double)x[i], (double)y[i])))
                    fail_msg("isa %u function %d of two: %g, %g give %g", isa[k], f, (double)x[i],
                             (double)y[i], (double)z[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unary),      cmocka_unit_test(ends_of_f64),
        cmocka_unit_test(every_binary),     cmocka_unit_test(edges),
        cmocka_unit_test(tables_are_whole), cmocka_unit_test(both_forms_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
