/* An If whose predicate is a constant keeps one branch: the other one need not fit, what is left is fused and ordered
 * as if there had been no If. Ifs that are decided at run time: test_regions.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/upload.h"

#define OK(expr) assert_int_equal(expr, dnnl_tp_success)

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_graph_t g;
} case_t;

static void begin(case_t *c) {
    OK(dnnl_tp_engine_create(&c->engine, test_engine_kind(), 0));
    OK(dnnl_tp_stream_create(&c->stream, c->engine, 0));
    OK(dnnl_tp_graph_create(&c->g, dnnl_tp_cpu));
}
static void end(case_t *c) {
    OK(dnnl_tp_graph_destroy(c->g));
    OK(dnnl_tp_stream_destroy(c->stream));
    OK(dnnl_tp_engine_destroy(c->engine));
}

enum { ROWS = 3, K = 4, N = 5 };
static float src[ROWS * K], wei[K * N], dst[64];

static dnnl_tp_value_t constant(case_t *c, dnnl_tp_data_type_t type, int ndims, const dnnl_tp_dims_t dims,
                                const void *data) {
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_constant(c->g, &v, "c", type, ndims, dims, data, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    return v;
}
static dnnl_tp_value_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int n, dnnl_tp_value_t a,
                          dnnl_tp_value_t b) {
    dnnl_tp_value_t in[2] = {a, b}, v;
    OK(dnnl_tp_graph_op(g, kind, "op", n, in, 0, NULL, 1, &v));
    return v;
}
static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}
static dnnl_tp_executable_t compile(case_t *c, dnnl_tp_value_t y) {
    dnnl_tp_executable_t e;
    OK(dnnl_tp_graph_output(c->g, y, "y"));
    OK(dnnl_tp_executable_compile(&e, c->g, c->engine, 0, NULL, NULL));
    return e;
}
static void run(case_t *c, dnnl_tp_executable_t e) {
    void *in[1] = {src}, *out[1] = {dst};
    OK(test_run_graph(e, c->stream, 1, in, 1, out, NULL));
}
static float expected(int row, int col) { /* relu(src * wei) */
    float sum = 0.f;
    for (int k = 0; k < K; ++k) sum += src[row * K + k] * wei[k * N + col];
    return sum > 0.f ? sum : 0.f;
}
static void fill(void) {
    for (int i = 0; i < ROWS * K; ++i) src[i] = (float)(i % 7) - 3.f;
    for (int i = 0; i < K * N; ++i) wei[i] = (float)(i % 5) - 2.f;
}
static const dnnl_tp_dims_t src_dims = {ROWS, K}, wei_dims = {K, N};

/* relu(if (pred) src * wei else src), where src * wei has another shape than src: two operators become one step. */
static void test_other_shape(void **state) {
    (void)state;
    fill();
    for (int taken = 0; taken < 2; ++taken) {
        case_t c;
        begin(&c);
        dnnl_tp_value_t x, picked;
        OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 2, src_dims));
        const uint8_t yes = taken;
        dnnl_tp_value_t pred = constant(&c, dnnl_tp_boolean, 0, NULL, &yes);
        dnnl_tp_value_t w = constant(&c, dnnl_tp_f32, 2, wei_dims, wei);
        dnnl_tp_graph_t a = region(c.g), b = region(c.g);
        dnnl_tp_value_t product = op(a, dnnl_tp_op_matmul, 2, x, w), same = op(b, dnnl_tp_op_abs, 1, x, -1);
        OK(dnnl_tp_graph_if(c.g, "pick", pred, a, b, 1, &product, &same, &picked));
        dnnl_tp_tensor_info_t info;
        OK(dnnl_tp_graph_value_info(c.g, picked, &info));
        assert_int_equal(info.dims[1], taken ? N : K);
        dnnl_tp_value_t y = op(c.g, dnnl_tp_op_relu, 1, picked, -1);
        dnnl_tp_executable_t e = compile(&c, y);
        if (taken) assert_int_equal(e->nsteps, 2); /* with the end of the program */
        run(&c, e);
        for (int i = 0; i < ROWS * (taken ? N : K); ++i)
            assert_true(dst[i] == (taken ? expected(i / N, i % N) : fabsf(src[i])));
        OK(dnnl_tp_executable_destroy(e));
        OK(dnnl_tp_graph_destroy(a));
        OK(dnnl_tp_graph_destroy(b));
        end(&c);
    }
}

/* Shapes that are not known before the graph is compiled: 3 columns, of which the other branch cannot add 5. */
static void test_shapes_of_compilation(void **state) {
    (void)state;
    fill();
    case_t c;
    begin(&c);
    dnnl_tp_dims_t open = {DNNL_TP_RUNTIME_DIM_VAL, DNNL_TP_RUNTIME_DIM_VAL}, five = {N};
    dnnl_tp_value_t x, picked;
    OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 2, open));
    const int32_t no = 0;
    dnnl_tp_value_t pred = constant(&c, dnnl_tp_s32, 0, NULL, &no),
                    row = constant(&c, dnnl_tp_f32, 1, five, wei);
    dnnl_tp_graph_t a = region(c.g), b = region(c.g), inner = region(a);
    dnnl_tp_value_t sum = op(inner, dnnl_tp_op_bias_add, 2, x, row), nested,
                    same = op(b, dnnl_tp_op_abs, 1, x, -1);
    OK(dnnl_tp_graph_if(a, "inner", pred, inner, NULL, 1, &sum, &x, &nested));
    dnnl_tp_value_t deep = op(a, dnnl_tp_op_relu, 1, sum = nested, -1);
    OK(dnnl_tp_graph_if(c.g, "pick", pred, a, b, 1, &deep, &same, &picked));
    OK(dnnl_tp_graph_output(c.g, picked, "y"));
    dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {4, 3}, .data_type = dnnl_tp_f32};
    dnnl_tp_executable_t e;
    OK(dnnl_tp_executable_compile(&e, c.g, c.engine, 1, &shape, NULL));
    run(&c, e);
    for (int i = 0; i < 12; ++i) assert_true(dst[i] == fabsf(src[i]));
    OK(dnnl_tp_executable_destroy(e));
    OK(dnnl_tp_graph_destroy(a));
    OK(dnnl_tp_graph_destroy(b));
    OK(dnnl_tp_graph_destroy(inner));
    end(&c);
}

/* ---- Orderings and closures -------------------------------------------------------------------------- */

static int order[8], norder;
static dnnl_tp_status_t note(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    order[norder++] = (int)(intptr_t)arg;
    return dnnl_tp_success;
}
static dnnl_tp_value_t closure(dnnl_tp_graph_t g, int number, int nin, dnnl_tp_value_t in) {
    dnnl_tp_tensor_info_t info = {.ndims = 0, .data_type = dnnl_tp_f32};
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_host(g, note, (void *)(intptr_t)number, NULL, 0, "note", nin, &in, 1, &info, &v));
    return v;
}

/* Closures of the branch run once, those of the other one never; who waits for the If waits for them. */
static void test_orderings(void **state) {
    (void)state;
    if (test_engine_kind() != dnnl_tp_cpu) skip(); /* closures read its memory */
    for (int awaited = 0; awaited < 2; ++awaited) {
        case_t c;
        begin(&c);
        dnnl_tp_value_t x, picked;
        OK(dnnl_tp_graph_input(c.g, &x, "x", dnnl_tp_f32, 0, NULL));
        const float yes = 1.f;
        dnnl_tp_value_t pred = constant(&c, dnnl_tp_f32, 0, NULL, &yes);
        dnnl_tp_value_t first = closure(c.g, 1, 1, x);
        dnnl_tp_graph_t a = region(c.g), b = region(c.g);
        dnnl_tp_value_t in_a = closure(a, 2, 1, x), in_b = closure(b, 9, 1, x);
        OK(dnnl_tp_graph_if(c.g, "pick", pred, a, b, 1, &in_a, &in_b, &picked));
        dnnl_tp_value_t last = closure(c.g, 3, 1, x);
        if (awaited) {
            OK(dnnl_tp_graph_control_dependency(c.g, first, picked));
            OK(dnnl_tp_graph_control_dependency(c.g, picked, last));
        }
        dnnl_tp_executable_t e = compile(&c, picked);
        norder = 0;
        run(&c, e);
        assert_int_equal(norder, 3);
        bool seen[4] = {false};
        for (int i = 0; i < 3; ++i) {
            assert_in_range(order[i], 1, 3);
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
            if (awaited) assert_int_equal(order[i], i + 1);
        }
        OK(dnnl_tp_executable_destroy(e));
        OK(dnnl_tp_graph_destroy(a));
        OK(dnnl_tp_graph_destroy(b));
        end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_other_shape),
                                       cmocka_unit_test(test_shapes_of_compilation),
                                       cmocka_unit_test(test_orderings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
