/* Building of control flow: what is refused, with which text. Running it: test_regions.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "exec/graph/graph.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)
#define FAILS(expr, status, why, name)                         \
    do {                                                       \
        assert_int_equal((expr), dnnl_tp_##status);            \
        assert_int_equal(dtp_last_reason(), DTP_##why);        \
        assert_non_null(strstr(dnnl_tp_last_error(), (name))); \
    } while (0)
#define REFUSED(expr, why, name) FAILS(expr, invalid_arguments, why, name)

static const dnnl_tp_dims_t two = {2}, three = {3}, any = {DNNL_TP_RUNTIME_DIM_VAL};

static dnnl_tp_value_t input(dnnl_tp_graph_t g, dnnl_tp_data_type_t dt, int ndims, const dnnl_tp_dims_t d) {
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_input(g, &v, "in", dt, ndims, d));
    return v;
}
static dnnl_tp_value_t relu(dnnl_tp_graph_t g, dnnl_tp_value_t x) {
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &x, 0, NULL, 1, &v));
    return v;
}
static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}

static void test_if(void **state) {
    (void)state;
    dnnl_tp_graph_t g, other;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_create(&other, dnnl_tp_cpu));
    dnnl_tp_value_t p = input(g, dnnl_tp_boolean, 0, NULL), x = input(g, dnnl_tp_f32, 1, two);
    dnnl_tp_value_t y = input(g, dnnl_tp_f32, 1, three), wrong = input(g, dnnl_tp_f64, 0, NULL), out;
    dnnl_tp_graph_t a = region(g), b = region(g), inner = region(a);
    dnnl_tp_value_t ra = relu(a, x), rb = relu(b, x), ri = relu(inner, ra), bad = 99;
    REFUSED(dnnl_tp_graph_if(g, "pick", bad, a, b, 1, &ra, &rb, &out), GRAPH_BAD_VALUE, "pick");
    assert_int_equal(out, -1);
    REFUSED(dnnl_tp_graph_if(g, "pick", ra, a, b, 1, &ra, &rb, &out), GRAPH_BAD_VALUE, "another region");
    FAILS(dnnl_tp_graph_if(g, "pick", wrong, a, b, 1, &ra, &rb, &out), invalid_data_type, GRAPH_DATA_TYPE,
          "pick");
    FAILS(dnnl_tp_graph_if(g, "pick", x, a, b, 1, &ra, &rb, &out), invalid_shape, GRAPH_SHAPE, "pick");
    FAILS(dnnl_tp_graph_if(g, "pick", p, a, b, 1, &y, &rb, &out), invalid_shape, GRAPH_SHAPE, "pick");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, a, b, 1, &rb, &rb, &out), GRAPH_BAD_VALUE, "then_out 0");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, a, a, 1, &ra, &ra, &out), GRAPH_REGION, "same region");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, g, b, 1, &ra, &rb, &out), GRAPH_REGION, "then_region");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, inner, b, 1, &ri, &rb, &out), GRAPH_REGION, "then_region");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, other, b, 1, &ri, &rb, &out), GRAPH_REGION, "then_region");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, a, b, 1, NULL, &rb, &out), NULL_ARG, "then_out");
    const dnnl_tp_value_t absent = -1;
    REFUSED(dnnl_tp_graph_if(g, "pick", p, a, b, 1, &absent, &absent, &out), GRAPH_BAD_VALUE, "neither");
    REFUSED(dnnl_tp_graph_if(g, "pick", p, a, b, -1, &ra, &rb, &out), GRAPH_BAD_ARITY, "pick");
    REFUSED(dnnl_tp_graph_output(a, ra, "y"), GRAPH_REGION, "y");
    REFUSED(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "outside", 1, &ra, 0, NULL, 1, &out), GRAPH_BAD_VALUE,
            "outside");
    dnnl_tp_graph_t with_input = region(g);
    dnnl_tp_value_t v = input(with_input, dnnl_tp_f32, 1, two);
    REFUSED(dnnl_tp_graph_if(g, "pick", p, with_input, b, 1, &v, &rb, &out), GRAPH_REGION, "has inputs");
    OK(dnnl_tp_graph_if(a, "inner", p, inner, NULL, 1, &ri, &ra, &ri));
    OK(dnnl_tp_graph_if(g, "pick", p, a, b, 1, &ri, &rb, &out));
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_graph_value_info(a, out, &info));
    assert_true(info.ndims == 1 && info.dims[0] == 2 && info.data_type == dnnl_tp_f32);
    REFUSED(dnnl_tp_graph_op(a, dnnl_tp_op_relu, "late", 1, &ra, 0, NULL, 1, &v), GRAPH_REGION, "region");
    REFUSED(dnnl_tp_graph_if(g, "again", p, a, NULL, 1, &ri, &x, &v), GRAPH_REGION, "again");
    dnnl_tp_graph_t late;
    REFUSED(dnnl_tp_graph_create_region(&late, a), GRAPH_REGION, "");
    assert_null(late);
    dnnl_tp_graph_destroy(g); /* regions keep it */
    OK(dnnl_tp_graph_value_info(b, rb, &info));
    dnnl_tp_graph_destroy(a);
    dnnl_tp_graph_destroy(b);
    dnnl_tp_graph_destroy(inner);
    dnnl_tp_graph_destroy(with_input);
    dnnl_tp_graph_destroy(other);
}

static void test_while(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    dnnl_tp_value_t p = input(g, dnnl_tp_s32, 0, NULL), x = input(g, dnnl_tp_f32, 1, two);
    dnnl_tp_value_t z = input(g, dnnl_tp_f32, 1, any), out[2];
    dnnl_tp_graph_t cond = region(g), body = region(cond), stray = region(g);
    dnnl_tp_value_t v[2] = {input(cond, dnnl_tp_f32, 1, two), input(cond, dnnl_tp_f32, 1, any)};
    dnnl_tp_value_t init[2] = {x, z}, next[2] = {relu(body, v[0]), relu(body, v[1])};
    dnnl_tp_value_t twice[2] = {v[0], v[0]}, wrong[2] = {z, p}, foreign[2] = {relu(stray, x), v[1]};
#define LOOP(c, b, n, from, in, to, window) \
    dnnl_tp_graph_while(g, "loop", c, p, b, n, from, in, to, window, out)
    REFUSED(LOOP(cond, stray, 2, init, v, next, 0), GRAPH_REGION, "body");
    REFUSED(LOOP(stray, body, 2, init, v, next, 0), GRAPH_REGION, "body");
    REFUSED(LOOP(cond, body, 1, init, v, next, 0), GRAPH_REGION, "2 inputs");
    REFUSED(LOOP(cond, body, 2, init, twice, next, 0), GRAPH_REGION, "twice");
    REFUSED(LOOP(cond, body, 2, init, init, next, 0), GRAPH_REGION, "body_in 0");
    REFUSED(LOOP(cond, body, 2, v, v, next, 0), GRAPH_BAD_VALUE, "init 0");
    REFUSED(LOOP(cond, body, 2, init, v, foreign, 0), GRAPH_BAD_VALUE, "body_out 0");
    REFUSED(LOOP(cond, body, 2, init, v, next, -1), BAD_PARAM, "window");
    REFUSED(LOOP(cond, body, 2, init, v, next, 65), BAD_PARAM, "window");
    FAILS(LOOP(cond, body, 2, wrong, v, next, 0), invalid_data_type, GRAPH_DATA_TYPE,
          "initial value of variable 1");
    wrong[0] = v[0];
    FAILS(LOOP(cond, body, 2, init, v, wrong, 0), invalid_data_type, GRAPH_DATA_TYPE,
          "next value of variable 1");
    FAILS(dnnl_tp_graph_while(g, "loop", cond, v[0], body, 2, init, v, next, 0, out), invalid_shape,
          GRAPH_SHAPE, "predicate");
    assert_true(out[0] == -1 && out[1] == -1);
    /* body_in may stand in another order than the inputs were made. */
    dnnl_tp_value_t from[2] = {z, x}, in[2] = {v[1], v[0]}, to[2] = {next[1], next[0]};
    OK(dnnl_tp_graph_while(g, "loop", cond, p, body, 2, from, in, to, 0, from));
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_graph_value_info(g, from[0], &info));
    assert_true(info.dims[0] == DNNL_TP_RUNTIME_DIM_VAL);
    OK(dnnl_tp_graph_value_info(g, from[1], &info));
    assert_int_equal(info.dims[0], 2);
    dnnl_tp_graph_destroy(cond);
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(stray);
    dnnl_tp_graph_destroy(g);
}

static void test_function(void **state) {
    (void)state;
    dnnl_tp_graph_t g, f, none = NULL;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    dnnl_tp_value_t x = input(g, dnnl_tp_f32, 1, two), y = input(g, dnnl_tp_f32, 1, three), c, p, out, deep;
    static const float data[2] = {1, 2};
    OK(dnnl_tp_graph_constant(g, &c, "c", dnnl_tp_f32, 1, two, data, 0, NULL, NULL));
    dnnl_tp_tensor_info_t t = {.ndims = 1, .dims = {2}, .data_type = dnnl_tp_f32}, open = t;
    open.dims[0] = DNNL_TP_RUNTIME_DIM_VAL;
    FAILS(dnnl_tp_graph_create_function(&f, g, "f", 1, &open, &p, 1, &t), invalid_shape, GRAPH_RUNTIME_SHAPE,
          "'f'");
    OK(dnnl_tp_graph_create_function(&f, g, "f", 1, &t, &p, 1, &t));
    dnnl_tp_value_t in[2] = {p, x};
    REFUSED(dnnl_tp_graph_op(f, dnnl_tp_op_add, "sum", 2, in, 0, NULL, 1, &out), GRAPH_BAD_VALUE, "sum");
    in[1] = c;
    OK(dnnl_tp_graph_op(f, dnnl_tp_op_add, "sum", 2, in, 0, NULL, 1, &out));
    REFUSED(dnnl_tp_graph_input(f, &deep, "late", dnnl_tp_f32, 1, two), GRAPH_REGION, "late");
    OK(dnnl_tp_graph_call(f, "self", f, 1, &out, 1, &deep)); /* legal to build: it never ends */
    OK(dnnl_tp_graph_output(f, deep, "r"));
    REFUSED(dnnl_tp_graph_output(f, deep, "r"), GRAPH_BAD_ARITY, "'f'");
    REFUSED(dnnl_tp_graph_call(g, "use", f, 2, in, 1, &out), GRAPH_BAD_ARITY, "use");
    FAILS(dnnl_tp_graph_call(g, "use", f, 1, &y, 1, &out), invalid_shape, GRAPH_SHAPE, "use");
    REFUSED(dnnl_tp_graph_call(g, "use", g, 1, &x, 1, &out), GRAPH_REGION, "use");
    REFUSED(dnnl_tp_graph_call(g, "use", none, 1, &x, 1, &out), BAD_HANDLE, "");
    REFUSED(dnnl_tp_graph_create_function(&none, f, "g", 0, NULL, NULL, 0, NULL), GRAPH_REGION, "");
    OK(dnnl_tp_graph_call(g, "use", f, 1, &x, 1, &out));
    dnnl_tp_graph_destroy(f);
    dnnl_tp_graph_destroy(g);
}

static dnnl_tp_status_t nothing(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_success;
}

static void test_order(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    dnnl_tp_graph_t r = region(g);
    dnnl_tp_tensor_info_t empty = {.ndims = 1, .dims = {0}, .data_type = dnnl_tp_u8};
    dnnl_tp_value_t x = input(g, dnnl_tp_f32, 1, two), a, b, c;
    OK(dnnl_tp_graph_host(g, nothing, NULL, NULL, 0, "a", 0, NULL, 1, &empty, &a));
    OK(dnnl_tp_graph_host(g, nothing, NULL, NULL, DNNL_TP_HOST_MAY_BLOCK, "b", 0, NULL, 1, &empty, &b));
    OK(dnnl_tp_graph_host(r, nothing, NULL, NULL, 0, "c", 0, NULL, 1, &empty, &c));
    OK(dnnl_tp_graph_host(g, nothing, NULL, NULL, 0, "sink", 1, &a, 0, NULL, NULL));
    REFUSED(dnnl_tp_graph_host(g, nothing, NULL, NULL, 3, "d", 0, NULL, 1, &empty, &c), BAD_FLAGS, "'d'");
    c = b + 1;
    OK(dnnl_tp_graph_control_dependency(g, a, b));
    OK(dnnl_tp_graph_control_dependency(r, a, c));
    REFUSED(dnnl_tp_graph_control_dependency(g, b, a), GRAPH_REGION, "'a'");
    REFUSED(dnnl_tp_graph_control_dependency(g, a, a), GRAPH_REGION, "'a'");
    REFUSED(dnnl_tp_graph_control_dependency(g, a, c), GRAPH_REGION, "'c'");
    REFUSED(dnnl_tp_graph_control_dependency(g, x, a), GRAPH_BAD_VALUE, "operator");
    REFUSED(dnnl_tp_graph_control_dependency(g, 99, a), GRAPH_BAD_VALUE, "99");
    OK(dnnl_tp_graph_target(g, b));
    REFUSED(dnnl_tp_graph_target(g, c), GRAPH_REGION, "'c'");
    REFUSED(dnnl_tp_graph_target(g, x), GRAPH_BAD_VALUE, "operator");
    dnnl_tp_graph_destroy(r);
    dnnl_tp_graph_destroy(g);
}

static void test_cancel(void **state) {
    (void)state;
    dnnl_tp_cancel_t c;
    OK(dnnl_tp_cancel_create(&c));
    OK(dnnl_tp_cancel_fire(c));
    OK(dnnl_tp_cancel_fire(c));
    OK(dnnl_tp_cancel_destroy(c));
    OK(dnnl_tp_cancel_destroy(NULL));
    REFUSED(dnnl_tp_cancel_create(NULL), NULL_ARG, "");
    REFUSED(dnnl_tp_cancel_fire(NULL), BAD_HANDLE, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_if), cmocka_unit_test(test_while),
                                       cmocka_unit_test(test_function), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
