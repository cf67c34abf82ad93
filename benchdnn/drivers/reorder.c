/* reorder: the same values in another layout and type, with scales and zero points. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {
    &bd_opt_sdt1_always, &bd_opt_ddt_always,   &bd_opt_stag_abx, &bd_opt_dtag_abx, &bd_opt_strides2,
    &bd_opt_oflag,       &bd_opt_cross_engine, &bd_opt_rt_mask,  BD_ATTR_OPTS,     NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_sdt1_always, &bd_opt_ddt_always,   &bd_opt_stag_abx, &bd_opt_dtag_abx, &bd_opt_strides2,
    &bd_opt_oflag,       &bd_opt_cross_engine, &bd_opt_rt_mask,  BD_ATTR_OPTS,     NULL};
enum { SRC, DST };

static int parse(bd_prb_t *p, const char *s) { return bd_parse_vdims(p, s, 1, 1); }

static const char *init(bd_prb_t *p) {
    int nd = p->vd_nd[0];
    bd_add_tensor(p, DNNL_TP_ARG_FROM, "src", nd, p->vd[0], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_TO, "dst", nd, p->vd[0], p->ddt, p->dtag, BD_OUT);
    for (int i = 0; i < 2; ++i) {
        if (p->has_strides[i] && p->n_strides[i] != nd) return BD_SKIP_INVALID;
        if (p->has_strides[i]) p->t[i].strides = p->strides[i];
        p->t[i].rt = p->rt_mask[0] & ((1u << nd) - 1); /* bits beyond the last dimension mean nothing */
    }
    if (bd_tag_is(p->tag[0], "any") || bd_tag_is(p->dtag, "any")) return BD_SKIP_INVALID;
    p->ops = 0;
    if (*p->text[0]) return BD_SKIP_COMPENSATION;
    if (strcmp(p->text[1], "none")) return BD_SKIP_ENGINES;
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    (void)p;
    return api->reorder_primitive_desc_create(pd, md[SRC], e, md[DST], e, a);
}

/* Values of the source type beyond the range of the destination, and ties of its rounding. */
static void fill_src(const bd_prb_t *p, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t n = bd_elems(t);
    (void)perf;
    bd_rng_t r = bd_rng(t->arg, n);
    for (int64_t k = 0; k < n; ++k) {
        double x = (double)bd_rng_int(&r, -600, 600) / 2;
        if (bd_rng_int(&r, 0, 7)) x = (double)bd_rng_int(&r, -32, 32);
        v[k] = bd_round_to(t->dt, x);
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[SRC];
    int64_t pos[BD_MAX_NDIMS] = {0}, n = bd_elems(t);
    for (int64_t k = 0; k < n; ++k) {
        double x = v[SRC][k] - bd_attr_zp(p, v, DNNL_TP_ARG_SRC, t->nd, pos);
        v[DST][k] =
            bd_attr_finish(p, v, x * bd_attr_scale(p, v, DNNL_TP_ARG_SRC, t->nd, pos), v[DST][k], pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)p, (void)i;
    c->threshold = 0;
    c->zero_trust = 80;
}

const bd_driver_t bd_driver_reorder = {.name = "reorder",
                                       .kind = dnnl_tp_reorder,
                                       .loop = loop,
                                       .print = print,
                                       .parse = parse,
                                       .desc = bd_desc_vdims,
                                       .perf_csv = "%sdt%,%ddt%,%stag%,%dtag%,%flags%,%attr%,%desc%",
                                       .init = init,
                                       .create_pd = create_pd,
                                       .fill = bd_fill_src,
                                       .fill_src = fill_src,
                                       .ref = ref,
                                       .judge = judge};
