/* The int8 gemm calls at their corners: every product of two bytes, sums and offsets at the ends of s32,
 * operands larger than a block. CTest runs this once for each instruction set. Random shapes, pools and
 * refusals: test_gemm.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"
#include "cpu/blas/gemm_int8.h"
#include "support/check.h"

typedef struct {
    bool u8;
    char ta, tb, oc;
    int64_t m, n, k;
    float alpha, beta;
    int ao, bo;
} call_t;

static void call(const call_t *x, const uint8_t *a, const int8_t *b, int32_t *c, int64_t ldc,
                 const int32_t *co) {
    const int64_t lda = x->ta == 'T' ? x->m : x->k, ldb = x->tb == 'T' ? x->k : x->n;
    if (x->u8)
        CHECK_OK(dnnl_tp_gemm_u8s8s32(x->ta, x->tb, x->oc, x->m, x->n, x->k, x->alpha, a, lda, (uint8_t)x->ao,
                                      b, ldb, (int8_t)x->bo, x->beta, c, ldc, co));
    else
        CHECK_OK(dnnl_tp_gemm_s8s8s32(x->ta, x->tb, x->oc, x->m, x->n, x->k, x->alpha, (const int8_t *)a, lda,
                                      (int8_t)x->ao, b, ldb, (int8_t)x->bo, x->beta, c, ldc, co));
}

/* Exactly as large as they are, so that a sanitizer sees a read too far. */
static void *bytes(int64_t n) {
    void *p = malloc((size_t)n);
    assert_non_null(p);
    return p;
}

static int32_t saturated(double v) {
    return v != v ? 0 : (int32_t)fmin(fmax(nearbyint(v), INT32_MIN), INT32_MAX);
}

/* Rows of A are the 256 bytes, columns of B are, too: A's from k to k the same, B's by turns a byte and its
 * complement. */
static void every_product(void **state) {
    (void)state;
    enum { N = 256 };
    static const int64_t ks[] = {1, 4, 19};
    const int32_t co = 0;
    int32_t *c = bytes(N * N * 4);
    for (int v = 0; v < 8; ++v)
        for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i)
            for (int64_t rows = 4; rows <= N; rows *= 64) {
                const int64_t k = ks[i];
                call_t x = {v & 1, v & 2 ? 'T' : 'N', v & 4 ? 'T' : 'N', 'F', rows, N, k, 1, 0, 0, 0};
                uint8_t *a = bytes(rows * k);
                int8_t *b = bytes(N * k);
                for (int64_t j = 0; j < N; ++j)
                    for (int64_t p = 0; p < k; ++p)
                        b[x.tb == 'T' ? j * k + p : p * N + j] = (int8_t)(p % 2 ? 255 - j : j);
                for (int64_t r0 = 0; r0 < N; r0 += rows) {
                    for (int64_t r = 0; r < rows; ++r)
                        for (int64_t p = 0; p < k; ++p)
                            a[x.ta == 'T' ? p * rows + r : r * k + p] = (uint8_t)(r0 + r);
                    call(&x, a, b, c, N, &co);
                    for (int64_t r = 0; r < rows; ++r)
                        for (int64_t j = 0; j < N; ++j) {
                            const int64_t av = x.u8 ? r0 + r : (int8_t)(r0 + r), bv = (int8_t)j,
                                          odd = (int8_t)(255 - j),
                                          want = av * (bv * ((k + 1) / 2) + odd * (k / 2));
                            if (c[r * N + j] != want)
                                fail_msg("%s %c%c k %d: %d by %d and %d is %d, not %d", x.u8 ? "u8" : "s8",
                                         x.ta, x.tb, (int)k, (int)av, (int)bv, (int)odd, c[r * N + j],
                                         (int)want);
                        }
                }
                free(a);
                free(b);
            }
    free(c);
}

/* One value everywhere in A, one in B. */
static void extremes(void **state) {
    (void)state;
    enum { N = 17, LDC = 20, MAX_M = 13 };
    static const int64_t ks[] = {1, 5, 127, 1024, DTP_GEMM_U8S8_MAX_K, DTP_GEMM_U8S8_MAX_K + 1};
    static const int32_t offsets[] = {0, 1 << 30, INT32_MAX, INT32_MIN};
    static const float alphas[] = {1, -1, 0, 0.3f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i)
        for (int v = 0; v < 256; ++v) {
            const int64_t k = ks[i];
            if (k > 1024 && v % 16 != 5) continue;
            call_t x = {v & 1,
                        'N',
                        v & 2 ? 'T' : 'N',
                        "FCR"[v % 3],
                        v & 4 ? 2 : MAX_M,
                        N,
                        k,
                        alphas[v / 4 % 6],
                        v % 5 ? 0 : 0.5f,
                        0,
                        v & 32 ? v & 64 ? 127 : -128 : 0};
            if (v & 16) x.ao = x.u8 ? 255 : v & 128 ? 127 : -128;
            uint8_t *a = bytes(x.m * k);
            int8_t *b = bytes(N * k);
            int32_t c[MAX_M * LDC], old[MAX_M * LDC], co[N];
            const int av = v & 8 ? x.u8 ? 255 : -128 : x.u8 ? 0 : 127, bv = v & 64 ? -128 : 127;
            memset(a, av, (size_t)(x.m * k));
            memset(b, bv, (size_t)(N * k));
            for (int j = 0; j < N; ++j) co[j] = offsets[(v / 2 + j) % 4] / (v % 7 ? 1 : 4);
            for (int j = 0; j < MAX_M * LDC; ++j) c[j] = old[j] = (j % 3 - 1) * 1000000007;
            call(&x, a, b, c, LDC, co);
            for (int r = 0; r < x.m; ++r)
                for (int j = 0; j < LDC; ++j) {
                    double want = (double)x.alpha * ((double)k * (av - x.ao) * (bv - x.bo));
                    if (x.beta != 0) want += (double)x.beta * old[r * LDC + j];
                    want += j >= N ? 0 : co[x.oc == 'F' ? 0 : x.oc == 'C' ? r : j];
                    const int32_t exact = j >= N ? old[r * LDC + j] : saturated(want);
                    if (c[r * LDC + j] != exact)
                        fail_msg("case %d, k %d, (%d, %d): %d, not %d", v, (int)k, r, j, c[r * LDC + j],
                                 exact);
                }
            free(a);
            free(b);
        }
}

/* Long rows: packed operands take several blocks. */
static void blocks(void **state) {
    (void)state;
    enum { K = 33000 };
    static const int sizes[][2] = {{3, 300}, {300, 2}, {20, 200}};
    test_rng_t rng = test_rng(4);
    for (int v = 0; v < 6; ++v) {
        const int m = sizes[v / 2][0], n = sizes[v / 2][1];
        call_t x = {v & 1, v & 2 ? 'T' : 'N', v & 1 ? 'T' : 'N', 'R', m, n, K, 1, 0, v & 1, 0};
        uint8_t *a = bytes(m * K);
        int8_t *b = bytes(n * K);
        int32_t *c = bytes(m * n * 4), *co = bytes(n * 4);
        for (int i = 0; i < m * K; ++i) a[i] = (uint8_t)test_rand(&rng);
        for (int i = 0; i < n * K; ++i) b[i] = (int8_t)test_rand(&rng);
        for (int j = 0; j < n; ++j) co[j] = j;
        call(&x, a, b, c, n, co);
        /* Some of them: the corners and a diagonal. */
        for (int i = 0; i < m; ++i)
            for (int j = i % 37; j < n; j += 37) {
                int64_t want = j;
                for (int p = 0; p < K; ++p) {
                    const uint8_t av = a[x.ta == 'T' ? p * m + i : i * K + p];
                    want += ((x.u8 ? av : (int8_t)av) - x.ao) * b[x.tb == 'T' ? j * K + p : p * n + j];
                }
                assert_int_equal(c[i * n + j], want);
            }
        free(a);
        free(b);
        free(c);
        free(co);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_product), cmocka_unit_test(extremes),
                                       cmocka_unit_test(blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
