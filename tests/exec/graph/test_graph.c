/* Building of graphs: what is refused, with which reason and whose name; ownership of constants; freezing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/base.h"
#include "dnnl_tp/dnnl_tp_graph.h"

static dnnl_tp_graph_t g;
static dnnl_tp_value_t f23, f34, f3, i2, run;

static int setup(void **state) {
    (void)state;
    dnnl_tp_dims_t d23 = {2, 3}, d34 = {3, 4}, d3 = {3}, d2 = {2}, any = {DNNL_TP_RUNTIME_DIM_VAL, 3};
    return dnnl_tp_graph_create(&g, dnnl_tp_cpu) ||
           dnnl_tp_graph_input(g, &f23, "f23", dnnl_tp_f32, 2, d23) ||
           dnnl_tp_graph_input(g, &f34, "f34", dnnl_tp_f32, 2, d34) ||
           dnnl_tp_graph_input(g, &f3, "f3", dnnl_tp_f32, 1, d3) ||
           dnnl_tp_graph_input(g, &i2, "i2", dnnl_tp_s32, 1, d2) ||
           dnnl_tp_graph_input(g, &run, "run", dnnl_tp_f32, 2, any);
}
static int teardown(void **state) {
    (void)state;
    return dnnl_tp_graph_destroy(g) != dnnl_tp_success;
}

static const int64_t two[2] = {1, 1}, bad_order[2] = {0, 0}, heads2 = 2, axis5 = 5, shape5 = 5;
static const int64_t unknown2[2] = {-1, -1};
static const float one = 1.f, minus = -1.f;
#define S64(key, n, v) \
    { dnnl_tp_op_attr_##key, dnnl_tp_op_attr_s64, n, v }
#define F32(key, v) \
    { dnnl_tp_op_attr_##key, dnnl_tp_op_attr_f32, 1, v }

typedef struct {
    dnnl_tp_op_kind_t kind;
    const dnnl_tp_value_t *in[5];
    int nattr;
    dnnl_tp_op_attr_t attr[2];
    dnnl_tp_status_t status;
    dtp_reason_t reason;
} refusal_t;

static void test_refusals(void **state) {
    (void)state;
    static const refusal_t cases[] = {
        {(dnnl_tp_op_kind_t)12345, {&f23}, 0, {{0}}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_OP},
        {dnnl_tp_op_relu, {&f23, &f23}, 0, {{0}}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ARITY},
        {dnnl_tp_op_tanh, {&i2}, 0, {{0}}, dnnl_tp_invalid_data_type, DTP_GRAPH_DATA_TYPE},
        {dnnl_tp_op_relu, {&f23}, 1, {F32(alpha, &one)}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_elu, {&f23}, 0, {{0}}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_elu, {&f23}, 1, {S64(alpha, 1, two)}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_elu,
         {&f23},
         2,
         {F32(alpha, &one), F32(alpha, &one)},
         dnnl_tp_invalid_graph_op,
         DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_clamp,
         {&f23},
         2,
         {F32(min, &one), F32(max, &minus)},
         dnnl_tp_invalid_graph_op,
         DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_add, {&f23, &f34}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_add, {&f23, &i2}, 0, {{0}}, dnnl_tp_invalid_data_type, DTP_GRAPH_DATA_TYPE},
        {dnnl_tp_op_bias_add, {&f34, &f3}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_matmul, {&f23, &f23}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_matmul, {&f23, &f34, &f3}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_matmul, {&run, &run}, 0, {{0}}, dnnl_tp_success, DTP_NO_REASON},
        {dnnl_tp_op_concat, {&f23, &f34}, 1, {S64(axis, 1, two)}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_softmax, {&f23}, 1, {S64(axis, 1, &axis5)}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_reduce_sum, {&f23}, 1, {S64(axes, 2, two)}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_static_reshape,
         {&f23},
         1,
         {S64(shape, 1, &shape5)},
         dnnl_tp_invalid_shape,
         DTP_GRAPH_SHAPE},
        {dnnl_tp_op_static_reshape,
         {&f23},
         1,
         {S64(shape, 2, unknown2)},
         dnnl_tp_invalid_graph_op,
         DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_static_transpose,
         {&f23},
         1,
         {S64(order, 2, bad_order)},
         dnnl_tp_invalid_graph_op,
         DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_static_transpose,
         {&f23},
         1,
         {S64(order, 1, two)},
         dnnl_tp_invalid_graph_op,
         DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_layer_norm, {&f23, &f3}, 0, {{0}}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ARITY},
        {dnnl_tp_op_layer_norm, {&f34, &f3, &f3}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_layer_norm,
         {&f23},
         1,
         {F32(epsilon, &minus)},
         dnnl_tp_invalid_graph_op,
         DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_gather, {&f23, &f3}, 0, {{0}}, dnnl_tp_invalid_data_type, DTP_GRAPH_DATA_TYPE},
        {dnnl_tp_op_gather, {&f3, &i2}, 0, {{0}}, dnnl_tp_success, 0}, /* elements of a list */
        {dnnl_tp_op_attention, {&f23, &f23, &f23}, 0, {{0}}, dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR},
        {dnnl_tp_op_attention,
         {&f23, &f23, &f23},
         1,
         {S64(heads, 1, &heads2)},
         dnnl_tp_invalid_shape,
         DTP_GRAPH_SHAPE},
        {dnnl_tp_op_attention,
         {&f23, &f23, &f34},
         1,
         {S64(heads, 1, two)},
         dnnl_tp_invalid_shape,
         DTP_GRAPH_SHAPE},
        {dnnl_tp_op_attention,
         {&f23, &f23, &f23, &f23},
         1,
         {S64(heads, 1, two)},
         dnnl_tp_invalid_shape,
         DTP_GRAPH_SHAPE},
        {dnnl_tp_op_pool_normalize, {&f3}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
        {dnnl_tp_op_pool_normalize, {&f23, &f23}, 0, {{0}}, dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const refusal_t *c = &cases[i];
        dnnl_tp_value_t in[5], out = 77;
        int n = 0;
        for (; n < 5 && c->in[n]; ++n) in[n] = *c->in[n];
        assert_int_equal(dnnl_tp_graph_op(g, c->kind, "mistake", n, in, c->nattr, c->attr, 1, &out),
                         c->status);
        if (c->status == dnnl_tp_success) continue;
        assert_int_equal(dtp_last_reason(), c->reason);
        assert_non_null(strstr(dnnl_tp_last_error(), "mistake"));
        assert_int_equal(out, -1);
    }
}

static void test_arguments(void **state) {
    (void)state;
    dnnl_tp_value_t v, bad = 1000, none = -1;
    dnnl_tp_dims_t negative = {-3}, huge = {INT64_MAX / 2, 8}, one_dim = {4};
    dnnl_tp_graph_t other;
    float x[4];
#define REFUSED(expr, why)                                   \
    do {                                                     \
        assert_int_equal((expr), dnnl_tp_invalid_arguments); \
        assert_int_equal(dtp_last_reason(), DTP_##why);      \
    } while (0)
    REFUSED(dnnl_tp_graph_create(NULL, dnnl_tp_cpu), NULL_ARG);
    REFUSED(dnnl_tp_graph_create(&other, (dnnl_tp_engine_kind_t)9), BAD_ENUM);
    if (dnnl_tp_version()->gpu_runtime == DNNL_TP_RUNTIME_NONE) {
        assert_int_equal(dnnl_tp_graph_create(&other, dnnl_tp_gpu), dnnl_tp_unimplemented);
        assert_null(other);
    }
    REFUSED(dnnl_tp_graph_input(NULL, &v, "x", dnnl_tp_f32, 1, one_dim), BAD_HANDLE);
    REFUSED(dnnl_tp_graph_input(g, NULL, "x", dnnl_tp_f32, 1, one_dim), NULL_ARG);
    REFUSED(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 1, NULL), NULL_ARG);
    REFUSED(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 13, one_dim), BAD_NDIMS);
    REFUSED(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 1, negative), BAD_DIMS);
    REFUSED(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 2, huge), OVERFLOW);
    REFUSED(dnnl_tp_graph_input(g, &v, "x", (dnnl_tp_data_type_t)99, 1, one_dim), BAD_DATA_TYPE);
    REFUSED(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_f32, 1, one_dim, NULL, 0, NULL, NULL), NULL_ARG);
    REFUSED(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_f32, 1, one_dim, x, 7, NULL, NULL), BAD_FLAGS);
    REFUSED(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_f32, 1, one_dim, (char *)x + 1, 1, NULL, NULL),
            BAD_PARAM);
    REFUSED(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "r", 1, &bad, 0, NULL, 1, &v), GRAPH_BAD_VALUE);
    REFUSED(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "r", 1, NULL, 0, NULL, 1, &v), NULL_ARG);
    REFUSED(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "r", -1, &bad, 0, NULL, 1, &v), GRAPH_BAD_ARITY);
    assert_int_equal(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "r", 1, &none, 0, NULL, 1, &v),
                     dnnl_tp_invalid_graph_op);
    REFUSED(dnnl_tp_graph_output(g, bad, NULL), GRAPH_BAD_VALUE);
    dnnl_tp_tensor_info_t info;
    REFUSED(dnnl_tp_graph_value_info(g, bad, &info), GRAPH_BAD_VALUE);
    REFUSED(dnnl_tp_graph_value_info(g, f3, NULL), NULL_ARG);
    REFUSED(dnnl_tp_graph_host(g, NULL, NULL, NULL, 0, "h", 0, NULL, 1, &info, &v), NULL_ARG);
}

static void test_runtime_inference(void **state) {
    (void)state;
    dnnl_tp_value_t in[2] = {run, f34}, out;
    dnnl_tp_tensor_info_t info;
    assert_int_equal(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "mm", 2, in, 0, NULL, 1, &out), dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_value_info(g, out, &info), dnnl_tp_success);
    assert_int_equal(info.ndims, 2);
    assert_true(info.dims[0] == DNNL_TP_RUNTIME_DIM_VAL && info.dims[1] == 4);
}

static int drops;
static void drop(void *arg) {
    assert_ptr_equal(arg, &drops);
    ++drops;
}

static void test_ownership(void **state) {
    (void)state;
    static const float data[4] = {1, 2, 3, 4};
    dnnl_tp_dims_t four = {4};
    dnnl_tp_graph_t own;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t c, x, in[2], y;
    drops = 0;
    assert_int_equal(dnnl_tp_graph_create(&own, dnnl_tp_cpu), dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_constant(own, &c, "copy", dnnl_tp_f32, 1, four, data,
                                            DNNL_TP_CONSTANT_COPY, drop, &drops),
                     dnnl_tp_success);
    assert_int_equal(drops, 1);
    assert_int_equal(dnnl_tp_graph_constant(own, &c, "lent", dnnl_tp_f32, 1, four, data,
                                            DNNL_TP_CONSTANT_BORROW, drop, &drops),
                     dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_input(own, &x, "x", dnnl_tp_f32, 1, four), dnnl_tp_success);
    in[0] = x;
    in[1] = c;
    assert_int_equal(dnnl_tp_graph_op(own, dnnl_tp_op_add, "add", 2, in, 0, NULL, 1, &y), dnnl_tp_success);
    assert_int_equal(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0), dnnl_tp_success);
    assert_int_equal(dnnl_tp_executable_compile(&e, own, engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    assert_null(e);
    dnnl_tp_graph_destroy(own);
    assert_int_equal(drops, 2);
    assert_int_equal(dnnl_tp_graph_constant(NULL, &c, "bad", dnnl_tp_f32, 1, four, data,
                                            DNNL_TP_CONSTANT_BORROW, drop, &drops),
                     dnnl_tp_invalid_arguments);
    assert_int_equal(drops, 3); /* a failed call drops, too */
    drops = 2;

    assert_int_equal(dnnl_tp_graph_create(&own, dnnl_tp_cpu), dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_constant(own, &c, "lent", dnnl_tp_f32, 1, four, data,
                                            DNNL_TP_CONSTANT_BORROW, drop, &drops),
                     dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_input(own, &x, "x", dnnl_tp_f32, 1, four), dnnl_tp_success);
    in[0] = x;
    in[1] = c;
    assert_int_equal(dnnl_tp_graph_op(own, dnnl_tp_op_add, "add", 2, in, 0, NULL, 1, &y), dnnl_tp_success);
    /* A graph that does not compile can be mended. */
    assert_int_equal(dnnl_tp_executable_compile(&e, own, engine, 0, NULL, NULL), dnnl_tp_invalid_graph);
    assert_null(e);
    assert_int_equal(dnnl_tp_graph_output(own, y, "y"), dnnl_tp_success);
    dnnl_tp_compile_opts_t tight = {.struct_size = sizeof tight, .reserved_runs = 1 << 20};
    assert_int_equal(dnnl_tp_executable_compile(&e, own, engine, 0, NULL, &tight), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_op(own, dnnl_tp_op_abs, "more", 1, &x, 0, NULL, 1, in), dnnl_tp_success);
    assert_int_equal(dnnl_tp_executable_compile(&e, own, engine, 0, NULL, NULL), dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_output(own, y, "y"), dnnl_tp_invalid_arguments);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_FROZEN);
    assert_int_equal(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags), dnnl_tp_success);
    dnnl_tp_graph_destroy(own); /* the executable keeps it */
    dnnl_tp_engine_destroy(engine);
    assert_int_equal(drops, 2);
    float a[4] = {10, 20, 30, 40}, b[4];
    void *pin[1] = {a}, *pout[1] = {b};
    assert_int_equal(dnnl_tp_executable_run(e, stream, 1, pin, 1, pout, NULL), dnnl_tp_success);
    assert_true(b[0] == 11.f && b[3] == 44.f);
    dnnl_tp_executable_destroy(e);
    assert_int_equal(drops, 3);
    dnnl_tp_stream_destroy(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_runtime_inference, setup, teardown),
        cmocka_unit_test(test_ownership),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
