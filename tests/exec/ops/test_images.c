/* Operators on images against the double mirror: convolution, pooling, batch normalisation; every attribute, one to three
 * spatial dimensions, fused and one by one, on several numbers of threads; what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/base.h"
#include "support/mirror.h"

static const double tolerance = 2e-5;

static mirror_t *fresh(uint64_t seed) {
    mirror_t *m = malloc(sizeof *m);
    mirror_init(m, seed);
    return m;
}

/* Every way, then ends. */
static void finish(mirror_t *m, int v) {
    static const int threads[] = {2, 3, 7};
    mirror_output(m, v);
    assert_int_equal(mirror_check(m, NULL, DNNL_TP_COMPILE_NO_FUSION, tolerance), 0);
    assert_int_equal(mirror_check(m, NULL, 0, tolerance), 0);
    for (int i = 0; i < 3; ++i) {
        dnnl_tp_threadpool_t pool;
        const dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads[i]};
        if (dnnl_tp_threadpool_create(&pool, &opts) != dnnl_tp_success) break; /* SEQ has none */
        assert_int_equal(mirror_check(m, pool, 0, tolerance), 0);
        assert_int_equal(dnnl_tp_threadpool_destroy(pool), dnnl_tp_success);
    }
    mirror_free(m);
    free(m);
}

/* ---- Attributes -------------------------------------------------------------------------------------- */

enum { MOST_ATTRS = 9 };
typedef struct {
    int n;
    dnnl_tp_op_attr_t attr[MOST_ATTRS];
} attrs_t;
static void add(attrs_t *a, dnnl_tp_op_attr_t x) {
    assert_true(a->n < MOST_ATTRS);
    a->attr[a->n++] = x;
}
static void add_list(attrs_t *a, int key, int n, const int64_t *at) {
    if (at[0] >= 0) add(a, mirror_s64(key, n, at));
}
static void add_word(attrs_t *a, int key, const char *word) {
    if (word) add(a, (dnnl_tp_op_attr_t){key, dnnl_tp_op_attr_string, (int)strlen(word), word});
}

/* Lists that begin with -1 are not given. */
typedef struct {
    int ns;
    int64_t in[3], kernel[3], strides[3], dilations[3], begin[3], end[3];
    const char *auto_pad, *rounding;
} windows_t;
#define NOT \
    { -1 }

static attrs_t attrs_of(const windows_t *w) {
    attrs_t a = {0};
    add_list(&a, dnnl_tp_op_attr_strides, w->ns, w->strides);
    add_list(&a, dnnl_tp_op_attr_dilations, w->ns, w->dilations);
    add_list(&a, dnnl_tp_op_attr_pads_begin, w->ns, w->begin);
    add_list(&a, dnnl_tp_op_attr_pads_end, w->ns, w->end);
    add_word(&a, dnnl_tp_op_attr_auto_pad, w->auto_pad);
    return a;
}

static const windows_t windows[] = {
    {2, {9, 7}, {3, 3}, NOT, NOT, {1, 1}, {1, 1}, NULL, NULL},
    {2, {9, 7}, {1, 1}, NOT, NOT, NOT, NOT, NULL, NULL},
    {2, {12, 11}, {1, 1}, {2, 2}, NOT, NOT, NOT, NULL, NULL},
    {2, {13, 11}, {3, 2}, {2, 3}, {2, 1}, {1, 0}, {0, 1}, NULL, NULL},
    {2, {14, 9}, {5, 3}, {2, 1}, NOT, NOT, NOT, "same_upper", NULL},
    {2, {14, 9}, {4, 2}, {3, 2}, {1, 2}, NOT, NOT, "same_lower", NULL},
    {2, {10, 10}, {3, 3}, {2, 2}, NOT, {1, 1}, {1, 1}, "valid", NULL},
    {2, {10, 10}, {3, 3}, {2, 2}, NOT, {1, 0}, {0, 1}, "none", "ceil"},
    {2, {11, 8}, {3, 2}, {3, 3}, NOT, {0, 1}, {2, 1}, NULL, "ceil"},
    {2, {5, 6}, {2, 3}, {4, 3}, {2, 1}, NOT, NOT, NULL, "ceil"},
    {1, {17}, {5}, {2}, {2}, {3}, {4}, NULL, NULL},
    {1, {9}, {2}, {2}, NOT, {1}, NOT, NULL, "ceil"},
    {3, {5, 6, 4}, {3, 2, 3}, {1, 2, 1}, NOT, {1, 0, 1}, {1, 1, 1}, NULL, NULL},
    {3, {4, 4, 4}, {2, 2, 2}, {2, 2, 2}, NOT, NOT, NOT, NULL, "floor"},
    {2, {1, 1}, {3, 3}, NOT, NOT, {1, 1}, {1, 1}, NULL, NULL},
    {2, {7, 7}, {7, 7}, NOT, NOT, NOT, NOT, NULL, NULL},
};
enum { NWINDOWS = (int)(sizeof windows / sizeof *windows) };

static int image(mirror_t *m, int64_t n, int64_t c, const windows_t *w) {
    int64_t dims[5] = {n, c};
    memcpy(dims + 2, w->in, sizeof w->in);
    return mirror_input(m, 2 + w->ns, dims);
}

/* ---- Convolution ------------------------------------------------------------------------------------- */

typedef struct {
    int64_t n, groups, ic, oc; /* channels of all groups */
} channels_t;
static const channels_t channels[] = {{1, 1, 3, 20}, {2, 1, 16, 32},  {3, 1, 1, 1},
                                      {1, 2, 8, 34}, {2, 24, 24, 24}, {5, 3, 6, 12}};
enum { NCHANNELS = (int)(sizeof channels / sizeof *channels) };

static int weights(mirror_t *m, const channels_t *c, const windows_t *w, bool constant) {
    int64_t dims[5] = {c->oc, c->ic / c->groups};
    memcpy(dims + 2, w->kernel, sizeof w->kernel);
    return constant ? mirror_constant(m, 2 + w->ns, dims, .5) : mirror_input(m, 2 + w->ns, dims);
}

/* form: bit 0: constant weights, bit 1: bias, bit 2: unknown dimensions at first. */
static int convolution(mirror_t *m, int x, const channels_t *c, const windows_t *w, unsigned form) {
    attrs_t a = attrs_of(w);
    if (c->groups > 1) add(&a, mirror_s64(dnnl_tp_op_attr_groups, 1, &c->groups));
    int in[3] = {x, weights(m, c, w, form & 1), form & 2 ? mirror_constant(m, 1, &c->oc, .5) : -1};
    return mirror_op(m, dnnl_tp_op_convolution, "conv", form & 2 ? 3 : 2, in, a.n, a.attr);
}

static const windows_t spreads[] = {
    {2, {9, 7}, {3, 3}, NOT, NOT, {1, 1}, {1, 1}, NULL, NULL},
    {2, {5, 4}, {2, 2}, {2, 2}, NOT, NOT, NOT, NULL, NULL},
    {2, {3, 5}, {2, 3}, {2, 3}, NOT, NOT, NOT, "valid", NULL},
    {2, {3, 5}, {5, 4}, {1, 4}, {2, 1}, {3, 0}, {1, 0}, NULL, NULL},
    {2, {4, 6}, {3, 3}, {2, 2}, NOT, {1, 1}, {1, 1}, NULL, NULL},
    {2, {4, 6}, {3, 4}, {3, 2}, {2, 1}, {1, 2}, {0, 1}, NULL, NULL},
    {2, {5, 6}, {4, 1}, {2, 3}, NOT, NOT, NOT, "same_upper", NULL},
    {2, {5, 6}, {4, 3}, {3, 2}, {1, 2}, NOT, NOT, "same_lower", NULL},
    {2, {4, 3}, {2, 2}, {2, 2}, {3, 1}, NOT, {0, 2}, NULL, NULL},
    {1, {9}, {16}, {8}, NOT, {4}, {4}, NULL, NULL},
    {1, {7}, {4}, {4}, NOT, NOT, NOT, NULL, NULL},
    {3, {2, 3, 4}, {2, 3, 2}, {2, 1, 2}, NOT, {0, 1, 0}, {0, 1, 0}, NULL, NULL},
    {2, {1, 1}, {3, 3}, {2, 2}, NOT, {1, 1}, {1, 1}, NULL, NULL},
    {2,
     {5, 4},
     {2, 2},
     {2, 2},
     NOT,
     {1, 1},
     NOT,
     NULL,
     NULL}, /* with an element more: twice as long as src */
    {2, {3, 6}, {2, 3}, {2, 3}, NOT, NOT, NOT, "same_lower", NULL},
};
enum { NSPREADS = (int)(sizeof spreads / sizeof *spreads) };

/* form: as above, and bit 3: one element more at the end where the stride is above 1. */
static int conv_transpose(mirror_t *m, int x, const channels_t *c, const windows_t *w, unsigned form) {
    attrs_t a = attrs_of(w);
    int64_t more[3];
    for (int s = 0; s < w->ns; ++s) more[s] = (form & 8) && w->strides[s] > 1;
    if (form & 8) add_list(&a, dnnl_tp_op_attr_output_padding, w->ns, more);
    if (c->groups > 1) add(&a, mirror_s64(dnnl_tp_op_attr_groups, 1, &c->groups));
    int in[3] = {x, weights(m, c, w, form & 1), form & 2 ? mirror_constant(m, 1, &c->oc, .5) : -1};
    return mirror_op(m, dnnl_tp_op_conv_transpose, "up", form & 2 ? 3 : 2, in, a.n, a.attr);
}

static void test_conv_transpose(void **state) {
    (void)state;
    for (int i = 0; i < NSPREADS; ++i)
        for (int k = 0; k < NCHANNELS; ++k) {
            const unsigned form = (unsigned)(i + 3 * k) % 16;
            mirror_t *m = fresh((uint64_t)(i * 10 + k));
            m->runtime_dims = form >> 2 & 1;
            print_message("spread %d, channels %d, form %u\n", i, k, form);
            finish(m, conv_transpose(m, image(m, channels[k].n, channels[k].ic, &spreads[i]), &channels[k],
                                     &spreads[i], form));
        }
}

static void test_convolution(void **state) {
    (void)state;
    for (int i = 0; i < NWINDOWS; ++i)
        for (int k = 0; k < NCHANNELS; ++k) {
            const unsigned form = (unsigned)(i + 3 * k) % 8;
            mirror_t *m = fresh((uint64_t)(i * 10 + k));
            m->runtime_dims = form >> 2;
            print_message("windows %d, channels %d, form %u\n", i, k, form);
            finish(m, convolution(m, image(m, channels[k].n, channels[k].ic, &windows[i]), &channels[k],
                                  &windows[i], form));
        }
}

/* Sources and results in other orders of dimensions; what is computed of constants; no channels, no images. */
static void test_around(void **state) {
    (void)state;
    const int64_t order[4] = {0, 3, 1, 2}, nhwc[4] = {2, 9, 7, 16}, back[4] = {0, 2, 3, 1}, flat[2] = {2, -1};
    const dnnl_tp_op_attr_t to = mirror_s64(dnnl_tp_op_attr_order, 4, order),
                            from = mirror_s64(dnnl_tp_op_attr_order, 4, back),
                            shape = mirror_s64(dnnl_tp_op_attr_shape, 2, flat);
    mirror_t *m = fresh(1);
    int x = mirror_input(m, 4, nhwc);
    x = mirror_op(m, dnnl_tp_op_static_transpose, "t", 1, &x, 1, &to);
    int y = convolution(m, x, &channels[1], &windows[0], 3),
        z = convolution(m, x, &channels[1], &windows[0], 1);
    mirror_output(m, y);
    mirror_output(m, mirror_op(m, dnnl_tp_op_static_transpose, "back", 1, &y, 1, &from));
    mirror_output(m, mirror_op(m, dnnl_tp_op_static_reshape, "flat", 1, &z, 1, &shape));
    mirror_output(m, mirror_unary(m, dnnl_tp_op_abs, z));
    finish(m, mirror_binary(m, dnnl_tp_op_subtract, y, z));
    m = fresh(2);
    const int64_t dims[4] = {1, 3, 9, 7};
    x = mirror_constant(m, 4, dims, 1.);
    y = convolution(m, x, &channels[0], &windows[0], 3);
    finish(m, mirror_binary(m, dnnl_tp_op_add, y, mirror_scalar(m, 1.)));
    const channels_t empty[] = {{0, 1, 3, 4}, {2, 1, 0, 4}, {2, 1, 3, 0}};
    for (int i = 0; i < 3; ++i) {
        m = fresh(3);
        finish(m, convolution(m, image(m, empty[i].n, empty[i].ic, &windows[0]), &empty[i], &windows[0], 3));
    }
    const windows_t none = {2, {0, 4}, {3, 3}, NOT, NOT, {2, 1}, {2, 1}, NULL, NULL};
    m = fresh(4);
    finish(m, convolution(m, image(m, 2, 3, &none), &(channels_t){2, 1, 3, 5}, &none, 3));
}

/* ---- Pooling ----------------------------------------------------------------------------------------- */

static int pooled(mirror_t *m, int x, const windows_t *w, int form) {
    static const uint8_t yes = 1;
    attrs_t a = attrs_of(w);
    add(&a, mirror_s64(dnnl_tp_op_attr_kernel, w->ns, w->kernel));
    add_word(&a, dnnl_tp_op_attr_rounding_type, w->rounding);
    if (form == 2) add(&a, mirror_bool(dnnl_tp_op_attr_exclude_pad, &yes));
    return mirror_op(m, form ? dnnl_tp_op_avg_pool : dnnl_tp_op_max_pool, "pool", 1, &x, a.n, a.attr);
}

static void test_pooling(void **state) {
    (void)state;
    for (int i = 0; i < NWINDOWS; ++i)
        for (int form = 0; form < 3; ++form)
            for (int n = 1; n < 4; ++n) {
                mirror_t *m = fresh((uint64_t)(i * 10 + form));
                m->runtime_dims = n == 3;
                print_message("windows %d, form %d, %d images\n", i, form, n);
                const int x = image(m, n, 19, &windows[i]);
                if (n == 2) { /* behind a convolution: channels are innermost */
                    const channels_t c = {n, 1, 19, 19};
                    const windows_t one = {windows[i].ns, {0}, {1, 1, 1}, NOT, NOT, NOT, NOT, NULL, NULL};
                    const int y = convolution(m, x, &c, &one, 1);
                    mirror_output(m, pooled(m, mirror_unary(m, dnnl_tp_op_relu, y), &windows[i], form));
                }
                finish(m, pooled(m, x, &windows[i], form));
            }
}

/* ---- Batch normalisation ----------------------------------------------------------------------------- */

/* Parameters: constants, inputs, or some of each. */
static int normalised(mirror_t *m, int x, int64_t c, unsigned inputs, const float *epsilon) {
    int in[5] = {x};
    for (int i = 1; i < 5; ++i) {
        in[i] = inputs >> i & 1 ? mirror_input(m, 1, &c) : mirror_constant(m, 1, &c, 1.);
        if (i == 4) { /* variances */
            in[i] = mirror_unary(m, dnnl_tp_op_square, in[i]);
            in[i] = mirror_binary(m, dnnl_tp_op_add, in[i], mirror_scalar(m, .1));
        }
    }
    const dnnl_tp_op_attr_t a = mirror_f32(dnnl_tp_op_attr_epsilon, epsilon);
    return mirror_op(m, dnnl_tp_op_batch_norm_inference, "bn", 5, in, 1, &a);
}

static void test_batch_norm(void **state) {
    (void)state;
    static const struct {
        int ndims;
        int64_t dims[5];
    } shapes[] = {{2, {5, 33}},         {3, {2, 7, 9}},    {4, {1, 16, 5, 4}}, {4, {3, 35, 2, 3}},
                  {5, {2, 3, 2, 3, 4}}, {4, {2, 1, 3, 3}}, {4, {2, 9, 1, 1}}};
    static const float epsilon[2] = {1e-3f, .5f};
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); ++i)
        for (unsigned inputs = 0; inputs < 32; inputs += inputs ? 14 : 30) {
            mirror_t *m = fresh((uint64_t)i);
            int x = mirror_input(m, shapes[i].ndims, shapes[i].dims);
            print_message("shape %d, inputs %u\n", i, inputs);
            int y = normalised(m, x, shapes[i].dims[1], inputs, &epsilon[inputs != 0]);
            mirror_output(m, mirror_unary(m, dnnl_tp_op_relu, y));
            if (shapes[i].ndims == 4) { /* channels innermost on both sides */
                const windows_t one = {2, {0}, {1, 1}, NOT, NOT, NOT, NOT, NULL, NULL};
                const channels_t c = {shapes[i].dims[0], 1, shapes[i].dims[1], 21};
                y = convolution(m, mirror_unary(m, dnnl_tp_op_relu, y), &c, &one, 1);
                y = normalised(m, y, 21, inputs, &epsilon[0]);
                y = mirror_unary(m, dnnl_tp_op_hard_swish, y);
                mirror_output(m, convolution(m, y, &(channels_t){c.n, 1, 21, 8}, &one, 3));
            }
            finish(m, y);
        }
}

/* ---- Refusals ---------------------------------------------------------------------------------------- */

static void refused(dnnl_tp_status_t want, dnnl_tp_op_kind_t kind, int nin, const dnnl_tp_dims_t *dims,
                    const int *ndims, const attrs_t *a, const char *text) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[5], out;
    assert_int_equal(dnnl_tp_graph_create(&g, dnnl_tp_cpu), dnnl_tp_success);
    for (int i = 0; i < nin; ++i)
        assert_int_equal(dnnl_tp_graph_input(g, &in[i], "x", dnnl_tp_f32, ndims[i], dims[i]),
                         dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_op(g, kind, "it", nin, in, a->n, a->attr, 1, &out), want);
    assert_non_null(strstr(dnnl_tp_last_error(), "'it'"));
    if (!strstr(dnnl_tp_last_error(), text)) fail_msg("no '%s' in: %s", text, dnnl_tp_last_error());
    assert_int_equal(dnnl_tp_graph_destroy(g), dnnl_tp_success);
}

static void test_refusals(void **state) {
    (void)state;
    static const int64_t none[2] = {0, 1}, minus[2] = {1, -1}, one[1] = {1}, huge[2] = {INT64_MAX / 2, 1},
                         two[2] = {2, 2}, three[2] = {3, 3}, four[1] = {4}, most[2] = {1 << 16, 1 << 16};
    static const uint8_t yes = 1;
    const int four_d[5] = {4, 4, 1}, ranks[5] = {4, 3, 1}, flat[5] = {2, 2, 1}, bn[5] = {4, 1, 1, 1, 1};
    const dnnl_tp_dims_t fits[5] = {{1, 4, 8, 8}, {6, 4, 3, 3}, {6}},
                         other[5] = {{1, 4, 8, 8}, {6, 3, 3, 3}, {6}},
                         bias[5] = {{1, 4, 8, 8}, {6, 4, 3, 3}, {5}},
                         empty[5] = {{1, 4, 8, 8}, {6, 4, 0, 3}, {6}},
                         stat[5] = {{1, 4, 8, 8}, {4}, {4}, {3}, {4}};
    const dnnl_tp_op_kind_t conv = dnnl_tp_op_convolution, avg = dnnl_tp_op_avg_pool;
    const dnnl_tp_status_t shape = dnnl_tp_invalid_shape, op = dnnl_tp_invalid_graph_op;
    const attrs_t plain = {0};
#define WITH(...)          \
    &(const attrs_t) {     \
        1, { __VA_ARGS__ } \
    }
#define WITH2(...)         \
    &(const attrs_t) {     \
        2, { __VA_ARGS__ } \
    }
#define WITH3(...)         \
    &(const attrs_t) {     \
        3, { __VA_ARGS__ } \
    }
    refused(shape, conv, 2, other, four_d, &plain,
            "has other channels than weights {6, 3, 3, 3} in 1 groups");
    refused(shape, conv, 3, bias, four_d, &plain, "bias {5} does not fit");
    refused(shape, conv, 2, fits, ranks, &plain, "differ in the number of dimensions");
    refused(shape, conv, 2, fits, flat, &plain, "has 2 dimensions, 3..5");
    refused(shape, conv, 2, empty, four_d, &plain, "0 elements along spatial dimension 0");
    refused(shape, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_groups, 1, four)), "into 4 groups");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_groups, 1, none)), "groups is 0");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_strides, 2, none)), "strides has 0");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_strides, 1, one)),
            "strides has 1 elements");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_dilations, 2, none)),
            "dilations has 0");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_pads_begin, 2, minus)),
            "pads_begin has -1");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_pads_end, 2, minus)),
            "pads_end has -1");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_dilations, 2, huge)), "too large");
    refused(op, conv, 2, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_pads_end, 2, huge)), "too large");
    refused(op, dnnl_tp_op_conv_transpose, 2, fits, four_d,
            WITH2(mirror_s64(dnnl_tp_op_attr_strides, 2, two),
                  mirror_s64(dnnl_tp_op_attr_output_padding, 2, two)),
            "output_padding has 2");
    refused(op, dnnl_tp_op_conv_transpose, 2, fits, four_d,
            WITH(mirror_s64(dnnl_tp_op_attr_strides, 2, huge)), "too large");
    refused(shape, dnnl_tp_op_conv_transpose, 2, other, four_d, &plain, "has other channels");
    refused(op, avg, 1, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_kernel, 1, one)),
            "kernel has 1 elements");
    refused(op, avg, 1, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_kernel, 2, most)), "more than");
    refused(shape, avg, 1, fits, four_d, WITH(mirror_s64(dnnl_tp_op_attr_kernel, 2, none)),
            "0 elements along");
    refused(shape, avg, 1, fits, flat, WITH(mirror_s64(dnnl_tp_op_attr_kernel, 2, two)), "has 2 dimensions");
    refused(op, avg, 1, fits, four_d,
            WITH3(mirror_s64(dnnl_tp_op_attr_kernel, 2, two), mirror_s64(dnnl_tp_op_attr_pads_end, 2, three),
                  mirror_bool(dnnl_tp_op_attr_exclude_pad, &yes)),
            "without an element of src");
    refused(op, dnnl_tp_op_local_response_norm, 1, fits, four_d,
            WITH(mirror_s64(dnnl_tp_op_attr_size, 1, two)), "size is 2");
    refused(shape, dnnl_tp_op_batch_norm_inference, 5, stat, bn, &plain,
            "mean {3} does not fit the channels");
}

/* Local response normalisation of rows, rows of channels and what convolutions make, of several images. */
static void test_local_response_norm(void **state) {
    (void)state;
    static const float alpha = .3f, beta = .6f, bias = 1.5f;
    static const int64_t sizes[] = {1, 5, 9, 19};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int ndims = 2; ndims < 6; ++ndims)
            for (int behind = 0; behind < 2; ++behind) { /* a convolution */
                const int64_t dims[5] = {ndims > 3 ? 3 : 1, 9, 4, 5, 3}, wei[5] = {17, 9, 1, 1, 1};
                if (behind && ndims < 3) continue;
                attrs_t a = {0};
                mirror_t *m = fresh((uint64_t)(i * 10 + (size_t)ndims));
                int x = mirror_input(m, ndims, dims);
                if (behind) {
                    const int in[2] = {x, mirror_constant(m, ndims, wei, .3)};
                    x = mirror_op(m, dnnl_tp_op_convolution, "conv", 2, in, 0, NULL);
                }
                add(&a, mirror_s64(dnnl_tp_op_attr_size, 1, &sizes[i]));
                if (i % 2) add(&a, mirror_f32(dnnl_tp_op_attr_alpha, &alpha));
                if (i % 2) add(&a, mirror_f32(dnnl_tp_op_attr_beta, &beta));
                if (i % 2) add(&a, mirror_f32(dnnl_tp_op_attr_bias, &bias));
                finish(m, mirror_op(m, dnnl_tp_op_local_response_norm, "lrn", 1, &x, a.n, a.attr));
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution), cmocka_unit_test(test_conv_transpose),
        cmocka_unit_test(test_around),      cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_batch_norm),  cmocka_unit_test(test_local_response_norm),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
