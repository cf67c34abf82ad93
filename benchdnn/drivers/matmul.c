/* matmul: dst = src * weights + bias, batched, broadcast over batch. */
#include "drivers/drivers.h"

static const bd_opt_t *const loop[] = {&bd_opt_bia_dt,   &bd_opt_bia_mask, &bd_opt_dt3,      &bd_opt_stag_any,
                                       &bd_opt_wtag,     &bd_opt_dtag_any, &bd_opt_encoding, &bd_opt_grouped,
                                       &bd_opt_strides3, &bd_opt_rt_masks, BD_ATTR_OPTS,     NULL};
static const bd_opt_t *const print[] = {
    &bd_opt_dt3,      &bd_opt_stag_any, &bd_opt_wtag,   &bd_opt_dtag_any, &bd_opt_encoding, &bd_opt_grouped,
    &bd_opt_strides3, &bd_opt_rt_masks, &bd_opt_bia_dt, &bd_opt_bia_mask, BD_ATTR_OPTS,     NULL};

enum { SRC, WEI, DST, BIA };

/* src:weights[:dst]. Grouped products have factors of two and three dimensions; what fits is init's matter. */
static int parse(bd_prb_t *p, const char *s) {
    if (bd_parse_vdims(p, s, 2, 3)) return 1;
    int nd = p->vd_nd[0], wd = p->vd_nd[1];
    if (nd < 2 || (wd != nd && !(nd == 2 && wd == 3))) return 1;
    return p->n_vd == 3 && p->vd_nd[2] < 2;
}

/* A bias mask means nothing without a bias: keep only the first. */
static bool skip_combination(const bd_prb_t *p, const int *index) { return !p->bia_dt && index[1]; }

static const char *init(bd_prb_t *p) {
    int nd = p->vd_nd[0];
    const int64_t *s = p->vd[0], *w = p->vd[1];
    int64_t d[BD_MAX_NDIMS], b[BD_MAX_NDIMS];
    if (*p->text[1]) return BD_SKIP_GROUPED;
    if (p->vd_nd[1] != nd) return BD_SKIP_INVALID;
    bool bad = s[nd - 1] != w[nd - 2];
    for (int i = 0; i < nd - 2; ++i) {
        bad |= s[i] != w[i] && s[i] != 1 && w[i] != 1;
        d[i] = s[i] == 1 ? w[i] : s[i];
    }
    d[nd - 2] = s[nd - 2];
    d[nd - 1] = w[nd - 1];
    bad |= p->n_vd == 3 && (p->vd_nd[2] != nd || memcmp(d, p->vd[2], (size_t)nd * sizeof *d));
    unsigned rs = p->rt_mask[0], rw = p->rt_mask[1], batch = (1u << (nd - 2)) - 1;
    unsigned rd = ((rs | rw) & batch) | (rs & 1u << (nd - 2)) | (rw & 1u << (nd - 1));
    bad |= (rs | rw) >> nd || (rs >> (nd - 1) & 1) != (rw >> (nd - 2) & 1);
    bad |= (rs & batch) != (rw & batch);
    if (rs | rw) /* run-time dimensions need concrete layouts */
        bad |= (bd_tag_is(p->tag[0], "any") && !p->has_strides[0]) ||
               (bd_tag_is(p->wtag, "any") && !p->has_strides[1]) ||
               (bd_tag_is(p->dtag, "any") && !p->has_strides[2]);
    for (int i = 0; i < 3; ++i) bad |= p->has_strides[i] && p->n_strides[i] != nd;
    if (p->bia_dt) bad |= p->bia_mask >> nd;
    if (bad) return BD_SKIP_INVALID;
    const char *tags[3] = {p->tag[0], p->wtag, p->dtag};
    const int64_t *dims[3] = {s, w, d};
    static const int args[3] = {DNNL_TP_ARG_SRC, DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_DST};
    static const char *const names[3] = {"src", "wei", "dst"};
    unsigned rt[3] = {rs, rw, rd};
    for (int i = 0; i < 3; ++i) {
        bd_tensor_t *t = bd_add_tensor(p, args[i], names[i], nd, dims[i], p->dt[i], tags[i],
                                       i == DST   ? BD_OUT
                                       : i == WEI ? BD_IN | BD_WEI
                                                  : BD_IN);
        if (p->has_strides[i]) t->strides = p->strides[i];
        t->rt = rt[i];
    }
    if (p->bia_dt) {
        for (int i = 0; i < nd; ++i) b[i] = p->bia_mask >> i & 1 ? d[i] : 1;
        bd_add_tensor(p, DNNL_TP_ARG_BIAS, "bia", nd, b, p->bia_dt, "abx", BD_IN)->rt =
            rd & (unsigned)p->bia_mask;
    }
    p->ops = 2. * (double)bd_elems(&p->t[DST]) * (double)s[nd - 1];
    if (strcmp(p->text[0], "::")) return BD_SKIP_SPARSE;
    bool real = p->dt[SRC] == dnnl_tp_f32 || p->dt[SRC] == dnnl_tp_bf16 || p->dt[SRC] == dnnl_tp_f16;
    if (real && (p->dt[WEI] == dnnl_tp_s8 || p->dt[WEI] == dnnl_tp_u8)) return BD_SKIP_WEIGHTS;
    return NULL;
}

static dnnl_tp_status_t create_pd(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_engine_t e,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t a,
                                  dnnl_tp_primitive_desc_t *pd) {
    return api->matmul_primitive_desc_create(pd, e, md[SRC], md[WEI], p->bia_dt ? md[BIA] : NULL, md[DST], a);
}

static void range(int dt, bool wei, int64_t *lo, int64_t *hi) {
    *hi = dt == dnnl_tp_f32    ? (wei ? 128 : 64)
          : dt == dnnl_tp_bf16 ? (wei ? 2 : 4)
          : dt == dnnl_tp_f16  ? (wei ? 2 : 4)
                               : 4;
    *lo = dt == dnnl_tp_u8 ? 0 : -*hi;
    if (dt == dnnl_tp_u8) *hi = 8;
}

static void fill(const bd_prb_t *p, int i, double *v, bool perf) {
    const bd_tensor_t *t = &p->t[i];
    if (perf || i > WEI) {
        bd_fill_default(p, i, v, perf, 8);
        return;
    }
    int64_t lo, hi, slo, shi, wlo, whi, n = bd_elems(t);
    range(t->dt, i == WEI, &lo, &hi);
    range(p->t[SRC].dt, false, &slo, &shi);
    range(p->t[WEI].dt, true, &wlo, &whi);
    bool ints = p->t[SRC].dt == dnnl_tp_s8 || p->t[SRC].dt == dnnl_tp_u8;
    double k = (double)p->vd[0][p->vd_nd[0] - 1];
    double density = ldexp(1, ints ? 31 : 24) / ((double)(shi * whi) * (k < 1 ? 1 : k)) * (ints ? 3 : 1);
    bd_fill_ints(v, n, t->arg, lo, hi, density);
    if (i == WEI && p->t[SRC].dt == dnnl_tp_s8 && t->dt == dnnl_tp_s8)
        for (int64_t j = 0; j < n; ++j) v[j] = 2 * trunc(v[j] / 2);
}

/* A matrix of a batch as the arithmetic sees it: zero points off and scales on, in a copy where there are any. */
typedef struct {
    double *copy; /* NULL: none needed */
    int64_t at;   /* which one is in copy, -1 = none */
} matrix_t;

static matrix_t matrix(const bd_prb_t *p, int i) {
    const bd_tensor_t *t = &p->t[i];
    size_t n = (size_t)(t->d[t->nd - 1] * t->d[t->nd - 2]);
    return (matrix_t){bd_attr_quantized(p, t->arg) ? bd_alloc(n * sizeof(double), 64) : NULL, -1};
}
static const double *matrix_at(matrix_t *m, const bd_prb_t *p, double *const *v, int i, int64_t at) {
    const bd_tensor_t *t = &p->t[i];
    int64_t rows = t->d[t->nd - 2], n = rows * t->d[t->nd - 1];
    if (!m->copy || at == m->at) return m->copy ? m->copy : v[i] + at * n;
    memcpy(m->copy, v[i] + at * n, (size_t)n * sizeof *m->copy);
    bd_attr_dequantize(p, v, i, at * rows, rows, m->copy);
    m->at = at;
    return m->copy;
}

/* Rows of src that share a walk over the weights; columns whose sums stay in registers, over so many k. */
enum { ROWS = 4, COLS = 8, STEP = 256 };
typedef double rows_t __attribute__((vector_size(ROWS * sizeof(double))));

static inline __attribute__((always_inline)) void add_products(rows_t *acc, const rows_t *x, const double *b,
                                                               int64_t nk, int64_t N, const int cols) {
    rows_t s[COLS];
    for (int c = 0; c < cols; ++c) s[c] = acc[c];
    for (int64_t k = 0; k < nk; ++k, b += N)
        for (int c = 0; c < cols; ++c) s[c] += x[k] * b[c];
    for (int c = 0; c < cols; ++c) acc[c] = s[c];
}

/* acc[n][r] = sum over k of a[r * K + k] * b[k * N + n] for `rows` rows; unused ones repeat the last. */
BD_ROWS static void product_rows(rows_t *acc, const double *a, int64_t rows, const double *b, int64_t K,
                                 int64_t N) {
    const double *y[ROWS];
    rows_t x[STEP];
    for (int64_t r = 0; r < ROWS; ++r) y[r] = a + (r < rows ? r : rows - 1) * K;
    memset(acc, 0, sizeof *acc * (size_t)N);
    for (int64_t k0 = 0; k0 < K; k0 += STEP, b += STEP * N) {
        int64_t nk = K - k0 < STEP ? K - k0 : STEP, n = 0;
        for (int64_t k = 0; k < nk; ++k)
            x[k] = (rows_t){y[0][k0 + k], y[1][k0 + k], y[2][k0 + k], y[3][k0 + k]};
        for (; n + COLS <= N; n += COLS) add_products(acc + n, x, b + n, nk, N, COLS);
        for (; n < N; ++n) add_products(acc + n, x, b + n, nk, N, 1);
    }
}

static void ref(const bd_prb_t *p, double *const *v) {
    const bd_tensor_t *d = &p->t[DST];
    int nd = d->nd;
    int64_t M = d->d[nd - 2], N = d->d[nd - 1], K = p->t[SRC].d[nd - 1], pos[BD_MAX_NDIMS] = {0}, at = 0;
    if (!bd_elems(d)) return;
    matrix_t src = matrix(p, SRC), wei = matrix(p, WEI);
    rows_t *acc = bd_alloc((size_t)N * sizeof *acc, 64);
    do { /* one matrix of the batch */
        int64_t so = 0, wo = 0;
        for (int i = 0; i < nd - 2; ++i) {
            so = so * p->t[SRC].d[i] + (p->t[SRC].d[i] == 1 ? 0 : pos[i]);
            wo = wo * p->t[WEI].d[i] + (p->t[WEI].d[i] == 1 ? 0 : pos[i]);
        }
        const double *a = matrix_at(&src, p, v, SRC, so), *b = matrix_at(&wei, p, v, WEI, wo);
        for (int64_t m = 0; m < M; ++m) {
            if (m % ROWS == 0) product_rows(acc, a + m * K, M - m < ROWS ? M - m : ROWS, b, K, N);
            pos[nd - 2] = m;
            for (int64_t n = 0; n < N; ++n, ++at) {
                pos[nd - 1] = n;
                double x = acc[n][m % ROWS] + (p->bia_dt ? v[BIA][bd_at(&p->t[BIA], pos)] : 0);
                v[DST][at] = bd_attr_finish(p, v, x, v[DST][at], pos);
            }
        }
    } while (bd_next(nd - 2, d->d, pos));
    bd_free(acc);
    bd_free(src.copy);
    bd_free(wei.copy);
}

static void judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    (void)p, (void)i;
    c->threshold = 0;
    c->zero_trust = 90;
}

const bd_driver_t bd_driver_matmul = {.name = "matmul",
                                      .kind = dnnl_tp_matmul,
                                      .loop = loop,
                                      .print = print,
                                      .parse = parse,
                                      .desc = bd_desc_vdims,
                                      .perf_csv = "%sdt%,%bia_dt%,%stag%,%wtag%,%dtag%,%attr%,%desc%",
                                      .init = init,
                                      .create_pd = create_pd,
                                      .fill = fill,
                                      .ref = ref,
                                      .judge = judge,
                                      .skip_combination = skip_combination};
