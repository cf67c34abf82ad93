/* Reference pooling: any types and layouts, in double, one element of dst at a time. */
#include <float.h>

#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/elementwise/boxes.h"
#include "cpu/pooling/pooling.h"
#include "cpu/postops/postops.h"
#include "threading/base/parallel.h"

/* Nanoseconds of one tap. */
#define NS_PER_TAP 8.0

dnnl_tp_status_t dtp_pooling_check(dtp_pd_t *pd) {
    dtp_pooling_desc_t *d = (dtp_pooling_desc_t *)pd->op;
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_boxes_layout_like(&d->dst, &d->src);
    if (!dtp_md_is_zero(&d->workspace)) {
        const dnnl_tp_data_type_t dt = d->workspace.data_type;
        d->workspace = d->dst;
        d->workspace.data_type = dt;
    }
    return dnnl_tp_success;
}

void dtp_pooling_windows(const dtp_pooling_desc_t *d, dtp_window_t w[DTP_POOLING_DIMS]) {
    const int missing = DTP_POOLING_DIMS - d->spatial;
    for (int i = 0; i < DTP_POOLING_DIMS; ++i)
        w[i] = i < missing ? DTP_WINDOW_NONE : dtp_pooling_window(d, i - missing);
}

typedef struct {
    dtp_postops_t po;
    dtp_window_t w[DTP_POOLING_DIMS];
    int64_t volume;
} plan_t;

static dnnl_tp_status_t pooling_ref_pd_init(dtp_pd_t *pd) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_DISPATCH(dtp_vops_takes(d->src.data_type) && dtp_vops_takes(d->dst.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_pooling_check(pd));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_POOLING_DST, 0));
    dtp_pooling_windows(d, plan->w);
    plan->volume = 1;
    for (int i = 0; i < d->spatial; ++i) plan->volume *= d->kernel[i];
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
} job_t;

static double pooling_least(dnnl_tp_data_type_t dt) {
    switch (dt) {
    case dnnl_tp_f16: return -65504;
    case dnnl_tp_bf16: return -0x1.fep127;
    case dnnl_tp_s32: return INT32_MIN;
    case dnnl_tp_s8: return INT8_MIN;
    case dnnl_tp_u8: return 0;
    default: return -FLT_MAX;
    }
}

/* One element: its position in dst; *tap gets the number of the maximum's tap. */
static double pooling_ref_one(const job_t *j, const int64_t *pos, int64_t *tap) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)j->pd->op;
    const plan_t *plan = j->pd->plan;
    const int spatial = d->spatial, missing = DTP_POOLING_DIMS - spatial;
    int64_t begin[DTP_POOLING_DIMS], end[DTP_POOLING_DIMS], inside = 1,
                                                            at[DNNL_TP_MAX_NDIMS] = {pos[0], pos[1]};
    for (int i = 0; i < DTP_POOLING_DIMS; ++i) {
        dtp_window_taps(&plan->w[i], i < missing ? 0 : pos[2 + i - missing], &begin[i], &end[i]);
        inside *= end[i] - begin[i];
    }
    const bool maximum = d->alg == dnnl_tp_pooling_max;
    double acc = !maximum ? 0 : inside ? -INFINITY : pooling_least(d->src.data_type);
    *tap = -1;
    for (int64_t kd = begin[0]; kd < end[0]; ++kd)
        for (int64_t kh = begin[1]; kh < end[1]; ++kh)
            for (int64_t kw = begin[2]; kw < end[2]; ++kw) {
                const int64_t k[DTP_POOLING_DIMS] = {kd, kh, kw};
                for (int i = missing; i < DTP_POOLING_DIMS; ++i)
                    at[2 + i - missing] =
                        dtp_window_begin(&plan->w[i], pos[2 + i - missing]) + k[i] * plan->w[i].step;
                const double x =
                    dtp_load(d->src.data_type, j->ctx->ptr[DTP_POOLING_SRC], dtp_md_offset(&d->src, at));
                if (!maximum) acc += x;
                else if (*tap < 0 || x > acc || (d->keeps_nan && x != x)) {
                    if (x > acc || (d->keeps_nan && x != x)) acc = x;
                    *tap = (kd * plan->w[1].kernel + kh) * plan->w[2].kernel + kw;
                }
            }
    if (*tap < 0) *tap = 0;
    if (d->alg == dnnl_tp_pooling_avg_include_padding) acc /= (double)plan->volume;
    if (d->alg == dnnl_tp_pooling_avg_exclude_padding) acc = inside ? acc / (double)inside : 0;
    return acc;
}

static void pooling_ref_range(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)j->pd->op;
    const plan_t *plan = j->pd->plan;
    const int last = d->dst.ndims - 1;
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        dnnl_tp_dims_t pos;
        int64_t rest = l, tap;
        for (int k = last; k >= 0; --k) {
            pos[k] = rest % d->dst.dims[k];
            rest /= d->dst.dims[k];
        }
        double x = pooling_ref_one(j, pos, &tap);
        const int64_t at = dtp_md_offset(&d->dst, pos);
        if (plan->po.len) {
            float y = (float)x;
            dtp_postops_apply(&plan->po, j->pd, j->ctx, &y, 1, 1, 1, l / d->dst.dims[last], pos[last]);
            x = y;
        }
        dtp_store(d->dst.data_type, j->ctx->ptr[DTP_POOLING_DST], at, x);
        if (!dtp_md_is_zero(&d->workspace))
            dtp_store(d->workspace.data_type, j->ctx->ptr[DTP_POOLING_WORKSPACE], at, (double)tap);
    }
}

static dnnl_tp_status_t pooling_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, dtp_md_nelems(&d->dst), dtp_grain(NS_PER_TAP * (double)plan->volume + 30),
                     pooling_ref_range, &job);
    dtp_zero_pad(&d->dst, ctx->ptr[DTP_POOLING_DST]);
    if (!dtp_md_is_zero(&d->workspace)) dtp_zero_pad(&d->workspace, ctx->ptr[DTP_POOLING_WORKSPACE]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(pooling, 0, .plan_size = sizeof(plan_t), .pd_init = pooling_ref_pd_init,
                  .execute = pooling_ref_execute);
