/* Element-wise operations: argument checks and tables. */
#include "common/problems/eltwise.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_eltwise_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    float alpha, float beta, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_TRY(dtp_eltwise_check(alg_kind, alpha, beta));
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_TRY(dtp_check_static_pair(src_desc, dst_desc));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_eltwise_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_eltwise;
    op.prop = prop_kind;
    op.alg = alg_kind;
    op.alpha = alpha;
    op.beta = beta;
    op.src = *src_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t eltwise_fields[] = {DTP_FIELD(dtp_eltwise_desc_t, prop, S32),
                                             DTP_FIELD(dtp_eltwise_desc_t, alg, S32),
                                             DTP_FIELD(dtp_eltwise_desc_t, alpha, F32),
                                             DTP_FIELD(dtp_eltwise_desc_t, beta, F32),
                                             DTP_FIELD(dtp_eltwise_desc_t, exact, S32),
                                             DTP_INPUT(dtp_eltwise_desc_t, src, DNNL_TP_ARG_SRC),
                                             DTP_OUTPUT(dtp_eltwise_desc_t, dst, DNNL_TP_ARG_DST)};

static void eltwise_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = DTP_ELTWISE_FLOPS * (double)dtp_md_nelems(arg[DTP_ELTWISE_SRC].md);
}

static const dtp_attr_rules_t eltwise_attr = {.post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(eltwise, DTP_ELTWISE_SRC, &eltwise_attr, eltwise_work);
