/* deconvolution: dst[n][o][y * stride + k * dilation - pad] += src[n][i][y] * weights[o][i][k], and a bias. */
#include <strings.h>

#include "drivers/conv.h"

static int set_alg(bd_prb_t *p, const char *s) {
    if (!strncasecmp(s, "deconvolution_", 14)) s += 14;
    if (!strcasecmp(s, "direct")) p->alg = dnnl_tp_deconvolution_direct;
    else if (!strcasecmp(s, "wino") || !strcasecmp(s, "winograd")) p->alg = 0xb; /* the peer's number */
    else return 1;
    return 0;
}
static void get_alg(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    bd_cat(o, n, "%s", p->alg == dnnl_tp_deconvolution_direct ? "DIRECT" : "WINO");
}
static const bd_opt_t opt_alg = {"alg", "DIRECT", set_alg, get_alg, false};

static const bd_opt_t *const loop[] = {
    &bd_opt_dir_b,    &bd_opt_dt3, &bd_opt_bia_dt, &bd_opt_stag_any, &bd_opt_wtag, &bd_opt_dtag_any,
    &bd_opt_strides3, &opt_alg,    BD_ATTR_OPTS,   &bd_opt_mb,       NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_dir_b,    &bd_opt_dt3,      &bd_opt_bia_dt, &bd_opt_stag_any, &bd_opt_wtag,
    &bd_opt_dtag_any, &bd_opt_strides3, &opt_alg,       BD_ATTR_OPTS,     NULL};

static int parse(bd_prb_t *p, const char *s) { return bd_conv_parse(p, s, BD_WINDOW_TRANSPOSED); }
static void desc(const bd_prb_t *p, char *o, size_t n) { bd_conv_desc(p, o, n, BD_WINDOW_TRANSPOSED); }

static const char *init(bd_prb_t *p) {
    const char *skip = bd_conv_init(p, BD_WIN_OUT, BD_WIN_IN);
    return !skip && p->alg != dnnl_tp_deconvolution_direct ? BD_SKIP_UNSUPPORTED : skip;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->deconvolution_forward_primitive_desc_create(
        pd, e, bd_prop(p->dir), (dnnl_tp_alg_kind_t)p->alg, md[BD_CONV_SRC], md[BD_CONV_WEI],
        bd_find_arg(p, DNNL_TP_ARG_BIAS) < 0 ? NULL : md[BD_CONV_BIA], md[BD_CONV_DST], p->vd[BD_WIN_STRIDE],
        p->vd[BD_WIN_DILATION], p->vd[BD_WIN_PAD], p->vd[BD_WIN_PAD_R], a);
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *s = &p->t[BD_CONV_SRC], *t = &p->t[BD_CONV_DST];
    const int sp = p->vd_nd[0], bia = bd_find_arg(p, DNNL_TP_ARG_BIAS);
    const int64_t g = bd_conv_groups(p), ic = p->vd[0][BD_CONV_IC] / g, oc = p->vd[0][BD_CONV_OC] / g,
                  n = bd_elems(t), places = bd_elems(s);
    int64_t pos[BD_MAX_NDIMS] = {0}, tap[3], at[3], image = 1, kernel = 1;
    for (int d = 0; d < sp; ++d) image *= p->vd[BD_WIN_IN][d], kernel *= p->vd[BD_WIN_KERNEL][d];
    double *sum = calloc((size_t)(n ? n : 1), sizeof *sum);
    for (int64_t i = 0; sum && i < places; ++i) {
        const int64_t group = pos[1] / (ic ? ic : 1), c = pos[1] % (ic ? ic : 1);
        tap[0] = -1;
        while (bd_window_next(p, pos + 2, tap, at)) {
            int64_t x = 0, w = 0;
            for (int d = 0; d < sp; ++d) {
                x = x * p->vd[BD_WIN_IN][d] + at[d];
                w = w * p->vd[BD_WIN_KERNEL][d] + tap[d];
            }
            for (int64_t o = group * oc; o < (group + 1) * oc; ++o)
                sum[(pos[0] * t->d[1] + o) * image + x] +=
                    v[BD_CONV_SRC][i] * v[BD_CONV_WEI][(o * ic + c) * kernel + w];
        }
        bd_next(s->nd, s->d, pos);
    }
    memset(pos, 0, sizeof pos);
    for (int64_t i = 0; i < n; ++i) {
        double x = sum ? sum[i] : NAN;
        if (bia >= 0) x += v[bia][pos[1]];
        v[BD_CONV_DST][i] = bd_attr_finish(p, v, x, v[BD_CONV_DST][i], pos);
        bd_next(t->nd, t->d, pos);
    }
    free(sum);
}

const bd_driver_t bd_driver_deconv = {.name = "deconv",
                                      .kind = dnnl_tp_deconvolution,
                                      .loop = loop,
                                      .print = print,
                                      .parse = parse,
                                      .desc = desc,
                                      .perf_csv =
                                          "%dir%,%sdt%,%bia_dt%,%stag%,%wtag%,%dtag%,%alg%,%attr%,%desc%",
                                      .init = init,
                                      .create_pd = create_pd,
                                      .fill = bd_conv_fill,
                                      .ref = ref,
                                      .judge = bd_conv_judge};
