/* Group normalization: argument checks and tables; what batch normalization has, too: channel_norm.c. */
#include "common/primitive/kind_checks.h"
#include "common/problems/norms/channel_norm.h"

dnnl_tp_status_t dnnl_tp_group_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, dnnl_tp_dim_t groups,
    float epsilon, unsigned flags, const_dnnl_tp_primitive_attr_t attr) {
    dtp_channel_norm_desc_t op;
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_channel_norm_check(&op, prop_kind, src_desc, dst_desc, 3, epsilon, flags,
                                   dnnl_tp_use_global_stats | dnnl_tp_use_scale | dnnl_tp_use_shift));
    const int64_t channels = op.src.dims[1];
    DTP_REQUIRE(groups >= 1 && channels % groups == 0, BAD_PARAM,
                "%lld groups: at least 1 is needed, and that they divide %lld channels", (long long)groups,
                (long long)channels);
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    op.base.kind = dnnl_tp_group_normalization;
    op.groups = groups;
    DTP_TRY(dtp_md_init_strides(&op.stat, 2, (dnnl_tp_dims_t){op.src.dims[0], groups}, dnnl_tp_f32, NULL));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

static const dtp_field_t group_normalization_fields[] = {
    DTP_FIELD(dtp_channel_norm_desc_t, prop, S32),    DTP_FIELD(dtp_channel_norm_desc_t, flags, S32),
    DTP_FIELD(dtp_channel_norm_desc_t, epsilon, F32), DTP_FIELD(dtp_channel_norm_desc_t, groups, S64),
    DTP_FIELD(dtp_channel_norm_desc_t, src, MD),      DTP_FIELD(dtp_channel_norm_desc_t, dst, MD),
    DTP_FIELD(dtp_channel_norm_desc_t, stat, MD),     DTP_FIELD(dtp_channel_norm_desc_t, scale, MD),
    DTP_FIELD(dtp_channel_norm_desc_t, shift, MD)};

static const dtp_attr_rules_t group_normalization_attr = {
    .scales = {{DNNL_TP_ARG_SRC, DTP_MASK_COMMON}, {DNNL_TP_ARG_DST, DTP_MASK_COMMON}},
    .post_ops = DTP_TAKES_ELTWISE | DTP_TAKES_BINARY};
DTP_KIND_INFO(group_normalization, DTP_CNORM_SRC, &group_normalization_attr, dtp_channel_norm_work,
              .args = dtp_channel_norm_args);
