/* Pooling where the channels of a pixel lie side by side; see pooling_plan.h. */
#include "cpu/pooling/pooling_plan.h"

#include "threading/base/parallel.h"

/* A unit of work: a band of rows of dst, of one block of channels, or of several. */
typedef struct {
    int64_t n, c, channels, blocks, od, oh_begin, oh_end;
} unit_t;

static unit_t pool_unit(const dtp_pool_plan_t *p, int64_t i) {
    unit_t u;
    u.oh_begin = i % p->bands * p->band;
    u.oh_end = dtp_min64(u.oh_begin + p->band, p->w[1].out);
    i /= p->bands;
    u.od = i % p->w[0].out;
    i /= p->w[0].out;
    const int64_t groups = dtp_div_up(p->blocks, p->many), block = i % groups * p->many;
    u.c = block * p->block;
    u.n = i / groups;
    u.blocks = dtp_min64(p->many, p->blocks - block);
    u.channels = p->many > 1 ? p->block : dtp_min64(p->block, p->c - u.c);
    return u;
}

/* Rows of src as the kernel sees them: of depth, height and column strides in elements. */
typedef struct {
    const char *base; /* depth d0, row h0, column 0 */
    int64_t d0, h0, step_d, step_h, ld;
} source_t;

/* src where it lies, or the rows that the unit reaches as f32. */
static source_t pool_source(const dtp_pool_plan_t *p, const dtp_exec_ctx_t *ctx, const unit_t *u,
                            char *scratch) {
    const int64_t at = dtp_pool_at(&p->src, u->n, u->c), size = (int64_t)dtp_type_size(p->sdt);
    const char *base = (const char *)ctx->ptr[DTP_POOLING_SRC] + at * size;
    const dtp_window_t *wd = &p->w[0], *wh = &p->w[1];
    if (p->src_direct) return (source_t){base, 0, 0, p->src.s[0], p->src.s[1], p->src.s[2]};
    float *room = (float *)(void *)(scratch + p->src_at);
    const int64_t columns = p->w[2].in, row = columns * u->channels;
    int64_t kd, kd_end, h = dtp_window_begin(wh, u->oh_begin),
                        h_end = dtp_window_begin(wh, u->oh_end - 1) + (wh->kernel - 1) * wh->step + 1;
    dtp_window_taps(wd, u->od, &kd, &kd_end);
    h = dtp_min64(dtp_max64(h, 0), wh->in);
    h_end = dtp_max64(h, dtp_min64(h_end, wh->in));
    /* Only the planes that taps touch: they lie wd->step apart. */
    const source_t s = {
        (const char *)room, dtp_window_begin(wd, u->od) + kd * wd->step, h, (h_end - h) * row, row,
        u->channels};
    const dtp_load_fn_t load = p->po.vops->load[p->sdt];
    const bool even = p->src.s[2] == u->channels;
    for (int64_t k = kd; k < kd_end; ++k)
        for (int64_t y = h; y < h_end; ++y, room += row) {
            const char *from = base + ((s.d0 + (k - kd) * wd->step) * p->src.s[0] + y * p->src.s[1]) * size;
            if (even) load(room, from, row, 1);
            else
                for (int64_t x = 0; x < columns; ++x)
                    load(room + x * u->channels, from + x * p->src.s[2] * size, u->channels, 1);
        }
    return s;
}

/* A row of f32, u->channels apart, to dst or the workspace. */
static void pool_put(const dtp_pool_plan_t *p, const unit_t *u, dnnl_tp_data_type_t dt, void *to, int64_t oh,
                     const float *tile) {
    const dtp_store_fn_t store = p->po.vops->store[dt];
    const int64_t size = (int64_t)dtp_type_size(dt), columns = p->w[2].out, unit = dtp_pool_unit(&p->dst);
    char *y = (char *)to + (dtp_pool_at(&p->dst, u->n, u->c) + u->od * p->dst.s[0] + oh * p->dst.s[1]) * size;
    if (unit == 1 && p->dst.s[2] == u->channels) {
        store(y, tile, columns * u->channels, 1);
        return;
    }
    for (int64_t x = 0; x < columns; ++x)
        store(y + x * p->dst.s[2] * size, tile + x * u->channels, u->channels, unit);
}

static void pool_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_pool_job_t *j = arg;
    const dtp_pool_plan_t *p = j->pd->plan;
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)j->pd->op;
    char *scratch = dtp_scratch_slot(j->pd, j->ctx, slot);
    char *tile = scratch + p->dst_at, *tap = scratch + p->tap_at;
    char *dst = j->ctx->ptr[DTP_POOLING_DST], *numbers = j->ctx->ptr[DTP_POOLING_WORKSPACE];
    const dtp_window_t *wd = &p->w[0], *wh = &p->w[1];
    const int64_t size = p->type == V_BF16 ? 2 : 4;
    const bool stream = p->stream && (uintptr_t)dst % DTP_CACHE_LINE == 0;
    const bool alone = !p->dst_direct || p->po.len || (p->taps && !p->tap_direct);
    for (int64_t i = begin; i < end; ++i) {
        const unit_t u = pool_unit(p, i);
        const source_t s = pool_source(p, j->ctx, &u, scratch);
        int64_t kd, kd_end, kh, kh_end, rows;
        dtp_window_taps(wd, u.od, &kd, &kd_end);
        const int64_t step_d = p->src_direct ? wd->step * s.step_d : s.step_d;
        const int64_t depth = dtp_window_begin(wd, u.od) + kd * wd->step - s.d0;
        for (int64_t oh = u.oh_begin; oh < u.oh_end; oh += rows) {
            dtp_window_taps(wh, oh, &kh, &kh_end);
            /* Rows of the same taps go to the kernel together, unless something follows each. */
            for (rows = 1; !alone && oh + rows < u.oh_end; ++rows) {
                int64_t first, last;
                dtp_window_taps(wh, oh + rows, &first, &last);
                if (first != kh || last != kh_end) break;
            }
            const int64_t row = dtp_window_begin(wh, oh) + kh * wh->step - s.h0;
            const int64_t nd = kd_end - kd, nh = kh_end - kh;
            const int64_t at = dtp_pool_at(&p->dst, u.n, u.c) + u.od * p->dst.s[0] + oh * p->dst.s[1];
            char *y = p->dst_direct ? dst + at * size : tile;
            const int64_t ld = p->dst_direct ? p->dst.s[2] : u.channels;
            p->kernels->row(&(dtp_pool_row_t){
                .src = s.base + (nd > 0 && nh > 0 ? depth * s.step_d + row * s.step_h : 0) * size,
                .dst = y,
                .tap = !p->taps        ? NULL
                       : p->tap_direct ? numbers + at
                                       : tap,
                .type = p->type,
                .tap_type = p->tap_direct ? V_U8 : V_F32,
                .rows = p->many > 1 ? u.blocks : rows,
                .next_src = p->many > 1 ? p->src.c_stride : wh->stride * s.step_h,
                .next_dst = p->many > 1 ? p->dst.c_stride : p->dst.s[1],
                .ld_src = s.ld,
                .ld_dst = ld,
                .ld_tap = p->tap_direct ? ld : u.channels,
                .step_d = step_d,
                .step_h = wh->step * s.step_h,
                .nd = nd,
                .nh = nh,
                .channels = u.channels,
                .w = p->w[2],
                .first_tap = (kd * wh->kernel + kh) * p->w[2].kernel,
                .tap_d = wh->kernel * p->w[2].kernel,
                .tap_h = p->w[2].kernel,
                .divisor = p->divisor,
                .maximum = p->maximum,
                .stream = stream,
                .least = p->least,
                .exact = p->exact,
                .native = p->native});
            if (p->po.len)
                dtp_postops_apply(&p->po, j->pd, j->ctx, (float *)(void *)y, ld, p->w[2].out, u.channels,
                                  ((u.n * wd->out + u.od) * wh->out + oh) * p->w[2].out, u.c);
            if (!p->dst_direct) pool_put(p, &u, p->ddt, dst, oh, (const float *)(const void *)tile);
            if (p->taps && !p->tap_direct)
                pool_put(p, &u, d->workspace.data_type, numbers, oh, (const float *)(const void *)tap);
        }
    }
}

/* ---- One output of very many pixels ------------------------------------------------------------------- */

/* Shared scratch: [n][shard][c]. */
static void pool_shards(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_pool_job_t *j = arg;
    const dtp_pool_plan_t *p = j->pd->plan;
    const int64_t columns = p->w[2].in;
    float *sums = (float *)(void *)j->ctx->scratch;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i % p->blocks * p->block, shard = i / p->blocks % p->shards,
                      n = i / p->blocks / p->shards;
        const int64_t from = shard * columns / p->shards, to = (shard + 1) * columns / p->shards;
        p->kernels->row(&(dtp_pool_row_t){.src = (const float *)j->ctx->ptr[DTP_POOLING_SRC] +
                                                 dtp_pool_at(&p->src, n, c) + from * p->src.s[2],
                                          .dst = sums + (n * p->shards + shard) * p->c + c,
                                          .ld_src = p->src.s[2],
                                          .rows = 1,
                                          .nd = 1,
                                          .nh = 1,
                                          .channels = dtp_min64(p->block, p->c - c),
                                          .w = {to - from, 1, to - from, 1, 1, 0},
                                          .divisor = 1,
                                          .maximum = p->maximum,
                                          .least = p->least});
    }
}

/* The shards of an image in their order. */
static void pool_gather(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_pool_job_t *j = arg;
    const dtp_pool_plan_t *p = j->pd->plan;
    const float *sums = (const float *)(const void *)j->ctx->scratch;
    float *dst = j->ctx->ptr[DTP_POOLING_DST];
    float *tile = (float *)(void *)(dtp_scratch_slot(j->pd, j->ctx, slot) + p->dst_at);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / p->blocks, c = i % p->blocks * p->block;
        const unit_t u = {.n = n, .c = c, .channels = dtp_min64(p->block, p->c - c), .oh_end = 1};
        float *y = p->dst_direct ? dst + dtp_pool_at(&p->dst, n, c) : tile;
        p->kernels->row(&(dtp_pool_row_t){.src = sums + n * p->shards * p->c + c,
                                          .dst = y,
                                          .ld_src = p->c,
                                          .rows = 1,
                                          .nd = 1,
                                          .nh = 1,
                                          .channels = u.channels,
                                          .w = {p->shards, 1, p->shards, 1, 1, 0},
                                          .divisor = p->volume,
                                          .maximum = p->maximum,
                                          .least = p->least,
                                          .exact = p->exact});
        if (p->po.len) dtp_postops_apply(&p->po, j->pd, j->ctx, y, u.channels, 1, u.channels, n, c);
        if (!p->dst_direct) pool_put(p, &u, p->ddt, dst, 0, tile);
    }
}

void dtp_pool_run_rows(const dtp_pool_job_t *job) {
    const dtp_pool_plan_t *p = job->pd->plan;
    void *arg = (void *)(uintptr_t)job;
    if (p->shards > 1) {
        dtp_parallel_for(job->ctx->par, p->n * p->shards * p->blocks, dtp_max64(1, p->grain), pool_shards,
                         arg);
        dtp_parallel_for(job->ctx->par, p->n * p->blocks, dtp_grain(1. * (double)(p->shards * p->block)),
                         pool_gather, arg);
        return;
    }
    dtp_parallel_for(job->ctx->par, p->units, p->grain, pool_rows, arg);
}
