/* layer normalization over the last dimension, with statistics, scale and shift. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d,    &bd_opt_dt2,     &bd_opt_tag2,
                                       &bd_opt_stat_tag, &bd_opt_ss_dt,   &bd_opt_flags,
                                       BD_ATTR_OPTS,     &bd_opt_inplace, NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,    &bd_opt_dt2,   &bd_opt_tag2,
                                        &bd_opt_stat_tag, &bd_opt_ss_dt, &bd_opt_flags,
                                        &bd_opt_inplace,  BD_ATTR_OPTS,  NULL};
enum { SRC, DST };
#define EPS 0.0625f /* fixed, as in the peer's harness */

static int parse(bd_prb_t *p, const char *s) { return bd_parse_vdims(p, s, 1, 1) || p->vd_nd[0] < 2; }

static bool stats_given(const bd_prb_t *p) { return p->flags & dnnl_tp_use_global_stats; }
static bool rms(const bd_prb_t *p) { return p->flags & dnnl_tp_rms_norm; }

/* The library makes the descriptor of the statistics. */
static bool derived(const bd_prb_t *p) { return bd_tag_is(p->wtag, "any") || bd_tag_is(p->wtag, "undef"); }

static const char *init(bd_prb_t *p) {
    int nd = p->vd_nd[0];
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, p->vd[0], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, p->vd[0], p->dt[1], p->tag[1], BD_OUT);
    unsigned io = stats_given(p) ? BD_IN : BD_OUT;
    if (stats_given(p) || p->dir != BD_FWD_I) {
        const char *tag = derived(p) ? "any" : p->wtag;
        if (!rms(p)) bd_add_tensor(p, DNNL_TP_ARG_MEAN, "mean", nd - 1, p->vd[0], dnnl_tp_f32, tag, io);
        bd_add_tensor(p, DNNL_TP_ARG_VARIANCE, "var", nd - 1, p->vd[0], dnnl_tp_f32, tag, io);
    }
    const int64_t *c = p->vd[0] + nd - 1;
    if (p->flags & dnnl_tp_use_scale)
        bd_add_tensor(p, DNNL_TP_ARG_SCALE, "scale", 1, c, p->ss_dt, NULL, BD_IN);
    if (p->flags & dnnl_tp_use_shift)
        bd_add_tensor(p, DNNL_TP_ARG_SHIFT, "shift", 1, c, p->ss_dt, NULL, BD_IN);
    p->ops = 7. * (double)bd_elems(&p->t[SRC]);
    return p->inplace ? bd_make_inplace(p, SRC, DST) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    dnnl_tp_memory_desc_t stat = NULL;
    int var = bd_find_arg(p, DNNL_TP_ARG_VARIANCE);
    if (var >= 0 && !derived(p)) stat = md[var];
    if (p->ss_dt == dnnl_tp_f32 || !api->layer_normalization_forward_primitive_desc_create_v2) {
        if (p->ss_dt != dnnl_tp_f32) return dnnl_tp_unimplemented;
        return api->layer_normalization_forward_primitive_desc_create(pd, e, bd_prop(p->dir), md[SRC],
                                                                      md[DST], stat, EPS, p->flags, a);
    }
    return api->layer_normalization_forward_primitive_desc_create_v2(
        pd, e, bd_prop(p->dir), md[SRC], md[DST], stat, (dnnl_tp_data_type_t)p->ss_dt, EPS, p->flags, a);
}

/* Rows whose mean and variance are exact in f32: pairs around a small mean. */
static void fill_src(const bd_tensor_t *t, double *v) {
    int64_t n = t->d[t->nd - 1], rows = n ? bd_elems(t) / n : 0;
    bd_rng_t r = bd_rng(t->arg, rows * n);
    bool u8 = t->dt == dnnl_tp_u8;
    for (int64_t i = 0; i < rows; ++i, v += n) {
        double m = (double)bd_rng_int(&r, u8 ? 4 : -2, u8 ? 8 : 2), s = 0;
        for (int64_t k = 0; k < n; ++k) {
            if (!(k & 1)) s = k + 1 == n ? 0 : (double)bd_rng_int(&r, 1, 4);
            v[k] = k & 1 ? m - s : m + s;
        }
    }
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[i];
    int64_t n = bd_elems(t);
    if (t->arg == DNNL_TP_ARG_SRC) {
        fill_src(t, v);
        return;
    }
    bd_rng_t r = bd_rng(t->arg, n);
    for (int64_t k = 0; k < n; ++k) switch (t->arg) {
        case DNNL_TP_ARG_MEAN: v[k] = (double)bd_rng_int(&r, -2, 2); break;
        case DNNL_TP_ARG_VARIANCE: v[k] = (double)bd_rng_int(&r, 1, 9); break;
        case DNNL_TP_ARG_SCALE:
            v[k] = ldexp((double)bd_rng_int(&r, 0, 1) * 2 - 1, (int)bd_rng_int(&r, -2, 2));
            break;
        default: v[k] = (double)bd_rng_int(&r, -8, 8) / 4;
        }
    (void)perf;
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t n = t->d[t->nd - 1], rows = n ? bd_elems(t) / n : 0, pos[BD_MAX_NDIMS] = {0};
    int mean = bd_find_arg(p, DNNL_TP_ARG_MEAN), var = bd_find_arg(p, DNNL_TP_ARG_VARIANCE);
    int sc = bd_find_arg(p, DNNL_TP_ARG_SCALE), sh = bd_find_arg(p, DNNL_TP_ARG_SHIFT);
    double ss = bd_elems(t) ? bd_attr_scale(p, v, DNNL_TP_ARG_SRC, t->nd, pos) : 1;
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = v[SRC] + i * n;
        double m = 0, q = 0;
        if (stats_given(p)) {
            m = mean >= 0 ? v[mean][i] : 0;
            q = v[var][i];
        } else {
            for (int64_t k = 0; k < n; ++k) m += x[k];
            m = rms(p) ? 0 : m / (double)n;
            for (int64_t k = 0; k < n; ++k) q += (x[k] - m) * (x[k] - m);
            q /= (double)n;
            if (mean >= 0) v[mean][i] = m;
            if (var >= 0) v[var][i] = q;
        }
        double inv = 1 / sqrt(q + (double)EPS);
        for (int64_t k = 0; k < n; ++k) {
            double y = (x[k] - m) * inv * (sc >= 0 ? v[sc][k] : 1) + (sh >= 0 ? v[sh][k] : 0);
            v[DST][i * n + k] = bd_attr_finish(p, v, y * ss, bd_old_dst(p, v, DST, i * n + k), pos);
            bd_next(t->nd, t->d, pos);
        }
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    c->threshold = p->t[i].dt == dnnl_tp_f32 ? 5e-7 : bd_eps(p->t[i].dt);
    /* scale * x + shift may cancel: the error is then that of the product. */
    if (i == DST && p->flags & dnnl_tp_use_shift) c->abs_threshold = 5e-7 * 16;
    c->zero_trust = 100;
}

const bd_driver_t bd_driver_lnorm = {.name = "lnorm",
                                     .kind = dnnl_tp_layer_normalization,
                                     .loop = loop,
                                     .print = print,
                                     .parse = parse,
                                     .desc = bd_desc_vdims,
                                     .perf_csv = "%dir%,%sdt%,%tag%,%stat_tag%,%flags%,%attr%,%desc%",
                                     .init = init,
                                     .create_pd = create_pd,
                                     .fill = fill,
                                     .ref = ref,
                                     .judge = judge};
