/* Scales and zero points as reference implementations read them; see quant.h. */
#include "cpu/access/quant.h"

#include "common/base/scalar.h"

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
    }
    int64_t step = 1;
    bool known = true; /* only the outermost count may be unknown before execution */
    for (int d = md->ndims; d-- > 0;) {
        if (!(a->mask >> d & 1)) continue;
        if (!known) return dtp_refuse(scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS);
        known = md->dims[d] != DNNL_TP_RUNTIME_DIM_VAL;
        const int64_t count = known ? dtp_div_up(md->dims[d], q->group[d]) : 2;
        q->stride[d] = count > 1 ? step : 0;
        step *= count;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_quant_init_common(dtp_quant_view_t *src, dtp_quant_view_t *dst, const dtp_pd_t *pd) {
    DTP_TRY(dtp_quant_init(src, pd, DNNL_TP_ARG_SRC, true));
    DTP_TRY(dtp_quant_init(dst, pd, DNNL_TP_ARG_DST, true));
    DTP_DISPATCH(src->mask == 0 && dst->mask == 0, UNSUPPORTED_SCALES);
    return dnnl_tp_success;
}

static int64_t quant_offset(const dtp_quant_view_t *q, const int64_t *pos) {
    int64_t i = 0;
    for (int d = 0; d < q->ndims; ++d)
        if (q->stride[d]) i += (q->group[d] == 1 ? pos[d] : pos[d] / q->group[d]) * q->stride[d];
    return i;
}

double dtp_quant_at(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const int64_t *pos) {
    if (q->index < 0) return q->is_scale ? 1 : 0;
    return dtp_load(q->data_type, ctx->ptr[q->index], quant_offset(q, pos));
}

void dtp_quant_along(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const int64_t *pos, int d,
                     int64_t n, float *v) {
    if (q->index < 0 || !q->stride[d]) {
        const float value = (float)dtp_quant_at(q, ctx, pos);
        for (int64_t i = 0; i < n; ++i) v[i] = value;
        return;
    }
    const void *values = ctx->ptr[q->index];
    const int64_t group = q->group[d], step = q->stride[d];
    int64_t at = quant_offset(q, pos), left = group == 1 ? 1 : group - pos[d] % group;
    if (group == 1 && step == 1 && q->data_type == dnnl_tp_f32) {
        memcpy(v, (const float *)values + at, (size_t)n * sizeof *v);
        return;
    }
    for (int64_t i = 0; i < n; at += step, left = group) {
        const float value = (float)dtp_load(q->data_type, values, at);
        for (const int64_t end = dtp_min64(n, i + left); i < end; ++i) v[i] = value;
    }
}

void dtp_quant_run(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const dtp_md_t *md, int64_t index,
                   int64_t n, double *v) {
    const int last = md->ndims - 1;
    while (n > 0) {
        dnnl_tp_dims_t pos;
        dtp_md_position(md, index, pos);
        const int64_t run = dtp_min64(n, md->dims[last] - pos[last]);
        const bool varies = q->index >= 0 && q->stride[last];
        const int64_t group = varies ? q->group[last] : run, at = q->index >= 0 ? quant_offset(q, pos) : 0;
        for (int64_t i = 0, value = at; i < run; value += q->stride[last]) {
            /* A value serves the rest of its group, or of the row. */
            const int64_t end =
                dtp_min64(run, i + group - (varies && i == 0 && group > 1 ? pos[last] % group : 0));
            const double x = q->index >= 0 ? dtp_load(q->data_type, ctx->ptr[q->index], value) : q->is_scale;
            while (i < end) v[i++] = x;
        }
        index += run, v += run, n -= run;
    }
}
