/* PReLU: argument checks and tables. */
#include "common/problems/prelu.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_prelu_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(weights_desc, "weights", true));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_TRY(dtp_check_static(weights_desc, "weights"));
    DTP_TRY(dtp_check_static_pair(src_desc, dst_desc));
    DTP_REQUIRE(weights_desc->ndims == src_desc->ndims, NDIMS_MISMATCH, "weights have %d, src has %d",
                weights_desc->ndims, src_desc->ndims);
    for (int d = 0; d < src_desc->ndims; ++d)
        DTP_REQUIRE(weights_desc->dims[d] == src_desc->dims[d] || weights_desc->dims[d] == 1, DIMS_MISMATCH,
                    "dimension %d of the weights is %lld, src's is %lld", d, (long long)weights_desc->dims[d],
                    (long long)src_desc->dims[d]);
    dtp_prelu_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_prelu;
    op.prop = prop_kind;
    op.src = *src_desc;
    op.wei = *weights_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t prelu_fields[] = {DTP_FIELD(dtp_prelu_desc_t, prop, S32),
                                           DTP_INPUT(dtp_prelu_desc_t, src, DNNL_TP_ARG_SRC),
                                           DTP_INPUT(dtp_prelu_desc_t, wei, DNNL_TP_ARG_WEIGHTS),
                                           DTP_OUTPUT(dtp_prelu_desc_t, dst, DNNL_TP_ARG_DST)};

static void prelu_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 1. * (double)dtp_md_nelems(arg[DTP_PRELU_DST].md);
}

static const dtp_attr_rules_t prelu_attr = {.post_ops = 0};
DTP_KIND_INFO(prelu, DTP_PRELU_SRC, &prelu_attr, prelu_work);
