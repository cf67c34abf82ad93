/* group normalization, with statistics, scale and shift. */
#include "drivers/channel_norm.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d, &bd_opt_dt2,     &bd_opt_tag2, &bd_opt_flags,
                                       BD_ATTR_OPTS,  &bd_opt_inplace, &bd_opt_mb,   NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,   &bd_opt_dt2,  &bd_opt_tag2, &bd_opt_flags,
                                        &bd_opt_inplace, BD_ATTR_OPTS, NULL};
static const char *const counts[] = {"mb", "ic", "g", NULL};
static const bd_img_number_t numbers[] = {{"eps", offsetof(bd_prb_t, eps), .0625f}, {NULL, 0, 0}};

static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_image(p, s, counts, numbers) || !p->vd_nd[0]) return 1;
    if (p->vd[0][BD_IMG_MORE] < 0) p->vd[0][BD_IMG_MORE] = 1;
    return p->vd[0][BD_IMG_MORE] == 0;
}
static void desc(const bd_prb_t *p, char *o, size_t n) { bd_desc_image(p, o, n, counts, numbers); }
static int64_t groups(const bd_prb_t *p) { return p->vd[0][BD_IMG_MORE]; }

static const char *init(bd_prb_t *p) {
    if (p->vd[0][BD_IMG_IC] % groups(p)) return BD_SKIP_INVALID;
    bd_norm_tensors(p, groups(p), p->tag[1]);
    return p->inplace ? bd_make_inplace(p, BD_NORM_SRC, BD_NORM_DST) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir) || !api->group_normalization_forward_primitive_desc_create)
        return dnnl_tp_unimplemented;
    return api->group_normalization_forward_primitive_desc_create(
        pd, e, bd_prop(p->dir), md[BD_NORM_SRC], md[BD_NORM_DST], groups(p), p->eps, p->flags, a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    (void)perf;
    bd_norm_fill(p, groups(p), i, v);
}
static void ref(const bd_prb_t *p, double *const *v) { bd_norm_ref(p, groups(p), v); }

const bd_driver_t bd_driver_gnorm = {.name = "gnorm",
                                     .kind = dnnl_tp_group_normalization,
                                     .loop = loop,
                                     .print = print,
                                     .parse = parse,
                                     .desc = desc,
                                     .perf_csv = "%dir%,%sdt%,%tag%,%flags%,%attr%,%desc%",
                                     .init = init,
                                     .create_pd = create_pd,
                                     .fill = fill,
                                     .ref = ref,
                                     .judge = bd_norm_judge};
