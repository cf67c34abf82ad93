/* Every operator of graphs with every attribute against the double mirror, fused and one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/mirror.h"

static const double tolerance = 2e-6;

static mirror_t *fresh(uint64_t seed) {
    mirror_t *m = malloc(sizeof *m);
    mirror_init(m, seed);
    return m;
}

/* Both ways, then ends. */
static void finish(mirror_t *m, int v, double tol) {
    mirror_output(m, v);
    assert_int_equal(mirror_check(m, NULL, DNNL_TP_COMPILE_NO_FUSION, tol), 0);
    assert_int_equal(mirror_check(m, NULL, 0, tol), 0);
    mirror_free(m);
    free(m);
}

static const int64_t shape3[3] = {3, 5, 19};

static void test_unary(void **state) {
    (void)state;
    static const struct {
        dnnl_tp_op_kind_t kind;
        int positive; /* 1: |x| + 0.1 first */
        int key[2];
        float value[2];
    } cases[] = {
        {dnnl_tp_op_abs, 0, {0}, {0}},
        {dnnl_tp_op_clamp, 0, {dnnl_tp_op_attr_min, dnnl_tp_op_attr_max}, {-.25f, .5f}},
        {dnnl_tp_op_elu, 0, {dnnl_tp_op_attr_alpha}, {.7f}},
        {dnnl_tp_op_exp, 0, {0}, {0}},
        {dnnl_tp_op_gelu, 0, {0}, {0}},
        {dnnl_tp_op_hard_swish, 0, {0}, {0}},
        {dnnl_tp_op_leaky_relu, 0, {dnnl_tp_op_attr_alpha}, {.1f}},
        {dnnl_tp_op_log, 1, {0}, {0}},
        {dnnl_tp_op_mish, 0, {0}, {0}},
        {dnnl_tp_op_reciprocal, 1, {0}, {0}},
        {dnnl_tp_op_relu, 0, {0}, {0}},
        {dnnl_tp_op_round, 0, {0}, {0}},
        {dnnl_tp_op_sigmoid, 0, {0}, {0}},
        {dnnl_tp_op_softplus, 0, {dnnl_tp_op_attr_beta}, {2.f}},
        {dnnl_tp_op_softplus, 0, {0}, {0}},
        {dnnl_tp_op_sqrt, 1, {0}, {0}},
        {dnnl_tp_op_square, 0, {0}, {0}},
        {dnnl_tp_op_tanh, 0, {0}, {0}},
        {dnnl_tp_op_hard_sigmoid, 0, {dnnl_tp_op_attr_alpha, dnnl_tp_op_attr_beta}, {.4f, .3f}},
        {dnnl_tp_op_pow, 1, {dnnl_tp_op_attr_beta}, {2.5f}},
        {dnnl_tp_op_erf, 0, {0}, {0}},
        {dnnl_tp_op_swish, 0, {0}, {0}},
        {dnnl_tp_op_swish, 0, {dnnl_tp_op_attr_alpha}, {1.7f}},
        {dnnl_tp_op_hard_tanh, 0, {dnnl_tp_op_attr_max}, {.25f}},
        {dnnl_tp_op_hard_tanh, 0, {dnnl_tp_op_attr_min, dnnl_tp_op_attr_max}, {-.5f, .25f}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mirror_t *m = fresh(i + 1);
        dnnl_tp_op_attr_t attr[2];
        int n = 0, x = mirror_input(m, 3, shape3);
        if (cases[i].positive)
            x = mirror_binary(m, dnnl_tp_op_add, mirror_unary(m, dnnl_tp_op_abs, x), mirror_scalar(m, .1));
        for (; n < 2 && cases[i].key[n]; ++n) attr[n] = mirror_f32(cases[i].key[n], &cases[i].value[n]);
        print_message("unary %d\n", (int)cases[i].kind);
        finish(m, mirror_op(m, cases[i].kind, "u", 1, &x, n, attr), tolerance);
    }
    mirror_t *m = fresh(99);
    dnnl_tp_op_attr_t mode = {dnnl_tp_op_attr_mode, dnnl_tp_op_attr_string, 9, "gelu_tanh"};
    int x = mirror_input(m, 3, shape3);
    finish(m, mirror_op(m, dnnl_tp_op_gelu, "u", 1, &x, 1, &mode), tolerance);
    m = fresh(98); /* with its defaults, on what lies on both sides of them */
    x = mirror_binary(m, dnnl_tp_op_multiply, mirror_input(m, 3, shape3), mirror_scalar(m, 3.));
    finish(m, mirror_unary(m, dnnl_tp_op_hard_tanh, x), tolerance);
}

static void test_binary(void **state) {
    (void)state;
    static const dnnl_tp_op_kind_t kinds[] = {
        dnnl_tp_op_add,     dnnl_tp_op_subtract, dnnl_tp_op_multiply,          dnnl_tp_op_divide,
        dnnl_tp_op_maximum, dnnl_tp_op_minimum,  dnnl_tp_op_squared_difference};
    static const struct {
        int nx, ny;
        int64_t x[4], y[4];
    } shapes[] = {
        {3, 3, {3, 5, 19}, {3, 5, 19}},  {3, 1, {3, 5, 19}, {19}},
        {3, 0, {3, 5, 19}, {0}},         {0, 2, {0}, {4, 7}},
        {3, 2, {3, 5, 19}, {5, 19}},     {2, 3, {5, 19}, {3, 5, 19}},
        {3, 3, {3, 5, 19}, {3, 1, 19}},  {3, 3, {3, 1, 19}, {3, 5, 1}},
        {4, 3, {2, 3, 5, 4}, {3, 1, 4}}, {1, 2, {7}, {7, 1}},
        {2, 2, {1, 1}, {3, 3}},          {1, 1, {0}, {0}},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
            mirror_t *m = fresh(100 * k + i);
            int x = mirror_input(m, shapes[i].nx, shapes[i].x),
                y = mirror_input(m, shapes[i].ny, shapes[i].y);
            if (kinds[k] == dnnl_tp_op_divide)
                y = mirror_binary(m, dnnl_tp_op_add, mirror_unary(m, dnnl_tp_op_abs, y),
                                  mirror_scalar(m, .5));
            print_message("binary %d, shapes %zu\n", (int)kinds[k], i);
            finish(m, mirror_binary(m, kinds[k], x, y), tolerance);
        }
    mirror_t *m = fresh(77);
    int64_t n = 19;
    int x = mirror_input(m, 3, shape3);
    finish(m, mirror_binary(m, dnnl_tp_op_bias_add, x, mirror_input(m, 1, &n)), tolerance);
    m = fresh(78); /* both operands the same value */
    x = mirror_input(m, 3, shape3);
    finish(m, mirror_binary(m, dnnl_tp_op_multiply, x, x), tolerance);
}

static void test_reduce(void **state) {
    (void)state;
    static const struct {
        int n;
        int64_t axes[4];
    } axes[] = {{1, {0}}, {1, {-1}}, {2, {0, 2}}, {3, {0, 1, 2}}, {1, {1}}, {-1, {0}}, {1, {3}}};
    const int64_t dims[4] = {3, 5, 19, 1};
    for (int kind = dnnl_tp_op_reduce_l1; kind <= dnnl_tp_op_reduce_sum; ++kind)
        for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i)
            for (uint8_t keep = 0; keep < 2; ++keep) {
                mirror_t *m = fresh((uint64_t)kind * 31 + i);
                int x = mirror_input(m, 4, dims), n = 0;
                dnnl_tp_op_attr_t attr[2];
                attr[n++] = mirror_bool(dnnl_tp_op_attr_keep_dims, &keep);
                if (axes[i].n >= 0) attr[n++] = mirror_s64(dnnl_tp_op_attr_axes, axes[i].n, axes[i].axes);
                print_message("reduce %d, axes %zu, keep %d\n", kind, i, keep);
                finish(m, mirror_op(m, (dnnl_tp_op_kind_t)kind, "r", 1, &x, n, attr), 1e-5);
            }
}

static void test_matmul(void **state) {
    (void)state;
    static const struct {
        int nx, nw, ta, tb, bias;
        int64_t x[4], w[4], n;
    } cases[] = {
        {2, 2, 0, 0, 0, {5, 7}, {7, 9}, 9},
        {2, 2, 1, 0, 0, {7, 5}, {7, 9}, 9},
        {2, 2, 0, 1, 1, {5, 7}, {9, 7}, 9},
        {2, 2, 1, 1, 0, {7, 5}, {9, 7}, 9},
        {3, 2, 0, 0, 1, {2, 5, 7}, {7, 9}, 9},
        {3, 2, 1, 0, 0, {2, 7, 5}, {7, 9}, 9},
        {3, 3, 0, 0, 0, {2, 5, 7}, {2, 7, 9}, 9},
        {3, 3, 0, 1, 1, {2, 5, 7}, {1, 9, 7}, 9},
        {4, 3, 0, 0, 0, {3, 2, 5, 7}, {2, 7, 9}, 9},
        {2, 4, 0, 0, 0, {5, 7}, {3, 2, 7, 9}, 9},
        {1, 2, 0, 0, 0, {7}, {7, 9}, 9},
        {2, 1, 0, 0, 0, {5, 7}, {7}, 1},
        {1, 1, 0, 0, 0, {7}, {7}, 1},
        {3, 1, 0, 0, 0, {2, 5, 7}, {7}, 1},
        {1, 3, 0, 0, 0, {7}, {2, 7, 9}, 9},
        {2, 2, 0, 0, 1, {33, 64}, {64, 96}, 96},
        {2, 2, 0, 1, 1, {1, 64}, {96, 64}, 96},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int constant = 0; constant < 2; ++constant) {
            mirror_t *m = fresh(i);
            uint8_t ta = (uint8_t)cases[i].ta, tb = (uint8_t)cases[i].tb;
            dnnl_tp_op_attr_t attr[2] = {mirror_bool(dnnl_tp_op_attr_transpose_a, &ta),
                                         mirror_bool(dnnl_tp_op_attr_transpose_b, &tb)};
            int in[3] = {mirror_input(m, cases[i].nx, cases[i].x)};
            in[1] = constant ? mirror_constant(m, cases[i].nw, cases[i].w, 1.)
                             : mirror_input(m, cases[i].nw, cases[i].w);
            in[2] = constant ? mirror_constant(m, 1, &cases[i].n, 1.) : mirror_input(m, 1, &cases[i].n);
            print_message("matmul case %zu, constant %d\n", i, constant);
            finish(m, mirror_op(m, dnnl_tp_op_matmul, "mm", 2 + cases[i].bias, in, 2, attr), 1e-5);
        }
}

static void test_norms(void **state) {
    (void)state;
    const int64_t dims[4] = {2, 3, 5, 16}, row = 16, two[2] = {5, 16};
    for (int rms = 0; rms < 2; ++rms)
        for (int affine = 0; affine < 2; ++affine)
            for (int64_t begin = -2; begin < 0; ++begin) {
                mirror_t *m = fresh((uint64_t)(rms * 4 + affine * 2 + begin + 2));
                float eps = 1e-3f;
                uint8_t use = (uint8_t)affine;
                dnnl_tp_op_attr_t attr[3] = {mirror_f32(dnnl_tp_op_attr_epsilon, &eps),
                                             mirror_s64(dnnl_tp_op_attr_begin_norm_axis, 1, &begin),
                                             mirror_bool(dnnl_tp_op_attr_use_affine, &use)};
                int in[3] = {mirror_input(m, 4, dims)};
                for (int i = 1; i < 3; ++i)
                    in[i] = mirror_constant(m, begin == -1 ? 1 : 2, begin == -1 ? &row : two, 1.);
                finish(m,
                       mirror_op(m, rms ? dnnl_tp_op_rms_norm : dnnl_tp_op_layer_norm, "n",
                                 affine ? 3 - rms : 1, in, rms ? 2 : 3, attr),
                       1e-5);
            }
}

static void test_softmax(void **state) {
    (void)state;
    for (int is_log = 0; is_log < 2; ++is_log)
        for (int64_t axis = -3; axis < 3; ++axis) {
            mirror_t *m = fresh((uint64_t)(axis + 4));
            dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
            int x = mirror_input(m, 3, shape3);
            finish(m,
                   mirror_op(m, is_log ? dnnl_tp_op_log_softmax : dnnl_tp_op_softmax, "s", 1, &x, 1, &attr),
                   tolerance);
        }
}

static void test_layout(void **state) {
    (void)state;
    static const int64_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, -1, 1}, {-1, 0, 1}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
        mirror_t *m = fresh(i);
        dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_order, 3, orders[i]);
        int x = mirror_input(m, 3, shape3);
        x = mirror_op(m, dnnl_tp_op_static_transpose, "t", 1, &x, 1, &attr);
        mirror_output(m, x);
        const int64_t flat[2] = {15, -1};
        dnnl_tp_op_attr_t sh = mirror_s64(dnnl_tp_op_attr_shape, 2, flat);
        finish(m, mirror_op(m, dnnl_tp_op_static_reshape, "r", 1, &x, 1, &sh), 0.);
    }
    static const int64_t shapes[][3] = {{0, -1, 0}, {15, 19, 1}, {-1, 19, 5}, {0, 95, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        mirror_t *m = fresh(i);
        uint8_t yes = 1;
        dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_shape, 3, shapes[i]),
                                     mirror_bool(dnnl_tp_op_attr_special_zero, &yes)};
        int x = mirror_input(m, 3, shape3);
        x = mirror_op(m, dnnl_tp_op_static_reshape, "r", 1, &x, 2, attr);
        finish(m, mirror_unary(m, dnnl_tp_op_relu, x), 0.);
    }
    for (int64_t axis = -1; axis < 3; ++axis) {
        mirror_t *m = fresh((uint64_t)axis + 9);
        int64_t other[3] = {3, 5, 19};
        other[axis < 0 ? 2 : axis] = 4;
        dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
        int in[4] = {mirror_input(m, 3, shape3), mirror_input(m, 3, other), mirror_input(m, 3, shape3)};
        in[3] = in[0];
        finish(m, mirror_op(m, dnnl_tp_op_concat, "c", 4, in, 1, &attr), 0.);
    }
}

static void test_sequences(void **state) {
    (void)state;
    const int64_t dims[3] = {3, 7, 24}, flat[2] = {21, 24}, mask[2] = {3, 7}, mask4[4] = {3, 1, 1, 7},
                  heads = 3, table[2] = {11, 24}, ids[2] = {3, 7};
    const int32_t offsets[5] = {0, 4, 5, 5, 21};
    const float scale = .3f;
    dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_heads, 1, &heads),
                                 mirror_f32(dnnl_tp_op_attr_scale, &scale)};
    for (int form = 0; form < 5; ++form) {
        mirror_t *m = fresh((uint64_t)form);
        int nd = form < 3 ? 3 : 2,
            in[5] = {mirror_input(m, nd, nd == 3 ? dims : flat), mirror_input(m, nd, nd == 3 ? dims : flat),
                     mirror_input(m, nd, nd == 3 ? dims : flat), -1, -1};
        if (form == 1) in[3] = mirror_input(m, 2, mask);
        if (form == 2) in[3] = mirror_input(m, 4, mask4);
        if (form == 4) in[4] = mirror_ints(m, 5, offsets);
        print_message("attention form %d\n", form);
        finish(m,
               mirror_op(m, dnnl_tp_op_attention, "a", form == 0 || form == 3 ? 3 : 5, in, form == 0 ? 2 : 1,
                         attr),
               1e-5);
    }
    for (int form = 0; form < 4; ++form) {
        mirror_t *m = fresh((uint64_t)form + 50);
        int nd = form < 2 ? 3 : 2, in[3] = {mirror_input(m, nd, nd == 3 ? dims : flat), -1, -1};
        if (form == 1) in[1] = mirror_unary(m, dnnl_tp_op_abs, mirror_input(m, 2, mask));
        if (form == 3) in[2] = mirror_ints(m, 5, offsets);
        print_message("pool form %d\n", form);
        finish(m, mirror_op(m, dnnl_tp_op_pool_normalize, "p", form == 0 ? 1 : 3, in, 0, NULL), 1e-5);
    }
    for (int dt = 0; dt < 2; ++dt) {
        mirror_t *m = fresh((uint64_t)dt + 70);
        int in[2] = {mirror_constant(m, 2, table, 1.),
                     mirror_ids(m, dt ? dnnl_tp_s64 : dnnl_tp_s32, 2, ids, 11)};
        finish(m, mirror_op(m, dnnl_tp_op_gather, "g", 2, in, 0, NULL), 0.);
    }
}

/* Outputs that no operator writes: inputs, constants, views, one value twice. */
static void test_outputs(void **state) {
    (void)state;
    mirror_t *m = fresh(5);
    const int64_t order[3] = {2, 0, 1}, whole[1] = {-1};
    dnnl_tp_op_attr_t o = mirror_s64(dnnl_tp_op_attr_order, 3, order),
                      s = mirror_s64(dnnl_tp_op_attr_shape, 1, whole);
    int x = mirror_input(m, 3, shape3), c = mirror_constant(m, 3, shape3, 1.),
        y = mirror_unary(m, dnnl_tp_op_relu, x);
    mirror_output(m, x);
    mirror_output(m, c);
    mirror_output(m, y);
    mirror_output(m, y);
    mirror_output(m, mirror_op(m, dnnl_tp_op_static_reshape, "r", 1, &y, 1, &s));
    mirror_output(m, mirror_op(m, dnnl_tp_op_static_transpose, "t", 1, &c, 1, &o));
    mirror_output(m, mirror_unary(m, dnnl_tp_op_abs, c));
    finish(m, mirror_op(m, dnnl_tp_op_static_transpose, "t", 1, &y, 1, &o), 0.);
}

/* Dimensions of size 0 anywhere. */
static void test_empty(void **state) {
    (void)state;
    mirror_t *m = fresh(6);
    const int64_t none[2] = {0, 8}, w[2] = {8, 4};
    int in[2] = {mirror_input(m, 2, none), mirror_constant(m, 2, w, 1.)};
    int y = mirror_op(m, dnnl_tp_op_matmul, "mm", 2, in, 0, NULL);
    mirror_output(m, mirror_unary(m, dnnl_tp_op_gelu, y));
    const int64_t axis = 0;
    dnnl_tp_op_attr_t axes = mirror_s64(dnnl_tp_op_attr_axes, 1, &axis);
    finish(m, mirror_op(m, dnnl_tp_op_reduce_sum, "sum", 1, &y, 1, &axes), 0.);
    m = fresh(7);
    const int64_t x[2] = {3, 0}, w0[2] = {0, 4};
    int in0[2] = {mirror_input(m, 2, x), mirror_constant(m, 2, w0, 1.)};
    finish(m, mirror_op(m, dnnl_tp_op_matmul, "k0", 2, in0, 0, NULL), 0.);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary),  cmocka_unit_test(test_reduce),  cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_norms),   cmocka_unit_test(test_softmax), cmocka_unit_test(test_layout),
        cmocka_unit_test(test_outputs), cmocka_unit_test(test_empty),   cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_unary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
