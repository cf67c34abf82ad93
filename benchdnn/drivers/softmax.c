/* softmax and logsoftmax along an axis. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d,    &bd_opt_sdt1,        &bd_opt_ddt,  &bd_opt_stag_abx,
                                       &bd_opt_dtag_any, &bd_opt_alg_softmax, &bd_opt_axis, &bd_opt_mb,
                                       BD_ATTR_OPTS,     &bd_opt_inplace,     NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_dir_d,       &bd_opt_sdt1, &bd_opt_ddt,     &bd_opt_stag_abx, &bd_opt_dtag_any,
    &bd_opt_alg_softmax, &bd_opt_axis, &bd_opt_inplace, BD_ATTR_OPTS,     NULL};
enum { SRC, DST };

static int parse(bd_prb_t *p, const char *s) { return bd_parse_vdims(p, s, 1, 1); }

static const char *init(bd_prb_t *p) {
    if (p->mb) p->vd[0][0] = p->mb;
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", p->vd_nd[0], p->vd[0], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", p->vd_nd[0], p->vd[0], p->ddt, p->dtag, BD_OUT);
    p->ops = 4. * (double)bd_elems(&p->t[SRC]);
    if (p->alg == BD_ALG_SOFTMAX_INF_AS_ZERO) return BD_SKIP_UNSUPPORTED;
    if (p->axis < 0 || p->axis >= p->vd_nd[0]) return BD_SKIP_INVALID;
    return p->inplace ? bd_make_inplace(p, SRC, DST) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->softmax_forward_primitive_desc_create(pd, e, bd_prop(p->dir), (dnnl_tp_alg_kind_t)p->alg,
                                                      md[SRC], md[DST], p->axis, a);
}

/* A few values near the overflow of exp, the rest well below them or close together. */
static void fill_src(const bd_prb_t *p, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t n = bd_elems(t);
    (void)perf;
    bd_rng_t r = bd_rng(t->arg, n);
    bool ints = t->dt == dnnl_tp_s8 || t->dt == dnnl_tp_u8 || t->dt == dnnl_tp_s32;
    for (int64_t k = 0; k < n; ++k) {
        double x = (double)bd_rng_int(&r, -64, 64) / (ints ? 16 : 8);
        if (bd_rng_int(&r, 0, 15) == 0) x = (double)bd_rng_int(&r, 84, 88) * (bd_rng_int(&r, 0, 1) ? 1 : -1);
        v[k] = t->dt == dnnl_tp_u8 ? fabs(trunc(x)) : ints ? trunc(x) : x;
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t outer = 1, n = t->d[p->axis], inner = 1, pos[BD_MAX_NDIMS] = {0};
    for (int i = 0; i < p->axis; ++i) outer *= t->d[i];
    for (int i = p->axis + 1; i < t->nd; ++i) inner *= t->d[i];
    if (!bd_elems(t)) return;
    double ss = bd_attr_scale(p, v, DNNL_TP_ARG_SRC, t->nd, pos);
    double *y = bd_alloc((size_t)bd_elems(t) * sizeof *y, 64);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t in = 0; in < inner; ++in) {
            const double *x = v[SRC] + o * n * inner + in;
            double *d = y + o * n * inner + in, m = -INFINITY, sum = 0;
            for (int64_t k = 0; k < n; ++k) m = fmax(m, x[k * inner]);
            for (int64_t k = 0; k < n; ++k) sum += exp(x[k * inner] - m);
            for (int64_t k = 0; k < n; ++k) {
                double z = x[k * inner] - m;
                d[k * inner] = (p->alg == dnnl_tp_softmax_log ? z - log(sum) : exp(z) / sum) * ss;
            }
        }
    for (int64_t k = 0; k < bd_elems(t); ++k) {
        v[DST][k] = bd_attr_finish(p, v, y[k], bd_old_dst(p, v, DST, k), pos);
        bd_next(t->nd, t->d, pos);
    }
    bd_free(y);
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)i;
    c->threshold = p->ddt == dnnl_tp_f32 ? 10 * BD_EPS_F32 * (p->alg == dnnl_tp_softmax_log ? 5 : 1) : 0;
    if (p->ddt == dnnl_tp_bf16 || p->ddt == dnnl_tp_f16) c->threshold = bd_eps(p->ddt);
    /* ln(sum) of a sum next to 1 is as wrong as the sum's rounding. */
    c->abs_threshold = BD_EPS_F32 * (p->alg == dnnl_tp_softmax_log ? 10 : 1);
    c->zero_trust = 100;
}

const bd_driver_t bd_driver_softmax = {.name = "softmax",
                                       .kind = dnnl_tp_softmax,
                                       .loop = loop,
                                       .print = print,
                                       .parse = parse,
                                       .desc = bd_desc_vdims,
                                       .perf_csv =
                                           "%dir%,%sdt%,%ddt%,%stag%,%dtag%,%alg%,%axis%,%attr%,%desc%",
                                       .init = init,
                                       .create_pd = create_pd,
                                       .fill = bd_fill_src,
                                       .fill_src = fill_src,
                                       .ref = ref,
                                       .judge = judge};
