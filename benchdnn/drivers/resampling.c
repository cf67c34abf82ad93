/* resampling: an image of another size, by the nearest element or linearly between neighbours. */
#include "drivers/window.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_d,          &bd_opt_sdt1, &bd_opt_ddt, &bd_opt_tag1,
                                       &bd_opt_alg_resampling, BD_ATTR_OPTS, &bd_opt_mb,  NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_d,          &bd_opt_sdt1, &bd_opt_ddt, &bd_opt_tag1,
                                        &bd_opt_alg_resampling, BD_ATTR_OPTS, NULL};
enum { SRC, DST };
enum { MB, IC };
static const char *const counts[] = {"mb", "ic", NULL};

static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_window(p, s, counts, BD_WINDOW_SIZES) || p->vd[0][IC] < 0) return 1;
    if (p->vd[0][MB] < 0) p->vd[0][MB] = 2;
    return 0;
}

static void desc(const bd_prb_t *p, char *o, size_t n) { bd_desc_window(p, o, n, counts, BD_WINDOW_SIZES); }

static const char *init(bd_prb_t *p) {
    int64_t s[BD_MAX_NDIMS], d[BD_MAX_NDIMS], mb = p->mb ? p->mb : p->vd[0][MB];
    const int nd = 2 + p->vd_nd[0];
    bd_window_dims(p, BD_WIN_IN, mb, p->vd[0][IC], s);
    bd_window_dims(p, BD_WIN_OUT, mb, p->vd[0][IC], d);
    for (int i = 2; i < nd; ++i)
        if (s[i] == 0 && d[i] > 0) return BD_SKIP_INVALID;
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, s, p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->ddt, p->tag[0], BD_OUT);
    p->ops = (double)bd_elems(&p->t[DST]) *
             (p->alg == dnnl_tp_resampling_linear ? (double)(2 << p->vd_nd[0]) : 1.);
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->resampling_forward_primitive_desc_create(pd, e, bd_prop(p->dir), (dnnl_tp_alg_kind_t)p->alg,
                                                         NULL, md[SRC], md[DST], a);
}

/* Where element o of `out` lies in `in`: the definition, in f32. */
static float place(int64_t in, int64_t out, int64_t o) {
    return ((float)o + .5f) * (float)in / (float)out - .5f;
}
static int64_t inside(int64_t x, int64_t n) { return x < 0 ? 0 : x < n ? x : n - 1; }

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *s = &p->t[SRC], *t = &p->t[DST];
    const int sp = p->vd_nd[0];
    const bool linear = p->alg == dnnl_tp_resampling_linear;
    const int64_t n = bd_elems(t);
    int64_t pos[BD_MAX_NDIMS] = {0};
    for (int64_t i = 0; i < n; ++i) {
        double x = 0;
        for (int corner = 0; corner < (linear ? 1 << sp : 1); ++corner) {
            int64_t from[BD_MAX_NDIMS] = {pos[0], pos[1]};
            double weight = 1;
            for (int d = 0; d < sp; ++d) {
                const float at = place(s->d[2 + d], t->d[2 + d], pos[2 + d]), below = floorf(at);
                const bool high = corner >> d & 1;
                from[2 + d] = inside((int64_t)(linear ? below + (float)high : roundf(at)), s->d[2 + d]);
                if (linear) weight *= high ? (double)(at - below) : 1 - (double)(at - below);
            }
            x += weight * v[SRC][bd_at(s, from)];
        }
        v[DST][i] = bd_attr_finish(p, v, x, bd_old_dst(p, v, DST, i), pos);
        bd_next(t->nd, t->d, pos);
    }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    const bool linear = p->alg == dnnl_tp_resampling_linear, integer = p->ddt > dnnl_tp_f32;
    c->threshold = linear || p->dt[0] != p->ddt || p->attr.n_po ? 10 * bd_eps(p->t[i].dt) : 0;
    /* Sums of both signs; integers that lie between two. */
    if (linear || p->attr.n_po) c->abs_threshold = integer ? 1 : 1e-4;
    if (bd_has_eltwise_po(p) && c->threshold < 10 * BD_EPS_F32) c->threshold = 10 * BD_EPS_F32;
    c->zero_trust = p->dt[0] == dnnl_tp_u8 || p->ddt == dnnl_tp_u8 ? 100 : 95;
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) { bd_fill_default(p, i, v, perf, 100); }

const bd_driver_t bd_driver_resampling = {.name = "resampling",
                                          .kind = dnnl_tp_resampling,
                                          .loop = loop,
                                          .print = print,
                                          .parse = parse,
                                          .desc = desc,
                                          .perf_csv = "%dir%,%sdt%,%ddt%,%tag%,%alg%,%attr%,%desc%",
                                          .init = init,
                                          .create_pd = create_pd,
                                          .fill = fill,
                                          .ref = ref,
                                          .judge = judge};
