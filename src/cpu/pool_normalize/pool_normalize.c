/* Mean over each sequence, then division by max(L2 norm, epsilon), for graphs; src f32 or bf16, sums and dst
 * f32.
 *
 * src is {B, S, H} with an optional mask {B, S} (weights; 1 counts, 0 does not), or packed {T, H} with
 * offsets. A sequence without a row that counts gives zeros, as all do where offsets do not fit and the kernel cannot
 * fail (data_error.h). Rows are added in their order, one sequence per
 * item of work. */
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/pool_normalize.h"
#include "cpu/simd/vops.h"
#include "threading/base/parallel.h"

#include <math.h>

typedef struct {
    const dtp_vops_t *vops;
    bool packed;
    int64_t n, s, h;
    int64_t ld, batch, ld_dst;
    double ns_per_row;
} plan_t;

static dnnl_tp_status_t pool_normalize_init(dtp_pd_t *pd) {
    dtp_pool_normalize_desc_t *d = (dtp_pool_normalize_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    DTP_DISPATCH(d->src.data_type == dnnl_tp_f32 || d->src.data_type == dnnl_tp_bf16, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    int nd = d->src.ndims;
    DTP_DISPATCH((nd == 2 || nd == 3) && d->dst.ndims == 2, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_plain(&d->dst) && d->src.strides[nd - 1] == 1 &&
                     d->dst.strides[1] == 1,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    plan->packed = !dtp_md_is_zero(&d->offsets);
    plan->n = nd == 3 ? d->src.dims[0] : 1;
    if (plan->packed) {
        DTP_DISPATCH(nd == 2 && dtp_md_is_zero(&d->mask), UNSUPPORTED_SHAPE);
        DTP_DISPATCH(d->offsets.data_type == dnnl_tp_s32 && dtp_md_is_dense_row_major(&d->offsets),
                     UNSUPPORTED_LAYOUT);
        plan->n = dtp_max64(0, d->offsets.dims[0] - 1);
        pd->checks_data = true;
    }
    plan->s = d->src.dims[nd - 2];
    plan->h = d->src.dims[nd - 1];
    DTP_DISPATCH(d->dst.dims[0] == plan->n && d->dst.dims[1] == plan->h, UNSUPPORTED_SHAPE);
    if (!dtp_md_is_zero(&d->mask)) {
        DTP_DISPATCH(d->mask.data_type == dnnl_tp_f32 && dtp_md_is_plain(&d->mask), UNSUPPORTED_LAYOUT);
        DTP_DISPATCH(nd == 3 && d->mask.ndims == 2 && d->mask.dims[0] == plan->n &&
                         d->mask.dims[1] == plan->s,
                     UNSUPPORTED_SHAPE);
    }
    plan->vops = dtp_vops(dtp_pd_isa(pd));
    plan->ld = d->src.strides[nd - 2];
    plan->batch = nd == 3 ? d->src.strides[0] : 0;
    plan->ld_dst = d->dst.strides[0];
    if (d->src.data_type != dnnl_tp_f32) dtp_pd_book(pd, 0, sizeof(float) * (size_t)plan->h);
    plan->ns_per_row = 5 + .04 * (double)plan->h;
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const int32_t *offsets;
} job_t;

/* y[c] += weight * x[r][c] for all rows. */
static void add_rows(const job_t *j, int slot, float *y, const char *x, int64_t rows, float weight) {
    const plan_t *plan = j->pd->plan;
    const dnnl_tp_data_type_t dt = ((const dtp_pool_normalize_desc_t *)j->pd->op)->src.data_type;
    if (dt == dnnl_tp_f32) { /* all rows into the same sums: a row stride of 0 on the left */
        plan->vops->axpy(y, 0, (const float *)(const void *)x, plan->ld, rows, plan->h, weight, 0.f);
        return;
    }
    float *room = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    for (int64_t r = 0; r < rows; ++r) {
        plan->vops->load[dt](room, x + r * plan->ld * (int64_t)dtp_type_size(dt), plan->h, 1);
        plan->vops->axpy(y, 0, room, 0, 1, plan->h, weight, 0.f);
    }
}

static void pool_normalize_items(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_pool_normalize_desc_t *d = (const dtp_pool_normalize_desc_t *)j->pd->op;
    const int64_t size = (int64_t)dtp_type_size(d->src.data_type);
    const char *src = (const char *)j->ctx->ptr[DTP_POOLN_SRC] + d->src.offset0 * size;
    const float *weights = j->ctx->ptr[DTP_POOLN_MASK];
    for (int64_t i = begin; i < end; ++i) {
        int64_t first = 0, rows = plan->s;
        if (j->offsets) first = j->offsets[i], rows = j->offsets[i + 1] - first;
        const char *x = src + (i * plan->batch + first * plan->ld) * size;
        float *y = (float *)j->ctx->ptr[DTP_POOLN_DST] + d->dst.offset0 + i * plan->ld_dst;
        double count = (double)rows;
        memset(y, 0, sizeof(float) * (size_t)plan->h);
        if (dtp_md_is_zero(&d->mask)) {
            add_rows(j, slot, y, x, rows, 1.f);
        } else {
            const float *w = weights + d->mask.offset0 + i * d->mask.strides[0];
            count = 0;
            for (int64_t r = 0; r < rows; ++r) {
                float wr = w[r * d->mask.strides[1]];
                count += (double)wr;
                if (wr != 0.f) add_rows(j, slot, y, x + r * plan->ld * size, 1, wr);
            }
        }
        float inv = count != 0 ? (float)(1 / count) : 0.f;
        double square = 0;
        for (int64_t c = 0; c < plan->h; ++c) {
            y[c] *= inv;
            square += (double)y[c] * y[c];
        }
        double norm = sqrt(square);
        if (norm < (double)d->epsilon) norm = (double)d->epsilon;
        plan->vops->scale_shift(y, plan->h, norm > 0 ? (float)(1 / norm) : 0.f, 0.f);
    }
}

static dnnl_tp_status_t pool_normalize_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pool_normalize_desc_t *d = (const dtp_pool_normalize_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    job_t job = {pd, ctx, NULL};
    int64_t n = ctx->rows >= 0 ? ctx->rows : plan->n, total = plan->s * n;
    if (plan->packed) {
        job.offsets = (const int32_t *)ctx->ptr[DTP_POOLN_OFFSETS] + d->offsets.offset0;
        const int64_t bad = n ? dtp_bad_offset(job.offsets, n, plan->s, ctx->part != NULL) : -1;
        if (DTP_UNLIKELY(bad >= 0)) {
            DTP_TRY(dtp_data_wrong(ctx, DTP_DATA_OFFSET, bad, job.offsets[bad], plan->s));
            for (int64_t i = 0; i < n; ++i)
                memset((float *)ctx->ptr[DTP_POOLN_DST] + d->dst.offset0 + i * plan->ld_dst, 0,
                       sizeof(float) * (size_t)plan->h);
            return dnnl_tp_success;
        }
        total = n ? job.offsets[n] - job.offsets[0] : 0;
    }
    double ns = n ? plan->ns_per_row * ((double)total / (double)n + 4) : 1;
    dtp_parallel_for(ctx->par, n, dtp_grain(ns), pool_normalize_items, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS(pool_normalize, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
              .pd_init = pool_normalize_init, .execute = pool_normalize_execute);
DTP_CPU_REFERENCE(pool_normalize, DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = pool_normalize_init,
                  .execute = pool_normalize_execute);
