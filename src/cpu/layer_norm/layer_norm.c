/* Layer normalisation on vectors: rows of any float or 8-bit type, plain or blocked, in f32.
 *
 * Dense f32 rows without attributes go straight through the row kernel; everything else passes a tile of
 * scratch per participant: load, normalise, src scale, post-ops, dst scale, store. */
#include "cpu/layer_norm/lnorm_kern.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/norms/layer_normalization.h"
#include "cpu/postops/postops.h"
#include "cpu/access/quant.h"
#include "cpu/engine/cpu_engine.h"
#include "common/base/scalar.h"
#include "cpu/access/rows.h"
#include "common/layout/zero_pad.h"
#include "threading/base/parallel.h"

enum {
    TILE_FLOATS = 4096,  /* of a tile; a longer row is a tile of its own */
    SMALL_L1 = 32 * 1024 /* bytes */
};

typedef struct {
    dtp_quant_view_t src_scale, dst_scale;
    dtp_lnorm_fn_t kernel;
    unsigned flags;
    int64_t rows, n, tile_rows, grain;
    int64_t inline_rows;         /* up to so many rows: one direct call; -1 = never */
    bool src_direct, dst_direct; /* the kernel reads src, writes dst itself */
    bool stat_direct;            /* statistics are dense */
    int64_t ahead;               /* of dtp_lnorm_args_t */
    bool big;                    /* src and dst do not stay in the caches, and dst is written once */
    bool has_mean, has_var, has_scale, has_shift;
    size_t scale_at, shift_at; /* shared scratch of converted scale and shift */
    dtp_postops_t po;
} plan_t;

static dnnl_tp_status_t layer_norm_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_layer_norm_desc_t *d = (dtp_layer_norm_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    DTP_TRY(dtp_quant_init_common(&plan->src_scale, &plan->dst_scale, pd));
    DTP_TRY(dtp_postops_init(&plan->po, pd, DTP_LNORM_DST, isa));
    int last = d->src.ndims - 1;
    plan->kernel = DTP_BY_ISA(isa, dtp_lnorm_rows, NULL);
    plan->n = d->src.dims[last];
    plan->rows = 1;
    for (int i = 0; i < last; ++i) plan->rows *= d->src.dims[i];
    if (d->flags & dnnl_tp_rms_norm) plan->flags |= DTP_LNORM_RMS;
    if (d->flags & dnnl_tp_use_global_stats) plan->flags |= DTP_LNORM_GLOBAL;
    plan->has_var = (plan->flags & DTP_LNORM_GLOBAL) || d->prop == dnnl_tp_forward_training;
    plan->has_mean = plan->has_var && !(plan->flags & DTP_LNORM_RMS);
    plan->has_scale = !dtp_md_is_zero(&d->scale);
    plan->has_shift = !dtp_md_is_zero(&d->shift);
    plan->stat_direct = !plan->has_var || dtp_md_is_dense_row_major(&d->stat);
    plan->src_direct = d->src.data_type == dnnl_tp_f32 && dtp_md_is_dense_row_major(&d->src);
    plan->dst_direct = d->dst.data_type == dnnl_tp_f32 && dtp_md_is_dense_row_major(&d->dst) &&
                       dtp_postops_only_eltwise(&plan->po);
    int64_t limit = dtp_max64(1, TILE_FLOATS / dtp_max64(1, plan->n));
    plan->tile_rows = dtp_min64(limit, dtp_max64(1, plan->rows));
    size_t row_bytes = dtp_round_up_size((size_t)plan->n * sizeof(float), DTP_CACHE_LINE), shared = 0;
    if (!dtp_md_is_zero(&d->scale) && d->scale.data_type != dnnl_tp_f32)
        plan->scale_at = shared, shared += row_bytes;
    if (!dtp_md_is_zero(&d->shift) && d->shift.data_type != dnnl_tp_f32)
        plan->shift_at = shared, shared += row_bytes;
    bool tile = !plan->src_direct || !plan->dst_direct;
    size_t per_slot = tile ? (size_t)plan->tile_rows * (size_t)plan->n * sizeof(float) : 0;
    if (!plan->stat_direct) per_slot += 2 * (size_t)plan->tile_rows * sizeof(float);
    if (!plan->stat_direct && !tile)
        plan->src_direct = false, per_slot += (size_t)(plan->tile_rows * plan->n) * 4;
    dtp_pd_book(pd, shared, per_slot);
    double ns = (isa & DTP_ISA_AVX512 ? .07 : .12) * (double)plan->n + 8;
    if (tile) ns *= 3;
    plan->grain = dtp_grain(ns);
    const bool plain = plan->src_direct && plan->dst_direct && plan->stat_direct && plan->po.len == 0 &&
                       plan->src_scale.index < 0 && plan->dst_scale.index < 0 && !dtp_md_is_padded(&d->dst) &&
                       (!plan->has_scale || d->scale.data_type == dnnl_tp_f32) &&
                       (!plan->has_shift || d->shift.data_type == dnnl_tp_f32);
    plan->inline_rows = plain ? plan->grain : -1;
    /* A first-level cache of 48 KB is filled by what is fetched too early (layers of 2048 and 4096: 0.9); one of 32 KB
     * belongs to processors that gain by it all the same. */
    const int64_t l1 = dtp_cpu_cache_bytes(1);
    plan->ahead = l1 > SMALL_L1 ? l1 / (int64_t)sizeof(float) : INT64_MAX;
    plan->big = plain && dtp_exceeds_caches(2.0 * sizeof(float) * (double)plan->rows * (double)plan->n,
                                            pd->engine->l3_bytes);
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    dtp_lnorm_args_t args; /* of row 0 */
    float src_scale, dst_scale;
} job_t;

static void layer_norm_direct(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    (void)slot;
    dtp_lnorm_args_t a = j->args;
    a.x += begin * a.ldx;
    a.y += begin * a.ldy;
    if (a.mean) a.mean += begin;
    if (a.var) a.var += begin;
    a.rows = end - begin;
    const plan_t *plan = j->pd->plan;
    if (plan->po.len == 0 && j->src_scale == 1.f && j->dst_scale == 1.f) {
        a.rows = end - begin;
        plan->kernel(&a);
        return;
    }
    /* Block by block, so that the attributes find the rows in the cache. */
    for (int64_t r = begin; r < end; r += plan->tile_rows) {
        a.rows = dtp_min64(plan->tile_rows, end - r);
        plan->kernel(&a);
        int64_t n = a.rows * plan->n;
        if (j->src_scale != 1.f) plan->po.vops->scale_shift(a.y, n, j->src_scale, 0.f);
        dtp_postops_apply(&plan->po, j->pd, j->ctx, a.y, plan->n, a.rows, plan->n, r, 0);
        if (j->dst_scale != 1.f) plan->po.vops->scale_shift(a.y, n, 1.f / j->dst_scale, 0.f);
        a.x += n, a.y += n;
        if (a.mean) a.mean += a.rows;
        if (a.var) a.var += a.rows;
    }
}

static void layer_norm_tiles(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)j->pd->op;
    const dtp_vops_t *v = plan->po.vops;
    void *const *ptr = j->ctx->ptr;
    float *tile = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    float *mean = tile + plan->tile_rows * plan->n, *var = mean + plan->tile_rows;
    for (int64_t r = begin; r < end; r += plan->tile_rows) {
        int64_t rows = dtp_min64(plan->tile_rows, end - r), n = rows * plan->n;
        dtp_lnorm_args_t a = j->args;
        a.y = tile;
        a.rows = rows;
        a.x = tile;
        if (plan->src_direct) a.x = j->args.x + r * plan->n;
        else dtp_rows_load(v, &d->src, ptr[DTP_LNORM_SRC], r * plan->n, n, tile);
        if (plan->stat_direct) {
            if (a.mean) a.mean += r;
            if (a.var) a.var += r;
        } else {
            bool in = plan->flags & DTP_LNORM_GLOBAL;
            a.mean = plan->has_mean ? mean : NULL;
            a.var = plan->has_var ? var : NULL;
            if (in && a.mean) dtp_rows_load(v, &d->stat, ptr[DTP_LNORM_MEAN], r, rows, mean);
            if (in) dtp_rows_load(v, &d->stat, ptr[DTP_LNORM_VARIANCE], r, rows, var);
        }
        plan->kernel(&a);
        if (!plan->stat_direct && !(plan->flags & DTP_LNORM_GLOBAL)) {
            if (a.mean) dtp_rows_store(v, &d->stat, ptr[DTP_LNORM_MEAN], r, rows, mean);
            if (a.var) dtp_rows_store(v, &d->stat, ptr[DTP_LNORM_VARIANCE], r, rows, var);
        }
        if (j->src_scale != 1.f) v->scale_shift(tile, n, j->src_scale, 0.f);
        dtp_postops_apply(&plan->po, j->pd, j->ctx, tile, plan->n, rows, plan->n, r, 0);
        if (j->dst_scale != 1.f) v->scale_shift(tile, n, 1.f / j->dst_scale, 0.f);
        dtp_rows_store(v, &d->dst, ptr[DTP_LNORM_DST], r * plan->n, n, tile);
    }
}

/* Scale or shift as f32: its own memory, or converted into shared scratch. */
static const float *layer_norm_vector(const job_t *j, const dtp_md_t *md, int arg, size_t at) {
    const plan_t *plan = j->pd->plan;
    if (dtp_md_is_zero(md)) return NULL;
    if (md->data_type == dnnl_tp_f32) return j->ctx->ptr[arg];
    float *v = (float *)(void *)(j->ctx->scratch + at);
    plan->po.vops->load[md->data_type](v, j->ctx->ptr[arg], plan->n, 1);
    return v;
}

static dnnl_tp_status_t layer_norm_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    int64_t rows = ctx->rows >= 0 ? ctx->rows : plan->rows;
    if (rows <= plan->inline_rows) {
        plan->kernel(&(dtp_lnorm_args_t){.x = ctx->ptr[DTP_LNORM_SRC],
                                         .y = ctx->ptr[DTP_LNORM_DST],
                                         .scale = plan->has_scale ? ctx->ptr[DTP_LNORM_SCALE] : NULL,
                                         .shift = plan->has_shift ? ctx->ptr[DTP_LNORM_SHIFT] : NULL,
                                         .mean = plan->has_mean ? ctx->ptr[DTP_LNORM_MEAN] : NULL,
                                         .var = plan->has_var ? ctx->ptr[DTP_LNORM_VARIANCE] : NULL,
                                         .ldx = plan->n,
                                         .ldy = plan->n,
                                         .rows = rows,
                                         .n = plan->n,
                                         .ahead = plan->ahead,
                                         .eps = d->epsilon,
                                         .flags = plan->flags});
        return dnnl_tp_success;
    }
    const dnnl_tp_dims_t origin = {0};
    job_t job = {.pd = pd, .ctx = ctx};
    job.args =
        (dtp_lnorm_args_t){.x = ctx->ptr[DTP_LNORM_SRC],
                           .y = ctx->ptr[DTP_LNORM_DST],
                           .scale = layer_norm_vector(&job, &d->scale, DTP_LNORM_SCALE, plan->scale_at),
                           .shift = layer_norm_vector(&job, &d->shift, DTP_LNORM_SHIFT, plan->shift_at),
                           .mean = plan->has_mean ? ctx->ptr[DTP_LNORM_MEAN] : NULL,
                           .var = plan->has_var ? ctx->ptr[DTP_LNORM_VARIANCE] : NULL,
                           .ldx = plan->n,
                           .ldy = plan->n,
                           .n = plan->n,
                           .ahead = plan->ahead,
                           .eps = d->epsilon,
                           .flags = plan->flags,
                           .stream = plan->big && ctx->ptr[DTP_LNORM_SRC] != ctx->ptr[DTP_LNORM_DST]};
    job.src_scale = (float)dtp_quant_at(&plan->src_scale, ctx, origin);
    job.dst_scale = (float)dtp_quant_at(&plan->dst_scale, ctx, origin);
    bool direct = plan->src_direct && plan->dst_direct && plan->stat_direct;
    dtp_parallel_for(ctx->par, rows, plan->grain, direct ? layer_norm_direct : layer_norm_tiles, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_LNORM_DST]);
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(plan_t)
DTP_CPU_IMPLS(layer_norm, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .plan_used = plan_used,
              .pd_init = layer_norm_init, .execute = layer_norm_execute);
