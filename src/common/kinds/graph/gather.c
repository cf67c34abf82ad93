/* Gather: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/graph/gather.h"

static const dtp_field_t gather_fields[] = {DTP_INPUT(dtp_gather_desc_t, table, DNNL_TP_ARG_WEIGHTS),
                                            DTP_INPUT(dtp_gather_desc_t, ids, DNNL_TP_ARG_SRC),
                                            DTP_OUTPUT(dtp_gather_desc_t, dst, DNNL_TP_ARG_DST)};
/* Of the table only the rows that are asked for. */
static void gather_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->bytes = dtp_md_moved(arg[DTP_GATHER_IDS].md) + 2. * dtp_md_moved(arg[DTP_GATHER_DST].md);
}

DTP_KIND_INFO(gather, -1, NULL, gather_work);
