/* Batch normalization: argument checks and tables; what group normalization has, too: channel_norm.c. */
#include "common/primitive/kind_checks.h"
#include "common/problems/norms/channel_norm.h"

dnnl_tp_status_t dnnl_tp_batch_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr) {
    const unsigned known = dnnl_tp_use_global_stats | dnnl_tp_use_scale | dnnl_tp_use_shift |
                           dnnl_tp_fuse_norm_relu | dnnl_tp_fuse_norm_add_relu;
    dtp_channel_norm_desc_t op;
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_channel_norm_check(&op, prop_kind, src_desc, dst_desc, 2, epsilon, flags, known));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    op.base.kind = dnnl_tp_batch_normalization;
    DTP_TRY(dtp_md_init_strides(&op.stat, 1, &op.src.dims[1], dnnl_tp_f32, NULL));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

static const dtp_field_t batch_normalization_fields[] = {
    DTP_FIELD(dtp_channel_norm_desc_t, prop, S32),    DTP_FIELD(dtp_channel_norm_desc_t, flags, S32),
    DTP_FIELD(dtp_channel_norm_desc_t, epsilon, F32), DTP_FIELD(dtp_channel_norm_desc_t, src, MD),
    DTP_FIELD(dtp_channel_norm_desc_t, src1, MD),     DTP_FIELD(dtp_channel_norm_desc_t, dst, MD),
    DTP_FIELD(dtp_channel_norm_desc_t, stat, MD),     DTP_FIELD(dtp_channel_norm_desc_t, scale, MD),
    DTP_FIELD(dtp_channel_norm_desc_t, shift, MD),    DTP_FIELD(dtp_channel_norm_desc_t, workspace, MD)};

static const dtp_attr_rules_t batch_normalization_attr = {.post_ops = DTP_TAKES_ELTWISE | DTP_TAKES_BINARY};
DTP_KIND_INFO(batch_normalization, DTP_CNORM_SRC, &batch_normalization_attr, dtp_channel_norm_work,
              .args = dtp_channel_norm_args);
