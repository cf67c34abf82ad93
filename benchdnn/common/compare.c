/* The pointwise decision, its relaxations, and the zero-trust rule. */
#include <math.h>

#include "common/compare.h"
#include "common/fill.h"
#include "common/layout.h"

enum { SHOWN = 10, ROW = 512 };

typedef struct {
    bool eltwise, exponent, dst_scale;
    bool adds; /* a binary post-op or sum: two terms may cancel, and the error stays that of the terms */
    double eps;
    int dt;
    bool ints;
} relax_t;

static relax_t relaxations(const bd_prb_t *p, int i) {
    relax_t r = {.dt = p->t[i].dt};
    r.eps = ldexp(1, 1 - bd_digits(r.dt));
    r.ints = r.dt == dnnl_tp_s32 || r.dt == dnnl_tp_s8 || r.dt == dnnl_tp_u8;
    r.exponent = p->drv->kind == dnnl_tp_eltwise && p->alg == dnnl_tp_eltwise_exp;
    for (int k = 0; k < p->attr.n_po; ++k) {
        const bd_post_op_t *q = &p->attr.po[k];
        if (q->kind == BD_PO_ELTWISE) {
            r.eltwise = true;
            r.exponent |= q->alg == dnnl_tp_eltwise_exp;
        }
        if (q->kind == BD_PO_SUM) r.adds = true;
        if (q->kind == BD_PO_BINARY && q->alg < dnnl_tp_binary_ge) r.adds = true;
    }
    for (int k = 0; k < p->attr.n_scales; ++k) r.dst_scale |= p->attr.scales[k].arg == DNNL_TP_ARG_DST;
    return r;
}

static bool accept(const relax_t *r, const bd_cmp_t *c, double got, double raw) {
    double exp = bd_round_to(r->dt, raw);
    if (got == exp) return true;
    if (isnan(exp) || isinf(exp) || isnan(got) || isinf(got)) {
        if (isnan(exp) && r->ints) return true;
        if (!c->allow_nan_inf && !r->eltwise && r->dt != dnnl_tp_f16) return false;
        if (isnan(exp) && isnan(got)) return true;
        /* Overflow: one side may have reached infinity just before the other. */
        double big = r->dt == dnnl_tp_f16 ? 65504 : 3.3e38;
        return !isnan(exp) && !isnan(got) && fabs(exp) >= big && fabs(got) >= big &&
               signbit(exp) == signbit(got);
    }
    double diff = fabs(got - exp), rel = diff / fabs(exp);
    bool small = fabs(exp) <= 1e-5;
    if (small ? diff < fmax(0x1p-23, c->threshold) && c->threshold > 0 : rel <= c->threshold) return true;
    if (c->abs_threshold > 0 && diff <= c->abs_threshold) return true;
    if (r->dt == dnnl_tp_s32 && fabs(exp) >= 2147483520. && diff <= 128)
        return true; /* f32 cannot hit the limit */
    if (r->eltwise && (diff <= fmax(r->eps, 2e-5) || rel <= fmax(r->eps, 8e-6))) return true;
    if ((fabs(exp) > 1e5 || r->exponent) && (r->eltwise || r->exponent) && rel <= fmax(r->eps, 5e-6))
        return true;
    if (r->dst_scale && r->dt == dnnl_tp_f32 && rel <= fmax(r->eps, 1e-5)) return true;
    if (r->adds && (r->dt == dnnl_tp_f16 ? diff <= 5e-3 : !r->ints && (diff <= 4e-6 || rel <= 1e-5)))
        return true;
    if ((r->eltwise || r->adds || r->dst_scale || c->threshold > 0) &&
        (r->dt == dnnl_tp_bf16 || r->dt == dnnl_tp_f16) && rel <= r->eps)
        return true;
    if (r->ints && diff == 1) { /* rounding of a value next to a tie */
        double frac = fabs(raw - floor(raw) - 0.5);
        if (frac < fmax(9e-6, fabs(raw) * 1e-6)) return true;
    }
    return false;
}

bd_verdict_t bd_compare(const bd_prb_t *p, int i, const bd_cmp_t *c, const double *got, const double *exp,
                        bool quiet) {
    const bd_tensor_t *t = &p->t[i];
    relax_t r = relaxations(p, i);
    bd_verdict_t v = {.total = (long)bd_elems(t)};
    long zeros = 0;
    double row[ROW]; /* the expected values as the type has them */
    for (int64_t k = 0; k < v.total; ++k) {
        if (k % ROW == 0) bd_round_row(r.dt, row, exp + k, v.total - k < ROW ? v.total - k : ROW);
        zeros += got[k] == 0;
        if (got[k] == row[k % ROW]) continue;
        if (accept(&r, c, got[k], exp[k])) continue;
        if (++v.errors > SHOWN || quiet) continue;
        char at[160] = "";
        int64_t rest = k;
        int64_t pos[BD_MAX_NDIMS];
        for (int d = t->nd - 1; d >= 0; --d) pos[d] = rest % t->d[d], rest /= t->d[d];
        bd_print_dims(at, sizeof at, t->nd, pos);
        double e = bd_round_to(r.dt, exp[k]), diff = fabs(got[k] - e);
        printf("[%8lld][%s][%s] exp_f64:%15.8g exp:%15.8g got:%15.8g diff:%10.4g rdiff:%10.4g\n",
               (long long)k, t->name, at, exp[k], e, got[k], diff, diff / fabs(e));
    }
    if (v.errors && c->l2_fallback && bd_l2(got, exp, v.total) <= c->threshold) v.errors = 0;
    double trust = c->zero_trust > 0 ? c->zero_trust : 30;
    if (r.dt == dnnl_tp_u8 && trust < 80) trust = 80; /* negative values saturate to zero */
    if (r.eltwise && trust < 95) trust = 95;          /* relu and its like */
    for (int k = 0; k < p->nt; ++k)
        if (!bd_elems(&p->t[k])) trust = 100; /* sums over nothing are zero */
    v.mistrusted = v.total >= 10 && trust < 100 && (double)zeros * 100 > trust * (double)v.total;
    return v;
}

double bd_l2(const double *a, const double *b, int64_t n) {
    double d = 0, s = 0;
    for (int64_t k = 0; k < n; ++k) {
        if (!isfinite(a[k]) && !isfinite(b[k])) continue;
        d += (a[k] - b[k]) * (a[k] - b[k]);
        s += b[k] * b[k];
    }
    return isnan(d) ? INFINITY : s > 0 ? sqrt(d / s) : sqrt(d);
}
