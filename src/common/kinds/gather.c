/* Gather: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/gather.h"

static const dtp_field_t gather_fields[] = {DTP_FIELD(dtp_gather_desc_t, table, MD),
                                            DTP_FIELD(dtp_gather_desc_t, ids, MD),
                                            DTP_FIELD(dtp_gather_desc_t, dst, MD)};

static int gather_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_gather_desc_t *d = (const dtp_gather_desc_t *)op;
    dtp_put_input(out, DTP_GATHER_TABLE, DNNL_TP_ARG_WEIGHTS, &d->table);
    dtp_put_input(out, DTP_GATHER_IDS, DNNL_TP_ARG_SRC, &d->ids);
    dtp_put_output(out, DTP_GATHER_DST, DNNL_TP_ARG_DST, &d->dst);
    return DTP_GATHER_NARGS;
}
DTP_KIND_INFO(gather, -1, NULL);
