/* Creation of primitives whose windows slide over space: every refusal by reason and text. */
#include "support/refusal.h"

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

static dnnl_tp_status_t create(const pooling_t *p, const_dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_primitive_desc_t pd = REFUSAL_UNSET;
    const dtp_md_t src = refusal_md(p->src_nd, p->src, dnnl_tp_f32, p->src_tag),
                   dst = refusal_md(p->dst_nd, p->dst, dnnl_tp_f32, p->dst_tag);
    const unsigned m = p->missing;
    const dnnl_tp_status_t status = dnnl_tp_pooling_forward_primitive_desc_create(
        &pd, engine, p->prop, p->alg, m & 16 ? NULL : &src, m & 32 ? NULL : &dst, m & 1 ? NULL : p->stride,
        m & 2 ? NULL : p->kernel, m & 4 ? NULL : p->dilation, m & 8 ? NULL : p->pad_l, p->pad_r, attr);
    return refusal_done(status, pd);
}
#define REFUSED(reason, says) CHECK_REFUSED(create(&p, NULL), dnnl_tp_invalid_arguments, reason, says)

static void pooling(void **state) {
    (void)state;
    pooling_t p = good;
    CHECK_OK(create(&p, NULL));
    p.prop = (dnnl_tp_prop_kind_t)160, REFUSED(BAD_PROP, "backward_data"), p = good;
    p.alg = dnnl_tp_reduction_max, REFUSED(BAD_ALG, "reduction_max"), p = good;
    for (unsigned i = 0; i < 6; ++i) {
        static const char *const names[] = {"strides", "kernel", "dilation", "padding_l", "src", "dst"};
        p.missing = 1u << i, REFUSED(NULL_ARG, names[i]), p = good;
    }
    p.src_tag = dnnl_tp_format_tag_any, REFUSED(ANY_NOT_ALLOWED, "src"), p = good;
    p.src_nd = p.dst_nd = 2, p.src_tag = dnnl_tp_ab, REFUSED(BAD_NDIMS, "3..5"), p = good;
    p.dst_nd = 3, REFUSED(NDIMS_MISMATCH, "src has 4, dst has 3"), p = good;
    p.dst[0] = 3, REFUSED(DIMS_MISMATCH, "dimension 0"), p = good;
    p.dst[1] = 4, REFUSED(DIMS_MISMATCH, "dimension 1"), p = good;
    p.dst[2] = 5, REFUSED(DIMS_MISMATCH, "gives 4"), p = good;
    p.kernel[1] = 0, REFUSED(BAD_DIMS, "kernel 0"), p = good;
    p.stride[0] = 0, REFUSED(BAD_STRIDES, "stride 0"), p = good;
    p.dilation[1] = -1, REFUSED(BAD_PARAM, "dilation -1"), p = good;
    p.pad_l[0] = -1, REFUSED(BAD_PARAM, "left padding -1"), p = good;
    p.kernel[0] = 12, REFUSED(DIMS_MISMATCH, "gives 0"), p = good;
    p.pad_l[0] = INT64_MAX / 2, REFUSED(OVERFLOW, "padding"), p = good;
    p.dilation[0] = INT64_MAX, REFUSED(OVERFLOW, "dilation"), p = good;
    p.kernel[0] = INT64_MAX / 4, p.dilation[0] = 7, REFUSED(OVERFLOW, "kernel"), p = good;
    /* More taps than s32 numbers. */
    p.kernel[0] = p.kernel[1] = 1 << 16, p.pad_l[0] = p.pad_l[1] = 1 << 17, p.pad_r[0] = p.pad_r[1] = 0;
    p.stride[0] = 1, p.dst[2] = 8 + (1 << 17) - (1 << 16) + 1, p.dst[3] = p.dst[2] + 1;
    REFUSED(OVERFLOW, "taps"), p = good;
}

/* An average over the taps inside needs one. */
static void averages_of_nothing(void **state) {
    (void)state;
    for (int exclude = 0; exclude < 2; ++exclude) {
        pooling_t p = good;
        p.alg = exclude ? dnnl_tp_pooling_avg_exclude_padding : dnnl_tp_pooling_avg_include_padding;
        CHECK_OK(create(&p, NULL));
        p.pad_l[1] = 3, p.dst[3] = 11; /* the first window lies in the padding */
        if (exclude) REFUSED(BAD_PARAM, "padding 3 and 1, the window covers 3");
        else CHECK_OK(create(&p, NULL));
        p = good, p.alg = exclude ? dnnl_tp_pooling_avg_exclude_padding : dnnl_tp_pooling_avg_include_padding;
        p.dilation[0] = 8, p.pad_l[0] = p.pad_r[0] = 8, p.dst[2] = 3; /* taps step over all of src */
        if (exclude) REFUSED(BAD_PARAM, "dilation 8, src has 8");
        else CHECK_OK(create(&p, NULL));
    }
}

static void post_ops_of_pooling(void **state) {
    (void)state;
    dnnl_tp_primitive_attr_t attr = refusal_sum();
    CHECK_REFUSED(create(&good, attr), dnnl_tp_unimplemented, UNSUPPORTED_POST_OPS,
                  "pooling takes eltwise and binary, not sum");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pooling), cmocka_unit_test(averages_of_nothing),
                                       cmocka_unit_test(post_ops_of_pooling)};
    return cmocka_run_group_tests(tests, refusal_setup, refusal_teardown);
}
