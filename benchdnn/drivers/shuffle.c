/* shuffle: an axis as a matrix of group_size columns, transposed. */
#include "drivers/drivers.h"

static int set_group(bd_prb_t *p, const char *s) {
    long v;
    if (bd_parse_int(s, &v) || v < 1 || v > INT32_MAX) return 1;
    p->group = v;
    return 0;
}
static void get_group(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0, bd_cat(o, n, "%lld", (long long)p->group);
}
static const bd_opt_t opt_group = {"group", "1", set_group, get_group, false};

static const bd_opt_t *const loop[] = {&bd_opt_dir_d, &bd_opt_dt1,  &bd_opt_tag1, &bd_opt_axis,
                                       &opt_group,    BD_ATTR_OPTS, &bd_opt_mb,   NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d, &bd_opt_dt1,  &bd_opt_tag1, &bd_opt_axis,
                                        &opt_group,    BD_ATTR_OPTS, NULL};
enum { SRC, DST };

static int parse(bd_prb_t *p, const char *s) { return bd_parse_vdims(p, s, 1, 1); }

static const char *init(bd_prb_t *p) {
    const int nd = p->vd_nd[0];
    if (p->mb) p->vd[0][0] = p->mb;
    if (p->axis < 0 || p->axis >= nd || p->vd[0][p->axis] % p->group) return BD_SKIP_INVALID;
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, p->vd[0], p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, p->vd[0], p->dt[0], "any", BD_OUT);
    p->ops = (double)bd_elems(&p->t[SRC]);
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->shuffle_forward_primitive_desc_create(pd, e, bd_prop(p->dir), md[SRC], md[DST], p->axis,
                                                      p->group, a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) { bd_fill_default(p, i, v, perf, 100); }

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[DST];
    const int64_t rows = t->d[p->axis] / p->group, n = bd_elems(t);
    int64_t pos[BD_MAX_NDIMS] = {0}, from[BD_MAX_NDIMS];
    for (int64_t i = 0; i < n; ++i) {
        memcpy(from, pos, sizeof from);
        from[p->axis] = pos[p->axis] % rows * p->group + pos[p->axis] / rows;
        v[DST][i] = v[SRC][bd_at(t, from)];
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)i;
    c->threshold = 0;
    c->zero_trust = p->dt[0] == dnnl_tp_u8 ? 100 : 60;
}

const bd_driver_t bd_driver_shuffle = {.name = "shuffle",
                                       .kind = dnnl_tp_shuffle,
                                       .loop = loop,
                                       .print = print,
                                       .parse = parse,
                                       .desc = bd_desc_vdims,
                                       .perf_csv = "%dir%,%dt%,%tag%,%axis%,%group%,%desc%",
                                       .init = init,
                                       .create_pd = create_pd,
                                       .fill = fill,
                                       .ref = ref,
                                       .judge = judge};
