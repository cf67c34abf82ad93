/* inner product: dst[mb][oc] = sum over ic and space of src * weights + bias. */
#include <ctype.h>

#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_dir_b,    &bd_opt_dt3,  &bd_opt_bia_dt,
                                       &bd_opt_stag_any, &bd_opt_wtag, &bd_opt_dtag_any,
                                       BD_ATTR_OPTS,     &bd_opt_mb,   NULL};
static const bd_opt_t *const print[] = {&bd_opt_dir_b, &bd_opt_dt3,      &bd_opt_bia_dt, &bd_opt_stag_any,
                                        &bd_opt_wtag,  &bd_opt_dtag_any, BD_ATTR_OPTS,   NULL};

enum { SRC, WEI, DST, BIA };
enum { MB, IC, OC, ID, IH, IW, N_KEYS }; /* vd[0] */
static const char *const keys[N_KEYS] = {"mb", "ic", "oc", "id", "ih", "iw"};

static int parse(bd_prb_t *p, const char *s) {
    char text[512];
    int64_t *v = p->vd[0];
    if (bd_cut_label(p, s, text, sizeof text)) return 1;
    for (int i = 0; i < N_KEYS; ++i) v[i] = -1;
    for (const char *c = text; *c;) {
        if (*c == '_') {
            ++c;
            continue;
        }
        int k = 0;
        while (k < N_KEYS && strncmp(c, keys[k], 2)) ++k;
        if (k == N_KEYS || !isdigit((unsigned char)c[2])) return 1;
        char *e;
        long long x = strtoll(c + 2, &e, 10);
        if (x < 0 || x > INT32_MAX) return 1;
        v[k] = x;
        c = e;
    }
    if (v[IC] < 0 || v[OC] < 0) return 1;
    if (v[MB] < 0) v[MB] = 2;
    /* Missing sizes are copied from the outer dimension. */
    if (v[ID] >= 0 && v[IH] < 0) v[IH] = v[ID];
    if (v[IH] >= 0 && v[IW] < 0) v[IW] = v[IH];
    p->n_vd = 1;
    return 0;
}

static void desc(const bd_prb_t *p, char *o, size_t n) {
    const int64_t *v = p->vd[0];
    int64_t mb = p->mb ? p->mb : v[MB];
    if (bd.canonical || mb != 2) bd_cat(o, n, "mb%lld", (long long)mb);
    bd_cat(o, n, "ic%lld", (long long)v[IC]);
    if (v[ID] >= 0) bd_cat(o, n, "id%lld", (long long)v[ID]);
    if (v[IH] >= 0 && (bd.canonical || v[ID] != v[IH])) bd_cat(o, n, "ih%lld", (long long)v[IH]);
    if (v[IW] >= 0 && (bd.canonical || v[IH] != v[IW])) bd_cat(o, n, "iw%lld", (long long)v[IW]);
    bd_cat(o, n, "oc%lld", (long long)v[OC]);
    bd_desc_label(p, o, n, "");
}

static const char *init(bd_prb_t *p) {
    const int64_t *v = p->vd[0];
    int64_t s[5], w[5], d[2];
    int nd = 2;
    s[0] = d[0] = p->mb ? p->mb : v[MB];
    w[0] = d[1] = v[OC];
    s[1] = w[1] = v[IC];
    for (int k = ID; k <= IW; ++k)
        if (v[k] >= 0) s[nd] = w[nd] = v[k], ++nd;
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, s, p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_WEIGHTS, "wei", nd, w, p->dt[1], p->wtag, BD_IN | BD_WEI);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", 2, d, p->dt[2], p->dtag, BD_OUT);
    if (p->dir == BD_FWD_B || p->bia_dt)
        bd_add_tensor(p, DNNL_TP_ARG_BIAS, "bia", 1, d + 1, p->bia_dt ? p->bia_dt : (int)dnnl_tp_f32, "abx",
                      BD_IN);
    p->ops = 2. * (double)bd_elems(&p->t[SRC]) * (double)d[1];
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    if (bd_dir_bwd(p->dir)) return dnnl_tp_unimplemented;
    return api->inner_product_forward_primitive_desc_create(
        pd, e, bd_prop(p->dir), md[SRC], md[WEI], bd_find_arg(p, DNNL_TP_ARG_BIAS) < 0 ? NULL : md[BIA],
        md[DST], a);
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[i];
    if (perf || i > WEI || t->dt != dnnl_tp_f32) {
        bd_fill_default(p, i, v, perf, i > WEI ? 8 : 4);
        return;
    }
    double k = (double)bd_elems(&p->t[WEI]) / (double)(p->vd[0][OC] ? p->vd[0][OC] : 1);
    bd_fill_ints(v, bd_elems(t), t->arg, -32, 32, ldexp(1, 24) / (32. * 32 * (k < 1 ? 1 : k)));
}

/* Four sums, because one would wait for each addition. */
static double dot(const double *a, double zp, const double *b, int64_t n) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += (a[i] - zp) * b[i];
        s1 += (a[i + 1] - zp) * b[i + 1];
        s2 += (a[i + 2] - zp) * b[i + 2];
        s3 += (a[i + 3] - zp) * b[i + 3];
    }
    for (; i < n; ++i) s0 += (a[i] - zp) * b[i];
    return s0 + s1 + (s2 + s3);
}

static void ref(const bd_prb_t *p, double *const *v) {
    int64_t mb = p->t[DST].d[0], oc = p->t[DST].d[1], k = 1, pos[2];
    for (int i = 1; i < p->t[SRC].nd; ++i) k *= p->t[SRC].d[i];
    int bia = bd_find_arg(p, DNNL_TP_ARG_BIAS);
    int64_t zero[BD_MAX_NDIMS] = {0};
    if (!mb || !oc) return;
    double zp = bd_attr_zp(p, v, DNNL_TP_ARG_SRC, p->t[SRC].nd, zero);
    for (pos[0] = 0; pos[0] < mb; ++pos[0])
        for (pos[1] = 0; pos[1] < oc; ++pos[1]) {
            double x = dot(v[SRC] + pos[0] * k, zp, v[WEI] + pos[1] * k, k);
            zero[0] = pos[1];
            x *= bd_attr_scale(p, v, DNNL_TP_ARG_WEIGHTS, p->t[WEI].nd, zero);
            zero[0] = 0;
            x *= bd_attr_scale(p, v, DNNL_TP_ARG_SRC, p->t[SRC].nd, zero);
            if (bia >= 0) x += v[bia][pos[1]];
            int64_t at = pos[0] * oc + pos[1];
            v[DST][at] = bd_attr_finish(p, v, x, v[DST][at], pos);
        }
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)p, (void)i;
    c->threshold = 0;
    c->zero_trust = 90;
}

const bd_driver_t bd_driver_ip = {.name = "ip",
                                  .kind = dnnl_tp_inner_product,
                                  .loop = loop,
                                  .print = print,
                                  .parse = parse,
                                  .desc = desc,
                                  .perf_csv = "%dir%,%sdt%,%bia_dt%,%stag%,%wtag%,%dtag%,%attr%,%desc%",
                                  .init = init,
                                  .create_pd = create_pd,
                                  .fill = fill,
                                  .ref = ref,
                                  .judge = judge};
