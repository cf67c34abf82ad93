/* The gemm calls: values against loops in double and exact integers, pools, argument checks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/check.h"

static test_rng_t rng;

static void *filled(size_t n, size_t size) {
    unsigned char *p = malloc(n * size + 1);
    assert_non_null(p);
    for (size_t i = 0; i < n * size; ++i) p[i] = (unsigned char)test_rand(&rng);
    return p;
}

static float *floats(size_t n) {
    float *p = malloc((n + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < n; ++i) p[i] = (float)((int)(test_rand(&rng) % 9) - 4);
    return p;
}

/* The pool of n threads as the interface that a host would pass; NULL for one. */
static const dnnl_tp_threadpool_iface_t *iface_of(int n, dnnl_tp_threadpool_t *pool,
                                                  dnnl_tp_stream_attr_t *attr) {
    const dnnl_tp_threadpool_iface_t *iface = NULL;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = n};
    *pool = NULL;
    *attr = NULL;
    if (n == 1 || !DNNL_TP_WITH_THREADPOOL) return NULL;
    CHECK_OK(dnnl_tp_threadpool_create(pool, &opts));
    CHECK_OK(dnnl_tp_stream_attr_create(attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(*attr, *pool));
    CHECK_OK(dnnl_tp_stream_attr_get_threadpool(*attr, &iface));
    return iface;
}

static void drop(dnnl_tp_threadpool_t pool, dnnl_tp_stream_attr_t attr) {
    if (!pool) return;
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    CHECK_OK(dnnl_tp_threadpool_destroy(pool));
}

static void sgemm_case(int64_t m, int64_t n, int64_t k, char ta, char tb, float alpha, float beta, int gap,
                       const dnnl_tp_threadpool_iface_t *pool) {
    const bool at = ta == 'T' || ta == 't', bt = tb == 'T' || tb == 't';
    const int64_t lda = dtp_max64(at ? m : k, 1) + gap, ldb = dtp_max64(bt ? k : n, 1) + gap,
                  ldc = dtp_max64(n, 1) + gap;
    float *a = floats((size_t)(lda * (at ? k : m))), *b = floats((size_t)(ldb * (bt ? n : k))),
          *c = floats((size_t)(ldc * m)), *old = floats((size_t)(ldc * m));
    memcpy(old, c, sizeof(float) * (size_t)(ldc * m));
    if (beta == 0)
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = NAN; /* must not be read */
    CHECK_OK(dnnl_tp_sgemm_tp(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, pool));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < ldc; ++j) {
            if (j >= n) {
                if (c[i * ldc + j] != old[i * ldc + j])
                    fail_msg("the gap behind row %lld was written", (long long)i);
                continue;
            }
            double want = 0;
            for (int64_t p = 0; p < k; ++p)
                want += (double)a[at ? p * lda + i : i * lda + p] * b[bt ? j * ldb + p : p * ldb + j];
            want = alpha * want + (beta != 0 ? beta * old[i * ldc + j] : 0);
            /* Small integers and powers of two: exact. */
            if (c[i * ldc + j] != (float)want)
                fail_msg("%lldx%lldx%lld %c%c alpha %g beta %g: (%lld, %lld) is %g, not %g", (long long)m,
                         (long long)n, (long long)k, ta, tb, alpha, beta, (long long)i, (long long)j,
                         c[i * ldc + j], want);
        }
    free(a);
    free(b);
    free(c);
    free(old);
}

static void sgemm_values(void **state) {
    (void)state;
    rng = test_rng(1);
    static const int64_t sizes[][3] = {{1, 1, 1},     {1, 16, 16},    {7, 17, 33},    {33, 65, 129},
                                       {8, 48, 300},  {64, 1, 5},     {1, 64, 70},    {5, 3, 0},
                                       {100, 80, 60}, {20, 30, 2100}, {70, 100, 2050}};
    static const float scale[][2] = {{1, 0}, {1, 1}, {2, 0}, {0.5f, -2}, {0, 0.5f}, {0, 0}, {1, 2}};
    for (int threads = 1; threads <= 3; threads += 2) {
        dnnl_tp_threadpool_t pool;
        dnnl_tp_stream_attr_t attr;
        const dnnl_tp_threadpool_iface_t *iface = iface_of(threads, &pool, &attr);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
            for (int t = 0; t < 4; ++t)
                for (size_t v = 0; v < sizeof scale / sizeof *scale; ++v)
                    sgemm_case(sizes[s][0], sizes[s][1], sizes[s][2], t & 1 ? 'T' : 'n', t & 2 ? 't' : 'N',
                               scale[v][0], scale[v][1], (int)(s + v) % 3, iface);
        drop(pool, attr);
    }
}

static void int8_case(bool u8, int64_t m, int64_t n, int64_t k, int t, char oc, float alpha, float beta,
                      int ao, int bo, const dnnl_tp_threadpool_iface_t *pool) {
    const bool at = t & 1, bt = t & 2;
    const int64_t lda = (at ? m : k) + 1, ldb = (bt ? k : n) + 2, ldc = n + 3;
    uint8_t *a = filled((size_t)(lda * (at ? k : m)), 1);
    int8_t *b = filled((size_t)(ldb * (bt ? n : k)), 1);
    int32_t *c = filled((size_t)(ldc * m), 4), *old = malloc((size_t)(ldc * m) * 4),
            *co = filled((size_t)(m + n), 4);
    for (int64_t i = 0; i < ldc * m; ++i) c[i] /= 1 << 12;
    for (int64_t i = 0; i < m + n; ++i) co[i] /= 1 << 12;
    memcpy(old, c, (size_t)(ldc * m) * 4);
    const char ta = at ? 'T' : 'N', tb = bt ? 't' : 'n';
    if (u8)
        CHECK_OK(dnnl_tp_gemm_u8s8s32_tp(ta, tb, oc, m, n, k, alpha, a, lda, (uint8_t)ao, b, ldb, (int8_t)bo,
                                         beta, c, ldc, co, pool));
    else
        CHECK_OK(dnnl_tp_gemm_s8s8s32_tp(ta, tb, oc, m, n, k, alpha, (const int8_t *)a, lda, (int8_t)ao, b,
                                         ldb, (int8_t)bo, beta, c, ldc, co, pool));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < ldc; ++j) {
            double want = 0;
            if (j >= n) {
                assert_int_equal(c[i * ldc + j], old[i * ldc + j]);
                continue;
            }
            for (int64_t p = 0; p < k; ++p) {
                const uint8_t av = a[at ? p * lda + i : i * lda + p];
                want += ((u8 ? av : (int8_t)av) - ao) * (b[bt ? j * ldb + p : p * ldb + j] - bo);
            }
            want = (double)alpha * want + (double)beta * old[i * ldc + j];
            want += oc == 'f' || oc == 'F' ? co[0] : oc == 'c' || oc == 'C' ? co[i] : co[j];
            want = nearbyint(want);
            want = fmin(fmax(want, INT32_MIN), INT32_MAX);
            if (c[i * ldc + j] != (int32_t)want)
                fail_msg("(%lld, %lld) is %d, not %.0f", (long long)i, (long long)j, c[i * ldc + j], want);
        }
    free(a);
    free(b);
    free(c);
    free(old);
    free(co);
}

static void int8_values(void **state) {
    (void)state;
    rng = test_rng(2);
    static const int64_t sizes[][3] = {{1, 1, 1},      {3, 17, 5},    {33, 65, 129},
                                       {130, 140, 31}, {9, 20, 2500}, {140, 16, 64}};
    static const char oc[] = "FcRfCr";
    for (int threads = 1; threads <= 3; threads += 2) {
        dnnl_tp_threadpool_t pool;
        dnnl_tp_stream_attr_t attr;
        const dnnl_tp_threadpool_iface_t *iface = iface_of(threads, &pool, &attr);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
            for (int t = 0; t < 4; ++t)
                for (int v = 0; v < 6; ++v)
                    int8_case(v % 2, sizes[s][0], sizes[s][1], sizes[s][2], t, oc[v], v < 3 ? 1 : 0.37f,
                              v % 3 ? 0 : 0.5f, v == 1 ? 0 : 77, v == 2 ? 0 : -128, iface);
        drop(pool, attr);
    }
    /* Sums beyond s32 saturate. */
    enum { K = 140000 };
    uint8_t *a = malloc(K);
    int8_t *b = malloc(K);
    memset(a, 255, K);
    memset(b, 127, K);
    int32_t c = 0;
    const int32_t co = 0;
    CHECK_OK(dnnl_tp_gemm_u8s8s32('N', 'N', 'F', 1, 1, K, 1, a, K, 0, b, 1, 0, 0, &c, 1, &co));
    assert_int_equal(c, INT32_MAX);
    free(a);
    free(b);
}

static void refusals(void **state) {
    (void)state;
    float x[64] = {0};
    uint8_t u[64] = {0};
    int8_t s[64] = {0};
    int32_t c[64] = {0}, co[8] = {0};
#define BAD(reason, ...)                                                     \
    do {                                                                     \
        CHECK_STATUS(dnnl_tp_sgemm(__VA_ARGS__), dnnl_tp_invalid_arguments); \
        assert_int_equal(dtp_last_reason(), DTP_##reason);                   \
    } while (0)
    BAD(BAD_ENUM, 'x', 'N', 2, 2, 2, 1, x, 2, x, 2, 0, x, 2);
    BAD(BAD_ENUM, 'N', 'C', 2, 2, 2, 1, x, 2, x, 2, 0, x, 2);
    BAD(BAD_DIMS, 'N', 'N', -1, 2, 2, 1, x, 2, x, 2, 0, x, 2);
    BAD(BAD_DIMS, 'N', 'N', 2, -1, 2, 1, x, 2, x, 2, 0, x, 2);
    BAD(BAD_DIMS, 'N', 'N', 2, 2, -1, 1, x, 2, x, 2, 0, x, 2);
    BAD(BAD_STRIDES, 'N', 'N', 2, 3, 4, 1, x, 3, x, 3, 0, x, 3);
    BAD(BAD_STRIDES, 'T', 'N', 5, 3, 4, 1, x, 4, x, 3, 0, x, 3);
    BAD(BAD_STRIDES, 'N', 'N', 2, 3, 4, 1, x, 4, x, 2, 0, x, 3);
    BAD(BAD_STRIDES, 'N', 'T', 2, 3, 4, 1, x, 4, x, 3, 0, x, 3);
    BAD(BAD_STRIDES, 'N', 'N', 2, 3, 4, 1, x, 4, x, 3, 0, x, 2);
    BAD(BAD_STRIDES, 'N', 'N', 0, 0, 0, 1, x, 0, x, 1, 0, x, 1);
    BAD(NULL_ARG, 'N', 'N', 2, 2, 2, 1, NULL, 2, x, 2, 0, x, 2);
    BAD(NULL_ARG, 'N', 'N', 2, 2, 2, 1, x, 2, NULL, 2, 0, x, 2);
    BAD(NULL_ARG, 'N', 'N', 2, 2, 2, 1, x, 2, x, 2, 0, NULL, 2);
#undef BAD
    CHECK_OK(dnnl_tp_sgemm('n', 't', 0, 5, 5, 1, x, 5, x, 5, 0, x, 5));
    CHECK_OK(dnnl_tp_sgemm('n', 't', 5, 0, 5, 1, x, 5, x, 5, 0, x, 5));
    CHECK_STATUS(dnnl_tp_gemm_u8s8s32('N', 'N', 'x', 2, 2, 2, 1, u, 2, 0, s, 2, 0, 0, c, 2, co),
                 dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_ENUM);
    CHECK_STATUS(dnnl_tp_gemm_u8s8s32('N', 'N', 'F', 2, 2, 2, 1, u, 2, 0, s, 2, 0, 0, c, 2, NULL),
                 dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_NULL_ARG);
    CHECK_STATUS(dnnl_tp_gemm_s8s8s32('N', 'N', 'F', 2, 2, 2, 1, s, 1, 0, s, 2, 0, 0, c, 2, co),
                 dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_BAD_STRIDES);
    /* Nothing is written for an empty k. */
    memset(c, 7, sizeof c);
    CHECK_OK(dnnl_tp_gemm_s8s8s32('N', 'N', 'F', 2, 2, 0, 1, s, 1, 0, s, 2, 0, 0, c, 2, co));
    assert_int_equal(c[0], 0x07070707);
    const dnnl_tp_threadpool_iface_t broken = {0};
    CHECK_STATUS(dnnl_tp_sgemm_tp('N', 'N', 2, 2, 2, 1, x, 2, x, 2, 0, x, 2, &broken),
                 DNNL_TP_WITH_THREADPOOL ? dnnl_tp_invalid_arguments : dnnl_tp_unimplemented);
}

static void out_of_memory(void **state) {
    (void)state;
    rng = test_rng(3);
    float *a = floats(100 * 100), *c = floats(100 * 100), *old = floats(100 * 100);
    memcpy(old, c, sizeof(float) * 10000);
    static test_allocator_t allocator;
    test_allocator_init(&allocator);
    CHECK_OK(dnnl_tp_set_allocator(&allocator.iface));
    allocator.fail_at = 0;
    CHECK_STATUS(dnnl_tp_sgemm('T', 'T', 100, 100, 100, 1, a, 100, a, 100, 0, c, 100), dnnl_tp_out_of_memory);
    assert_memory_equal(c, old, sizeof(float) * 10000);
    CHECK_OK(dnnl_tp_sgemm('T', 'T', 100, 100, 100, 1, a, 100, a, 100, 0, c, 100));
    assert_int_equal(allocator.live, 0);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    free(a);
    free(c);
    free(old);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sgemm_values), cmocka_unit_test(int8_values),
                                       cmocka_unit_test(refusals), cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
