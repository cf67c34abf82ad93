/* Dense in any order of dimensions: NHWC data under dimensions named NCHW passes element-wise operators and joins without a
 * copy, with the results that each operator has by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/upload.h"

#define OK(expr) assert_int_equal(expr, dnnl_tp_success)
enum { N = 2, H = 5, W = 3, C = 7, ELEMS = N * H * W * C };

static dnnl_tp_value_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int nin, dnnl_tp_value_t a,
                          dnnl_tp_value_t b, int nattr, const dnnl_tp_op_attr_t *attr) {
    const dnnl_tp_value_t in[2] = {a, b};
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_op(g, kind, "op", nin, in, nattr, attr, 1, &v));
    return v;
}
static dnnl_tp_value_t transposed(dnnl_tp_graph_t g, dnnl_tp_value_t x, const int64_t order[4]) {
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_order, dnnl_tp_op_attr_s64, 4, order};
    return op(g, dnnl_tp_op_static_transpose, 1, x, -1, 1, &attr);
}
static dnnl_tp_value_t joined(dnnl_tp_graph_t g, dnnl_tp_value_t x, dnnl_tp_value_t y, int64_t axis) {
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    return op(g, dnnl_tp_op_concat, 2, x, y, 1, &attr);
}
static const int64_t to_nchw[4] = {0, 3, 1, 2}, to_nhwc[4] = {0, 2, 3, 1};
static float x_data[ELEMS], y_data[ELEMS], channel[C], plane[H * W];

typedef struct {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, y, channel, plane; /* x, y: {N, C, H, W}, in memory NHWC */
} net_t;

static dnnl_tp_value_t constant(dnnl_tp_graph_t g, int ndims, const dnnl_tp_dims_t dims, const float *data) {
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_f32, ndims, dims, data, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    return v;
}
static net_t begin(void) {
    static const dnnl_tp_dims_t nhwc = {N, H, W, C}, per_channel = {C, 1, 1}, per_place = {H, W};
    net_t n;
    dnnl_tp_value_t x, y;
    OK(dnnl_tp_graph_create(&n.g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(n.g, &x, "x", dnnl_tp_f32, 4, nhwc));
    OK(dnnl_tp_graph_input(n.g, &y, "y", dnnl_tp_f32, 4, nhwc));
    n.x = transposed(n.g, x, to_nchw);
    n.y = transposed(n.g, y, to_nchw);
    n.channel = constant(n.g, 3, per_channel, channel);
    n.plane = constant(n.g, 2, per_place, plane);
    for (int i = 0; i < ELEMS; ++i) {
        x_data[i] = (float)(i * 7 % 23) - 11.f;
        y_data[i] = (float)(i * 5 % 19) - 9.f;
    }
    for (int i = 0; i < C; ++i) channel[i] = (float)i - 3.f;
    for (int i = 0; i < H * W; ++i) plane[i] = (float)(i % 4);
    return n;
}

static int count(const dtp_exec_t *e, const char *kind) {
    int n = 0;
    for (int i = 0; i < e->nsteps; ++i) n += !strcmp(e->steps[i].kind, kind);
    return n;
}

/* The same bits as with every operator by itself; copies: of the fused form. Ends the graph. */
static void check(net_t *n, dnnl_tp_value_t out, int64_t elems, int copies) {
    enum { ROOM = 2 * ELEMS };
    static float got[2][ROOM];
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    OK(dnnl_tp_engine_create(&engine, test_engine_kind(), 0));
    OK(dnnl_tp_stream_create(&stream, engine, 0));
    OK(dnnl_tp_graph_output(n->g, out, "out"));
    for (int k = 0; k < 2; ++k) {
        const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                             .flags = k ? DNNL_TP_COMPILE_NO_FUSION : 0};
        dnnl_tp_executable_t e;
        OK(dnnl_tp_executable_compile(&e, n->g, engine, 0, NULL, &opts));
        memset(got[k], 0xff, sizeof got[k]);
        OK(test_run_graph(e, stream, 2, (void *[]){x_data, y_data}, 1, (void *[]){got[k]}, NULL));
        if (!k) assert_int_equal(count(e, "copy") + count(e, "static_transpose"), copies);
        OK(dnnl_tp_executable_destroy(e));
    }
    assert_true(elems <= ROOM);
    assert_memory_equal(got[0], got[1], sizeof(float) * (size_t)elems);
    OK(dnnl_tp_graph_destroy(n->g));
    OK(dnnl_tp_stream_destroy(stream));
    OK(dnnl_tp_engine_destroy(engine));
}

/* One chain as a network of convolutions has it; the copy is that to the output. */
static void test_chain(void **state) {
    (void)state;
    net_t n = begin();
    dnnl_tp_value_t a = op(n.g, dnnl_tp_op_relu, 1, n.x, -1, 0, NULL);
    a = op(n.g, dnnl_tp_op_multiply, 2, a, n.channel, 0, NULL);
    a = op(n.g, dnnl_tp_op_add, 2, a, n.y, 0, NULL);
    a = joined(n.g, a, n.y, 1);
    a = op(n.g, dnnl_tp_op_abs, 1, a, -1, 0, NULL);
    check(&n, transposed(n.g, a, to_nhwc), 2 * ELEMS, 1);
}

/* Operands in the other order first, broadcast along C, along H and W, and one number. */
static void test_binary(void **state) {
    (void)state;
    for (int k = 0; k < 6; ++k) {
        net_t n = begin();
        static const float half = .5f;
        const dnnl_tp_value_t one = constant(n.g, 0, NULL, &half);
        const dnnl_tp_value_t with[3] = {n.channel, n.plane, one};
        const dnnl_tp_op_kind_t kind = k < 3 ? dnnl_tp_op_subtract : dnnl_tp_op_maximum;
        const dnnl_tp_value_t other = with[k % 3];
        dnnl_tp_value_t a =
            k % 2 ? op(n.g, kind, 2, n.x, other, 0, NULL) : op(n.g, kind, 2, other, n.x, 0, NULL);
        a = op(n.g, dnnl_tp_op_square, 1, a, -1, 0, NULL);
        /* Subtracting from a smaller tensor goes row-major: the transposed one is copied, the result is not. */
        const bool is_kept = kind == dnnl_tp_op_maximum || k % 2;
        check(&n, is_kept ? transposed(n.g, a, to_nhwc) : a, ELEMS, 1);
    }
}

/* One operand is row-major, so the other one is copied; joins along every dimension; mixed joins. */
static void test_mixed(void **state) {
    (void)state;
    net_t n = begin();
    const dnnl_tp_dims_t nchw = {N, C, H, W};
    dnnl_tp_value_t dense = constant(n.g, 4, nchw, y_data);
    check(&n, op(n.g, dnnl_tp_op_multiply, 2, n.x, dense, 0, NULL), ELEMS, 1);
    for (int axis = 0; axis < 4; ++axis) {
        n = begin();
        check(&n, transposed(n.g, joined(n.g, n.x, n.y, axis), to_nhwc), 2 * ELEMS, 1);
        n = begin();
        dense = constant(n.g, 4, nchw, y_data);
        dnnl_tp_value_t a = joined(n.g, dense, n.y, axis);
        check(&n, op(n.g, dnnl_tp_op_relu, 1, a, -1, 0, NULL), 2 * ELEMS, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain), cmocka_unit_test(test_binary),
                                       cmocka_unit_test(test_mixed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
