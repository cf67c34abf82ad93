/* batch normalization, with statistics, scale, shift, fused ReLU or sum and ReLU. */
#include "drivers/channel_norm.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d, &bd_opt_dt1,     &bd_opt_tag1, &bd_opt_batch_flags,
                                       BD_ATTR_OPTS,  &bd_opt_inplace, &bd_opt_mb,   NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,   &bd_opt_dt1,  &bd_opt_tag1, &bd_opt_batch_flags,
                                        &bd_opt_inplace, BD_ATTR_OPTS, NULL};
static const char *const counts[] = {"mb", "ic", NULL};
static const bd_img_number_t numbers[] = {{"eps", offsetof(bd_prb_t, eps), .0625f}, {NULL, 0, 0}};

static int parse(bd_prb_t *p, const char *s) { return bd_parse_image(p, s, counts, numbers); }
static void desc(const bd_prb_t *p, char *o, size_t n) { bd_desc_image(p, o, n, counts, numbers); }

static const char *init(bd_prb_t *p) {
    bd_norm_tensors(p, 0, "any");
    const bd_tensor_t *dst = &p->t[BD_NORM_DST];
    if (p->flags & dnnl_tp_fuse_norm_add_relu)
        bd_add_tensor(p, DNNL_TP_ARG_SRC_1, "src1", dst->nd, dst->d, dst->dt, "any", BD_IN);
    if (p->flags & (dnnl_tp_fuse_norm_relu | dnnl_tp_fuse_norm_add_relu) && p->dir != BD_FWD_I)
        bd_add_tensor(p, DNNL_TP_ARG_WORKSPACE, "ws", dst->nd, dst->d, dnnl_tp_u8, "any", BD_OUT | BD_OWN);
    return p->inplace ? bd_make_inplace(p, BD_NORM_SRC, BD_NORM_DST) : NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->batch_normalization_forward_primitive_desc_create(pd, e, bd_prop(p->dir), md[BD_NORM_SRC],
                                                                  md[BD_NORM_DST], p->eps, p->flags, a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    (void)perf;
    bd_norm_fill(p, 0, i, v);
}
static void ref(const bd_prb_t *p, double *const *v) { bd_norm_ref(p, 0, v); }

const bd_driver_t bd_driver_bnorm = {.name = "bnorm",
                                     .kind = dnnl_tp_batch_normalization,
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
