/* Steps of LSTM and GRU: tables. The problem is made and checked by exec/ops/sequences/recurrent.c. */
#include "common/problems/graph/recurrent.h"

static const dtp_field_t recurrent_fields[] = {DTP_FIELD(dtp_recurrent_desc_t, cell, S32),
                                               DTP_FIELD(dtp_recurrent_desc_t, reverse, S32),
                                               DTP_INPUT(dtp_recurrent_desc_t, src, DNNL_TP_ARG_SRC_0),
                                               DTP_INPUT(dtp_recurrent_desc_t, wei, DNNL_TP_ARG_WEIGHTS),
                                               DTP_INPUT(dtp_recurrent_desc_t, h, DNNL_TP_ARG_SRC_1),
                                               DTP_INPUT(dtp_recurrent_desc_t, c, DNNL_TP_ARG_SRC_2),
                                               DTP_INPUT(dtp_recurrent_desc_t, bia, DNNL_TP_ARG_BIAS),
                                               DTP_INPUT(dtp_recurrent_desc_t, peep, DNNL_TP_ARG_SRC_3),
                                               DTP_OUTPUT(dtp_recurrent_desc_t, dst, DNNL_TP_ARG_DST_0),
                                               DTP_OUTPUT(dtp_recurrent_desc_t, last_h, DNNL_TP_ARG_DST_1),
                                               DTP_OUTPUT(dtp_recurrent_desc_t, last_c, DNNL_TP_ARG_DST_2)};

static void recurrent_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    const dtp_md_t *wei = arg[DTP_RECURRENT_WEI].md, *src = arg[DTP_RECURRENT_SRC].md;
    work->flops = 2 * (double)src->dims[0] * (double)src->dims[1] * (double)dtp_md_nelems(wei);
}
DTP_KIND_INFO(recurrent, -1, NULL, recurrent_work);
