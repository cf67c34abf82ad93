/* reduction over the dimensions where dst has 1. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_sdt1,     &bd_opt_ddt,           &bd_opt_stag_abx,
                                       &bd_opt_dtag_any, &bd_opt_alg_reduction, &bd_opt_p,
                                       &bd_opt_eps,      BD_ATTR_OPTS,          NULL};
static const bd_opt_t *const print[] = {&bd_opt_sdt1,     &bd_opt_ddt,           &bd_opt_stag_abx,
                                        &bd_opt_dtag_any, &bd_opt_alg_reduction, &bd_opt_p,
                                        &bd_opt_eps,      BD_ATTR_OPTS,          NULL};
enum { SRC, DST };

static int parse(bd_prb_t *p, const char *s) {
    return bd_parse_vdims(p, s, 2, 2) || p->vd_nd[0] != p->vd_nd[1];
}

static bool is_norm(const bd_prb_t *p) { return p->alg >= dnnl_tp_reduction_norm_lp_max; }

static const char *init(bd_prb_t *p) {
    bool same = true, bad = false;
    for (int i = 0; i < p->vd_nd[0]; ++i) {
        same &= p->vd[0][i] == p->vd[1][i];
        bad |= p->vd[0][i] != p->vd[1][i] && p->vd[1][i] != 1;
    }
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", p->vd_nd[0], p->vd[0], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", p->vd_nd[1], p->vd[1], p->ddt, p->dtag, BD_OUT);
    p->ops = (double)bd_elems(&p->t[SRC]);
    bool ints = p->dt[0] == dnnl_tp_s8 || p->dt[0] == dnnl_tp_u8 || p->dt[0] == dnnl_tp_s32;
    if (same || bad || (is_norm(p) && (p->p < 1 || ints))) return BD_SKIP_INVALID;
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    return api->reduction_primitive_desc_create(pd, e, (dnnl_tp_alg_kind_t)p->alg, md[SRC], md[DST], p->p,
                                                p->eps, a);
}

/* Sums of integers are exact; products stay in range because few factors differ from one. */
static void fill_src(const bd_prb_t *p, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t n = bd_elems(t);
    (void)perf;
    bd_rng_t r = bd_rng(t->arg, n);
    double per = (double)n / (double)(bd_elems(&p->t[DST]) ? bd_elems(&p->t[DST]) : 1);
    bool u8 = t->dt == dnnl_tp_u8,
         frac = t->dt == dnnl_tp_f32 || t->dt == dnnl_tp_bf16 || t->dt == dnnl_tp_f16;
    for (int64_t k = 0; k < n; ++k) {
        if (p->alg == dnnl_tp_reduction_mul) {
            bool other = bd_rng_unit(&r) * per < 8;
            v[k] = !other                         ? 1
                   : u8                           ? 2
                   : frac && bd_rng_int(&r, 0, 1) ? 0.5
                                                  : (double)bd_rng_int(&r, 0, 1) * 4 - 2;
        } else {
            v[k] = (double)bd_rng_int(&r, u8 ? 0 : -8, 8);
        }
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *s = &p->t[SRC], *d = &p->t[DST];
    int64_t pos[BD_MAX_NDIMS] = {0}, n = bd_elems(s), m = bd_elems(d);
    if (!m) return;
    double *acc = bd_alloc((size_t)m * sizeof *acc, 64), pw = (double)p->p, eps = (double)p->eps;
    double start = p->alg == dnnl_tp_reduction_max   ? -INFINITY
                   : p->alg == dnnl_tp_reduction_min ? INFINITY
                                                     : p->alg == dnnl_tp_reduction_mul;
    for (int64_t k = 0; k < m; ++k) acc[k] = start;
    for (int64_t k = 0; k < n; ++k) {
        double x = v[SRC][k], *a = &acc[bd_at(d, pos)];
        switch (p->alg) {
        case dnnl_tp_reduction_max: *a = x > *a ? x : *a; break;
        case dnnl_tp_reduction_min: *a = x < *a ? x : *a; break;
        case dnnl_tp_reduction_mul: *a *= x; break;
        case dnnl_tp_reduction_sum:
        case dnnl_tp_reduction_mean: *a += x; break;
        default: *a += pow(fabs(x), pw);
        }
        bd_next(s->nd, s->d, pos);
    }
    memset(pos, 0, sizeof pos);
    for (int64_t k = 0; k < m; ++k) {
        double x = acc[k];
        switch (p->alg) {
        case dnnl_tp_reduction_mean: x /= (double)n / (double)m; break;
        case dnnl_tp_reduction_norm_lp_max: x = pow(fmax(x, eps), 1 / pw); break;
        case dnnl_tp_reduction_norm_lp_sum: x = pow(x + eps, 1 / pw); break;
        case dnnl_tp_reduction_norm_lp_power_p_max: x = fmax(x, eps); break;
        case dnnl_tp_reduction_norm_lp_power_p_sum: x += eps; break;
        default: break;
        }
        v[DST][k] = bd_attr_finish(p, v, x, v[DST][k], pos);
        bd_next(d->nd, d->d, pos);
    }
    bd_free(acc);
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    c->threshold = bd_eps(p->t[i].dt) * (is_norm(p) ? 5 : 1);
    if (is_norm(p) &&
        p->p != truncf(p->p)) { /* the terms are rounded, and their sum is a walk of that many steps */
        double n = (double)bd_elems(&p->t[SRC]) / fmax(1, (double)bd_elems(&p->t[DST]));
        c->threshold += bd_eps(p->t[i].dt) * sqrt(n) / 2;
    }
    c->zero_trust = 100;
    c->allow_nan_inf = true; /* an empty maximum, 0 / 0 of an empty mean */
}

const bd_driver_t bd_driver_reduction = {.name = "reduction",
                                         .kind = dnnl_tp_reduction,
                                         .loop = loop,
                                         .print = print,
                                         .parse = parse,
                                         .desc = bd_desc_vdims,
                                         .perf_csv = "%sdt%,%ddt%,%stag%,%dtag%,%alg%,%attr%,%desc%",
                                         .init = init,
                                         .create_pd = create_pd,
                                         .fill = bd_fill_src,
                                         .fill_src = fill_src,
                                         .ref = ref,
                                         .judge = judge};
