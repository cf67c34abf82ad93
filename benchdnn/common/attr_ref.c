/* What attributes mean, in f64: eltwise and binary formulas, scales, zero points, the chain of post-ops.
 *
 * Formulas: oneDNN's public documentation of the same primitives. */
#include <math.h>

#include "common/fill.h"
#include "common/layout.h"
#include "common/prb.h"

static double logistic(double s) { return s >= 0 ? 1 / (1 + exp(-s)) : exp(s) / (1 + exp(s)); }
static double soft_relu(double s) { return s > 0 ? s + log1p(exp(-s)) : log1p(exp(s)); }

double bd_eltwise(int alg, double s, double a, double b) {
    switch (alg) {
    case dnnl_tp_eltwise_relu:
    case dnnl_tp_eltwise_relu_use_dst_for_bwd: return isnan(s) ? s : s > 0 ? s : a * s;
    case dnnl_tp_eltwise_tanh:
    case dnnl_tp_eltwise_tanh_use_dst_for_bwd: return tanh(s);
    case dnnl_tp_eltwise_elu:
    case dnnl_tp_eltwise_elu_use_dst_for_bwd: return s > 0 ? s : a * expm1(s);
    case dnnl_tp_eltwise_square: return s * s;
    case dnnl_tp_eltwise_abs: return fabs(s);
    case dnnl_tp_eltwise_sqrt:
    case dnnl_tp_eltwise_sqrt_use_dst_for_bwd: return sqrt(s);
    case dnnl_tp_eltwise_linear: return a * s + b;
    case dnnl_tp_eltwise_soft_relu: return soft_relu(a * s) / a;
    case dnnl_tp_eltwise_hardsigmoid: return fmax(0, fmin(1, a * s + b));
    case dnnl_tp_eltwise_logistic:
    case dnnl_tp_eltwise_logistic_use_dst_for_bwd: return logistic(s);
    case dnnl_tp_eltwise_exp:
    case dnnl_tp_eltwise_exp_use_dst_for_bwd: return exp(s);
    case dnnl_tp_eltwise_gelu_tanh: {
        /* s/2 (1 + tanh(g)) = s * logistic(2g): no cancellation on the left. */
        double g = sqrt(2 / M_PI) * (s + 0.044715 * s * s * s);
        return s * logistic(2 * g);
    }
    case dnnl_tp_eltwise_swish: return s * logistic(a * s);
    case dnnl_tp_eltwise_log: return log(s);
    case dnnl_tp_eltwise_clip:
    case dnnl_tp_eltwise_clip_v2:
    case dnnl_tp_eltwise_clip_v2_use_dst_for_bwd: return isnan(s) ? s : fmin(fmax(s, a), b);
    case dnnl_tp_eltwise_pow: return a * pow(s, b);
    case dnnl_tp_eltwise_gelu_erf: return 0.5 * s * erfc(-s * M_SQRT1_2);
    case dnnl_tp_eltwise_round: return nearbyint(s);
    case dnnl_tp_eltwise_mish: return s * tanh(soft_relu(s));
    case dnnl_tp_eltwise_hardswish: return s * fmax(0, fmin(1, a * s + b));
    default: return NAN;
    }
}

double bd_binary(int alg, double a, double b) {
    switch (alg) {
    case dnnl_tp_binary_add: return a + b;
    case dnnl_tp_binary_mul: return a * b;
    case dnnl_tp_binary_max: return a > b ? a : b;
    case dnnl_tp_binary_min: return a < b ? a : b;
    case dnnl_tp_binary_div: return a / b;
    case dnnl_tp_binary_sub: return a - b;
    case dnnl_tp_binary_ge: return a >= b;
    case dnnl_tp_binary_gt: return a > b;
    case dnnl_tp_binary_le: return a <= b;
    case dnnl_tp_binary_lt: return a < b;
    case dnnl_tp_binary_eq: return a == b;
    case dnnl_tp_binary_ne: return a != b;
    default: return NAN;
    }
}

void bd_attr_fill(const bd_prb_t *p, int i, double *v) {
    const bd_tensor_t *t = &p->t[i];
    int64_t n = bd_elems(t);
    bd_rng_t r = bd_rng(t->arg, n);
    bool scales = t->arg & DNNL_TP_ARG_ATTR_SCALES && t->arg < DNNL_TP_ARG_ATTR_ZERO_POINTS;
    bool zps = t->arg & DNNL_TP_ARG_ATTR_ZERO_POINTS && t->arg < DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE;
    if (scales || zps) {
        const bd_quant_t *q = scales ? p->attr.scales : p->attr.zps;
        int arg = t->arg & ~(scales ? DNNL_TP_ARG_ATTR_SCALES : DNNL_TP_ARG_ATTR_ZERO_POINTS);
        while (q->arg != arg) ++q;
        bool one = q->mask.policy == BD_POLICY_COMMON || q->mask.policy == BD_POLICY_HOST_SCALAR ||
                   (q->mask.policy == BD_POLICY_MASK && !q->mask.mask);
        for (int64_t k = 0; k < n; ++k)
            v[k] = one      ? (double)q->value
                   : scales ? ldexp(1, -(int)bd_rng_int(&r, 2, 4))
                            : (double)bd_rng_int(&r, -2, 2);
        return;
    }
    int po = t->arg / DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1;
    bool prelu = p->attr.po[po].kind == BD_PO_PRELU;
    bool condition = !prelu && (t->arg & (DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1)) == DNNL_TP_ARG_SRC_2;
    for (int64_t k = 0; k < n; ++k) {
        double x = (double)bd_rng_int(&r, t->dt == dnnl_tp_u8 ? 0 : -16, 16);
        if (condition) x = (double)bd_rng_int(&r, 0, 1);
        else if (prelu) x = (double)bd_rng_int(&r, -2, 2);
        else if (p->attr.po[po].alg == dnnl_tp_binary_div)
            x = ldexp(x < 0 ? -1 : 1, (int)bd_rng_int(&r, 0, 3));
        else if (p->attr.po[po].alg == dnnl_tp_binary_mul)
            x = (double)bd_rng_int(&r, t->dt == dnnl_tp_u8 ? 0 : -2, 2);
        v[k] = x;
    }
}

/* Smallest and largest random scale, of several values. */
#define SCALE_MIN 0x1p-4
#define SCALE_MAX 0x1p-2

double bd_attr_growth(const bd_prb_t *p) {
    double growth = 1;
    for (int i = 0; i < p->attr.n_scales; ++i) {
        const bd_quant_t *q = &p->attr.scales[i];
        bool dst = q->arg == DNNL_TP_ARG_DST;
        double s = q->has_value ? fabs((double)q->value) : dst ? SCALE_MIN : SCALE_MAX;
        if (s > 0) growth *= dst ? 1 / s : s;
    }
    return growth;
}

static const bd_quant_t *quant_of(const bd_quant_t *q, int nq, int arg) {
    for (int i = 0; i < nq; ++i)
        if (q[i].arg == arg) return &q[i];
    return NULL;
}

/* Row-major index of the value for pos, over the first n of nd dimensions. */
static int64_t quant_index(const bd_prb_t *p, const bd_quant_t *q, int nd, int n, const int64_t *pos) {
    const bd_tensor_t *t = &p->t[bd_find_arg(p, q->arg)];
    int mask = bd_attr_mask(p, &q->mask, q->arg, nd);
    int64_t at = 0;
    for (int d = 0; d < n; ++d) {
        if (!(mask >> d & 1)) continue;
        int64_t g = q->group[0] && d >= nd - 2 ? q->group[d - (nd - 2)] : 1;
        at = at * (t->d[d] / g) + pos[d] / g;
    }
    return at;
}

static double quant_at(const bd_prb_t *p, double *const *v, const bd_quant_t *q, int nq, int base, int arg,
                       int nd, const int64_t *pos, double none) {
    const bd_quant_t *e = quant_of(q, nq, arg);
    return e ? v[bd_find_arg(p, base | arg)][quant_index(p, e, nd, nd, pos)] : none;
}

double bd_attr_scale(const bd_prb_t *p, double *const *v, int arg, int nd, const int64_t *pos) {
    if (!p->attr.n_scales) return 1;
    return quant_at(p, v, p->attr.scales, p->attr.n_scales, DNNL_TP_ARG_ATTR_SCALES, arg, nd, pos, 1);
}

double bd_attr_zp(const bd_prb_t *p, double *const *v, int arg, int nd, const int64_t *pos) {
    if (!p->attr.n_zps) return 0;
    return quant_at(p, v, p->attr.zps, p->attr.n_zps, DNNL_TP_ARG_ATTR_ZERO_POINTS, arg, nd, pos, 0);
}

bool bd_attr_quantized(const bd_prb_t *p, int arg) {
    return quant_of(p->attr.scales, p->attr.n_scales, arg) || quant_of(p->attr.zps, p->attr.n_zps, arg);
}

/* Scales or zero points of a row of the last dimension. */
typedef struct {
    const bd_quant_t *q; /* NULL: none */
    const double *v;
    double *row;
    int64_t at; /* what the row was made for, -1 = nothing yet */
    int64_t group, step;
} quant_row_t;

static quant_row_t quant_row(const bd_prb_t *p, double *const *v, const bd_quant_t *q, int base,
                             const bd_tensor_t *t, double none) {
    int64_t n = t->d[t->nd - 1];
    quant_row_t r = {.q = q, .row = bd_alloc((size_t)n * sizeof *r.row, 64), .at = -1};
    for (int64_t k = 0; k < n; ++k) r.row[k] = none;
    if (!q) return r;
    r.v = v[bd_find_arg(p, base | t->arg)];
    r.group = q->group[0] ? q->group[1] : 1;
    r.step = bd_attr_mask(p, &q->mask, t->arg, t->nd) >> (t->nd - 1) & 1 ? n / r.group : 0;
    return r;
}
/* Neighbours often have the same. */
static void quant_row_at(quant_row_t *r, const bd_prb_t *p, const bd_tensor_t *t, const int64_t *pos) {
    if (!r->q) return;
    int64_t n = t->d[t->nd - 1], at = quant_index(p, r->q, t->nd, t->nd - 1, pos);
    if (at == r->at) return;
    r->at = at;
    for (int64_t k = 0; k < n; ++k) r->row[k] = r->step ? r->v[at * r->step + k / r->group] : r->v[at];
}

void bd_attr_dequantize(const bd_prb_t *p, double *const *v, int i, int64_t first_row, int64_t rows,
                        double *x) {
    const bd_tensor_t *t = &p->t[i];
    int64_t pos[BD_MAX_NDIMS] = {0}, n = t->d[t->nd - 1];
    quant_row_t s =
        quant_row(p, v, quant_of(p->attr.scales, p->attr.n_scales, t->arg), DNNL_TP_ARG_ATTR_SCALES, t, 1);
    quant_row_t z =
        quant_row(p, v, quant_of(p->attr.zps, p->attr.n_zps, t->arg), DNNL_TP_ARG_ATTR_ZERO_POINTS, t, 0);
    for (int d = t->nd - 2; d >= 0; --d) pos[d] = first_row % t->d[d], first_row /= t->d[d];
    for (; rows > 0; --rows, x += n) {
        quant_row_at(&s, p, t, pos);
        quant_row_at(&z, p, t, pos);
        for (int64_t k = 0; k < n; ++k) x[k] = (x[k] - z.row[k]) * s.row[k];
        for (int d = t->nd - 2; d >= 0 && ++pos[d] == t->d[d]; --d) pos[d] = 0;
    }
    bd_free(s.row);
    bd_free(z.row);
}

static double po_source(const bd_prb_t *p, double *const *v, int arg, const int64_t *pos) {
    int i = bd_find_arg(p, arg);
    const bd_tensor_t *t = &p->t[i];
    int64_t at = 0;
    for (int d = 0; d < t->nd; ++d) at = at * t->d[d] + (t->d[d] == 1 ? 0 : pos[d]);
    return v[i][at];
}

int bd_old_dst_dt(const bd_prb_t *p) {
    const bd_tensor_t *t = &p->t[bd_find_arg(p, DNNL_TP_ARG_DST)];
    for (int i = 0; i < p->attr.n_po && t->alias < 0; ++i)
        if (p->attr.po[i].kind == BD_PO_SUM) return p->attr.po[i].dt ? p->attr.po[i].dt : t->dt;
    return t->dt;
}

/* Between two operations a value is an f32: what is beyond its range is infinite, and times 0 no number. */
static double f32_range(double x) { return fabs(x) > 0x1.fffffefp127 ? copysign(INFINITY, x) : x; }

double bd_attr_finish(const bd_prb_t *p, double *const *v, double x, double old, const int64_t *pos) {
    if (!p->attr.n_po && !p->attr.n_scales && !p->attr.n_zps) return x;
    int dst = bd_find_arg(p, DNNL_TP_ARG_DST), nd = p->t[dst].nd;
    for (int i = 0; i < p->attr.n_po; ++i) {
        x = f32_range(x);
        const bd_post_op_t *q = &p->attr.po[i];
        int base = DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i);
        if (q->kind == BD_PO_SUM) {
            /* The old bytes, read as the type of this sum. */
            double d = bd_reinterpret(bd_old_dst_dt(p), q->dt ? q->dt : p->t[dst].dt, old);
            x += (double)q->scale * (d - q->zero_point);
        } else if (q->kind == BD_PO_ELTWISE) {
            x = bd_eltwise(q->alg, x, (double)q->alpha, (double)q->beta);
        } else if (q->alg == dnnl_tp_binary_select) {
            if (po_source(p, v, base | DNNL_TP_ARG_SRC_2, pos) == 0)
                x = po_source(p, v, base | DNNL_TP_ARG_SRC_1, pos);
        } else if (q->kind == BD_PO_PRELU) {
            if (x < 0) x *= po_source(p, v, base | DNNL_TP_ARG_WEIGHTS, pos);
        } else {
            x = bd_binary(q->alg, x, po_source(p, v, base | DNNL_TP_ARG_SRC_1, pos));
        }
    }
    if (p->attr.n_po) x = f32_range(x);
    return x / bd_attr_scale(p, v, DNNL_TP_ARG_DST, nd, pos) + bd_attr_zp(p, v, DNNL_TP_ARG_DST, nd, pos);
}
