/* Softmax and logsoftmax on vectors: any axis, any float or 8-bit type, any layout, in f32.
 *
 * The tensor is seen as outer x n x inner, n along the axis. Where src and dst are dense f32 of one layout,
 * that view is physical and the kernels work in place of it: rows for inner 1, blocks of columns otherwise.
 * Everything else passes a tile of scratch per participant: load, softmax, src scale, post-ops, dst scale,
 * store. */
#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/softmax.h"
#include "cpu/postops/postops.h"
#include "cpu/access/quant.h"
#include "common/base/scalar.h"
#include "cpu/access/rows.h"
#include "cpu/softmax/softmax_kern.h"
#include "threading/base/parallel.h"

/* Floats of a tile; a longer row or narrowest block of columns is a tile of its own. */
enum { TILE_FLOATS = 4096, MIN_COLS = 16 };

typedef struct {
    dtp_quant_view_t src_scale, dst_scale;
    void (*rows_kernel)(const dtp_softmax_rows_t *a);
    void (*cols_kernel)(const dtp_softmax_cols_t *a);
    int64_t outer, n, inner;
    int64_t tile_rows;        /* inner 1: rows of a block */
    int64_t tile_cols, ntile; /* inner > 1: columns of a block, blocks per outer index */
    int64_t grain;
    int64_t inline_rows; /* up to so many rows: one direct call; -1 = never */
    bool direct;
    int log;
    dtp_postops_t po;
} plan_t;

static dnnl_tp_status_t softmax_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_quant_init_common(&plan->src_scale, &plan->dst_scale, pd));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_SOFTMAX_DST, isa));
    plan->rows_kernel = DTP_BY_ISA(isa, dtp_softmax_rows, NULL);
    plan->cols_kernel = DTP_BY_ISA(isa, dtp_softmax_cols, NULL);
    plan->log = d->alg == dnnl_tp_softmax_log;
    plan->n = d->src.dims[d->axis];
    bool f32 = d->src.data_type == dnnl_tp_f32 && d->dst.data_type == dnnl_tp_f32;
    bool scales = plan->src_scale.index >= 0 || plan->dst_scale.index >= 0;
    plan->direct = f32 && !scales && dtp_md_is_plain(&d->src) && dtp_md_is_dense(&d->src) &&
                   d->src.offset0 == 0 && d->dst.offset0 == 0 && dtp_md_same_layout(&d->src, &d->dst) &&
                   dtp_postops_only_eltwise(&plan->po);
    /* A single element along the axis has no stride: rows of a slice count what stands before it all the same. */
    plan->inner = 1;
    if (plan->direct && plan->n > 1) plan->inner = d->src.strides[d->axis];
    else
        for (int i = d->axis + 1; i < d->src.ndims; ++i) plan->inner *= d->src.dims[i];
    int64_t total = dtp_md_nelems(&d->src), line = dtp_max64(1, plan->n * plan->inner);
    plan->outer = total / line;
    int64_t n = dtp_max64(1, plan->n);
    plan->tile_rows = dtp_min64(dtp_max64(1, TILE_FLOATS / n), dtp_max64(1, plan->outer));
    plan->tile_cols = dtp_max64(MIN_COLS, dtp_min64(DTP_SOFTMAX_COLS, TILE_FLOATS / n / MIN_COLS * MIN_COLS));
    plan->tile_cols = dtp_min64(plan->tile_cols, dtp_max64(1, plan->inner));
    plan->ntile = dtp_div_up(plan->inner, plan->tile_cols);
    size_t tile = sizeof(float) * (size_t)(plan->n * (plan->inner == 1 ? plan->tile_rows : plan->tile_cols));
    dtp_pd_book(pd, 0, plan->direct ? 0 : tile);
    double ns = (isa & DTP_ISA_AVX512 ? .13 : .25) * (double)plan->n;
    if (!plan->direct) ns *= 2;
    plan->grain = dtp_grain(plan->inner == 1 ? ns + 10 : ns * (double)plan->tile_cols + 10);
    plan->inline_rows = plan->direct && plan->inner == 1 && plan->po.len == 0 ? plan->grain : -1;
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    float src_scale, dst_scale;
} job_t;

/* Post-ops and scales on values of the logical positions index.. that lie in x. */
static void softmax_finish(const job_t *j, float *x, int64_t index, int64_t n) {
    const plan_t *plan = j->pd->plan;
    if (j->src_scale != 1.f) plan->po.vops->scale_shift(x, n, j->src_scale, 0.f);
    if (plan->po.len) dtp_postops_apply_linear(&plan->po, j->pd, j->ctx, x, n, index);
    if (j->dst_scale != 1.f) plan->po.vops->scale_shift(x, n, 1.f / j->dst_scale, 0.f);
}

/* begin..end: rows. */
static void softmax_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    int64_t n = plan->n;
    dtp_softmax_rows_t a = {.ldx = n, .ldy = n, .n = n, .log = plan->log};
    if (plan->direct && plan->po.len == 0) {
        a.x = (const float *)ptr[DTP_SOFTMAX_SRC] + begin * n;
        a.y = (float *)ptr[DTP_SOFTMAX_DST] + begin * n;
        a.rows = end - begin;
        plan->rows_kernel(&a);
        return;
    }
    float *tile = plan->direct ? NULL : (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    for (int64_t r = begin; r < end; r += plan->tile_rows) {
        a.rows = dtp_min64(plan->tile_rows, end - r);
        if (plan->direct) {
            a.x = (const float *)ptr[DTP_SOFTMAX_SRC] + r * n;
            a.y = (float *)ptr[DTP_SOFTMAX_DST] + r * n;
        } else {
            a.x = a.y = tile;
            dtp_rows_load(plan->po.vops, &d->src, ptr[DTP_SOFTMAX_SRC], r * n, a.rows * n, tile);
        }
        plan->rows_kernel(&a);
        softmax_finish(j, a.y, r * n, a.rows * n);
        if (!plan->direct)
            dtp_rows_store(plan->po.vops, &d->dst, ptr[DTP_SOFTMAX_DST], r * n, a.rows * n, tile);
    }
}

/* begin..end: blocks of columns, outer * ntile of them. */
static void softmax_columns(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    float *tile = plan->direct ? NULL : (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    for (int64_t t = begin; t < end; ++t) {
        int64_t col = t % plan->ntile * plan->tile_cols, at = t / plan->ntile * plan->n * plan->inner + col;
        int64_t cols = dtp_min64(plan->tile_cols, plan->inner - col), ld = plan->direct ? plan->inner : cols;
        dtp_softmax_cols_t a = {
            .x = tile, .y = tile, .ldx = ld, .ldy = ld, .n = plan->n, .cols = cols, .log = plan->log};
        if (plan->direct) {
            a.x = (const float *)ptr[DTP_SOFTMAX_SRC] + at;
            a.y = (float *)ptr[DTP_SOFTMAX_DST] + at;
        } else {
            for (int64_t i = 0; i < plan->n; ++i)
                dtp_rows_load(plan->po.vops, &d->src, ptr[DTP_SOFTMAX_SRC], at + i * plan->inner, cols,
                              tile + i * cols);
        }
        plan->cols_kernel(&a);
        if (plan->direct && plan->po.len == 0) continue;
        for (int64_t i = 0; i < plan->n; ++i) {
            softmax_finish(j, a.y + i * ld, at + i * plan->inner, cols);
            if (plan->direct) continue;
            dtp_rows_store(plan->po.vops, &d->dst, ptr[DTP_SOFTMAX_DST], at + i * plan->inner, cols,
                           tile + i * cols);
        }
    }
}

static dnnl_tp_status_t softmax_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    int64_t rows = ctx->rows >= 0 ? ctx->rows : plan->outer;
    if (rows <= plan->inline_rows) {
        plan->rows_kernel(&(dtp_softmax_rows_t){.x = ctx->ptr[DTP_SOFTMAX_SRC],
                                                .y = ctx->ptr[DTP_SOFTMAX_DST],
                                                .ldx = plan->n,
                                                .ldy = plan->n,
                                                .rows = rows,
                                                .n = plan->n,
                                                .log = plan->log});
        return dnnl_tp_success;
    }
    const dnnl_tp_dims_t origin = {0};
    job_t job = {pd, ctx, (float)dtp_quant_at(&plan->src_scale, ctx, origin),
                 (float)dtp_quant_at(&plan->dst_scale, ctx, origin)};
    if (plan->inner == 1) dtp_parallel_for(ctx->par, rows, plan->grain, softmax_rows, &job);
    else dtp_parallel_for(ctx->par, rows * plan->ntile, plan->grain, softmax_columns, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_SOFTMAX_DST]);
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(plan_t)
DTP_CPU_IMPLS(softmax, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .plan_used = plan_used,
              .pd_init = softmax_init, .execute = softmax_execute);
