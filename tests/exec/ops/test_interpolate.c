/* interpolate: one to three spatial dimensions with larger and smaller sizes, every way to place elements, against the
 * definition in double in this file; on one thread and on three. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/check.h"
#include "support/one_op.h"

enum { MOST = 60000, DIMS = 3 };
static float x[MOST], y[MOST];
static double want[MOST];

enum { HALF_PIXEL, PYTORCH, SYMMETRIC, ALIGN, ASYMMETRIC, TF, PLACES };
static const char *const places[] = {"half_pixel",    "pytorch_half_pixel", "half_pixel_symmetric",
                                     "align_corners", "asymmetric",         "tf_half_pixel_for_nn"};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static double position(int place, double in, double out, double scale, double o) {
    const double length = in * scale;
    switch (place) {
    case PYTORCH: return length > 1 ? (o + .5) / scale - .5 : 0;
    case SYMMETRIC: return in / 2 * (1 - out / length) + (o + .5) / scale - .5;
    case ALIGN: return length > 1 ? o * (in - 1) / (length - 1) : 0;
    case ASYMMETRIC: return o / scale;
    case TF: return (o + .5) / scale;
    default: return (o + .5) / scale - .5;
    }
}

static int64_t within(double p, int64_t n) { return p < 0 ? 0 : p > (double)(n - 1) ? n - 1 : (int64_t)p; }

/* Along one dimension: {outer, in, inner} -> {outer, out, inner}. */
static void resize(const double *from, double *to, int64_t outer, int64_t in, int64_t out, int64_t inner,
                   int place, double scale) {
    for (int64_t b = 0; b < outer; ++b)
        for (int64_t o = 0; o < out; ++o) {
            const double p = position(place, (double)in, (double)out, scale, (double)o), low = floor(p);
            const int64_t l = within(low, in), h = within(low + 1, in);
            for (int64_t c = 0; c < inner; ++c)
                to[(b * out + o) * inner + c] = from[(b * in + l) * inner + c] * (1 - (p - low)) +
                                                from[(b * in + h) * inner + c] * (p - low);
        }
}

static dnnl_tp_status_t run(int ndims, const int64_t *dims, const int64_t *sizes, const char *mode,
                            const char *place, const char *rounding, const int64_t *to, const int64_t *from,
                            int threads) {
    test_tensor_t in = {dnnl_tp_f32, ndims, {0}, x};
    memcpy(in.dims, dims, sizeof *dims * (size_t)ndims);
    const dnnl_tp_op_attr_t attr[] = {
        {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, ndims - 2, sizes},
        {dnnl_tp_op_attr_mode, dnnl_tp_op_attr_string, (int)strlen(mode), mode},
        {dnnl_tp_op_attr_coordinate_transformation_mode, dnnl_tp_op_attr_string, (int)strlen(place), place},
        {dnnl_tp_op_attr_nearest_mode, dnnl_tp_op_attr_string, (int)strlen(rounding), rounding},
        {dnnl_tp_op_attr_scale_to, dnnl_tp_op_attr_s64, ndims - 2, to},
        {dnnl_tp_op_attr_scale_from, dnnl_tp_op_attr_s64, ndims - 2, from}};
    return test_one_op(dnnl_tp_op_interpolate, to ? 6 : 4, attr, 1, &in, y, sizeof y, threads);
}

static void test_linear(void **state) {
    (void)state;
    static const int64_t shapes[][5] = {{2, 3, 1, 1, 37},
                                        {1, 2, 1, 9, 5},
                                        {1, 3, 3, 4, 21},
                                        {2, 1, 1, 30, 33}},
                         outs[][DIMS] = {{1, 1, 100}, {1, 23, 40}, {5, 3, 20}, {1, 7, 16}, {1, 1, 1}};
    /* The scale, if it is not that of the sizes. */
    static const int64_t ratios[][2] = {{0, 0}, {3, 2}, {7, 11}};
    test_rng_t r = test_rng(3);
    for (int i = 0; i < MOST; ++i) x[i] = test_uniform(&r, -2.f, 2.f);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (size_t o = 0; o < sizeof outs / sizeof *outs; ++o)
            for (int place = 0; place < PLACES; ++place)
                for (int ratio = 0; ratio < 3; ++ratio) {
                    static double a[MOST], b[MOST];
                    const int64_t *in = shapes[s] + 2, outer = shapes[s][0] * shapes[s][1],
                                  *w = ratios[ratio];
                    const int n = in[0] > 1 ? 3 : in[1] > 1 ? 2 : 1, first = DIMS - n;
                    int64_t dims[5] = {shapes[s][0], shapes[s][1]}, sizes[DIMS], to[DIMS], from[DIMS];
                    int64_t elems = outer * in[0] * in[1] * in[2], at = outer, inner = in[0] * in[1] * in[2];
                    for (int64_t i = 0; i < elems; ++i) a[i] = (double)x[i];
                    for (int d = 0; d < n; ++d) {
                        const int64_t size = dims[2 + d] = in[first + d], out = sizes[d] = outs[o][first + d];
                        to[d] = w[0];
                        from[d] = w[1];
                        inner /= size;
                        const double scale = w[0] ? (double)w[0] / (double)w[1] : (double)out / (double)size;
                        resize(a, b, at, size, out, inner, place, scale);
                        at *= out;
                        memcpy(a, b, sizeof *a * (size_t)(at * inner));
                    }
                    memcpy(want, a, sizeof *a * (size_t)at);
                    for (int threads = 1; threads <= 3; threads += 2) {
                        CHECK_OK(run(n + 2, dims, sizes, "linear", places[place], roundings[0],
                                     w[0] ? to : NULL, from, threads));
                        for (int64_t i = 0; i < at; ++i)
                            if (!(fabs((double)y[i] - want[i]) <= 4e-6))
                                fail_msg("%s, shape %d, sizes %d, ratio %d: element %d is %g, not %g",
                                         places[place], (int)s, (int)o, ratio, (int)i, (double)y[i], want[i]);
                    }
                }
}

/* Powers of 2 have exact positions: each element is the one that floor(), ceil() or the nearest says. */
static void test_nearest(void **state) {
    (void)state;
    enum { H = 6, W = 20 };
    static const int64_t dims[4] = {1, 2, H, W}, sizes[2] = {2 * H, 2 * W}, halves[2] = {H / 2, W / 2};
    for (int i = 0; i < 2 * H * W; ++i) x[i] = (float)i;
    for (int rounding = 0; rounding < 4; ++rounding)
        for (int threads = 1; threads <= 3; threads += 2) {
            CHECK_OK(run(4, dims, sizes, "nearest", "asymmetric", roundings[rounding], NULL, NULL, threads));
            for (int i = 0; i < 8 * H * W; ++i) {
                const int w = i % (2 * W), h = i / (2 * W) % (2 * H), c = i / (4 * H * W);
                /* A half goes up where the rounding says so, but for the last element. */
                const int up = rounding == 1 || rounding == 3, wi = (w + up) / 2, hi = (h + up) / 2;
                assert_true(y[i] == x[(c * H + (hi < H ? hi : H - 1)) * W + (wi < W ? wi : W - 1)]);
            }
            CHECK_OK(run(4, dims, halves, "nearest", "half_pixel", roundings[rounding], NULL, NULL, threads));
            for (int i = 0; i < H * W / 2; ++i) {
                const int w = i % (W / 2), h = i / (W / 2) % (H / 2), c = i / (H * W / 4);
                const int up = rounding == 1 || rounding == 3; /* 2 i + 1/2 */
                assert_true(y[i] == x[(c * H + 2 * h + up) * W + 2 * w + up]);
            }
        }
}

/* What has no weight counts for nothing; no elements; refusals. */
static void test_edges(void **state) {
    (void)state;
    static const int64_t dims[4] = {1, 1, 1, 3}, sizes[2] = {1, 5}, minus[2] = {-1, 2};
    static const dnnl_tp_dims_t none = {0, 2, 3, 3};
    x[0] = 1, x[1] = INFINITY, x[2] = NAN;
    CHECK_OK(run(4, dims, sizes, "linear", "align_corners", roundings[0], NULL, NULL, 1));
    assert_true(y[0] == 1 && y[1] == INFINITY && y[2] == INFINITY && isnan(y[3]) && isnan(y[4]));
    CHECK_OK(run(4, none, sizes, "linear", places[0], roundings[0], NULL, NULL, 1));
    dnnl_tp_graph_t g;
    dnnl_tp_value_t a, v;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &a, "a", dnnl_tp_f32, 4, none));
    dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, 2, minus},
                                {dnnl_tp_op_attr_scale_to, dnnl_tp_op_attr_s64, 2, sizes}};
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_interpolate, "", 1, &a, 1, attr, 1, &v),
                 dnnl_tp_invalid_graph_op);
    attr[0].data = sizes;
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_interpolate, "", 1, &a, 2, attr, 1, &v),
                 dnnl_tp_invalid_graph_op); /* no scale_from */
    attr[0].count = 1;
    CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_interpolate, "", 1, &a, 1, attr, 1, &v),
                 dnnl_tp_invalid_graph_op);
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

/* Sizes as an input: as the attribute's when the graph is compiled, and refused where they are not known then. */
static void test_sizes_input(void **state) {
    (void)state;
    enum { H = 3, W = 4, TO_H = 5, TO_W = 9 };
    static const int64_t dims[4] = {1, 2, H, W}, sizes[2] = {TO_H, TO_W};
    static const dnnl_tp_dims_t open = {1, 2, DNNL_TP_RUNTIME_DIM_VAL, DNNL_TP_RUNTIME_DIM_VAL}, two = {2};
    static float attribute[2 * TO_H * TO_W];
    for (int i = 0; i < 2 * H * W; ++i) x[i] = (float)(i * i % 7);
    CHECK_OK(run(4, dims, sizes, "linear", places[0], roundings[0], NULL, NULL, 1));
    memcpy(attribute, y, sizeof attribute);
    for (int is_known = 0; is_known < 2; ++is_known) {
        dnnl_tp_graph_t g;
        dnnl_tp_value_t in[2], out;
        dnnl_tp_tensor_info_t info;
        dnnl_tp_engine_t engine;
        dnnl_tp_executable_t exe;
        const char *linear = "linear";
        dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_mode, dnnl_tp_op_attr_string, 6, linear},
                                    {dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, 2, sizes}};
        CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &in[0], "x", dnnl_tp_f32, 4, open));
        if (is_known)
            CHECK_OK(dnnl_tp_graph_constant(g, &in[1], "to", dnnl_tp_s64, 1, two, sizes, 0, NULL, NULL));
        else CHECK_OK(dnnl_tp_graph_input(g, &in[1], "to", dnnl_tp_s64, 1, two));
        CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_interpolate, "", 2, in, 2, attr, 1, &out),
                     dnnl_tp_invalid_shape); /* both */
        CHECK_STATUS(dnnl_tp_graph_op(g, dnnl_tp_op_interpolate, "", 1, in, 1, attr, 1, &out),
                     dnnl_tp_invalid_graph_op); /* neither */
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_interpolate, "", 2, in, 1, attr, 1, &out));
        CHECK_OK(dnnl_tp_graph_value_info(g, out, &info));
        assert_true(info.dims[1] == 2 && info.dims[3] == (is_known ? TO_W : DNNL_TP_RUNTIME_DIM_VAL));
        CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
        dnnl_tp_tensor_info_t shapes[2] = {{.data_type = dnnl_tp_f32, .ndims = 4, .dims = {1, 2, H, W}},
                                           {.data_type = dnnl_tp_s64, .ndims = 1, .dims = {2}}};
        const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts};
        if (!is_known)
            CHECK_STATUS(dnnl_tp_executable_compile(&exe, g, engine, 2, shapes, &opts),
                         dnnl_tp_invalid_shape);
        else {
            dnnl_tp_stream_t stream;
            void *from[1] = {x};
            void *to[1] = {y};
            memset(y, 0, sizeof attribute);
            CHECK_OK(dnnl_tp_executable_compile(&exe, g, engine, 1, shapes, &opts));
            CHECK_OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
            CHECK_OK(dnnl_tp_executable_run(exe, stream, 1, from, 1, to, NULL));
            for (int i = 0; i < 2 * TO_H * TO_W; ++i) /* one of them may be of a GPU */
                assert_true(fabsf(y[i] - attribute[i]) < 1e-5f);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            CHECK_OK(dnnl_tp_executable_destroy(exe));
        }
        CHECK_OK(dnnl_tp_graph_destroy(g));
        CHECK_OK(dnnl_tp_engine_destroy(engine));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_nearest),
                                       cmocka_unit_test(test_edges), cmocka_unit_test(test_sizes_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
