/* The driver of the micro-kernels on its own: passes over a long k. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/engine.h"
#include "cpu/engine/cpu_engine.h"
#include "cpu/gemm/gemm.h"
#include "support/check.h"

enum { M = 70, N = 100, MAX_K = 3000, LONG_K = 20000, SETS = 3 };

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

/* A row has the same bits whatever the rows of the call and the form of the operands. */
static void rows_and_forms(void **state) {
    (void)state;
    rng = test_rng(1);
    static const int64_t ks[] = {1024, 1030, 1500, MAX_K};
    static const dtp_gemm_b_t forms[] = {DTP_GEMM_B_PACKED, DTP_GEMM_B_WIDE, DTP_GEMM_B_PLAIN};
    const dtp_ukr_set_t *set[SETS];
    const int n = sets(set);
    float *a = values((size_t)M * MAX_K), *b = values((size_t)MAX_K * N), want[M * N], got[M * N];
    for (int i = 0; i < n * 4; ++i) {
        const dtp_ukr_set_t *s = set[i / 4];
        product(s, DTP_GEMM_A_DIRECT, forms[0], M, N, ks[i % 4], a, b, want);
        for (int64_t m = 1; m <= M; m += m < 9 || m == M ? 1 : 61)
            for (size_t f = 0; f < 3; ++f) {
                product(s, f == 2 && m % 2 ? DTP_GEMM_A_TRANS : DTP_GEMM_A_DIRECT, forms[f], m, N, ks[i % 4],
                        a, b, got);
                assert_memory_equal(got, want, sizeof *got * (size_t)(m * N));
            }
    }
    free(a);
    free(b);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_and_forms), cmocka_unit_test(errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
