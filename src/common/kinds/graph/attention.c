/* Attention: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/graph/attention.h"

static const dtp_field_t attention_fields[] = {
    DTP_FIELD(dtp_attention_desc_t, heads, S32),
    DTP_FIELD(dtp_attention_desc_t, scale, F32),
    DTP_INPUT(dtp_attention_desc_t, q, DNNL_TP_ARG_SRC_0),
    DTP_INPUT(dtp_attention_desc_t, k, DNNL_TP_ARG_SRC_1),
    DTP_INPUT(dtp_attention_desc_t, v, DNNL_TP_ARG_SRC_2),
    DTP_INPUT(dtp_attention_desc_t, mask, DNNL_TP_ARG_MULTIPLE_SRC),
    DTP_INPUT(dtp_attention_desc_t, offsets, DNNL_TP_ARG_MULTIPLE_SRC + 1),
    DTP_OUTPUT(dtp_attention_desc_t, dst, DNNL_TP_ARG_DST)};
/* Two products, of which packed sequences are as long as they are on average. */
static void attention_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    const dtp_md_t *k = arg[DTP_ATTENTION_K].md, *offsets = arg[DTP_ATTENTION_OFFSETS].md;
    const double length = dtp_md_is_zero(offsets)
                              ? (double)k->dims[1]
                              : (double)k->dims[0] / (double)dtp_max64(offsets->dims[0] - 1, 1);
    work->flops = 4. * length * (double)dtp_md_nelems(arg[DTP_ATTENTION_Q].md);
}

DTP_KIND_INFO(attention, -1, NULL, attention_work);
