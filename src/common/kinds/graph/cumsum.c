/* Running sums: tables. The problem is made and checked by exec/ops/elements/cumsum.c. */
#include "common/problems/graph/cumsum.h"

static const dtp_field_t cumsum_fields[] = {
    DTP_FIELD(dtp_cumsum_desc_t, exclusive, S32), DTP_FIELD(dtp_cumsum_desc_t, reverse, S32),
    DTP_INPUT(dtp_cumsum_desc_t, src, DNNL_TP_ARG_SRC), DTP_OUTPUT(dtp_cumsum_desc_t, dst, DNNL_TP_ARG_DST)};
static void cumsum_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 1. * (double)dtp_md_nelems(arg[DTP_CUMSUM_SRC].md);
}

DTP_KIND_INFO(cumsum, -1, NULL, cumsum_work);
