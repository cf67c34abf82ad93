/* Creation of primitives whose windows slide over space: every refusal by reason and text. */
#include "support/check.h"

#include <string.h>

#include "common/base/object.h"
#include "common/primitive/primitive_desc.h"

static dnnl_tp_engine_t engine;

typedef struct {
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int src_nd, dst_nd;
    dnnl_tp_dims_t src, dst, stride, kernel, dilation, pad_l, pad_r;
    dnnl_tp_format_tag_t src_tag, dst_tag;
    unsigned missing; /* bits: stride, kernel, dilation, pad_l, src, dst */
} pooling_t;

static const pooling_t good = {.prop = dnnl_tp_forward_training,
                               .alg = dnnl_tp_pooling_max,
                               .src_nd = 4,
                               .dst_nd = 4,
                               .src = {2, 3, 8, 9},
                               .dst = {2, 3, 4, 9},
                               .stride = {2, 1},
                               .kernel = {3, 3},
                               .pad_l = {1, 1},
                               .pad_r = {0, 1},
                               .src_tag = dnnl_tp_acdb,
                               .dst_tag = dnnl_tp_format_tag_any};

static dnnl_tp_status_t create(dnnl_tp_primitive_desc_t *pd, const pooling_t *p,
                               const_dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_memory_desc_t src, dst;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, p->src_nd, p->src, dnnl_tp_f32, p->src_tag));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, p->dst_nd, p->dst, dnnl_tp_f32, p->dst_tag));
    const unsigned m = p->missing;
    const dnnl_tp_status_t status = dnnl_tp_pooling_forward_primitive_desc_create(
        pd, engine, p->prop, p->alg, m & 16 ? NULL : src, m & 32 ? NULL : dst, m & 1 ? NULL : p->stride,
        m & 2 ? NULL : p->kernel, m & 4 ? NULL : p->dilation, m & 8 ? NULL : p->pad_l, p->pad_r, attr);
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    return status;
}

static void refused(const pooling_t *p, dtp_reason_t reason, const char *says) {
    dnnl_tp_primitive_desc_t pd = (dnnl_tp_primitive_desc_t)(void *)&pd;
    CHECK_STATUS(create(&pd, p, NULL), dnnl_tp_invalid_arguments);
    assert_null(pd);
    assert_int_equal(dtp_last_reason(), reason);
    if (!strstr(dnnl_tp_last_error(), says)) fail_msg("'%s' does not say '%s'", dnnl_tp_last_error(), says);
}

static void pooling(void **state) {
    (void)state;
    dnnl_tp_primitive_desc_t pd;
    pooling_t p = good;
    CHECK_OK(create(&pd, &p, NULL));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    p.prop = (dnnl_tp_prop_kind_t)160, refused(&p, DTP_BAD_PROP, "backward_data"), p = good;
    p.alg = dnnl_tp_reduction_max, refused(&p, DTP_BAD_ALG, "reduction_max"), p = good;
    for (unsigned i = 0; i < 6; ++i) {
        static const char *const names[] = {"strides", "kernel", "dilation", "padding_l", "src", "dst"};
        p.missing = 1u << i, refused(&p, DTP_NULL_ARG, names[i]), p = good;
    }
    p.src_tag = dnnl_tp_format_tag_any, refused(&p, DTP_ANY_NOT_ALLOWED, "src"), p = good;
    p.src_nd = p.dst_nd = 2, p.src_tag = dnnl_tp_ab, refused(&p, DTP_BAD_NDIMS, "3..5"), p = good;
    p.dst_nd = 3, refused(&p, DTP_NDIMS_MISMATCH, "src has 4, dst has 3"), p = good;
    p.dst[0] = 3, refused(&p, DTP_DIMS_MISMATCH, "dimension 0"), p = good;
    p.dst[1] = 4, refused(&p, DTP_DIMS_MISMATCH, "dimension 1"), p = good;
    p.dst[2] = 5, refused(&p, DTP_DIMS_MISMATCH, "gives 4"), p = good;
    p.kernel[1] = 0, refused(&p, DTP_BAD_DIMS, "kernel 0"), p = good;
    p.stride[0] = 0, refused(&p, DTP_BAD_STRIDES, "stride 0"), p = good;
    p.dilation[1] = -1, refused(&p, DTP_BAD_PARAM, "dilation -1"), p = good;
    p.pad_l[0] = -1, refused(&p, DTP_BAD_PARAM, "left padding -1"), p = good;
    p.kernel[0] = 12, refused(&p, DTP_DIMS_MISMATCH, "gives 0"), p = good;
    p.pad_l[0] = INT64_MAX / 2, refused(&p, DTP_OVERFLOW, "padding"), p = good;
    p.dilation[0] = INT64_MAX, refused(&p, DTP_OVERFLOW, "dilation"), p = good;
    p.kernel[0] = INT64_MAX / 4, p.dilation[0] = 7, refused(&p, DTP_OVERFLOW, "kernel"), p = good;
    /* More taps than s32 numbers. */
    p.kernel[0] = p.kernel[1] = 1 << 16, p.pad_l[0] = p.pad_l[1] = 1 << 17, p.pad_r[0] = p.pad_r[1] = 0;
    p.stride[0] = 1, p.dst[2] = 8 + (1 << 17) - (1 << 16) + 1, p.dst[3] = p.dst[2] + 1;
    refused(&p, DTP_OVERFLOW, "taps"), p = good;
}

/* An average over the taps inside needs one. */
static void averages_of_nothing(void **state) {
    (void)state;
    dnnl_tp_primitive_desc_t pd;
    for (int exclude = 0; exclude < 2; ++exclude) {
        pooling_t p = good;
        p.alg = exclude ? dnnl_tp_pooling_avg_exclude_padding : dnnl_tp_pooling_avg_include_padding;
        CHECK_OK(create(&pd, &p, NULL));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        p.pad_l[1] = 3, p.dst[3] = 11; /* the first window lies in the padding */
        if (exclude) refused(&p, DTP_BAD_PARAM, "padding 3 and 1, the window covers 3");
        else CHECK_OK(create(&pd, &p, NULL)), CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        p = good, p.alg = exclude ? dnnl_tp_pooling_avg_exclude_padding : dnnl_tp_pooling_avg_include_padding;
        p.dilation[0] = 8, p.pad_l[0] = p.pad_r[0] = 8, p.dst[2] = 3; /* taps step over all of src */
        if (exclude) refused(&p, DTP_BAD_PARAM, "dilation 8, src has 8");
        else CHECK_OK(create(&pd, &p, NULL)), CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
}

static void post_ops_of_pooling(void **state) {
    (void)state;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_sum(po, 1.f, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_STATUS(create(&pd, &good, attr), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_UNSUPPORTED_POST_OPS);
    assert_non_null(strstr(dnnl_tp_last_error(), "pooling takes eltwise and binary, not sum"));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(pooling), cmocka_unit_test(averages_of_nothing),
                                       cmocka_unit_test(post_ops_of_pooling)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
