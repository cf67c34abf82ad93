/* Reductions of f64 and of integers, exact: every set of axes against sums in this file, sizes around the blocks of
 * columns, on one thread and on three; wrapping, nothing to reduce, what is no number. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"
#include "support/upload.h"

enum { A = 3, B = 70, C = 5, N = A * B * C };
static int64_t s64[N];
static double f64[N];

static dnnl_tp_status_t run(dnnl_tp_op_kind_t kind, int naxes, const int64_t *axes, const test_tensor_t *in,
                            void *out, size_t bytes, int threads) {
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axes, dnnl_tp_op_attr_s64, naxes, axes};
    return test_one_op(kind, 1, &attr, 1, in, out, bytes, threads);
}

/* f64 and roots of integers are the CPU's alone. */
static bool is_served(dnnl_tp_status_t status) {
    if (status == dnnl_tp_unimplemented && test_engine_kind() != dnnl_tp_cpu) return false;
    CHECK_OK(status);
    return true;
}

static void test_axes(void **state) {
    (void)state;
    static int64_t got[N], want[N];
    static double got_f[N], want_f[N];
    const test_tensor_t x = {dnnl_tp_s64, 3, {A, B, C}, s64}, y = {dnnl_tp_f64, 3, {A, B, C}, f64};
    for (unsigned mask = 1; mask < 8; ++mask)
        for (int threads = 1; threads <= 3; threads += 2) {
            int64_t axes[3];
            int n = 0, results = 1;
            for (int d = 0; d < 3; ++d) {
                if (mask >> d & 1) axes[n++] = d;
                else results *= (int[]){A, B, C}[d];
            }
            for (int what = 0; what < 2; ++what) {
                for (int i = 0; i < results; ++i) {
                    want[i] = what ? INT64_MIN : 0;
                    want_f[i] = what ? 1 : 0;
                }
                for (int i = 0; i < N; ++i) {
                    const int at[] = {i / (B * C), i / C % B, i % C}, sizes[] = {A, B, C};
                    int to = 0;
                    for (int d = 0; d < 3; ++d)
                        if (!(mask >> d & 1)) to = to * sizes[d] + at[d];
                    if (what) want[to] = s64[i] > want[to] ? s64[i] : want[to], want_f[to] *= f64[i];
                    else want[to] = (int64_t)((uint64_t)want[to] + (uint64_t)s64[i]), want_f[to] += f64[i];
                }
                CHECK_OK(run(what ? dnnl_tp_op_reduce_max : dnnl_tp_op_reduce_sum, n, axes, &x, got,
                             sizeof got, threads));
                assert_memory_equal(got, want, sizeof *got * (size_t)results);
                if (is_served(run(what ? dnnl_tp_op_reduce_prod : dnnl_tp_op_reduce_sum, n, axes, &y, got_f,
                                  sizeof got_f, threads)))
                    assert_memory_equal(got_f, want_f, sizeof *got_f * (size_t)results);
            }
        }
}

static void one(dnnl_tp_op_kind_t kind, dnnl_tp_data_type_t type, int64_t n, const void *data,
                const void *want, size_t size) {
    uint8_t got[64];
    const int64_t axis = 0;
    const test_tensor_t in = {type, 1, {n}, data};
    if (is_served(run(kind, 1, &axis, &in, got, sizeof got, 1))) assert_memory_equal(got, want, size);
}

static void test_types(void **state) {
    (void)state;
    const int32_t wide[] = {INT32_MAX, 1, 7};
    one(dnnl_tp_op_reduce_sum, dnnl_tp_s32, 2, wide, &(int32_t){INT32_MIN}, 4);
    one(dnnl_tp_op_reduce_mean, dnnl_tp_s32, 3, wide, &(int32_t){715827885}, 4);
    one(dnnl_tp_op_reduce_l1, dnnl_tp_s32, 3, (const int32_t[]){-3, 4, -5}, &(int32_t){12}, 4);
    one(dnnl_tp_op_reduce_l2, dnnl_tp_s32, 2, (const int32_t[]){-3, 4}, &(int32_t){5}, 4);
    one(dnnl_tp_op_reduce_min, dnnl_tp_s8, 3, (const int8_t[]){5, -128, 0}, &(int8_t){-128}, 1);
    one(dnnl_tp_op_reduce_max, dnnl_tp_u8, 3, (const uint8_t[]){5, 255, 0}, &(uint8_t){255}, 1);
    one(dnnl_tp_op_reduce_max, dnnl_tp_boolean, 3, (const uint8_t[]){0, 7, 0}, &(uint8_t){1}, 1);
    one(dnnl_tp_op_reduce_min, dnnl_tp_boolean, 3, (const uint8_t[]){1, 7, 0}, &(uint8_t){0}, 1);
    one(dnnl_tp_op_reduce_max, dnnl_tp_s64, 0, wide, &(int64_t){INT64_MIN}, 8);
    one(dnnl_tp_op_reduce_min, dnnl_tp_f64, 0, wide, &(double){INFINITY}, 8);
    double got = NAN;
    const int64_t axis = 0;
    const test_tensor_t in = {dnnl_tp_f64, 1, {3}, (const double[]){1, NAN, 2}};
    if (is_served(run(dnnl_tp_op_reduce_max, 1, &axis, &in, &got, sizeof got, 1))) assert_true(isnan(got));
}

static int setup(void **state) {
    (void)state;
    test_rng_t r = test_rng(3);
    for (int i = 0; i < N; ++i) {
        s64[i] = (int64_t)test_rand(&r); /* large: sums wrap */
        f64[i] = .5 + (double)(test_rand(&r) % 1000) / 1000;
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_axes), cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
