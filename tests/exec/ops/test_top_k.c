/* top_k: positions against a sort in this file, every type, ties and what is no number, on one thread and on three. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"
#include "support/upload.h"

enum { MOST = 100000 };
static union {
    float f32[MOST];
    double f64[MOST];
    int64_t s64[MOST];
    int32_t s32[MOST];
    int8_t s8[MOST];
    uint8_t u8[MOST];
} x;
static int64_t got[MOST];
static bool smallest, last, nan_worst;
static const double *line; /* elements of a line, and how far they are apart */

/* Small numbers, so that many are equal; all types hold them, u8 those from 0 on. */
static void fill(dnnl_tp_data_type_t type, int n, double *values) {
    test_rng_t r = test_rng((uint64_t)type);
    for (int i = 0; i < n; ++i) {
        const int v = (int)(test_rand(&r) % 23) - (type == dnnl_tp_u8 ? 0 : 11);
        values[i] = v;
        switch (type) {
        case dnnl_tp_f32: x.f32[i] = (float)(values[i] = test_rand(&r) % 29 ? v : (double)NAN); break;
        case dnnl_tp_f64: x.f64[i] = values[i] = test_rand(&r) % 29 ? v : (double)NAN; break;
        case dnnl_tp_s64: x.s64[i] = v; break;
        case dnnl_tp_s32: x.s32[i] = v; break;
        case dnnl_tp_s8: x.s8[i] = (int8_t)v; break;
        default: x.u8[i] = (uint8_t)v; break;
        }
    }
}

static int by_rank(const void *a, const void *b) {
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const double p = line[i], q = line[j];
    if (isnan(p) != isnan(q)) return !isnan(p) == nan_worst ? -1 : 1;
    if (!isnan(p) && p != q) return (p < q) == smallest ? -1 : 1;
    return (i < j) != last ? -1 : 1;
}

/* The k best of the lines along the middle of three dimensions, in the order that the flags above ask for. */
static void check_lines(dnnl_tp_data_type_t type, const int64_t *dims, int64_t k, const double *values,
                        int threads) {
    static double copy[MOST];
    static int64_t rank[MOST];
    const int64_t n = dims[1], axis = k % 2 ? 1 : -2;
    const uint8_t small = smallest, late = last, worst = nan_worst;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                      {dnnl_tp_op_attr_k, dnnl_tp_op_attr_s64, 1, &k},
                                      {dnnl_tp_op_attr_smallest, dnnl_tp_op_attr_bool, 1, &small},
                                      {dnnl_tp_op_attr_last, dnnl_tp_op_attr_bool, 1, &late},
                                      {dnnl_tp_op_attr_nan_worst, dnnl_tp_op_attr_bool, 1, &worst}};
    const test_tensor_t in = {type, 3, {dims[0], n, dims[2]}, &x};
    CHECK_OK(test_one_op(dnnl_tp_op_top_k, 5, attr, 1, &in, got, sizeof got, threads));
    for (int64_t o = 0; o < dims[0]; ++o)
        for (int64_t c = 0; c < dims[2]; ++c) {
            for (int64_t i = 0; i < n; ++i) {
                copy[i] = values[(o * n + i) * dims[2] + c];
                rank[i] = i;
            }
            line = copy;
            qsort(rank, (size_t)n, sizeof *rank, by_rank);
            for (int64_t i = 0; i < k; ++i) assert_int_equal(got[(o * k + i) * dims[2] + c], rank[i]);
        }
}

static void test_all(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_f64, dnnl_tp_s64,
                                                dnnl_tp_s32, dnnl_tp_s8,  dnnl_tp_u8};
    static const int64_t shapes[][3] = {{3, 50, 1}, {2, 17, 130}, {1, 1, 5}, {5, 64, 3}},
                         ks[] = {1, 2, 7, 50, 64};
    static double values[MOST];
    const bool is_slow = test_engine_kind() == dnnl_tp_gpu; /* an interpreter */
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
            for (size_t w = 0; w < 8 * sizeof ks / sizeof *ks; ++w) {
                const int64_t *dims = shapes[s], n = dims[1], k = ks[w / 8];
                if (k > n || (is_slow && (w + t + s) % 3)) continue;
                smallest = w & 1;
                last = w & 2;
                nan_worst = w & 4;
                fill(types[t], (int)(dims[0] * n * dims[2]), values);
                check_lines(types[t], dims, k, values, w % 3 ? 1 : 3);
            }
}

/* Long lines: numbers all over the range, equal ones, rising and falling ones, both zeros, infinities, NaN; around the number
 * up to which the best are kept in order, and so many that they are sifted more than once. */
static void test_long_lines(void **state) {
    (void)state;
    enum { RANDOM, EQUAL, RISING, FALLING, FEW, NOT_NUMBERS, FILLINGS, LENGTH = 9000 };
    static const int64_t shapes[][3] = {{2, LENGTH, 1}, {1, 2100, 9}, {1, 1025, 17}, {3, 1030, 1}},
                         ks[] = {1, 5, 16, 17, 300, 1020, 1025, 2100};
    static const float few[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, -NAN, 1e-45f, -1e-45f};
    static double values[MOST];
    int number = 0;
    for (int filling = 0; filling < FILLINGS; ++filling)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
            for (size_t w = 0; w < sizeof ks / sizeof *ks; ++w, ++number) {
                const int64_t *dims = shapes[s], n = dims[1], k = ks[w];
                if (k > n) continue;
                /* By an interpreter: what reads few elements. */
                const int64_t lines = dims[0] * dims[2], work = lines * n * (16 * k > n ? n : k);
                if (test_engine_kind() == dnnl_tp_gpu && (work > 1100000 || number % 2)) continue;
                smallest = number & 1;
                last = number >> 1 & 1;
                nan_worst = number % 3 == 0;
                test_rng_t r = test_rng((uint64_t)number);
                for (int64_t i = 0; i < dims[0] * n * dims[2]; ++i) {
                    const uint32_t bits = (uint32_t)test_rand(&r);
                    float any;
                    memcpy(&any, &bits, sizeof any);
                    const float of[] = {any, 1.5f, (float)i, -(float)i, few[bits % 8], NAN};
                    values[i] = (double)(x.f32[i] = of[filling]);
                }
                check_lines(dnnl_tp_f32, dims, k, values, number % 2 ? 1 : 3);
            }
}

/* Both zeros are equal, and so are all NaN; infinities are ordinary. */
static void test_few_numbers(void **state) {
    (void)state;
    enum { N = 9 };
    static const float few[N] = {-0.f, 0.f, -0.f, INFINITY, -INFINITY, -NAN, NAN, 1e-45f, -1e-45f};
    static const int64_t dims[] = {1, N, 1}, ks[] = {1, 3, N};
    double values[N];
    for (int i = 0; i < N; ++i) values[i] = (double)(x.f32[i] = few[i]);
    for (int w = 0; w < 3 * 8; ++w) {
        smallest = w & 1;
        last = w & 2;
        nan_worst = w & 4;
        check_lines(dnnl_tp_f32, dims, ks[w / 8], values, 1);
    }
}

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t a, y;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &a, "a", dnnl_tp_f32, 2, (const dnnl_tp_dims_t){4, 5}));
    const int64_t axis = 1, many = 6, minus = -1;
    dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                {dnnl_tp_op_attr_k, dnnl_tp_op_attr_s64, 1, &many}};
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_top_k, "", 1, &a, 2, attr, 1, &y), dnnl_tp_invalid_shape);
    attr[1].data = &minus;
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_top_k, "", 1, &a, 2, attr, 1, &y), dnnl_tp_invalid_graph_op);
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_long_lines),
                                       cmocka_unit_test(test_few_numbers), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
