/* local response normalization, across channels or within one. */
#include <strings.h>

#include "drivers/image.h"

static int set_alg(bd_prb_t *p, const char *s) {
    if (!strncasecmp(s, "lrn_", 4)) s += 4;
    if (!strcasecmp(s, "across") || !strcasecmp(s, "across_channels")) p->alg = dnnl_tp_lrn_across_channels;
    else if (!strcasecmp(s, "within") || !strcasecmp(s, "within_channel"))
        p->alg = dnnl_tp_lrn_within_channel;
    else return 1;
    return 0;
}
static void get_alg(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    bd_cat(o, n, "%s", p->alg == dnnl_tp_lrn_across_channels ? "ACROSS" : "WITHIN");
}
static const bd_opt_t opt_alg = {"alg", "ACROSS", set_alg, get_alg, false};

static const bd_opt_t *const loop[] = {&bd_opt_dir_d, &bd_opt_dt1, &bd_opt_tag1, &opt_alg,
                                       BD_ATTR_OPTS,  &bd_opt_mb,  NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d, &bd_opt_dt1,  &bd_opt_tag1,
                                        &opt_alg,      BD_ATTR_OPTS, NULL};
enum { SRC, DST };
enum { LS = BD_IMG_MORE };
static const char *const counts[] = {"mb", "ic", "ls", NULL};
static const bd_img_number_t numbers[] = {{"alpha", offsetof(bd_prb_t, alpha), 1.f / 8192},
                                          {"beta", offsetof(bd_prb_t, beta), .75f},
                                          {"k", offsetof(bd_prb_t, p), 1.f},
                                          {NULL, 0, 0}};

static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_image(p, s, counts, numbers)) return 1;
    if (p->vd[0][LS] < 0) p->vd[0][LS] = 5;
    return p->vd[0][LS] == 0;
}
static void desc(const bd_prb_t *p, char *o, size_t n) { bd_desc_image(p, o, n, counts, numbers); }

static const char *init(bd_prb_t *p) {
    int64_t d[BD_MAX_NDIMS];
    const int nd = bd_image_dims(p, d);
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, d, p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->dt[0], "any", BD_OUT);
    p->ops = (double)bd_elems(&p->t[SRC]) * (double)(2 * p->vd[0][LS] + 10);
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    /* The peer's workspace of training is for a backward pass that nobody runs here. */
    const dnnl_tp_prop_kind_t prop = api->is_peer ? dnnl_tp_forward_inference : bd_prop(p->dir);
    return api->lrn_forward_primitive_desc_create(pd, e, prop, (dnnl_tp_alg_kind_t)p->alg, md[SRC], md[DST],
                                                  p->vd[0][LS], p->alpha, p->beta, p->p, a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    (void)perf;
    bd_fill_ints(v, bd_elems(&p->t[i]), p->t[i].arg, p->t[i].dt == dnnl_tp_u8 ? 0 : -10, 10, 1);
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[SRC];
    const bool across = p->alg == dnnl_tp_lrn_across_channels;
    const int64_t n = bd_elems(t), half = (p->vd[0][LS] - 1) / 2;
    int64_t pos[BD_MAX_NDIMS] = {0};
    double size = (double)p->vd[0][LS];
    if (!across) size = pow(size, t->nd - 2);
    for (int64_t i = 0; i < n; ++i) {
        int64_t lo[BD_MAX_NDIMS], box[BD_MAX_NDIMS], at[BD_MAX_NDIMS] = {0}, of[BD_MAX_NDIMS];
        for (int d = 0; d < t->nd; ++d) {
            const int64_t reach = (across ? d == 1 : d > 1) ? half : 0;
            lo[d] = pos[d] > reach ? pos[d] - reach : 0;
            box[d] = (pos[d] + reach < t->d[d] ? pos[d] + reach + 1 : t->d[d]) - lo[d];
        }
        double sum = 0;
        do {
            for (int d = 0; d < t->nd; ++d) of[d] = lo[d] + at[d];
            const double x = v[SRC][bd_at(t, of)];
            sum += x * x;
        } while (bd_next(t->nd, box, at));
        const double y = v[SRC][i] * pow((double)p->p + (double)p->alpha * sum / size, -(double)p->beta);
        v[DST][i] = bd_attr_finish(p, v, y, bd_old_dst(p, v, DST, i), pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    c->threshold = p->t[i].dt == dnnl_tp_f32 ? 2e-6 : bd_eps(p->t[i].dt);
    c->zero_trust = 100;
}

const bd_driver_t bd_driver_lrn = {.name = "lrn",
                                   .kind = dnnl_tp_lrn,
                                   .loop = loop,
                                   .print = print,
                                   .parse = parse,
                                   .desc = desc,
                                   .perf_csv = "%dir%,%sdt%,%tag%,%alg%,%attr%,%desc%",
                                   .init = init,
                                   .create_pd = create_pd,
                                   .fill = fill,
                                   .ref = ref,
                                   .judge = judge};
