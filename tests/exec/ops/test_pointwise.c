/* Comparisons, selections, functions of integers, trigonometry, changes of types: by hand, broadcast, over views, of sizes
 * around what one thread takes, on one thread and on several. Engines may lack f64. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"
#include "support/upload.h"

/* False: it has to do with f64, which the engine lacks. */
static bool run(dnnl_tp_op_kind_t kind, int nattr, const dnnl_tp_op_attr_t *attr, int nin,
                const test_tensor_t *in, void *out, size_t bytes, int threads) {
    const dnnl_tp_status_t status = test_one_op(kind, nattr, attr, nin, in, out, bytes, threads);
    const bool has_f64 = in[nin - 1].type == dnnl_tp_f64 || (nattr && !strcmp(attr->data, "f64"));
    if (status == dnnl_tp_unimplemented && has_f64 && test_engine_kind() != dnnl_tp_cpu) return false;
    CHECK_OK(status);
    return true;
}

static test_tensor_t list(dnnl_tp_data_type_t type, int64_t n, const void *data) {
    return (test_tensor_t){type, 1, {n}, data};
}

static void binary(dnnl_tp_op_kind_t kind, dnnl_tp_data_type_t type, int64_t n, const void *x, const void *y,
                   const void *want, size_t size) {
    const test_tensor_t in[] = {list(type, n, x), list(type, n, y)};
    uint8_t got[256];
    if (run(kind, 0, NULL, 2, in, got, sizeof got, 1)) assert_memory_equal(got, want, (size_t)n * size);
}

static void test_comparisons(void **state) {
    (void)state;
    const float x[] = {1, 2, NAN, -0.f, INFINITY, 3}, y[] = {1, 3, NAN, 0, INFINITY, 2};
    const uint8_t eq[] = {1, 0, 0, 1, 1, 0}, lt[] = {0, 1, 0, 0, 0, 0}, le[] = {1, 1, 0, 1, 1, 0};
    const uint8_t gt[] = {0, 0, 0, 0, 0, 1}, ge[] = {1, 0, 0, 1, 1, 1};
    binary(dnnl_tp_op_equal, dnnl_tp_f32, 6, x, y, eq, 1);
    binary(dnnl_tp_op_less, dnnl_tp_f32, 6, x, y, lt, 1);
    binary(dnnl_tp_op_less_equal, dnnl_tp_f32, 6, x, y, le, 1);
    binary(dnnl_tp_op_greater, dnnl_tp_f32, 6, x, y, gt, 1);
    binary(dnnl_tp_op_greater_equal, dnnl_tp_f32, 6, x, y, ge, 1);
    const int64_t a[] = {INT64_MAX, (1ll << 53) + 1, -1}, b[] = {INT64_MAX - 1, 1ll << 53, -1};
    binary(dnnl_tp_op_equal, dnnl_tp_s64, 3, a, b, (const uint8_t[]){0, 0, 1}, 1);
    const uint8_t t[] = {7, 0, 1, 0}, f[] = {1, 0, 0, 255}; /* any byte but 0 is true */
    binary(dnnl_tp_op_equal, dnnl_tp_boolean, 4, t, f, (const uint8_t[]){1, 1, 0, 0}, 1);
    binary(dnnl_tp_op_less, dnnl_tp_u8, 4, t, f, (const uint8_t[]){0, 0, 0, 1}, 1);
}

static void test_integers(void **state) {
    (void)state;
    const int32_t x[] = {7, -7, 7, -7, INT32_MIN, 5}, y[] = {3, 3, -3, -3, -1, 0};
    binary(dnnl_tp_op_modulo, dnnl_tp_s32, 6, x, y, (const int32_t[]){1, 2, -2, -1, 0, 0}, 4);
    binary(dnnl_tp_op_remainder, dnnl_tp_s32, 6, x, y, (const int32_t[]){1, -1, 1, -1, 0, 0}, 4);
    const int64_t base[] = {3, -2, 10, 0, -1, 2}, power[] = {39, 63, 18, 0, -3, -1};
    binary(dnnl_tp_op_power, dnnl_tp_s64, 6, base, power,
           (const int64_t[]){4052555153018976267ll, INT64_MIN, 1000000000000000000ll, 1, -1, 0}, 8);
    binary(dnnl_tp_op_power, dnnl_tp_s32, 6, (const int32_t[]){3, -2, 10, -1, 2, 0},
           (const int32_t[]){19, 31, 9, -3, -1, 0},
           (const int32_t[]){1162261467, INT32_MIN, 1000000000, -1, 0, 1}, 4);
    binary(dnnl_tp_op_power, dnnl_tp_s8, 3, (const int8_t[]){-2, -1, 3}, (const int8_t[]){7, -1, -2},
           (const int8_t[]){-128, -1, 0}, 1);
    binary(dnnl_tp_op_power, dnnl_tp_u8, 3, (const uint8_t[]){3, 2, 255}, (const uint8_t[]){5, 8, 255},
           (const uint8_t[]){243, 0, 255}, 1);
    binary(dnnl_tp_op_modulo, dnnl_tp_s8, 4, (const int8_t[]){-128, -128, 5, -5},
           (const int8_t[]){-1, 3, 0, -128}, (const int8_t[]){0, 1, 0, -5}, 1);
    binary(dnnl_tp_op_modulo, dnnl_tp_u8, 3, (const uint8_t[]){7, 200, 255}, (const uint8_t[]){0, 3, 255},
           (const uint8_t[]){0, 2, 0}, 1);
    binary(dnnl_tp_op_remainder, dnnl_tp_s64, 3, (const int64_t[]){INT64_MIN, INT64_MIN, 1ll << 40},
           (const int64_t[]){-1, 10, -3}, (const int64_t[]){0, -8, 1}, 8);
    const uint8_t u[] = {255, 1, 128, 200}, by[] = {1, 7, 8, 3};
    binary(dnnl_tp_op_shift_left, dnnl_tp_u8, 4, u, by, (const uint8_t[]){254, 128, 0, 64}, 1);
    binary(dnnl_tp_op_shift_right, dnnl_tp_u8, 4, u, by, (const uint8_t[]){127, 0, 0, 25}, 1);
    const int8_t s[] = {-128, -1, 77, -5}, bits[] = {2, 100, 3, -1};
    binary(dnnl_tp_op_shift_right, dnnl_tp_s8, 4, s, bits, (const int8_t[]){-32, -1, 9, -1}, 1);
    binary(dnnl_tp_op_bit_and, dnnl_tp_u8, 4, u, by, (const uint8_t[]){1, 1, 0, 0}, 1);
    binary(dnnl_tp_op_bit_or, dnnl_tp_u8, 4, u, by, (const uint8_t[]){255, 7, 136, 203}, 1);
    binary(dnnl_tp_op_bit_xor, dnnl_tp_u8, 4, u, by, (const uint8_t[]){254, 6, 136, 203}, 1);
    const double p[] = {-7.5, 7.5, 4, 1}, q[] = {2, -2, -2, -INFINITY};
    binary(dnnl_tp_op_modulo, dnnl_tp_f64, 4, p, q, (const double[]){.5, -.5, -0., -INFINITY}, 8);
    binary(dnnl_tp_op_remainder, dnnl_tp_f64, 2, p, q, (const double[]){-1.5, 1.5}, 8);
}

static void cast(dnnl_tp_data_type_t from, int64_t n, const void *x, const char *to, const void *want,
                 size_t size) {
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, (int)strlen(to), to};
    const test_tensor_t in = list(from, n, x);
    uint8_t got[256];
    if (run(dnnl_tp_op_type_cast, 1, &attr, 1, &in, got, sizeof got, 1))
        assert_memory_equal(got, want, (size_t)n * size);
}

static void test_types(void **state) {
    (void)state;
    const float x[] = {1.9f, -1.9f, 300.f, -300.f, NAN, 3e9f, -INFINITY};
    cast(dnnl_tp_f32, 7, x, "s32", (const int32_t[]){1, -1, 300, -300, 0, INT32_MAX, INT32_MIN}, 4);
    cast(dnnl_tp_f32, 7, x, "u8", (const uint8_t[]){1, 0, 255, 0, 0, 255, 0}, 1);
    cast(dnnl_tp_f32, 7, x, "s8", (const int8_t[]){1, -1, 127, -128, 0, 127, -128}, 1);
    cast(dnnl_tp_f32, 7, x, "s64", (const int64_t[]){1, -1, 300, -300, 0, 3000000000, INT64_MIN}, 8);
    cast(dnnl_tp_f32, 7, x, "boolean", (const uint8_t[]){1, 1, 1, 1, 1, 1, 1}, 1);
    const int64_t i[] = {(1ll << 53) + 1, -1, 256, 0};
    cast(dnnl_tp_s64, 4, i, "f64", (const double[]){0x1p53, -1, 256, 0}, 8);
    cast(dnnl_tp_s64, 4, i, "s32", (const int32_t[]){1, -1, 256, 0}, 4);
    cast(dnnl_tp_s64, 4, i, "u8", (const uint8_t[]){1, 255, 0, 0}, 1);
    cast(dnnl_tp_s64, 4, i, "boolean", (const uint8_t[]){1, 1, 1, 0}, 1);
    cast(dnnl_tp_boolean, 3, (const uint8_t[]){0, 1, 9}, "f32", (const float[]){0, 1, 1}, 4);
    cast(dnnl_tp_f64, 2, (const double[]){.1, -1e300}, "f32", (const float[]){.1f, -INFINITY}, 4);
}

typedef double function_t(double x);
static void test_functions(void **state) {
    (void)state;
    static const struct {
        dnnl_tp_op_kind_t kind;
        function_t *f;
        double from, to;
    } rows[] = {
        {dnnl_tp_op_floor, floor, -9, 9},  {dnnl_tp_op_ceil, ceil, -9, 9},   {dnnl_tp_op_sin, sin, -9, 9},
        {dnnl_tp_op_cos, cos, -9, 9},      {dnnl_tp_op_tan, tan, -1, 1},     {dnnl_tp_op_asin, asin, -1, 1},
        {dnnl_tp_op_acos, acos, -1, 1},    {dnnl_tp_op_atan, atan, -9, 9},   {dnnl_tp_op_sinh, sinh, -9, 9},
        {dnnl_tp_op_cosh, cosh, -9, 9},    {dnnl_tp_op_asinh, asinh, -9, 9}, {dnnl_tp_op_acosh, acosh, 1, 9},
        {dnnl_tp_op_atanh, atanh, -.9, .9}};
    enum { N = 10007 };
    static float x[N], y[N];
    static double xd[N], yd[N];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
        for (int i = 0; i < N; ++i) {
            xd[i] = rows[r].from + (rows[r].to - rows[r].from) * i / (N - 1);
            x[i] = (float)xd[i];
        }
        const test_tensor_t in = list(dnnl_tp_f32, N, x), wide = list(dnnl_tp_f64, N, xd);
        run(rows[r].kind, 0, NULL, 1, &in, y, sizeof y, 3);
        const bool has_f64 = run(rows[r].kind, 0, NULL, 1, &wide, yd, sizeof yd, 3);
        for (int i = 0; i < N; ++i) {
            const double want = rows[r].f((double)x[i]), exact = rows[r].f(xd[i]);
            assert_true(fabs((double)y[i] - want) <= 3e-7 * (1e-3 + fabs(want)));
            if (has_f64) assert_true(fabs(yd[i] - exact) <= 1e-15 * (1e-3 + fabs(exact)));
        }
    }
}

/* Angles of any size: their reduction needs many digits of pi. */
static void test_large_angles(void **state) {
    (void)state;
    static const dnnl_tp_op_kind_t kinds[] = {dnnl_tp_op_sin, dnnl_tp_op_cos, dnnl_tp_op_tan};
    static function_t *const functions[] = {sin, cos, tan};
    enum { N = 1000 };
    static float x[N], y[N];
    test_rng_t r = test_rng(2);
    for (int i = 0; i < N; ++i)
        x[i] = ldexpf(1.f + test_uniform(&r, 0.f, 1.f), 3 + i % 125) * (i % 2 ? -1.f : 1.f);
    const test_tensor_t in = list(dnnl_tp_f32, N, x);
    for (int k = 0; k < 3; ++k) {
        run(kinds[k], 0, NULL, 1, &in, y, sizeof y, 1);
        for (int i = 0; i < N; ++i) {
            const double want = functions[k]((double)x[i]);
            assert_true(fabs((double)y[i] - want) <= 4 * 0x1p-23 * fabs(want));
        }
    }
}

/* Sines and cosines of all magnitudes, next to multiples of pi / 2, of rows of all lengths around vectors: within 2 units in
 * the last place, the sign of 0 kept; what is no number stays none. */
static void test_angles(void **state) {
    (void)state;
    enum { N = 40000, LENGTHS = 70 };
    static float x[N], y[N];
    static const float special[] = {0.f,   -0.f,       1e-45f, -1e-45f,   1e-38f,   99999.99f, 1e5f,
                                    -1e5f, 100000.02f, NAN,    -INFINITY, INFINITY, 1e38f,     .7853982f};
    test_rng_t r = test_rng(5);
    for (int i = 0; i < N; ++i) {
        const uint32_t bits = (uint32_t)test_rand(&r);
        const double multiple = (double)(bits % 64000) * 1.57079632679489661923;
        memcpy(&x[i], &bits, sizeof *x);
        if (i % 3) x[i] = (float)multiple;
        if (i % 3 == 2) x[i] = nextafterf(bits & 1 ? -x[i] : x[i], bits & 2 ? INFINITY : -INFINITY);
        if (i % 16 == 7) x[i] = special[i / 16 % (int)(sizeof special / sizeof *special)];
    }
    for (int k = 0; k < 2; ++k)
        for (int length = 1; length <= LENGTHS + 1; ++length) {
            const int n = length > LENGTHS ? N : length, first = length > LENGTHS ? 0 : 16 * length;
            const test_tensor_t in = list(dnnl_tp_f32, n, x + first);
            run(k ? dnnl_tp_op_cos : dnnl_tp_op_sin, 0, NULL, 1, &in, y, sizeof y, 1);
            for (int i = 0; i < n; ++i) {
                const float angle = x[first + i];
                const double want = k ? cos((double)angle) : sin((double)angle);
                if (isnan(want)) assert_true(isnan(y[i]));
                else if (!k && angle == 0.f) assert_memory_equal(&y[i], &angle, sizeof angle);
                else {
                    const int exponent = ilogb(want) < -126 ? -126 : ilogb(want);
                    assert_true(fabs((double)y[i] - want) <= 2 * ldexp(1, exponent - 23));
                }
            }
        }
}

/* Changes of types of rows around vectors, among them numbers that the other type lacks; no floating-point exceptions. */
static void test_long_casts(void **state) {
    (void)state;
    enum { N = 70 };
    static const float special[] = {0.f,       -.9f,           2147483520.f, 2147483648.f, -2147483648.f,
                                    0x1p63f,   0x1.fffffep62f, NAN,          INFINITY,     -0x1p63f,
                                    -INFINITY, 1e30f,          -1e-40f};
    float x[N], back[N];
    int64_t s64[N + 1];
    int32_t s32[N + 1];
    uint8_t truth[N + 1];
    test_rng_t r = test_rng(6);
    for (int i = 0; i < N; ++i)
        x[i] =
            i % 3 ? test_uniform(&r, -1e6f, 1e6f) : special[i / 3 % (int)(sizeof special / sizeof *special)];
    for (int first = 0; first < N; first += 9)
        for (int n = 1; first + n <= N; ++n) {
            const char *const to[] = {"s64", "s32", "boolean", "f32"};
            dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, 3, to[0]};
            const test_tensor_t in = list(dnnl_tp_f32, n, x + first);
            feclearexcept(FE_ALL_EXCEPT);
            run(dnnl_tp_op_type_cast, 1, &attr, 1, &in, s64, sizeof s64, 1);
            attr.data = to[1];
            run(dnnl_tp_op_type_cast, 1, &attr, 1, &in, s32, sizeof s32, 1);
            attr.data = to[2];
            attr.count = 7;
            run(dnnl_tp_op_type_cast, 1, &attr, 1, &in, truth, sizeof truth, 1);
            bool is_number = test_engine_kind() == dnnl_tp_cpu; /* comparisons of NaN may raise one */
            for (int i = 0; i < n; ++i) is_number &= !isnan(x[first + i]);
            if (is_number) assert_false(fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW));
            for (int i = 0; i < n; ++i) {
                const double v = trunc((double)x[first + i]);
                const int64_t wide = isnan(v)       ? 0
                                     : v >= 0x1p63  ? INT64_MAX
                                     : v <= -0x1p63 ? INT64_MIN
                                                    : (int64_t)v;
                const int64_t narrow = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide;
                assert_true(s64[i] == wide);
                assert_true(s32[i] == narrow);
                assert_int_equal(truth[i], x[first + i] != 0);
            }
            attr.data = to[3];
            attr.count = 3;
            const test_tensor_t integers = list(dnnl_tp_s64, n, s64);
            run(dnnl_tp_op_type_cast, 1, &attr, 1, &integers, back, sizeof back, 1);
            for (int i = 0; i < n; ++i) assert_true(back[i] == (float)s64[i]);
        }
}

/* {B, 1, C, D} ? {A, C, 1} : {1}, with sizes around the parts that threads take. */
static void test_select(void **state) {
    (void)state;
    enum { B = 3, A = 2, C = 5, D = 1701, N = B * A * C * D };
    static uint8_t c[B * C * D];
    static int64_t x[A * C], got[N];
    const int64_t other = -7;
    test_rng_t r = test_rng(1);
    for (int i = 0; i < B * C * D; ++i) c[i] = test_rand(&r) % 3 ? 0 : 1 + (uint8_t)(test_rand(&r) % 255);
    for (int i = 0; i < A * C; ++i) x[i] = (int64_t)test_rand(&r);
    for (int threads = 1; threads <= 3; threads += 2) {
        const test_tensor_t in[] = {{dnnl_tp_boolean, 4, {B, 1, C, D}, c},
                                    {dnnl_tp_s64, 3, {A, C, 1}, x},
                                    {dnnl_tp_s64, 1, {1}, &other}};
        run(dnnl_tp_op_select, 0, NULL, 3, in, got, sizeof got, threads);
        for (int i = 0; i < N; ++i) {
            const int d = i % D, cc = i / D % C, a = i / D / C % A, b = i / D / C / A;
            assert_int_equal(got[i], c[(b * C + cc) * D + d] ? x[a * C + cc] : other);
        }
    }
    /* Numbers of 8 and 32 bits, and no elements. */
    const test_tensor_t bytes[] = {list(dnnl_tp_boolean, 3, (const uint8_t[]){1, 0, 2}),
                                   list(dnnl_tp_s8, 3, (const int8_t[]){1, 2, 3}),
                                   list(dnnl_tp_s8, 3, (const int8_t[]){-1, -2, -3})};
    run(dnnl_tp_op_select, 0, NULL, 3, bytes, got, sizeof got, 1);
    assert_memory_equal(got, ((const int8_t[]){1, -2, 3}), 3);
    const test_tensor_t floats[] = {list(dnnl_tp_boolean, 2, (const uint8_t[]){0, 1}),
                                    {dnnl_tp_f32, 0, {0}, (const float[]){5}},
                                    list(dnnl_tp_f32, 2, (const float[]){NAN, 2})};
    float numbers[64];
    run(dnnl_tp_op_select, 0, NULL, 3, floats, numbers, sizeof numbers, 1);
    assert_true(isnan(numbers[0]) && numbers[1] == 5.f);
    const test_tensor_t halves[] = {list(dnnl_tp_boolean, 2, (const uint8_t[]){0, 1}),
                                    list(dnnl_tp_bf16, 2, (const uint16_t[]){0x3f80, 0x4000}),
                                    list(dnnl_tp_bf16, 2, (const uint16_t[]){0xbf80, 0xc000})};
    run(dnnl_tp_op_select, 0, NULL, 3, halves, got, sizeof got, 1);
    assert_memory_equal(got, ((const uint16_t[]){0xbf80, 0x4000}), 4);
    const test_tensor_t none[] = {list(dnnl_tp_boolean, 0, c), list(dnnl_tp_s64, 1, x),
                                  list(dnnl_tp_s64, 0, x)};
    run(dnnl_tp_op_select, 0, NULL, 3, none, got, sizeof got, 3);
}

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t f, i, y;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &f, "f", dnnl_tp_f32, 1, (const dnnl_tp_dims_t){4}));
    CHECK_OK(dnnl_tp_graph_input(g, &i, "i", dnnl_tp_s32, 1, (const dnnl_tp_dims_t){3}));
    CHECK_STATUS(
        dnnl_tp_graph_op(g, dnnl_tp_op_equal, "", 2, (const dnnl_tp_value_t[]){f, i}, 0, NULL, 1, &y),
        dnnl_tp_invalid_shape);
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_bit_not, "", 1, &f, 0, NULL, 1, &y),
                 dnnl_tp_invalid_data_type);
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_sin, "", 1, &i, 0, NULL, 1, &y), dnnl_tp_invalid_data_type);
    CHECK_STATUS(
        dnnl_tp_graph_op(g, dnnl_tp_op_select, "", 3, (const dnnl_tp_value_t[]){f, f, f}, 0, NULL, 1, &y),
        dnnl_tp_invalid_data_type);
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons),  cmocka_unit_test(test_integers),
        cmocka_unit_test(test_types),        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_large_angles), cmocka_unit_test(test_angles),
        cmocka_unit_test(test_long_casts),   cmocka_unit_test(test_select),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
