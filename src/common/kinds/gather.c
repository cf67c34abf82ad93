/* Gather: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/gather.h"

static const dtp_field_t gather_fields[] = {DTP_INPUT(dtp_gather_desc_t, table, DNNL_TP_ARG_WEIGHTS),
                                            DTP_INPUT(dtp_gather_desc_t, ids, DNNL_TP_ARG_SRC),
                                            DTP_OUTPUT(dtp_gather_desc_t, dst, DNNL_TP_ARG_DST)};
DTP_KIND_INFO(gather, -1, NULL);
