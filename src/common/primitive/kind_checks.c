/* Checks that the creation functions of several kinds share; see kind_checks.h. */
#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dtp_check_create(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine,
                                  const dtp_attr_t *attr) {
    DTP_REQUIRE(pd, NULL_ARG, "primitive_desc");
    *pd = NULL;
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    if (attr) DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_md(const dtp_md_t *md, const char *name, bool any_allowed) {
    DTP_REQUIRE(!dtp_md_is_zero(md), NULL_ARG, "%s", name);
    DTP_REQUIRE(any_allowed || !dtp_md_is_any(md), ANY_NOT_ALLOWED, "%s", name);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_forward(dnnl_tp_prop_kind_t prop) {
    DTP_REQUIRE(prop == dnnl_tp_forward_training || prop == dnnl_tp_forward_inference, BAD_PROP,
                "%s (%d), not forward_training or forward_inference", dnnl_tp_prop_kind2str(prop), (int)prop);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_same_dims(const dtp_md_t *a, const char *a_name, const dtp_md_t *b,
                                     const char *b_name) {
    DTP_REQUIRE(a->ndims == b->ndims, NDIMS_MISMATCH, "%s has %d, %s has %d", a_name, a->ndims, b_name,
                b->ndims);
    for (int d = 0; d < a->ndims; ++d)
        DTP_REQUIRE(a->dims[d] == b->dims[d], DIMS_MISMATCH, "dimension %d: %s has %lld, %s has %lld", d,
                    a_name, (long long)a->dims[d], b_name, (long long)b->dims[d]);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_static(const dtp_md_t *md, const char *name) {
    if (dtp_md_has_runtime(md))
        return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME_DIMS, "in %s of this kind", name);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_static_pair(const dtp_md_t *src, const dtp_md_t *dst) {
    DTP_TRY(dtp_check_static(src, "src"));
    DTP_TRY(dtp_check_static(dst, "dst"));
    return dtp_check_same_dims(src, "src", dst, "dst");
}

dnnl_tp_status_t dtp_check_window(int d, int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                                  int64_t pad_l, int64_t pad_r, int64_t out) {
    /* Positions, also those of taps outside, are computed without a look at overflow from here on. */
    const int64_t most = INT64_MAX / 8;
    int64_t range;
    DTP_REQUIRE(kernel >= 1, BAD_DIMS, "spatial dimension %d: kernel %lld, must be at least 1", d,
                (long long)kernel);
    DTP_REQUIRE(stride >= 1, BAD_STRIDES, "spatial dimension %d: stride %lld, must be at least 1", d,
                (long long)stride);
    DTP_REQUIRE(dilation >= 0, BAD_PARAM, "spatial dimension %d: dilation %lld, must not be negative", d,
                (long long)dilation);
    DTP_REQUIRE(pad_l >= 0, BAD_PARAM, "spatial dimension %d: left padding %lld, must not be negative", d,
                (long long)pad_l);
    DTP_REQUIRE(
        dilation < most && in < most && pad_l < most && pad_r < most && pad_r > -most && stride < most &&
            !__builtin_mul_overflow(kernel - 1, dilation + 1, &range) && range < most,
        OVERFLOW, "spatial dimension %d: kernel %lld, stride %lld, dilation %lld, padding %lld, %lld", d,
        (long long)kernel, (long long)stride, (long long)dilation, (long long)pad_l, (long long)pad_r);
    const int64_t free_of = in - (range + 1) + pad_l + pad_r, want = free_of < 0 ? 0 : free_of / stride + 1;
    DTP_REQUIRE(out == want, DIMS_MISMATCH,
                "spatial dimension %d: dst has %lld, src %lld with kernel %lld, stride %lld, dilation %lld, "
                "padding %lld and %lld gives %lld",
                d, (long long)out, (long long)in, (long long)kernel, (long long)stride, (long long)dilation,
                (long long)pad_l, (long long)pad_r, (long long)want);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_post_ops(const dtp_attr_t *attr, const dtp_md_t *dst) {
    if (!attr) return dnnl_tp_success;
    for (int i = 0; i < attr->post_ops->len; ++i) {
        const dtp_post_op_t *e = &attr->post_ops->entry[i];
        if (e->kind == dnnl_tp_sum) {
            if (e->sum_dt == dnnl_tp_data_type_undef ||
                dtp_type_size(e->sum_dt) == dtp_type_size(dst->data_type))
                continue;
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_POST_OPS,
                            "post-op %d: sum reads %s, dst is %s, of another size", i,
                            dnnl_tp_dt2str(e->sum_dt), dnnl_tp_dt2str(dst->data_type));
        }
        if (e->kind == dnnl_tp_prelu)
            DTP_REQUIRE(e->mask >> dst->ndims == 0, BAD_MASK, "post-op %d: mask %d, dst has %d dimensions", i,
                        e->mask, dst->ndims);
        if (e->kind != dnnl_tp_binary) continue;
        for (int k = 0; k < 2; ++k) {
            const dtp_md_t *md = k ? &e->src2 : &e->src1;
            if (dtp_md_is_zero(md)) continue;
            DTP_REQUIRE(md->ndims == dst->ndims, NDIMS_MISMATCH,
                        "post-op %d: src%d has %d dimensions, dst has %d", i, k + 1, md->ndims, dst->ndims);
            for (int d = 0; d < dst->ndims; ++d)
                DTP_REQUIRE(md->dims[d] == dst->dims[d] || md->dims[d] == 1 ||
                                dst->dims[d] == DNNL_TP_RUNTIME_DIM_VAL,
                            DIMS_MISMATCH, "post-op %d: dimension %d of src%d is %lld, dst's is %lld", i, d,
                            k + 1, (long long)md->dims[d], (long long)dst->dims[d]);
        }
    }
    return dnnl_tp_success;
}
