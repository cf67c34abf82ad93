/* Reference sum: any layouts and types, one element at a time. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/sum/sum.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one source's element. */
#define NS_PER_ELEMENT 15.0

static void ref_sum_range(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *e = arg;
    const dtp_sum_desc_t *op = (const dtp_sum_desc_t *)e->pd->op;
    const float *scale = dtp_sum_scales(op);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        float sum = 0.f;
        for (int i = 0; i < op->n; ++i) {
            const dtp_md_t *s = &op->src[i];
            sum += scale[i] *
                   (float)dtp_load(s->data_type, e->ctx->ptr[DTP_SUM_SRC + i], dtp_md_offset_linear(s, l));
        }
        dtp_store(op->dst.data_type, e->ctx->ptr[DTP_SUM_DST], dtp_md_offset_linear(&op->dst, l),
                  (double)sum);
    }
}

static dnnl_tp_status_t ref_sum_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_sum_desc_t *op = (const dtp_sum_desc_t *)pd->op;
    dtp_job_t e = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&op->dst), dtp_grain(NS_PER_ELEMENT * op->n), ref_sum_range, &e);
    dtp_zero_pad(&op->dst, ctx->ptr[DTP_SUM_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(sum, DTP_IMPL_IN_PLACE, .pd_init = dtp_sum_check, .execute = ref_sum_execute);
