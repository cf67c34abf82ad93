/* Gathers and scatters against the definitions in this file: every axis, several types, positions from the end and outside,
 * positions that meet, no elements; the same on one thread and on three. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"
#include "support/upload.h"

enum { MOST = 200000 };
static int64_t x[MOST], ids[MOST], rows[MOST], want[MOST];
static union {
    int64_t s64[MOST];
    int32_t s32[MOST];
    double f64[MOST];
    uint8_t u8[8 * MOST];
} got;

static int64_t elems(const test_tensor_t *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndims; ++d) n *= t->dims[d];
    return n;
}

static void fill_ids(int64_t n, int64_t limit, uint64_t seed) {
    test_rng_t r = test_rng(seed);
    for (int64_t i = 0; i < n; ++i) ids[i] = (int64_t)(test_rand(&r) % (uint64_t)(2 * limit)) - limit;
}

static int64_t from_end(int64_t id, int64_t limit) { return id < 0 ? id + limit : id; }

static dnnl_tp_status_t run(dnnl_tp_op_kind_t kind, int key, int64_t value, const char *reduction, int nin,
                            const test_tensor_t *in, int threads) {
    const dnnl_tp_op_attr_t attr[] = {{key, dnnl_tp_op_attr_s64, 1, &value},
                                      {dnnl_tp_op_attr_reduction, dnnl_tp_op_attr_string,
                                       reduction ? (int)strlen(reduction) : 0, reduction}};
    const int first = key < 0;
    return test_one_op(kind, (key >= 0) + (reduction != NULL), attr + first, nin, in, &got, sizeof got,
                       threads);
}

static void test_take(void **state) {
    (void)state;
    const test_tensor_t a = {dnnl_tp_s64, 3, {7, 11, 13}, x};
    for (int axis = 0; axis < 3; ++axis)
        for (int threads = 1; threads <= 3; threads += 2) {
            const test_tensor_t i = {dnnl_tp_s64, 2, {5, 9}, ids}, in[] = {a, i};
            fill_ids(45, a.dims[axis], (uint64_t)axis);
            CHECK_OK(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, axis - 3, NULL, 2, in, threads));
            int64_t inner = 1, outer = 1, at = 0;
            for (int d = 0; d < 3; ++d)
                if (d != axis) *(d < axis ? &outer : &inner) *= a.dims[d];
            for (int64_t o = 0; o < outer; ++o)
                for (int k = 0; k < 45; ++k)
                    for (int64_t c = 0; c < inner; ++c)
                        want[at++] = x[(o * a.dims[axis] + from_end(ids[k], a.dims[axis])) * inner + c];
            assert_memory_equal(got.s64, want, sizeof *want * (size_t)at);
        }
}

/* Short rows by the same positions for all rows of the result, near each other and far apart, of sizes around vectors and
 * around what is told at once. */
static void test_short_rows(void **state) {
    (void)state;
    static const struct {
        dnnl_tp_data_type_t type;
        int64_t size;
    } types[] = {{dnnl_tp_f32, 4}, {dnnl_tp_s64, 8}, {dnnl_tp_u8, 1}, {dnnl_tp_f64, 8}};
    static const int64_t counts[] = {1, 7, 8, 9, 16, 17, 33, 341, 1023, 1025, 2050};
    static const int64_t widths[] = {1, 2, 3, 4, 5, 8, 12, 16, 17}, outers[] = {1, 3, 4, 7, 37};
    enum { REPEATED, EVERY_OTHER, FIFTH, MIRRORED, ANYWHERE, PATTERNS, BYTES = sizeof got.u8 };
    static uint8_t bytes[BYTES], expected[BYTES];
    test_rng_t r = test_rng(11);
    for (int i = 0; i < BYTES; ++i) bytes[i] = (uint8_t)test_rand(&r);
    int number = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w)
                for (size_t o = 0; o < sizeof outers / sizeof *outers; ++o, ++number) {
                    const int64_t n = counts[c], width = widths[w], outer = outers[o], size = types[t].size;
                    const int pattern = number % PATTERNS, threads = number % 3 ? 1 : number % 2 ? 3 : 7;
                    const int64_t every[] = {(n + 1) / 2, 2 * n - 1, 5 * n - 4, n, 1 + n % 300},
                                  all = every[pattern], row = width * size;
                    if (outer * row * (n > all ? n : all) > BYTES) continue;
                    const bool is_slow = test_engine_kind() == dnnl_tp_gpu; /* an interpreter */
                    if (is_slow && (number % 7 || outer * row * n > MOST / 8)) continue;
                    const bool wide = number % 4 != 1;
                    static int32_t narrow[MOST];
                    for (int64_t i = 0; i < n; ++i) {
                        const int64_t at[] = {i / 2, 2 * i, 5 * i, n - 1 - i,
                                              (int64_t)(test_rand(&r) % (uint64_t)all)};
                        ids[i] = at[pattern] - (i % 3 == 1 ? all : 0);
                        narrow[i] = (int32_t)ids[i];
                    }
                    const test_tensor_t in[] = {
                        {types[t].type, 3, {outer, all, width}, bytes},
                        {wide ? dnnl_tp_s64 : dnnl_tp_s32, 1, {n}, wide ? (void *)ids : (void *)narrow}};
                    for (int64_t k = 0; k < outer; ++k)
                        for (int64_t i = 0; i < n; ++i)
                            memcpy(expected + (k * n + i) * row,
                                   bytes + (k * all + from_end(ids[i], all)) * row, (size_t)row);
                    CHECK_OK(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, 1, NULL, 2, in, threads));
                    assert_memory_equal(got.u8, expected, (size_t)(outer * n * row));
                    /* A position outside is found wherever it is. */
                    const int64_t wrong = number % n;
                    ids[wrong] = narrow[wrong] = (int32_t)(number % 2 ? all : -all - 1);
                    CHECK_STATUS(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, 1, NULL, 2, in, threads),
                                 dnnl_tp_runtime_error);
                }
}

/* Positions of elements: {A, B, C}, each dimension but the axis shorter than the data's. */
static void test_elements(void **state) {
    (void)state;
    const test_tensor_t a = {dnnl_tp_s64, 3, {6, 70, 8}, x};
    for (int axis = 0; axis < 3; ++axis)
        for (int threads = 1; threads <= 3; threads += 2) {
            test_tensor_t i = {dnnl_tp_s64, 3, {5, 66, 7}, ids}, r = {dnnl_tp_s64, 3, {5, 66, 7}, rows};
            i.dims[axis] = r.dims[axis] = 90; /* the axis may be longer */
            const test_tensor_t in[] = {a, i, r};
            const int64_t n = elems(&i), all = elems(&a);
            fill_ids(n, a.dims[axis], (uint64_t)axis);
            for (int scatter = 0; scatter < 3; ++scatter) {
                if (scatter) memcpy(want, x, sizeof *x * (size_t)all);
                for (int64_t k = 0; k < n; ++k) {
                    int64_t at[3] = {k / i.dims[2] / i.dims[1], k / i.dims[2] % i.dims[1], k % i.dims[2]};
                    at[axis] = from_end(ids[k], a.dims[axis]);
                    const int64_t place = (at[0] * a.dims[1] + at[1]) * a.dims[2] + at[2];
                    if (!scatter) want[k] = x[place];
                    else if (scatter == 1) want[place] = rows[k];
                    else want[place] = (int64_t)((uint64_t)want[place] * (uint64_t)rows[k]);
                }
                CHECK_OK(run(scatter ? dnnl_tp_op_scatter_elements : dnnl_tp_op_gather_elements,
                             dnnl_tp_op_attr_axis, axis, scatter ? (scatter == 1 ? "none" : "mul") : NULL,
                             scatter ? 3 : 2, in, threads));
                assert_memory_equal(got.s64, want, sizeof *want * (size_t)(scatter ? all : n));
            }
        }
}

static void test_coordinates(void **state) {
    (void)state;
    enum { B = 4, N = 50, P = 6, Q = 5, R = 3 };
    const test_tensor_t a = {dnnl_tp_s64, 4, {B, P, Q, R}, x}, i = {dnnl_tp_s64, 3, {B, N, 2}, ids};
    fill_ids(B * N * 2, Q, 4);
    for (int threads = 1; threads <= 3; threads += 2) {
        const test_tensor_t in[] = {a, i};
        CHECK_OK(run(dnnl_tp_op_gather_nd, dnnl_tp_op_attr_batch_dims, 1, NULL, 2, in, threads));
        for (int k = 0; k < B * N; ++k) {
            const int64_t p = from_end(ids[2 * k], P), q = from_end(ids[2 * k + 1], Q);
            for (int c = 0; c < R; ++c) want[k * R + c] = x[((k / N * P + p) * Q + q) * R + c];
        }
        assert_memory_equal(got.s64, want, sizeof *want * B * N * R);
    }
    /* Sums of rows that meet: by the definition, whatever the number of threads. */
    static double d[P * Q * R], u[N * R], sum[P * Q * R];
    for (int k = 0; k < P * Q * R; ++k) sum[k] = d[k] = 1. / (1 + k);
    for (int k = 0; k < N * R; ++k) u[k] = 1. / (3 + k);
    for (int k = 0; k < N; ++k) {
        const int64_t p = from_end(ids[2 * k], P), q = from_end(ids[2 * k + 1], Q);
        for (int c = 0; c < R; ++c) sum[(p * Q + q) * R + c] += u[k * R + c];
    }
    const test_tensor_t in[] = {
        {dnnl_tp_f64, 3, {P, Q, R}, d}, {dnnl_tp_s64, 2, {N, 2}, ids}, {dnnl_tp_f64, 2, {N, R}, u}};
    for (int threads = 1; threads <= 3; threads += 2) {
        CHECK_OK(run(dnnl_tp_op_scatter_nd, -1, 0, "add", 3, in, threads));
        assert_memory_equal(got.f64, sum, sizeof sum);
    }
    const test_tensor_t small[] = {{dnnl_tp_u8, 1, {4}, (const uint8_t[]){9, 1, 7, 200}},
                                   {dnnl_tp_s32, 2, {3, 1}, (const int32_t[]){-1, 1, -1}},
                                   {dnnl_tp_u8, 1, {3}, (const uint8_t[]){100, 3, 250}}};
    CHECK_OK(run(dnnl_tp_op_scatter_nd, -1, 0, "max", 3, small, 1));
    assert_memory_equal(got.u8, ((const uint8_t[]){9, 3, 7, 250}), 4);
    CHECK_OK(run(dnnl_tp_op_scatter_nd, -1, 0, "min", 3, small, 1));
    assert_memory_equal(got.u8, ((const uint8_t[]){9, 1, 7, 100}), 4);
    /* NaN is larger and smaller than all numbers, on either side. */
    enum { NANS = 4 };
    const double from[NANS] = {NAN, 1, 2, 3}, with[NANS] = {5, NAN, 7, NAN};
    const int32_t places[NANS] = {0, 1, 2, 3};
    const test_tensor_t nans[] = {
        {dnnl_tp_f64, 1, {NANS}, from}, {dnnl_tp_s32, 2, {NANS, 1}, places}, {dnnl_tp_f64, 1, {NANS}, with}};
    for (int least = 0; least < 2; ++least) {
        CHECK_OK(run(dnnl_tp_op_scatter_nd, -1, 0, least ? "min" : "max", 3, nans, 1));
        assert_true(isnan(got.f64[0]) && isnan(got.f64[1]) && isnan(got.f64[3]));
        assert_true(got.f64[2] == (least ? 2 : 7));
    }
    CHECK_OK(run(dnnl_tp_op_scatter_nd, -1, 0, NULL, 3, small, 1));
    assert_memory_equal(got.u8, ((const uint8_t[]){9, 3, 7, 250}), 4);
}

/* Weighted sums against sums in double, of rows around vectors; what has no weight may be anything; positions outside fail. */
static void test_sums(void **state) {
    (void)state;
    enum { B = 2, P = 50, N = 7, Q = 5, EACH = N * Q, WIDEST = 150, MOST_TAPS = 9 };
    static const int64_t widths[] = {1, 3, 8, 16, 17, 64, 70, 150}, taps[] = {0, 1, 4, MOST_TAPS};
    static float data[B * P * WIDEST], weights[MOST_TAPS * B * EACH], out[B * EACH * WIDEST];
    static int32_t narrow[MOST_TAPS * B * EACH];
    test_rng_t r = test_rng(7);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; ++t)
            for (int threads = 1; threads <= 3; threads += 2) {
                const int64_t c = widths[w], n = taps[t], all = n * B * EACH;
                for (int64_t i = 0; i < B * P * c; ++i) data[i] = test_uniform(&r, -1.f, 1.f);
                for (int64_t i = 0; i < c; ++i) data[i] = NAN; /* row 0 */
                fill_ids(all, P, (uint64_t)(w + t));
                for (int64_t i = 0; i < all; ++i) {
                    const bool is_first = i % (B * EACH) < EACH && (ids[i] == 0 || ids[i] == -P);
                    weights[i] = is_first || i % 5 == 0 ? 0.f : test_uniform(&r, -1.f, 1.f);
                    narrow[i] = (int32_t)ids[i];
                }
                const test_tensor_t in[] = {{dnnl_tp_f32, 3, {B, P, c}, data},
                                            {w % 2 ? dnnl_tp_s32 : dnnl_tp_s64,
                                             4,
                                             {n, B, N, Q},
                                             w % 2 ? (const void *)narrow : (const void *)ids},
                                            {dnnl_tp_f32, 4, {n, B, N, Q}, weights}};
                CHECK_OK(test_one_op(dnnl_tp_op_gather_sum, 0, NULL, 3, in, out, sizeof out, threads));
                for (int64_t i = 0; i < B * EACH * c; ++i) {
                    double sum = 0;
                    for (int64_t k = 0; k < n; ++k) {
                        const int64_t at = k * B * EACH + i / c;
                        const float x = data[(i / c / EACH * P + from_end(ids[at], P)) * c + i % c];
                        if (weights[at] != 0) sum += (double)weights[at] * (double)x;
                    }
                    assert_true(fabs((double)out[i] - sum) <= 1e-5);
                }
                if (n == 0) continue;
                ids[all - 1] = narrow[all - 1] = P;
                CHECK_STATUS(test_one_op(dnnl_tp_op_gather_sum, 0, NULL, 3, in, out, sizeof out, threads),
                             dnnl_tp_runtime_error);
            }
}

/* Positions outside fail the run, by name, on the CPU before anything is written; without elements there are none. */
static void test_outside(void **state) {
    (void)state;
    for (int bad = 0; bad < 2; ++bad) {
        const int32_t at[] = {0, bad ? 3 : -4};
        const test_tensor_t in[] = {
            {dnnl_tp_s64, 1, {3}, x}, {dnnl_tp_s32, 1, {2}, at}, {dnnl_tp_s64, 1, {2}, rows}};
        CHECK_STATUS(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, 0, NULL, 2, in, 1), dnnl_tp_runtime_error);
        assert_non_null(strstr(dnnl_tp_last_error(), bad ? "id 3" : "id -4"));
        CHECK_STATUS(run(dnnl_tp_op_scatter_elements, dnnl_tp_op_attr_axis, 0, NULL, 3, in, 1),
                     dnnl_tp_runtime_error);
        for (int i = 0; i < 3 * 8 && test_engine_kind() == dnnl_tp_cpu; ++i)
            assert_int_equal(got.u8[i], 0x5a);
    }
    /* More than 32 bits hold; of several the first one is named. */
    enum { MANY = 600, FIRST = 300, SECOND = 599 };
    const int64_t wide = (INT64_C(1) << 32) + 1;
    const test_tensor_t far[] = {{dnnl_tp_s64, 1, {3}, x}, {dnnl_tp_s64, 1, {1}, &wide}},
                        many[] = {{dnnl_tp_s64, 1, {3}, x}, {dnnl_tp_s64, 1, {MANY}, ids}};
    CHECK_STATUS(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, 0, NULL, 2, far, 1), dnnl_tp_runtime_error);
    fill_ids(MANY, 3, 1);
    ids[FIRST] = 77;
    ids[SECOND] = 99;
    for (int threads = 1; threads <= 3; threads += 2) {
        CHECK_STATUS(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, 0, NULL, 2, many, threads),
                     dnnl_tp_runtime_error);
        assert_non_null(strstr(dnnl_tp_last_error(), "id 77"));
    }
    const test_tensor_t none[] = {{dnnl_tp_s64, 2, {0, 5}, x}, {dnnl_tp_s64, 1, {0}, ids}};
    CHECK_OK(run(dnnl_tp_op_take, dnnl_tp_op_attr_axis, 0, NULL, 2, none, 1));
    const test_tensor_t part[] = {
        {dnnl_tp_s64, 2, {3, 5}, x}, {dnnl_tp_s64, 2, {0, 5}, ids}, {dnnl_tp_s64, 2, {0, 5}, rows}};
    CHECK_OK(run(dnnl_tp_op_scatter_elements, dnnl_tp_op_attr_axis, 0, NULL, 3, part, 1));
    assert_memory_equal(got.s64, x, 15 * sizeof *x);
}

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t a, f, i, y;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &a, "a", dnnl_tp_f32, 2, (const dnnl_tp_dims_t){4, 5}));
    CHECK_OK(dnnl_tp_graph_input(g, &f, "f", dnnl_tp_f32, 2, (const dnnl_tp_dims_t){4, 5}));
    CHECK_OK(dnnl_tp_graph_input(g, &i, "i", dnnl_tp_s64, 2, (const dnnl_tp_dims_t){4, 6}));
    const dnnl_tp_value_t floats[] = {a, f}, wide[] = {a, i}, all[] = {a, i, f};
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_take, "", 2, floats, 0, NULL, 1, &y),
                 dnnl_tp_invalid_data_type);
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_gather_elements, "", 2, wide, 0, NULL, 1, &y),
                 dnnl_tp_invalid_shape);
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_gather_nd, "", 2, wide, 0, NULL, 1, &y),
                 dnnl_tp_invalid_shape);
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_scatter_nd, "", 3, all, 0, NULL, 1, &y),
                 dnnl_tp_invalid_shape);
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

static int setup(void **state) {
    (void)state;
    test_rng_t r = test_rng(7);
    for (int i = 0; i < MOST; ++i) {
        x[i] = (int64_t)test_rand(&r);
        rows[i] = (int64_t)test_rand(&r);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),     cmocka_unit_test(test_short_rows),  cmocka_unit_test(test_sums),
        cmocka_unit_test(test_elements), cmocka_unit_test(test_coordinates), cmocka_unit_test(test_outside),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
