/* Attention: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/attention.h"

static const dtp_field_t attention_fields[] = {
    DTP_FIELD(dtp_attention_desc_t, heads, S32),
    DTP_FIELD(dtp_attention_desc_t, scale, F32),
    DTP_INPUT(dtp_attention_desc_t, q, DNNL_TP_ARG_SRC_0),
    DTP_INPUT(dtp_attention_desc_t, k, DNNL_TP_ARG_SRC_1),
    DTP_INPUT(dtp_attention_desc_t, v, DNNL_TP_ARG_SRC_2),
    DTP_INPUT(dtp_attention_desc_t, mask, DNNL_TP_ARG_MULTIPLE_SRC),
    DTP_INPUT(dtp_attention_desc_t, offsets, DNNL_TP_ARG_MULTIPLE_SRC + 1),
    DTP_OUTPUT(dtp_attention_desc_t, dst, DNNL_TP_ARG_DST)};
DTP_KIND_INFO(attention, -1, NULL);
