/* convolution: dst[n][o][x] = sum over channels and the kernel's elements of src * weights + bias. */
#include <strings.h>

#include "drivers/conv.h"

static int set_alg(bd_prb_t *p, const char *s) {
    if (!strncasecmp(s, "convolution_", 12)) s += 12;
    if (!strcasecmp(s, "direct")) p->alg = dnnl_tp_convolution_direct;
    else if (!strcasecmp(s, "auto")) p->alg = dnnl_tp_convolution_auto;
    else if (!strcasecmp(s, "wino") || !strcasecmp(s, "winograd")) p->alg = dnnl_tp_convolution_winograd;
    else return 1;
    return 0;
}
static void get_alg(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    bd_cat(o, n, "%s",
           p->alg == dnnl_tp_convolution_direct ? "DIRECT"
           : p->alg == dnnl_tp_convolution_auto ? "AUTO"
                                                : "WINO");
}
static const bd_opt_t opt_alg = {"alg", "DIRECT", set_alg, get_alg, false};

static const bd_opt_t *const loop[] = {
    &bd_opt_dir_b,    &bd_opt_dt3, &bd_opt_bia_dt, &bd_opt_stag_any, &bd_opt_wtag, &bd_opt_dtag_any,
    &bd_opt_strides3, &opt_alg,    BD_ATTR_OPTS,   &bd_opt_mb,       NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_dir_b,    &bd_opt_dt3,      &bd_opt_bia_dt, &bd_opt_stag_any, &bd_opt_wtag,
    &bd_opt_dtag_any, &bd_opt_strides3, &opt_alg,       BD_ATTR_OPTS,     NULL};

enum { MOST_LOOKS = 1 << 20 }; /* at elements of the kernel, to count what meets src */
static const char *const counts[] = {"mb", "g", "ic", "oc", NULL};

int bd_conv_parse(bd_prb_t *p, const char *s, bd_window_form_t form) {
    int64_t *v = p->vd[0];
    if (bd_parse_window(p, s, counts, form) || v[BD_CONV_IC] < 0 || v[BD_CONV_OC] < 0) return 1;
    if (v[BD_CONV_MB] < 0) v[BD_CONV_MB] = 2;
    return v[BD_CONV_G] == 0;
}

void bd_conv_desc(const bd_prb_t *p, char *o, size_t n, bd_window_form_t form) {
    bd_desc_window(p, o, n, counts, form);
}
static int parse(bd_prb_t *p, const char *s) { return bd_conv_parse(p, s, BD_WINDOW); }
static void desc(const bd_prb_t *p, char *o, size_t n) { bd_conv_desc(p, o, n, BD_WINDOW); }

int64_t bd_conv_groups(const bd_prb_t *p) { return p->vd[0][BD_CONV_G] > 0 ? p->vd[0][BD_CONV_G] : 1; }

const char *bd_conv_init(bd_prb_t *p, int src_row, int dst_row) {
    const int64_t *v = p->vd[0], mb = p->mb ? p->mb : v[BD_CONV_MB], g = bd_conv_groups(p);
    int64_t s[BD_MAX_NDIMS], w[BD_MAX_NDIMS], d[BD_MAX_NDIMS];
    const int nd = 2 + p->vd_nd[0], grouped = v[BD_CONV_G] > 0;
    if (v[BD_CONV_IC] % g || v[BD_CONV_OC] % g) return BD_SKIP_INVALID;
    bd_window_dims(p, src_row, mb, v[BD_CONV_IC], s);
    bd_window_dims(p, dst_row, mb, v[BD_CONV_OC], d);
    bd_window_dims(p, BD_WIN_KERNEL, v[BD_CONV_OC] / g, v[BD_CONV_IC] / g, w + grouped);
    if (grouped) w[0] = g;
    bd_tensor_t *t[3];
    t[0] = bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, s, p->dt[0], p->tag[0], BD_IN);
    t[1] = bd_add_tensor(p, DNNL_TP_ARG_WEIGHTS, "wei", nd + grouped, w, p->dt[1], p->wtag, BD_IN | BD_WEI);
    t[2] = bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->dt[2], p->dtag, BD_OUT);
    for (int i = 0; i < 3; ++i) {
        if (!p->has_strides[i]) continue;
        if (p->n_strides[i] != t[i]->nd) return BD_SKIP_INVALID;
        t[i]->strides = p->strides[i];
    }
    if (p->dir == BD_FWD_B || p->bia_dt)
        bd_add_tensor(p, DNNL_TP_ARG_BIAS, "bia", 1, d + 1, p->bia_dt ? p->bia_dt : (int)dnnl_tp_f32, "abx",
                      BD_IN);
    double taps = 1;
    for (int i = 0; i < p->vd_nd[0]; ++i) {
        /* What lies in the padding is no work. */
        double valid = (double)p->vd[BD_WIN_OUT][i] * (double)p->vd[BD_WIN_KERNEL][i];
        if (valid > MOST_LOOKS) {
            taps *= valid;
            continue;
        }
        valid = 0;
        for (int64_t o = 0; o < p->vd[BD_WIN_OUT][i]; ++o)
            for (int64_t k = 0; k < p->vd[BD_WIN_KERNEL][i]; ++k) {
                const int64_t at =
                    o * p->vd[BD_WIN_STRIDE][i] - p->vd[BD_WIN_PAD][i] + k * (p->vd[BD_WIN_DILATION][i] + 1);
                valid += at >= 0 && at < p->vd[BD_WIN_IN][i];
            }
        taps *= valid;
    }
    p->ops = 2. * (double)mb * (double)v[BD_CONV_OC] * (double)(v[BD_CONV_IC] / g) * taps;
    return NULL;
}

static const char *init(bd_prb_t *p) { return bd_conv_init(p, BD_WIN_IN, BD_WIN_OUT); }

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->convolution_forward_primitive_desc_create(
        pd, e, bd_prop(p->dir), (dnnl_tp_alg_kind_t)p->alg, md[BD_CONV_SRC], md[BD_CONV_WEI],
        bd_find_arg(p, DNNL_TP_ARG_BIAS) < 0 ? NULL : md[BD_CONV_BIA], md[BD_CONV_DST], p->vd[BD_WIN_STRIDE],
        p->vd[BD_WIN_DILATION], p->vd[BD_WIN_PAD], p->vd[BD_WIN_PAD_R], a);
}

/* Multiply-adds of an element of dst at most. */
static double depth(const bd_prb_t *p) {
    double k = (double)(p->vd[0][BD_CONV_IC] / bd_conv_groups(p));
    for (int i = 0; i < p->vd_nd[0]; ++i) k *= (double)p->vd[BD_WIN_KERNEL][i];
    return k < 1 ? 1 : k;
}

void bd_conv_fill(const bd_prb_t *p, int i, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[i];
    if (perf || i > BD_CONV_WEI || t->dt != dnnl_tp_f32) {
        bd_fill_default(p, i, v, perf, i > BD_CONV_WEI ? 8 : 4);
        return;
    }
    bd_fill_ints(v, bd_elems(t), t->arg, -32, 32, ldexp(1, 24) / (32. * 32 * depth(p)));
}

/* A dimension of space; those that the problem lacks have one place. */
typedef struct {
    int64_t in, out, kernel, stride, pad, step; /* step: between taps */
} space_t;

static space_t space_of(const bd_prb_t *p, int d) {
    if (d < 0) return (space_t){1, 1, 1, 1, 0, 1};
    return (space_t){p->vd[BD_WIN_IN][d],     p->vd[BD_WIN_OUT][d], p->vd[BD_WIN_KERNEL][d],
                     p->vd[BD_WIN_STRIDE][d], p->vd[BD_WIN_PAD][d], p->vd[BD_WIN_DILATION][d] + 1};
}

/* Adds a tap's products to a row of sums: those whose place in src, from `first` on, is inside. */
static void add_tap(const space_t *x, int64_t first, const double *src, double wei, double *sum) {
    const int64_t low = first < 0 ? (-first + x->stride - 1) / x->stride : 0,
                  end = first < x->in ? (x->in - 1 - first) / x->stride + 1 : 0,
                  high = end < x->out ? end : x->out;
    if (x->stride == 1)
        for (int64_t o = low; o < high; ++o) sum[o] += src[first + o] * wei;
    else
        for (int64_t o = low; o < high; ++o) sum[o] += src[first + o * x->stride] * wei;
}

/* Rows of dst: each element's products are added tap by tap, and by channels in each tap. */
static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[BD_CONV_DST];
    const int sp = p->vd_nd[0], bia = bd_find_arg(p, DNNL_TP_ARG_BIAS);
    const int64_t g = bd_conv_groups(p), ic = p->vd[0][BD_CONV_IC] / g, oc = p->vd[0][BD_CONV_OC] / g,
                  n = bd_elems(t);
    const space_t z = space_of(p, sp - 3), y = space_of(p, sp - 2), x = space_of(p, sp - 1);
    const int64_t image = z.in * y.in * x.in, kernel = z.kernel * y.kernel * x.kernel;
    int64_t pos[BD_MAX_NDIMS] = {0};
    double *sum = n ? calloc((size_t)x.out, sizeof *sum) : NULL;
    for (int64_t i = 0; sum && i < n; i += x.out) {
        const double *src = v[BD_CONV_SRC] + (pos[0] * p->vd[0][BD_CONV_IC] + pos[1] / oc * ic) * image,
                     *wei = v[BD_CONV_WEI] + pos[1] * ic * kernel;
        const int64_t oz = sp > 2 ? pos[2] : 0, oy = sp > 1 ? pos[sp] : 0;
        memset(sum, 0, (size_t)x.out * sizeof *sum);
        for (int64_t tap = 0; tap < kernel; ++tap) {
            const int64_t iz = oz * z.stride - z.pad + tap / x.kernel / y.kernel * z.step,
                          iy = oy * y.stride - y.pad + tap / x.kernel % y.kernel * y.step,
                          ix = tap % x.kernel * x.step - x.pad;
            if (iz < 0 || iz >= z.in || iy < 0 || iy >= y.in) continue;
            for (int64_t c = 0; c < ic; ++c)
                add_tap(&x, ix, src + ((c * z.in + iz) * y.in + iy) * x.in, wei[c * kernel + tap], sum);
        }
        for (int64_t o = 0; o < x.out; ++o) {
            if (bia >= 0) sum[o] += v[bia][pos[1]];
            v[BD_CONV_DST][i + o] = bd_attr_finish(p, v, sum[o], v[BD_CONV_DST][i + o], pos);
            bd_next(t->nd, t->d, pos);
        }
    }
    free(sum);
}

void bd_conv_judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    const bool direct = p->alg == dnnl_tp_convolution_direct || p->alg == dnnl_tp_deconvolution_direct;
    c->threshold = direct || p->t[i].dt != dnnl_tp_f32 ? 0 : 2e-5;
    c->l2_fallback = c->threshold > 0;
    c->zero_trust = 90;
}

const bd_driver_t bd_driver_conv = {.name = "conv",
                                    .kind = dnnl_tp_convolution,
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
