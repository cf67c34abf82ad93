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

/* The kernel's elements and input channels: at most so many meet an element of dst. */
static int64_t deconvolution_depth(const dtp_md_t *src, const dtp_md_t *wei) {
    int64_t depth = 1;
    for (int d = wei->ndims - src->ndims + 1; d < wei->ndims; ++d) depth *= wei->dims[d];
    return depth;
}

static const dtp_attr_rules_t deconvolution_attr = {.post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(deconvolution, -1, &deconvolution_attr, .depth = deconvolution_depth);
