/* Reference reduction: any layouts, one output at a time, accumulated in double in logical order. */
#include <math.h>

#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/postops/postops.h"
#include "cpu/reduction/reduction.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one source element. */
#define NS_PER_ELEMENT 15.0

typedef struct {
    dtp_postops_t po;
} ref_reduction_plan_t;

static dnnl_tp_status_t ref_reduction_pd_init(dtp_pd_t *pd) {
    ref_reduction_plan_t *plan = pd->plan;
    DTP_TRY(dtp_reduction_check(pd));
    return dtp_postops_init(&plan->po, pd, DTP_REDUCTION_DST, 0);
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    int64_t count; /* source elements per output */
} ref_env_t;

static double ref_combine(const dtp_reduction_desc_t *op, double acc, double x) {
    const bool stays = op->keeps_nan && acc != acc;
    switch (op->alg) {
    case dnnl_tp_reduction_max: return acc > x || stays ? acc : x;
    case dnnl_tp_reduction_min: return acc < x || stays ? acc : x;
    case dnnl_tp_reduction_mul: return acc * x;
    case dnnl_tp_reduction_sum:
    case dnnl_tp_reduction_mean: return acc + x;
    default: return acc + (op->p == 1.f ? fabs(x) : op->p == 2.f ? x * x : pow(fabs(x), (double)op->p));
    }
}

static void ref_reduction_range(void *arg, int slot, int64_t begin, int64_t end) {
    const ref_env_t *e = arg;
    const dtp_reduction_desc_t *op = (const dtp_reduction_desc_t *)e->pd->op;
    const ref_reduction_plan_t *plan = e->pd->plan;
    const dtp_md_t *src = &op->src, *dst = &op->dst;
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t at, pos;
        dtp_md_position(dst, l, at);
        memcpy(pos, at, sizeof pos);
        double acc = op->alg == dnnl_tp_reduction_max   ? -INFINITY
                     : op->alg == dnnl_tp_reduction_min ? INFINITY
                     : op->alg == dnnl_tp_reduction_mul ? 1.
                                                        : 0.;
        for (int64_t i = 0; i < e->count; ++i) {
            acc = ref_combine(
                op, acc, dtp_load(src->data_type, e->ctx->ptr[DTP_REDUCTION_SRC], dtp_md_offset(src, pos)));
            for (int d = dst->ndims - 1; d >= 0; --d) {
                if (dst->dims[d] == src->dims[d]) continue;
                if (++pos[d] < src->dims[d]) break;
                pos[d] = 0;
            }
        }
        float y = dtp_reduction_finish(op, acc, e->count);
        if (plan->po.len > 0) dtp_postops_apply_linear(&plan->po, e->pd, e->ctx, &y, 1, l);
        dtp_store(dst->data_type, e->ctx->ptr[DTP_REDUCTION_DST], dtp_md_offset(dst, at), (double)y);
    }
}

static dnnl_tp_status_t ref_reduction_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_reduction_desc_t *op = (const dtp_reduction_desc_t *)pd->op;
    ref_env_t e = {pd, ctx, 1};
    for (int d = 0; d < op->dst.ndims; ++d)
        if (op->dst.dims[d] != op->src.dims[d]) e.count *= op->src.dims[d];
    dtp_parallel_for(ctx->par, dtp_md_nelems(&op->dst), dtp_grain(NS_PER_ELEMENT * (double)(e.count + 1)),
                     ref_reduction_range, &e);
    dtp_zero_pad(&op->dst, ctx->ptr[DTP_REDUCTION_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(reduction, 0, .plan_size = sizeof(ref_reduction_plan_t), .pd_init = ref_reduction_pd_init,
                  .execute = ref_reduction_execute);
