/* The vector tables of every instruction set against double libm: eltwise, binary, conversions. Values run
 * over random bit patterns, a dense range around zero and special points; row lengths over all tails. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/primitive/engine.h"
#include "common/base/elementwise.h"
#include "common/base/half.h"
#include "cpu/simd/vops.h"
#include "support/isas.h"

enum { N = 1 << 16 };
static float x_[N + 64], y_[N + 64], z_[N + 64];
static uint64_t seed = 88172645463325252ull;
static uint32_t rnd(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

static double ref(int alg, double s, double a, double b) {
    switch (alg) {
    case dnnl_tp_eltwise_relu: return s > 0 ? s : a == 0 ? (s != s ? s : 0) : a * s;
    case dnnl_tp_eltwise_tanh: return tanh(s);
    case dnnl_tp_eltwise_elu: return s > 0 ? s : a * expm1(s);
    case dnnl_tp_eltwise_square: return s * s;
    case dnnl_tp_eltwise_abs: return fabs(s);
    case dnnl_tp_eltwise_sqrt: return sqrt(s);
    case dnnl_tp_eltwise_linear: return a * s + b;
    case dnnl_tp_eltwise_soft_relu: return a * s > 40 ? s : log1p(exp(a * s)) / a;
    case dnnl_tp_eltwise_hardsigmoid: return fmin(1, fmax(0, a * s + b));
    case dnnl_tp_eltwise_logistic: return 1 / (1 + exp(-s));
    case dnnl_tp_eltwise_exp: return exp(s);
    case dnnl_tp_eltwise_gelu_tanh:
        return s / (1 + exp(-2 * 0.79788456080286535588 * (s + 0.044715 * s * s * s)));
    case dnnl_tp_eltwise_swish: return s / (1 + exp(-a * s));
    case dnnl_tp_eltwise_log: return log(s);
    case dnnl_tp_eltwise_clip:
    case dnnl_tp_eltwise_clip_v2: return fmin(fmax(s, a), b);
    case dnnl_tp_eltwise_pow: return a * pow(s, b);
    case dnnl_tp_eltwise_gelu_erf: return 0.5 * s * erfc(-s * 0.70710678118654752440);
    case dnnl_tp_eltwise_round: return nearbyint(s);
    case dnnl_tp_eltwise_mish: return s * tanh(log1p(exp(s)));
    default: return s * fmin(1, fmax(0, a * s + b)); /* hardswish */
    }
}

/* ulp: bound on |got - want| in units of want's last place, plus tiny for results near the bottom of the
 * range (where the formula itself loses the argument's digits) and the rounding of alpha * s + beta. */
static const struct {
    int alg;
    float a, b;
    double lo, hi, ulp, tiny;
} algs[] = {
    {dnnl_tp_eltwise_relu, 0.f, 0.f, -100, 100, 0, 0},
    {dnnl_tp_eltwise_relu, 0.25f, 0.f, -100, 100, 0.5, 0},
    {dnnl_tp_eltwise_tanh, 0.f, 0.f, -12, 12, 6, 0},
    {dnnl_tp_eltwise_elu, 1.f, 0.f, -40, 10, 3, 0},
    {dnnl_tp_eltwise_elu, 0.7f, 0.f, -40, 10, 3.5, 0},
    {dnnl_tp_eltwise_square, 0.f, 0.f, -100, 100, 0.5, 0},
    {dnnl_tp_eltwise_abs, 0.f, 0.f, -100, 100, 0, 0},
    {dnnl_tp_eltwise_sqrt, 0.f, 0.f, 0, 100, 0.5, 0},
    {dnnl_tp_eltwise_linear, 1.5f, -0.25f, -100, 100, 1, 1e-8},
    {dnnl_tp_eltwise_soft_relu, 1.f, 0.f, -105, 90, 6, 1.2e-38},
    {dnnl_tp_eltwise_soft_relu, -2.f, 0.f, -40, 50, 6, 1.2e-38},
    {dnnl_tp_eltwise_hardsigmoid, 0.2f, 0.5f, -10, 10, 1, 4e-8},
    {dnnl_tp_eltwise_logistic, 0.f, 0.f, -105, 90, 6, 1.2e-38},
    {dnnl_tp_eltwise_exp, 0.f, 0.f, -105, 90, 1.5, 1e-44},
    {dnnl_tp_eltwise_gelu_tanh, 0.f, 0.f, -6, 12, 12, 1e-8},
    {dnnl_tp_eltwise_swish, 1.f, 0.f, -80, 90, 6, 1.2e-36},
    {dnnl_tp_eltwise_swish, 1.702f, 0.f, -10, 30, 4, 1e-8},
    {dnnl_tp_eltwise_log, 0.f, 0.f, 0, 100, 2, 0},
    {dnnl_tp_eltwise_clip, -2.f, 3.f, -10, 10, 0, 0},
    {dnnl_tp_eltwise_clip_v2, 0.f, 6.f, -10, 10, 0, 0},
    {dnnl_tp_eltwise_pow, 1.f, 2.f, -10, 10, 0.5, 0},
    {dnnl_tp_eltwise_pow, 2.f, 0.f, -10, 10, 0, 0},
    {dnnl_tp_eltwise_pow, 2.f, 1.f, -10, 10, 0.5, 0},
    {dnnl_tp_eltwise_pow, 1.f, 3.f, -10, 10, 1.5, 0},
    {dnnl_tp_eltwise_pow, 1.f, 0.5f, 0, 100, 0.5, 0},
    {dnnl_tp_eltwise_pow, 1.f, -1.f, -10, 10, 0.5, 0},
    {dnnl_tp_eltwise_pow, 1.f, -2.f, -100, 100, 2, 0},
    {dnnl_tp_eltwise_pow, 1.f, 5.f, -100, 100, 2, 0},
    {dnnl_tp_eltwise_pow, 0.5f, 1.7f, 0, 100, 2, 0},
    {dnnl_tp_eltwise_pow, 1.f, -3.3f, 0, 100, 2, 0},
    {dnnl_tp_eltwise_pow, 1.f, 23.75f, 0, 40, 3, 0},
    {dnnl_tp_eltwise_gelu_erf, 0.f, 0.f, -12, 12, 8, 1e-36},
    {dnnl_tp_eltwise_round, 0.f, 0.f, -100, 100, 0, 0},
    {dnnl_tp_eltwise_mish, 0.f, 0.f, -80, 30, 6, 1.2e-36},
    {dnnl_tp_eltwise_hardswish, 0.1666667f, 0.5f, -10, 10, 1.5, 2e-7},
};

static void fill(int n, double lo, double hi) {
    static const float special[] = {0.f,     -0.f,   1.f,    -1.f,  0.5f,  -0.5f,  1e-40f, -1e-40f, 1e-30f,
                                    -1e-30f, 1e-10f, -1e-6f, 87.f,  -87.f, 88.8f,  -88.f,  -103.f,  4.f,
                                    -4.f,    2.5f,   3.5f,   -2.5f, 1e30f, -1e30f, 3e38f,  -3e38f};
    int ns = (int)(sizeof(special) / sizeof(*special));
    for (int i = 0; i < n; ++i) {
        double u = rnd() / 4294967296.0;
        if (i < ns) x_[i] = special[i];
        else if (i % 4 == 0) x_[i] = (float)(ldexp(u + 1, -(int)(rnd() % 40)) * (rnd() & 1 ? 1 : -1));
        else x_[i] = (float)(lo + (hi - lo) * u);
    }
}

/* Distance in units of the last place of want (f32). */
static double ulps(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0 : 1e30;
    float w = (float)want;
    if (isinf(w)) return got == w || fabsf(got) > 3.4028e38f ? 0 : 1e30;
    if (isinf(got) && fabs(want) > 1.5e38) return 0; /* alpha * s overflows before the end */
    if (isnan(got) || isinf(got)) return 1e30;
    double u = ldexp(1, (int)fmax(-149, (w == 0 ? -149 : ilogbf(w) - 23)));
    return fabs((double)got - want) / u;
}

static void eltwise_accuracy(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    int ni = test_isas(isa), failures = 0;
    for (int k = 0; k < ni; ++k)
        for (size_t t = 0; t < sizeof(algs) / sizeof(*algs); ++t) {
            fill(N, algs[t].lo, algs[t].hi);
            dtp_eltwise_fn_t fn = dtp_vops_eltwise(dtp_vops(isa[k]), algs[t].alg);
            dtp_eltwise_args_t a = {.x = x_,
                                    .y = y_,
                                    .ldx = N,
                                    .ldy = N,
                                    .rows = 1,
                                    .cols = N,
                                    .alpha = algs[t].a,
                                    .beta = algs[t].b};
            fn(&a);
            double worst = 0, at = 0;
            for (int i = 0; i < N; ++i) {
                if (algs[t].alg == dnnl_tp_eltwise_pow && x_[i] < 0 && algs[t].b != (int)algs[t].b) continue;
                double want = ref(algs[t].alg, x_[i], algs[t].a, algs[t].b), u = ulps(y_[i], want);
                if (u < 1e29 && fabs(y_[i] - want) <= algs[t].tiny) continue;
                /* Beyond the tested range the formulas are ill-conditioned; only sanity there. */
                if ((x_[i] < algs[t].lo || x_[i] > algs[t].hi) && fabs(want) < 1e-30 && fabsf(y_[i]) < 1e-30f)
                    continue;
                if (u > worst) worst = u, at = x_[i];
            }
            if (getenv("DNNL_TP_TEST_PRINT") || worst > algs[t].ulp)
                printf("isa %u alg %d a %g b %g: %.2f ulp at %.9g\n", isa[k], algs[t].alg, algs[t].a,
                       algs[t].b, worst, at);
            failures += worst > algs[t].ulp;
        }
    assert_int_equal(failures, 0);
}

/* What the functions promise (vmath.h) over all exponents and both signs, and densely where exponentials leave the range.
 * slope: units for each unit of the exponential's argument, which is rounded before. */
static const struct {
    int alg;
    float a, b;
    double ulp, slope;
} promises[] = {
    {dnnl_tp_eltwise_relu, .25f, 0.f, .5, 0},
    {dnnl_tp_eltwise_tanh, 0.f, 0.f, 6, 0},
    {dnnl_tp_eltwise_elu, 1.f, 0.f, 4, 0},
    {dnnl_tp_eltwise_elu, 1e-3f, 0.f, 4, 0},
    {dnnl_tp_eltwise_soft_relu, 1.f, 0.f, 6, 0},
    {dnnl_tp_eltwise_soft_relu, .25f, 0.f, 6, 0},
    {dnnl_tp_eltwise_soft_relu, -2.f, 0.f, 6, 0},
    {dnnl_tp_eltwise_soft_relu, 1e-3f, 0.f, 6, 1},
    {dnnl_tp_eltwise_soft_relu, 3e30f, 0.f, 6, 1},
    {dnnl_tp_eltwise_soft_relu, -3e-30f, 0.f, 6, 1},
    {dnnl_tp_eltwise_logistic, 0.f, 0.f, 6, 0},
    {dnnl_tp_eltwise_exp, 0.f, 0.f, 4, 0},
    {dnnl_tp_eltwise_gelu_tanh, 0.f, 0.f, 12, 4},
    {dnnl_tp_eltwise_swish, 1.f, 0.f, 6, 0},
    {dnnl_tp_eltwise_swish, -.5f, 0.f, 6, 0},
    {dnnl_tp_eltwise_swish, 1.702f, 0.f, 6, 1},
    {dnnl_tp_eltwise_swish, 1e-3f, 0.f, 6, 1},
    {dnnl_tp_eltwise_swish, 3e-37f, 0.f, 6, 1},
    {dnnl_tp_eltwise_swish, 1e20f, 0.f, 6, 1},
    {dnnl_tp_eltwise_log, 0.f, 0.f, 4, 0},
    {dnnl_tp_eltwise_gelu_erf, 0.f, 0.f, 8, 0},
    {dnnl_tp_eltwise_mish, 0.f, 0.f, 6, 0},
    {DTP_ALG_erf, 0.f, 0.f, 4, 0},
};

/* Results below all normal numbers keep the digits that there are. */
static bool keeps_denormals(int alg) {
    return alg == dnnl_tp_eltwise_relu || alg == dnnl_tp_eltwise_tanh || alg == dnnl_tp_eltwise_elu ||
           alg == dnnl_tp_eltwise_exp || alg == DTP_ALG_erf;
}

/* The size of the argument of its exponential. */
static double argument(int alg, double s, double a) {
    if (alg == dnnl_tp_eltwise_gelu_tanh) return fabs(1.5957691216057308 * s * (1 + .044715 * s * s));
    return fabs(a * s);
}

static void eltwise_promises(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    const double least = ldexp(1, -126);
    int ni = test_isas(isa), failures = 0;
    for (size_t t = 0; t < sizeof promises / sizeof *promises; ++t) {
        const int alg = promises[t].alg;
        const double a = (double)promises[t].a, scale = alg >= dnnl_tp_eltwise_soft_relu && a != 0 ? a : 1;
        /* Half: every exponent with 64 mantissas; the other half: alpha x from -200 to 200. */
        for (int i = 0; i < N; ++i) {
            const uint32_t low = i & 127 ? rnd() & 0x7fffffu : 0;
            x_[i] = i < N / 2 ? dtp_bits_f32((uint32_t)(i >> 6) << 23 | low)
                              : (float)((-200 + 400. * (i - N / 2) / (N / 2)) / scale);
            if (!isfinite(x_[i])) x_[i] = 0;
        }
        /* What finite numbers may raise; products with a large alpha overflow, and so does exp. */
        const bool may_overflow = fabs(a) > 1 || alg == dnnl_tp_eltwise_exp;
        const int watched = FE_INVALID | FE_DIVBYZERO | (may_overflow ? 0 : FE_OVERFLOW);
        for (int k = 0; k < ni; ++k) {
            const dtp_eltwise_args_t e = {.x = x_,
                                          .y = y_,
                                          .ldx = N,
                                          .ldy = N,
                                          .rows = 1,
                                          .cols = N,
                                          .alpha = promises[t].a,
                                          .beta = promises[t].b};
            feclearexcept(FE_ALL_EXCEPT);
            dtp_vops_eltwise(dtp_vops(isa[k]), alg)(&e);
            const int flags = alg == dnnl_tp_eltwise_log ? 0 : fetestexcept(watched);
            if (flags) printf("isa %u alg %d a %g raises %x\n", isa[k], alg, a, (unsigned)flags);
            failures += flags != 0;
            double worst = 0, at = 0;
            for (int i = 0; i < N; ++i) {
                const double s = (double)x_[i], got = (double)y_[i],
                             want = alg == DTP_ALG_erf ? erf(s) : ref(alg, s, a, (double)promises[t].b);
                double u = ulps(y_[i], want);
                if (fabs(want) < least && !keeps_denormals(alg)) /* of the right sign, or 0 */
                    u = fabs(got) <= least && got * want >= 0 ? 0 : 1e30;
                const double rounded = promises[t].slope * fmin(argument(alg, s, a), 200);
                if (u - rounded > worst) worst = u - rounded, at = s;
            }
            if (getenv("DNNL_TP_TEST_PRINT") || worst > promises[t].ulp)
                printf("isa %u alg %d a %g: %.2f ulp at %.9g\n", isa[k], alg, a, worst, at);
            failures += worst > promises[t].ulp;
        }
    }
    assert_int_equal(failures, 0);
}

static void eltwise_special(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    int ni = test_isas(isa);
    const float inf = INFINITY;
    for (int k = 0; k < ni; ++k)
        for (int alg = dnnl_tp_eltwise_relu; alg <= dnnl_tp_eltwise_hardswish; ++alg) {
            dtp_eltwise_fn_t fn = dtp_vops_eltwise(dtp_vops(isa[k]), alg);
            float a = 1.f, b = alg == dnnl_tp_eltwise_pow ? 2.5f : 2.f;
            for (int i = 0; i < 64; ++i) x_[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? inf : -inf;
            dtp_eltwise_args_t e = {
                .x = x_, .y = y_, .ldx = 64, .ldy = 64, .rows = 1, .cols = 64, .alpha = a, .beta = b};
            fn(&e);
            for (int i = 0; i < 64; ++i) {
                double want = ref(alg, x_[i], a, b);
                if (isnan(x_[i])) {
                    if (!isnan(y_[i])) printf("isa %u alg %d: nan gives %g\n", isa[k], alg, y_[i]);
                    assert_true(isnan(y_[i]));
                } else if (!isnan(want)) {
                    if (y_[i] != (float)want)
                        printf("isa %u alg %d: %g gives %g, not %g\n", isa[k], alg, x_[i], y_[i], want);
                    assert_true(y_[i] == (float)want);
                }
            }
        }
}

/* A result has the same bits whatever stands beside it and wherever it stands. */
static void eltwise_neighbours(void **state) {
    (void)state;
    enum { LEN = 77 };
    unsigned isa[TEST_ISAS];
    const int ni = test_isas(isa);
    for (int k = 0; k < ni; ++k)
        for (int alg = dnnl_tp_eltwise_relu; alg <= dnnl_tp_eltwise_hardswish; ++alg)
            for (int turn = 0; turn < 24; ++turn) {
                const dtp_eltwise_fn_t fn = dtp_vops_eltwise(dtp_vops(isa[k]), alg);
                const float alpha = turn & 1 ? -.75f : 1.f;
                for (int i = 0; i < LEN; ++i) {
                    const float size = i % 8 == turn % 8 ? 200 : 8; /* some far ones */
                    x_[i] = size * ((float)rnd() / 0x1p31f - 1);
                }
                dtp_eltwise_args_t e = {.x = x_,
                                        .y = y_,
                                        .ldx = LEN,
                                        .ldy = LEN,
                                        .rows = 1,
                                        .cols = LEN,
                                        .alpha = alpha,
                                        .beta = 2.f};
                fn(&e);
                for (int i = 0; i < LEN; ++i) {
                    const dtp_eltwise_args_t one = {.x = x_ + i,
                                                    .y = z_ + i,
                                                    .ldx = 1,
                                                    .ldy = 1,
                                                    .rows = 1,
                                                    .cols = 1,
                                                    .alpha = alpha,
                                                    .beta = 2.f};
                    fn(&one);
                }
                if (memcmp(y_, z_, LEN * sizeof(float))) printf("isa %u alg %d\n", isa[k], alg);
                assert_memory_equal(y_, z_, LEN * sizeof(float));
            }
}

/* Every tail, two rows with gaps, in place; nothing outside is touched. */
static void eltwise_tails(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    int ni = test_isas(isa);
    for (int k = 0; k < ni; ++k)
        for (int alg = dnnl_tp_eltwise_relu; alg <= dnnl_tp_eltwise_hardswish; ++alg)
            for (int n = 0; n < 70; ++n)
                for (int stream = 0; stream < 2; ++stream) {
                    dtp_eltwise_fn_t fn = dtp_vops_eltwise(dtp_vops(isa[k]), alg);
                    for (int i = 0; i < 3 * 80; ++i)
                        x_[i] = 0.01f * (float)(i + 1), y_[i] = -7.f, z_[i] = -7.f;
                    dtp_eltwise_args_t e = {.x = x_ + 1,
                                            .y = y_ + 1,
                                            .ldx = 80,
                                            .ldy = 80,
                                            .rows = 2,
                                            .cols = n,
                                            .alpha = 0.5f,
                                            .beta = 1.25f,
                                            .stream = stream};
                    fn(&e);
                    for (int i = 0; i < 2; ++i)
                        for (int j = 0; j < n; ++j) {
                            dtp_eltwise_args_t one = {.x = x_ + 1 + i * 80 + j,
                                                      .y = z_ + 1 + i * 80 + j,
                                                      .ldx = 1,
                                                      .ldy = 1,
                                                      .rows = 1,
                                                      .cols = 1,
                                                      .alpha = 0.5f,
                                                      .beta = 1.25f};
                            fn(&one);
                        }
                    assert_memory_equal(y_, z_, 240 * sizeof(float));
                }
}

static void binary_all(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    int ni = test_isas(isa);
    for (int k = 0; k < ni; ++k)
        for (int alg = dnnl_tp_binary_add; alg <= dnnl_tp_binary_select; ++alg)
            for (int n = 1; n < 70; n += 3)
                for (int form = 0; form < 4; ++form) {
                    int cs0 = form & 1, cs1 = form >> 1;
                    for (int i = 0; i < 300; ++i)
                        x_[i] = (float)(int)(rnd() % 9) - 4.f, z_[i] = (float)(int)(rnd() % 9) - 4.f,
                        y_[i] = 99.f;
                    float *cond = x_ + 1000;
                    for (int i = 0; i < 300; ++i) cond[i] = (float)(rnd() & 1);
                    dtp_binary_args_t a = {.x0 = x_,
                                           .x1 = z_,
                                           .cond = cond,
                                           .y = y_,
                                           .ld0 = 71,
                                           .ld1 = 72,
                                           .ldc = 73,
                                           .ldy = 74,
                                           .rows = 3,
                                           .cols = n,
                                           .cs0 = cs0,
                                           .cs1 = cs1,
                                           .csc = 1};
                    dtp_vops_binary(dtp_vops(isa[k]), alg)(&a);
                    for (int i = 0; i < 3; ++i) {
                        for (int j = 0; j < n; ++j) {
                            float p = x_[i * 71 + j * cs0], q = z_[i * 72 + j * cs1], w = 0;
                            switch (alg) {
                            case dnnl_tp_binary_add: w = p + q; break;
                            case dnnl_tp_binary_mul: w = p * q; break;
                            case dnnl_tp_binary_max: w = p > q ? p : q; break;
                            case dnnl_tp_binary_min: w = p < q ? p : q; break;
                            case dnnl_tp_binary_div: w = p / q; break;
                            case dnnl_tp_binary_sub: w = p - q; break;
                            case dnnl_tp_binary_ge: w = p >= q; break;
                            case dnnl_tp_binary_gt: w = p > q; break;
                            case dnnl_tp_binary_le: w = p <= q; break;
                            case dnnl_tp_binary_lt: w = p < q; break;
                            case dnnl_tp_binary_eq: w = p == q; break;
                            case dnnl_tp_binary_ne: w = p != q; break;
                            default: w = cond[i * 73 + j] != 0 ? p : q; break;
                            }
                            assert_true(y_[i * 74 + j] == w || (isnan(w) && isnan(y_[i * 74 + j])));
                        }
                        assert_true(y_[i * 74 + n] == 99.f);
                    }
                }
}

static void conversions(void **state) {
    (void)state;
    unsigned isa[TEST_ISAS];
    int ni = test_isas(isa);
    static uint16_t h[N], g[N + 8];
    static int8_t b[N + 8];
    static int32_t w[N + 8];
    for (int k = 0; k < ni; ++k) {
        const dtp_vops_t *v = dtp_vops(isa[k]);
        for (int i = 0; i < N; ++i) h[i] = (uint16_t)i;
        /* All 16-bit patterns there and back; the portable form is the other side. */
        v->load[dnnl_tp_f16](y_, h, N, 1);
        for (int i = 0; i < N; ++i) assert_true(dtp_f32_bits(y_[i]) == dtp_f32_bits(dtp_f16_to_f32(h[i])));
        v->store[dnnl_tp_f16](g, y_, N, 1);
        for (int i = 0; i < N; ++i) assert_true(g[i] == h[i] || isnan(y_[i]));
        v->load[dnnl_tp_bf16](y_, h, N, 1);
        v->store[dnnl_tp_bf16](g, y_, N, 1);
        for (int i = 0; i < N; ++i) assert_true(g[i] == h[i] || (isnan(y_[i]) && (g[i] & 0x7fff) > 0x7f80));
        /* Random floats against double arithmetic. */
        for (int i = 0; i < N; ++i) {
            x_[i] = i & 1 ? dtp_bits_f32(rnd())
                          : (float)((rnd() % 2000000) / 1000.0 - 1000.0) * (i & 2 ? 1.f : 0.25f);
            if (i < 1024) x_[i] = (float)(i - 512) * 0.5f;
        }
        v->store[dnnl_tp_f16](g, x_, N, 1);
        for (int i = 0; i < N; ++i) {
            if (isnan(x_[i])) {
                assert_true((g[i] & 0x7fff) > 0x7c00);
                continue;
            }
            double a = fabs(x_[i]),
                   q = a >= 65520 ? INFINITY
                                  : ldexp(nearbyint(ldexp(a, 24 - (int)fmax(0, (a > 0 ? ilogb(a) : 0) + 14))),
                                          (int)fmax(0, (a > 0 ? ilogb(a) : 0) + 14) - 24);
            assert_true(dtp_f16_to_f32(g[i]) == (float)copysign(q, x_[i]));
            assert_true(g[i] == dtp_f32_to_f16(x_[i]));
        }
        v->store[dnnl_tp_bf16](g, x_, N, 1);
        for (int i = 0; i < N; ++i) assert_int_equal(g[i], dtp_f32_to_bf16(x_[i]));
        for (int n = 0; n < 180; n += n < 40 ? 1 : 45) /* strided ones in chunks of 64 */
            for (int64_t st = 1; st <= 3; st += 2) {
                memset(b, 77, sizeof b), memset(w, 77, sizeof w);
                const float *x = x_ + n * 17;
                v->store[dnnl_tp_s8](b, x, n, st);
                for (int i = 0; i < n; ++i) {
                    double r = nearbyint(fmin(127, fmax(-128, isnan(x[i]) ? 0 : x[i])));
                    assert_int_equal(b[i * st], (int)r);
                }
                assert_int_equal(b[n * st], 77);
                v->store[dnnl_tp_u8](b, x, n, st);
                for (int i = 0; i < n; ++i) {
                    double r = nearbyint(fmin(255, fmax(0, isnan(x[i]) ? 0 : x[i])));
                    assert_int_equal((uint8_t)b[i * st], (int)r);
                }
                assert_int_equal(b[n * st], 77);
                v->store[dnnl_tp_s32](w, x, n, st);
                for (int i = 0; i < n; ++i) {
                    double r = nearbyint(fmin(2147483647., fmax(-2147483648., isnan(x[i]) ? 0 : x[i])));
                    assert_true(w[i * st] == (int32_t)r);
                }
                for (int i = 0; i < 600; ++i) b[i] = (int8_t)rnd(), w[i] = (int32_t)rnd();
                v->load[dnnl_tp_s8](y_, b, n, st);
                for (int i = 0; i < n; ++i) assert_true(y_[i] == (float)b[i * st]);
                v->load[dnnl_tp_u8](y_, b, n, st);
                for (int i = 0; i < n; ++i) assert_true(y_[i] == (float)(uint8_t)b[i * st]);
                v->load[dnnl_tp_s32](y_, w, n, st);
                for (int i = 0; i < n; ++i) assert_true(y_[i] == (float)w[i * st]);
                v->load[dnnl_tp_f32](y_, x_, n, st);
                for (int i = 0; i < n; ++i) assert_true(dtp_f32_bits(y_[i]) == dtp_f32_bits(x_[i * st]));
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eltwise_accuracy),   cmocka_unit_test(eltwise_promises),
        cmocka_unit_test(eltwise_special),    cmocka_unit_test(eltwise_tails),
        cmocka_unit_test(eltwise_neighbours), cmocka_unit_test(binary_all),
        cmocka_unit_test(conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
