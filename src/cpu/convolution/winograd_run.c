/* Loops of Winograd convolutions; see winograd.h. */
#include "cpu/convolution/winograd.h"
#include "threading/base/parallel.h"

enum { LOOK_NS = 50000 }; /* work between two looks whether the run is over, by the estimate */

typedef struct {
    const dtp_wino_t *p;
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const float *src, *wei, *bias;
    float *dst;
    const float *add; /* of another tensor than dst; element 0 */
    float *shared_v;
    const dtp_share_t *stop;
} wino_run_t;

/* Tiles side by side: of row `th` of tiles of an image, `n` from column `tw` on. */
typedef struct {
    int64_t image, th, tw, n;
} run_t;

static run_t run_at(const dtp_wino_t *p, int64_t tile, int64_t end) {
    run_t r;
    r.tw = tile % p->tiles_w;
    r.th = tile / p->tiles_w % p->tiles_h;
    r.image = tile / p->tiles_w / p->tiles_h;
    r.n = dtp_min64(p->tiles_w - r.tw, end - tile);
    return r;
}

/* Channels [c0, c1) of tiles [t0, t1); v: of the first of these tiles. */
static void transform_src(const wino_run_t *run, int64_t t0, int64_t t1, int64_t c0, int64_t c1, float *v) {
    const dtp_wino_t *p = run->p;
    dtp_wino_src_t a = {.row = p->src_h,
                        .ld = p->src_w,
                        .width = p->iw,
                        .channels = c1 - c0,
                        .tile = p->v_tile,
                        .point = p->v_point};
    for (int64_t t = t0; t < t1; t += a.ntiles) {
        const run_t r = run_at(p, t, t1);
        const int64_t y = r.th * p->out - p->top;
        a.h0 = dtp_min64(dtp_max64(-y, 0), p->in);
        a.h1 = dtp_max64(dtp_min64(p->ih - y, p->in), a.h0);
        a.src = run->src + r.image * p->src_n + y * p->src_h + c0;
        a.column = r.tw * p->out - p->left;
        a.ntiles = r.n;
        a.v = v + (t - t0) * p->v_tile + c0;
        p->kern->src[p->size](&a);
    }
}

/* What follows the sums where the kernel does not do it: `rows` lines of `columns` pixels at x, ld and row as in dst's
 * descriptor of the call; pixel: number of the first one. */
static void finish(const wino_run_t *run, float *x, int64_t row, int64_t ld, int64_t rows, int64_t columns,
                   int64_t c0, int64_t cols, int64_t pixel, float *to) {
    const dtp_wino_t *p = run->p;
    for (int64_t i = 0; i < rows; ++i, x += row, to += p->dst_h, pixel += p->ow) {
        if (!p->tiled) {
            p->fused.act(
                &(dtp_eltwise_args_t){x, x, ld, ld, columns, cols, p->fused.act_alpha, p->fused.act_beta, 0});
            continue;
        }
        dtp_postops_apply(&p->po, run->pd, run->ctx, x, ld, columns, cols, pixel, c0);
        for (int64_t j = 0; j < columns; ++j) memcpy(to + j * p->dst_w, x + j * ld, (size_t)cols * sizeof *x);
    }
}

/* Output channels of panels [g0, g1) of tiles [t0, t1), whose products are m. */
static void transform_dst(const wino_run_t *run, int64_t t0, int64_t t1, int64_t g0, int64_t g1,
                          const float *m, float *tile) {
    const dtp_wino_t *p = run->p;
    const int64_t c0 = g0 * DTP_WINO_PANEL, cols = dtp_min64(g1 * DTP_WINO_PANEL, p->oc) - c0;
    dtp_wino_dst_t a = {.tile = p->m_tile,
                        .point = p->m_point,
                        .row = p->dst_h,
                        .ld = p->dst_w,
                        .channels = cols,
                        .bias = run->bias ? run->bias + c0 : NULL};
    if (!p->tiled) {
        a.relu_first = (p->fused.flags & DTP_UKR_RELU_FIRST) != 0;
        a.floors = (p->fused.flags & DTP_UKR_FLOOR) != 0;
        a.caps = (p->fused.flags & DTP_UKR_CAP) != 0;
        a.floor = p->fused.floor;
        a.cap = p->fused.cap;
        a.add_scale = p->fused.add_scale;
    }
    for (int64_t t = t0; t < t1; t += a.ntiles) {
        const run_t r = run_at(p, t, t1);
        const int64_t y = r.th * p->out, x = r.tw * p->out, pixel = (r.image * p->oh + y) * p->ow + x;
        float *dst = run->dst + r.image * p->dst_n + y * p->dst_h + x * p->dst_w + c0;
        a.ntiles = r.n;
        a.m = m + (t - t0) * p->m_tile;
        a.height = dtp_min64(p->oh - y, p->out);
        a.width = dtp_min64(p->ow - x, r.n * p->out);
        a.dst = dst;
        if (p->tiled) {
            a.dst = tile;
            a.ld = dtp_round_up(cols, DTP_WINO_LANES);
            a.row = a.width * a.ld;
        } else if (p->fused.has_add) {
            const int64_t ld = p->fused.add_row_stride;
            a.add = p->fused.add_is_c ? dst : run->add + pixel * ld + c0;
            a.add_ld = p->fused.add_is_c ? p->dst_w : ld;
            a.add_row = p->fused.add_is_c ? p->dst_h : p->ow * ld;
        }
        p->kern->dst[p->size](&a);
        if (p->tiled || p->fused.act)
            finish(run, a.dst, a.row, a.ld, a.height, a.width, c0, cols, pixel, dst);
    }
}

/* Products of panels [g0, g1) at one point. next: the strip that is read after them. */
static void multiply(const wino_run_t *run, int64_t rows, int64_t point, int64_t g0, int64_t g1,
                     const float *v, float *m, const float *next) {
    const dtp_wino_t *p = run->p;
    const float *u0 = run->wei + point * p->wei_point;
    for (int64_t s = g0, end; s < g1; s = end) {
        /* Two even strips rather than a narrow rest. */
        end = dtp_min64(s + p->nv, g1);
        if (g1 - end > 0 && g1 - end < p->nv - 1) end = s + dtp_div_up(g1 - s, 2);
        dtp_ukr_args_t u;
        memset(&u, 0, sizeof u);
        u.a = (const char *)(v + point * p->v_point);
        u.lda = p->v_tile * (int64_t)sizeof *v;
        u.b = (const char *)(u0 + s * p->wei_panel);
        u.bs = p->wei_panel * (int64_t)sizeof *v;
        u.bstep = DTP_UKR_PANEL_BYTES;
        u.c = (char *)(m + point * p->m_point + (s - g0) * DTP_WINO_PANEL);
        u.ldc = p->m_tile * (int64_t)sizeof *m;
        u.ntap = 1;
        u.k = p->ic;
        u.mask = 0xffff;
        dtp_gemm_rows(p->ukr, &u, (int)(end - s), rows,
                      (const char *)(end < g1 ? u0 + end * p->wei_panel : next));
    }
}

/* Panels [p0, p1) of tiles [t0, t1); false: the run is over. */
static bool block_panels(const wino_run_t *run, int64_t t0, int64_t t1, int64_t p0, int64_t p1,
                         const float *v, float *m, float *tile) {
    const dtp_wino_t *p = run->p;
    const double look = LOOK_NS * p->ukr->flops_per_ns,
                 flops = 2. * (double)(t1 - t0) * (double)p->ic * DTP_WINO_PANEL;
    double unseen = 0;
    for (int64_t g0 = p0, g1; g0 < p1; g0 = g1) {
        g1 = dtp_min64(g0 + p->group, p1);
        for (int64_t i = 0; i < p->points; ++i) {
            const float *next = run->wei + (i + 1) * p->wei_point + g0 * p->wei_panel;
            if (i + 1 == p->points) next = run->wei + (g1 < p1 ? g1 : p0) * p->wei_panel;
            multiply(run, t1 - t0, i, g0, g1, v, m, next);
            if (run->stop && (unseen += flops * (double)(g1 - g0)) > look) {
                unseen = 0;
                if (dtp_share_over(run->stop)) return false;
            }
        }
        transform_dst(run, t0, t1, g0, g1, m, tile);
    }
    return true;
}

static void wino_units(void *arg, int slot, int64_t begin, int64_t end) {
    const wino_run_t *run = arg;
    const dtp_wino_t *p = run->p;
    char *room = dtp_scratch_slot(run->pd, run->ctx, slot);
    float *own_v = (float *)(void *)room;
    if (!p->shared) room += p->v_bytes;
    float *m = (float *)(void *)room, *tile = (float *)(void *)(room + p->m_bytes);
    const int64_t strips = dtp_div_up(p->npanels, p->nv);
    for (int64_t u = begin; u < end; ++u) {
        const int64_t b = u % p->nblocks, part = u / p->nblocks;
        const int64_t t0 = p->tiles * b / p->nblocks, t1 = p->tiles * (b + 1) / p->nblocks;
        const int64_t p0 = strips * part / p->parts * p->nv,
                      p1 = dtp_min64(strips * (part + 1) / p->parts * p->nv, p->npanels);
        const float *v = own_v;
        if (p->shared) v = run->shared_v + t0 * p->v_tile;
        else transform_src(run, t0, t1, 0, p->ic, own_v);
        if (!block_panels(run, t0, t1, p0, p1, v, m, tile)) return;
    }
}

/* A row of tiles, some channels. */
static void src_units(void *arg, int slot, int64_t begin, int64_t end) {
    const wino_run_t *run = arg;
    const dtp_wino_t *p = run->p;
    const int64_t chunks = dtp_div_up(p->ic, p->chunk);
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        const int64_t t0 = u / chunks * p->tiles_w, c0 = u % chunks * p->chunk;
        transform_src(run, t0, t0 + p->tiles_w, c0, dtp_min64(c0 + p->chunk, p->ic),
                      run->shared_v + t0 * p->v_tile);
    }
}

static void wei_units(void *arg, int slot, int64_t begin, int64_t end) {
    const wino_run_t *run = arg;
    const dtp_wino_t *p = run->p;
    (void)slot;
    dtp_wino_transform(&p->from, run->ctx->ptr[DTP_CONV_WEI], (float *)(void *)run->ctx->scratch, p->ukr,
                       p->kern, p->layout, begin, end);
}

void dtp_wino_run(const dtp_wino_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    if (p->units == 0) return;
    wino_run_t run = {.p = p, .pd = pd, .ctx = ctx};
    run.src = (const float *)ctx->ptr[DTP_CONV_SRC] + p->src_0;
    run.wei = ctx->ptr[DTP_CONV_WEI];
    run.dst = (float *)ctx->ptr[DTP_CONV_DST] + p->dst_0;
    if (p->has_bias) run.bias = (const float *)ctx->ptr[DTP_CONV_BIA] + p->bia_0;
    if (!p->tiled && p->fused.has_add && !p->fused.add_is_c)
        run.add = (const float *)ctx->ptr[p->fused.add_arg] + p->fused.add_offset;
    if ((double)p->unit_ns * (double)p->units > LOOK_NS) run.stop = dtp_parallel_stop(ctx->par);
    if (p->packs_wei) {
        run.wei = (const float *)(const void *)ctx->scratch;
        dtp_parallel_for(ctx->par, p->npanels, dtp_grain(10. + (double)p->wei_bytes / (double)p->npanels / 8),
                         wei_units, &run);
    }
    if (p->shared) {
        run.shared_v = (float *)(void *)(ctx->scratch + p->wei_bytes);
        const double ns = (double)(p->points * p->tiles_w * dtp_min64(p->chunk, p->ic)) / 8;
        dtp_parallel_for(ctx->par, p->src_units, dtp_grain(10. + ns), src_units, &run);
    }
    if (p->alone) wino_units(&run, 0, 0, p->units);
    else dtp_parallel_for(ctx->par, p->units, -p->unit_ns, wino_units, &run);
}
