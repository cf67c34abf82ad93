/* Attention: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/attention.h"

static const dtp_field_t attention_fields[] = {
    DTP_FIELD(dtp_attention_desc_t, heads, S32),  DTP_FIELD(dtp_attention_desc_t, scale, F32),
    DTP_FIELD(dtp_attention_desc_t, q, MD),       DTP_FIELD(dtp_attention_desc_t, k, MD),
    DTP_FIELD(dtp_attention_desc_t, v, MD),       DTP_FIELD(dtp_attention_desc_t, mask, MD),
    DTP_FIELD(dtp_attention_desc_t, offsets, MD), DTP_FIELD(dtp_attention_desc_t, dst, MD)};

static int attention_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_attention_desc_t *d = (const dtp_attention_desc_t *)op;
    dtp_put_input(out, DTP_ATTENTION_Q, DNNL_TP_ARG_SRC_0, &d->q);
    dtp_put_input(out, DTP_ATTENTION_K, DNNL_TP_ARG_SRC_1, &d->k);
    dtp_put_input(out, DTP_ATTENTION_V, DNNL_TP_ARG_SRC_2, &d->v);
    dtp_put_input(out, DTP_ATTENTION_MASK, DNNL_TP_ARG_MULTIPLE_SRC, &d->mask);
    dtp_put_input(out, DTP_ATTENTION_OFFSETS, DNNL_TP_ARG_MULTIPLE_SRC + 1, &d->offsets);
    dtp_put_output(out, DTP_ATTENTION_DST, DNNL_TP_ARG_DST, &d->dst);
    return DTP_ATTENTION_NARGS;
}
DTP_KIND_INFO(attention, -1, NULL);
