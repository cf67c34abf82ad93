/* Elementary functions on vectors of f32; include one of vec_*.h first.
 *
 * Every function takes any input: NaN stays NaN, infinities are as in libm. Errors of results that are normal
 * numbers stay below 4 units in the last place (tanh, logistic, swish, mish, soft_relu 6, gelu_erf 8, gelu_tanh
 * 12), measured by tests/unit/test_vops.c against double libm over all exponents. What goes into an exponential
 * is rounded before, which adds up to |alpha x| units to swish and soft_relu (none where alpha is a power of 2),
 * and 4 times the size of its argument to gelu_tanh. Of results below 2^-126, exp, tanh, erf and elu
 * keep the digits that there are, the others may be any number of the right sign below that, or 0.
 * Polynomials, rationals and the table are minimax fits of our own (Lawson iterations, relative error). */
#ifndef DTP_CPU_SIMD_VMATH_H
#define DTP_CPU_SIMD_VMATH_H

/* The polynomial of x with these coefficients, that of the highest power first, by Horner's scheme. */
#define V_POLY(x, ...)                                         \
    ({                                                         \
        static const float coef_[] = {__VA_ARGS__};            \
        v_poly(x, coef_, (int)(sizeof coef_ / sizeof *coef_)); \
    })
V_INLINE vf v_poly(vf x, const float *coef, const int n) {
    vf p = v_set1(coef[0]);
#pragma GCC unroll 16
    for (int i = 1; i < n; ++i) p = v_fma(p, x, v_set1(coef[i]));
    return p;
}

/* ---- Exponentials ------------------------------------------------------------------------------------ */

/* exp(r) for |r| <= ln(2) / 2. */
V_INLINE vf v_exp_poly(vf r) {
    return V_POLY(r, 0.00138436537f, 0.0083741555f, 0.0416680016f, 0.166664317f, 0.49999994f, 1.f, 1.f);
}
/* x - n ln 2 in two steps; n < 2^9. */
V_INLINE vf v_exp_reduce(vf x, vf n) {
    vf r = v_fnma(n, v_set1(0.693147182f), x);
    return v_fma(n, v_set1(1.90465421e-9f), r);
}
/* x log2(e) to the nearest integer. */
V_INLINE vf v_exp_power(vf x) {
    return v_sub(v_fma(x, v_set1(1.44269504f), v_set1(V_WHOLE)), v_set1(V_WHOLE));
}
V_INLINE vf v_exp(vf x) {
    x = v_max(v_set1(-105.f), v_min(v_set1(89.5f), x));
    const vf n = v_exp_power(x);
    return v_scale2(v_exp_poly(v_exp_reduce(x, n)), n);
}
/* exp(r) for |r| <= ln(2) / 2, relative error 2^-22. */
V_INLINE vf v_exp_poly_quick(vf r) {
    return V_POLY(r, 0.00829031505f, 0.0418979302f, 0.166676357f, 0.499991506f, 0.999999702f, 1.f);
}
/* exp for x < 88 with a relative error that grows to 2^-22 near |x| = 80; results below 2^-126 may be 0, and those of
 * -inf and of the least numbers are. */
V_INLINE vf v_exp_neg(vf x) {
    vm lanes;
    vf n, r = v_exp_split(x, &n, &lanes);
    return v_exp_join(v_exp_poly_quick(r), n, lanes);
}
/* 2^x, relative error 2^-22; any x, infinities included. */
V_INLINE vf v_exp2(vf x) {
    vf n, r = v_fraction(x, &n);
    vf p = V_POLY(r, 0.00187757669f, 0.00898933969f, 0.0558263175f, 0.240153611f, 0.693153083f, 0.99999994f);
    return v_scale2_near(p, n);
}
/* exp(x) - 1 for x <= 0, relative to its value. */
V_INLINE vf v_expm1_neg(vf x) {
    vf y = v_max(v_set1(-30.f), x);
    vf n = v_exp_power(y), r = v_exp_reduce(y, n);
    vf p = V_POLY(r, 0.00138825225f, 0.008366514f, 0.0416672006f, 0.166665435f, 0.49999997f);
    p = v_fma(v_mul(r, r), p, r);
    vf s = v_scale2_near(v_set1(1.f), n);
    return v_fma(s, p, v_sub(s, v_set1(1.f)));
}
/* 1 / (1 + exp(-x)); results below 2^-126 are 0. */
V_INLINE vf v_logistic(vf x) {
    const vf far = v_set1(87.3365402f), u = v_neg(x);
    return v_keep(v_not_le(far, u), v_div(v_set1(1.f), v_add(v_set1(1.f), v_exp_neg(v_min(far, u)))));
}
/* The lanes where exp(-u) may be no normal number though its product with a number is one. */
V_INLINE vm v_far(vf u) { return v_lt(v_set1(80.f), u); }
V_INLINE int v_none(vm m) { return __builtin_expect(!v_any(m), 1); }
/* x / (1 + exp(u)), in the lanes of `far` x exp(-u), but 0 beyond `most`. The other lanes have the
 * same bits as without far ones. No lane raises an exception. */
V_INLINE vf v_gate_far(vf x, vf u, vf most, vm far) {
    const vf v = v_max(v_set1(V_EXP_MIN), v_min(v_set1(177.f), u)), n = v_exp_power(v);
    const vf c = v_keep(far, v_set1(1.90465421e-9f)), r = v_fnma(n, v_set1(0.693147182f), v);
    const vf p = v_exp_poly_quick(v_fma(n, c, r)), e = v_scale2_near(p, v_min(v_set1(120.f), n));
    /* A far lane is z / p times 2^(4 - n): z is less than x, so that z / p is no more. */
    const vf z = v_mul_where(far, x, v_keep(v_le(u, most), v_set1(.0625f)), x);
    const vf y = v_div(z, v_sel(far, p, v_add(v_set1(1.f), e)));
    return v_scale2_down(y, v_keep(far, v_sub(v_set1(4.f), n)));
}
V_INLINE vf v_gate(vf x, vf u, vf most) {
    const vm far = v_far(u);
    if (v_none(far)) return v_div(x, v_add(v_set1(1.f), v_exp_neg(u)));
    return v_gate_far(x, u, most, far);
}
/* What the parameter alpha of swish and soft_relu says: -alpha, 1 / alpha, and the most -alpha x
 * whose result is a normal number, or somewhat more. */
typedef struct {
    vf minus, inverse, most;
} v_gate_t;
/* log2(|x|) or up to 0.0861 less, x a normal number. */
V_INLINE float v_log2_below(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return (float)(bits & 0x7fffffffu) * 0x1p-23f - 127.f;
}
/* is_gate: the result is x exp(alpha x) there, else exp(alpha x) / alpha. */
V_INLINE v_gate_t v_gate_load(float alpha, const int is_gate) {
    const float ln2 = .69314718f, one = 87.337f - ln2 * v_log2_below(alpha);
    float most = one;
    /* most = one + log(most), from above: it is below 177, as x is below 2^128. */
    if (is_gate) most += ln2 * (.0861f + v_log2_below(177.f));
    if (is_gate) most = one + ln2 * (.0861f + v_log2_below(most < 80.f ? 80.f : most));
    return (v_gate_t){v_set1(-alpha), v_set1(1.f / alpha), v_set1(most < 177.f ? most : 177.f)};
}

/* ---- Logarithms -------------------------------------------------------------------------------------- */

/* f^3 q(f) of log(1 + f) = f - f^2 / 2 + f^3 q(f), f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
V_INLINE vf v_log_tail(vf f, vf f2) {
    vf q = V_POLY(f, -0.0763449743f, 0.12761578f, -0.131601825f, 0.142017573f, -0.166233569f, 0.200012267f,
                  -0.250008196f, 0.333333313f);
    return v_mul(v_mul(f2, f), q);
}
/* x = 2^*e (1 + f) with f as above. */
V_INLINE vf v_log_split(vf x, vf *e) {
    vf m = v_split(x, e);
    vm high = v_lt(v_set1(1.41421354f), m);
    *e = v_add(*e, v_sel(high, v_set1(1.f), v_zero()));
    return v_sub(v_sel(high, v_mul(m, v_set1(0.5f)), m), v_set1(1.f));
}
V_INLINE vf v_log(vf x) {
    vf e, f = v_log_split(x, &e), f2 = v_mul(f, f);
    vf t = v_fma(e, v_set1(1.42860677e-6f), v_fnma(v_set1(0.5f), f2, v_log_tail(f, f2)));
    return v_log_special(x, v_fma(e, v_set1(0.693145752f), v_add(f, t)));
}
/* log(1 + u), 0 <= u <= 1, relative to its value. */
V_INLINE vf v_log1p01(vf u) {
    vf p = V_POLY(u, -0.003244024f, 0.0198514573f, -0.0569595248f, 0.106036536f, -0.153055921f, 0.196759388f,
                  -0.249541342f, 0.333299637f, -0.499999017f, 1.f);
    return v_mul(p, u);
}
/* log(1 + exp(a x)) / a */
V_INLINE vf v_soft_relu(vf x, const v_gate_t *a) {
    const vf u = v_mul(x, a->minus), above = v_keep(v_not_le(v_zero(), u), x); /* NaN of NaN */
    const vf y = v_fma(v_log1p01(v_exp_neg(v_neg(v_abs(u)))), a->inverse, above);
    const vm far = v_far(u);
    return v_none(far) ? y : v_sel(far, v_gate_far(a->inverse, u, a->most, far), y);
}
/* x^b for x > 0 (or +0, +inf): log2 in two floats, then exp2. */
V_INLINE vf v_pow_positive(vf x, vf b) {
    /* The logarithm of 0 would make inf - inf. */
    vf e, f = v_log_split(v_sel(v_eq(x, v_zero()), v_set1(1.f), x), &e);
    /* hi + lo = log(1 + f): f - f^2 / 2 without error, the tail is small. */
    vf f2 = v_mul(f, f), f2lo = v_fms(f, f, f2), h = v_mul(f2, v_set1(0.5f));
    vf hi = v_sub(f, h), lo = v_sub(v_sub(f, hi), h);
    lo = v_add(v_fnma(v_set1(0.5f), f2lo, lo), v_log_tail(f, f2));
    vf s = v_add(hi, lo);
    lo = v_sub(lo, v_sub(s, hi));
    /* times log2(e) = c + d, plus e. */
    vf c = v_set1(1.44269502f), d = v_set1(1.92596303e-8f);
    vf g = v_mul(s, c), glo = v_fma(s, d, v_fma(lo, c, v_fms(s, c, g)));
    vf t = v_add(e, g);
    vf z = v_sub(t, e);
    vf tlo = v_add(v_add(v_sub(e, v_sub(t, z)), v_sub(g, z)), glo);
    /* times b; beyond -160 and 400 the result is 0 or inf. */
    vf y = v_mul(b, t);
    vf yc = v_max(v_set1(-160.f), v_min(v_set1(400.f), y));
    vf ylo = v_fma(b, tlo, v_fms(b, t, y));
    ylo = v_sel(v_eq(y, yc), ylo, v_zero());
    vf n = v_round(yc), r = v_add(v_sub(yc, n), ylo);
    vf p = V_POLY(r, 0.00015353362f, 0.0013398875f, 0.00961843692f, 0.0555033237f, 0.240226477f, 0.693147182f,
                  1.f);
    vf out = v_scale2(p, n), inf = v_set1(__builtin_inff());
    vf at0 = v_sel(v_lt(b, v_zero()), inf, v_zero()), atinf = v_sel(v_lt(b, v_zero()), v_zero(), inf);
    out = v_sel(v_eq(x, v_zero()), at0, out);
    return v_sel(v_eq(x, inf), atinf, out);
}
/* x^b as powf: b_int: b is an integer, b_odd: an odd one; 0 < |b| < inf. */
V_INLINE vf v_pow(vf x, float b, int b_int, int b_odd) {
    vf y = v_pow_positive(v_abs(x), v_set1(b));
    if (b_odd) y = v_xorsign(y, x);
    if (!b_int)
        y = v_sel(v_lt(x, v_zero()), v_sel(v_eq(x, v_set1(-__builtin_inff())), y, v_set1(__builtin_nanf(""))),
                  y);
    return v_sel(v_nan(x), x, y);
}

/* ---- tanh and friends -------------------------------------------------------------------------------- */

V_INLINE vf v_tanh(vf x) {
    vf y = v_max(v_set1(-9.01f), v_min(v_set1(9.01f), x)), u = v_mul(y, y);
    vf p = V_POLY(u, 1.33188944e-08f, 2.05833414e-05f, 0.00349402556f, 0.133797102f, 1.f);
    vf q = V_POLY(u, 7.76194331e-07f, 0.000328307847f, 0.0258710385f, 0.467130255f, 1.f);
    vf r = v_quot(v_mul(y, p), q);
    return v_max(v_set1(-1.f), v_min(v_set1(1.f), r));
}
/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) = x / (1 + exp(-2 ...)) */
V_INLINE vf v_gelu_tanh(vf x) {
    const vf t = v_within(x, 20.f); /* beyond, exp(...) is 0 or counts as infinite */
    const vf u = v_mul(t, v_fma(v_mul(t, t), v_set1(-0.0713548162726f), v_set1(-1.59576912161f)));
    return v_gate(x, u, v_set1(89.66f));
}
V_INLINE vf v_swish(vf x, const v_gate_t *a) { return v_gate(x, v_mul(x, a->minus), a->most); }
/* x tanh(log(1 + exp(x))): with n = e^x (e^x + 2) it is x n / (n + 2). */
V_INLINE vf v_mish(vf x) {
    const vf e = v_exp_neg(v_min(v_set1(30.f), x)), n = v_mul(e, v_add(e, v_set1(2.f)));
    const vf y = v_mul(x, v_div(n, v_add(n, v_set1(2.f)))), u = v_neg(x);
    const vm far = v_far(u);
    return v_none(far) ? y : v_sel(far, v_gate_far(x, u, v_set1(91.857f), far), y);
}
/* |x| erfc(|x| / sqrt(2)) / 2, relative to its value also in the tail: gelu(x) = max(x, 0) - this. */
V_INLINE vf v_gelu_erf_tail(vf x) {
    vf t = v_min(v_set1(V_NORMAL_MAX), v_abs(x)), s = v_mul(t, t), slo = v_fms(t, t, s);
    vf w = v_recip(v_fma(t, v_set1(0.3f), v_set1(1.f)));
    vf g = v_mul(V_POLY(w, 0.0358798616f, -0.15805912f, 0.207831383f, -0.0550468378f, 0.129284576f,
                        0.0996938124f, 0.12078926f, 0.119626991f),
                 w);
    vf h = v_mul(s, v_set1(-0.5f)), n = v_exp_power(h);
    vf r = v_fma(slo, v_set1(-0.5f), v_exp_reduce(h, n));
    /* Scaled last: no factor is a denormal number. */
    return v_scale2_where(v_mul(t, v_mul(v_exp_poly(r), g)), n, v_exp_lanes(h));
}
/* erf, 4 units in the last place: an odd polynomial below 1, 1 - erfc through the tail of gelu above. */
V_INLINE vf v_erf(vf x) {
    vf t0 = v_min(v_set1(1.f), v_abs(x)), s = v_mul(t0, t0),
       p = v_mul(V_POLY(s, 1.05893855e-06f, -1.39093418e-05f, 0.00011956563f, -0.000854263781f,
                        0.00522378366f, -0.0268661324f, 0.112837911f, -0.376126379f, 1.12837923f),
                 x);
    vf u = v_mul(v_max(v_set1(1.f), v_min(v_set1(10.f), v_abs(x))), v_set1(1.41421356f)); /* erf(10) = 1 */
    vf t = v_sub(v_set1(1.f), v_div(v_mul(v_set1(2.f), v_gelu_erf_tail(u)), u));
    t = v_sel(v_lt(x, v_zero()), v_neg(t), t);
    return v_sel(v_lt(v_abs(x), v_set1(1.f)), p, t);
}
#if V_HAS_TABLE32
/* The tail function by 32 quintics in |x| * 5.875, each fitted relative to its own value: [k][i] =
 * coefficient k of interval i. */
/* clang-format off */
static const float v_gelu_coef[6][32] __attribute__((aligned(64))) = {
    {0.f, 0.073603645f, 0.12485721f, 0.155643672f, 0.168839395f, 0.167971864f, 0.15682897f,
     0.13908346f, 0.117985979f, 0.0961609334f, 0.0755161196f, 0.0572557226f, 0.0419710875f, 0.0297769532f,
     0.0204616692f, 0.0136264842f, 0.00879835803f, 0.00550991483f, 0.0033475894f, 0.001973595f, 0.0011292717f,
     0.000627213041f, 0.000338188169f, 0.000177039474f, 8.99880033e-05f, 4.44151156e-05f, 2.12879004e-05f, 9.90857461e-06f,
     4.47902175e-06f, 1.96636256e-06f, 8.38426843e-07f, 3.47215263e-07f},
    {0.0851063803f, 0.0622115619f, 0.0406134017f, 0.021444764f, 0.00554128271f, -0.00663863216f, -0.0150298327f,
     -0.0199159887f, -0.0218401011f, -0.0214923136f, -0.0195982084f, -0.0168263745f, -0.013726336f, -0.0106995637f,
     -0.0079993587f, -0.00575118139f, -0.0039837556f, -0.0026624056f, -0.00171858072f, -0.00107237254f, -0.000647280714f,
     -0.000378134398f, -0.000213894295f, -0.000117195719f, -6.22182852e-05f, -3.20134022e-05f, -1.59679857e-05f, -7.72247586e-06f,
     -3.62179253e-06f, -1.64745859e-06f, -7.26917051e-07f, -3.11159965e-07f},
    {-0.0115583083f, -0.0112270452f, -0.0102755567f, -0.00882275868f, -0.00704239076f, -0.00513248937f, -0.0032831328f,
     -0.00164924725f, -0.000333341799f, 0.000619871251f, 0.00121799111f, 0.00150780985f, 0.00155878288f, 0.00144706492f,
     0.00124295778f, 0.00100311404f, 0.000767453865f, 0.000559799082f, 0.000390808011f, 0.000261839741f, 0.000168704326f,
     0.000104689476f, 6.26450346e-05f, 3.61819184e-05f, 2.01861621e-05f, 1.08855284e-05f, 5.67687493e-06f, 2.86435898e-06f,
     1.39884457e-06f, 6.61420529e-07f, 3.02883336e-07f, 1.34360079e-07f},
    {-2.39279956e-08f, 0.00021843506f, 0.000409148313f, 0.00054955401f, 0.000626170833f, 0.000636381796f, 0.000587817514f,
     0.000495714135f, 0.000379103294f, 0.000256868545f, 0.000144570993f, 5.25902033e-05f, -1.43066063e-05f, -5.62224013e-05f,
     -7.66841258e-05f, -8.09971534e-05f, -7.48021921e-05f, -6.30633585e-05f, -4.95423592e-05f, -3.66857821e-05f, -2.57887496e-05f,
     -1.72915625e-05f, -1.10958181e-05f, -6.83076087e-06f, -4.04175535e-06f, -2.30192154e-06f, -1.26337147e-06f, -6.68802329e-07f,
     -3.41763439e-07f, -1.68691997e-07f, -8.04713238e-08f, -3.71165925e-08f},
    {5.59452601e-05f, 5.2149986e-05f, 4.21062905e-05f, 2.74421564e-05f, 1.07433752e-05f, -5.26085796e-06f, -1.82748045e-05f,
     -2.68481072e-05f, -3.05391222e-05f, -2.98250416e-05f, -2.58249638e-05f, -1.99405495e-05f, -1.35191885e-05f, -7.61476076e-06f,
     -2.8763377e-06f, 4.45472637e-07f, 2.41219504e-06f, 3.27676412e-06f, 3.36740732e-06f, 3.00021611e-06f, 2.42860551e-06f,
     1.82583756e-06f, 1.29056718e-06f, 8.64172023e-07f, 5.50954042e-07f, 3.35640152e-07f, 1.95891303e-07f, 1.09750417e-07f,
     5.91187437e-08f, 3.06559365e-08f, 1.53185056e-08f, 7.38238226e-09f},
    {-3.03631026e-07f, -1.38064661e-06f, -2.54211864e-06f, -3.22815185e-06f, -3.35795085e-06f, -2.96597159e-06f, -2.18876153e-06f,
     -1.22151391e-06f, -2.65261946e-07f, 5.19124342e-07f, 1.03846219e-06f, 1.27254384e-06f, 1.26061229e-06f, 1.07715505e-06f,
     8.06074581e-07f, 5.20343292e-07f, 2.70616709e-07f, 8.27307076e-08f, -3.83579177e-08f, -1.01482158e-07f, -1.21950691e-07f,
     -1.15825713e-07f, -9.65032143e-08f, -7.3359594e-08f, -5.18754355e-08f, -3.45049962e-08f, -2.17407781e-08f, -1.30382274e-08f,
     -7.4679285e-09f, -4.09570067e-09f, -2.15504214e-09f, -1.08957077e-09f},
};
/* clang-format on */
typedef struct {
    v_tab32 c[6];
} v_gelu_t;
V_INLINE v_gelu_t v_gelu_load(void) {
    v_gelu_t g;
    for (int k = 0; k < 6; ++k) g.c[k] = v_tab32_load(v_gelu_coef[k]);
    return g;
}
V_INLINE vf v_gelu_erf(vf x, const v_gelu_t *g) {
    const vf magic = v_set1(8388608.f), per = v_set1(5.875f);
    vf t = v_min(v_set1(5.36f), v_abs(x)), u = v_fma(t, per, magic), r = v_fms(t, per, v_sub(u, magic));
    vf p = v_tab32_get(g->c[5], u);
    p = v_fma(p, r, v_tab32_get(g->c[4], u));
    p = v_fma(p, r, v_tab32_get(g->c[3], u));
    p = v_fma(p, r, v_tab32_get(g->c[2], u));
    p = v_fma(p, r, v_tab32_get(g->c[1], u));
    p = v_fma(p, r, v_tab32_get(g->c[0], u));
    const vm below = v_lt(x, v_set1(-5.35f));
    if (__builtin_expect(v_any(below), 0)) {
        /* Far below all is 0. */
        if (v_any((vm)(below & v_lt(v_set1(-13.3f), x))))
            p = v_sel(v_lt(v_abs(x), v_set1(5.35f)), p, v_gelu_erf_tail(x));
        else p = v_sel(below, v_zero(), p);
        p = v_fma(v_min(v_zero(), x), v_zero(), p); /* -inf times 0 is NaN, as in the formula */
    }
    return v_sub(v_max(v_zero(), x), p);
}
#else
typedef struct {
    int none;
} v_gelu_t;
V_INLINE v_gelu_t v_gelu_load(void) { return (v_gelu_t){0}; }
V_INLINE vf v_gelu_erf(vf x, const v_gelu_t *g) {
    (void)g;
    const vf above = v_sel(v_lt(x, v_zero()), v_mul(x, v_zero()), x); /* max(0, x), and NaN of -inf */
    return v_sub(above, v_gelu_erf_tail(x));
}
#endif

#endif
