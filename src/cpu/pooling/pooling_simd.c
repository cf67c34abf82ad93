/* Pooling on vectors, in f32: any types whose values are floats, any layouts. Which way a problem goes is told
 * in pooling_plan.h; this file decides it. */
#include <float.h>

#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/pooling/pooling_plan.h"
#include "threading/base/parallel.h"

enum {
    ROW_BYTES = 128 * 1024,        /* of rows of src that windows share */
    LEAST_BLOCK = 64,              /* channels of a unit, if there are so many */
    UNIT_FLOATS = 2048,            /* of dst in a unit, if rows are short */
    LONG_UNIT = 32 * 1024,         /* of dst in a unit, if threads get enough of them */
    UNITS_PER_THREAD = 4,          /* of long ones, at least */
    SMALL_BLOCK = 512,             /* of a unit that is one output */
    BAND_FLOATS = 64 * 1024,       /* of src that a unit may convert */
    SLOT_FLOATS = 4 * 1024 * 1024, /* of scratch for a participant; beyond, the reference serves */
    MOST_PICKS = 64,               /* taps of a row that stays in registers */
    MOST_RUN = 16 * 1024,          /* floats of a plane that is one run */
    SHARD_COLUMNS = 2048,          /* pixels of a sum of its own, where one output has more */
    MOST_TAPS = 1 << 24            /* whose numbers are floats */
};

static bool pool_view(dtp_pool_view_t *v, const dtp_md_t *md) {
    const int spatial = md->ndims - 2;
    if (md->inner_nblks > 1 || (md->inner_nblks == 1 && md->inner_idxs[0] != 1)) return false;
    *v = (dtp_pool_view_t){.offset0 = md->offset0,
                           .n_stride = md->strides[0],
                           .c_stride = md->strides[1],
                           .block = md->inner_nblks ? md->inner_blks[0] : 1};
    for (int i = 0; i < spatial; ++i) v->s[DTP_POOLING_DIMS - spatial + i] = md->strides[2 + i];
    return true;
}

/* Channels that lie side by side from each multiple of the result on. */
static int64_t pool_run_length(const dtp_pool_view_t *v, int64_t channels) {
    if (v->block > 1) return v->block;
    return v->c_stride == 1 || channels == 1 ? channels : 1;
}

static float pool_least(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32    ? -FLT_MAX
           : dt == dnnl_tp_bf16 ? -0x1.fep127f
           : dt == dnnl_tp_f16  ? -65504.f
           : dt == dnnl_tp_s8   ? -128.f
                                : 0.f;
}

static bool pool_may_be_empty(const dtp_window_t *w) {
    const int64_t range = (w->kernel - 1) * w->step + 1;
    return w->pad >= range || (w->out - 1) * w->stride - w->pad >= w->in || w->step > w->in;
}

/* One output per channel that takes every pixel of src, all of which lie evenly: one long row. */
static bool pool_is_whole(const dtp_pool_plan_t *p) {
    int64_t even = p->src.s[2] * p->w[2].in;
    for (int i = 0; i < DTP_POOLING_DIMS; ++i) {
        const dtp_window_t *w = &p->w[i];
        if (w->out != 1 || w->pad || w->kernel != w->in || (w->step != 1 && w->kernel > 1)) return false;
    }
    for (int i = 1; i >= 0; --i) {
        if (p->w[i].in > 1 && p->src.s[i] != even) return false;
        even *= p->w[i].in;
    }
    return !p->taps;
}

static void pool_one_row(dtp_pool_plan_t *p) {
    const int64_t columns = p->w[0].in * p->w[1].in * p->w[2].in;
    p->w[0] = p->w[1] = DTP_WINDOW_NONE;
    p->w[2] = (dtp_window_t){columns, 1, columns, 1, 1, 0};
}

static double pool_ns(unsigned isa, double loads, double stores) {
    return isa & DTP_ISA_AVX512 ? .02 * loads + .06 * stores : .03 * loads + .07 * stores;
}

/* Channels of a unit, of `run` that lie side by side: as many as leave the rows of src that rows of dst share in
 * the cache; units of one output are small, so that there are several. */
static int64_t pool_block(const dtp_pool_plan_t *p, int64_t run) {
    const dtp_window_t *w = p->w;
    const int64_t tall = dtp_min64(w[1].kernel, w[1].in) * dtp_min64(w[0].kernel, w[0].in);
    const bool shared = w[1].out > 1 && w[1].kernel * w[1].step > w[1].stride;
    const int64_t column = dtp_max64(1, tall * w[2].in); /* floats of a channel in the rows of a window */
    int64_t fit = w[0].out * w[1].out == 1 ? SMALL_BLOCK : run;
    if (shared) fit = dtp_max64(LEAST_BLOCK, ROW_BYTES / (int64_t)sizeof(float) / column);
    if (!p->src_direct) fit = dtp_min64(fit, dtp_max64(LEAST_BLOCK, BAND_FLOATS / column));
    if (fit >= run) return dtp_max64(1, run);
    /* Blocks of like size. */
    return dtp_round_up(dtp_div_up(run, dtp_div_up(run, fit)), LEAST_BLOCK);
}

/* Of f32: whether what is read would leave the caches for what is written. */
static bool pool_is_large(const dtp_pd_t *pd) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    const double src = sizeof(float) * (double)dtp_md_nelems(&d->src),
                 dst = sizeof(float) * (double)dtp_md_nelems(&d->dst);
    return dtp_exceeds_caches(src + dst, pd->engine->l3_bytes) && dst > (double)pd->engine->l2_bytes;
}

/* Whether rows of each unit begin with a cache line of dst, and so do their pixels and all their vectors: of channels that are
 * not whole vectors, the last one begins in the one before. */
static bool pool_lines_whole(const dtp_pool_plan_t *p) {
    const dtp_pool_view_t *y = &p->dst;
    const int64_t left = p->c % p->block, lanes = p->kernels->lanes;
    if (left > lanes && left % lanes) return false;
    int64_t all = y->offset0 | y->n_stride | p->block | (y->block > 1 ? y->c_stride : 0);
    for (int i = 0; i < DTP_POOLING_DIMS; ++i) all |= y->s[i];
    return all % (DTP_CACHE_LINE / (int64_t)sizeof(float)) == 0;
}

/* Rows of dst of a unit: units cost something. */
static int64_t pool_band(const dtp_pool_plan_t *p, int threads) {
    const int64_t row = dtp_max64(1, p->w[2].out * p->block),
                  rows = p->n * dtp_div_up(p->blocks, p->many) * p->w[0].out * p->w[1].out,
                  many = dtp_min64(LONG_UNIT / row, rows / (UNITS_PER_THREAD * dtp_max64(1, threads)));
    return dtp_max64(1, dtp_min64(p->w[1].out, dtp_max64(UNIT_FLOATS / row, many)));
}

static dnnl_tp_status_t pool_plan_rows(dtp_pd_t *pd, unsigned isa) {
    dtp_pool_plan_t *p = pd->plan;
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_POOLING_DST, isa));
    const bool adjacent = pool_run_length(&p->dst, p->c) > 1 || p->c == 1;
    const int64_t columns = p->w[0].in * p->w[1].in * p->w[2].in;
    if (p->sdt == dnnl_tp_bf16 && p->ddt == dnnl_tp_bf16 && adjacent && !p->po.len &&
        !(pool_is_whole(p) && columns > SHARD_COLUMNS))
        p->type = V_BF16;
    p->src_direct = p->sdt == dnnl_tp_f32 || p->type == V_BF16;
    p->dst_direct =
        p->type == V_BF16 || (p->ddt == dnnl_tp_f32 && adjacent && dtp_postops_only_eltwise(&p->po));
    p->tap_direct = p->taps && p->dst_direct && d->workspace.data_type == dnnl_tp_u8;
    if (p->src_direct && pool_is_whole(p)) {
        pool_one_row(p);
        p->shards = dtp_div_up(p->w[2].in, SHARD_COLUMNS);
    }
    const int64_t run = dtp_min64(pool_run_length(&p->src, p->c), p->dst.block > 1 ? p->dst.block : p->c);
    p->block = pool_block(p, run);
    p->blocks = dtp_div_up(p->c, p->block);
    p->many = 1;
    if (p->shards == 1 && p->dst_direct && !p->po.len && p->src.block > 1 && p->src.block == p->dst.block)
        p->many = dtp_max64(1, SMALL_BLOCK / p->block); /* their padding, too, which is made 0 again */
    p->stream = p->type == V_F32 && p->src_direct && p->dst_direct && !p->po.len && !p->taps &&
                pool_is_large(pd) && pool_lines_whole(p);
    p->band = p->src_direct ? pool_band(p, pd->num_threads) : 1;
    size_t slot = 0;
    if (!p->src_direct) {
        const int64_t planes = dtp_min64(p->w[0].kernel, p->w[0].in), high = p->w[1].in,
                      range = (p->w[1].kernel - 1) * p->w[1].step + 1,
                      row = dtp_max64(1, planes * p->w[2].in * p->block);
        DTP_DISPATCH(row < SLOT_FLOATS, UNSUPPORTED_SHAPE);
        while (p->band < p->w[1].out &&
               dtp_min64(high, p->band * p->w[1].stride + range) * row <= BAND_FLOATS)
            p->band++;
        p->band_rows = dtp_min64(high, (p->band - 1) * p->w[1].stride + range);
        DTP_DISPATCH(p->band_rows < SLOT_FLOATS && p->band_rows * row < SLOT_FLOATS, UNSUPPORTED_SHAPE);
        p->src_at = slot;
        slot += dtp_round_up_size((size_t)(p->band_rows * row) * sizeof(float), DTP_CACHE_LINE);
    }
    const int64_t tile = p->w[2].out * p->block;
    if (!p->dst_direct || p->taps) DTP_DISPATCH(tile < SLOT_FLOATS, UNSUPPORTED_SHAPE);
    if (!p->dst_direct) {
        p->dst_at = slot;
        slot += dtp_round_up_size((size_t)tile * sizeof(float), DTP_CACHE_LINE);
    }
    if (p->taps && !p->tap_direct) {
        p->tap_at = slot;
        slot += dtp_round_up_size((size_t)tile * sizeof(float), DTP_CACHE_LINE);
    }
    dtp_pd_book(pd, p->shards > 1 ? (size_t)(p->n * p->shards * p->c) * sizeof(float) : 0, slot);
    p->bands = dtp_div_up(p->w[1].out, p->band);
    p->units = p->n * dtp_div_up(p->blocks, p->many) * p->w[0].out * p->bands;
    const double outputs = (double)(p->w[2].out * p->block * p->band * p->many);
    /* Each element of src is read once, from memory or the last cache, if windows are whole images. */
    const bool exceeds_l2 =
        p->w[2].out == 1 && (double)dtp_md_nelems(&d->src) * sizeof(float) > (double)pd->engine->l2_bytes;
    double ns = 10 + pool_ns(isa, (exceeds_l2 ? 2.5 : 1) * outputs * (double)p->volume, outputs);
    if (!p->src_direct) ns += .2 * (double)(p->band_rows * p->w[2].in * p->block);
    if (!p->dst_direct) ns += .2 * outputs;
    p->grain = dtp_grain(ns);
    return dnnl_tp_success;
}

static bool pool_keeps_size(const dtp_window_t *w) { return w->stride == 1 && w->out == w->in; }

static dnnl_tp_status_t pool_plan_planes(dtp_pd_t *pd, unsigned isa) {
    dtp_pool_plan_t *p = pd->plan;
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    for (int i = 0; i < DTP_POOLING_DIMS; ++i) DTP_DISPATCH(!pool_may_be_empty(&p->w[i]), UNSUPPORTED_SHAPE);
    DTP_TRY(dtp_postops_init(&p->po, pd, DTP_POOLING_DST, isa));
    const bool even_src = dtp_md_is_plain(&d->src) && (p->src.s[2] == 1 || p->w[2].in == 1);
    const bool even_dst = dtp_md_is_plain(&d->dst) && (p->dst.s[2] == 1 || p->w[2].out == 1);
    p->src_direct = p->sdt == dnnl_tp_f32 && even_src;
    p->dst_direct = p->ddt == dnnl_tp_f32 && even_dst && !p->taps && dtp_postops_only_eltwise(&p->po);
    p->whole = p->src_direct && p->dst_direct && pool_is_whole(p);
    if (p->whole) pool_one_row(p);
    const int64_t out = p->w[1].out * p->w[2].out, room = dtp_pool_room(&p->w[2]),
                  in = dtp_min64(p->w[0].kernel, p->w[0].in) * p->w[1].in * p->w[2].in,
                  rows = p->taps ? dtp_min64(p->w[0].kernel, p->w[0].in) * p->w[1].kernel : DTP_POOL_ROWS;
    DTP_DISPATCH(p->whole || (room < SLOT_FLOATS && rows < SLOT_FLOATS && rows * room < SLOT_FLOATS),
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(p->src_direct || in < SLOT_FLOATS, UNSUPPORTED_SHAPE);
    DTP_DISPATCH((p->dst_direct && !p->taps) || out < SLOT_FLOATS, UNSUPPORTED_SHAPE);
    size_t slot = 0;
    if (!p->whole) slot += dtp_round_up_size((size_t)(rows * room) * sizeof(float), DTP_CACHE_LINE);
    p->src_at = slot;
    if (!p->src_direct) slot += dtp_round_up_size((size_t)in * sizeof(float), DTP_CACHE_LINE);
    p->dst_at = slot;
    if (!p->dst_direct) slot += dtp_round_up_size((size_t)out * sizeof(float), DTP_CACHE_LINE);
    p->tap_at = slot;
    if (p->taps) slot += dtp_round_up_size((size_t)out * sizeof(float), DTP_CACHE_LINE);
    const bool counts = p->taps || (!p->maximum && !p->divisor);
    const int64_t lanes = p->kernels->lanes;
    p->runs = !p->taps && !p->whole && pool_keeps_size(&p->w[1]) && pool_keeps_size(&p->w[2]) &&
              p->w[2].kernel == 3 && p->w[2].step == 1 && p->w[2].pad == 1 &&
              (!p->src_direct || p->src.s[1] == p->w[2].in) &&
              (!p->dst_direct || p->dst.s[1] == p->w[2].in) && out <= MOST_RUN;
    p->picks = !p->taps && !p->whole && !p->runs && p->w[2].in <= 2 * lanes && p->w[2].kernel <= MOST_PICKS;
    const int64_t row = p->runs ? out : p->w[2].out;
    p->picks_at = counts ? dtp_round_up_size((size_t)row * sizeof(float), DTP_CACHE_LINE) : 0;
    const int64_t shared = p->picks  ? dtp_round_up(row, lanes) * p->w[2].kernel
                           : p->runs ? 2 * dtp_div_up(row, lanes)
                                     : 0;
    dtp_pd_book(pd, p->picks_at + (size_t)shared * sizeof(int32_t), slot);
    p->units = p->n * p->c * p->w[0].out;
    const double rows_in = (double)(p->w[1].out * p->w[1].kernel * p->w[0].kernel);
    double ns =
        10 + 5 * (double)p->w[1].out +
        pool_ns(isa, rows_in * (double)p->w[2].in + (double)(out * p->w[2].kernel), (double)(2 * out));
    if (!p->src_direct) ns += .2 * (double)in;
    if (!p->dst_direct) ns += .2 * (double)out;
    p->grain = dtp_grain(ns);
    return dnnl_tp_success;
}

static dnnl_tp_status_t pooling_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    dtp_pool_plan_t *p = pd->plan;
    /* Windows of nothing but padding: src may have no memory. */
    DTP_DISPATCH(dtp_md_nelems(&d->src) > 0 || dtp_md_nelems(&d->dst) == 0, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_pooling_check(pd));
    p->kernels = DTP_BY_ISA(isa, &dtp_pool_kernels, &dtp_pool_kernels__portable);
    dtp_pooling_windows(d, p->w);
    p->n = d->src.dims[0];
    p->c = d->src.dims[1];
    p->sdt = d->src.data_type;
    p->ddt = d->dst.data_type;
    if (d->alg == dnnl_tp_pooling_max) p->maximum = d->keeps_nan ? DTP_POOL_MAX_NAN : DTP_POOL_MAX;
    p->native = isa & DTP_ISA_AVX512_BF16;
    p->exact = p->ddt != dnnl_tp_f32;
    p->taps = !dtp_md_is_zero(&d->workspace);
    p->least = pool_least(p->sdt);
    p->volume = 1;
    for (int i = 0; i < DTP_POOLING_DIMS; ++i) p->volume *= p->w[i].kernel;
    if (d->alg == dnnl_tp_pooling_avg_include_padding) p->divisor = p->volume;
    DTP_DISPATCH(!p->taps || p->volume < MOST_TAPS, UNSUPPORTED_SHAPE);
    const bool views = pool_view(&p->src, &d->src) & pool_view(&p->dst, &d->dst);
    const int64_t run = views ? pool_run_length(&p->src, p->c) : 1;
    p->planes = run == 1 && !(views && p->c == 1 && p->src.s[2] != 1);
    return p->planes ? pool_plan_planes(pd, isa) : pool_plan_rows(pd, isa);
}

static dnnl_tp_status_t pooling_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)pd->op;
    const dtp_pool_plan_t *p = pd->plan;
    const dtp_pool_job_t job = {pd, ctx};
    if (p->planes) dtp_pool_run_planes(&job);
    else dtp_pool_run_rows(&job);
    if (dtp_md_is_padded(&d->dst)) {
        dtp_zero_pad(&d->dst, ctx->ptr[DTP_POOLING_DST]);
        if (p->taps) dtp_zero_pad(&d->workspace, ctx->ptr[DTP_POOLING_WORKSPACE]);
    }
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(dtp_pool_plan_t)
DTP_CPU_IMPLS_AND_ANY(pooling, "simd", .plan_size = sizeof(dtp_pool_plan_t), .plan_used = plan_used,
                      .pd_init = pooling_init, .execute = pooling_execute);
