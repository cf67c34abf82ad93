/* Layer normalization: argument checks and tables. */
#include "common/problems/norms/layer_normalization.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_memory_desc_t stat_desc, dnnl_tp_data_type_t scale_shift_data_type, float epsilon,
    unsigned flags, const_dnnl_tp_primitive_attr_t attr) {
    const unsigned known =
        dnnl_tp_use_global_stats | dnnl_tp_use_scale | dnnl_tp_use_shift | dnnl_tp_rms_norm;
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_TRY(dtp_check_static_pair(src_desc, dst_desc));
    int n = src_desc->ndims;
    DTP_REQUIRE(n >= 2 && n <= 5, BAD_NDIMS, "%d dimensions, 2..5 are allowed", n);
    DTP_REQUIRE(!(flags & ~known), BAD_FLAGS, "flags 0x%x", flags);
    DTP_REQUIRE(scale_shift_data_type == dnnl_tp_f32 || scale_shift_data_type == dnnl_tp_bf16 ||
                    scale_shift_data_type == dnnl_tp_f16,
                BAD_DATA_TYPE, "scale and shift are f32, bf16 or f16, not %s",
                dnnl_tp_dt2str(scale_shift_data_type));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_layer_norm_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_layer_normalization;
    op.prop = prop_kind;
    op.flags = flags;
    op.epsilon = epsilon;
    op.src = *src_desc;
    op.dst = *dst_desc;
    if (dtp_md_is_zero(stat_desc) || dtp_md_is_any(stat_desc)) {
        dnnl_tp_dims_t strides;
        dtp_md_order_strides(src_desc, src_desc->dims, n - 1, strides);
        DTP_TRY(dtp_md_init_strides(&op.stat, n - 1, op.src.dims, dnnl_tp_f32, strides));
    } else {
        DTP_REQUIRE(stat_desc->ndims == n - 1, NDIMS_MISMATCH, "statistics have %d, src has %d",
                    stat_desc->ndims, n);
        for (int d = 0; d < n - 1; ++d)
            DTP_REQUIRE(stat_desc->dims[d] == op.src.dims[d], DIMS_MISMATCH,
                        "dimension %d of the statistics is %lld, src's is %lld", d,
                        (long long)stat_desc->dims[d], (long long)op.src.dims[d]);
        DTP_REQUIRE(stat_desc->data_type == dnnl_tp_f32, BAD_DATA_TYPE, "statistics are f32, not %s",
                    dnnl_tp_dt2str(stat_desc->data_type));
        op.stat = *stat_desc;
    }
    const int64_t *last = &op.src.dims[n - 1];
    if (flags & dnnl_tp_use_scale)
        DTP_TRY(dtp_md_init_strides(&op.scale, 1, last, scale_shift_data_type, NULL));
    if (flags & dnnl_tp_use_shift)
        DTP_TRY(dtp_md_init_strides(&op.shift, 1, last, scale_shift_data_type, NULL));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

dnnl_tp_status_t dnnl_tp_layer_normalization_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_memory_desc_t stat_desc, float epsilon, unsigned flags,
    const_dnnl_tp_primitive_attr_t attr) {
    DTP_RETURN(dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
        primitive_desc, engine, prop_kind, src_desc, dst_desc, stat_desc, dnnl_tp_f32, epsilon, flags, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t layer_normalization_fields[] = {
    DTP_FIELD(dtp_layer_norm_desc_t, prop, S32),    DTP_FIELD(dtp_layer_norm_desc_t, flags, S32),
    DTP_FIELD(dtp_layer_norm_desc_t, epsilon, F32), DTP_FIELD(dtp_layer_norm_desc_t, src, MD),
    DTP_FIELD(dtp_layer_norm_desc_t, dst, MD),      DTP_FIELD(dtp_layer_norm_desc_t, stat, MD),
    DTP_FIELD(dtp_layer_norm_desc_t, scale, MD),    DTP_FIELD(dtp_layer_norm_desc_t, shift, MD)};

static void put(dtp_pd_arg_t *out, int i, int arg, bool input, const dtp_md_t *md) {
    if (out) out[i] = (dtp_pd_arg_t){arg, input ? DTP_ARG_INPUT : DTP_ARG_OUTPUT, md};
}

/* The statistics, one descriptor, are two arguments, read or written as the problem has it. */
static int layer_normalization_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)op;
    bool in = d->flags & dnnl_tp_use_global_stats, stats = in || d->prop == dnnl_tp_forward_training;
    bool mean = stats && !(d->flags & dnnl_tp_rms_norm);
    put(out, DTP_LNORM_SRC, DNNL_TP_ARG_SRC, true, &d->src);
    put(out, DTP_LNORM_DST, DNNL_TP_ARG_DST, false, &d->dst);
    put(out, DTP_LNORM_MEAN, DNNL_TP_ARG_MEAN, in, mean ? &d->stat : &dtp_md_zero);
    put(out, DTP_LNORM_VARIANCE, DNNL_TP_ARG_VARIANCE, in, stats ? &d->stat : &dtp_md_zero);
    put(out, DTP_LNORM_SCALE, DNNL_TP_ARG_SCALE, true, &d->scale);
    put(out, DTP_LNORM_SHIFT, DNNL_TP_ARG_SHIFT, true, &d->shift);
    return DTP_LNORM_NARGS;
}

/* Two sums, two functions of one element. */
static void layer_normalization_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 8. * (double)dtp_md_nelems(arg[DTP_LNORM_SRC].md);
}

static void layer_normalization_cut(dtp_op_desc_t *op, int64_t units, int64_t total) {
    dtp_md_t *stat = &((dtp_layer_norm_desc_t *)op)->stat;
    if (!dtp_md_is_zero(stat)) stat->dims[0] = stat->padded_dims[0] = stat->dims[0] / total * units;
}

static const dtp_attr_rules_t layer_normalization_attr = {
    .scales = {{DNNL_TP_ARG_SRC, DTP_MASK_COMMON}, {DNNL_TP_ARG_DST, DTP_MASK_COMMON}},
    .post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(layer_normalization, DTP_LNORM_SRC, &layer_normalization_attr, layer_normalization_work,
              .args = layer_normalization_args, .cut = layer_normalization_cut);
