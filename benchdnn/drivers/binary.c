/* binary: src0 op src1 with broadcasting; select takes a condition as third source. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_sdt2,     &bd_opt_ddt,      &bd_opt_stag2,
                                       &bd_opt_dtag_any, &bd_opt_strides3, &bd_opt_alg_binary,
                                       BD_ATTR_OPTS,     &bd_opt_inplace,  NULL};
static const bd_opt_t *const print[] = {&bd_opt_sdt2,     &bd_opt_ddt,      &bd_opt_stag2,
                                        &bd_opt_dtag_any, &bd_opt_strides3, &bd_opt_alg_binary,
                                        &bd_opt_inplace,  BD_ATTR_OPTS,     NULL};
static const int args[3] = {DNNL_TP_ARG_SRC_0, DNNL_TP_ARG_SRC_1, DNNL_TP_ARG_SRC_2};
static const char *const names[3] = {"src0", "src1", "src2"};

static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_vdims(p, s, 2, 3)) return 1;
    for (int i = 1; i < p->n_vd; ++i) { /* missing dimensions are ones on the right */
        if (p->vd_nd[i] > p->vd_nd[0]) return 1;
        while (p->vd_nd[i] < p->vd_nd[0]) p->vd[i][p->vd_nd[i]++] = 1;
    }
    return 0;
}

static bool is_select(const bd_prb_t *p) { return p->alg == dnnl_tp_binary_select; }
static int n_src(const bd_prb_t *p) { return is_select(p) ? 3 : 2; }
static int dst_of(const bd_prb_t *p) { return n_src(p); }

static const char *init(bd_prb_t *p) {
    int nd = p->vd_nd[0], n = n_src(p);
    int64_t d[BD_MAX_NDIMS];
    if (p->n_vd != n && !(is_select(p) && p->n_vd == 2)) return BD_SKIP_INVALID;
    if (is_select(p) && p->n_dt == 3 && p->dt[2] != dnnl_tp_s8) return BD_SKIP_INVALID;
    bool bad = false;
    for (int i = 0; i < nd; ++i) {
        d[i] = p->vd[0][i];
        for (int s = 1; s < p->n_vd; ++s) {
            if (d[i] == 1) d[i] = p->vd[s][i];
            bad |= p->vd[s][i] != d[i] && p->vd[s][i] != 1;
        }
    }
    for (int i = 0; i < 3; ++i) bad |= p->has_strides[i] && p->n_strides[i] != nd;
    if (bad) return BD_SKIP_INVALID;
    for (int s = 0; s < n; ++s) {
        const int64_t *dims = s < p->n_vd ? p->vd[s] : p->vd[0];
        int dt = s == 2 ? (int)dnnl_tp_s8 : p->dt[s];
        bd_tensor_t *t =
            bd_add_tensor(p, args[s], names[s], nd, dims, dt, s < p->n_tag ? p->tag[s] : "any", BD_IN);
        if (s < 2 && p->has_strides[s]) t->strides = p->strides[s];
    }
    bd_tensor_t *t = bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->ddt, p->dtag, BD_OUT);
    if (p->has_strides[2]) t->strides = p->strides[2];
    p->ops = (double)bd_elems(t);
    return p->inplace ? bd_make_inplace(p, 0, dst_of(p)) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (!is_select(p))
        return api->binary_primitive_desc_create(pd, e, (dnnl_tp_alg_kind_t)p->alg, md[0], md[1], md[2], a);
    if (!api->binary_primitive_desc_create_v2) return dnnl_tp_unimplemented;
    return api->binary_primitive_desc_create_v2(pd, e, (dnnl_tp_alg_kind_t)p->alg, md[0], md[1], md[2], md[3],
                                                a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[i];
    int64_t n = bd_elems(t);
    bool frac = t->dt == dnnl_tp_f32;
    bd_rng_t r = bd_rng(t->arg, n);
    (void)perf;
    for (int64_t k = 0; k < n; ++k) {
        double x = (double)bd_rng_int(&r, t->dt == dnnl_tp_u8 ? 0 : -16, 16);
        if (frac) x /= 4;
        if (i == 2 && is_select(p)) x = (double)bd_rng_int(&r, 0, 1);
        else if (i == 1 && p->alg == dnnl_tp_binary_div && x == 0) x = 1;
        v[k] = x;
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    int dst = dst_of(p);
    const bd_tensor_t *t = &p->t[dst];
    int64_t pos[BD_MAX_NDIMS] = {0}, n = bd_elems(t);
    if (!n) return;
    double s0 = bd_attr_scale(p, v, DNNL_TP_ARG_SRC_0, t->nd, pos),
           s1 = bd_attr_scale(p, v, DNNL_TP_ARG_SRC_1, t->nd, pos);
    for (int64_t k = 0; k < n; ++k) {
        double a = v[0][bd_at(&p->t[0], pos)] * s0, b = v[1][bd_at(&p->t[1], pos)] * s1;
        double x = is_select(p) ? (v[2][bd_at(&p->t[2], pos)] != 0 ? a : b) : bd_binary(p->alg, a, b);
        v[dst][k] = bd_attr_finish(p, v, x, bd_old_dst(p, v, dst, k), pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    c->threshold = bd_eps(p->t[i].dt);
    c->allow_nan_inf = p->alg == dnnl_tp_binary_div;
    c->zero_trust = 100;
}

const bd_driver_t bd_driver_binary = {.name = "binary",
                                      .kind = dnnl_tp_binary,
                                      .loop = loop,
                                      .print = print,
                                      .parse = parse,
                                      .desc = bd_desc_vdims,
                                      .perf_csv = "%sdt%,%ddt%,%stag%,%dtag%,%alg%,%attr%,%desc%",
                                      .init = init,
                                      .create_pd = create_pd,
                                      .fill = fill,
                                      .ref = ref,
                                      .judge = judge};
