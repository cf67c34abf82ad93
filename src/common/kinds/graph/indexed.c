/* Gathers and scatters: tables. The problem is made and checked by exec/ops/elements/indexed.c. */
#include "common/problems/graph/indexed.h"

static const dtp_field_t indexed_fields[] = {
    DTP_FIELD(dtp_indexed_desc_t, what, S32),
    DTP_FIELD(dtp_indexed_desc_t, nloops, S32),
    DTP_FIELD(dtp_indexed_desc_t, ncomponents, S32),
    DTP_FIELD(dtp_indexed_desc_t, ntaps, S32),
    DTP_FIELD(dtp_indexed_desc_t, nwidth, S32),
    DTP_FIELD_ARRAY(dtp_indexed_desc_t, loops, DIMS, nloops),
    DTP_FIELD_ARRAY(dtp_indexed_desc_t, data_strides, DIMS, nloops),
    DTP_FIELD_ARRAY(dtp_indexed_desc_t, id_strides, DIMS, nloops),
    DTP_FIELD_ARRAY(dtp_indexed_desc_t, limits, DIMS, ncomponents),
    DTP_FIELD_ARRAY(dtp_indexed_desc_t, step_strides, DIMS, ncomponents),
    DTP_FIELD_ARRAY(dtp_indexed_desc_t, width, DIMS, nwidth),
    DTP_INPUT(dtp_indexed_desc_t, data, DNNL_TP_ARG_SRC_0),
    DTP_INPUT(dtp_indexed_desc_t, ids, DNNL_TP_ARG_SRC_1),
    DTP_INPUT(dtp_indexed_desc_t, rows, DNNL_TP_ARG_SRC_2),
    DTP_OUTPUT(dtp_indexed_desc_t, dst, DNNL_TP_ARG_DST)};

/* A gather reads only the rows that are asked for. */
static void indexed_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const int what = ((const dtp_indexed_desc_t *)op)->what;
    if (what == DTP_INDEXED_SUM)
        work->flops = 2. * (double)dtp_md_nelems(arg[DTP_INDEXED_ROWS].md) *
                      (double)((const dtp_indexed_desc_t *)op)->width[0];
    else if (what == DTP_INDEXED_GATHER)
        work->bytes = dtp_md_moved(arg[DTP_INDEXED_IDS].md) + 2. * dtp_md_moved(arg[DTP_INDEXED_DST].md);
    else if (what != DTP_INDEXED_SET) work->flops = (double)dtp_md_nelems(arg[DTP_INDEXED_ROWS].md);
}
DTP_KIND_INFO(indexed, -1, NULL, indexed_work);
