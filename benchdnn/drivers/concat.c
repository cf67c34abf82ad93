/* concat along an axis. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {
    &bd_opt_sdt1, &bd_opt_ddt, &bd_opt_stag_n, &bd_opt_dtag_undef, &bd_opt_axis, BD_ATTR_OPTS, NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_sdt1, &bd_opt_ddt, &bd_opt_stag_n, &bd_opt_dtag_undef, &bd_opt_axis, BD_ATTR_OPTS, NULL};

static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_vdims(p, s, 1, BD_MAX_SRC)) return 1;
    for (int i = 1; i < p->n_vd; ++i)
        if (p->vd_nd[i] != p->vd_nd[0]) return 1;
    return 0;
}

static const char *init(bd_prb_t *p) {
    int nd = p->vd_nd[0], n = p->n_vd;
    int64_t d[BD_MAX_NDIMS];
    bool bad = p->axis < 0 || p->axis >= nd || (p->n_tag != 1 && p->n_tag != n) || p->n_dt != 1;
    for (int i = 0; i < nd; ++i) {
        d[i] = p->vd[0][i];
        for (int s = 1; s < n; ++s) {
            if (i == p->axis) d[i] += p->vd[s][i];
            else bad |= p->vd[s][i] != d[i];
        }
    }
    if (bad) return BD_SKIP_INVALID;
    for (int s = 0; s < n; ++s)
        bd_add_tensor(p, DNNL_TP_ARG_MULTIPLE_SRC + s, "src", nd, p->vd[s], p->dt[0],
                      p->tag[p->n_tag == 1 ? 0 : s], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->ddt, bd_tag_is(p->dtag, "undef") ? "any" : p->dtag,
                  BD_OUT);
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    const_dnnl_tp_memory_desc_t src[BD_MAX_SRC];
    for (int s = 0; s < p->n_vd; ++s) src[s] = md[s];
    /* Without a destination the library derives it, in the type of the sources. */
    bool derive = bd_tag_is(p->dtag, "undef") && p->ddt == p->dt[0];
    return api->concat_primitive_desc_create(pd, e, derive ? NULL : md[p->n_vd], p->n_vd, p->axis, src, a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) { bd_fill_default(p, i, v, perf, 32); }

static void ref(const bd_prb_t *p, double *const *v) {
    int dst = p->n_vd;
    const bd_tensor_t *t = &p->t[dst];
    int64_t pos[BD_MAX_NDIMS] = {0}, from[BD_MAX_NDIMS], n = bd_elems(t), zero[BD_MAX_NDIMS] = {0};
    for (int64_t k = 0; k < n; ++k) {
        int s = 0;
        memcpy(from, pos, sizeof from);
        while (from[p->axis] >= p->t[s].d[p->axis]) from[p->axis] -= p->t[s++].d[p->axis];
        int64_t at = 0;
        for (int i = 0; i < t->nd; ++i) at = at * p->t[s].d[i] + from[i];
        double x = v[s][at] * bd_attr_scale(p, v, p->t[s].arg, t->nd, zero);
        v[dst][k] = bd_attr_finish(p, v, x, v[dst][k], pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)p, (void)i;
    c->threshold = 0;
}

const bd_driver_t bd_driver_concat = {.name = "concat",
                                      .kind = dnnl_tp_concat,
                                      .loop = loop,
                                      .print = print,
                                      .parse = parse,
                                      .desc = bd_desc_vdims,
                                      .perf_csv = "%sdt%,%ddt%,%stag%,%dtag%,%axis%,%attr%,%desc%",
                                      .init = init,
                                      .create_pd = create_pd,
                                      .fill = fill,
                                      .ref = ref,
                                      .judge = judge};
