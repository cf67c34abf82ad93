/* Tensors with more around them: tables. The problem is made by exec/ops/elements/pad.c. */
#include "common/problems/graph/pad.h"

static const dtp_field_t pad_fields[] = {DTP_FIELD(dtp_pad_desc_t, ndims, S32),
                                         DTP_FIELD_ARRAY(dtp_pad_desc_t, before, DIMS, ndims),
                                         DTP_FIELD_ARRAY(dtp_pad_desc_t, behind, DIMS, ndims),
                                         DTP_FIELD_ARRAY(dtp_pad_desc_t, times, DIMS, ndims),
                                         DTP_FIELD(dtp_pad_desc_t, value, S64),
                                         DTP_INPUT(dtp_pad_desc_t, src, DNNL_TP_ARG_SRC),
                                         DTP_OUTPUT(dtp_pad_desc_t, dst, DNNL_TP_ARG_DST)};
static void pad_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    (void)arg;
    work->flops = 0;
}
DTP_KIND_INFO(pad, -1, NULL, pad_work);
