/* Micro-kernels on their own: every tile of every set against a double oracle, with row tables, taps, plain
 * and packed B, copies, tails, all epilogues and all prefetch modes; nothing outside the described extents is
 * touched. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/engine.h"
#include "cpu/engine/cpu_engine.h"
#include "cpu/gemm/gemm.h"
#include "cpu/ukr/ukr_s16.h"
#include "cpu/ukr/ukr_u8s8.h"
#include "support/check.h"

enum { MAX_ROWS = 4 * DTP_UKR_TALL_ROWS, MAX_K = 40, MAX_TAPS = 3 };

static test_rng_t rng;

static float *values(size_t n) {
    float *p = malloc((n + 1) * sizeof *p); /* exact, so that a sanitizer sees a read too far */
    assert_non_null(p);
    for (size_t i = 0; i < n; ++i) p[i] = (float)((int)(test_rand(&rng) % 9) - 4);
    return p;
}

/* The same from the begin of a cache line on. */
static float *lines(size_t n) {
    float *from = values(n), *p = NULL;
    assert_int_equal(posix_memalign((void **)&p, DTP_CACHE_LINE, (n + 1) * sizeof *p), 0);
    memcpy(p, from, n * sizeof *p);
    free(from);
    return p;
}

typedef struct {
    const dtp_ukr_set_t *set;
    const char *name;
    int mr, nv, cols;
    int64_t k, nblk;
    bool plain, table, taps, add, add_table, bias, half_panel, past;
    int even;   /* not 0: the kernel is set->even[even - 1] */
    int strips; /* not 0: of `across` */
    uint32_t flags;
    int pf_mode, pf_shift;
} case_t;

/* Any that go together; may: besides those of the last step. */
static uint32_t flags(uint32_t may) {
    static const uint32_t last[] = {0, DTP_UKR_FLOOR, DTP_UKR_FLOOR | DTP_UKR_CAP};
    return last[test_rand(&rng) % 3] | ((uint32_t)test_rand(&rng) & (may | DTP_UKR_RELU_FIRST));
}

static void check_tile(const case_t *c) {
    const int ntap = c->taps ? MAX_TAPS : 1;
    const int64_t rows = c->mr * c->nblk, k = c->k,
                  lda = c->even ? c->set->even[c->even - 1].lda / 4 : k * ntap + 3,
                  ldc = c->cols + (c->past ? 16 : 5),
                  ldb = c->cols + 2 + (c->cols == 14); /* a step of 64 bytes means packed */
    const int64_t steps = k * ntap, width = 16 * c->nv * (c->strips ? c->strips : 1);
    float *a = values((size_t)(c->even ? (rows - 1) * lda + steps : rows * lda)),
          *add = values((size_t)(rows * ldc)), *bias = values((size_t)c->cols);
    float *out = lines((size_t)(rows * ldc)), *old = malloc(sizeof(float) * (size_t)(rows * ldc));
    float *b = c->plain ? values((size_t)((steps ? steps - 1 : 0) * ldb + c->cols))
                        : values((size_t)(steps * width));
    float *copy = values((size_t)(steps * width));
    memcpy(old, out, sizeof(float) * (size_t)(rows * ldc));
    int64_t row_a[MAX_ROWS], row_c[MAX_ROWS], row_add[MAX_ROWS];
    dtp_ukr_tap_t taps[MAX_TAPS];
    for (int64_t i = 0; i < rows; ++i) {
        /* Tables in reverse order. */
        row_a[i] = (rows - 1 - i) * lda * 4;
        row_c[i] = (rows - 1 - i) * ldc * 4;
        row_add[i] = (i + 1) % rows * ldc * 4;
    }
    for (int t = 0; t < ntap; ++t) {
        taps[t].a = (ntap - 1 - t) * k * 4;
        taps[t].b = t * k * (c->plain ? ldb * 4 : 64);
    }
    const bool copies = c->plain && !c->taps;
    dtp_ukr_args_t u = {.a = (const char *)a,
                        .b = (const char *)b,
                        .c = (char *)out,
                        .lda = lda * 4,
                        .ldc = ldc * 4,
                        .ntap = ntap,
                        .k = k,
                        .nblk = c->nblk,
                        .strips = c->strips,
                        .flags = c->flags | (c->past ? DTP_UKR_STREAM : 0),
                        .add_scale = 0.5f,
                        .floor = (float)(c->k % 3) - 1,
                        .cap = 3};
    u.row_a = c->table ? row_a : NULL;
    u.row_c = c->table ? row_c : NULL;
    u.row_add = c->add && c->add_table ? row_add : NULL;
    u.taps = c->taps ? taps : NULL;
    u.bs = c->plain ? 64 : steps * 64;
    u.bstep = c->plain ? ldb * 4 : 64;
    u.mask = 0xffffu >> (width - c->cols);
    u.bias = c->bias ? bias : NULL;
    u.add = c->add ? (const char *)add : NULL;
    u.ldadd = ldc * 4;
    u.pf = (const char *)b;
    u.pf_first = 0;
    u.pf_count = c->pf_mode ? c->nblk : 0;
    u.pf_mode = c->pf_mode;
    u.pf_shift = c->pf_shift;
    u.pf_dist = 256;
    u.pf_rows = !c->table;
    if (copies) {
        u.copy = (char *)copy;
        u.copy_bs = k * 64;
    }
    if (c->even) c->set->even[c->even - 1].fn(&u);
    else if (c->strips) c->set->across[c->nv](&u);
    else if (c->mr > DTP_UKR_MAX_MR) c->set->tall[c->nv][c->mr](&u);
    else (c->half_panel ? c->set->half_panel : c->set->tile[c->nv])[c->mr](&u);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < ldc; ++j) {
            const int64_t ar = c->table ? rows - 1 - i : i, at = ar * ldc + j;
            if (j >= c->cols) {
                if (out[at] != old[at]) fail_msg("%s %dx%d wrote behind a row", c->name, c->mr, c->nv);
                continue;
            }
            double x = 0;
            for (int t = 0; t < ntap; ++t)
                for (int64_t p = 0; p < k; ++p) {
                    const int64_t q = t * k + p;
                    const float bv = c->plain ? b[q * ldb + j] : b[j / 16 * steps * 16 + q * 16 + j % 16];
                    x += (double)a[ar * lda + taps[t].a / 4 + p] * bv;
                }
            if (c->flags & DTP_UKR_ACC) x += old[at];
            if (c->bias) x += bias[j];
            if (c->flags & DTP_UKR_RELU_FIRST) x = x < 0 ? 0 : x;
            if (c->add) x += 0.5 * add[(c->add_table ? (i + 1) % rows : i) * ldc + j];
            if (c->flags & DTP_UKR_FLOOR) x = x < u.floor ? u.floor : x;
            if (c->flags & DTP_UKR_CAP) x = x > u.cap ? u.cap : x;
            if (out[at] != (float)x)
                fail_msg(
                    "%s %dx%d k %lld plain %d table %d taps %d flags %u pf %d: (%lld, %lld) is %g, not %g",
                    c->name, c->mr, c->nv, (long long)k, c->plain, c->table, c->taps, c->flags, c->pf_mode,
                    (long long)i, (long long)j, out[at], x);
        }
    for (int64_t q = 0; copies && q < k; ++q)
        for (int64_t j = 0; j < width; ++j) {
            const float want = j < c->cols ? b[q * ldb + j] : 0;
            if (copy[j / 16 * k * 16 + q * 16 + j % 16] != want)
                fail_msg("%s %dx%d: copy of B is wrong", c->name, c->mr, c->nv);
        }
    free(a);
    free(b);
    free(add);
    free(bias);
    free(out);
    free(old);
    free(copy);
}

static int sets(const dtp_ukr_set_t **set, const char **name) {
    int n = 0;
#define DTP_UKR_SET(a, b, sum, set_, isa) \
    if (dnnl_tp_##a == dnnl_tp_f32 && ((isa) & ~dtp_cpu_isa_bits()) == 0) set[n] = &set_, name[n++] = #set_;
#include "cpu/ukr/ukr_sets.inc"
    return n;
}

/* Whether a set can be driven: nothing that the driver divides by, indexes with or calls is missing. Looks into every set
 * that is built, also those that this processor cannot run. whole: its k-steps are
 * single elements, so it packs and multiplies vectors itself. */
static void check_set(const dtp_ukr_set_t *set, const char *name, bool whole) {
    print_message("  %s\n", name);
    assert_true(set->flops_per_ns > 0);
    assert_in_range(set->max_nv, 1, DTP_UKR_MAX_NV);
    assert_in_range(set->pf_shift, 0, 2);
    assert_in_range(set->wide_rows, 0, DTP_UKR_MAX_MR);
    assert_true(set->max_mr[1] > 0); /* narrower strips are looked for until there is one */
    assert_true(set->max_mr[set->max_nv] > 0);
    assert_true(set->wide_rows <= set->max_mr[DTP_UKR_MAX_NV]);
    assert_in_range(set->half_panel_mr, 0, DTP_UKR_HALF_PANEL_ROWS);
    for (int mr = 0; mr <= DTP_UKR_HALF_PANEL_ROWS; ++mr)
        assert_true(!set->half_panel[mr] == !(mr > 0 && mr <= set->half_panel_mr));
    for (int nv = 0; nv <= DTP_UKR_MAX_NV; ++nv) {
        assert_in_range(set->max_mr[nv], 0, nv && nv <= set->max_nv ? DTP_UKR_MAX_MR : 0);
        for (int mr = 0; mr <= DTP_UKR_MAX_MR; ++mr)
            assert_true(!set->tile[nv][mr] == !(mr > 0 && mr <= set->max_mr[nv]));
    }
    for (int nv = 0; nv <= DTP_UKR_MAX_NV; ++nv) assert_true(!set->across[nv] || set->max_mr[nv] > 0);
    for (int nv = 0; nv <= DTP_UKR_TALL_PANELS; ++nv)
        for (int rows = 0; rows <= DTP_UKR_MAX_MR; ++rows) assert_null(set->tall[nv][rows]);
    for (int nv = 0; nv <= DTP_UKR_TALL_PANELS; ++nv)
        assert_true(set->many_tall[nv] == 0 || set->tall[nv][set->many_tall[nv]]);
    if (!whole) return;
    assert_non_null(set->pack);
    assert_non_null(set->pack_trans);
    assert_non_null(set->transpose);
    assert_non_null(set->gemv);
    assert_non_null(set->dot);
}

static void complete(void **state) {
    (void)state;
#define DTP_UKR_SET(a, b, sum, set, isa)                                      \
    assert_int_equal(dtp_type_size(dnnl_tp_##a), dtp_type_size(dnnl_tp_##b)); \
    check_set(&set, #set, dtp_type_size(dnnl_tp_##a) == DTP_UKR_STEP_BYTES);
#include "cpu/ukr/ukr_sets.inc"
}

static const int64_t ks[] = {0, 1, 2, 7, MAX_K};
/* A tile of cols columns, the last `panel` of which may be fewer: all ways through k, taps, tables, and what follows the sums. */
static void check_tiles(const case_t *tile, int cols, int panel) {
    for (int v = 0; v < 160; ++v) {
        case_t c = *tile;
        c.cols = cols - (v % 3 ? (int)(test_rand(&rng) % (unsigned)panel) : 0);
        c.k = ks[v % 5];
        c.nblk = 1 + v % 3;
        c.plain = !c.half_panel && v & 1;
        c.table = v & 2;
        c.taps = v & 4;
        c.add = v & 8;
        c.add_table = test_rand(&rng) % 2;
        c.bias = v & 16;
        c.flags = flags(DTP_UKR_ACC);
        c.past = !c.half_panel && !(c.flags & DTP_UKR_ACC) && c.cols == 16 * c.nv;
        c.pf_mode = v / 32 % 4;
        c.pf_shift = v % 3;
        check_tile(&c);
    }
}

static void tiles(void **state) {
    (void)state;
    rng = test_rng(5);
    const dtp_ukr_set_t *set[3];
    const char *name[3];
    const int n = sets(set, name);
    for (int s = 0; s < n; ++s) {
        int found = 0;
        for (int nv = 1; nv <= DTP_UKR_MAX_NV; ++nv)
            for (int mr = 1; mr <= DTP_UKR_MAX_MR; ++mr) {
                if (!set[s]->tile[nv][mr]) {
                    assert_true(mr > set[s]->max_mr[nv]);
                    continue;
                }
                ++found;
                check_tiles(&(case_t){.set = set[s], .name = name[s], .mr = mr, .nv = nv}, 16 * nv, 16);
            }
        assert_true(found >= 4);
        for (int nv = 1; nv <= DTP_UKR_MAX_NV; ++nv)
            for (int v = 0; set[s]->across[nv] && v < 60; ++v) {
                case_t c = {.set = set[s], .name = name[s], .mr = set[s]->max_mr[nv], .nv = nv};
                c.strips = 1 + v % 4;
                c.cols = 16 * nv * c.strips;
                c.k = ks[v % 5];
                c.nblk = 1 + v % 3;
                c.bias = v & 1;
                c.flags = flags(0) & ~(uint32_t)DTP_UKR_RELU_FIRST;
                check_tile(&c);
            }
        for (int mr = 1; mr <= set[s]->half_panel_mr; ++mr)
            check_tiles(&(case_t){.set = set[s], .name = name[s], .mr = mr, .nv = 2, .half_panel = true}, 24,
                        8);
        for (int nv = 1; nv <= DTP_UKR_TALL_PANELS; ++nv)
            for (int mr = 1; mr <= DTP_UKR_TALL_ROWS; ++mr) {
                if (!set[s]->tall[nv][mr]) continue;
                assert_true(mr > DTP_UKR_MAX_MR);
                const int evens = nv == 1 && mr == set[s]->many_tall[1] ? DTP_UKR_EVEN : 0;
                for (int v = 0; v < 80 * (1 + evens); ++v) {
                    const case_t c = {.set = set[s],
                                      .name = name[s],
                                      .mr = mr,
                                      .nv = nv,
                                      .cols = 16 * nv - (v % 3 ? (int)(test_rand(&rng) % 16) : 0),
                                      .k = ks[v % 5],
                                      .nblk = 1 + v % 4,
                                      .add = v & 1,
                                      .bias = v & 2,
                                      .taps = v & 8,
                                      .even = v / 80,
                                      .flags = flags(DTP_UKR_ACC)};
                    check_tile(&c);
                }
            }
    }
}

static void packing(void **state) {
    (void)state;
    rng = test_rng(6);
    const dtp_ukr_set_t *set[3];
    const char *name[3];
    const int n = sets(set, name);
    static const int64_t sizes[] = {1, 7, 8, 15, 16, 17, 33, 64, 70};
    for (int s = 0; s < n; ++s)
        for (int i = 0; i < 81; ++i) {
            const int64_t k = sizes[i % 9], c = sizes[i / 9], panels = (c + 15) / 16;
            float *src = values((size_t)(k * (c + 1))), *dst = values((size_t)(panels * 16 * k));
            set[s]->pack((const char *)src, (c + 1) * 4, k, c, (char *)dst, k * 64);
            for (int64_t p = 0; p < k; ++p)
                for (int64_t j = 0; j < panels * 16; ++j)
                    assert_true(dst[j / 16 * k * 16 + p * 16 + j % 16] == (j < c ? src[p * (c + 1) + j] : 0));
            free(src);
            src = values((size_t)(c * (k + 1)));
            set[s]->pack_trans((const char *)src, (k + 1) * 4, k, c, (char *)dst, k * 64);
            for (int64_t p = 0; p < k; ++p)
                for (int64_t j = 0; j < panels * 16; ++j)
                    assert_true(dst[j / 16 * k * 16 + p * 16 + j % 16] == (j < c ? src[j * (k + 1) + p] : 0));
            free(dst);
            dst = values((size_t)(k * (c + 2)));
            float *old = malloc(sizeof(float) * (size_t)(k * (c + 2)));
            memcpy(old, dst, sizeof(float) * (size_t)(k * (c + 2)));
            set[s]->transpose((const char *)src, (k + 1) * 4, k, c, (char *)dst, (c + 2) * 4);
            for (int64_t p = 0; p < k; ++p)
                for (int64_t j = 0; j < c + 2; ++j)
                    assert_true(dst[p * (c + 2) + j] ==
                                (j < c ? src[j * (k + 1) + p] : old[p * (c + 2) + j]));
            free(src);
            free(dst);
            free(old);
        }
}

static void vectors(void **state) {
    (void)state;
    rng = test_rng(7);
    const dtp_ukr_set_t *set[3];
    const char *name[3];
    const int n = sets(set, name);
    static const int64_t sizes[] = {1, 7, 8, 9, 16, 31, 64, 100};
    for (int s = 0; s < n; ++s)
        for (int i = 0; i < 64; ++i) {
            const int64_t k = sizes[i % 8], c = sizes[i / 8];
            float *x = values((size_t)(4 * k)), *b = values((size_t)(k * (c + 1))),
                  *y = values((size_t)(4 * c));
            const int64_t half = k / 2;
            if (half) set[s]->gemv(x, (const char *)b, (c + 1) * 4, half, c, y, 0);
            set[s]->gemv(x + half, (const char *)(b + half * (c + 1)), (c + 1) * 4, k - half, c, y, half > 0);
            for (int64_t j = 0; j < c; ++j) {
                float want = 0;
                for (int64_t p = 0; p < k; ++p) want += x[p] * b[p * (c + 1) + j];
                assert_true(y[j] == want);
            }
            free(b);
            b = values((size_t)(c * (k + 1)));
            for (int mr = 1; mr <= DTP_UKR_DOT_ROWS; ++mr) {
                set[s]->dot((const char *)x, k * 4, mr, (const char *)b, (k + 1) * 4, c, k, (char *)y, c * 4);
                for (int r = 0; r < mr; ++r)
                    for (int64_t j = 0; j < c; ++j) {
                        float want = 0;
                        for (int64_t p = 0; p < k; ++p) want += x[r * k + p] * b[j * (k + 1) + p];
                        assert_true(y[r * c + j] == want);
                    }
            }
            free(x);
            free(b);
            free(y);
        }
}

static void integers(void **state) {
    (void)state;
    rng = test_rng(8);
    dtp_ukr_s16_fn_t fn[3] = {dtp_ukr_s16__ref};
    int n = 1;
#if DTP_X64
    if (dtp_cpu_isa_bits() & DTP_ISA_AVX2) fn[n++] = dtp_ukr_s16__avx2;
    if (dtp_cpu_isa_bits() & DTP_ISA_AVX512) fn[n++] = dtp_ukr_s16__avx512;
#endif
    for (int s = 0; s < n; ++s)
        for (int mr = 1; mr <= DTP_UKR_S16_MR; ++mr)
            for (int64_t pairs = 0; pairs < 20; pairs += 3) {
                int16_t a[DTP_UKR_S16_MR * 42], b[20 * 32 + 1];
                int32_t c[DTP_UKR_S16_MR * 16];
                for (size_t i = 0; i < sizeof a / 2; ++i) a[i] = (int16_t)(test_rand(&rng) % 511) - 255;
                for (size_t i = 0; i < sizeof b / 2; ++i) b[i] = (int16_t)(test_rand(&rng) % 511) - 255;
                fn[s](mr, (const char *)a, 84, b, pairs, c);
                for (int i = 0; i < mr; ++i)
                    for (int j = 0; j < 16; ++j) {
                        int32_t want = 0;
                        for (int64_t p = 0; p < 2 * pairs; ++p)
                            want += a[i * 42 + p] * b[p / 2 * 32 + 2 * j + p % 2];
                        assert_int_equal(c[16 * i + j], want);
                    }
            }
}

/* ---- Large B ----------------------------------------------------------------------------------------- */

enum { GROUPS_M = 67, GROUPS_N = 1100, GROUPS_K = 2048 };

static void to_matrix(const void *arg, int64_t batch, float *tile, int64_t ld, int64_t row0, int64_t rows,
                      int64_t col0, int64_t cols) {
    float *c = *(float *const *)arg;
    (void)batch;
    for (int64_t i = 0; i < rows; ++i)
        memcpy(c + (row0 + i) * GROUPS_N + col0, tile + i * ld, sizeof(float) * (size_t)cols);
}

/* A packed B that takes several groups, the last of them smaller: through the tile and straight, in parts of
 * rows or whole. */
static void groups(void **state) {
    (void)state;
    rng = test_rng(9);
    const int64_t panels = (GROUPS_N + 15) / 16;
    float *a = values(GROUPS_M * GROUPS_K), *b = values((size_t)(panels * GROUPS_K * 16)),
          *c = values(GROUPS_M * GROUPS_N);
    for (int v = 0; v < 4; ++v) {
        dtp_gemm_t g;
        memset(&g, 0, sizeof g);
        g.ukr = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, dtp_cpu_isa_bits());
        g.l2_bytes = 16 << 10;
        g.num_threads = v & 2 ? 3 : 1;
        g.sam = GROUPS_K * 4, g.sak = 4;
        g.sbk = DTP_UKR_PANEL_BYTES, g.sbn = GROUPS_K * DTP_UKR_PANEL_BYTES;
        g.scm = GROUPS_N * 4;
        g.tiled = v & 1;
        dtp_gemm_set_shape(&g, GROUPS_M, GROUPS_N, GROUPS_K);
        assert_true(g.groups > 1 && g.groups * g.group_units > g.nunits);
        const size_t per_slot = (dtp_gemm_scratch_per_slot(&g) + 63) / 64 * 64;
        char *scratch = aligned_alloc(64, per_slot + 64);
        assert_non_null(scratch);
        const dtp_parallel_t par = {.num_threads = 1};
        for (int64_t i = 0; i < GROUPS_M * GROUPS_N; ++i) c[i] = NAN;
        dtp_gemm_run(&g, &(dtp_gemm_ptrs_t){.a = (const char *)a, .b = (const char *)b, .c = (char *)c}, &par,
                     scratch, per_slot, to_matrix, &c);
        for (int64_t i = 0; i < GROUPS_M; ++i)
            for (int64_t j = 0; j < GROUPS_N; ++j) {
                if ((i + j) % 23 && j != GROUPS_N - 1) {
                    assert_true(c[i * GROUPS_N + j] == c[i * GROUPS_N + j]);
                    continue;
                }
                double want = 0;
                for (int64_t k = 0; k < GROUPS_K; ++k)
                    want += (double)a[i * GROUPS_K + k] * b[(j / 16 * GROUPS_K + k) * 16 + j % 16];
                if (c[i * GROUPS_N + j] != (float)want)
                    fail_msg("way %d: (%d, %d) is %g, not %g", v, (int)i, (int)j, c[i * GROUPS_N + j], want);
            }
        free(scratch);
    }
    free(a);
    free(b);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(complete), cmocka_unit_test(tiles),
                                       cmocka_unit_test(packing),  cmocka_unit_test(vectors),
                                       cmocka_unit_test(integers), cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
