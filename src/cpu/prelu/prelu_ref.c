/* Reference prelu: any types, layouts and broadcasts, in double, one element at a time. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/prelu/prelu.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one element. */
#define NS_PER_ELEMENT 30.0

static dnnl_tp_status_t prelu_ref_pd_init(dtp_pd_t *pd) {
    const dtp_prelu_desc_t *d = (const dtp_prelu_desc_t *)pd->op;
    const dtp_md_t *md[] = {&d->src, &d->wei, &d->dst};
    for (int i = 0; i < 3; ++i)
        DTP_DISPATCH(md[i]->data_type >= dnnl_tp_f16 && md[i]->data_type <= dnnl_tp_u8,
                     UNSUPPORTED_DATA_TYPE);
    return dtp_prelu_check(pd);
}

static void prelu_ref_range(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const dtp_prelu_desc_t *d = (const dtp_prelu_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos, at;
        dtp_md_position(&d->dst, l, pos);
        for (int k = 0; k < d->dst.ndims; ++k) at[k] = d->wei.dims[k] == 1 ? 0 : pos[k];
        const double s = dtp_load(d->src.data_type, ptr[DTP_PRELU_SRC], dtp_md_offset(&d->src, pos));
        const double w = dtp_load(d->wei.data_type, ptr[DTP_PRELU_WEI], dtp_md_offset(&d->wei, at));
        dtp_store(d->dst.data_type, ptr[DTP_PRELU_DST], dtp_md_offset(&d->dst, pos), s < 0 ? s * w : s);
    }
}

static dnnl_tp_status_t prelu_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_prelu_desc_t *d = (const dtp_prelu_desc_t *)pd->op;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&d->dst), dtp_grain(NS_PER_ELEMENT), prelu_ref_range, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_PRELU_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(prelu, 0, .pd_init = prelu_ref_pd_init, .execute = prelu_ref_execute);
