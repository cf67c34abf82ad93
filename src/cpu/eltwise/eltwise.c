/* Element-wise operations on vectors: every forward algorithm, any type and layout, in f32.
 *
 * Dense f32 tensors of one layout are walked linearly, padding included, straight from src to dst; everything
 * else passes a tile of scratch per participant: load, compute, post-ops, store. Kernels:
 * cpu/simd/eltwise_kern.inc. */
#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/eltwise.h"
#include "cpu/postops/postops.h"
#include "cpu/access/rows.h"
#include "threading/base/parallel.h"

/* Elements that are worked on at a time: the unit of parallel loops, and of tiles. */
enum { UNIT = 2048 };

typedef struct {
    dtp_eltwise_fn_t fn;
    int64_t n, cols;  /* elements to walk; of a row */
    int64_t grain;    /* in units */
    int64_t inline_n; /* up to so many elements: one direct call; -1 = never */
    bool direct;      /* f32, one dense layout, no post-ops that read tensors */
    bool linear;      /* one dense layout: positions do not matter */
    bool zero_pad;    /* the padding must be cleared afterwards */
    bool big;         /* does not stay in the caches */
    float alpha, beta;
    dtp_postops_t po;
} plan_t;

/* Nanoseconds per element on AVX-512, in the first-level cache. */
static double eltwise_cost(dnnl_tp_alg_kind_t alg) {
    static const double cost[] = {
#define DTP_EW1(name, number, types, ns, ...) ns,
#include "common/base/elementwise.inc"
    };
    return cost[dtp_ew_unary(alg)];
}

/* n elements; stream: DTP_MEM_*. */
static inline void eltwise_run(const plan_t *plan, const float *x, float *y, int64_t n, int stream) {
    plan->fn(&(dtp_eltwise_args_t){.x = x,
                                   .y = y,
                                   .ldx = n,
                                   .ldy = n,
                                   .rows = 1,
                                   .cols = n,
                                   .alpha = plan->alpha,
                                   .beta = plan->beta,
                                   .stream = stream});
}

static bool eltwise_zero_to_zero(const plan_t *plan) {
    float x[1] = {0.f}, y[1];
    eltwise_run(plan, x, y, 1, DTP_MEM_NEAR);
    return y[0] == 0.f;
}

static bool eltwise_int_alg(dnnl_tp_alg_kind_t alg) {
    return alg == dnnl_tp_eltwise_relu || alg == dnnl_tp_eltwise_linear || alg == dnnl_tp_eltwise_clip ||
           alg == dnnl_tp_eltwise_clip_v2;
}

static dnnl_tp_status_t eltwise_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    dnnl_tp_data_type_t st = d->src.data_type, dt = d->dst.data_type;
    DTP_DISPATCH(dtp_ew_arithmetic(st, d->exact) == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(st >= dnnl_tp_f16 && st <= dnnl_tp_u8 && dt >= dnnl_tp_f16 && dt <= dnnl_tp_u8,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(st <= dnnl_tp_f32 || eltwise_int_alg(d->alg), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->alg != dnnl_tp_eltwise_round || st == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_ELTWISE_DST, isa));
    plan->fn = dtp_vops_eltwise(plan->po.vops, d->alg);
    DTP_DISPATCH(plan->fn, UNSUPPORTED_ALG);
    plan->alpha = d->alpha;
    plan->beta = d->beta;
    int nd = d->src.ndims;
    plan->cols = d->dst.dims[nd - 1];
    bool dense = dtp_md_is_dense(&d->src) && dtp_md_is_dense(&d->dst) && dtp_md_same_layout(&d->src, &d->dst);
    bool row_major = dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst);
    bool free_order = dtp_postops_only_eltwise(&plan->po);
    bool padded = dtp_md_is_padded(&d->dst);
    plan->linear = (dense && free_order) || row_major;
    plan->direct = plan->linear && free_order && st == dnnl_tp_f32 && dt == dnnl_tp_f32;
    plan->n = plan->linear ? dtp_md_nelems_padded(&d->dst) : dtp_md_nelems(&d->dst);
    plan->zero_pad = padded && (!plan->linear || plan->po.len || !eltwise_zero_to_zero(plan));
    int64_t bytes = plan->n * (int64_t)(dtp_type_size(st) + dtp_type_size(dt));
    plan->big = dtp_exceeds_caches((double)bytes, pd->engine->l3_bytes);
    dtp_pd_book(pd, 0, plan->direct ? 0 : UNIT * sizeof(float));
    double ns = eltwise_cost(d->alg) + .02 * (double)plan->po.len;
    if (!(isa & DTP_ISA_AVX512)) ns *= isa & DTP_ISA_AVX2 ? 2 : 20;
    if (!plan->direct) ns += plan->linear ? .05 : 1;
    plan->grain = dtp_grain(ns * UNIT);
    plan->inline_n = plan->direct && plan->po.len == 0 && !plan->big ? plan->grain * UNIT : -1;
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    int64_t n;
    int stream; /* DTP_MEM_* */
} job_t;

/* begin..end: units. */
static void eltwise_direct(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)j->pd->op;
    (void)slot;
    int64_t first = begin * UNIT, last = dtp_min64(end * UNIT, j->n),
            step = plan->po.len ? UNIT : last - first;
    const float *x = (const float *)j->ctx->ptr[DTP_ELTWISE_SRC] + d->src.offset0;
    float *y = (float *)j->ctx->ptr[DTP_ELTWISE_DST] + d->dst.offset0;
    for (int64_t i = first; i < last; i += step) {
        int64_t n = dtp_min64(step, last - i);
        eltwise_run(plan, x + i, y + i, n, j->stream);
        if (plan->po.len) dtp_postops_apply_linear(&plan->po, j->pd, j->ctx, y + i, n, 0);
    }
}

static void eltwise_tiles(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)j->pd->op;
    const dtp_vops_t *v = plan->po.vops;
    int64_t ssize = (int64_t)dtp_type_size(d->src.data_type),
            dsize = (int64_t)dtp_type_size(d->dst.data_type);
    const char *src = j->ctx->ptr[DTP_ELTWISE_SRC];
    char *dst = j->ctx->ptr[DTP_ELTWISE_DST];
    float *tile = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    int64_t last = dtp_min64(end * UNIT, j->n);
    for (int64_t i = begin * UNIT; i < last; i += UNIT) {
        int64_t n = dtp_min64(UNIT, last - i);
        const float *x = tile;
        if (!plan->linear) dtp_rows_load(v, &d->src, src, i, n, tile);
        else if (d->src.data_type == dnnl_tp_f32) x = (const float *)(const void *)src + d->src.offset0 + i;
        else v->load[d->src.data_type](tile, src + (d->src.offset0 + i) * ssize, n, 1);
        eltwise_run(plan, x, tile, n, DTP_MEM_NEAR);
        if (plan->po.len) dtp_postops_apply_linear(&plan->po, j->pd, j->ctx, tile, n, i);
        if (plan->linear) v->store[d->dst.data_type](dst + (d->dst.offset0 + i) * dsize, tile, n, 1);
        else dtp_rows_store(v, &d->dst, dst, i, n, tile);
    }
}

static dnnl_tp_status_t eltwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    int64_t n = ctx->rows >= 0 ? ctx->rows * plan->cols : plan->n;
    if (n <= plan->inline_n) {
        /* Small work is one call: nothing is prepared for sharing it. */
        eltwise_run(plan, (const float *)ctx->ptr[DTP_ELTWISE_SRC] + d->src.offset0,
                    (float *)ctx->ptr[DTP_ELTWISE_DST] + d->dst.offset0, n, DTP_MEM_NEAR);
    } else {
        const bool in_place = ctx->ptr[DTP_ELTWISE_SRC] == ctx->ptr[DTP_ELTWISE_DST];
        job_t job = {pd, ctx, n, !plan->big ? DTP_MEM_NEAR : in_place ? DTP_MEM_FAR : DTP_MEM_STREAM};
        dtp_parallel_for(ctx->par, dtp_div_up(n, UNIT), plan->grain,
                         plan->direct ? eltwise_direct : eltwise_tiles, &job);
    }
    if (DTP_UNLIKELY(plan->zero_pad)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_ELTWISE_DST]);
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(plan_t)
DTP_CPU_IMPLS(eltwise, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .plan_used = plan_used,
              .pd_init = eltwise_init, .execute = eltwise_execute);
