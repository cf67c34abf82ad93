/* Creation of resamplings and shuffles: every refusal by reason and text; what is odd and legal. */
#include "support/refusal.h"

#define REFUSED(reason, text, call) CHECK_REFUSED(call, dnnl_tp_invalid_arguments, reason, text)

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
    dnnl_tp_primitive_desc_t pd = REFUSAL_UNSET;
    const dtp_md_t src = c.any_src ? refusal_md(c.src_nd, c.src, dnnl_tp_f32, dnnl_tp_format_tag_any)
                                   : refusal_plain(c.src_nd, c.src, dnnl_tp_f32),
                   dst = refusal_plain(c.dst_nd, c.dst, dnnl_tp_f32);
    const dnnl_tp_status_t status = dnnl_tp_resampling_forward_primitive_desc_create(
        &pd, engine, c.prop, c.alg, c.no_factors ? NULL : c.factors, c.no_src ? NULL : &src,
        c.no_dst ? NULL : &dst, NULL);
    return refusal_done(status, pd);
}

static void resampling(void **state) {
    (void)state;
    resampling_t c = sampled;
    CHECK_OK(resample(c));
    c.no_dst = true, CHECK_OK(resample(c)), c = sampled;
    c.no_factors = true, CHECK_OK(resample(c)), c = sampled;
    c.no_factors = c.no_dst = true, REFUSED(NULL_ARG, "dst_desc and factors", resample(c)), c = sampled;
    c.no_src = true, REFUSED(NULL_ARG, "src", resample(c)), c = sampled;
    c.any_src = true, REFUSED(ANY_NOT_ALLOWED, "src", resample(c)), c = sampled;
    c.prop = (dnnl_tp_prop_kind_t)160, REFUSED(BAD_PROP, "backward_data", resample(c)), c = sampled;
    c.alg = dnnl_tp_pooling_max, REFUSED(BAD_ALG, "pooling_max", resample(c)), c = sampled;
    c.src_nd = 2, REFUSED(BAD_NDIMS, "2 dimensions", resample(c)), c = sampled;
    c.dst_nd = 3, REFUSED(NDIMS_MISMATCH, "dst has 3", resample(c)), c = sampled;
    c.dst[1] = 4, REFUSED(DIMS_MISMATCH, "dimension 1", resample(c)), c = sampled;
    c.src[2] = 0, REFUSED(BAD_DIMS, "src nothing", resample(c)), c = sampled;
    c.src[2] = c.dst[2] = 0, CHECK_OK(resample(c)), c = sampled;
    c.no_dst = true, c.factors[0] = -1.f, REFUSED(BAD_PARAM, "factor -1", resample(c));
    c.factors[0] = 1e30f, REFUSED(BAD_PARAM, "factor 1e+30", resample(c)), c = sampled;
    c.dst[2] = 1 << 24;
    CHECK_REFUSED(resample(c), dnnl_tp_unimplemented, UNSUPPORTED_SHAPE, "16777216");
}

/* ---- Shuffle ----------------------------------------------------------------------------------------- */

static void shuffle(void **state) {
    (void)state;
    const int64_t dims[] = {2, 12, 5}, other[] = {2, 12, 6};
    const dtp_md_t md = refusal_plain(3, dims, dnnl_tp_s8),
                   any = refusal_md(3, dims, dnnl_tp_s8, dnnl_tp_format_tag_any),
                   wide = refusal_plain(3, dims, dnnl_tp_f32), longer = refusal_plain(3, other, dnnl_tp_s8);
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
    REFUSED(BAD_PROP, "backward_data", SHUFFLE((dnnl_tp_prop_kind_t)160, &md, &md, 1, 4));
    REFUSED(NULL_ARG, "src", SHUFFLE(prop, NULL, &md, 1, 4));
    REFUSED(NULL_ARG, "dst", SHUFFLE(prop, &md, NULL, 1, 4));
    REFUSED(ANY_NOT_ALLOWED, "src", SHUFFLE(prop, &any, &md, 1, 4));
    REFUSED(DIMS_MISMATCH, "dimension 2", SHUFFLE(prop, &md, &longer, 1, 4));
    CHECK_STATUS(SHUFFLE(prop, &md, &wide, 1, 4), dnnl_tp_unimplemented);
    assert_non_null(strstr(dnnl_tp_last_error(), "src is s8, dst is f32"));
    REFUSED(BAD_AXIS, "axis 3 is outside 0..2", SHUFFLE(prop, &md, &md, 3, 4));
    REFUSED(BAD_AXIS, "axis -1", SHUFFLE(prop, &md, &md, -1, 4));
    REFUSED(BAD_PARAM, "group size 5 does not divide axis 1, which has 12", SHUFFLE(prop, &md, &md, 1, 5));
    REFUSED(BAD_PARAM, "group size 0", SHUFFLE(prop, &md, &md, 1, 0));
    REFUSED(BAD_PARAM, "group size -2", SHUFFLE(prop, &md, &md, 1, -2));
#undef SHUFFLE
    assert_null(pd);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(resampling), cmocka_unit_test(shuffle)};
    return cmocka_run_group_tests(tests, refusal_setup, refusal_teardown);
}
