/* What creation of batch, group and local response normalization refuses, by reason and text. */
#include <string.h>

#include "common/base/base.h"
#include "support/check.h"

static dnnl_tp_engine_t engine;

enum { BATCH, GROUP, LRN, KINDS };
typedef struct {
    int kind;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int src_nd, dst_nd;
    dnnl_tp_dims_t src, dst;
    dnnl_tp_format_tag_t src_tag;
    int64_t groups, local_size;
    unsigned flags;
    bool no_src, no_dst;
} norm_t;

static norm_t good(int kind) {
    return (norm_t){.kind = kind,
                    .prop = dnnl_tp_forward_training,
                    .alg = dnnl_tp_lrn_across_channels,
                    .src_nd = 4,
                    .dst_nd = 4,
                    .src = {2, 6, 5, 4},
                    .dst = {2, 6, 5, 4},
                    .src_tag = dnnl_tp_nhwc,
                    .groups = 3,
                    .local_size = 5};
}

static dnnl_tp_status_t create(dnnl_tp_primitive_desc_t *pd, const norm_t *p, dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_memory_desc_t src, dst;
    dnnl_tp_status_t status;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, p->src_nd, p->src, dnnl_tp_f32, p->src_tag));
    CHECK_OK(
        dnnl_tp_memory_desc_create_with_tag(&dst, p->dst_nd, p->dst, dnnl_tp_f32, dnnl_tp_format_tag_any));
    const_dnnl_tp_memory_desc_t s = p->no_src ? NULL : src, d = p->no_dst ? NULL : dst;
    if (p->kind == BATCH)
        status = dnnl_tp_batch_normalization_forward_primitive_desc_create(pd, engine, p->prop, s, d, 1e-5f,
                                                                           p->flags, attr);
    else if (p->kind == GROUP)
        status = dnnl_tp_group_normalization_forward_primitive_desc_create(pd, engine, p->prop, s, d,
                                                                           p->groups, 1e-5f, p->flags, attr);
    else
        status = dnnl_tp_lrn_forward_primitive_desc_create(pd, engine, p->prop, p->alg, s, d, p->local_size,
                                                           1e-4f, .75f, 1.f, attr);
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    return status;
}

static void refused(const norm_t *p, dtp_reason_t reason, const char *says) {
    dnnl_tp_primitive_desc_t pd = (dnnl_tp_primitive_desc_t)(void *)&pd;
    CHECK_STATUS(create(&pd, p, NULL), dnnl_tp_invalid_arguments);
    assert_null(pd);
    assert_int_equal(dtp_last_reason(), reason);
    if (!strstr(dnnl_tp_last_error(), says)) fail_msg("'%s' does not say '%s'", dnnl_tp_last_error(), says);
}

static void every_kind(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) {
        dnnl_tp_primitive_desc_t pd;
        norm_t p = good(kind);
        CHECK_OK(create(&pd, &p, NULL));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        p.prop = (dnnl_tp_prop_kind_t)160, refused(&p, DTP_BAD_PROP, "backward_data"), p = good(kind);
        p.no_src = true, refused(&p, DTP_NULL_ARG, "src"), p = good(kind);
        p.no_dst = true, refused(&p, DTP_NULL_ARG, "dst"), p = good(kind);
        p.src_tag = dnnl_tp_format_tag_any, refused(&p, DTP_ANY_NOT_ALLOWED, "src"), p = good(kind);
        p.dst_nd = 3, refused(&p, DTP_NDIMS_MISMATCH, "src has 4"), p = good(kind);
        p.dst[3] = 3, refused(&p, DTP_DIMS_MISMATCH, "dimension 3"), p = good(kind);
        p.src_nd = p.dst_nd = 1, p.src_tag = dnnl_tp_a;
        refused(&p, DTP_BAD_NDIMS, kind == GROUP ? "3..5" : "2..5");
    }
}

static void flags_and_numbers(void **state) {
    (void)state;
    norm_t p = good(BATCH);
    p.flags = dnnl_tp_rms_norm, refused(&p, DTP_BAD_FLAGS, "0x20"), p = good(GROUP);
    p.flags = dnnl_tp_fuse_norm_relu, refused(&p, DTP_BAD_FLAGS, "0x8"), p = good(GROUP);
    p.groups = 0, refused(&p, DTP_BAD_PARAM, "0 groups"), p = good(GROUP);
    p.groups = -3, refused(&p, DTP_BAD_PARAM, "-3 groups"), p = good(GROUP);
    p.groups = 4, refused(&p, DTP_BAD_PARAM, "divide 6"), p = good(LRN);
    p.local_size = 0, refused(&p, DTP_BAD_PARAM, "local_size is 0"), p = good(LRN);
    p.alg = dnnl_tp_pooling_max, refused(&p, DTP_BAD_ALG, "max"), p = good(LRN);
    /* Neighbourhoods beyond src overflow nothing. */
    dnnl_tp_primitive_desc_t pd;
    p.local_size = INT64_MAX;
    CHECK_OK(create(&pd, &p, NULL));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

static void attributes(void **state) {
    (void)state;
    static const char *const says[] = {"batch_normalization takes eltwise and binary, not sum",
                                       "group_normalization takes eltwise and binary, not sum",
                                       "lrn takes none, not sum"};
    for (int kind = 0; kind < KINDS; ++kind) {
        dnnl_tp_primitive_desc_t pd;
        dnnl_tp_primitive_attr_t attr;
        dnnl_tp_post_ops_t po;
        const norm_t p = good(kind);
        CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
        CHECK_STATUS(create(&pd, &p, attr), kind == GROUP ? dnnl_tp_success : dnnl_tp_unimplemented);
        if (pd) CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
        CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
        CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        CHECK_OK(dnnl_tp_post_ops_append_sum(po, 1.f, 0, dnnl_tp_data_type_undef));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        CHECK_STATUS(create(&pd, &p, attr), dnnl_tp_unimplemented);
        assert_int_equal(dtp_last_reason(), DTP_UNSUPPORTED_POST_OPS);
        if (!strstr(dnnl_tp_last_error(), says[kind])) fail_msg("'%s'", dnnl_tp_last_error());
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
        CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(flags_and_numbers),
                                       cmocka_unit_test(attributes)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
