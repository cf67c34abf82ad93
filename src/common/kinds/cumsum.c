/* Running sums: tables. The problem is made and checked by exec/ops/cumsum.c. */
#include "common/problems/cumsum.h"

static const dtp_field_t cumsum_fields[] = {
    DTP_FIELD(dtp_cumsum_desc_t, exclusive, S32), DTP_FIELD(dtp_cumsum_desc_t, reverse, S32),
    DTP_INPUT(dtp_cumsum_desc_t, src, DNNL_TP_ARG_SRC), DTP_OUTPUT(dtp_cumsum_desc_t, dst, DNNL_TP_ARG_DST)};
DTP_KIND_INFO(cumsum, -1, NULL);
