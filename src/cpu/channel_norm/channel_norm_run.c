/* Batch and group normalization on vectors: execution; see channel_norm_plan.h. */
#include "common/layout/zero_pad.h"
#include "cpu/access/rows.h"
#include "cpu/channel_norm/channel_norm_plan.h"
#include "threading/base/parallel.h"

/* Channels whose statistics are joined at a time. */
enum { JOINED = 64 };

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    float factor, dst_scale; /* of the kernels; of what passes through a tile */
    bool stream;
    float *parts, *mul, *add;
    float *mean, *var; /* by channel; group normalization: of each image */
    const float *use_mean, *use_var;
} cn_job_t;

static const dtp_channel_norm_desc_t *cn_desc(const cn_job_t *j) {
    return (const dtp_channel_norm_desc_t *)j->pd->op;
}
static const char *cn_src(const cn_job_t *j, int64_t n, int64_t c, int64_t s) {
    const dtp_cn_plan_t *p = j->pd->plan;
    return (const char *)j->ctx->ptr[DTP_CNORM_SRC] +
           dtp_cn_view_at(&p->src, n, c, s) * (int64_t)dtp_type_size(p->sdt);
}

/* A piece: elements s..s + len - 1 of channels c..c + channels - 1 of image n; number k in space. */
typedef struct {
    int64_t n, c, channels, k, s, len;
} piece_t;

static piece_t cn_piece(const dtp_cn_cut_t *cut, int64_t n, int64_t k, int64_t c, int64_t end) {
    return (piece_t){.n = n,
                     .c = c,
                     .channels = dtp_min64(cut->block, end - c),
                     .k = k,
                     .s = k * cut->chunk,
                     .len = k + 1 == cut->chunks ? cut->tail : cut->chunk};
}

/* ---- Statistics --------------------------------------------------------------------------------------- */

static void cn_moments(const cn_job_t *j, int slot, const piece_t *w) {
    const dtp_cn_plan_t *p = j->pd->plan;
    const int64_t of = p->runs ? p->c / p->groups : 1;
    float *mean = j->parts + (w->n * p->stat.chunks + w->k) * p->ld + w->c;
    dtp_cn_moments_t a = {.type = p->src_type,
                          .rows = w->len,
                          .cols = w->channels,
                          .ld = p->src.s_stride,
                          .mean = mean,
                          .m2 = mean + p->ld / 2};
    if (p->src_direct) a.src = cn_src(j, w->n, w->c * of, p->runs ? 0 : w->s);
    if (p->by_cols) {
        p->kernels->moments_cols(&a);
        return;
    }
    a.rows = w->channels;
    a.cols = w->len;
    a.ld = p->stat.c_stride;
    if (p->src_direct) {
        if (p->runs) a.src = (const char *)a.src + w->s * (int64_t)dtp_type_size(p->sdt);
        p->kernels->moments_rows(&a);
        return;
    }
    float *tile = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    for (int64_t c = 0; c < w->channels; ++c) {
        dtp_rows_load(p->po.vops, &cn_desc(j)->src, j->ctx->ptr[DTP_CNORM_SRC],
                      (w->n * p->c + w->c + c) * p->norm.space + w->s, w->len, tile);
        p->kernels->moments_rows(&(dtp_cn_moments_t){
            .src = tile, .type = V_F32, .rows = 1, .cols = w->len, .mean = a.mean + c, .m2 = a.m2 + c});
    }
}

/* Factors of channels c..end - 1 of image n. */
static void cn_factors(const cn_job_t *j, int64_t n, int64_t c, int64_t end) {
    const dtp_cn_plan_t *p = j->pd->plan;
    const float *scale = j->ctx->ptr[DTP_CNORM_SCALE], *shift = j->ctx->ptr[DTP_CNORM_SHIFT];
    const int64_t at = p->groups ? n * p->c + c : c;
    p->kernels->factors(&(dtp_cn_factors_t){.var = (p->groups ? j->var : j->use_var) + at,
                                            .scale = scale ? scale + c : NULL,
                                            .shift = shift ? shift + c : NULL,
                                            .mul = j->mul + at,
                                            .add = j->add + at,
                                            .channels = end - c,
                                            .eps = cn_desc(j)->epsilon,
                                            .factor = j->factor});
}

/* Statistics of group g of image n into its channels. */
static void cn_spread(const cn_job_t *j, int64_t n, int64_t g, float mean, float var) {
    const dtp_cn_plan_t *p = j->pd->plan;
    const int64_t of = p->c / p->groups, at = n * p->c + g * of;
    for (int64_t c = 0; c < of; ++c) j->mean[at + c] = mean, j->var[at + c] = var;
}

static void cn_write_group(const cn_job_t *j, int64_t n, int64_t g, float mean, float var) {
    const dtp_cn_plan_t *p = j->pd->plan;
    if (!p->written) return;
    ((float *)j->ctx->ptr[DTP_CNORM_MEAN])[n * p->groups + g] = mean;
    ((float *)j->ctx->ptr[DTP_CNORM_VARIANCE])[n * p->groups + g] = var;
}

/* Groups g..end - 1 of image n. */
static void cn_join_groups(const cn_job_t *j, int64_t n, int64_t g, int64_t end) {
    const dtp_cn_plan_t *p = j->pd->plan;
    const int64_t of = p->c / p->groups, width = p->runs ? 1 : of, c = g * width;
    const float *parts = j->parts + n * p->stat.chunks * p->ld + c;
    float *mean = j->mean + n * p->c + g * of, *var = j->var + n * p->c + g * of;
    p->kernels->join(&(dtp_cn_join_t){.mean = parts,
                                      .m2 = parts + p->ld / 2,
                                      .ld = p->ld,
                                      .entries = p->stat.chunks,
                                      .period = p->stat.chunks,
                                      .chunk = p->stat.chunk,
                                      .tail = p->stat.tail,
                                      .channels = (end - g) * width,
                                      .out_mean = mean,
                                      .out_var = var});
    /* From behind: what is spread covers what was joined. */
    for (int64_t i = end - g - 1; i >= 0; --i) {
        double m = 0, v = 0;
        for (int64_t k = 0; k < width; ++k) m += (double)mean[i * width + k];
        m /= (double)width;
        for (int64_t k = 0; k < width; ++k) {
            const double x = (double)mean[i * width + k] - m;
            v += (double)var[i * width + k] + x * x;
        }
        v /= (double)width;
        cn_write_group(j, n, g + i, (float)m, (float)v);
        cn_spread(j, n, g + i, (float)m, (float)v);
    }
}

/* Sets of statistics that channels c..end - 1 of image n are (batch normalization: of all images). */
static void cn_join(const cn_job_t *j, int64_t n, int64_t c, int64_t end) {
    const dtp_cn_plan_t *p = j->pd->plan;
    if (p->groups) {
        const int64_t of = p->c / p->groups;
        cn_join_groups(j, n, c / of, end / of);
    } else {
        p->kernels->join(&(dtp_cn_join_t){.mean = j->parts + c,
                                          .m2 = j->parts + p->ld / 2 + c,
                                          .ld = p->ld,
                                          .entries = p->n * p->stat.chunks,
                                          .period = p->stat.chunks,
                                          .chunk = p->stat.chunk,
                                          .tail = p->stat.tail,
                                          .channels = end - c,
                                          .out_mean = j->mean + c,
                                          .out_var = j->var + c});
    }
    cn_factors(j, n, c, end);
}

/* ---- Normalization ------------------------------------------------------------------------------------ */

/* What a tile holds of dst: from element (n, c, s) on, `rows` rows. */
static void cn_finish_tile(const cn_job_t *j, float *tile, int64_t rows, int64_t cols, int64_t n, int64_t c,
                           int64_t s) {
    const dtp_cn_plan_t *p = j->pd->plan;
    if (p->by_cols)
        dtp_postops_apply(&p->po, j->pd, j->ctx, tile, cols, rows, cols, n * p->norm.space + s, c);
    else dtp_postops_apply_linear(&p->po, j->pd, j->ctx, tile, cols, (n * p->c + c) * p->norm.space + s);
    if (j->dst_scale != 1.f) p->po.vops->scale_shift(tile, rows * cols, 1.f / j->dst_scale, 0.f);
}

static void cn_tile_by_cols(const cn_job_t *j, float *tile, const piece_t *w, dtp_cn_apply_t a) {
    const dtp_cn_plan_t *p = j->pd->plan;
    const int64_t size = (int64_t)dtp_type_size(p->ddt), cols = w->channels;
    for (int64_t s = w->s; s < w->s + w->len; ++s) {
        const int64_t at = dtp_cn_view_at(&p->dst, w->n, w->c, s);
        for (int64_t c = 0; c < cols; c += DTP_CN_TILE) {
            dtp_cn_apply_t b = a;
            b.cols = dtp_min64(DTP_CN_TILE, cols - c);
            b.rows = 1;
            b.src = cn_src(j, w->n, w->c, s) + c * (int64_t)dtp_type_size(p->sdt);
            b.mean += c, b.mul += c, b.add += c;
            if (p->add) {
                const char *more = j->ctx->ptr[DTP_CNORM_SRC1];
                p->po.vops->load[p->ddt](tile + DTP_CN_TILE, more + (at + c) * size, b.cols, 1);
                b.src1 = tile + DTP_CN_TILE;
            }
            if (p->positive) b.positive = (uint8_t *)j->ctx->ptr[DTP_CNORM_WORKSPACE] + at + c;
            p->kernels->apply_cols(&b);
            cn_finish_tile(j, tile, 1, b.cols, w->n, w->c + c, s);
            p->po.vops->store[p->ddt]((char *)j->ctx->ptr[DTP_CNORM_DST] + (at + c) * size, tile, b.cols, 1);
        }
    }
}

static void cn_tile_by_rows(const cn_job_t *j, float *tile, const piece_t *w, dtp_cn_apply_t a) {
    const dtp_cn_plan_t *p = j->pd->plan;
    const dtp_channel_norm_desc_t *d = cn_desc(j);
    void *const *ptr = j->ctx->ptr;
    uint8_t *bytes = (uint8_t *)(void *)(tile + 2 * DTP_CN_TILE);
    a.rows = 1;
    a.cols = w->len;
    for (int64_t c = w->c; c < w->c + w->channels; ++c, ++a.mean, ++a.mul, ++a.add) {
        const int64_t l = (w->n * p->c + c) * p->norm.space + w->s;
        const int64_t at = p->dst_direct ? dtp_cn_view_at(&p->dst, w->n, c, w->s) : 0;
        if (p->src_direct) {
            a.src = cn_src(j, w->n, c, w->s);
        } else {
            dtp_rows_load(p->po.vops, &d->src, ptr[DTP_CNORM_SRC], l, w->len, tile);
            a.src = tile;
            a.src_type = V_F32;
        }
        if (p->add) {
            dtp_rows_load(p->po.vops, &d->src1, ptr[DTP_CNORM_SRC1], l, w->len, tile + DTP_CN_TILE);
            a.src1 = tile + DTP_CN_TILE;
        }
        uint8_t *positive = ptr[DTP_CNORM_WORKSPACE];
        if (p->positive) a.positive = p->dst_direct ? positive + at : bytes;
        p->kernels->apply_rows(&a);
        for (int64_t i = 0; p->positive && !p->dst_direct && i < w->len; ++i)
            positive[dtp_md_offset_linear(&d->workspace, l + i)] = bytes[i];
        cn_finish_tile(j, tile, 1, w->len, w->n, c, w->s);
        if (p->dst_direct)
            p->po.vops->store[p->ddt]((char *)ptr[DTP_CNORM_DST] + at * (int64_t)dtp_type_size(p->ddt), tile,
                                      w->len, 1);
        else dtp_rows_store(p->po.vops, &d->dst, ptr[DTP_CNORM_DST], l, w->len, tile);
    }
}

static void cn_apply(const cn_job_t *j, int slot, const piece_t *w) {
    const dtp_cn_plan_t *p = j->pd->plan;
    void *const *ptr = j->ctx->ptr;
    const int64_t c = p->groups ? w->n * p->c + w->c : w->c;
    dtp_cn_apply_t a = {.src_type = p->src_type,
                        .dst_type = V_F32,
                        .mean = j->use_mean + c,
                        .mul = j->mul + c,
                        .add = j->add + c,
                        .least = p->least};
    if (!p->straight) {
        float *tile = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
        a.dst = tile;
        if (p->by_cols) cn_tile_by_cols(j, tile, w, a);
        else cn_tile_by_rows(j, tile, w, a);
        return;
    }
    const int64_t size = (int64_t)dtp_type_size(p->ddt), at = dtp_cn_view_at(&p->dst, w->n, w->c, w->s);
    a.src = cn_src(j, w->n, w->c, w->s);
    a.dst = (char *)ptr[DTP_CNORM_DST] + at * size;
    a.dst_type = p->dst_type;
    if (p->add) a.src1 = (const char *)ptr[DTP_CNORM_SRC1] + at * size;
    if (p->positive) a.positive = (uint8_t *)ptr[DTP_CNORM_WORKSPACE] + at;
    a.rows = p->by_cols ? w->len : w->channels;
    a.cols = p->by_cols ? w->channels : w->len;
    a.ld_src = p->by_cols ? p->src.s_stride : p->src.c_stride;
    a.ld_dst = a.ld_positive = p->by_cols ? p->dst.s_stride : p->dst.c_stride;
    /* Vectors of rows that do not begin at one are not streamed. */
    a.stream = j->stream &&
               (!p->by_cols || (((uintptr_t)a.dst | (uintptr_t)(a.ld_dst * size)) % DTP_CACHE_LINE == 0));
    a.exceeds_l2 = p->exceeds_l2;
    if (p->by_cols) p->kernels->apply_cols(&a);
    else p->kernels->apply_rows(&a);
}

/* ---- Loops -------------------------------------------------------------------------------------------- */

static piece_t cn_piece_number(const dtp_cn_cut_t *cut, int64_t i) {
    const int64_t block = i % cut->blocks, k = i / cut->blocks % cut->chunks;
    return cn_piece(cut, i / cut->blocks / cut->chunks, k, block * cut->block, cut->c);
}

static void cn_stat_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const cn_job_t *j = arg;
    const dtp_cn_plan_t *p = j->pd->plan;
    for (int64_t i = begin; i < end; ++i) {
        const piece_t w = cn_piece_number(&p->stat, i);
        cn_moments(j, slot, &w);
    }
}

/* Which of n pieces comes at turn i: the last ones first, as the statistics have read them last; spans of them forwards, as memory
 * is read faster. */
static int64_t cn_turn(const dtp_cn_plan_t *p, int64_t i, int64_t n) {
    if (p->given) return i;
    return dtp_max64(0, n - (i / p->span + 1) * p->span) + i % p->span;
}

static void cn_norm_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const cn_job_t *j = arg;
    const dtp_cn_plan_t *p = j->pd->plan;
    const int64_t n = p->n * p->norm.chunks * p->norm.blocks;
    for (int64_t i = begin; i < end; ++i) {
        const piece_t w = cn_piece_number(&p->norm, cn_turn(p, i, n));
        cn_apply(j, slot, &w);
    }
}

/* Batch normalization: blocks of channels; group normalization: images. */
static void cn_join_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const cn_job_t *j = arg;
    const dtp_cn_plan_t *p = j->pd->plan;
    (void)slot;
    for (int64_t i = begin; i < end; ++i)
        if (p->groups) cn_join(j, i, 0, p->c);
        else cn_join(j, 0, i * JOINED, dtp_min64(p->c, (i + 1) * JOINED));
}

static void cn_unit_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const cn_job_t *j = arg;
    const dtp_cn_plan_t *p = j->pd->plan;
    const int64_t across = dtp_div_up(p->c, p->unit_c), of = p->runs ? p->c / p->groups : 1;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t n0 = i / across * p->unit_n, n1 = dtp_min64(p->n, n0 + p->unit_n),
                      c0 = i % across * p->unit_c, c1 = dtp_min64(p->c, c0 + p->unit_c);
        for (int64_t n = n0; n < n1; ++n)
            for (int64_t k = 0; k < p->stat.chunks; ++k)
                for (int64_t c = c0 / of; c < c1 / of; c += p->stat.block) {
                    const piece_t w = cn_piece(&p->stat, n, k, c, c1 / of);
                    cn_moments(j, slot, &w);
                }
        cn_join(j, n0, c0, c1);
        const int64_t chunks = p->norm.chunks, turns = (n1 - n0) * chunks;
        for (int64_t t = 0; t < turns; ++t)
            for (int64_t at = cn_turn(p, t, turns), c = c0; c < c1; c += p->norm.block) {
                const piece_t w = cn_piece(&p->norm, n0 + at / chunks, at % chunks, c, c1);
                cn_apply(j, slot, &w);
            }
    }
}

/* What is given, as vectors by channel. */
static void cn_given(const cn_job_t *j) {
    const dtp_cn_plan_t *p = j->pd->plan;
    if (!p->groups) {
        cn_factors(j, 0, 0, p->c);
        return;
    }
    const float *mean = j->ctx->ptr[DTP_CNORM_MEAN], *var = j->ctx->ptr[DTP_CNORM_VARIANCE];
    for (int64_t n = 0; n < p->n; ++n) {
        for (int64_t g = 0; g < p->groups; ++g)
            cn_spread(j, n, g, mean[n * p->groups + g], var[n * p->groups + g]);
        cn_factors(j, n, 0, p->c);
    }
}

static float *cn_scratch(const dtp_exec_ctx_t *ctx, size_t at) {
    return (float *)(void *)(ctx->scratch + at);
}

dnnl_tp_status_t dtp_channel_norm_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)pd->op;
    const dtp_cn_plan_t *p = pd->plan;
    const dnnl_tp_dims_t origin = {0};
    cn_job_t j = {.pd = pd,
                  .ctx = ctx,
                  .factor = (float)dtp_quant_at(&p->src_scale, ctx, origin),
                  .dst_scale = (float)dtp_quant_at(&p->dst_scale, ctx, origin),
                  .stream = p->big && ctx->ptr[DTP_CNORM_SRC] != ctx->ptr[DTP_CNORM_DST],
                  .parts = cn_scratch(ctx, p->parts_at),
                  .mul = cn_scratch(ctx, p->mul_at),
                  .add = cn_scratch(ctx, p->add_at),
                  .mean = cn_scratch(ctx, p->mean_at),
                  .var = cn_scratch(ctx, p->var_at)};
    if (p->straight) j.factor /= j.dst_scale;
    if (!p->groups && p->written) j.mean = ctx->ptr[DTP_CNORM_MEAN], j.var = ctx->ptr[DTP_CNORM_VARIANCE];
    const bool theirs = !p->groups && p->given;
    j.use_mean = theirs ? ctx->ptr[DTP_CNORM_MEAN] : j.mean;
    j.use_var = theirs ? ctx->ptr[DTP_CNORM_VARIANCE] : j.var;
    if (p->units) {
        dtp_parallel_for(ctx->par, p->units, p->unit_grain, cn_unit_loop, &j);
    } else {
        if (p->given) {
            cn_given(&j);
        } else {
            dtp_parallel_for(ctx->par, p->n * p->stat.chunks * p->stat.blocks, p->stat_grain, cn_stat_loop,
                             &j);
            dtp_parallel_for(
                ctx->par, p->groups ? p->n : dtp_div_up(p->c, JOINED),
                dtp_grain(20 + .3 * (double)(p->groups ? p->c : p->n * JOINED) * (double)p->stat.chunks),
                cn_join_loop, &j);
        }
        dtp_parallel_for(ctx->par, p->n * p->norm.chunks * p->norm.blocks, p->norm_grain, cn_norm_loop, &j);
    }
    if (dtp_md_is_padded(&d->dst)) {
        dtp_zero_pad(&d->dst, ctx->ptr[DTP_CNORM_DST]);
        if (p->positive) dtp_zero_pad(&d->workspace, ctx->ptr[DTP_CNORM_WORKSPACE]);
    }
    return dnnl_tp_success;
}
