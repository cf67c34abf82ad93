/* Scales and zero points as reference implementations read them; see quant.h. */
#include "cpu/quant.h"

#include "cpu/scalar.h"

dnnl_tp_status_t dtp_quant_init(dtp_quant_view_t *q, const dtp_pd_t *pd, int arg, bool scale) {
    memset(q, 0, sizeof *q);
    q->is_scale = scale;
    q->index = scale ? dtp_pd_scale_index(pd, arg) : dtp_pd_zero_point_index(pd, arg);
    if (q->index < 0) return dnnl_tp_success;
    const dtp_quant_t *a = scale ? dtp_attr_scale(pd->attr, arg) : dtp_attr_zero_point(pd->attr, arg);
    int of = dtp_pd_arg_index(pd, arg);
    if (of < 0) return dtp_refuse(scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS);
    const dtp_md_t *md = pd->args[of].md;
    if (a->mask >> md->ndims) return dtp_refuse(scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS);
    q->data_type = a->data_type;
    q->ndims = md->ndims;
    q->mask = a->mask;
    for (int d = 0; d < md->ndims; ++d) {
        int g = d - (md->ndims - 2);
        q->group[d] = a->group_ndims && g >= 0 ? a->groups[g] : 1;
        q->count[d] =
            md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL ? md->dims[d] : dtp_div_up(md->dims[d], q->group[d]);
        if ((a->mask >> d & 1) && md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL)
            return dtp_refuse(scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_quant_init_common(dtp_quant_view_t *src, dtp_quant_view_t *dst, const dtp_pd_t *pd) {
    DTP_TRY(dtp_quant_init(src, pd, DNNL_TP_ARG_SRC, true));
    DTP_TRY(dtp_quant_init(dst, pd, DNNL_TP_ARG_DST, true));
    DTP_DISPATCH(src->mask == 0 && dst->mask == 0, UNSUPPORTED_SCALES);
    return dnnl_tp_success;
}

double dtp_quant_at(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const int64_t *pos) {
    if (q->index < 0) return q->is_scale ? 1 : 0;
    int64_t i = 0;
    for (int d = 0; d < q->ndims; ++d)
        if (q->mask >> d & 1) i = i * q->count[d] + pos[d] / q->group[d];
    return dtp_load(q->data_type, ctx->ptr[q->index], i);
}
