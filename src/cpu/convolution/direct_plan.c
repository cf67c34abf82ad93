/* Blocking and split of direct convolutions; see direct.h. */
#include "cpu/convolution/direct.h"

enum {
    ROWS_PARTS =
        7, /* of ROWS_WHOLE parts of the L2, for what a chunk of pixels reads; weights take the others */
    ROWS_WHOLE = 16,
    LEAST_PASS = 128, /* channels of a pass */
    FEW_STEPS = 192,  /* of two column panels stay in the L1, where there are no wider tiles */
    LEAST_ROWS = 64,  /* of a chunk; */
    MOST_ROWS = 1024,
    TILE_ROWS = 256,       /* where sums go through a tile */
    ACT_BYTES = 32 * 1024, /* of weights; of sums, which a function then finds in the L1 */
    SHORT_STEPS = 192,     /* k-steps */
    SHARE_ROWS = 96,       /* fewer pixels for a thread: the column panels are split */
    ALONE_NS = 2000,       /* not worth a second thread */
    UNIT_NS = 1000000      /* a thread of several is not kept longer */
};

/* Passes as dtp_gemm_pass has them, in whole elements of the kernel; blocks of many channels are split for that. */
static void plan_passes(dtp_conv_direct_t *p) {
    enum { MOST = DTP_GEMM_K_ONE };
    const int64_t rows = p->win[0].kernel * p->win[1].kernel, width = p->win[2].kernel;
    if (p->block_k > MOST) {
        int64_t parts = dtp_div_up(p->block_k, DTP_GEMM_K_PASS);
        while (parts < p->block_k / LEAST_PASS && p->block_k % parts) ++parts;
        if (p->block_k % parts == 0) {
            p->blocks = parts;
            p->block_k /= parts;
            p->src_b = p->block_k * DTP_UKR_STEP_BYTES;
            p->wei_b = p->block_k * dtp_conv_panel_step(p);
            p->merged = p->merged && width == 1;
        }
    }
    p->merged = p->merged && (width * p->block_k <= MOST || width == 1);
    p->elements = p->blocks * rows * (p->merged ? 1 : width);
    const int64_t k = dtp_max64(p->merged ? width * p->block_k : p->block_k, 1);
    const int64_t fit = dtp_max64(MOST / k, 1);
    p->passes = dtp_div_up(p->elements, fit);
    p->pass_elements = dtp_div_up(p->elements, p->passes);
    p->passes = dtp_div_up(p->elements, p->pass_elements);
}

/* Share of the threads' time that is work, with so many equal units. */
static double evenness(int64_t units, int threads) {
    return (double)units / ((double)threads * (double)dtp_div_up(units, threads));
}

/* Do groups share lines of src or dst in each pixel? The processor fetches lines in pairs. */
static bool groups_share_lines(const dtp_conv_direct_t *p) {
    enum { PAIR = 2 * DTP_CACHE_LINE };
    return p->groups > 1 && p->dst_g < p->dst_x[2] && (p->dst_g % PAIR || p->src_g % PAIR);
}

static int64_t round_up(double x) { return (int64_t)x + ((double)(int64_t)x < x); }

/* More units, most_units if the sizes allow it. Parts of the column panels read src again, if it has
 * several chunks; chunks of lines read the weights again. The cheaper split comes first. */
static void split_long_units(dtp_conv_direct_t *p, double most_units, double src, double wei, int64_t strips,
                             int64_t lines) {
    const double chunks = (double)(p->row_chunks * p->line_chunks);
    double more = most_units / (chunks * (double)(p->groups * p->panel_parts));
    if (more <= 1) return;
    /* A multiple of the parts there are: the shares of the threads stay even. */
    const int64_t most = strips / p->panel_parts, times = more < (double)most ? round_up(more) : most;
    const double added = (double)(p->panel_parts * (times - 1));
    if (!p->groups_inside && times > 1 && (chunks == 1 || src * added <= wei * chunks * (more - 1))) {
        p->panel_parts *= times;
        more /= (double)times;
    }
    if (more > 1) p->line_chunks = dtp_min64(p->line_chunks * round_up(more), lines);
}

static void plan_split(dtp_conv_direct_t *p, const dtp_pd_t *pd) {
    const int threads = pd->num_threads;
    const dtp_window_t *w = p->win;
    const int64_t lines = p->images * w[0].out * w[1].out, pixels = lines * w[2].out;
    const double k = (double)p->steps * (double)w[0].kernel * (double)w[1].kernel * (double)w[2].kernel;
    const double ns = 2. * (double)pixels * (double)(p->npanels * dtp_conv_panel(p) * p->groups) * k /
                          p->ukr->flops_per_ns +
                      (double)pixels + 1;
    const double src = (double)p->images * w[0].in * w[1].in * w[2].in * (double)p->steps,
                 wei = k * (double)p->oc;
    const int64_t strips = dtp_div_up(p->npanels, p->nv);
    p->panel_parts = 1;
    p->groups_inside = false;
    p->row_chunks = dtp_div_up(w[2].out, p->max_rows);
    const int64_t line_rows = dtp_div_up(w[2].out, p->row_chunks);
    p->line_chunks = dtp_div_up(lines, dtp_max64(p->max_rows / line_rows, 1));
    if (threads > 1 && ns >= ALONE_NS) {
        /* Weights, or src, are read once by each thread: what is larger is split, but no tile gets too few rows. */
        const bool by_panels = strips > 1 && (wei > src || pixels < SHARE_ROWS * (int64_t)threads);
        /* Threads that each took a group would write to the same lines of every pixel: they share the pixels, if
         * the weights, which each of them then reads, are no larger than src. */
        p->groups_inside = groups_share_lines(p) && !by_panels && wei <= src && lines >= threads;
        const int64_t base = p->groups_inside ? p->row_chunks : p->groups * p->row_chunks,
                      chunks = p->line_chunks;
        double best = evenness(base * chunks, threads);
        for (int step = 0; step < 2 - p->groups_inside && best < 0.95; ++step) {
            const bool panels = by_panels == (step == 0) && !p->groups_inside;
            const int64_t limit = dtp_min64(panels ? strips : lines, 16 * (int64_t)threads);
            for (int64_t c = 2; c <= limit && best < 0.95; ++c) {
                const int64_t n = panels ? base * chunks * c : base * dtp_max64(chunks, c);
                const double even = evenness(n, threads);
                if (even <= best + 0.02) continue;
                best = even;
                p->panel_parts = panels ? c : 1;
                p->line_chunks = panels ? chunks : dtp_max64(chunks, c);
            }
        }
    }
    p->panel_parts = dtp_min64(p->panel_parts, dtp_max64(strips, 1));
    if (threads > 1) split_long_units(p, ns / UNIT_NS, src, wei, strips, lines);
    p->units = p->groups * p->row_chunks * p->line_chunks * p->panel_parts;
    const double unit_ns = ns / (double)dtp_max64(p->units, 1);
    p->unit_ns = unit_ns < 1e9 ? (int64_t)unit_ns + 1 : (int64_t)1e9;
    p->alone = threads < 2 || p->units < 2 || ns < ALONE_NS;
}

static bool streams_dst(const dtp_conv_direct_t *p, const dtp_pd_t *pd) {
    double src = (double)(p->images * p->groups * p->steps), dst = (double)(p->images * p->groups * p->oc);
    for (int i = 0; i < 3; ++i) {
        src *= (double)p->win[i].in;
        dst *= (double)p->win[i].out;
    }
    const int64_t strides = p->dst_n | p->dst_p | p->dst_x[0] | p->dst_x[1] | p->dst_x[2];
    return dtp_exceeds_caches((src + dst) * DTP_UKR_STEP_BYTES, pd->engine->l3_bytes) && !p->k_lanes &&
           !p->tiled && p->passes == 1 && !p->fused.add_is_c && !p->fused.act && p->dst_dt == dnnl_tp_f32 &&
           p->oc % DTP_UKR_PANEL == 0 && strides % DTP_CACHE_LINE == 0;
}

void dtp_conv_direct_plan(dtp_conv_direct_t *p, dtp_pd_t *pd) {
    const dtp_window_t *w = p->win;
    const int64_t l2 = pd->engine->l2_bytes;
    p->npanels = dtp_div_up(p->oc, dtp_conv_panel(p));
    p->nv = 1;
    const int *mr = p->ukr->max_mr;
    if (p->ukr->max_nv > 2 && mr[3]) p->nv = p->npanels % 3 && p->npanels % 4 == 0 ? 4 : 3;
    else if (!p->ukr->is_bf16 && mr[2] && p->oc % (2 * DTP_UKR_PANEL) == 0 &&
             p->steps * w[0].kernel * w[1].kernel * w[2].kernel <= FEW_STEPS)
        p->nv = 2;
    if (p->k_lanes) p->nv = (int)dtp_div_up(p->oc, dtp_max64(dtp_div_up(p->oc, p->k_lanes->columns), 1));
    if (p->dst_p != dtp_conv_panel(p) * p->dst_c) p->nv = 1;
    p->nv = (int)dtp_max64(dtp_min64(p->nv, p->npanels), 1);
    p->half_panel = !p->k_lanes && p->dst_p == DTP_UKR_PANEL * p->dst_c &&
                    dtp_gemm_takes_half_panel(p->ukr, p->nv, p->npanels, p->oc);
    plan_passes(p);
    p->short_sums =
        p->elements * p->block_k <= SHORT_STEPS && p->passes == 1 && p->ukr->elems == 1 && !p->k_lanes;
    /* What a pixel adds to the src that is read. */
    double bytes = (double)dtp_max64(p->steps, 1) * DTP_UKR_STEP_BYTES;
    for (int i = 0; i < 3; ++i)
        bytes *= (double)w[i].stride < (double)w[i].kernel * (double)w[i].step ? (double)w[i].stride
                                                                               : (double)w[i].kernel;
    const double fit = (double)(l2 * ROWS_PARTS / ROWS_WHOLE) / bytes;
    int64_t rows = fit < MOST_ROWS ? (int64_t)fit : MOST_ROWS;
    rows = dtp_min64(dtp_max64(rows, LEAST_ROWS), p->tiled ? TILE_ROWS : MOST_ROWS);
    if (p->fused.act && p->npanels * p->elements * p->block_k * DTP_UKR_PANEL_BYTES <= ACT_BYTES)
        rows = dtp_min64(rows, ACT_BYTES / (p->nv * DTP_UKR_PANEL_BYTES));
    const int64_t lines = p->images * w[0].out * w[1].out, pixels = lines * w[2].out;
    if (pixels <= 0 || p->oc == 0) {
        p->units = 0;
        return;
    }
    p->max_rows = dtp_max64(dtp_min64(rows, pixels), 1);
    p->max_classes = 1;
    for (int i = 0; i < 3; ++i) {
        const int64_t segments = w[i].kernel < w[i].out ? dtp_min64(w[i].out, 2 * w[i].kernel + 1) : w[i].out;
        p->max_classes = dtp_min64(p->max_classes * dtp_min64(segments, p->max_rows), p->max_rows);
    }
    plan_split(p, pd);
    p->stream_c = streams_dst(p, pd);
    const int64_t tables = 3 * p->max_rows * (int64_t)sizeof(int64_t);
    p->at_classes = dtp_round_up(tables, DTP_CACHE_LINE);
    p->at_taps =
        dtp_round_up(p->at_classes + p->max_classes * (int64_t)sizeof(dtp_conv_class_t), DTP_CACHE_LINE);
    p->at_tile = dtp_round_up(p->at_taps + p->pass_elements * (int64_t)sizeof(dtp_ukr_tap_t), DTP_CACHE_LINE);
    const int64_t tile = p->tiled ? p->max_rows * DTP_GEMM_TILE_LD * (int64_t)sizeof(float) : 0;
    p->packed_src_bytes = 0;
    int64_t shared = 0;
    if (p->packs_src) shared = p->packed_src_bytes = dtp_round_up(p->images * p->src_n, DTP_CACHE_LINE);
    if (p->packs_wei) shared += p->groups * p->wei_g;
    dtp_pd_book(pd, (size_t)shared, (size_t)(p->at_tile + tile));
}
