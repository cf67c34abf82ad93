/* Reference element-wise operations: every algorithm, any type and layout, in double. */
#include <math.h>

#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/eltwise.h"
#include "cpu/postops/postops.h"
#include "common/base/scalar_op.h"
#include "common/base/scalar.h"
#include "threading/base/parallel.h"

typedef struct {
    dtp_postops_t po;
    int64_t n;
} plan_t;

#define VALUE(name, scalar) \
    case DTP_EW_##name: return scalar

static double eltwise_ref_value(dnnl_tp_alg_kind_t alg, double x, double a, double b) {
    switch (dtp_ew_unary(alg)) {
#define DTP_EW1(name, number, types, ns, unroll, vector, scalar) VALUE(name, scalar);
#include "common/base/elementwise.inc"
    default: return x;
    }
}

static dnnl_tp_status_t eltwise_ref_pd_init(dtp_pd_t *pd) {
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dnnl_tp_data_type_t st = d->src.data_type, dt = d->dst.data_type;
    bool int_alg = d->alg == dnnl_tp_eltwise_relu || d->alg == dnnl_tp_eltwise_linear ||
                   d->alg == dnnl_tp_eltwise_clip || d->alg == dnnl_tp_eltwise_clip_v2;
    DTP_DISPATCH(dtp_ew_arithmetic(st, d->exact) == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_takes(d->alg, dnnl_tp_f32), UNSUPPORTED_ALG);
    DTP_DISPATCH(st <= dnnl_tp_u8 && dt <= dnnl_tp_u8 && (st <= dnnl_tp_f32 || int_alg),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->alg != dnnl_tp_eltwise_round || st == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_ELTWISE_DST, 0));
    plan->n = dtp_md_nelems(&d->dst);
    return dnnl_tp_success;
}

static void eltwise_ref_elements(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)j->pd->op;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        double s = dtp_load(d->src.data_type, j->ctx->ptr[DTP_ELTWISE_SRC], dtp_md_offset_linear(&d->src, i));
        double v = eltwise_ref_value(d->alg, s, (double)d->alpha, (double)d->beta);
        float y = (float)v;
        if (plan->po.len) dtp_postops_apply_linear(&plan->po, j->pd, j->ctx, &y, 1, i), v = (double)y;
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_ELTWISE_DST], dtp_md_offset_linear(&d->dst, i), v);
    }
}

static dnnl_tp_status_t eltwise_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_job_t job = {pd, ctx};
    int64_t n = ctx->rows >= 0 ? ctx->rows * d->dst.dims[d->dst.ndims - 1] : plan->n;
    dtp_parallel_for(ctx->par, n, dtp_grain(40), eltwise_ref_elements, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_ELTWISE_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(eltwise, DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = eltwise_ref_pd_init,
                  .execute = eltwise_ref_execute);
