/* Attention over a cache: tables. The problem is made by exec/ops/sequences/cached_attention.c. */
#include "common/problems/graph/cached_attention.h"

static const dtp_field_t cached_attention_fields[] = {
    DTP_FIELD(dtp_cached_attention_desc_t, heads, S32),
    DTP_FIELD(dtp_cached_attention_desc_t, groups, S32),
    DTP_FIELD(dtp_cached_attention_desc_t, is_causal, S32),
    DTP_FIELD(dtp_cached_attention_desc_t, interleaved, S32),
    DTP_FIELD(dtp_cached_attention_desc_t, window, S64),
    DTP_FIELD(dtp_cached_attention_desc_t, scale, F32),
    DTP_FIELD(dtp_cached_attention_desc_t, softcap, F32),
    DTP_INPUT(dtp_cached_attention_desc_t, q, DNNL_TP_ARG_SRC_0),
    DTP_INPUT(dtp_cached_attention_desc_t, k, DNNL_TP_ARG_SRC_1),
    DTP_INPUT(dtp_cached_attention_desc_t, v, DNNL_TP_ARG_SRC_2),
    DTP_INPUT(dtp_cached_attention_desc_t, past_k, DNNL_TP_ARG_MULTIPLE_SRC),
    DTP_INPUT(dtp_cached_attention_desc_t, past_v, DNNL_TP_ARG_MULTIPLE_SRC + 1),
    DTP_INPUT(dtp_cached_attention_desc_t, lengths, DNNL_TP_ARG_MULTIPLE_SRC + 2),
    DTP_INPUT(dtp_cached_attention_desc_t, mask, DNNL_TP_ARG_MULTIPLE_SRC + 3),
    DTP_INPUT(dtp_cached_attention_desc_t, cosines, DNNL_TP_ARG_MULTIPLE_SRC + 4),
    DTP_INPUT(dtp_cached_attention_desc_t, sines, DNNL_TP_ARG_MULTIPLE_SRC + 5),
    DTP_OUTPUT(dtp_cached_attention_desc_t, dst, DNNL_TP_ARG_DST),
    DTP_OUTPUT(dtp_cached_attention_desc_t, rows_k, DNNL_TP_ARG_MULTIPLE_DST),
    DTP_OUTPUT(dtp_cached_attention_desc_t, rows_v, DNNL_TP_ARG_MULTIPLE_DST + 1)};

/* Two products with half of the cache, as it is on average. */
static void cached_attention_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const dtp_md_t *past = arg[DTP_CACHED_PAST_K].md, *q = arg[DTP_CACHED_Q].md;
    (void)op;
    work->flops = 4. * ((double)past->dims[2] / 2 + (double)q->dims[1]) * (double)dtp_md_nelems(q);
}

DTP_KIND_INFO(cached_attention, -1, NULL, cached_attention_work);
