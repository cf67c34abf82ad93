/* Reference local response normalization: any types and layouts, in double, one element at a time. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/norms/lrn.h"
#include "cpu/simd/vops.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one neighbour. */
#define NS_PER_NEIGHBOUR 8.0

static dnnl_tp_status_t lrn_ref_pd_init(dtp_pd_t *pd) {
    dtp_lrn_desc_t *d = (dtp_lrn_desc_t *)pd->op;
    DTP_DISPATCH(dtp_vops_takes(d->src.data_type) && dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    return dnnl_tp_success;
}

static double lrn_ref_sum(const dtp_job_t *j, const int64_t *pos) {
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)j->pd->op;
    const int nd = d->src.ndims;
    const bool across = d->alg == dnnl_tp_lrn_across_channels;
    dnnl_tp_dims_t begin, end, at;
    for (int i = 0; i < nd; ++i) {
        const int64_t half = (across ? i == 1 : i > 1) ? dtp_min64(dtp_lrn_half(d), d->src.dims[i]) : 0;
        begin[i] = dtp_max64(0, pos[i] - half);
        end[i] = dtp_min64(d->src.dims[i], pos[i] + half + 1);
        at[i] = begin[i];
    }
    double sum = 0;
    for (int i = nd; i >= 0;) {
        const double x = dtp_load(d->src.data_type, j->ctx->ptr[DTP_LRN_SRC], dtp_md_offset(&d->src, at));
        sum += x * x;
        for (i = nd - 1; i >= 0 && ++at[i] == end[i]; --i) at[i] = begin[i];
    }
    return sum;
}

static void lrn_ref_range(void *arg, int slot, int64_t from, int64_t to) {
    const dtp_job_t *j = arg;
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)j->pd->op;
    const double factor = dtp_lrn_factor(d);
    (void)slot;
    for (int64_t l = from; l < to; ++l) {
        dnnl_tp_dims_t pos;
        int64_t rest = l;
        for (int i = d->src.ndims - 1; i >= 0; --i) {
            pos[i] = rest % d->src.dims[i];
            rest /= d->src.dims[i];
        }
        const double x = dtp_load(d->src.data_type, j->ctx->ptr[DTP_LRN_SRC], dtp_md_offset(&d->src, pos));
        const double y = x * pow((double)d->k + factor * lrn_ref_sum(j, pos), -(double)d->beta);
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_LRN_DST], dtp_md_offset(&d->dst, pos), y);
    }
}

static dnnl_tp_status_t lrn_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)pd->op;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&d->dst),
                     dtp_grain(NS_PER_NEIGHBOUR * (double)dtp_min64(d->local_size, 1 << 20) + 50),
                     lrn_ref_range, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_LRN_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(lrn, 0, .pd_init = lrn_ref_pd_init, .execute = lrn_ref_execute);
