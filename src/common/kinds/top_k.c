/* Positions of the largest elements: tables. The problem is made and checked by exec/ops/top_k.c. */
#include "common/problems/top_k.h"

static const dtp_field_t top_k_fields[] = {
    DTP_FIELD(dtp_top_k_desc_t, smallest, S32), DTP_FIELD(dtp_top_k_desc_t, last, S32),
    DTP_INPUT(dtp_top_k_desc_t, src, DNNL_TP_ARG_SRC), DTP_OUTPUT(dtp_top_k_desc_t, dst, DNNL_TP_ARG_DST)};
DTP_KIND_INFO(top_k, -1, NULL);
