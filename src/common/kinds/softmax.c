/* Softmax and logsoftmax: argument checks and tables. */
#include "common/problems/softmax.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_softmax_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    int softmax_axis, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_REQUIRE(alg_kind == dnnl_tp_softmax_accurate || alg_kind == dnnl_tp_softmax_log, BAD_ALG,
                "%s (%d), not softmax_accurate or softmax_log", dnnl_tp_alg_kind2str(alg_kind),
                (int)alg_kind);
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_TRY(dtp_check_static_pair(src_desc, dst_desc));
    DTP_REQUIRE(softmax_axis >= 0 && softmax_axis < src_desc->ndims, BAD_AXIS, "axis %d is outside 0..%d",
                softmax_axis, src_desc->ndims - 1);
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_softmax_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_softmax;
    op.prop = prop_kind;
    op.alg = alg_kind;
    op.axis = softmax_axis;
    op.src = *src_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t softmax_fields[] = {
    DTP_FIELD(dtp_softmax_desc_t, prop, S32), DTP_FIELD(dtp_softmax_desc_t, alg, S32),
    DTP_FIELD(dtp_softmax_desc_t, axis, S32), DTP_INPUT(dtp_softmax_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_OUTPUT(dtp_softmax_desc_t, dst, DNNL_TP_ARG_DST)};

/* The largest, differences and exp, a sum, a product. */
static void softmax_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 12. * (double)dtp_md_nelems(arg[DTP_SOFTMAX_SRC].md);
}

static const dtp_attr_rules_t softmax_attr = {
    .scales = {{DNNL_TP_ARG_SRC, DTP_MASK_COMMON}, {DNNL_TP_ARG_DST, DTP_MASK_COMMON}},
    .post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(softmax, DTP_SOFTMAX_SRC, &softmax_attr, softmax_work);
