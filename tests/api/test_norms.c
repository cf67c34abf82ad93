/* What creation of batch, group and local response normalization refuses, by reason and text. */
#include "support/refusal.h"

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

static dnnl_tp_status_t create(const norm_t *p, dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_primitive_desc_t pd = REFUSAL_UNSET;
    const dtp_md_t src = refusal_md(p->src_nd, p->src, dnnl_tp_f32, p->src_tag),
                   dst = refusal_md(p->dst_nd, p->dst, dnnl_tp_f32, dnnl_tp_format_tag_any);
    const_dnnl_tp_memory_desc_t s = p->no_src ? NULL : &src, d = p->no_dst ? NULL : &dst;
    dnnl_tp_status_t status;
    if (p->kind == BATCH)
        status = dnnl_tp_batch_normalization_forward_primitive_desc_create(&pd, engine, p->prop, s, d, 1e-5f,
                                                                           p->flags, attr);
    else if (p->kind == GROUP)
        status = dnnl_tp_group_normalization_forward_primitive_desc_create(&pd, engine, p->prop, s, d,
                                                                           p->groups, 1e-5f, p->flags, attr);
    else
        status = dnnl_tp_lrn_forward_primitive_desc_create(&pd, engine, p->prop, p->alg, s, d, p->local_size,
                                                           1e-4f, .75f, 1.f, attr);
    return refusal_done(status, pd);
}
#define REFUSED(reason, says) CHECK_REFUSED(create(&p, NULL), dnnl_tp_invalid_arguments, reason, says)

static void every_kind(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) {
        norm_t p = good(kind);
        CHECK_OK(create(&p, NULL));
        p.prop = (dnnl_tp_prop_kind_t)160, REFUSED(BAD_PROP, "backward_data"), p = good(kind);
        p.no_src = true, REFUSED(NULL_ARG, "src"), p = good(kind);
        p.no_dst = true, REFUSED(NULL_ARG, "dst"), p = good(kind);
        p.src_tag = dnnl_tp_format_tag_any, REFUSED(ANY_NOT_ALLOWED, "src"), p = good(kind);
        p.dst_nd = 3, REFUSED(NDIMS_MISMATCH, "src has 4"), p = good(kind);
        p.dst[3] = 3, REFUSED(DIMS_MISMATCH, "dimension 3"), p = good(kind);
        p.src_nd = p.dst_nd = 1, p.src_tag = dnnl_tp_a;
        REFUSED(BAD_NDIMS, kind == GROUP ? "3..5" : "2..5");
    }
}

static void flags_and_numbers(void **state) {
    (void)state;
    norm_t p = good(BATCH);
    p.flags = dnnl_tp_rms_norm, REFUSED(BAD_FLAGS, "0x20"), p = good(GROUP);
    p.flags = dnnl_tp_fuse_norm_relu, REFUSED(BAD_FLAGS, "0x8"), p = good(GROUP);
    p.groups = 0, REFUSED(BAD_PARAM, "0 groups"), p = good(GROUP);
    p.groups = -3, REFUSED(BAD_PARAM, "-3 groups"), p = good(GROUP);
    p.groups = 4, REFUSED(BAD_PARAM, "divide 6"), p = good(LRN);
    p.local_size = 0, REFUSED(BAD_PARAM, "local_size is 0"), p = good(LRN);
    p.alg = dnnl_tp_pooling_max, REFUSED(BAD_ALG, "max"), p = good(LRN);
    /* Neighbourhoods beyond src overflow nothing. */
    p.local_size = INT64_MAX;
    CHECK_OK(create(&p, NULL));
}

static void attributes(void **state) {
    (void)state;
    static const char *const says[] = {"batch_normalization takes eltwise and binary, not sum",
                                       "group_normalization takes eltwise and binary, not sum",
                                       "lrn takes none, not sum"};
    for (int kind = 0; kind < KINDS; ++kind) {
        const norm_t p = good(kind);
        dnnl_tp_primitive_attr_t attr;
        CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
        CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_SRC, 0));
        CHECK_STATUS(create(&p, attr), kind == GROUP ? dnnl_tp_success : dnnl_tp_unimplemented);
        CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
        attr = refusal_sum();
        CHECK_REFUSED(create(&p, attr), dnnl_tp_unimplemented, UNSUPPORTED_POST_OPS, says[kind]);
        CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(flags_and_numbers),
                                       cmocka_unit_test(attributes)};
    return cmocka_run_group_tests(tests, refusal_setup, refusal_teardown);
}
