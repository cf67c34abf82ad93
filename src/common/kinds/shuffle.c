/* Shuffle: argument checks and tables. */
#include "common/problems/shuffle.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_shuffle_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, int axis,
    dnnl_tp_dim_t group_size, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_TRY(dtp_check_static_pair(src_desc, dst_desc));
    DTP_REQUIRE(axis >= 0 && axis < src_desc->ndims, BAD_AXIS, "axis %d is outside 0..%d", axis,
                src_desc->ndims - 1);
    DTP_REQUIRE(group_size >= 1 && src_desc->dims[axis] % group_size == 0, BAD_PARAM,
                "group size %lld does not divide axis %d, which has %lld", (long long)group_size, axis,
                (long long)src_desc->dims[axis]);
    if (src_desc->data_type != dst_desc->data_type)
        DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_DATA_TYPE, "src is %s, dst is %s",
                            dnnl_tp_dt2str(src_desc->data_type), dnnl_tp_dt2str(dst_desc->data_type)));
    dtp_shuffle_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_shuffle;
    op.prop = prop_kind;
    op.axis = axis;
    op.group_size = group_size;
    op.src = *src_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t shuffle_fields[] = {
    DTP_FIELD(dtp_shuffle_desc_t, prop, S32), DTP_FIELD(dtp_shuffle_desc_t, axis, S32),
    DTP_FIELD(dtp_shuffle_desc_t, group_size, S64), DTP_INPUT(dtp_shuffle_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_OUTPUT(dtp_shuffle_desc_t, dst, DNNL_TP_ARG_DST)};

static const dtp_attr_rules_t shuffle_attr = {.post_ops = 0};
DTP_KIND_INFO(shuffle, -1, &shuffle_attr, NULL);
