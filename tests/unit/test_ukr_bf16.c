/* Micro-kernels of bf16 on their own: every tile of every set against a double oracle, with row tables, taps, tails,
 * all epilogues in both types, all prefetch modes; and what packs for them. Nothing outside the described extents is
 * touched. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scalar.h"
#include "common/primitive/engine.h"
#include "cpu/engine/cpu_engine.h"
#include "cpu/ukr/ukr.h"
#include "support/check.h"

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
enum { MAX_SETS = 4, MAX_K = 40, MAX_TAPS = 3, MAX_ROWS = 3 * DTP_UKR_MAX_MR };

static test_rng_t rng;

/* n small integers, exact, so that a sanitizer sees a read too far. */
static char *values(dnnl_tp_data_type_t dt, int64_t n) {
    char *p = malloc((size_t)(n + !n) * dtp_type_size(dt));
    assert_non_null(p);
    for (int64_t i = 0; i < n; ++i) dtp_store(dt, p, i, (double)(test_rand(&rng) % 9) - 4);
    return p;
}

static int sets(const dtp_ukr_set_t **set, const char **name) {
    int n = 0;
#define DTP_UKR_SET(a, b, sum, set_, isa) \
    if (dnnl_tp_##a == BF16 && ((isa) & ~dtp_cpu_isa_bits()) == 0) set[n] = &set_, name[n++] = #set_;
#include "cpu/ukr/ukr_sets.inc"
    return n;
}

/* v: a number whose bits are the choices. */
static void check_tile(const dtp_ukr_set_t *set, const char *name, int mr, int nv, int v) {
    static const int64_t ks[] = {0, 1, 2, 7, MAX_K};
    const bool table = v & 1, with_taps = v & 2, add = v & 4, bias = v & 8;
    const uint32_t acc = v & 16 ? DTP_UKR_ACC : 0, c_bf16 = !acc && v & 32 ? DTP_UKR_C_BF16 : 0;
    const uint32_t more =
        (uint32_t)test_rand(&rng) & (DTP_UKR_ADD_BF16 | DTP_UKR_BIAS_BF16 | DTP_UKR_RELU_FIRST);
    static const uint32_t last[] = {0, DTP_UKR_FLOOR, DTP_UKR_FLOOR | DTP_UKR_CAP};
    const int cols = 16 * nv - (v % 3 ? (int)(test_rand(&rng) % 16) : 0), ntap = with_taps ? MAX_TAPS : 1;
    const int64_t nblk = 1 + v % 3, rows = mr * nblk, k = ks[v % 5], steps = k * ntap, lda = 2 * steps + 2,
                  ldc = cols + 5;
    dtp_ukr_args_t u = {
        .flags = acc | c_bf16 | more | last[v % 7 % 3], .add_scale = 0.5f, .floor = -3, .cap = 5};
    const dnnl_tp_data_type_t cdt = c_bf16 ? BF16 : F32, adt = u.flags & DTP_UKR_ADD_BF16 ? BF16 : F32,
                              bdt = u.flags & DTP_UKR_BIAS_BF16 ? BF16 : F32;
    char *a = values(BF16, rows * lda), *b = values(BF16, steps * nv * 32), *out = values(cdt, rows * ldc),
         *addend = values(adt, rows * ldc), *bia = values(bdt, cols);
    const size_t out_bytes = (size_t)(rows * ldc) * dtp_type_size(cdt);
    char *old = malloc(out_bytes);
    memcpy(old, out, out_bytes);
    int64_t row_a[MAX_ROWS], row_c[MAX_ROWS];
    dtp_ukr_tap_t taps[MAX_TAPS];
    const int64_t c_bytes = (int64_t)dtp_type_size(cdt);
    for (int64_t i = 0; i < rows; ++i)
        row_a[i] = (rows - 1 - i) * lda * 2, row_c[i] = (rows - 1 - i) * ldc * c_bytes;
    for (int t = 0; t < ntap; ++t) taps[t].a = (ntap - 1 - t) * k * 4, taps[t].b = t * k * 64;
    u.a = a, u.b = b, u.c = out;
    u.lda = lda * 2, u.ldc = ldc * c_bytes;
    u.row_a = table ? row_a : NULL, u.row_c = table ? row_c : NULL;
    u.taps = with_taps ? taps : NULL;
    u.ntap = ntap, u.k = k, u.nblk = nblk;
    u.bs = steps * 64, u.bstep = 64;
    u.mask = 0xffffu >> (16 * nv - cols);
    u.bias = bias ? bia : NULL;
    u.add = add ? addend : NULL;
    u.ldadd = ldc * (int64_t)dtp_type_size(adt);
    u.pf = b, u.pf_mode = v / 8 % 4, u.pf_count = u.pf_mode ? nblk : 0, u.pf_dist = 256;
    set->tile[nv][mr](&u);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < ldc; ++j) {
            const int64_t r = table ? rows - 1 - i : i, at = r * ldc + j;
            const double got = dtp_load(cdt, out, at), was = dtp_load(cdt, old, at);
            double x = acc ? was : 0;
            for (int t = 0; j < cols && t < ntap; ++t)
                for (int64_t e = 0; e < 2 * k; ++e)
                    x += dtp_load(BF16, a, r * lda + taps[t].a / 2 + e) *
                         dtp_load(BF16, b, j / 16 * steps * 32 + (t * k + e / 2) * 32 + j % 16 * 2 + e % 2);
            if (j < cols && bias) x += dtp_load(bdt, bia, j);
            if (u.flags & DTP_UKR_RELU_FIRST) x = fmax(x, 0);
            if (j < cols && add) x += 0.5 * dtp_load(adt, addend, i * ldc + j);
            if (u.flags & DTP_UKR_FLOOR) x = fmax(x, -3);
            if (u.flags & DTP_UKR_CAP) x = fmin(x, 5);
            if (c_bf16) {
                char h[2];
                dtp_store(BF16, h, 0, x);
                x = dtp_load(BF16, h, 0);
            }
            if (got != (j < cols ? x : was))
                fail_msg("%s %dx%d case %d: (%d, %d) is %g, not %g", name, mr, nv, v, (int)i, (int)j, got,
                         j < cols ? x : was);
        }
    free(a);
    free(b);
    free(out);
    free(old);
    free(addend);
    free(bia);
}

static void tiles(void **state) {
    (void)state;
    rng = test_rng(9);
    const dtp_ukr_set_t *set[MAX_SETS];
    const char *name[MAX_SETS];
    for (int s = 0, n = sets(set, name); s < n; ++s)
        for (int nv = 1; nv <= set[s]->max_nv; ++nv)
            for (int mr = 1; mr <= set[s]->max_mr[nv]; ++mr)
                for (int v = 0; v < 192; ++v) check_tile(set[s], name[s], mr, nv, v);
}

static double element(const char *p, int64_t i) { return dtp_load(BF16, p, i); }

static void packing(void **state) {
    (void)state;
    rng = test_rng(10);
    const dtp_ukr_set_t *set[MAX_SETS];
    const char *name[MAX_SETS];
    static const int64_t sizes[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 70};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int s = 0, n = sets(set, name); s < n; ++s)
        for (int i = 0; i < SIZES * SIZES; ++i) {
            const int64_t k = sizes[i % SIZES], c = sizes[i / SIZES], steps = (k + 1) / 2,
                          panels = (c + 15) / 16;
            char *rows = values(BF16, (k - 1) * (c + 1) + c), *cols = values(BF16, (c - 1) * (k + 1) + k),
                 *dst = values(BF16, panels * steps * 32);
            for (int trans = 0; trans < 2; ++trans) {
                if (trans) set[s]->pack_trans(cols, (k + 1) * 2, k, c, dst, steps * 64);
                else set[s]->pack(rows, (c + 1) * 2, k, c, dst, steps * 64);
                for (int64_t e = 0; e < 2 * steps; ++e)
                    for (int64_t j = 0; j < panels * 16; ++j) {
                        double want = 0;
                        if (e < k && j < c)
                            want = trans ? element(cols, j * (k + 1) + e) : element(rows, e * (c + 1) + j);
                        const double got =
                            element(dst, j / 16 * steps * 32 + e / 2 * 32 + j % 16 * 2 + e % 2);
                        if (got != want) fail_msg("%s pack %d: %d x %d", name[s], trans, (int)k, (int)c);
                    }
            }
            free(dst);
            const int64_t ld = 2 * steps + 3;
            dst = values(BF16, c * ld);
            char *old = malloc((size_t)(c * ld) * 2);
            memcpy(old, dst, (size_t)(c * ld) * 2);
            set[s]->transpose(rows, (c + 1) * 2, c, k, dst, ld * 2);
            for (int64_t j = 0; j < c; ++j)
                for (int64_t e = 0; e < ld; ++e)
                    if (element(dst, j * ld + e) != (e < k           ? element(rows, e * (c + 1) + j)
                                                     : e < 2 * steps ? 0
                                                                     : element(old, j * ld + e)))
                        fail_msg("%s transpose: %d x %d", name[s], (int)k, (int)c);
            free(old);
            free(dst);
            free(rows);
            free(cols);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles), cmocka_unit_test(packing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
