/* Convolution and deconvolution: argument checks and tables. The definitions stand in
 * dnnl_tp_primitives.h. */
#include "common/problems/deconvolution.h"

#include "common/primitive/kind_checks.h"

static dnnl_tp_status_t check_channels(const dtp_convolution_desc_t *d) {
    const int grouped = dtp_conv_grouped(d);
    const int64_t g = dtp_conv_groups(d), oc = d->wei.dims[grouped], ic = d->wei.dims[grouped + 1];
    int64_t all_oc, all_ic;
    DTP_REQUIRE(g >= 1, BAD_DIMS, "the weights have %lld groups", (long long)g);
    DTP_REQUIRE(!__builtin_mul_overflow(g, oc, &all_oc) && !__builtin_mul_overflow(g, ic, &all_ic), OVERFLOW,
                "%lld groups of %lld x %lld channels", (long long)g, (long long)oc, (long long)ic);
    DTP_REQUIRE(d->src.dims[0] == d->dst.dims[0], DIMS_MISMATCH, "batch: src %lld, dst %lld",
                (long long)d->src.dims[0], (long long)d->dst.dims[0]);
    DTP_REQUIRE(d->src.dims[1] == all_ic, DIMS_MISMATCH, "input channels: src %lld, weights %lld x %lld",
                (long long)d->src.dims[1], (long long)g, (long long)ic);
    DTP_REQUIRE(d->dst.dims[1] == all_oc, DIMS_MISMATCH, "output channels: dst %lld, weights %lld x %lld",
                (long long)d->dst.dims[1], (long long)g, (long long)oc);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_convolution_problem(dtp_convolution_desc_t *op, bool transposed,
                                         dnnl_tp_prop_kind_t prop, const dtp_md_t *src,
                                         const dtp_md_t *weights, const dtp_md_t *bias, const dtp_md_t *dst,
                                         const int64_t *strides, const int64_t *dilates,
                                         const int64_t *padding_l, const int64_t *padding_r,
                                         const dtp_attr_t *attr) {
    DTP_TRY(dtp_check_md(src, "src", true));
    DTP_TRY(dtp_check_md(weights, "weights", true));
    DTP_TRY(dtp_check_md(dst, "dst", true));
    DTP_REQUIRE(strides, NULL_ARG, "strides");
    DTP_REQUIRE(padding_l, NULL_ARG, "padding_l");
    const int nd = src->ndims;
    DTP_REQUIRE(nd >= 3 && nd <= 5, BAD_NDIMS, "src has %d dimensions, 3..5 are allowed", nd);
    DTP_REQUIRE(dst->ndims == nd, NDIMS_MISMATCH, "dst has %d, src has %d", dst->ndims, nd);
    DTP_REQUIRE(weights->ndims == nd || weights->ndims == nd + 1, NDIMS_MISMATCH,
                "weights have %d, src has %d; one more is for groups", weights->ndims, nd);
    memset(op, 0, sizeof *op);
    op->base.kind = transposed ? dnnl_tp_deconvolution : dnnl_tp_convolution;
    op->prop = prop;
    op->alg = transposed ? dnnl_tp_deconvolution_direct : dnnl_tp_convolution_direct;
    op->nspatial = nd - 2;
    op->src = *src;
    op->wei = *weights;
    op->dst = *dst;
    DTP_TRY(dtp_check_static(&op->src, "src"));
    DTP_TRY(dtp_check_static(&op->wei, "weights"));
    DTP_TRY(dtp_check_static(&op->dst, "dst"));
    DTP_TRY(check_channels(op));
    const dtp_md_t *in = transposed ? dst : src, *out = transposed ? src : dst;
    for (int s = 0; s < op->nspatial; ++s) {
        op->strides[s] = strides[s];
        op->dilations[s] = dilates ? dilates[s] : 0;
        op->padding_l[s] = padding_l[s];
        op->padding_r[s] = padding_r ? padding_r[s] : padding_l[s];
        DTP_TRY(dtp_check_window(s, in->dims[2 + s], weights->dims[2 + dtp_conv_grouped(op) + s],
                                 op->strides[s], op->dilations[s], op->padding_l[s], op->padding_r[s],
                                 out->dims[2 + s]));
    }
    if (!dtp_md_is_zero(bias)) {
        DTP_REQUIRE(bias->ndims == 1 && bias->dims[0] == op->dst.dims[1], DIMS_MISMATCH,
                    "bias is 1-D of the %lld output channels; got %d dimensions, the first %lld",
                    (long long)op->dst.dims[1], bias->ndims, (long long)bias->dims[0]);
        op->bia = *bias;
    }
    return dtp_check_post_ops(attr, &op->dst);
}

dnnl_tp_status_t dnnl_tp_convolution_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const dnnl_tp_dims_t strides, const dnnl_tp_dims_t dilates,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_REQUIRE(alg_kind == dnnl_tp_convolution_direct || alg_kind == dnnl_tp_convolution_winograd ||
                    alg_kind == dnnl_tp_convolution_auto,
                BAD_ALG, "%s (%d), not convolution_direct, convolution_winograd or convolution_auto",
                dnnl_tp_alg_kind2str(alg_kind), (int)alg_kind);
    dtp_convolution_desc_t op;
    DTP_TRY(dtp_convolution_problem(&op, false, prop_kind, src_desc, weights_desc, bias_desc, dst_desc,
                                    strides, dilates, padding_l, padding_r, attr));
    op.alg = alg_kind;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

dnnl_tp_status_t dnnl_tp_deconvolution_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const dnnl_tp_dims_t strides, const dnnl_tp_dims_t dilates,
    const dnnl_tp_dims_t padding_l, const dnnl_tp_dims_t padding_r, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_REQUIRE(alg_kind == dnnl_tp_deconvolution_direct, BAD_ALG, "%s (%d), not deconvolution_direct",
                dnnl_tp_alg_kind2str(alg_kind), (int)alg_kind);
    dtp_deconvolution_desc_t op;
    DTP_TRY(dtp_convolution_problem(&op, true, prop_kind, src_desc, weights_desc, bias_desc, dst_desc,
                                    strides, dilates, padding_l, padding_r, attr));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t convolution_fields[] = {
    DTP_FIELD(dtp_convolution_desc_t, prop, S32),
    DTP_FIELD(dtp_convolution_desc_t, alg, S32),
    DTP_FIELD_ARRAY(dtp_convolution_desc_t, strides, DIMS, nspatial),
    DTP_FIELD_ARRAY(dtp_convolution_desc_t, dilations, DIMS, nspatial),
    DTP_FIELD_ARRAY(dtp_convolution_desc_t, padding_l, DIMS, nspatial),
    DTP_FIELD_ARRAY(dtp_convolution_desc_t, padding_r, DIMS, nspatial),
    DTP_INPUT(dtp_convolution_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_INPUT(dtp_convolution_desc_t, wei, DNNL_TP_ARG_WEIGHTS),
    DTP_INPUT(dtp_convolution_desc_t, bia, DNNL_TP_ARG_BIAS),
    DTP_OUTPUT(dtp_convolution_desc_t, dst, DNNL_TP_ARG_DST)};
#define deconvolution_fields convolution_fields

/* Products with what is padded are none, nor those that fall outside of dst. */
enum { LANES = 16 };
static void convolution_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const dtp_convolution_desc_t *d = (const dtp_convolution_desc_t *)op;
    (void)arg; /* no dimension is known at execution only */
    work->flops =
        2. * (double)(d->dst.dims[0] * d->dst.dims[1] * d->src.dims[1] / dtp_max64(dtp_conv_groups(d), 1));
    for (int i = 0; i < 3; ++i) {
        const dtp_window_t w =
            op->kind == dnnl_tp_deconvolution ? dtp_deconv_window(d, i) : dtp_conv_window(d, i);
        work->flops *= (double)dtp_window_all_taps(&w);
    }
    const int64_t groups = dtp_max64(dtp_conv_groups(d), 1), oc = d->dst.dims[1] / groups;
    if (oc > 0 && d->src.dims[1] != groups) /* channels of dst are lanes */
        work->idle = work->flops * ((double)dtp_round_up(oc, LANES) / (double)oc - 1.);
}

/* Weights are packed for one algorithm. */
static void convolution_follow(dtp_op_desc_t *op, const dtp_op_desc_t *chosen) {
    ((dtp_convolution_desc_t *)op)->alg = ((const dtp_convolution_desc_t *)chosen)->alg;
}

static double convolution_gain(const dtp_op_desc_t *chosen) {
    static const double winograd = 1.9; /* doc/performance.md: images of 14 x 14 and larger */
    return ((const dtp_convolution_desc_t *)chosen)->alg == dnnl_tp_convolution_winograd ? winograd : 1;
}

static const dtp_attr_rules_t convolution_attr = {.post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(convolution, -1, &convolution_attr, convolution_work, .opaque = 1u << DTP_CONV_WEI,
              .follow = convolution_follow, .gain = convolution_gain);
DTP_KIND_INFO(deconvolution, -1, &convolution_attr, convolution_work);
