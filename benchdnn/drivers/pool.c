/* pooling: maxima and averages of windows. */
#include <float.h>

#include "drivers/window.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d, &bd_opt_dt2, &bd_opt_tag1, &bd_opt_alg_pool,
                                       BD_ATTR_OPTS,  &bd_opt_mb,  NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,    &bd_opt_dt2,  &bd_opt_tag1,
                                        &bd_opt_alg_pool, BD_ATTR_OPTS, NULL};
enum { SRC, DST, WS };
enum { MB, IC, MOST_BYTE_TAPS = 255 };
static const char *const counts[] = {"mb", "ic", NULL};

static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_window(p, s, counts, BD_WINDOW) || p->vd[0][IC] < 0) return 1;
    if (p->vd[0][MB] < 0) p->vd[0][MB] = 2;
    return 0;
}

static void desc(const bd_prb_t *p, char *o, size_t n) { bd_desc_window(p, o, n, counts, BD_WINDOW); }

static int64_t volume(const bd_prb_t *p) {
    int64_t v = 1;
    for (int d = 0; d < p->vd_nd[0] && v <= INT32_MAX; ++d) v *= p->vd[BD_WIN_KERNEL][d];
    return v;
}

static const char *init(bd_prb_t *p) {
    int64_t s[BD_MAX_NDIMS], d[BD_MAX_NDIMS], mb = p->mb ? p->mb : p->vd[0][MB];
    const int nd = 2 + p->vd_nd[0];
    for (int i = 0; i < p->vd_nd[0]; ++i) {
        const int64_t range = (p->vd[BD_WIN_KERNEL][i] - 1) * (p->vd[BD_WIN_DILATION][i] + 1) + 1;
        if (p->alg == dnnl_tp_pooling_avg_exclude_padding &&
            (p->vd[BD_WIN_PAD][i] >= range || p->vd[BD_WIN_PAD_R][i] >= range ||
             p->vd[BD_WIN_DILATION][i] >= p->vd[BD_WIN_IN][i]))
            return BD_SKIP_INVALID;
    }
    bd_window_dims(p, BD_WIN_IN, mb, p->vd[0][IC], s);
    bd_window_dims(p, BD_WIN_OUT, mb, p->vd[0][IC], d);
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, s, p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->dt[1], "any", BD_OUT);
    if (p->alg == dnnl_tp_pooling_max && p->dir != BD_FWD_I)
        bd_add_tensor(p, DNNL_TP_ARG_WORKSPACE, "ws", nd, d,
                      volume(p) <= MOST_BYTE_TAPS ? (int)dnnl_tp_u8 : (int)dnnl_tp_s32, "any", BD_OUT);
    p->ops = (double)bd_elems(&p->t[DST]) * (double)volume(p);
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->pooling_forward_primitive_desc_create(
        pd, e, bd_prop(p->dir), (dnnl_tp_alg_kind_t)p->alg, md[SRC], md[DST], p->vd[BD_WIN_STRIDE],
        p->vd[BD_WIN_KERNEL], p->vd[BD_WIN_DILATION], p->vd[BD_WIN_PAD], p->vd[BD_WIN_PAD_R], a);
}

static double least(int dt) {
    return dt == dnnl_tp_f32    ? -FLT_MAX
           : dt == dnnl_tp_bf16 ? -0x1.fep127
           : dt == dnnl_tp_f16  ? -65504
           : dt == dnnl_tp_s32  ? INT32_MIN
           : dt == dnnl_tp_s8   ? -128
                                : 0;
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *t = &p->t[DST];
    const int sp = p->vd_nd[0], ws = bd_find_arg(p, DNNL_TP_ARG_WORKSPACE);
    int64_t pos[BD_MAX_NDIMS] = {0}, tap[3], at[3];
    const int64_t n = bd_elems(t);
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0, best = -INFINITY;
        int64_t inside = 0, first = 0;
        tap[0] = -1;
        while (bd_window_next(p, pos + 2, tap, at)) {
            int64_t k = pos[0] * t->d[1] + pos[1], number = 0;
            for (int d = 0; d < sp; ++d) {
                k = k * p->vd[BD_WIN_IN][d] + at[d];
                number = number * p->vd[BD_WIN_KERNEL][d] + tap[d];
            }
            const double x = v[SRC][k];
            if (inside++ == 0) first = number;
            if (x > best) best = x, first = number;
            sum += x;
        }
        double x = p->alg == dnnl_tp_pooling_max                   ? inside ? best : least(p->dt[0])
                                     : p->alg == dnnl_tp_pooling_avg_include_padding ? sum / (double)volume(p)
                                                                   : sum / (double)(inside ? inside : 1);
        v[DST][i] = bd_attr_finish(p, v, x, bd_old_dst(p, v, DST, i), pos);
        if (ws >= 0) v[ws][i] = (double)first;
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    const bool maximum = p->alg == dnnl_tp_pooling_max;
    c->threshold = maximum ? 0 : 10 * bd_eps(p->t[i].dt);
    if (!maximum) c->abs_threshold = 1e-6; /* sums of both signs */
    if (bd_has_eltwise_po(p) && c->threshold < 10 * BD_EPS_F32) c->threshold = 10 * BD_EPS_F32;
    c->zero_trust = i == WS || p->dt[0] == dnnl_tp_u8 || p->dt[1] == dnnl_tp_u8 ? 100 : 95;
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) { bd_fill_default(p, i, v, perf, 100); }

const bd_driver_t bd_driver_pool = {.name = "pool",
                                    .kind = dnnl_tp_pooling,
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
