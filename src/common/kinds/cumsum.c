/* Running sums: tables. The problem is made and checked by exec/ops/cumsum.c. */
#include "common/problems/cumsum.h"

static const dtp_field_t cumsum_fields[] = {
    DTP_FIELD(dtp_cumsum_desc_t, exclusive, S32), DTP_FIELD(dtp_cumsum_desc_t, reverse, S32),
    DTP_FIELD(dtp_cumsum_desc_t, src, MD), DTP_FIELD(dtp_cumsum_desc_t, dst, MD)};

static int cumsum_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)op;
    dtp_put_input(out, DTP_CUMSUM_SRC, DNNL_TP_ARG_SRC, &d->src);
    dtp_put_output(out, DTP_CUMSUM_DST, DNNL_TP_ARG_DST, &d->dst);
    return DTP_CUMSUM_NARGS;
}
DTP_KIND_INFO(cumsum, -1, NULL);
