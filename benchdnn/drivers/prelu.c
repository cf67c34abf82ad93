/* prelu: ReLU whose slope is a tensor that broadcasts to src. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d, &bd_opt_sdt2,    &bd_opt_stag2, &bd_opt_mb,
                                       BD_ATTR_OPTS,  &bd_opt_inplace, NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,   &bd_opt_sdt2, &bd_opt_stag2,
                                        &bd_opt_inplace, BD_ATTR_OPTS, NULL};
enum { SRC, WEI, DST };

static int parse(bd_prb_t *p, const char *s) {
    return bd_parse_vdims(p, s, 2, 2) || p->vd_nd[SRC] != p->vd_nd[WEI];
}

static const char *init(bd_prb_t *p) {
    const int nd = p->vd_nd[SRC];
    if (p->mb) {
        if (p->vd[WEI][0] == p->vd[SRC][0]) p->vd[WEI][0] = p->mb;
        p->vd[SRC][0] = p->mb;
    }
    for (int d = 0; d < nd; ++d)
        if (p->vd[WEI][d] != p->vd[SRC][d] && p->vd[WEI][d] != 1) return BD_SKIP_INVALID;
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, p->vd[SRC], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_WEIGHTS, "wei", nd, p->vd[WEI], p->dt[1], p->n_tag > 1 ? p->tag[1] : "any",
                  BD_IN | BD_WEI);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, p->vd[SRC], p->dt[0], "any", BD_OUT);
    p->ops = (double)bd_elems(&p->t[SRC]);
    return p->inplace ? bd_make_inplace(p, SRC, DST) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->prelu_forward_primitive_desc_create(pd, e, bd_prop(p->dir), md[SRC], md[WEI], md[DST], a);
}

/* Quarters of both signs; their products are exact in every type but the 8-bit ones, where they saturate. */
static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[i];
    const int64_t n = bd_elems(t);
    const bool real = t->dt <= dnnl_tp_f32;
    bd_rng_t r = bd_rng(t->arg, n);
    (void)perf;
    for (int64_t k = 0; k < n; ++k) {
        const double x = (double)bd_rng_int(&r, t->dt == dnnl_tp_u8 ? 0 : -16, 16);
        v[k] = real ? x / 4 : x;
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[DST];
    int64_t pos[BD_MAX_NDIMS] = {0}, n = bd_elems(t);
    for (int64_t k = 0; k < n; ++k) {
        const double s = v[SRC][k], x = s < 0 ? s * v[WEI][bd_at(&p->t[WEI], pos)] : s;
        v[DST][k] = bd_attr_finish(p, v, x, bd_old_dst(p, v, DST, k), pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    c->threshold = bd_eps(p->t[i].dt);
    c->zero_trust = p->dt[0] == dnnl_tp_u8 ? 100 : 60;
}

const bd_driver_t bd_driver_prelu = {.name = "prelu",
                                     .kind = dnnl_tp_prelu,
                                     .loop = loop,
                                     .print = print,
                                     .parse = parse,
                                     .desc = bd_desc_vdims,
                                     .perf_csv = "%dir%,%sdt%,%stag%,%attr%,%desc%",
                                     .init = init,
                                     .create_pd = create_pd,
                                     .fill = fill,
                                     .ref = ref,
                                     .judge = judge};
