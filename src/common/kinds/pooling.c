/* Pooling: argument checks and tables. */
#include "common/problems/pooling.h"

#include "common/primitive/kind_checks.h"

/* Largest kernel volume whose taps the workspace numbers in u8. */
enum { BYTE_TAPS = 255 };

/* An average over nothing does not exist: the first and the last window reach into src, and taps do not step
 * over all of it. */
static dnnl_tp_status_t check_average(const dtp_pooling_desc_t *op) {
    for (int d = 0; d < op->spatial; ++d) {
        const int64_t range = (op->kernel[d] - 1) * (op->dilations[d] + 1) + 1;
        DTP_REQUIRE(op->padding_l[d] < range && op->padding_r[d] < range, BAD_PARAM,
                    "spatial dimension %d: padding %lld and %lld, the window covers %lld: "
                    "pooling_avg_exclude_padding needs a tap inside",
                    d, (long long)op->padding_l[d], (long long)op->padding_r[d], (long long)range);
        DTP_REQUIRE(op->dilations[d] < op->src.dims[2 + d], BAD_PARAM,
                    "spatial dimension %d: dilation %lld, src has %lld: pooling_avg_exclude_padding needs a "
                    "tap inside",
                    d, (long long)op->dilations[d], (long long)op->src.dims[2 + d]);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_pooling_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const dnnl_tp_dims_t strides, const dnnl_tp_dims_t kernel, const dnnl_tp_dims_t dilation,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_REQUIRE(alg_kind == dnnl_tp_pooling_max || alg_kind == dnnl_tp_pooling_avg_include_padding ||
                    alg_kind == dnnl_tp_pooling_avg_exclude_padding,
                BAD_ALG, "%s (%d) is not an algorithm of pooling", dnnl_tp_alg_kind2str(alg_kind),
                (int)alg_kind);
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_REQUIRE(strides, NULL_ARG, "strides");
    DTP_REQUIRE(kernel, NULL_ARG, "kernel");
    DTP_REQUIRE(dilation, NULL_ARG, "dilation");
    DTP_REQUIRE(padding_l, NULL_ARG, "padding_l");
    const int n = src_desc->ndims;
    DTP_REQUIRE(n >= 3 && n <= 5, BAD_NDIMS, "src has %d dimensions, 3..5 are allowed", n);
    DTP_REQUIRE(dst_desc->ndims == n, NDIMS_MISMATCH, "src has %d, dst has %d", n, dst_desc->ndims);
    DTP_TRY(dtp_check_static(src_desc, "src"));
    DTP_TRY(dtp_check_static(dst_desc, "dst"));
    for (int d = 0; d < 2; ++d)
        DTP_REQUIRE(src_desc->dims[d] == dst_desc->dims[d], DIMS_MISMATCH,
                    "dimension %d: src has %lld, dst has %lld", d, (long long)src_desc->dims[d],
                    (long long)dst_desc->dims[d]);
    dtp_pooling_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_pooling;
    op.prop = prop_kind;
    op.alg = alg_kind;
    op.spatial = n - 2;
    op.src = *src_desc;
    op.dst = *dst_desc;
    int64_t volume = 1;
    for (int d = 0; d < op.spatial; ++d) {
        op.strides[d] = strides[d];
        op.kernel[d] = kernel[d];
        op.dilations[d] = dilation[d];
        op.padding_l[d] = padding_l[d];
        op.padding_r[d] = padding_r ? padding_r[d] : padding_l[d];
        DTP_TRY(dtp_check_window(d, op.src.dims[2 + d], op.kernel[d], op.strides[d], op.dilations[d],
                                 op.padding_l[d], op.padding_r[d], op.dst.dims[2 + d]));
        DTP_REQUIRE(!__builtin_mul_overflow(volume, kernel[d], &volume) && volume <= INT32_MAX, OVERFLOW,
                    "the window has more than %d taps", INT32_MAX);
    }
    if (alg_kind == dnnl_tp_pooling_avg_exclude_padding) DTP_TRY(check_average(&op));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    if (alg_kind == dnnl_tp_pooling_max && prop_kind == dnnl_tp_forward_training) {
        op.workspace = op.dst;
        op.workspace.data_type = volume <= BYTE_TAPS ? dnnl_tp_u8 : dnnl_tp_s32;
    }
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t pooling_fields[] = {
    DTP_FIELD(dtp_pooling_desc_t, prop, S32),
    DTP_FIELD(dtp_pooling_desc_t, alg, S32),
    DTP_FIELD(dtp_pooling_desc_t, keeps_nan, S32),
    DTP_FIELD_ARRAY(dtp_pooling_desc_t, kernel, DIMS, spatial),
    DTP_FIELD_ARRAY(dtp_pooling_desc_t, strides, DIMS, spatial),
    DTP_FIELD_ARRAY(dtp_pooling_desc_t, dilations, DIMS, spatial),
    DTP_FIELD_ARRAY(dtp_pooling_desc_t, padding_l, DIMS, spatial),
    DTP_FIELD_ARRAY(dtp_pooling_desc_t, padding_r, DIMS, spatial),
    DTP_INPUT(dtp_pooling_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_OUTPUT(dtp_pooling_desc_t, dst, DNNL_TP_ARG_DST),
    DTP_OUTPUT(dtp_pooling_desc_t, workspace, DNNL_TP_ARG_WORKSPACE)};

static void pooling_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)op;
    (void)arg; /* no dimension is known at execution only */
    work->flops = (double)(d->dst.dims[0] * d->dst.dims[1]);
    for (int i = 0; i < d->spatial; ++i) {
        const dtp_window_t w = dtp_pooling_window(d, i);
        work->flops *= (double)dtp_window_all_taps(&w);
    }
}

static const dtp_attr_rules_t pooling_attr = {.post_ops = DTP_TAKES_ELTWISE | DTP_TAKES_BINARY};
DTP_KIND_INFO(pooling, -1, &pooling_attr, pooling_work);
