/* Deconvolution: argument checks and tables. The definition stands in dnnl_tp_primitives.h. */
#include "common/problems/deconvolution.h"

#include "common/primitive/kind_checks.h"

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

static const dtp_field_t deconvolution_fields[] = {
    DTP_FIELD(dtp_deconvolution_desc_t, prop, S32),
    DTP_FIELD(dtp_deconvolution_desc_t, alg, S32),
    DTP_FIELD_ARRAY(dtp_deconvolution_desc_t, strides, DIMS, nspatial),
    DTP_FIELD_ARRAY(dtp_deconvolution_desc_t, dilations, DIMS, nspatial),
    DTP_FIELD_ARRAY(dtp_deconvolution_desc_t, padding_l, DIMS, nspatial),
    DTP_FIELD_ARRAY(dtp_deconvolution_desc_t, padding_r, DIMS, nspatial),
    DTP_INPUT(dtp_deconvolution_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_INPUT(dtp_deconvolution_desc_t, wei, DNNL_TP_ARG_WEIGHTS),
    DTP_INPUT(dtp_deconvolution_desc_t, bia, DNNL_TP_ARG_BIAS),
    DTP_OUTPUT(dtp_deconvolution_desc_t, dst, DNNL_TP_ARG_DST)};

/* Products that fall outside of dst are none. */
static void deconvolution_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const dtp_deconvolution_desc_t *d = (const dtp_deconvolution_desc_t *)op;
    (void)arg; /* no dimension is known at execution only */
    work->flops =
        2. * (double)(d->dst.dims[0] * d->dst.dims[1] * d->src.dims[1] / dtp_max64(dtp_conv_groups(d), 1));
    for (int i = 0; i < 3; ++i) {
        const dtp_window_t w = dtp_deconv_window(d, i);
        work->flops *= (double)dtp_window_all_taps(&w);
    }
}

static const dtp_attr_rules_t deconvolution_attr = {.post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(deconvolution, -1, &deconvolution_attr, deconvolution_work);
