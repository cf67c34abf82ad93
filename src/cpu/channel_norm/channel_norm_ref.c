/* Reference batch and group normalization: any types and layouts, in double, one element at a time. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/channel_norm/channel_norm.h"
#include "cpu/elementwise/boxes.h"
#include "cpu/postops/postops.h"
#include "threading/base/parallel.h"

/* Nanoseconds of an element. */
#define NS_PER_ELEMENT 60.0

dnnl_tp_status_t dtp_channel_norm_layouts(dtp_pd_t *pd, dtp_quant_view_t *src_scale,
                                          dtp_quant_view_t *dst_scale) {
    dtp_channel_norm_desc_t *d = (dtp_channel_norm_desc_t *)pd->op;
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_boxes_layout_like(&d->dst, &d->src);
    if (!dtp_md_is_zero(&d->src1)) d->src1 = d->dst;
    if (!dtp_md_is_zero(&d->workspace)) {
        d->workspace = d->dst;
        d->workspace.data_type = dnnl_tp_u8;
    }
    return dtp_quant_init_common(src_scale, dst_scale, pd);
}

typedef struct {
    dtp_postops_t po;
    dtp_quant_view_t src_scale, dst_scale;
    int64_t space; /* elements of a channel of an image */
} plan_t;

static dnnl_tp_status_t channel_norm_ref_pd_init(dtp_pd_t *pd) {
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_DISPATCH(dtp_vops_takes(d->src.data_type) && dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_channel_norm_layouts(pd, &plan->src_scale, &plan->dst_scale));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_CNORM_DST, 0));
    plan->space = 1;
    for (int i = 2; i < d->src.ndims; ++i) plan->space *= d->src.dims[i];
    return dnnl_tp_success;
}

/* Row-major indices of one set of statistics: images n..n_end, channels c..c_end. */
typedef struct {
    int64_t n, n_end, c, c_end;
} set_t;

static double load_at(const dtp_job_t *j, int64_t n, int64_t c, int64_t i) {
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)j->pd->op;
    const plan_t *plan = j->pd->plan;
    const int64_t l = (n * d->src.dims[1] + c) * plan->space + i;
    return dtp_load(d->src.data_type, j->ctx->ptr[DTP_CNORM_SRC], dtp_md_offset_linear(&d->src, l));
}

static void statistics(const dtp_job_t *j, const set_t *s, double *mean, double *var) {
    const plan_t *plan = j->pd->plan;
    const double count = (double)dtp_max64(1, (s->n_end - s->n) * (s->c_end - s->c) * plan->space);
    *mean = *var = 0;
    for (int64_t n = s->n; n < s->n_end; ++n)
        for (int64_t c = s->c; c < s->c_end; ++c)
            for (int64_t i = 0; i < plan->space; ++i) *mean += load_at(j, n, c, i);
    *mean /= count;
    for (int64_t n = s->n; n < s->n_end; ++n)
        for (int64_t c = s->c; c < s->c_end; ++c)
            for (int64_t i = 0; i < plan->space; ++i) {
                const double x = load_at(j, n, c, i) - *mean;
                *var += x * x;
            }
    *var /= count;
}

static void channel_norm_ref_sets(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)j->pd->op;
    const plan_t *plan = j->pd->plan;
    void *const *ptr = j->ctx->ptr;
    const dnnl_tp_dims_t origin = {0};
    const double src_scale = dtp_quant_at(&plan->src_scale, j->ctx, origin),
                 dst_scale = dtp_quant_at(&plan->dst_scale, j->ctx, origin);
    const int64_t channels = d->src.dims[1], last = d->src.dims[d->src.ndims - 1];
    (void)slot;
    for (int64_t k = begin; k < end; ++k) {
        set_t s = {0, d->src.dims[0], k, k + 1};
        if (d->groups) {
            const int64_t of = channels / d->groups;
            s = (set_t){k / d->groups, k / d->groups + 1, k % d->groups * of, (k % d->groups + 1) * of};
        }
        double mean, var;
        if (dtp_cnorm_given(d)) {
            mean = (double)((const float *)ptr[DTP_CNORM_MEAN])[k];
            var = (double)((const float *)ptr[DTP_CNORM_VARIANCE])[k];
        } else {
            statistics(j, &s, &mean, &var);
        }
        if (dtp_cnorm_written(d)) {
            ((float *)ptr[DTP_CNORM_MEAN])[k] = (float)mean;
            ((float *)ptr[DTP_CNORM_VARIANCE])[k] = (float)var;
        }
        const double inv = 1 / sqrt(var + (double)d->epsilon);
        for (int64_t n = s.n; n < s.n_end; ++n)
            for (int64_t c = s.c; c < s.c_end; ++c)
                for (int64_t i = 0; i < plan->space; ++i) {
                    const int64_t l = (n * channels + c) * plan->space + i;
                    const int64_t at = dtp_md_offset_linear(&d->dst, l);
                    double y = (load_at(j, n, c, i) - mean) * inv;
                    if (ptr[DTP_CNORM_SCALE]) y *= (double)((const float *)ptr[DTP_CNORM_SCALE])[c];
                    if (ptr[DTP_CNORM_SHIFT]) y += (double)((const float *)ptr[DTP_CNORM_SHIFT])[c];
                    if (!dtp_md_is_zero(&d->src1)) y += dtp_load(d->src1.data_type, ptr[DTP_CNORM_SRC1], at);
                    if (!dtp_md_is_zero(&d->workspace)) ((uint8_t *)ptr[DTP_CNORM_WORKSPACE])[at] = y > 0;
                    if (dtp_cnorm_has_relu(d) && y < 0) y = 0;
                    float f = (float)(y * src_scale);
                    dtp_postops_apply(&plan->po, j->pd, j->ctx, &f, 1, 1, 1, l / last, l % last);
                    dtp_store(d->dst.data_type, ptr[DTP_CNORM_DST], at, (double)f / dst_scale);
                }
    }
}

static dnnl_tp_status_t channel_norm_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)pd->op;
    const int64_t sets = d->groups ? d->src.dims[0] * d->groups : d->src.dims[1];
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, sets,
                     dtp_grain(NS_PER_ELEMENT * (double)dtp_md_nelems(&d->src) / (double)dtp_max64(1, sets)),
                     channel_norm_ref_sets, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_CNORM_DST]);
    if (!dtp_md_is_zero(&d->workspace)) dtp_zero_pad(&d->workspace, ctx->ptr[DTP_CNORM_WORKSPACE]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(channel_norm, 0, .plan_size = sizeof(plan_t), .pd_init = channel_norm_ref_pd_init,
                  .execute = channel_norm_ref_execute);
