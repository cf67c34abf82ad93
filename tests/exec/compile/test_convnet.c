/* Networks of convolutions as graphs: what is fused and folded, which copies are made, and that none of it changes results
 * beyond rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/with.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/net.h"
#include "support/upload.h"

static int steps_of(const dtp_exec_t *e, int kind) {
    int n = 0;
    for (int i = 0; i < e->nsteps; ++i)
        n += e->steps[i].work->prim[0] && (int)e->steps[i].work->prim[0]->pd->op->kind == kind;
    return n;
}

typedef struct {
    int kind, count;
} expected_t;

/* How many steps of each kind, and at all; then the results in every way. Ends the graph. */
static void finish(mirror_t *m, int steps, const expected_t *expected, int n) {
    static const int threads[] = {1, 2, 3, 7};
    dnnl_tp_tensor_info_t shapes[MIRROR_IO];
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts};
    dnnl_tp_executable_t e;
    for (int i = 0; i < m->nin; ++i) shapes[i] = m->value[m->in[i]].info;
    CHECK_OK(dnnl_tp_executable_compile(&e, m->graph, m->engine, m->nin, shapes, &opts));
    int all = 0;
    for (int i = 0; i < e->nsteps; ++i) all += e->steps[i].work->prim[0] != NULL;
    for (int i = 0; i < n && !m->bf16; ++i) { /* else products stand in front */
        const int have = steps_of(e, expected[i].kind);
        if (have != expected[i].count)
            fail_msg("kind %d: %d steps, not %d", expected[i].kind, have, expected[i].count);
    }
    if (steps >= 0 && all != steps && !m->bf16) fail_msg("%d steps with a primitive, not %d", all, steps);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    assert_int_equal(mirror_check(m, NULL, DNNL_TP_COMPILE_NO_FUSION, 5e-5), 0);
    for (int i = 0; i < 4; ++i) {
        const dnnl_tp_threadpool_opts_t with = {.struct_size = sizeof with, .num_threads = threads[i]};
        dnnl_tp_threadpool_t pool = NULL;
        if (DNNL_TP_WITH_THREADPOOL && i) CHECK_OK(dnnl_tp_threadpool_create(&pool, &with));
        assert_int_equal(mirror_check(m, pool, 0, 5e-5), 0);
        if (pool) CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    }
    mirror_free(m);
    free(m);
}
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* ---- Networks ---------------------------------------------------------------------------------------- */

/* No copy: the first layer reads its few channels where they lie. A step for each convolution, pooling, mean (of few pixels: pooling) and the classifier, none for
 * anything else. */
static void test_chain(void **state) {
    (void)state;
    for (int64_t n = 1; n < 4; ++n) {
        mirror_t *m = net_begin((uint64_t)n);
        int x = net_relu(m, net_norm(m, net_conv(m, net_image(m, n, 3, 16), 3, 24, 3, 1, false), 24));
        int y = net_conv(m, x, 24, 24, 3, 1, true);
        y = net_relu(m, net_binary(m, dnnl_tp_op_add, y, x));
        y = net_conv(m, net_halved(m, dnnl_tp_op_max_pool, y), 24, 40, 1, 1, true);
        y = net_flat(m, net_average(m, y, true));
        mirror_output(m, mirror_linear(m, "classes", y, 40, 10, 0, 1));
        static const expected_t expected[] = {{dnnl_tp_reorder, 0},
                                              {dnnl_tp_convolution, 3},
                                              {dnnl_tp_pooling, 2},
                                              {dnnl_tp_reduction, 0},
                                              {dnnl_tp_matmul, 1}};
        finish(m, 6, expected, COUNT(expected));
    }
}

/* Channel maps in every form go into the constants; a residual and its relu follow; depthwise and groups, too. */
static void test_maps(void **state) {
    (void)state;
    mirror_t *m = net_begin(1);
    int x = net_conv(m, net_image(m, 2, 8, 9), 8, 32, 1, 1, true), y, c;
    y = net_norm(m, x, 32);
    y = net_binary(m, dnnl_tp_op_multiply, net_per_channel(m, 3, 32), y);
    y = net_binary(m, dnnl_tp_op_add, y, net_per_channel(m, 4, 32));
    y = net_binary(m, dnnl_tp_op_subtract, y, net_per_channel(m, 3, 32));
    c = mirror_unary(m, dnnl_tp_op_exp, net_per_channel(m, 3, 32));
    y = net_binary(m, dnnl_tp_op_divide, y, c);
    y = net_binary(m, dnnl_tp_op_multiply, y, mirror_scalar(m, .75));
    y = net_relu(m, y);
    y = net_relu(m, net_norm(m, net_conv(m, y, 32, 32, 3, 32, false), 32));
    y = mirror_unary(m, dnnl_tp_op_hard_swish, net_norm(m, net_conv(m, y, 32, 16, 3, 4, true), 16));
    y = net_binary(m, dnnl_tp_op_add, net_conv(m, y, 16, 12, 1, 1, false), net_per_channel(m, 3, 12));
    mirror_output(m, net_average(m, y, false));
    static const expected_t expected[] = {
        {dnnl_tp_reorder, 1}, {dnnl_tp_convolution, 4}, {dnnl_tp_reduction, 1}};
    finish(m, 6, expected, COUNT(expected));
}

/* Behind a transposed convolution, too: of channels that do not fill a register. */
static void test_maps_transposed(void **state) {
    (void)state;
    static const int64_t two[2] = {2, 2};
    for (int64_t n = 1; n < 3; ++n) {
        mirror_t *m = net_begin(5);
        int x = net_conv(m, net_image(m, n, 3, 7), 3, 12, 3, 1, true);
        for (int i = 0; i < 3; ++i) {
            static const int64_t sizes[3][4] = {{20, 12, 2, 2}, {1, 20, 2, 2}, {6, 1, 3, 3}};
            const dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_strides, 2, two);
            const int in[2] = {x, mirror_constant(m, 4, sizes[i], .3)};
            x = mirror_op(m, dnnl_tp_op_conv_transpose, "up", 2, in, 1, &attr);
            x = net_binary(m, dnnl_tp_op_add, x, net_per_channel(m, 3, sizes[i][0]));
            x = net_relu(m, net_norm(m, x, sizes[i][0]));
        }
        mirror_output(m, net_average(m, x, true));
        static const expected_t expected[] = {{dnnl_tp_reorder, 0},
                                              {dnnl_tp_convolution, 1},
                                              {dnnl_tp_deconvolution, 3},
                                              {dnnl_tp_reduction, 1}};
        finish(m, 5, expected, COUNT(expected));
    }
}

/* A constant minus what a convolution gives is not what it gives minus the constant. */
static void test_reversed(void **state) {
    (void)state;
    mirror_t *m = net_begin(1);
    int y = net_conv(m, net_image(m, 2, 8, 9), 8, 32, 1, 1, true);
    y = net_relu(m, net_binary(m, dnnl_tp_op_subtract, mirror_scalar(m, .75), y));
    y = net_binary(m, dnnl_tp_op_subtract, net_per_channel(m, 3, 32), net_conv(m, y, 32, 32, 1, 1, true));
    mirror_output(m, net_average(m, y, false));
    static const expected_t expected[] = {{dnnl_tp_convolution, 2}};
    finish(m, 6, expected, COUNT(expected));
}

/* What may not be folded: somebody else reads the sums; the map stands in front, or behind a function; it is no constant. */
static void test_no_map(void **state) {
    (void)state;
    mirror_t *m = net_begin(2);
    const int64_t channels = 6;
    int x = net_conv(m, net_image(m, 2, 4, 5), 4, 6, 3, 1, true);
    mirror_output(m, net_average(m, x, true));
    int y = net_relu(m, net_norm(m, x, 6)); /* a pass of its own, with the relu */
    y = net_relu(m, net_conv(m, y, 6, 6, 3, 1, true));
    y = net_norm(m, y, 6);
    mirror_output(m, net_average(m, y, true));
    const int64_t dims[3] = {channels, 1, 1};
    y = net_binary(m, dnnl_tp_op_multiply, net_conv(m, y, 6, 6, 3, 1, true), mirror_input(m, 3, dims));
    mirror_output(m, net_average(m, y, true));
    static const expected_t expected[] = {
        {dnnl_tp_reorder, 0}, {dnnl_tp_convolution, 3}, {dnnl_tp_binary, 2}, {dnnl_tp_pooling, 3}};
    finish(m, 8, expected, COUNT(expected));
}

/* Behind a normalisation that stands in front of a convolution maps of channels become its own: one pass, with the relu. */
static void test_maps_in_front(void **state) {
    (void)state;
    for (int64_t n = 1; n < 4; n += 2) {
        mirror_t *m = net_begin(11);
        int x = net_conv(m, net_image(m, n, 4, 6), 4, 12, 3, 1, true);
        x = net_joined(m, x, net_relu(m, x)); /* nobody folds these into a convolution */
        int y = net_binary(m, dnnl_tp_op_multiply, net_norm(m, x, 24), net_per_channel(m, 3, 24));
        y = net_relu(m, net_binary(m, dnnl_tp_op_add, net_per_channel(m, 4, 24), y));
        mirror_output(m, net_average(m, net_conv(m, y, 24, 6, 3, 1, true), true));
        mirror_output(m, net_average(m, x, true));
        static const expected_t expected[] = {
            {dnnl_tp_convolution, 2}, {dnnl_tp_binary, 1}, {dnnl_tp_eltwise, 1}};
        finish(m, -1, expected, COUNT(expected));
    }
}

static int reshaped(mirror_t *m, int x, int ndims, const int64_t *dims) {
    const dnnl_tp_op_attr_t shape = mirror_s64(dnnl_tp_op_attr_shape, ndims, dims);
    return mirror_op(m, dnnl_tp_op_static_reshape, "reshape", 1, &x, 1, &shape);
}

/* Channels are shuffled by one step where convolutions stand before and behind; otherwise what a reshape has to copy goes to where
 * a convolution reads it. */
static void test_shuffle(void **state) {
    (void)state;
    static const int64_t order[5] = {0, 2, 1, 3, 4}, turned[4] = {0, 1, 3, 2};
    for (int64_t n = 1; n < 4; n += 2)
        for (int from_image = 0; from_image < 2; ++from_image) {
            const int64_t apart[5] = {n, 4, 6, 5, 5}, whole[4] = {n, 24, 5, 5}, other[4] = {n, 24, 25, 1};
            mirror_t *m = net_begin(12);
            int x = net_image(m, n, 24, 5);
            if (!from_image) x = net_conv(m, x, 24, 24, 1, 4, true);
            x = reshaped(m, x, 5, apart);
            dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_order, 5, order);
            x = reshaped(m, mirror_op(m, dnnl_tp_op_static_transpose, "turn", 1, &x, 1, &attr), 4, whole);
            x = net_conv(m, x, 24, 24, 3, 24, false);
            attr = mirror_s64(dnnl_tp_op_attr_order, 4, turned);
            x = reshaped(m, mirror_op(m, dnnl_tp_op_static_transpose, "turn", 1, &x, 1, &attr), 4, other);
            mirror_output(m, net_average(m, net_conv(m, x, 24, 8, 1, 1, true), true));
            const expected_t expected[] = {{dnnl_tp_shuffle, !from_image}, {dnnl_tp_reorder, 2}};
            finish(m, -1, expected, COUNT(expected));
        }
}

/* Softmax over the channels that a convolution makes: nothing is copied but at the edges. */
static void test_softmax(void **state) {
    (void)state;
    static const int64_t axes[] = {1, 2, -1};
    for (int i = 0; i < 3; ++i)
        for (int64_t n = 1; n < 4; n += 2) {
            mirror_t *m = net_begin(13);
            int x = net_conv(m, net_image(m, n, 3, 6), 3, 21, 3, 1, true);
            const dnnl_tp_op_attr_t axis = mirror_s64(dnnl_tp_op_attr_axis, 1, &axes[i]);
            x = mirror_op(m, dnnl_tp_op_softmax, "softmax", 1, &x, 1, &axis);
            mirror_output(m, net_average(m, net_conv(m, x, 21, 5, 1, 1, true), true));
            static const expected_t expected[] = {
                {dnnl_tp_reorder, 0}, {dnnl_tp_softmax, 1}, {dnnl_tp_convolution, 2}, {dnnl_tp_pooling, 1}};
            finish(m, 4, expected, COUNT(expected));
        }
}

/* Squeeze and excite, branches that are joined, and the activations that exporters write out. */
static void test_branches(void **state) {
    (void)state;
    mirror_t *m = net_begin(3);
    int x = net_relu(m, net_conv(m, net_image(m, 2, 3, 12), 3, 16, 3, 1, true));
    int gate = net_relu(m, net_conv(m, net_average(m, x, true), 16, 8, 1, 1, true));
    gate = mirror_unary(m, dnnl_tp_op_sigmoid, net_conv(m, gate, 8, 16, 1, 1, true));
    x = net_binary(m, dnnl_tp_op_multiply, x, gate);
    int a = net_conv(m, x, 16, 8, 1, 1, true), b = net_conv(m, x, 16, 24, 3, 1, true);
    a = net_binary(m, dnnl_tp_op_multiply, a, mirror_unary(m, dnnl_tp_op_sigmoid, a));
    const float zero = 0.f, six = 6.f;
    const dnnl_tp_op_attr_t range[2] = {mirror_f32(dnnl_tp_op_attr_min, &zero),
                                        mirror_f32(dnnl_tp_op_attr_max, &six)};
    int c = net_binary(m, dnnl_tp_op_add, b, mirror_scalar(m, 3.));
    c = mirror_op(m, dnnl_tp_op_clamp, "relu6", 1, &c, 2, range);
    b = net_binary(m, dnnl_tp_op_divide, net_binary(m, dnnl_tp_op_multiply, b, c), mirror_scalar(m, 6.));
    x = net_halved(m, dnnl_tp_op_avg_pool, net_joined(m, a, b));
    mirror_output(m, net_average(m, x, true));
    static const expected_t expected[] = {{dnnl_tp_reorder, 0}, {dnnl_tp_convolution, 5},
                                          {dnnl_tp_binary, 1},  {dnnl_tp_concat, 0},
                                          {dnnl_tp_pooling, 2}, {dnnl_tp_reduction, 1}};
    finish(m, 9, expected, COUNT(expected));
}

/* Behind squeeze and excite the residual and the activation are done in the pass that multiplies the channels. */
static void test_excite(void **state) {
    (void)state;
    for (int i = 0; i < 6; ++i) {
        mirror_t *m = net_begin((uint64_t)i + 40);
        int x = net_relu(m, net_conv(m, net_image(m, 1 + i / 2, 3, 12), 3, 16, 3, 1, true));
        int gate = net_relu(m, net_conv(m, net_average(m, x, true), 16, 8, 1, 1, true));
        gate = mirror_unary(m, dnnl_tp_op_sigmoid, net_conv(m, gate, 8, 16, 1, 1, true));
        int y = net_binary(m, dnnl_tp_op_multiply, x, gate);
        y = i % 2 ? net_relu(m, net_binary(m, dnnl_tp_op_add, x, y))
                  : mirror_unary(m, dnnl_tp_op_hard_swish, y);
        mirror_output(m, net_average(m, y, true));
        static const expected_t expected[] = {
            {dnnl_tp_convolution, 3}, {dnnl_tp_binary, 1}, {dnnl_tp_reduction, 2}};
        finish(m, 6, expected, COUNT(expected));
    }
}

/* Channels are joined in place: by convolutions, pooling and normalisation, also what is joined again and again, of one image and
 * in slices of several. */
static void test_joins(void **state) {
    (void)state;
    for (int64_t n = 1; n<6; n += n> 1 ? 2 : 1) {
        mirror_t *m = net_begin(7);
        int x = net_conv(m, net_image(m, n, 3, 12), 3, 16, 3, 1, true);
        for (int64_t c = 16; c < 40; c += 8) { /* as in DenseNet */
            int y = net_relu(m, net_conv(m, net_relu(m, net_norm(m, x, c)), c, 24, 1, 1, true));
            x = net_joined(m, x, net_conv(m, y, 24, 8, 3, 1, false));
        }
        x = net_relu(m, net_conv(m, x, 40, 8, 1, 1, true));
        x = net_joined(m, net_relu(m, net_conv(m, x, 8, 16, 1, 1, true)),
                       net_relu(m, net_conv(m, x, 8, 20, 3, 1, true)));
        x = net_joined(m, net_halved(m, dnnl_tp_op_max_pool, x),
                       net_halved(m, dnnl_tp_op_avg_pool, net_norm(m, x, 36)));
        mirror_output(m, net_average(m, x, true));
        const expected_t expected[] = {{dnnl_tp_reorder, 0}, {dnnl_tp_convolution, 10},
                                       {dnnl_tp_binary, 4},  {dnnl_tp_concat, 0},
                                       {dnnl_tp_pooling, 3}, {dnnl_tp_reduction, 0}};
        finish(m, 17, expected, COUNT(expected));
    }
}

/* A convolution's result is joined with a constant, or with an input that nothing has read yet, along every dimension, on
 * either side; the other part has another size along it. */
static void test_joins_along_every_axis(void **state) {
    (void)state;
    for (int i = 0; i < 16; ++i) {
        const int axis = i / 4, first = i & 1, constant = i >> 1 & 1;
        int64_t dims[4] = {2, 16, 6, 6};
        dims[axis] = axis == 1 ? 5 : 3;
        mirror_t *m = net_begin((uint64_t)i + 60);
        int x = net_conv(m, net_image(m, 2, 3, 6), 3, 16, 3, 1, true);
        int y = constant ? mirror_constant(m, 4, dims, 1.) : mirror_input(m, 4, dims);
        x = first ? net_joined_along(m, axis, y, x) : net_joined_along(m, axis, x, y);
        mirror_output(m, net_conv(m, x, axis == 1 ? 21 : 16, 8, 1, 1, true));
        finish(m, -1, NULL, 0);
    }
}

/* Softmax along an axis of one element, behind a product that is computed in slices. */
static void test_axis_of_one(void **state) {
    (void)state;
    static const int64_t dims[4] = {1, 1, 64, 64}, axis = 1;
    for (int64_t n = 1; n < 4; ++n) {
        mirror_t *m = net_begin((uint64_t)n + 80);
        int x = net_binary(m, dnnl_tp_op_multiply, net_image(m, n, 1, 64), mirror_constant(m, 4, dims, 1.));
        const dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
        mirror_output(m, mirror_op(m, dnnl_tp_op_softmax, "softmax", 1, &x, 1, &attr));
        finish(m, -1, NULL, 0);
    }
}

/* What cannot be written in place is copied there once: an input, a function that others read, a value that is wanted twice. */
static void test_copied_joins(void **state) {
    (void)state;
    mirror_t *m = net_begin(8);
    int in = net_image(m, 1, 5, 6), x = net_conv(m, in, 5, 16, 3, 1, true);
    int y = net_relu(m, x), z = net_conv(m, y, 16, 7, 1, 1, true); /* x and y are read twice */
    mirror_output(m, net_joined(m, net_joined(m, x, z), net_joined(m, y, in)));
    mirror_output(m, net_joined(m, z, z));
    mirror_output(m, net_conv(m, net_joined(m, z, mirror_unary(m, dnnl_tp_op_abs, z)), 14, 4, 1, 1, true));
    const int in3[3] = {x, z, z};
    static const int64_t axis = 1;
    const dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
    int w = mirror_op(m, dnnl_tp_op_concat, "concat", 3, in3, 1, &attr);
    mirror_output(m, w);
    finish(m, -1, NULL, 0);
}

/* Random networks over values of one size, any of which may be read again and be an output. */
static void test_random(void **state) {
    (void)state;
    enum { VALUES = 14, SIDE = 5 };
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        mirror_t *m = net_begin(seed * 977);
        int v[VALUES] = {net_image(m, 1 + (int64_t)(seed % 2 ? 0 : seed % 7), 6, SIDE)}, nout = 0;
        int64_t c[VALUES] = {6};
        for (int i = 1; i < VALUES; ++i) {
            int from[2];
            for (int k = 0; k < 2; ++k) {
                const int back = (int)((mirror_random(m) + 1.) * .5 * (i < 4 ? i : 4));
                from[k] = i - 1 - (back < i ? back : i - 1);
            }
            const int x = v[from[0]], y = v[from[1]];
            const int64_t cx = c[from[0]];
            c[i] = cx;
            switch ((int)((mirror_random(m) + 1.) * 6.)) {
            case 0: v[i] = net_norm(m, x, cx); break;
            case 1: v[i] = net_relu(m, x); break;
            case 2:
            case 3:
            case 4:
                if (cx + c[from[1]] < 64) {
                    v[i] = net_joined(m, x, y);
                    c[i] = cx + c[from[1]];
                    break;
                } /* fall through */
            case 5:
                v[i] = cx == c[from[1]] ? net_binary(m, dnnl_tp_op_add, x, y)
                                        : mirror_unary(m, dnnl_tp_op_abs, x);
                break;
            case 6: v[i] = net_conv(m, x, cx, cx, 3, cx, true); break; /* depthwise */
            case 7: v[i] = net_binary(m, dnnl_tp_op_multiply, x, net_per_channel(m, 3, cx)); break;
            default:
                c[i] = 3 + (int64_t)(4. * (mirror_random(m) + 1.));
                v[i] = net_conv(m, x, cx, c[i], i % 2 ? 3 : 1, 1, i % 3 > 0);
            }
            if (i == VALUES - 1 || mirror_random(m) > .7) mirror_output(m, v[i]), ++nout;
        }
        if (mirror_check(m, NULL, DNNL_TP_COMPILE_NO_FUSION, 2e-4)) fail_msg("seed %d alone", (int)seed);
        for (int threads = 1; threads < 4; ++threads) {
            const dnnl_tp_threadpool_opts_t with = {.struct_size = sizeof with, .num_threads = threads};
            dnnl_tp_threadpool_t pool = NULL;
            if (DNNL_TP_WITH_THREADPOOL) CHECK_OK(dnnl_tp_threadpool_create(&pool, &with));
            for (unsigned flags = 0; flags < 2; ++flags)
                if (mirror_check(m, pool, flags ? DNNL_TP_COMPILE_NO_CLUSTERS : 0, 2e-4))
                    fail_msg("seed %d, %d threads", (int)seed, threads);
            if (pool) CHECK_OK(dnnl_tp_threadpool_destroy(pool));
        }
        mirror_free(m);
        free(m);
    }
}

/* In front of a classifier images are flattened as they lie, and its constant weights stand in the order of their pixels:
 * nothing is copied. Columns enough for two turns of packing; one pixel or channel left; flattened in two steps. */
static void test_flatten(void **state) {
    (void)state;
    static const int64_t channels[] = {40, 33, 1}, side[] = {8, 5, 2}, classes[] = {230, 17, 3};
    for (int i = 0; i < 12; ++i) {
        const int64_t c = channels[i % 3], n = 1 + i / 6 * 2, planes[3] = {n, c, side[i % 3] * side[i % 3]};
        mirror_t *m = net_begin((uint64_t)i + 20);
        int x = net_relu(m, net_conv(m, net_image(m, n, 3, 2 * side[i % 3]), 3, c, 3, 1, true));
        x = net_halved(m, dnnl_tp_op_max_pool, x);
        if (i & 1) x = reshaped(m, x, 3, planes);
        x = net_relu(m, mirror_linear(m, "fc", net_flat(m, x), c * planes[2], classes[i % 3], i / 3 & 1, 0));
        mirror_output(m, mirror_linear(m, "classes", x, classes[i % 3], 5, 1, 1));
        static const expected_t expected[] = {
            {dnnl_tp_reorder, 0}, {dnnl_tp_convolution, 1}, {dnnl_tp_pooling, 1}, {dnnl_tp_matmul, 2}};
        finish(m, 4, expected, COUNT(expected));
    }
}

/* What is flattened is copied once where somebody else reads it row-major; two products and a pooling read the images as they
 * lie, whose weights are shared with a product that reads rows as they are. */
static void test_flatten_beside(void **state) {
    (void)state;
    mirror_t *m = net_begin(31);
    const int64_t rows[2] = {2, 6 * 16}, wei[2] = {6 * 16, 10};
    int x = net_relu(m, net_conv(m, net_image(m, 2, 3, 4), 3, 6, 3, 1, true)), y = net_flat(m, x);
    const int w = mirror_constant(m, 2, wei, .1), other = mirror_constant(m, 2, wei, .1);
    const int in[3][2] = {{y, w}, {y, other}, {mirror_input(m, 2, rows), w}};
    for (int i = 0; i < 3; ++i)
        mirror_output(m, mirror_op(m, dnnl_tp_op_matmul, "product", 2, in[i], 0, NULL));
    mirror_output(m, net_average(m, net_halved(m, dnnl_tp_op_avg_pool, x), true));
    mirror_output(m, mirror_unary(m, dnnl_tp_op_abs, y));
    static const expected_t expected[] = {{dnnl_tp_reorder, 1}, {dnnl_tp_matmul, 3}, {dnnl_tp_pooling, 2}};
    finish(m, -1, expected, COUNT(expected));
}

/* Outputs of the graph are row-major: one copy each. */
static void test_edges(void **state) {
    (void)state;
    mirror_t *m = net_begin(4);
    int x = net_relu(m, net_conv(m, net_image(m, 2, 3, 8), 3, 16, 3, 1, true));
    int y = net_conv(m, x, 16, 16, 3, 1, true);
    mirror_output(m, x);
    mirror_output(
        m, net_joined(m, net_halved(m, dnnl_tp_op_max_pool, y), net_halved(m, dnnl_tp_op_avg_pool, y)));
    mirror_output(m, net_flat(m, net_halved(m, dnnl_tp_op_max_pool, x)));
    static const expected_t expected[] = {
        {dnnl_tp_reorder, 3}, {dnnl_tp_convolution, 2}, {dnnl_tp_concat, 0}, {dnnl_tp_pooling, 3}};
    finish(m, 8, expected, COUNT(expected));
}

/* Weights of Winograd convolutions are constants that were packed in the opaque layout, whose bytes no step of a run
 * makes. */
static void test_winograd(void **state) {
    (void)state;
    enum { CHANNELS = 48, SIDE = 14, LAYERS = 2 };
    mirror_t *m = net_begin(9);
    int x = net_image(m, 1, CHANNELS, SIDE);
    for (int i = 0; i < LAYERS; ++i) x = net_relu(m, net_conv(m, x, CHANNELS, CHANNELS, 3, 1, true));
    mirror_output(m, x);
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts};
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_executable_compile(&e, m->graph, m->engine, 1, &m->value[m->in[0]].info, &opts));
    int found = 0;
    for (int i = 0; i < e->nsteps; ++i) {
        const dtp_primitive_t *p = e->steps[i].work->prim[0];
        if (!p || p->pd->op->kind != dnnl_tp_convolution) continue;
        const dtp_md_t *wei = dnnl_tp_primitive_desc_query_md(p->pd, dnnl_tp_query_weights_md, 0);
        assert_true(test_engine_is_far(m->engine) ||
                    (dtp_md_is_opaque(wei) && !strncmp(p->pd->impl->name, "wino", 4)));
        ++found;
    }
    assert_int_equal(found, LAYERS);
    CHECK_OK(dnnl_tp_executable_destroy(e));
    static const expected_t expected[] = {{dnnl_tp_reorder, 2}, {dnnl_tp_convolution, LAYERS}};
    finish(m, 2 + LAYERS, expected, COUNT(expected));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),           cmocka_unit_test(test_maps),
        cmocka_unit_test(test_maps_transposed), cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_no_map),          cmocka_unit_test(test_branches),
        cmocka_unit_test(test_edges),           cmocka_unit_test(test_joins),
        cmocka_unit_test(test_random),          cmocka_unit_test(test_joins_along_every_axis),
        cmocka_unit_test(test_axis_of_one),     cmocka_unit_test(test_copied_joins),
        cmocka_unit_test(test_shuffle),         cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_winograd),        cmocka_unit_test(test_maps_in_front),
        cmocka_unit_test(test_flatten),         cmocka_unit_test(test_flatten_beside),
        cmocka_unit_test(test_excite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
