/* sum of scaled sources. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_sdt_n,      &bd_opt_ddt,  &bd_opt_stag_n,  &bd_opt_dtag_undef,
                                       &bd_opt_scales_sum, BD_ATTR_OPTS, &bd_opt_inplace, NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_sdt_n,      &bd_opt_ddt,     &bd_opt_stag_n, &bd_opt_dtag_undef,
    &bd_opt_scales_sum, &bd_opt_inplace, BD_ATTR_OPTS,   NULL};

static int parse(bd_prb_t *p, const char *s) { return bd_parse_vdims(p, s, 1, 1); }

static const char *init(bd_prb_t *p) {
    int n = p->n_dt;
    if ((p->n_tag != 1 && p->n_tag != n) || (p->n_scale != 1 && p->n_scale != n)) return BD_SKIP_INVALID;
    for (int s = 0; s < n; ++s)
        bd_add_tensor(p, DNNL_TP_ARG_MULTIPLE_SRC + s, "src", p->vd_nd[0], p->vd[0], p->dt[s],
                      p->tag[p->n_tag == 1 ? 0 : s], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", p->vd_nd[0], p->vd[0], p->ddt,
                  bd_tag_is(p->dtag, "undef") ? "any" : p->dtag, BD_OUT);
    p->ops = 2. * n * (double)bd_elems(&p->t[n]);
    return p->inplace ? bd_make_inplace(p, 0, n) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    const_dnnl_tp_memory_desc_t src[BD_MAX_SRC];
    float scale[BD_MAX_SRC];
    for (int s = 0; s < p->n_dt; ++s) src[s] = md[s], scale[s] = p->scale[p->n_scale == 1 ? 0 : s];
    return api->sum_primitive_desc_create(pd, e, md[p->n_dt], p->n_dt, scale, src, a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) { bd_fill_default(p, i, v, perf, 16); }

static void ref(const bd_prb_t *p, double *const *v) {
    int64_t n = bd_elems(&p->t[p->n_dt]);
    for (int64_t k = 0; k < n; ++k) {
        double x = 0;
        for (int s = 0; s < p->n_dt; ++s) x += v[s][k] * (double)p->scale[p->n_scale == 1 ? 0 : s];
        v[p->n_dt][k] = x;
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) { c->threshold = bd_eps(p->t[i].dt) * p->n_dt; }

const bd_driver_t bd_driver_sum = {.name = "sum",
                                   .kind = dnnl_tp_sum,
                                   .loop = loop,
                                   .print = print,
                                   .parse = parse,
                                   .desc = bd_desc_vdims,
                                   .perf_csv = "%sdt%,%ddt%,%stag%,%dtag%,%attr%,%desc%",
                                   .init = init,
                                   .create_pd = create_pd,
                                   .fill = fill,
                                   .ref = ref,
                                   .judge = judge};
