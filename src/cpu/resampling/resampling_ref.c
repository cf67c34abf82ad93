/* Reference resampling: any types and layouts, in double, one element of dst at a time. Positions and weights are those of
 * problems/resampling.h, in f32. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/elementwise/boxes.h"
#include "cpu/postops/postops.h"
#include "cpu/resampling/resampling.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 60.0

dnnl_tp_status_t dtp_resampling_check(dtp_pd_t *pd) {
    dtp_resampling_desc_t *d = (dtp_resampling_desc_t *)pd->op;
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_boxes_layout_like(&d->dst, &d->src);
    return dnnl_tp_success;
}

static dnnl_tp_status_t resampling_ref_pd_init(dtp_pd_t *pd) {
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)pd->op;
    DTP_DISPATCH(dtp_vops_takes(d->src.data_type) && dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_resampling_check(pd));
    return dtp_postops_init(pd->plan, pd, DTP_RESAMPLING_DST, 0);
}

static double linear(const dtp_resampling_desc_t *d, const void *src, const int64_t *pos) {
    dtp_resampling_place_t place[DTP_RESAMPLING_DIMS];
    dnnl_tp_dims_t at = {pos[0], pos[1]};
    for (int i = 0; i < d->spatial; ++i) place[i] = dtp_resampling_place_of(d, i, pos[2 + i]);
    double sum = 0;
    for (int corner = 0; corner < 1 << d->spatial; ++corner) {
        double weight = 1;
        for (int i = 0; i < d->spatial; ++i) {
            const bool high = corner >> i & 1;
            at[2 + i] = high ? place[i].hi : place[i].lo;
            weight *= high ? (double)place[i].part : 1 - (double)place[i].part;
        }
        /* What has no weight counts for nothing, even if it is not finite. */
        if (weight != 0) sum += weight * dtp_load(d->src.data_type, src, dtp_md_offset(&d->src, at));
    }
    return sum;
}

static double nearest(const dtp_resampling_desc_t *d, const void *src, const int64_t *pos) {
    dnnl_tp_dims_t at = {pos[0], pos[1]};
    for (int i = 0; i < d->spatial; ++i) at[2 + i] = dtp_resampling_place_of(d, i, pos[2 + i]).lo;
    return dtp_load(d->src.data_type, src, dtp_md_offset(&d->src, at));
}

static void resampling_ref_range(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)j->pd->op;
    const dtp_postops_t *po = j->pd->plan;
    const int last = d->dst.ndims - 1;
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        dtp_md_position(&d->dst, l, pos);
        const void *src = j->ctx->ptr[DTP_RESAMPLING_SRC];
        double x = d->alg == dnnl_tp_resampling_nearest ? nearest(d, src, pos) : linear(d, src, pos);
        if (po->len) {
            float y = (float)x;
            dtp_postops_apply(po, j->pd, j->ctx, &y, 1, 1, 1, l / d->dst.dims[last], pos[last]);
            x = (double)y;
        }
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_RESAMPLING_DST], dtp_md_offset(&d->dst, pos), x);
    }
}

static dnnl_tp_status_t resampling_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)pd->op;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&d->dst), dtp_grain(NS_PER_ELEMENT), resampling_ref_range, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_RESAMPLING_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(resampling, 0, .plan_size = sizeof(dtp_postops_t), .pd_init = resampling_ref_pd_init,
                  .execute = resampling_ref_execute);
