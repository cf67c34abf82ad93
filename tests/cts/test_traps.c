/* No lane of a vector that holds no data raises a floating-point exception: every kind of
 * primitive and every function of elements, of every length up to more than the longest run of
 * vectors, in all types, plain and blocked, bare and with divisions and powers behind it, on every
 * instruction set. run_pd does the checking (support/traps.h), here is data: small numbers above
 * zero, numbers of both signs, and for functions of elements of any magnitude. What is in the
 * padding of blocked layouts is zero. */
#include <math.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "support/tensor.h"

enum { LONGEST = 70 };

/* What a primitive is made for; n: the length that is walked. */
typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_data_type_t type;
    int64_t n;
    int variant, layout, behind; /* of the kind; of an image; of behind() */
} case_t;
typedef dnnl_tp_status_t make_t(dnnl_tp_primitive_desc_t *pd, const case_t *c);

/* ---- Descriptors ----------------------------------------------------------------------------- */

static dtp_md_t matrix(dnnl_tp_data_type_t type, int64_t rows, int64_t cols) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_layout(&md, 2, (const int64_t[]){rows, cols}, type, "ab"));
    return md;
}
/* An image of `channels` and h x w. */
static const char *const layouts[] = {"acdb", "abcd", "aBcd16b", "aBcd8b"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };
static dtp_md_t image(const case_t *c, int64_t channels, int64_t h, int64_t w) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_layout(&md, 4, (const int64_t[]){2, channels, h, w}, c->type, layouts[c->layout]));
    return md;
}

static bool is_whole(dnnl_tp_data_type_t type) {
    return type == dnnl_tp_s32 || type == dnnl_tp_s8 || type == dnnl_tp_u8;
}

/* Behind the primitive: nothing; a division by a tensor of one element a channel or column; 1 / x,
 * then its logarithm. Not for integers, which do not show that something infinite became one. */
enum { BEHINDS = 3 };
static dnnl_tp_primitive_attr_t behind(const case_t *c, const dtp_md_t *dst) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t ops;
    if (!c->behind || is_whole(dst->data_type)) return NULL;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&ops));
    if (c->behind == 1) {
        dtp_md_t by;
        int64_t dims[DNNL_TP_MAX_NDIMS];
        for (int d = 0; d < dst->ndims; ++d) dims[d] = d == 1 ? dst->dims[d] : 1;
        CHECK_OK(dtp_md_init_strides(&by, dst->ndims, dims, dnnl_tp_f32, NULL));
        CHECK_OK(dnnl_tp_post_ops_append_binary(ops, dnnl_tp_binary_div, &by));
    } else {
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_pow, 1.f, -1.f));
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_log, 0.f, 0.f));
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));
    CHECK_OK(dnnl_tp_post_ops_destroy(ops));
    return attr;
}
/* The status of `create`, in which attr is what is behind dst. */
#define WITH_BEHIND(dst, create)                              \
    const dnnl_tp_primitive_attr_t attr = behind(c, dst);     \
    const dnnl_tp_status_t status_ = (create);                \
    if (attr) CHECK_OK(dnnl_tp_primitive_attr_destroy(attr)); \
    return status_

/* ---- Kinds ----------------------------------------------------------------------------------- */

static const int unary[] = {dnnl_tp_eltwise_relu,     dnnl_tp_eltwise_tanh,
                            dnnl_tp_eltwise_elu,      dnnl_tp_eltwise_square,
                            dnnl_tp_eltwise_abs,      dnnl_tp_eltwise_sqrt,
                            dnnl_tp_eltwise_linear,   dnnl_tp_eltwise_soft_relu,
                            dnnl_tp_eltwise_exp,      dnnl_tp_eltwise_hardsigmoid,
                            dnnl_tp_eltwise_logistic, dnnl_tp_eltwise_gelu_tanh,
                            dnnl_tp_eltwise_swish,    dnnl_tp_eltwise_log,
                            dnnl_tp_eltwise_clip,     dnnl_tp_eltwise_clip_v2,
                            dnnl_tp_eltwise_round,    dnnl_tp_eltwise_gelu_erf,
                            dnnl_tp_eltwise_mish,     dnnl_tp_eltwise_hardswish,
                            0x10001 /* erf */,        0x10003 /* sign */};
static const float powers[] = {0.f, 1.f, 2.f, 3.f, .5f, -1.f, -2.f, 4.f, 5.f, -3.f, 1.7f, -.3f};
enum { UNARY = sizeof unary / sizeof *unary, POWERS = sizeof powers / sizeof *powers };
static dnnl_tp_status_t make_eltwise(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = matrix(c->type, 3, c->n);
    const bool is_power = c->variant >= UNARY;
    const int alg = is_power ? dnnl_tp_eltwise_pow : unary[c->variant];
    WITH_BEHIND(&md, dnnl_tp_eltwise_forward_primitive_desc_create(
                         pd, c->engine, dnnl_tp_forward_inference, (dnnl_tp_alg_kind_t)alg, &md, &md,
                         is_power ? .8f : .5f, is_power ? powers[c->variant - UNARY] : 1.25f, attr));
}

static const int two[] = {dnnl_tp_binary_add, dnnl_tp_binary_mul, dnnl_tp_binary_max, dnnl_tp_binary_min,
                          dnnl_tp_binary_div, dnnl_tp_binary_sub, dnnl_tp_binary_ge,  dnnl_tp_binary_eq};
enum { TWO = sizeof two / sizeof *two };
/* The second is as large, a row, a column or one element; or the first one is a row. */
static dnnl_tp_status_t make_binary(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const int shape = c->variant / TWO;
    const dtp_md_t whole = matrix(c->type, 5, c->n), part = matrix(c->type, shape == 1 || shape >= 3 ? 1 : 5,
                                                                   shape == 2 || shape == 3 ? 1 : c->n);
    WITH_BEHIND(&whole, dnnl_tp_binary_primitive_desc_create(
                            pd, c->engine, (dnnl_tp_alg_kind_t)two[c->variant % TWO],
                            shape == 4 ? &part : &whole, shape == 4 ? &whole : &part, &whole, attr));
}

static dnnl_tp_status_t make_prelu(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t src = image(c, c->n, 2, 3);
    dtp_md_t wei;
    CHECK_OK(dtp_md_init_layout(&wei, 4, (const int64_t[]){1, c->n, 1, 1}, c->type, "abcd"));
    return dnnl_tp_prelu_forward_primitive_desc_create(pd, c->engine, dnnl_tp_forward_inference, &src, &wei,
                                                       &src, NULL);
}

/* Rows of n; columns of n; both accurate and of the logarithm. */
static dnnl_tp_status_t make_softmax(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = c->variant & 1 ? matrix(c->type, c->n, 5) : matrix(c->type, 5, c->n);
    const dnnl_tp_alg_kind_t alg = c->variant & 2 ? dnnl_tp_softmax_log : dnnl_tp_softmax_accurate;
    WITH_BEHIND(&md, dnnl_tp_softmax_forward_primitive_desc_create(pd, c->engine, dnnl_tp_forward_inference,
                                                                   alg, &md, &md, !(c->variant & 1), attr));
}

/* 0 where something infinite shows. */
static float epsilon_of(const case_t *c) { return c->variant & 1 || is_whole(c->type) ? 1e-5f : 0.f; }

static dnnl_tp_status_t make_layer_norm(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = matrix(c->type, 5, c->n);
    const unsigned flags = (c->variant & 1 ? dnnl_tp_use_scale | dnnl_tp_use_shift : 0) |
                           (c->variant & 2 ? dnnl_tp_use_global_stats : 0);
    return dnnl_tp_layer_normalization_forward_primitive_desc_create(
        pd, c->engine, c->variant & 4 ? dnnl_tp_forward_training : dnnl_tp_forward_inference, &md, &md, NULL,
        epsilon_of(c), flags, NULL);
}

static dnnl_tp_status_t make_batch_norm(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = c->variant & 8 ? image(c, 3, 1, c->n) : image(c, c->n, 3, 2);
    const unsigned flags = (c->variant & 1 ? dnnl_tp_use_scale | dnnl_tp_use_shift : 0) |
                           (c->variant & 2 ? dnnl_tp_use_global_stats : 0) |
                           (c->variant & 4 ? dnnl_tp_fuse_norm_relu : 0);
    return dnnl_tp_batch_normalization_forward_primitive_desc_create(
        pd, c->engine, c->variant & 2 ? dnnl_tp_forward_inference : dnnl_tp_forward_training, &md, &md,
        epsilon_of(c), flags, NULL);
}

static dnnl_tp_status_t make_group_norm(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = c->variant & 1 ? image(c, 6, 1, c->n) : image(c, 3 * c->n, 3, 2);
    return dnnl_tp_group_normalization_forward_primitive_desc_create(
        pd, c->engine, dnnl_tp_forward_inference, &md, &md, 3, 1e-5f,
        c->variant & 2 ? dnnl_tp_use_scale | dnnl_tp_use_shift : 0, NULL);
}

static dnnl_tp_status_t make_lrn(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = c->variant & 2 ? image(c, 3, 2, c->n) : image(c, c->n, 3, 2);
    return dnnl_tp_lrn_forward_primitive_desc_create(
        pd, c->engine, dnnl_tp_forward_inference,
        c->variant & 1 ? dnnl_tp_lrn_within_channel : dnnl_tp_lrn_across_channels, &md, &md, 5, 1e-4f,
        c->variant & 4 ? .6f : .75f, 1.f, NULL);
}

/* Over rows, over columns, over all. */
static dnnl_tp_status_t make_reduction(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const int over = c->variant % 3, alg = dnnl_tp_reduction_max + c->variant / 3;
    if (alg == dnnl_tp_reduction_mul && is_whole(c->type))
        return dnnl_tp_unimplemented; /* overflows, which nobody sees */
    const dtp_md_t src = matrix(c->type, 5, c->n), dst = matrix(c->type, over ? 1 : 5, over == 1 ? c->n : 1);
    WITH_BEHIND(&dst, dnnl_tp_reduction_primitive_desc_create(pd, c->engine, (dnnl_tp_alg_kind_t)alg, &src,
                                                              &dst, 3.f, 1e-5f, attr));
}

/* Windows that overlap, and such as have no tap at all; many channels, or wide planes. */
static dnnl_tp_status_t make_pooling(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    static const dnnl_tp_alg_kind_t algs[] = {dnnl_tp_pooling_max, dnnl_tp_pooling_avg_include_padding,
                                              dnnl_tp_pooling_avg_exclude_padding};
    const bool wide = c->variant / 3 & 1, empty = c->variant / 6 & 1;
    const int64_t step = c->variant / 12 & 1 ? 2 : 1, pad = empty ? 2 : 1, taps = empty ? 2 : 3,
                  gap = empty ? 3 : 0;
    const int64_t channels = wide ? 2 : c->n, h = 4, w = wide ? c->n : empty ? 1 : 5;
    const int64_t more = 2 * pad - (taps - 1) * (gap + 1) - 1;
    const dtp_md_t src = image(c, channels, h, w),
                   dst = image(c, channels, (h + more) / step + 1, (w + more) / step + 1);
    const dnnl_tp_dims_t kernel = {taps, taps}, strides = {step, step}, pads = {pad, pad}, gaps = {gap, gap};
    WITH_BEHIND(&dst, dnnl_tp_pooling_forward_primitive_desc_create(pd, c->engine, dnnl_tp_forward_inference,
                                                                    algs[c->variant % 3], &src, &dst, strides,
                                                                    kernel, gaps, pads, pads, attr));
}

static dnnl_tp_status_t make_resampling(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const bool wide = c->variant & 1;
    const dtp_md_t src = image(c, wide ? 2 : c->n, 3, wide ? c->n : 4),
                   dst = image(c, wide ? 2 : c->n, 5, wide ? c->n + 3 : 3);
    WITH_BEHIND(&dst, dnnl_tp_resampling_forward_primitive_desc_create(
                          pd, c->engine, dnnl_tp_forward_inference,
                          c->variant & 2 ? dnnl_tp_resampling_linear : dnnl_tp_resampling_nearest, NULL, &src,
                          &dst, attr));
}

static dnnl_tp_status_t make_shuffle(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = image(c, 2 * c->n, 3, 2);
    return dnnl_tp_shuffle_forward_primitive_desc_create(pd, c->engine, dnnl_tp_forward_inference, &md, &md,
                                                         1, c->variant ? c->n : 2, NULL);
}

static const dnnl_tp_data_type_t all_types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16,
                                                dnnl_tp_s32, dnnl_tp_s8,   dnnl_tp_u8};
enum { TYPES = sizeof all_types / sizeof *all_types };
/* To every type; to another layout. */
static dnnl_tp_status_t make_reorder(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    case_t to = *c;
    to.type = all_types[c->variant % TYPES];
    to.layout = (c->layout + c->variant / TYPES) % LAYOUTS;
    const dtp_md_t src = image(c, c->n, 3, 5), dst = image(&to, c->n, 3, 5);
    return dnnl_tp_reorder_primitive_desc_create(pd, &src, c->engine, &dst, c->engine, NULL);
}

static dnnl_tp_status_t make_concat(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t a = image(c, c->n, 3, 2), b = image(c, 5, 3, 2);
    const_dnnl_tp_memory_desc_t src[] = {&a, &b};
    return dnnl_tp_concat_primitive_desc_create(pd, c->engine, NULL, 2, 1, src, NULL);
}

static dnnl_tp_status_t make_sum(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const dtp_md_t md = image(c, c->n, 3, 2);
    const_dnnl_tp_memory_desc_t src[] = {&md, &md, &md};
    return dnnl_tp_sum_primitive_desc_create(pd, c->engine, &md, 3, (const float[]){.5f, 1.f, 2.f}, src,
                                             NULL);
}

/* The types of products: of one type; bf16 to f32; u8 and s8 to f32, s32 and u8. */
typedef struct {
    dnnl_tp_data_type_t src, wei, dst;
} product_t;
enum { PRODUCTS = 3 };
static product_t product_of(const case_t *c) {
    if (c->type == dnnl_tp_u8 || c->type == dnnl_tp_s8) {
        static const dnnl_tp_data_type_t to[PRODUCTS] = {dnnl_tp_f32, dnnl_tp_s32, dnnl_tp_u8};
        return (product_t){c->type, dnnl_tp_s8, to[c->variant % PRODUCTS]};
    }
    return (product_t){c->type, c->type, c->variant % PRODUCTS ? dnnl_tp_f32 : c->type};
}

/* n columns, n rows, n steps. */
static dnnl_tp_status_t make_matmul(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const product_t t = product_of(c);
    const int what = c->variant / PRODUCTS;
    const int64_t m = what == 1   ? c->n
                      : what == 3 ? 1
                                  : 7,
                  n = what == 1 || what == 2 ? 5 : c->n, k = what == 2 ? c->n : 9;
    const dtp_md_t src = matrix(t.src, m, k), wei = matrix(t.wei, k, n), dst = matrix(t.dst, m, n),
                   bia = matrix(dnnl_tp_f32, 1, n);
    WITH_BEHIND(&dst, dnnl_tp_matmul_primitive_desc_create(pd, c->engine, &src, &wei,
                                                           c->variant & 1 ? &bia : NULL, &dst, attr));
}

static dnnl_tp_status_t make_inner_product(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const product_t t = product_of(c);
    const bool inside = c->variant / PRODUCTS & 1;
    const int64_t n = inside ? 5 : c->n, k = inside ? c->n : 9;
    const dtp_md_t src = matrix(t.src, 3, k), wei = matrix(t.wei, n, k), dst = matrix(t.dst, 3, n);
    WITH_BEHIND(&dst, dnnl_tp_inner_product_forward_primitive_desc_create(
                          pd, c->engine, dnnl_tp_forward_inference, &src, &wei, NULL, &dst, attr));
}

/* 3 x 3 and 1 x 1, from n channels and to n channels, of each channel by itself, in Winograd's
 * way; wide. */
static dnnl_tp_status_t make_convolution(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const product_t t = product_of(c);
    const int what = c->variant / PRODUCTS;
    const bool alone = what == 3, winograd = what == 4;
    const int64_t taps = what == 1 ? 1 : 3, pad = taps / 2, w = what == 5 ? c->n : 5;
    const int64_t ic = what == 1 || alone || winograd ? c->n : 3, oc = what == 1 ? 5 : what == 5 ? 20 : c->n;
    const dnnl_tp_dims_t one = {1, 1}, pads = {pad, pad};
    case_t s = *c, d = *c;
    s.type = t.src, d.type = t.dst;
    const dtp_md_t src = image(&s, ic, 4, w), dst = image(&d, oc, 4, w);
    dtp_md_t wei;
    CHECK_OK(dtp_md_init_tag(&wei, alone ? 5 : 4,
                             alone ? (const int64_t[]){oc, 1, 1, taps, taps}
                                   : (const int64_t[]){oc, ic, taps, taps},
                             t.wei, dnnl_tp_format_tag_any));
    WITH_BEHIND(&dst, dnnl_tp_convolution_forward_primitive_desc_create(
                          pd, c->engine, dnnl_tp_forward_inference,
                          winograd ? dnnl_tp_convolution_winograd : dnnl_tp_convolution_direct, &src, &wei,
                          NULL, &dst, one, NULL, pads, pads, attr));
}

static dnnl_tp_status_t make_deconvolution(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const bool alone = c->variant & 1;
    const int64_t ic = alone ? c->n : 3, oc = c->n;
    const dnnl_tp_dims_t two_two = {2, 2}, pads = {1, 1};
    const dtp_md_t src = image(c, ic, 3, 4), dst = image(c, oc, 5, 7);
    dtp_md_t wei;
    CHECK_OK(dtp_md_init_tag(&wei, alone ? 5 : 4,
                             alone ? (const int64_t[]){oc, 1, 1, 3, 3} : (const int64_t[]){oc, ic, 3, 3},
                             c->type, dnnl_tp_format_tag_any));
    WITH_BEHIND(&dst, dnnl_tp_deconvolution_forward_primitive_desc_create(
                          pd, c->engine, dnnl_tp_forward_inference, dnnl_tp_deconvolution_direct, &src, &wei,
                          NULL, &dst, two_two, NULL, pads, pads, attr));
}

/* Sequences of n, heads of n; with and without masks. */
static dnnl_tp_status_t make_attention(dnnl_tp_primitive_desc_t *pd, const case_t *c) {
    const int64_t s = c->variant & 1 ? 7 : c->n, d = c->variant & 1 ? c->n : 16;
    dtp_attention_desc_t op = {.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION,
                               .heads = 2,
                               .scale = 1.f / sqrtf((float)d)};
    CHECK_OK(dtp_md_init_strides(&op.q, 3, (const int64_t[]){2, s, 2 * d}, c->type, NULL));
    op.k = op.v = op.dst = op.q;
    if (c->variant & 2) op.mask = matrix(dnnl_tp_f32, 2, s);
    return dtp_pd_create(pd, c->engine, &op.base, sizeof op, NULL);
}

/* any: elements take numbers of any magnitude. images: in all layouts. */
static const struct {
    int kind;
    make_t *make;
    int variants;
    bool any, images, is_behind;
} kinds[] = {
    {dnnl_tp_eltwise, make_eltwise, UNARY + POWERS, true, false, true},
    {dnnl_tp_binary, make_binary, 5 * TWO, true, false, true},
    {dnnl_tp_prelu, make_prelu, 1, true, true, false},
    {dnnl_tp_softmax, make_softmax, 4, true, false, true},
    {dnnl_tp_layer_normalization, make_layer_norm, 8, false, false, false},
    {dnnl_tp_batch_normalization, make_batch_norm, 16, false, true, false},
    {dnnl_tp_group_normalization, make_group_norm, 4, false, true, false},
    {dnnl_tp_lrn, make_lrn, 8, false, true, false},
    {dnnl_tp_reduction, make_reduction, 27, false, false, true},
    {dnnl_tp_pooling, make_pooling, 24, false, true, true},
    {dnnl_tp_resampling, make_resampling, 4, false, true, true},
    {dnnl_tp_shuffle, make_shuffle, 2, true, true, false},
    {dnnl_tp_reorder, make_reorder, 2 * TYPES, true, true, false},
    {dnnl_tp_concat, make_concat, 1, true, true, false},
    {dnnl_tp_sum, make_sum, 1, false, true, false},
    {dnnl_tp_matmul, make_matmul, 4 * PRODUCTS, false, false, true},
    {dnnl_tp_inner_product, make_inner_product, 2 * PRODUCTS, false, false, true},
    {dnnl_tp_convolution, make_convolution, 6 * PRODUCTS, false, true, true},
    {dnnl_tp_deconvolution, make_deconvolution, 2, false, true, true},
    {DTP_KIND_ATTENTION, make_attention, 4, false, false, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Executions ------------------------------------------------------------------------------ */

enum { SMALL, SIGNED, ANY, BELOW, DATA }; /* BELOW: all far below zero */

static void fill(tensor_t *t, int data, int arg, test_rng_t *r) {
    const dnnl_tp_data_type_t type = t->md.data_type;
    const bool whole = is_whole(type), above_0 = data == SMALL || arg == DNNL_TP_ARG_VARIANCE;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (above_0) tensor_fill(t, r, whole ? 1.f : .3f, whole ? 5.f : 2.f, whole);
    else tensor_fill(t, r, -4.f, 4.f, whole);
    if (dtp_md_nelems(&t->md) == 0) return;
    if (whole && !above_0) do /* none is 0: divisors */
            if (tensor_get(t, pos) == 0) tensor_set(t, pos, 5);
        while (tensor_next(&t->md, pos));
    if (data < ANY || whole) return;
    const double most = type == dnnl_tp_f16 ? 4 : 30;
    do {
        const double v = pow(10., (double)test_uniform(r, data == BELOW ? 2.5f : -(float)most, (float)most));
        tensor_set(t, pos, data == ANY && test_rand(r) % 2 ? v : -v);
    } while (tensor_next(&t->md, pos));
}

/* Arguments of exactly their sizes. */
static void execute(const place_t *at, dnnl_tp_primitive_desc_t pd, int data, uint64_t stream) {
    enum { MOST = 16 };
    tensor_t t[MOST];
    dnnl_tp_exec_handle_t args[MOST];
    test_rng_t r = test_rng(stream);
    int n = 0;
    for (int i = 0; i < pd->nargs; ++i) {
        if (!pd->args[i].md || !pd->arg_bytes[i]) continue;
        assert_true(n < MOST);
        if (pd->args[i].md->format_kind == dnnl_tp_blocked) {
            tensor_init(&t[n], pd->args[i].md);
            if (!(pd->args[i].flags & DTP_ARG_OUTPUT)) fill(&t[n], data, pd->args[i].arg, &r);
        } else { /* weights that a reorder makes */
            dtp_md_t bytes;
            const int64_t size = (int64_t)pd->arg_bytes[i];
            CHECK_OK(dtp_md_init_strides(&bytes, 1, &size, dnnl_tp_u8, NULL));
            tensor_init(&t[n], &bytes);
            memset(t[n].data, 0, t[n].bytes);
        }
        args[n] = (dnnl_tp_exec_handle_t){pd->args[i].arg, t[n].data};
        ++n;
    }
    CHECK_OK(run_pd(at, pd, n, args));
    for (int i = 0; i < n; ++i) tensor_free(&t[i]);
}

/* The lengths that a place walks: around every block in f32 on one thread, some otherwise. */
static bool wanted(const place_t *at, const case_t *c) {
    const int64_t in = c->n % 16;
    if (at->threads != 1 && (at->threads != 3 || c->n != 33)) return false;
    if (at->isa == dnnl_tp_cpu_isa_sse41) return c->n == 5;
    if (c->type == dnnl_tp_f32 && !c->layout && !c->behind)
        return c->n < 18 || in <= 1 || in == 7 || in == 15;
    return c->n == 1 || c->n == 7 || c->n == 15 || c->n == 33 || c->n == 66;
}

static void test_kind(void **state) {
    const int k = **(int *const *)state;
    int nplaces;
    int64_t created = 0;
    const place_t *at = places(&nplaces);
    if (!runs_cpu_code(at->engine)) skip();
    for (int p = 0; p < nplaces; ++p)
        for (int type = 0; type < TYPES; ++type)
            for (int layout = 0; layout < (kinds[k].images ? LAYOUTS : 1); ++layout)
                for (int behind = 0; behind < (kinds[k].is_behind && !layout ? BEHINDS : 1); ++behind)
                    for (int64_t n = 1; n <= LONGEST; ++n) {
                        case_t c = {at[p].engine, all_types[type], n, 0, layout, behind};
                        if (!wanted(&at[p], &c)) continue;
                        for (; c.variant < kinds[k].variants; ++c.variant)
                            for (int data = 0; data < (kinds[k].any ? DATA : ANY); ++data) {
                                if (!kinds[k].any && (data == SMALL) != (behind > 0)) continue;
                                dnnl_tp_primitive_desc_t pd;
                                if (kinds[k].make(&pd, &c) != dnnl_tp_success) break; /* no implementation */
                                execute(&at[p], pd, data, (uint64_t)n);
                                ++created;
                            }
                    }
    print_message("%lld executions\n", (long long)created);
    assert_true(created > LONGEST);
}

/* A new kind stands in the table. */
static void test_table(void **state) {
    (void)state;
    static const int all[] = {
#define DTP_KIND(name, number) number,
#define DTP_GRAPH_KIND(name, NAME, number)
#include "common/primitive/kinds.inc"
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        int k = 0;
        while (k < KINDS && kinds[k].kind != all[i]) ++k;
        if (k == KINDS) fail_msg("kind %d is not tested here", all[i]);
    }
}

int main(void) {
    struct CMUnitTest tests[KINDS + 1] = {cmocka_unit_test(test_table)};
    static int number[KINDS];
    for (int k = 0; k < KINDS; ++k) {
        number[k] = k;
        tests[k + 1] = (struct CMUnitTest){"test_kind", test_kind, NULL, NULL, &number[k]};
    }
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
