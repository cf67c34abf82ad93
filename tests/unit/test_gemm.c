/* The driver of the micro-kernels on its own: passes over a long k. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/engine.h"
#include "common/primitive/primitive_desc.h"
#include "cpu/convolution/direct.h"
#include "cpu/engine/cpu_engine.h"
#include "cpu/gemm/gemm.h"
#include "support/check.h"

enum { M = 70, N = 100, MAX_N = 160, MAX_K = 3000, LONG_K = 20000, SETS = 3 };

static test_rng_t rng;

static int sets(const dtp_ukr_set_t *set[SETS]) {
    static const unsigned isa[] = {0, DTP_ISA_AVX2, DTP_ISA_AVX512};
    int n = 0;
    for (int i = 0; i < SETS; ++i)
        if (i == 0 || (dtp_cpu_isa_bits() & isa[i]) == isa[i])
            set[n++] = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, isa[i]);
    return n;
}

static float *values(size_t n) { /* positive, so that errors show */
    float *p = aligned_alloc(64, dtp_round_up((int64_t)(n * sizeof *p), 64));
    assert_non_null(p);
    for (size_t i = 0; i < n; ++i) p[i] = .5f + (float)(test_rand(&rng) % 100001) / 100000.f;
    return p;
}

/* C = A B of m rows; a and b are dense, rows of k and of n values; c of n. */
static void product(const dtp_ukr_set_t *set, dtp_gemm_a_t a_form, dtp_gemm_b_t b_form, int64_t m, int64_t n,
                    int64_t k, const float *a, const float *b, float *c) {
    const int64_t width = b_form == DTP_GEMM_B_WIDE ? DTP_GEMM_WIDE : DTP_UKR_PANEL,
                  panels = dtp_div_up(n, width);
    const bool panelled = b_form == DTP_GEMM_B_PACKED || b_form == DTP_GEMM_B_WIDE;
    float *at = values((size_t)(m * k)), *bt = values((size_t)((panels + 1) * width * k));
    for (int64_t i = 0; i < m && a_form == DTP_GEMM_A_TRANS; ++i)
        for (int64_t p = 0; p < k; ++p) at[p * m + i] = a[i * k + p];
    for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j) {
            if (panelled) bt[(j / width * k + p) * width + j % width] = b[p * n + j];
            else if (b_form == DTP_GEMM_B_TRANS) bt[j * k + p] = b[p * n + j];
        }
    dtp_gemm_t g = {.ukr = set, .l2_bytes = 1 << 20, .num_threads = 1, .a_form = a_form, .b_form = b_form};
    g.sam = a_form == DTP_GEMM_A_TRANS ? 4 : k * 4;
    g.sak = a_form == DTP_GEMM_A_TRANS ? m * 4 : 4;
    g.sbk = b_form == DTP_GEMM_B_PLAIN ? n * 4 : panelled ? width * 4 : 4;
    g.sbn = b_form == DTP_GEMM_B_PLAIN ? 4 : panelled ? width * k * 4 : k * 4;
    g.scm = n * 4;
    dtp_gemm_set_shape(&g, m, n, k);
    char *scratch = aligned_alloc(64, dtp_round_up((int64_t)dtp_gemm_scratch_per_slot(&g) + 1, 64));
    const dtp_gemm_ptrs_t p = {.a = (const char *)(a_form == DTP_GEMM_A_TRANS ? at : a),
                               .b = (const char *)(b_form == DTP_GEMM_B_PLAIN ? b : bt),
                               .c = (char *)c};
    const dtp_parallel_t alone = {.num_threads = 1};
    dtp_gemm_run(&g, &p, &alone, scratch, 0, NULL, NULL);
    free(scratch);
    free(at);
    free(bt);
}

/* A row has the same bits whatever the rows of the call and the form of the operands. Odd and even numbers of column panels: few
 * rows of some of them are one tall block. */
static void rows_and_forms(void **state) {
    (void)state;
    rng = test_rng(1);
    static const int64_t ks[] = {7, 1024, 1030, 1500, MAX_K}, ns[] = {N, 112, 136, MAX_N, DTP_UKR_PANEL};
    enum { KS = sizeof ks / sizeof *ks, NS = sizeof ns / sizeof *ns, FEW = 13 };
    static const dtp_gemm_b_t forms[] = {DTP_GEMM_B_PACKED, DTP_GEMM_B_WIDE, DTP_GEMM_B_PLAIN};
    const dtp_ukr_set_t *set[SETS];
    const int count = sets(set);
    float *a = values((size_t)M * MAX_K), *b = values((size_t)MAX_K * MAX_N), *want = values(M * MAX_N),
          *got = values(M * MAX_N);
    for (int i = 0; i < count * KS; ++i)
        for (int w = 0; w < NS; ++w) {
            const dtp_ukr_set_t *s = set[i / KS];
            const int64_t k = ks[i % KS], n = ns[w];
            if (w && i % KS == KS - 1) continue; /* long */
            product(s, DTP_GEMM_A_DIRECT, forms[0], M, n, k, a, b, want);
            for (int64_t m = 1; m <= M; m += m < FEW || m == M ? 1 : M - FEW)
                for (size_t f = 0; f < 3; ++f) {
                    product(s, f == 2 && m % 2 ? DTP_GEMM_A_TRANS : DTP_GEMM_A_DIRECT, forms[f], m, n, k, a,
                            b, got);
                    assert_memory_equal(got, want, sizeof *got * (size_t)(m * n));
                }
        }
    free(a);
    free(b);
    free(want);
    free(got);
}

/* Short sums of many rows: all column panels pass over some rows, then over the next ones; with one
 * column panel a call takes many blocks of rows. A row has the bits that it has among few rows. */
static void short_sums(void **state) {
    (void)state;
    enum { ROWS = 3001, PART = 29, FEW = 11, COLS = 136, STEPS = 64 };
    rng = test_rng(3);
    static const int64_t ks[] = {1, 16, 27, STEPS}, ns[] = {7, 16, 40, 64, 96, COLS};
    const dtp_ukr_set_t *set[SETS];
    const int count = sets(set);
    float *a = values(ROWS * STEPS), *b = values(STEPS * COLS), *got = values(ROWS * COLS), part[PART * COLS];
    for (int i = 0; i < count; ++i)
        for (size_t t = 0; t < sizeof ks / sizeof *ks * (sizeof ns / sizeof *ns); ++t) {
            const int64_t k = ks[t % 4], n = ns[t / 4];
            product(set[i], DTP_GEMM_A_DIRECT, DTP_GEMM_B_PACKED, ROWS, n, k, a, b, got);
            for (int64_t r = 0, rows; r < ROWS; r += rows) {
                rows = dtp_min64(r % 2 ? FEW : PART, ROWS - r);
                product(set[i], DTP_GEMM_A_DIRECT, DTP_GEMM_B_PACKED, rows, n, k, a + r * k, b, part);
                assert_memory_equal(got + r * n, part, sizeof *got * (size_t)(rows * n));
            }
        }
    free(a);
    free(b);
    free(got);
}

/* Sums of many terms are as near as those of some hundreds: a single chain of so many has an error of 2e-6. */
static void errors(void **state) {
    (void)state;
    enum { COLS = 64, ROWS = 9 };
    rng = test_rng(2);
    static const dtp_gemm_b_t forms[] = {DTP_GEMM_B_PACKED, DTP_GEMM_B_WIDE, DTP_GEMM_B_PLAIN,
                                         DTP_GEMM_B_TRANS};
    const dtp_ukr_set_t *set[SETS];
    const int n = sets(set);
    float *a = values((size_t)ROWS * LONG_K), *b = values((size_t)LONG_K * COLS), got[ROWS * COLS];
    for (int i = 0; i < n * 4; ++i)
        for (int64_t m = 1; m <= ROWS; m += ROWS - 1) {
            product(set[i / 4], DTP_GEMM_A_DIRECT, forms[i % 4], m, COLS, LONG_K, a, b, got);
            double square = 0;
            for (int64_t j = 0; j < COLS; ++j) {
                double sum = 0;
                for (int64_t p = 0; p < LONG_K; ++p) sum += (double)a[p] * b[p * COLS + j];
                square += (got[j] / sum - 1) * (got[j] / sum - 1);
            }
            assert_true(sqrt(square / COLS) < 6e-7);
        }
    free(a);
    free(b);
}

/* ---- The split between threads ----------------------------------------------------------------------- */

enum { MOST_THREADS = 64 };

/* What the threads do of a product of packed B whose units they take in equal, contiguous parts. */
typedef struct {
    double a_bytes, b_bytes; /* that the threads read, each of its own once */
    int64_t shared; /* rows x column panels of C next to one of the same row that another thread writes */
} traffic_t;

static traffic_t traffic(const dtp_gemm_t *g, int threads) {
    assert_true(g->batches == 1 && g->groups == 1 && g->unit_panels == 1);
    traffic_t t = {0, 0, 0};
    uint8_t *owner = calloc((size_t)(g->m * g->npanels), 1);
    assert_non_null(owner);
    for (int w = 0; w < threads; ++w) {
        const int64_t begin = g->units * w / threads, end = g->units * (w + 1) / threads;
        bool *row = calloc((size_t)(g->m + g->npanels), 1), *panel = row + g->m;
        assert_non_null(row);
        for (int64_t u = begin; u < end; ++u) {
            int64_t m0 = 0, m1 = g->m;
            const int64_t p = u % g->group_units;
            if (g->mchunks > 1) dtp_gemm_chunk_rows(g, u / g->group_units, &m0, &m1);
            panel[p] = m0 < m1;
            for (int64_t i = m0; i < m1; ++i) {
                row[i] = true;
                assert_int_equal(owner[i * g->npanels + p], 0); /* nobody else computes it */
                owner[i * g->npanels + p] = (uint8_t)(w + 1);
            }
        }
        for (int64_t i = 0; i < g->m; ++i) t.a_bytes += row[i] ? 4. * (double)g->k : 0;
        for (int64_t p = 0; p < g->npanels; ++p)
            t.b_bytes += panel[p] ? DTP_UKR_PANEL_BYTES * (double)g->k : 0;
        free(row);
    }
    for (int64_t i = 0; i < g->m * g->npanels; ++i) {
        assert_int_not_equal(owner[i], 0);
        t.shared += i % g->npanels && owner[i] != owner[i - 1];
    }
    free(owner);
    return t;
}

static dtp_gemm_t split_of(const dtp_ukr_set_t *set, int64_t l2, int threads, int64_t m, int64_t n,
                           int64_t k) {
    dtp_gemm_t g = {.ukr = set, .l2_bytes = l2, .num_threads = threads};
    g.sam = k * 4, g.sak = 4, g.sbk = DTP_UKR_PANEL_BYTES, g.sbn = k * DTP_UKR_PANEL_BYTES, g.scm = n * 4;
    dtp_gemm_set_shape(&g, m, n, k);
    return g;
}

/* Products of networks: rows are split where A is larger than B, or more than half as large beside a B that takes at
 * most half of the second-level cache (of 1 MB, of 2 MB); k-steps, so that a row holds of bf16 too. */
static void splits(void **state) {
    (void)state;
    static const struct {
        int64_t m, n, k;
        bool rows[2];
    } shapes[] = {
        {3136, 64, 64, {true, true}},      {3136, 64, 256, {true, true}},    {3136, 256, 64, {true, true}},
        {784, 128, 512, {true, true}},     {784, 256, 512, {true, true}},    {784, 512, 128, {true, true}},
        {196, 256, 1024, {false, true}},   {196, 1024, 256, {false, false}}, {49, 2048, 512, {false, false}},
        {49, 512, 2048, {false, false}},   {19200, 32, 16, {true, true}},    {1200, 64, 64, {true, true}},
        {1024, 1536, 384, {false, false}}, {1024, 384, 1536, {true, true}},  {128, 1536, 384, {false, false}},
        {512, 768, 160, {true, true}},     {512, 768, 320, {false, true}},   {512, 768, 640, {false, false}},
    };
    const dtp_ukr_set_t *set[SETS];
    const int n = sets(set);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int v = 0; v < 2 * n; ++v)
            for (int threads = 2; threads <= MOST_THREADS; threads += threads < 4 ? 1 : threads) {
                const int64_t m = shapes[i].m, cols = shapes[i].n, k = shapes[i].k;
                const dtp_gemm_t g = split_of(set[v / 2], (1 + v % 2) << 20, threads, m, cols, k);
                const traffic_t t = traffic(&g, threads);
                const double a = 4. * (double)(m * k), b = 4. * (double)(cols * k);
                const bool rows = shapes[i].rows[v % 2], even = g.mchunks % threads == 0;
                if (rows != (g.mchunks > 1) && threads == 2)
                    fail_msg("%dx%dx%d, L2 %d MB: %d row chunks", (int)m, (int)k, (int)cols, 1 + v % 2,
                             (int)g.mchunks);
                /* Threads that have chunks of their own share no lines, and read A once between them. */
                if (rows && even) assert_true(t.shared == 0 && t.a_bytes == a);
                /* No more than columns alone would read, where a byte of A, which others have just written, counts
                 * twice. */
                const double parts = (double)dtp_min64(threads, g.npanels);
                if (rows && 2 * t.a_bytes + t.b_bytes > 1.5 * (2 * parts * a + b) + 4 * b)
                    fail_msg("%dx%dx%d on %d: %.0f bytes of A, %.0f of B", (int)m, (int)k, (int)cols, threads,
                             t.a_bytes, t.b_bytes);
            }
}

/* 3 x 3, channels last; ic, oc: of a group. */
static dtp_conv_direct_t plan_of(const dtp_ukr_set_t *set, int threads, int64_t groups, int64_t ic,
                                 int64_t oc, int64_t size) {
    struct dnnl_tp_engine engine = {.l2_bytes = 1 << 20};
    const dtp_window_t one = {.in = 1, .out = 1, .kernel = 1, .stride = 1, .step = 1};
    const dtp_window_t w = {.in = size, .out = size, .kernel = 3, .stride = 1, .step = 1, .pad = 1};
    dtp_conv_direct_t p = {.ukr = set,
                           .f32 = set,
                           .elem = 4,
                           .win = {one, w, w},
                           .images = 1,
                           .groups = groups,
                           .ic = ic,
                           .oc = oc,
                           .steps = ic,
                           .blocks = 1,
                           .block_k = ic,
                           .src_g = 4 * ic,
                           .dst_g = 4 * oc,
                           .dst_dt = dnnl_tp_f32,
                           .dst_c = 4,
                           .dst_p = DTP_UKR_PANEL_BYTES,
                           .dst_x = {0, 4 * size * groups * oc, 4 * groups * oc}};
    dtp_pd_t pd = {.engine = &engine, .num_threads = threads};
    dtp_conv_direct_plan(&p, &pd);
    return p;
}

/* Convolutions that take long have more units on several threads. These come from parts of the
 * column panels, since every chunk of lines reads all weights again; one thread gets no more chunks
 * than its second-level cache asks for. */
static void long_convolutions(void **state) {
    (void)state;
    static const struct { int64_t channels, size; } shapes[] = {{512, 7}, {512, 14}, {1024, 14}, {256, 28}};
    const dtp_ukr_set_t *set[SETS];
    const int n = sets(set);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int v = 0; v < n; ++v)
            for (int threads = 1; threads <= 8; threads *= 2) {
                const int64_t c = shapes[i].channels, size = shapes[i].size;
                const dtp_conv_direct_t p = plan_of(set[v], threads, 1, c, c, size);
                const int64_t least = dtp_div_up(size, dtp_max64(p.max_rows * p.row_chunks / size, 1)),
                              strips = dtp_div_up(p.npanels, p.nv);
                const double ns = (double)p.unit_ns * (double)p.units;
                if (threads == 1) assert_true(p.line_chunks == least && p.panel_parts == 1);
                else assert_true(p.line_chunks <= 2 * least || p.panel_parts == strips);
                if (threads > 1) assert_true((double)p.units >= ns / 1e6 || p.line_chunks == size);
            }
}

/* Grouped 3 x 3 convolutions, channels last: where groups share lines, or pairs of lines, no two threads have a pixel in
 * common if there is a chunk of lines for each; every unit is met once. */
static void groups_of_a_pixel(void **state) {
    (void)state;
    static const struct {
        int64_t groups, ic, oc, size;
        bool inside;
    } shapes[] = {
        {4, 34, 34, 28, true},  {4, 6, 28, 56, true},  {4, 68, 68, 14, false}, {32, 4, 4, 56, true},
        {2, 64, 64, 28, false}, {2, 64, 48, 28, true}, {4, 34, 34, 3, false},  {2, 256, 200, 14, false},
    };
    const dtp_ukr_set_t *set[SETS];
    const int n = sets(set);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int v = 0; v < n; ++v)
            for (int threads = 2; threads <= 14; ++threads) {
                const int64_t ic = shapes[i].ic, oc = shapes[i].oc, size = shapes[i].size,
                              groups = shapes[i].groups;
                const dtp_conv_direct_t p = plan_of(set[v], threads, groups, ic, oc, size);
                if (threads == 2) assert_int_equal(p.groups_inside, shapes[i].inside);
                assert_int_equal(p.units, groups * p.line_chunks * p.row_chunks * p.panel_parts);
                const int64_t chunks = p.line_chunks * p.row_chunks;
                uint8_t *met = calloc((size_t)p.units, 1), *owner = calloc((size_t)chunks, 1);
                assert_true(met && owner);
                for (int64_t u = 0; u < p.units; ++u) {
                    const dtp_conv_unit_t at = dtp_conv_unit(&p, u);
                    assert_true(at.group < groups && at.lines < p.line_chunks && at.row < p.row_chunks &&
                                at.part < p.panel_parts);
                    const int64_t chunk = at.lines * p.row_chunks + at.row;
                    uint8_t *m = &met[(at.group * chunks + chunk) * p.panel_parts + at.part];
                    assert_int_equal(*m, 0);
                    *m = 1;
                    if (!p.groups_inside || chunks % threads) continue;
                    const uint8_t thread = (uint8_t)(u * threads / p.units + 1);
                    assert_true(owner[chunk] == 0 || owner[chunk] == thread);
                    owner[chunk] = thread;
                }
                free(met);
                free(owner);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_and_forms),
                                       cmocka_unit_test(errors),
                                       cmocka_unit_test(splits),
                                       cmocka_unit_test(short_sums),
                                       cmocka_unit_test(long_convolutions),
                                       cmocka_unit_test(groups_of_a_pixel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
