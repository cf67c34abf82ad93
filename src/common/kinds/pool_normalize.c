/* Pooling with normalisation: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/pool_normalize.h"

static const dtp_field_t pool_normalize_fields[] = {
    DTP_FIELD(dtp_pool_normalize_desc_t, epsilon, F32), DTP_FIELD(dtp_pool_normalize_desc_t, src, MD),
    DTP_FIELD(dtp_pool_normalize_desc_t, mask, MD), DTP_FIELD(dtp_pool_normalize_desc_t, offsets, MD),
    DTP_FIELD(dtp_pool_normalize_desc_t, dst, MD)};

static int pool_normalize_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_pool_normalize_desc_t *d = (const dtp_pool_normalize_desc_t *)op;
    dtp_put_input(out, DTP_POOLN_SRC, DNNL_TP_ARG_SRC, &d->src);
    dtp_put_input(out, DTP_POOLN_MASK, DNNL_TP_ARG_MULTIPLE_SRC, &d->mask);
    dtp_put_input(out, DTP_POOLN_OFFSETS, DNNL_TP_ARG_MULTIPLE_SRC + 1, &d->offsets);
    dtp_put_output(out, DTP_POOLN_DST, DNNL_TP_ARG_DST, &d->dst);
    return DTP_POOLN_NARGS;
}
DTP_KIND_INFO(pool_normalize, -1, NULL);
