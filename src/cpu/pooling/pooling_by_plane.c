/* Pooling plane by plane; see pooling_plan.h. */
#include "cpu/access/rows.h"
#include "cpu/pooling/pooling_plan.h"

#include "threading/base/parallel.h"

static void pool_planes(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_pool_job_t *j = arg;
    const dtp_pool_plan_t *p = j->pd->plan;
    const dtp_pooling_desc_t *d = (const dtp_pooling_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    char *scratch = dtp_scratch_slot(j->pd, j->ctx, slot);
    float *copy = (float *)(void *)(scratch + p->src_at), *tile = (float *)(void *)(scratch + p->dst_at);
    const dtp_window_t *wd = &p->w[0], *wh = &p->w[1], *ww = &p->w[2];
    const int64_t in = wh->in * ww->in, out = wh->out * ww->out;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t od = i % wd->out, plane = i / wd->out, n = plane / p->c, c = plane % p->c;
        int64_t kd, kd_end;
        dtp_window_taps(wd, od, &kd, &kd_end);
        const int64_t depth = dtp_window_begin(wd, od) + kd * wd->step;
        dtp_pool_plane_t a = {
            .room = (float *)(void *)scratch,
            .taps = (const float *)(const void *)(j->ctx->scratch),
            .tap = p->taps ? (float *)(void *)(scratch + p->tap_at) : NULL,
            .nd = kd_end - kd,
            .pick = p->picks ? (const int32_t *)(const void *)(j->ctx->scratch + p->picks_at) : NULL,
            .columns = p->runs ? (const uint32_t *)(const void *)(j->ctx->scratch + p->picks_at) : NULL,
            .planes = 1,
            .h = *wh,
            .w = *ww,
            .first_tap = kd * wh->kernel * ww->kernel,
            .tap_d = wh->kernel * ww->kernel,
            .divisor = p->divisor,
            .maximum = p->maximum,
            .exact = p->exact};
        if (p->src_direct) {
            a.src = (const float *)ptr[DTP_POOLING_SRC] + dtp_pool_at(&p->src, n, c) + depth * p->src.s[0];
            a.ld_src = p->src.s[1];
            a.step_d = wd->step * p->src.s[0];
        } else {
            for (int64_t k = 0; k < a.nd; ++k)
                dtp_rows_load(p->po.vops, &d->src, ptr[DTP_POOLING_SRC],
                              (plane * wd->in + depth + k * wd->step) * in, in, copy + k * in);
            a.src = copy;
            a.ld_src = ww->in;
            a.step_d = in;
        }
        a.dst = tile;
        a.ld_dst = ww->out;
        if (p->dst_direct) {
            a.dst = (float *)ptr[DTP_POOLING_DST] + dtp_pool_at(&p->dst, n, c) + od * p->dst.s[0];
            a.ld_dst = p->dst.s[1];
        }
        if (p->src_direct && p->dst_direct && !p->po.len && !p->taps && wd->out == 1) {
            a.planes = dtp_min64(end - i, p->c - c);
            a.next_src = p->src.c_stride;
            a.next_dst = p->dst.c_stride;
            i += a.planes - 1;
        }
        p->kernels->plane(&a);
        if (p->po.len)
            dtp_postops_apply(&p->po, j->pd, j->ctx, a.dst, a.ld_dst, wh->out, ww->out, i * wh->out, 0);
        if (!p->dst_direct) dtp_rows_store(p->po.vops, &d->dst, ptr[DTP_POOLING_DST], i * out, out, tile);
        if (p->taps)
            dtp_rows_store(p->po.vops, &d->workspace, ptr[DTP_POOLING_WORKSPACE], i * out, out, a.tap);
    }
}

/* One output for each plane. */
static void pool_whole(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_pool_job_t *j = arg;
    const dtp_pool_plan_t *p = j->pd->plan;
    float *dst = j->ctx->ptr[DTP_POOLING_DST];
    (void)slot;
    while (begin < end) {
        const int64_t n = begin / p->c, c = begin % p->c, count = dtp_min64(end - begin, p->c - c);
        p->kernels->whole(&(dtp_pool_whole_t){.src = (const float *)j->ctx->ptr[DTP_POOLING_SRC] +
                                                     dtp_pool_at(&p->src, n, c),
                                              .dst = dst + dtp_pool_at(&p->dst, n, c),
                                              .ld_src = p->src.c_stride,
                                              .ld_dst = p->dst.c_stride,
                                              .planes = count,
                                              .n = p->w[2].in,
                                              .maximum = p->maximum});
        for (int64_t i = 0; i < count && p->po.len; ++i)
            dtp_postops_apply(&p->po, j->pd, j->ctx, dst + dtp_pool_at(&p->dst, n, c + i), 1, 1, 1, begin + i,
                              0);
        begin += count;
    }
}

/* dtp_pool_plane_t.columns and, of sums that count taps, .taps, of planes that are one run. */
static void pool_run_tables(const dtp_pool_plan_t *p, float *counts, uint32_t *columns) {
    const dtp_window_t *wh = &p->w[1], *ww = &p->w[2];
    const int64_t lanes = p->kernels->lanes, n = wh->in * ww->in, vectors = dtp_div_up(n, lanes);
    for (int64_t i = 0; i < 2 * vectors; ++i) columns[i] = UINT32_MAX;
    for (int64_t row = 0; row < n; row += ww->in) {
        const int64_t last = row + ww->in - 1;
        columns[2 * (row / lanes)] &= ~(1u << row % lanes);
        columns[2 * (last / lanes) + 1] &= ~(1u << last % lanes);
    }
    for (int64_t row = 0; row < wh->in && !p->maximum && !p->divisor; ++row) {
        int64_t h, h_end, k, k_end;
        dtp_window_taps(wh, row, &h, &h_end);
        for (int64_t at = 0; at < ww->in; ++at) {
            dtp_window_taps(ww, at, &k, &k_end);
            const float taps = (float)((h_end - h) * (k_end - k));
            counts[row * ww->in + at] = p->exact ? taps : 1.f / taps;
        }
    }
}

void dtp_pool_run_planes(const dtp_pool_job_t *job) {
    const dtp_pool_plan_t *p = job->pd->plan;
    void *arg = (void *)(uintptr_t)job;
    if (p->whole) {
        dtp_parallel_for(job->ctx->par, p->units, p->grain, pool_whole, arg);
        return;
    }
    float *counts = (float *)(void *)job->ctx->scratch;
    const bool counted = !p->maximum && !p->divisor;
    for (int64_t ow = 0; ow < p->w[2].out && (p->taps || counted) && !p->runs; ++ow) {
        int64_t k, end;
        dtp_window_taps(&p->w[2], ow, &k, &end);
        counts[ow] = p->taps ? (float)k : p->exact ? (float)(end - k) : 1.f / (float)(end - k);
    }
    int32_t *pick = (int32_t *)(void *)(job->ctx->scratch + p->picks_at);
    const int64_t lanes = p->kernels->lanes;
    for (int64_t ow = 0; ow < p->w[2].out && p->picks; ow += lanes)
        for (int64_t k = 0; k < p->w[2].kernel; ++k)
            for (int64_t l = 0; l < lanes; ++l) {
                const int64_t at = dtp_window_begin(&p->w[2], ow + l) + k * p->w[2].step;
                *pick++ = ow + l < p->w[2].out && at >= 0 && at < p->w[2].in ? (int32_t)at : -1;
            }
    if (p->runs) pool_run_tables(p, counts, (uint32_t *)(void *)(job->ctx->scratch + p->picks_at));
    dtp_parallel_for(job->ctx->par, p->units, p->grain, pool_planes, arg);
}
