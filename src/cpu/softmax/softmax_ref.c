/* Reference softmax and logsoftmax: any type, layout and axis, in double. */
#include <float.h>
#include <math.h>

#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/softmax.h"
#include "cpu/postops/postops.h"
#include "cpu/access/quant.h"
#include "common/base/scalar.h"
#include "threading/base/parallel.h"

typedef struct {
    dtp_postops_t po;
    dtp_quant_view_t src_scale, dst_scale;
    int64_t outer, n, inner;
} plan_t;

static dnnl_tp_status_t softmax_ref_pd_init(dtp_pd_t *pd) {
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const bool is_f64 = d->src.data_type == dnnl_tp_f64 && d->dst.data_type == dnnl_tp_f64;
    DTP_DISPATCH(is_f64 || (d->src.data_type <= dnnl_tp_u8 && d->dst.data_type <= dnnl_tp_u8),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!is_f64 || dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR); /* they compute in f32 */
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_quant_init_common(&plan->src_scale, &plan->dst_scale, pd));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_SOFTMAX_DST, 0));
    plan->n = d->src.dims[d->axis];
    plan->inner = 1;
    for (int i = d->axis + 1; i < d->src.ndims; ++i) plan->inner *= d->src.dims[i];
    int64_t line = plan->n * plan->inner;
    plan->outer = line ? dtp_md_nelems(&d->src) / line : 0;
    return dnnl_tp_success;
}

/* Element i of a line that begins at logical index `at`, and at `base` in memory. */
static inline int64_t place_of(const dtp_softmax_desc_t *d, const dtp_md_t *md, int64_t inner, int64_t at,
                               int64_t base, int64_t i) {
    return base >= 0 ? base + i * md->strides[d->axis] : dtp_md_offset_linear(md, at + i * inner);
}

static void softmax_ref_lines(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)j->pd->op;
    const void *src = j->ctx->ptr[DTP_SOFTMAX_SRC];
    void *dst = j->ctx->ptr[DTP_SOFTMAX_DST];
    const dnnl_tp_dims_t origin = {0};
    double src_scale = dtp_quant_at(&plan->src_scale, j->ctx, origin);
    double dst_scale = dtp_quant_at(&plan->dst_scale, j->ctx, origin);
    bool log_form = d->alg == dnnl_tp_softmax_log;
    const bool src_plain = plan->n && dtp_md_is_plain(&d->src),
               dst_plain = plan->n && dtp_md_is_plain(&d->dst);
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        int64_t at = l / plan->inner * plan->n * plan->inner + l % plan->inner;
        const int64_t from = src_plain ? dtp_md_offset_linear(&d->src, at) : -1,
                      to = dst_plain ? dtp_md_offset_linear(&d->dst, at) : -1;
        double max = -INFINITY, sum = 0;
        for (int64_t i = 0; i < plan->n; ++i) {
            double x = dtp_load(d->src.data_type, src, place_of(d, &d->src, plan->inner, at, from, i));
            if (x > max) max = x;
        }
        if (max == -INFINITY) max = -DBL_MAX; /* all are: NaN, without an exception */
        for (int64_t i = 0; i < plan->n; ++i)
            sum += exp(dtp_load(d->src.data_type, src, place_of(d, &d->src, plan->inner, at, from, i)) - max);
        if (sum == 0) sum = NAN;
        for (int64_t i = 0; i < plan->n; ++i) {
            int64_t k = at + i * plan->inner;
            double x = dtp_load(d->src.data_type, src, place_of(d, &d->src, plan->inner, at, from, i)) - max;
            double y = (log_form ? x - log(sum) : exp(x) / sum) * src_scale;
            if (plan->po.len) {
                float f = (float)y;
                dtp_postops_apply_linear(&plan->po, j->pd, j->ctx, &f, 1, k);
                y = (double)f;
            }
            dtp_store(d->dst.data_type, dst, place_of(d, &d->dst, plan->inner, at, to, i), y / dst_scale);
        }
    }
}

static dnnl_tp_status_t softmax_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    dtp_job_t job = {pd, ctx};
    int64_t lines = (ctx->rows >= 0 ? ctx->rows : plan->outer) * plan->inner;
    dtp_parallel_for(ctx->par, lines, dtp_grain(60. * (double)plan->n), softmax_ref_lines, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_SOFTMAX_DST]);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(softmax, DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = softmax_ref_pd_init,
                  .execute = softmax_ref_execute);
