/* Reference element-wise operations: every algorithm, any type and layout, in double. */
#include <math.h>

#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/eltwise.h"
#include "cpu/postops/postops.h"
#include "common/base/scalar.h"
#include "threading/base/parallel.h"

typedef struct {
    dtp_postops_t po;
    int64_t n;
} plan_t;

static double eltwise_ref_value(dnnl_tp_alg_kind_t alg, double s, double a, double b) {
    if (alg == DTP_ELTWISE_ERF) return erf(s);
    switch (alg) {
    case dnnl_tp_eltwise_relu:
    case dnnl_tp_eltwise_relu_use_dst_for_bwd: return s > 0 ? s : a == 0 && s == s ? 0 : a * s;
    case dnnl_tp_eltwise_tanh:
    case dnnl_tp_eltwise_tanh_use_dst_for_bwd: return tanh(s);
    case dnnl_tp_eltwise_elu:
    case dnnl_tp_eltwise_elu_use_dst_for_bwd: return s > 0 ? s : a * expm1(s);
    case dnnl_tp_eltwise_square: return s * s;
    case dnnl_tp_eltwise_abs: return fabs(s);
    case dnnl_tp_eltwise_sqrt:
    case dnnl_tp_eltwise_sqrt_use_dst_for_bwd: return sqrt(s);
    case dnnl_tp_eltwise_linear: return a * s + b;
    case dnnl_tp_eltwise_soft_relu: return a * s > 700 ? s : log1p(exp(a * s)) / a;
    case dnnl_tp_eltwise_hardsigmoid: s = a * s + b; return s < 0 ? 0 : s > 1 ? 1 : s;
    case dnnl_tp_eltwise_logistic:
    case dnnl_tp_eltwise_logistic_use_dst_for_bwd: return 1 / (1 + exp(-s));
    case dnnl_tp_eltwise_exp:
    case dnnl_tp_eltwise_exp_use_dst_for_bwd: return exp(s);
    case dnnl_tp_eltwise_gelu_tanh: return s / (1 + exp(-1.5957691216057308 * s * (1 + 0.044715 * s * s)));
    case dnnl_tp_eltwise_swish: return s / (1 + exp(-a * s));
    case dnnl_tp_eltwise_log: return log(s);
    case dnnl_tp_eltwise_clip:
    case dnnl_tp_eltwise_clip_v2:
    case dnnl_tp_eltwise_clip_v2_use_dst_for_bwd: return s < a ? a : s > b ? b : s;
    case dnnl_tp_eltwise_pow: return a * pow(s, b);
    case dnnl_tp_eltwise_gelu_erf: return .5 * s * erfc(-s * M_SQRT1_2);
    case dnnl_tp_eltwise_round: return nearbyint(s);
    case dnnl_tp_eltwise_mish: return s * tanh(s > 700 ? s : log1p(exp(s)));
    default: a = a * s + b; return s * (a < 0 ? 0 : a > 1 ? 1 : a); /* hardswish */
    }
}

static dnnl_tp_status_t eltwise_ref_pd_init(dtp_pd_t *pd) {
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dnnl_tp_data_type_t st = d->src.data_type, dt = d->dst.data_type;
    bool int_alg = d->alg == dnnl_tp_eltwise_relu || d->alg == dnnl_tp_eltwise_linear ||
                   d->alg == dnnl_tp_eltwise_clip || d->alg == dnnl_tp_eltwise_clip_v2;
    DTP_DISPATCH(st <= dnnl_tp_u8 && dt <= dnnl_tp_u8 && (st <= dnnl_tp_f32 || int_alg),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->alg != dnnl_tp_eltwise_round || st == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_ELTWISE_DST, &d->dst, DTP_PO_ALL, 0));
    plan->n = dtp_md_nelems(&d->dst);
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
} job_t;

static void eltwise_ref_elements(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)j->pd->op;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        double s = dtp_load(d->src.data_type, j->ctx->ptr[DTP_ELTWISE_SRC], dtp_md_offset_linear(&d->src, i));
        double v = eltwise_ref_value(d->alg, s, (double)d->alpha, (double)d->beta);
        float y = (float)v;
        if (plan->po.len) dtp_postops_apply_linear(&plan->po, j->ctx, &y, 1, i), v = (double)y;
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_ELTWISE_DST], dtp_md_offset_linear(&d->dst, i), v);
    }
}

static dnnl_tp_status_t eltwise_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    job_t job = {pd, ctx};
    int64_t n = ctx->rows >= 0 ? ctx->rows * d->dst.dims[d->dst.ndims - 1] : plan->n;
    dtp_parallel_for(ctx->par, n, dtp_grain(40), eltwise_ref_elements, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_ELTWISE_DST]);
    return dnnl_tp_success;
}

extern const dtp_impl_t dtp_cpu_eltwise__ref;
const dtp_impl_t dtp_cpu_eltwise__ref = {
    "ref:any",          0, DTP_IMPL_ROWS | DTP_IMPL_ANY_THREADS, sizeof(plan_t), eltwise_ref_pd_init, NULL,
    eltwise_ref_execute};
