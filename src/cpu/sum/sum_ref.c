/* Reference sum: any layouts and types, one element at a time. */
#include "common/layout/zero_pad.h"
#include "cpu/simd/vops.h"
#include "cpu/sum/sum.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one source's element. */
#define NS_PER_ELEMENT 15.0

typedef struct {
    const dtp_sum_desc_t *op;
    const dtp_exec_ctx_t *ctx;
    const dtp_vops_t *v;
} ref_env_t;

static dnnl_tp_status_t ref_sum_pd_init(dtp_pd_t *pd) { return dtp_sum_check(pd); }

static void ref_sum_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_sum_desc_t *op = e->op;
    const float *scale = dtp_sum_scales(op);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        float sum = 0.f;
        for (int i = 0; i < op->n; ++i) {
            const dtp_md_t *s = &op->src[i];
            float x;
            e->v->load[s->data_type](&x,
                                     (const char *)e->ctx->ptr[DTP_SUM_SRC + i] +
                                         dtp_md_offset_linear(s, l) * (int64_t)dtp_type_size(s->data_type),
                                     1, 1);
            sum += scale[i] * x;
        }
        e->v->store[op->dst.data_type]((char *)e->ctx->ptr[DTP_SUM_DST] +
                                           dtp_md_offset_linear(&op->dst, l) *
                                               (int64_t)dtp_type_size(op->dst.data_type),
                                       &sum, 1, 1);
    }
}

static dnnl_tp_status_t ref_sum_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    ref_env_t e = {(const dtp_sum_desc_t *)pd->op, ctx, dtp_vops(0)};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&e.op->dst), dtp_grain(NS_PER_ELEMENT * e.op->n), ref_sum_range,
                     &e);
    dtp_zero_pad(&e.op->dst, ctx->ptr[DTP_SUM_DST]);
    return dnnl_tp_success;
}

const dtp_impl_t dtp_cpu_sum__ref = {
    .name = "ref:any", .flags = DTP_IMPL_ANY_THREADS, .pd_init = ref_sum_pd_init, .execute = ref_sum_execute};
