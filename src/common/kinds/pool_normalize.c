/* Pooling with normalisation: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/pool_normalize.h"

static const dtp_field_t pool_normalize_fields[] = {
    DTP_FIELD(dtp_pool_normalize_desc_t, epsilon, F32),
    DTP_INPUT(dtp_pool_normalize_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_INPUT(dtp_pool_normalize_desc_t, mask, DNNL_TP_ARG_MULTIPLE_SRC),
    DTP_INPUT(dtp_pool_normalize_desc_t, offsets, DNNL_TP_ARG_MULTIPLE_SRC + 1),
    DTP_OUTPUT(dtp_pool_normalize_desc_t, dst, DNNL_TP_ARG_DST)};
DTP_KIND_INFO(pool_normalize, -1, NULL);
