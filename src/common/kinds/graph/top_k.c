/* Positions of the largest elements: tables. The problem is made and checked by exec/ops/elements/top_k.c. */
#include "common/problems/graph/top_k.h"

static const dtp_field_t top_k_fields[] = {
    DTP_FIELD(dtp_top_k_desc_t, smallest, S32), DTP_FIELD(dtp_top_k_desc_t, last, S32),
    DTP_FIELD(dtp_top_k_desc_t, nan_worst, S32), DTP_INPUT(dtp_top_k_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_OUTPUT(dtp_top_k_desc_t, dst, DNNL_TP_ARG_DST)};

static void top_k_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = (double)dtp_md_nelems(arg[DTP_TOP_K_SRC].md);
}
DTP_KIND_INFO(top_k, -1, NULL, top_k_work);
