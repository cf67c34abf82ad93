/* Pooling with normalisation: tables. The problem is made and checked by exec/compile/lowering. */
#include "common/problems/graph/pool_normalize.h"

static const dtp_field_t pool_normalize_fields[] = {
    DTP_FIELD(dtp_pool_normalize_desc_t, epsilon, F32),
    DTP_INPUT(dtp_pool_normalize_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_INPUT(dtp_pool_normalize_desc_t, mask, DNNL_TP_ARG_MULTIPLE_SRC),
    DTP_INPUT(dtp_pool_normalize_desc_t, offsets, DNNL_TP_ARG_MULTIPLE_SRC + 1),
    DTP_OUTPUT(dtp_pool_normalize_desc_t, dst, DNNL_TP_ARG_DST)};
static void pool_normalize_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 2. * (double)dtp_md_nelems(arg[DTP_POOLN_SRC].md);
}

DTP_KIND_INFO(pool_normalize, -1, NULL, pool_normalize_work);
