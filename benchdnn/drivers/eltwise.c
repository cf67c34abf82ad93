/* eltwise: one algorithm applied to every element. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d,   &bd_opt_dt1,  &bd_opt_tag1, &bd_opt_alg_eltwise,
                                       &bd_opt_alpha,   &bd_opt_beta, &bd_opt_mb,   BD_ATTR_OPTS,
                                       &bd_opt_inplace, NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,       &bd_opt_dt1,   &bd_opt_tag1,
                                        &bd_opt_alg_eltwise, &bd_opt_alpha, &bd_opt_beta,
                                        &bd_opt_inplace,     BD_ATTR_OPTS,  NULL};
enum { SRC, DST };

static int parse(bd_prb_t *p, const char *s) { return bd_parse_vdims(p, s, 1, 1); }

static bool is_int(int dt) { return dt == dnnl_tp_s32 || dt == dnnl_tp_s8 || dt == dnnl_tp_u8; }

static const char *init(bd_prb_t *p) {
    if (p->mb) p->vd[0][0] = p->mb;
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", p->vd_nd[0], p->vd[0], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", p->vd_nd[0], p->vd[0], p->dt[0], "any", BD_OUT);
    p->ops = (double)bd_elems(&p->t[SRC]);
    int a = p->alg;
    bool clip = a == dnnl_tp_eltwise_clip || a == dnnl_tp_eltwise_clip_v2 ||
                a == dnnl_tp_eltwise_clip_v2_use_dst_for_bwd;
    bool neg = (a == dnnl_tp_eltwise_relu_use_dst_for_bwd || a == dnnl_tp_eltwise_elu_use_dst_for_bwd) &&
               p->alpha < 0;
    if ((clip && p->beta < p->alpha) || neg) return BD_SKIP_INVALID;
    if (a == dnnl_tp_eltwise_round && (bd_dir_bwd(p->dir) || p->dt[0] != dnnl_tp_f32)) return BD_SKIP_INVALID;
    if (is_int(p->dt[0]) &&
        (bd_dir_bwd(p->dir) ||
         !(a == dnnl_tp_eltwise_relu || a == dnnl_tp_eltwise_linear || a == dnnl_tp_eltwise_clip)))
        return BD_SKIP_UNSUPPORTED;
    if (p->inplace && bd_dir_bwd(p->dir) && a < dnnl_tp_eltwise_relu_use_dst_for_bwd) return BD_SKIP_INVALID;
    return p->inplace ? bd_make_inplace(p, SRC, DST) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->eltwise_forward_primitive_desc_create(pd, e, bd_prop(p->dir), (dnnl_tp_alg_kind_t)p->alg,
                                                      md[SRC], md[DST], p->alpha, p->beta, a);
}

/* Small and large magnitudes of both signs, and the points where algorithms change their branch. */
static void fill_src(const bd_prb_t *p, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t n = bd_elems(t);
    bd_rng_t r = bd_rng(t->arg, n);
    double a = (double)p->alpha, b = (double)p->beta;
    const double special[] = {0, -0., 1, -1, a, b, -a, 0.5, -0.5, 2.5, -3.5, 88, -88, 1e-5, -1e-5, -4, -5.5};
    for (int64_t k = 0; k < n; ++k) {
        double x;
        switch (k < 32 ? (int)(k & 3) : (int)bd_rng_int(&r, 0, 7)) {
        case 0: x = special[bd_rng_int(&r, 0, sizeof special / sizeof *special - 1)]; break;
        case 1: x = (double)bd_rng_int(&r, -10, 10); break;
        case 2: x = bd_rng_unit(&r) * 20 - 10; break;
        case 3: x = (double)bd_rng_int(&r, -100, 100); break;
        default: x = bd_rng_unit(&r) * 2 - 1;
        }
        if (perf) x = bd_rng_unit(&r) * 8 - 4;
        if (p->alg == dnnl_tp_eltwise_log || p->alg == dnnl_tp_eltwise_sqrt ||
            p->alg == dnnl_tp_eltwise_sqrt_use_dst_for_bwd || p->alg == dnnl_tp_eltwise_pow)
            x = fabs(x);
        if (p->alg == dnnl_tp_eltwise_soft_relu && a == 0) x = 0;
        if (is_int(t->dt)) x = trunc(x);
        v[k] = bd_round_to(t->dt, x);
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t pos[BD_MAX_NDIMS] = {0}, n = bd_elems(t);
    for (int64_t k = 0; k < n; ++k) {
        double x = bd_eltwise(p->alg, v[SRC][k], (double)p->alpha, (double)p->beta);
        v[DST][k] = bd_attr_finish(p, v, x, bd_old_dst(p, v, DST, k), pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)i;
    switch (p->alg) {
    case dnnl_tp_eltwise_gelu_tanh:
    case dnnl_tp_eltwise_elu:
    case dnnl_tp_eltwise_swish:
    case dnnl_tp_eltwise_tanh:
    case dnnl_tp_eltwise_soft_relu:
    case dnnl_tp_eltwise_mish:
    case dnnl_tp_eltwise_log:
    case dnnl_tp_eltwise_tanh_use_dst_for_bwd:
    case dnnl_tp_eltwise_elu_use_dst_for_bwd: c->threshold = 4e-5; break;
    default: c->threshold = 4e-6;
    }
    if (p->dt[0] != dnnl_tp_f32) c->threshold = is_int(p->dt[0]) ? 0 : bd_eps(p->dt[0]);
    c->allow_nan_inf = true;
    c->zero_trust = 100;
}

const bd_driver_t bd_driver_eltwise = {.name = "eltwise",
                                       .kind = dnnl_tp_eltwise,
                                       .loop = loop,
                                       .print = print,
                                       .parse = parse,
                                       .desc = bd_desc_vdims,
                                       .perf_csv = "%dir%,%dt%,%tag%,%alg%,%attr%,%desc%",
                                       .init = init,
                                       .create_pd = create_pd,
                                       .fill = bd_fill_src,
                                       .fill_src = fill_src,
                                       .ref = ref,
                                       .judge = judge};
