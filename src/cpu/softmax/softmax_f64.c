/* Softmax and logsoftmax of f64 in plain layouts, along any axis: each line is a row, or becomes one in scratch. */
#include <math.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/softmax.h"
#include "cpu/softmax/softmax_f64.h"
#include "threading/base/parallel.h"

typedef struct {
    const dtp_softmax_f64_t *kernels;
    int64_t outer, n, inner, src_step, dst_step, grain;
    bool src_dense, dst_dense; /* row-major */
} plan_t;

static dnnl_tp_status_t softmax_f64_pd_init(dtp_pd_t *pd) {
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)pd->op;
    plan_t *p = pd->plan;
    DTP_DISPATCH(d->src.data_type == dnnl_tp_f64 && d->dst.data_type == dnnl_tp_f64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_md_nelems(&d->src) > 0, UNSUPPORTED_SHAPE);
    p->kernels = DTP_BY_ISA(dtp_pd_isa(pd), &dtp_softmax_f64, NULL);
    p->n = d->src.dims[d->axis];
    p->src_step = p->n > 1 ? d->src.strides[d->axis] : 1;
    p->dst_step = p->n > 1 ? d->dst.strides[d->axis] : 1;
    p->src_dense = dtp_md_is_dense_row_major(&d->src);
    p->dst_dense = dtp_md_is_dense_row_major(&d->dst);
    p->inner = 1;
    for (int i = d->axis + 1; i < d->src.ndims; ++i) p->inner *= d->src.dims[i];
    p->outer = dtp_md_nelems(&d->src) / p->n / p->inner;
    const bool moves = p->src_step != 1 || p->dst_step != 1;
    dtp_pd_book(pd, 0, moves ? (size_t)p->n * sizeof(double) : 0);
    p->grain = dtp_grain(30 + (moves ? 3. : 1.) * (double)p->n);
    return dnnl_tp_success;
}

static void softmax_f64_lines(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *p = j->pd->plan;
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)j->pd->op;
    double *room = (double *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    for (int64_t l = begin; l < end; ++l) {
        const int64_t first = l / p->inner * p->n * p->inner + l % p->inner;
        const int64_t from = p->src_dense ? first : dtp_md_offset_linear(&d->src, first),
                      to = p->dst_dense ? first : dtp_md_offset_linear(&d->dst, first);
        const double *x = (const double *)j->ctx->ptr[DTP_SOFTMAX_SRC] + from;
        double *dst = (double *)j->ctx->ptr[DTP_SOFTMAX_DST] + to;
        double *y = p->dst_step == 1 ? dst : room, max;
        if (p->src_step != 1) {
            for (int64_t i = 0; i < p->n; ++i) room[i] = x[i * p->src_step];
            x = room;
        }
        const bool is_log = d->alg == dnnl_tp_softmax_log;
        double sum = p->kernels->sum(x, is_log ? NULL : y, p->n, &max);
        if (sum == 0) sum = NAN;
        if (is_log) p->kernels->shift(x, y, p->n, max, log(sum));
        else p->kernels->scale(y, p->n, 1 / sum);
        if (p->dst_step != 1)
            for (int64_t i = 0; i < p->n; ++i) dst[i * p->dst_step] = y[i];
    }
}

static dnnl_tp_status_t softmax_f64_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, (ctx->rows >= 0 ? ctx->rows : p->outer) * p->inner, p->grain,
                     softmax_f64_lines, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS(softmax_f64, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
              .pd_init = softmax_f64_pd_init, .execute = softmax_f64_execute);
