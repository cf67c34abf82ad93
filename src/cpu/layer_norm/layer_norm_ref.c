/* Reference layer normalisation: any type and layout, in double. */
#include <math.h>

#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/norms/layer_normalization.h"
#include "cpu/postops/postops.h"
#include "cpu/access/quant.h"
#include "common/base/scalar.h"
#include "threading/base/parallel.h"

typedef struct {
    dtp_postops_t po;
    dtp_quant_view_t src_scale, dst_scale;
    int64_t rows, n;
} plan_t;

static dnnl_tp_status_t layer_norm_ref_pd_init(dtp_pd_t *pd) {
    dtp_layer_norm_desc_t *d = (dtp_layer_norm_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const bool is_f64 = d->src.data_type == dnnl_tp_f64 && d->dst.data_type == dnnl_tp_f64;
    DTP_DISPATCH(is_f64 || (d->src.data_type <= dnnl_tp_u8 && d->dst.data_type <= dnnl_tp_u8),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!is_f64 || dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR); /* they compute in f32 */
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_quant_init_common(&plan->src_scale, &plan->dst_scale, pd));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_LNORM_DST, 0));
    plan->n = d->src.dims[d->src.ndims - 1];
    plan->rows = plan->n ? dtp_md_nelems(&d->src) / plan->n : 0;
    return dnnl_tp_success;
}

/* Element i of row r, which begins at `base` in memory; -1: it is looked up. */
static inline int64_t place_of(const dtp_md_t *md, int64_t r, int64_t n, int64_t base, int64_t i) {
    return base >= 0 ? base + i * md->strides[md->ndims - 1] : dtp_md_offset_linear(md, r * n + i);
}

static void layer_norm_ref_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    const dnnl_tp_dims_t origin = {0};
    double src_scale = dtp_quant_at(&plan->src_scale, j->ctx, origin);
    double dst_scale = dtp_quant_at(&plan->dst_scale, j->ctx, origin);
    bool global = d->flags & dnnl_tp_use_global_stats, rms = d->flags & dnnl_tp_rms_norm;
    int64_t n = plan->n;
    (void)slot;
    for (int64_t r = begin; r < end; ++r) {
        double mean = 0, var = 0;
        int64_t at = dtp_md_offset_linear(&d->stat, r);
        const int64_t from = dtp_md_is_plain(&d->src) && n ? dtp_md_offset_linear(&d->src, r * n) : -1,
                      to = dtp_md_is_plain(&d->dst) && n ? dtp_md_offset_linear(&d->dst, r * n) : -1;
        if (global) {
            if (!rms) mean = ((const float *)ptr[DTP_LNORM_MEAN])[at];
            var = ((const float *)ptr[DTP_LNORM_VARIANCE])[at];
        } else {
            for (int64_t i = 0; i < n && !rms; ++i)
                mean += dtp_load(d->src.data_type, ptr[DTP_LNORM_SRC], place_of(&d->src, r, n, from, i));
            mean /= (double)n;
            for (int64_t i = 0; i < n; ++i) {
                double x = dtp_load(d->src.data_type, ptr[DTP_LNORM_SRC], place_of(&d->src, r, n, from, i));
                var += (x - mean) * (x - mean);
            }
            var /= (double)n;
            if (d->prop == dnnl_tp_forward_training) {
                if (!rms) ((float *)ptr[DTP_LNORM_MEAN])[at] = (float)mean;
                ((float *)ptr[DTP_LNORM_VARIANCE])[at] = (float)var;
            }
        }
        double inv = 1 / sqrt(var + (double)d->epsilon);
        for (int64_t i = 0; i < n; ++i) {
            double x = dtp_load(d->src.data_type, ptr[DTP_LNORM_SRC], place_of(&d->src, r, n, from, i));
            double y = (x - mean) * inv;
            if (!dtp_md_is_zero(&d->scale)) y *= dtp_load(d->scale.data_type, ptr[DTP_LNORM_SCALE], i);
            if (!dtp_md_is_zero(&d->shift)) y += dtp_load(d->shift.data_type, ptr[DTP_LNORM_SHIFT], i);
            y *= src_scale;
            if (plan->po.len) {
                float f = (float)y;
                dtp_postops_apply(&plan->po, j->pd, j->ctx, &f, 1, 1, 1, r, i);
                y = (double)f;
            }
            dtp_store(d->dst.data_type, ptr[DTP_LNORM_DST], place_of(&d->dst, r, n, to, i), y / dst_scale);
        }
    }
}

static dnnl_tp_status_t layer_norm_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_job_t job = {pd, ctx};
    int64_t rows = ctx->rows >= 0 ? ctx->rows : plan->rows;
    dtp_parallel_for(ctx->par, rows, dtp_grain(50. * (double)plan->n), layer_norm_ref_rows, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_LNORM_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(layer_norm, DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = layer_norm_ref_pd_init,
                  .execute = layer_norm_ref_execute);
