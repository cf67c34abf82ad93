/* Creation of deconvolutions, resamplings and shuffles: every refusal by reason and text; what is odd and legal. */
#include "support/check.h"

#include <string.h>

#include "common/base/object.h"
#include "common/primitive/primitive_desc.h"

static dnnl_tp_engine_t engine;

static void says(dnnl_tp_status_t got, dnnl_tp_status_t status, dtp_reason_t reason, const char *text) {
    CHECK_STATUS(got, status);
    assert_int_equal(dtp_last_reason(), reason);
    if (!strstr(dnnl_tp_last_error(), text)) fail_msg("'%s' does not say '%s'", dnnl_tp_last_error(), text);
}
#define REFUSED(reason, text, call) says(call, dnnl_tp_invalid_arguments, reason, text)

static dtp_md_t md_of(int nd, const int64_t *dims, dnnl_tp_data_type_t dt, bool any) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_tag(&md, nd, dims, dt, dnnl_tp_format_tag_any));
    if (!any) dtp_md_make_plain(&md);
    return md;
}

/* ---- Deconvolution ----------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int src_nd, wei_nd, dst_nd, bia_nd;
    dnnl_tp_dims_t src, wei, dst, bia, stride, dilation, left, right;
    unsigned missing; /* bits: src, wei, dst, strides, padding_l */
} deconv_t;

static const deconv_t good = {.prop = dnnl_tp_forward_training,
                              .alg = dnnl_tp_deconvolution_direct,
                              .src_nd = 4,
                              .wei_nd = 5,
                              .dst_nd = 4,
                              .bia_nd = 1,
                              .src = {2, 6, 4, 9},
                              .wei = {2, 5, 3, 3, 3},
                              .dst = {2, 10, 8, 9},
                              .bia = {10},
                              .stride = {2, 1},
                              .left = {1, 1},
                              .right = {0, 1}};

static dnnl_tp_status_t deconv(deconv_t c) {
    dnnl_tp_primitive_desc_t pd = (dnnl_tp_primitive_desc_t)(void *)&pd;
    const dtp_md_t src = md_of(c.src_nd, c.src, dnnl_tp_f32, false),
                   wei = md_of(c.wei_nd, c.wei, dnnl_tp_f32, false),
                   dst = md_of(c.dst_nd, c.dst, dnnl_tp_f32, false),
                   bia = md_of(c.bia_nd, c.bia, dnnl_tp_f32, false);
    const unsigned m = c.missing;
    const dnnl_tp_status_t status = dnnl_tp_deconvolution_forward_primitive_desc_create(
        &pd, engine, c.prop, c.alg, m & 1 ? NULL : &src, m & 2 ? NULL : &wei, &bia, m & 4 ? NULL : &dst,
        m & 8 ? NULL : c.stride, c.dilation, m & 16 ? NULL : c.left, c.right, NULL);
    if (status) assert_null(pd);
    else CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return status;
}

static void deconvolution(void **state) {
    (void)state;
    deconv_t c = good;
    CHECK_OK(deconv(c));
    c.dst[2] = 9, CHECK_OK(deconv(c)), c = good; /* a place that no kernel reaches */
    c.right[0] = -1, c.dst[2] = 9, CHECK_OK(deconv(c)), c = good;
    c.prop = (dnnl_tp_prop_kind_t)160, REFUSED(DTP_BAD_PROP, "backward_data", deconv(c)), c = good;
    c.alg = dnnl_tp_convolution_direct, REFUSED(DTP_BAD_ALG, "deconvolution_direct", deconv(c)), c = good;
    for (unsigned i = 0; i < 5; ++i) {
        static const char *const names[] = {"src", "weights", "dst", "strides", "padding_l"};
        c.missing = 1u << i;
        REFUSED(DTP_NULL_ARG, names[i], deconv(c));
        c = good;
    }
    c.src_nd = 2, REFUSED(DTP_BAD_NDIMS, "3..5", deconv(c)), c = good;
    c.dst_nd = 3, REFUSED(DTP_NDIMS_MISMATCH, "dst has 3", deconv(c)), c = good;
    c.wei_nd = 3, REFUSED(DTP_NDIMS_MISMATCH, "weights have 3", deconv(c)), c = good;
    c.src[1] = 7, REFUSED(DTP_DIMS_MISMATCH, "input channels", deconv(c)), c = good;
    c.dst[1] = 7, REFUSED(DTP_DIMS_MISMATCH, "output channels", deconv(c)), c = good;
    c.dst[0] = 7, REFUSED(DTP_DIMS_MISMATCH, "batch", deconv(c)), c = good;
    c.dst[2] = 10, REFUSED(DTP_DIMS_MISMATCH, "gives 5", deconv(c)), c = good;
    c.dst[3] = 10, REFUSED(DTP_DIMS_MISMATCH, "gives 10", deconv(c)), c = good;
    c.stride[0] = 0, REFUSED(DTP_BAD_STRIDES, "stride 0", deconv(c)), c = good;
    c.dilation[1] = -1, REFUSED(DTP_BAD_PARAM, "dilation -1", deconv(c)), c = good;
    c.left[1] = -1, REFUSED(DTP_BAD_PARAM, "padding -1", deconv(c)), c = good;
    c.wei[3] = 0, REFUSED(DTP_BAD_DIMS, "kernel 0", deconv(c)), c = good;
    c.bia[0] = 9, REFUSED(DTP_DIMS_MISMATCH, "bias", deconv(c)), c = good;
    c.left[0] = INT64_MAX / 2, REFUSED(DTP_OVERFLOW, "padding", deconv(c));
}

/* ---- Resampling -------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int src_nd, dst_nd;
    dnnl_tp_dims_t src, dst;
    float factors[3];
    bool no_src, no_dst, no_factors, any_src;
} resampling_t;

static const resampling_t sampled = {.prop = dnnl_tp_forward_inference,
                                     .alg = dnnl_tp_resampling_linear,
                                     .src_nd = 4,
                                     .dst_nd = 4,
                                     .src = {2, 3, 4, 5},
                                     .dst = {2, 3, 8, 4},
                                     .factors = {2.f, .8f}};

static dnnl_tp_status_t resample(resampling_t c) {
    dnnl_tp_primitive_desc_t pd = (dnnl_tp_primitive_desc_t)(void *)&pd;
    const dtp_md_t src = md_of(c.src_nd, c.src, dnnl_tp_f32, c.any_src),
                   dst = md_of(c.dst_nd, c.dst, dnnl_tp_f32, false);
    const dnnl_tp_status_t status = dnnl_tp_resampling_forward_primitive_desc_create(
        &pd, engine, c.prop, c.alg, c.no_factors ? NULL : c.factors, c.no_src ? NULL : &src,
        c.no_dst ? NULL : &dst, NULL);
    if (status) assert_null(pd);
    else CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return status;
}

static void resampling(void **state) {
    (void)state;
    resampling_t c = sampled;
    CHECK_OK(resample(c));
    c.no_dst = true, CHECK_OK(resample(c)), c = sampled;
    c.no_factors = true, CHECK_OK(resample(c)), c = sampled;
    c.no_factors = c.no_dst = true, REFUSED(DTP_NULL_ARG, "dst_desc and factors", resample(c)), c = sampled;
    c.no_src = true, REFUSED(DTP_NULL_ARG, "src", resample(c)), c = sampled;
    c.any_src = true, REFUSED(DTP_ANY_NOT_ALLOWED, "src", resample(c)), c = sampled;
    c.prop = (dnnl_tp_prop_kind_t)160, REFUSED(DTP_BAD_PROP, "backward_data", resample(c)), c = sampled;
    c.alg = dnnl_tp_pooling_max, REFUSED(DTP_BAD_ALG, "pooling_max", resample(c)), c = sampled;
    c.src_nd = 2, REFUSED(DTP_BAD_NDIMS, "2 dimensions", resample(c)), c = sampled;
    c.dst_nd = 3, REFUSED(DTP_NDIMS_MISMATCH, "dst has 3", resample(c)), c = sampled;
    c.dst[1] = 4, REFUSED(DTP_DIMS_MISMATCH, "dimension 1", resample(c)), c = sampled;
    c.src[2] = 0, REFUSED(DTP_BAD_DIMS, "src nothing", resample(c)), c = sampled;
    c.src[2] = c.dst[2] = 0, CHECK_OK(resample(c)), c = sampled;
    c.no_dst = true, c.factors[0] = -1.f, REFUSED(DTP_BAD_PARAM, "factor -1", resample(c));
    c.factors[0] = 1e30f, REFUSED(DTP_BAD_PARAM, "factor 1e+30", resample(c)), c = sampled;
    c.dst[2] = 1 << 24;
    says(resample(c), dnnl_tp_unimplemented, DTP_UNSUPPORTED_SHAPE, "16777216");
}

/* ---- Shuffle ----------------------------------------------------------------------------------------- */

static void shuffle(void **state) {
    (void)state;
    const int64_t dims[] = {2, 12, 5}, other[] = {2, 12, 6};
    const dtp_md_t md = md_of(3, dims, dnnl_tp_s8, false), any = md_of(3, dims, dnnl_tp_s8, true),
                   wide = md_of(3, dims, dnnl_tp_f32, false), longer = md_of(3, other, dnnl_tp_s8, false);
    const dnnl_tp_prop_kind_t prop = dnnl_tp_forward_training;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_shuffle_forward_primitive_desc_create(&pd, engine, prop, &md, &any, 1, 4, NULL));
    int axis;
    int64_t group;
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_axis_s32, 0, &axis));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_group_size_s64, 0, &group));
    assert_true(axis == 1 && group == 4);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
#define SHUFFLE(...) dnnl_tp_shuffle_forward_primitive_desc_create(&pd, engine, __VA_ARGS__, NULL)
    REFUSED(DTP_BAD_PROP, "backward_data", SHUFFLE((dnnl_tp_prop_kind_t)160, &md, &md, 1, 4));
    REFUSED(DTP_NULL_ARG, "src", SHUFFLE(prop, NULL, &md, 1, 4));
    REFUSED(DTP_NULL_ARG, "dst", SHUFFLE(prop, &md, NULL, 1, 4));
    REFUSED(DTP_ANY_NOT_ALLOWED, "src", SHUFFLE(prop, &any, &md, 1, 4));
    REFUSED(DTP_DIMS_MISMATCH, "dimension 2", SHUFFLE(prop, &md, &longer, 1, 4));
    REFUSED(DTP_DATA_TYPE_MISMATCH, "src is s8, dst is f32", SHUFFLE(prop, &md, &wide, 1, 4));
    REFUSED(DTP_BAD_AXIS, "axis 3 is outside 0..2", SHUFFLE(prop, &md, &md, 3, 4));
    REFUSED(DTP_BAD_AXIS, "axis -1", SHUFFLE(prop, &md, &md, -1, 4));
    REFUSED(DTP_BAD_PARAM, "group size 5 does not divide axis 1, which has 12",
            SHUFFLE(prop, &md, &md, 1, 5));
    REFUSED(DTP_BAD_PARAM, "group size 0", SHUFFLE(prop, &md, &md, 1, 0));
    REFUSED(DTP_BAD_PARAM, "group size -2", SHUFFLE(prop, &md, &md, 1, -2));
#undef SHUFFLE
    assert_null(pd);
}

static int setup(void **state) {
    (void)state;
    return dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
}
static int teardown(void **state) {
    (void)state;
    return dnnl_tp_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(deconvolution), cmocka_unit_test(resampling),
                                       cmocka_unit_test(shuffle)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
