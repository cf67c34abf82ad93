/* Loops of direct convolutions; see direct.h. */
#include "cpu/convolution/direct.h"
#include "threading/base/parallel.h"

enum {
    F32 = 4,
    LONG_RUN = 2 * DTP_UKR_TALL_ROWS, /* rows that are neighbours and need no tables */
    LOOK_NS = 50000                   /* work between two looks whether the run is over, by the estimate */
};

typedef struct {
    const dtp_conv_direct_t *p;
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const char *src, *wei; /* as the kernels read them */
    char *dst;
    const char *bias, *add;
    bool add_is_c;
    uint32_t stream_c; /* DTP_UKR_STREAM or 0 */
    const dtp_share_t *stop;
} conv_run_t;

/* A chunk of pixels of one group. */
typedef struct {
    const conv_run_t *run;
    int64_t *row_a, *row_c,
        *pixel; /* of each row: offsets in src and dst; for what follows sums, number among the pixels of dst */
    dtp_conv_class_t *classes;
    int nclasses;
    dtp_ukr_tap_t *taps;
    float *tile;
    int64_t group;
} conv_chunk_t;

/* ---- Classes ----------------------------------------------------------------------------------------- */

/* The end of the positions from o on that see the same elements. */
static int64_t segment_end(const dtp_window_t *w, int64_t o, int64_t end, int64_t *lo, int64_t *hi) {
    dtp_window_taps(w, o, lo, hi);
    if (*lo == 0 && *hi == w->kernel) /* the last one that sees all of them */
        return dtp_min64(end,
                         (w->in - 1 - (w->kernel - 1) * w->step - dtp_window_begin(w, 0)) / w->stride + 1);
    for (++o; o < end; ++o) {
        int64_t l, h;
        dtp_window_taps(w, o, &l, &h);
        if (l != *lo || h != *hi) break;
    }
    return o;
}

static void class_passes(const dtp_conv_direct_t *p, dtp_conv_class_t *c) {
    c->first = c->last = 0;
    for (int i = 0; i < 3; ++i)
        if (c->lo[i] == c->hi[i]) return;
    const int64_t width = p->merged ? 1 : p->win[2].kernel;
    const int64_t first = (c->lo[0] * p->win[1].kernel + c->lo[1]) * width + (p->merged ? 0 : c->lo[2]);
    const int64_t d_last = (p->blocks - 1) * p->win[0].kernel + c->hi[0] - 1;
    const int64_t last = (d_last * p->win[1].kernel + c->hi[1] - 1) * width + (p->merged ? 0 : c->hi[2] - 1);
    c->first = first / p->pass_elements;
    c->last = last / p->pass_elements;
}

static void fill_steps(int64_t *to, int64_t n, int64_t first, int64_t step) {
    for (int64_t i = 0; i < n; ++i) to[i] = first + i * step;
}

/* Pixels x0..x1 - 1 of a line: rows from `row` on. */
static void push_pixels(conv_chunk_t *k, const dtp_conv_class_t *c, const int64_t pos[4], int64_t x1,
                        int64_t row) {
    const dtp_conv_direct_t *p = k->run->p;
    bool empty = false;
    for (int i = 0; i < 3; ++i) empty |= c->lo[i] == c->hi[i];
    int64_t a = pos[0] * p->src_n, to = pos[0] * p->dst_n, pixel = pos[0];
    for (int i = 0; i < 3; ++i) {
        const dtp_window_t *w = &p->win[i];
        a += (dtp_window_begin(w, pos[1 + i]) + c->lo[i] * w->step) * p->src_x[i];
        to += pos[1 + i] * p->dst_x[i];
        pixel = pixel * w->out + pos[1 + i];
    }
    const int64_t step = empty ? 0 : p->win[2].stride * p->src_x[2]; /* empty: nothing is read */
    const int64_t n = c->run ? 1 : x1 - pos[3];
    fill_steps(k->row_a + row, n, empty ? 0 : a, step);
    fill_steps(k->row_c + row, n, to, p->dst_x[2]);
    if (p->tiled || p->fused.act) fill_steps(k->pixel + row, n, pixel, 1);
}

/* Lines [l0, l1), pixels [x0, x1) of each. */
static void make_classes(conv_chunk_t *k, int64_t l0, int64_t l1, int64_t x0, int64_t x1) {
    const dtp_conv_direct_t *p = k->run->p;
    const dtp_window_t *D = &p->win[0], *H = &p->win[1], *W = &p->win[2];
    const int64_t plane = D->out * H->out, n0 = l0 / plane, n1 = (l1 - 1) / plane;
    int64_t d0 = 0, d1 = D->out, h0 = 0, h1 = H->out, row = 0;
    if (n0 == n1) {
        d0 = l0 % plane / H->out, d1 = (l1 - 1) % plane / H->out + 1;
        if (d1 - d0 == 1) h0 = l0 % H->out, h1 = (l1 - 1) % H->out + 1;
    }
    k->nclasses = 0;
    dtp_conv_class_t c;
    for (int64_t d = d0, d_end; d < d1; d = d_end) {
        d_end = segment_end(D, d, d1, &c.lo[0], &c.hi[0]);
        for (int64_t h = h0, h_end; h < h1; h = h_end) {
            h_end = segment_end(H, h, h1, &c.lo[1], &c.hi[1]);
            for (int64_t x = x0, x_end; x < x1; x = x_end) {
                x_end = segment_end(W, x, x1, &c.lo[2], &c.hi[2]);
                c.row0 = row;
                c.run = p->short_sums && x_end - x >= LONG_RUN ? x_end - x : 0;
                int64_t pos[4] = {0, 0, 0, x};
                for (pos[0] = n0; pos[0] <= n1; ++pos[0])
                    for (pos[1] = d; pos[1] < d_end; ++pos[1])
                        for (pos[2] = h; pos[2] < h_end; ++pos[2]) {
                            const int64_t line = (pos[0] * D->out + pos[1]) * H->out + pos[2];
                            if (line < l0 || line >= l1) continue;
                            push_pixels(k, &c, pos, x_end, row);
                            row += x_end - x;
                        }
                c.rows = row - c.row0;
                if (c.rows == 0) continue;
                class_passes(p, &c);
                k->classes[k->nclasses++] = c;
                /* The largest first: it fetches the next strip. */
                if (c.rows > k->classes[0].rows) {
                    k->classes[k->nclasses - 1] = k->classes[0];
                    k->classes[0] = c;
                }
            }
        }
    }
}

/* Where in a row of the weights its element w begins. */
static int64_t wei_at(const dtp_conv_direct_t *p, int64_t w) {
    if (!p->fold) return w * p->wei_x[2];
    const int64_t e = w * p->fold, elems = p->ukr->elems;
    return e / elems * DTP_UKR_PANEL_BYTES + e % elems * p->wei_row;
}

/* Elements of the class in [e0, e1) as taps; their number. */
static int64_t make_taps(const dtp_conv_direct_t *p, const dtp_conv_class_t *c, int64_t e0, int64_t e1,
                         dtp_ukr_tap_t *taps) {
    const dtp_window_t *D = &p->win[0], *H = &p->win[1], *W = &p->win[2];
    const int64_t width = p->merged ? 1 : W->kernel;
    const int64_t w0 = c->lo[2], w1 = p->merged ? dtp_min64(w0 + 1, c->hi[2]) : c->hi[2];
    const int64_t planes = c->hi[0] - c->lo[0];
    int64_t n = 0;
    for (int64_t plane = 0; plane < p->blocks * planes; ++plane) {
        const int64_t b = plane / planes, d = c->lo[0] + plane % planes;
        for (int64_t h = c->lo[1]; h < c->hi[1]; ++h) {
            const int64_t row = ((b * D->kernel + d) * H->kernel + h) * width;
            if (row + width <= e0 || row >= e1) continue;
            for (int64_t w = w0; w < w1; ++w) {
                const int64_t e = row + (p->merged ? 0 : w);
                if (e < e0 || e >= e1) continue;
                taps[n].a = b * p->src_b + (d - c->lo[0]) * D->step * p->src_x[0] +
                            (h - c->lo[1]) * H->step * p->src_x[1] + (w - w0) * W->step * p->src_x[2];
                taps[n++].b = b * p->wei_b + d * p->wei_x[0] + h * p->wei_x[1] + wei_at(p, w);
            }
        }
    }
    return n;
}

/* ---- Tiles ------------------------------------------------------------------------------------------- */

/* Rows from r on that follow each other in dst. */
static int64_t run_length(const conv_chunk_t *k, int64_t r, int64_t end) {
    const int64_t step = k->run->p->dst_x[2];
    int64_t n = 1;
    while (r + n < end && k->pixel[r + n] == k->pixel[r] + n && k->row_c[r + n] == k->row_c[r] + n * step)
        ++n;
    return n;
}

/* What follows the sums of a class in the channels from col0 of the group on. */
static void finish_class(const conv_chunk_t *k, const dtp_conv_class_t *c, int64_t col0, int64_t cols) {
    const conv_run_t *run = k->run;
    const dtp_conv_direct_t *p = run->p;
    const int64_t end = c->row0 + c->rows, channel = k->group * p->oc + col0;
    const int64_t elem = (int64_t)dtp_type_size(p->dst_dt);
    float bias[DTP_GEMM_TILE_LD];
    if (p->tiled && run->bias)
        p->vops->load[p->bia_dt](bias, run->bias + channel * p->bia_c, cols,
                                 p->bia_c / (int64_t)dtp_type_size(p->bia_dt));
    for (int64_t r = c->row0, n; r < end; r += n) {
        n = c->run ? c->run : run_length(k, r, end);
        char *dst = run->dst + k->group * p->dst_g + k->row_c[r] + col0 / dtp_conv_panel(p) * p->dst_p;
        if (!p->tiled) {
            float *y = (float *)(void *)dst;
            const int64_t ld = p->dst_x[2] / (int64_t)sizeof(float);
            p->fused.act(
                &(dtp_eltwise_args_t){y, y, ld, ld, n, cols, p->fused.act_alpha, p->fused.act_beta, 0});
            continue;
        }
        float *tile = k->tile + r * DTP_GEMM_TILE_LD;
        if (run->bias) p->vops->axpy(tile, DTP_GEMM_TILE_LD, bias, 0, n, cols, 1.f, 0.f);
        if (p->po.len)
            dtp_postops_apply(&p->po, run->pd, run->ctx, tile, DTP_GEMM_TILE_LD, n, cols, k->pixel[r],
                              channel);
        if (p->dst_dt == dnnl_tp_f32 && p->dst_x[2] == elem && p->dst_c != elem) {
            /* Channels are rows of dst. */
            p->f32->transpose((const char *)tile, DTP_GEMM_TILE_LD * elem, cols, n, dst, p->dst_c);
            continue;
        }
        for (int64_t i = 0; i < n; ++i, dst += p->dst_x[2])
            p->vops->store[p->dst_dt](dst, tile + i * DTP_GEMM_TILE_LD, cols, p->dst_c / elem);
    }
}

/* n neighbours of one column panel, in tall blocks. The last two may overlap: what both write is the
 * same. */
static void tall_run(const dtp_conv_direct_t *p, dtp_ukr_args_t *u, int64_t n) {
    const int mr = p->ukr->many_tall[1];
    const dtp_ukr_fn_t block = dtp_gemm_tall_block(p->ukr, 1, u->lda);
    u->nblk = n / mr;
    block(u);
    if (n % mr == 0) return;
    u->a += (n - mr) * u->lda;
    u->c += (n - mr) * u->ldc;
    u->nblk = 1;
    block(u);
}

/* The rows of a class by runs of neighbours. */
static void class_runs(const dtp_conv_direct_t *p, const dtp_conv_class_t *c, const dtp_ukr_args_t *all,
                       int nv, const char *next) {
    dtp_ukr_args_t u = *all;
    for (int64_t r = 0; r < c->rows; r += c->run) {
        const int64_t to = all->row_c ? all->row_c[r] : r * all->ldc;
        u = *all;
        u.a += all->row_a[r];
        u.c += to;
        if (all->add) u.add += to;
        u.row_a = u.row_c = u.row_add = NULL;
        u.lda = p->win[2].stride * p->src_x[2];
        if (all->row_c) u.ldc = p->dst_x[2];
        u.ldadd = u.ldc;
        if (nv == 1 && p->ukr->many_tall[1] && !all->add) tall_run(p, &u, c->run);
        else dtp_gemm_rows(p->ukr, &u, nv, c->run, next);
    }
}

/* Column panels [p0, p1) of the chunk's classes in one pass. */
static void strip_pass(const conv_chunk_t *k, int64_t p0, int64_t p1, int64_t pass) {
    const conv_run_t *run = k->run;
    const dtp_conv_direct_t *p = run->p;
    const int64_t e0 = pass * p->pass_elements, e1 = dtp_min64(e0 + p->pass_elements, p->elements);
    const int64_t panel = dtp_conv_panel(p), col0 = p0 * panel, over = p1 * panel - p->oc;
    const int64_t channel = k->group * p->oc + col0;
    const char *wei = run->wei + k->group * p->wei_g + p0 * p->wei_p;
    for (int i = 0; i < k->nclasses; ++i) {
        const dtp_conv_class_t *c = &k->classes[i];
        if (pass < c->first || pass > c->last) continue;
        const int64_t ntap = make_taps(p, c, e0, e1, k->taps);
        const bool first = pass == c->first, last = pass == c->last;
        if (ntap == 0 && !last) continue;
        dtp_ukr_args_t u;
        memset(&u, 0, sizeof u);
        u.a = run->src + k->group * p->src_g;
        u.row_a = k->row_a + c->row0;
        u.b = wei;
        u.taps = k->taps;
        u.ntap = ntap;
        u.k = p->merged ? (c->hi[2] - c->lo[2]) * p->block_k : p->block_k;
        u.bs = p->wei_p;
        u.bstep = dtp_conv_panel_step(p);
        u.mask = over > 0 ? 0xffffu >> over : 0xffffu;
        u.flags = (first ? 0 : DTP_UKR_ACC) | (p->fused.flags & DTP_UKR_TYPES);
        if (p->fold) {
            const int64_t row = (c->hi[2] - c->lo[2]) * p->fold;
            u.k = dtp_div_up(row, p->ukr->elems);
            if (row % p->ukr->elems) u.flags |= DTP_UKR_HALF;
        }
        if (p->tiled) {
            u.c = (char *)(k->tile + c->row0 * DTP_GEMM_TILE_LD);
            u.ldc = DTP_GEMM_TILE_LD * (int64_t)sizeof(float);
        } else {
            u.c = run->dst + k->group * p->dst_g + p0 * p->dst_p;
            u.row_c = k->row_c + c->row0;
            if (last) {
                u.flags |= p->fused.flags | run->stream_c;
                u.floor = p->fused.floor;
                u.cap = p->fused.cap;
                if (run->bias) u.bias = run->bias + channel * dtp_ukr_bias_bytes(u.flags);
            }
            if (p->fused.has_add && (run->add_is_c ? first : last)) {
                u.row_add = u.row_c;
                u.add = run->add_is_c ? u.c : run->add + channel * dtp_ukr_add_bytes(u.flags);
                u.add_scale = p->fused.add_scale;
            }
        }
        if (p->k_lanes) {
            u.nblk = c->rows;
            p->k_lanes->tile[p1 - p0](&u);
            if (last && (p->tiled || p->fused.act)) finish_class(k, c, col0, p1 - p0);
            continue;
        }
        const char *next = wei + (i || ntap == 0 ? 0 : k->taps[0].b);
        if (i == 0 && pass + 1 < p->passes && ntap > 0)
            next = wei + k->taps[ntap - 1].b + u.k * DTP_UKR_PANEL_BYTES;
        else if (i == 0) next = wei + (p1 - p0) * p->wei_p;
        if (c->run) class_runs(p, c, &u, (int)(p1 - p0), next);
        else dtp_gemm_rows(p->ukr, &u, (int)(p1 - p0), c->rows, next);
        if (last && (p->tiled || p->fused.act)) finish_class(k, c, col0, dtp_min64(p1 * panel, p->oc) - col0);
    }
}

static void conv_units(void *arg, int slot, int64_t begin, int64_t end) {
    const conv_run_t *run = arg;
    const dtp_conv_direct_t *p = run->p;
    char *room = dtp_scratch_slot(run->pd, run->ctx, slot);
    conv_chunk_t k = {.run = run,
                      .row_a = (int64_t *)(void *)room,
                      .classes = (dtp_conv_class_t *)(void *)(room + p->at_classes),
                      .taps = (dtp_ukr_tap_t *)(void *)(room + p->at_taps),
                      .tile = (float *)(void *)(room + p->at_tile)};
    k.row_c = k.row_a + p->max_rows;
    k.pixel = k.row_c + p->max_rows;
    const int64_t lines = p->images * p->win[0].out * p->win[1].out, width = p->win[2].out;
    const double pass_ns = (double)p->unit_ns * (double)p->nv * (double)p->panel_parts /
                           (double)(p->npanels * dtp_max64(p->passes, 1));
    double unseen = 0;
    for (int64_t u = begin; u < end; ++u) {
        const dtp_conv_unit_t at = dtp_conv_unit(p, u);
        k.group = at.group;
        const int64_t l0 = lines * at.lines / p->line_chunks, l1 = lines * (at.lines + 1) / p->line_chunks;
        const int64_t x0 = width * at.row / p->row_chunks, x1 = width * (at.row + 1) / p->row_chunks;
        const int64_t strips = dtp_div_up(p->npanels, p->nv);
        const int64_t p0 = strips * at.part / p->panel_parts * p->nv,
                      p1 = dtp_min64(strips * (at.part + 1) / p->panel_parts * p->nv, p->npanels);
        if (l0 == l1 || x0 == x1 || p0 >= p1) continue;
        const bool same_pixels = p->groups_inside && k.group > 0 && u > begin;
        if (!same_pixels) make_classes(&k, l0, l1, x0, x1);
        for (int64_t s = p0, next; s < p1; s = next) {
            /* Two even strips rather than a narrow rest. */
            next = dtp_min64(s + p->nv, p1);
            if (p1 - next > 0 && p1 - next < p->nv - 1) next = s + dtp_div_up(p1 - s, 2);
            if (p->half_panel && next + 1 == p->npanels && next < p1) next = p1;
            for (int64_t pass = 0; pass < p->passes; ++pass) {
                strip_pass(&k, s, next, pass);
                if (DTP_LIKELY(!run->stop) || (unseen += pass_ns) <= LOOK_NS) continue;
                unseen = 0;
                if (dtp_share_over(run->stop)) return;
            }
        }
    }
}

/* ---- Operands in other layouts ----------------------------------------------------------------------- */

/* Channels of W pixels side by side, those of each group filled up to whole k-steps. */
static void pack_pixels(const dtp_conv_direct_t *p, const char *from, char *to, int64_t W) {
    const size_t elem = (size_t)p->elem, rest = (size_t)(p->steps * DTP_UKR_STEP_BYTES - p->ic * p->elem);
    for (int64_t x = 0; x < W; ++x, from += p->from_src_x[2]) {
        char *pixel = to + x * p->src_x[2];
        for (int64_t g = 0; g < p->groups; ++g, pixel += p->src_g) {
            const char *f = from + g * p->ic * p->from_src_c;
            for (int64_t c = 0; c < p->ic; ++c) memcpy(pixel + (size_t)c * elem, f + c * p->from_src_c, elem);
            memset(pixel + p->ic * p->elem, 0, rest);
        }
    }
}

/* Lines of src with channels innermost. */
static void pack_src(void *arg, int slot, int64_t begin, int64_t end) {
    const conv_run_t *run = arg;
    const dtp_conv_direct_t *p = run->p;
    const int64_t H = p->win[1].in, D = p->win[0].in, W = p->win[2].in;
    /* Groups whose channels fill their k-steps are packed together. */
    const bool whole = p->ic * p->elem == p->steps * DTP_UKR_STEP_BYTES;
    const int64_t parts = whole ? 1 : p->groups, channels = whole ? p->ic * p->groups : p->ic;
    (void)slot;
    for (int64_t l = begin; l < end; ++l) {
        const int64_t h = l % H, d = l / H % D, n = l / H / D;
        const char *from = (const char *)run->ctx->ptr[DTP_CONV_SRC] + p->from_src_0 + n * p->from_src_n +
                           d * p->from_src_x[0] + h * p->from_src_x[1];
        char *to = run->ctx->scratch + n * p->src_n + d * p->src_x[0] + h * p->src_x[1];
        /* Folded pixels overlap by what fills their last k-step: they are written one after the other. */
        const bool in_order = p->fold && p->fold != 3;
        if (in_order || (p->from_src_x[2] != p->elem && W > 1)) pack_pixels(p, from, to, W);
        else
            for (int64_t g = 0; g < parts; ++g)
                p->ukr->transpose(from + g * channels * p->from_src_c, p->from_src_c, W, channels,
                                  to + g * p->src_g, p->src_x[2]);
    }
}

/* The panel's n output channels of one element of the kernel, which starts at f and goes to t: dense along one of the
 * dims of channels. */
static void pack_element(const dtp_conv_direct_t *p, const char *f, int64_t n, char *t) {
    const int64_t bs = p->steps * DTP_UKR_PANEL_BYTES;
    if (p->from_wei_o == p->elem || n == 1) p->ukr->pack(f, p->from_wei_i, p->ic, n, t, bs);
    else p->ukr->pack_trans(f, p->from_wei_o, p->ic, n, t, bs);
}

/* The panel's n output channels where neither dim of channels is dense, as in OIHW: the elements of the kernel are, and
 * with them input channels that follow each other. Lines of a tile go to their places. */
static void pack_space(const dtp_conv_direct_t *p, const char *from, int64_t n, char *to) {
    enum { LINES = 64 };
    float tile[LINES * DTP_UKR_PANEL];
    const dtp_window_t *D = &p->win[0], *H = &p->win[1], *W = &p->win[2];
    const int64_t space = D->kernel * H->kernel * W->kernel;
    const bool joined = p->from_wei_i == space * F32;
    const int64_t runs = joined ? 1 : p->ic, run = joined ? p->ic * space : space;
    memset(tile, 0, sizeof tile);
    for (int64_t r = 0; r < runs; ++r) {
        int64_t i = r, d = 0, h = 0, w = 0;
        for (int64_t at = 0; at < run; at += LINES) {
            const int64_t lines = dtp_min64(LINES, run - at);
            p->ukr->transpose(from + r * p->from_wei_i + at * F32, p->from_wei_o, lines, n, (char *)tile,
                              DTP_UKR_PANEL_BYTES);
            for (int64_t l = 0; l < lines; ++l) {
                memcpy(to + d * p->wei_x[0] + h * p->wei_x[1] + w * p->wei_x[2] + i * DTP_UKR_PANEL_BYTES,
                       tile + l * DTP_UKR_PANEL, DTP_UKR_PANEL_BYTES);
                if (++w < W->kernel) continue;
                w = 0;
                if (++h < H->kernel) continue;
                h = 0;
                if (++d < D->kernel) continue;
                d = 0;
                ++i;
            }
        }
    }
}

/* A panel whose rows of the kernel become pairs twice: from the first element on, and from the second. */
static void pack_folded(const dtp_conv_direct_t *p, const char *from, char *to) {
    const int64_t line = DTP_UKR_PANEL * p->elem, row = p->win[2].kernel * p->fold;
    for (int64_t d = 0; d < p->win[0].kernel; ++d)
        for (int64_t h = 0; h < p->win[1].kernel; ++h) {
            const char *f = from + d * p->from_wei_x[0] + h * p->from_wei_x[1];
            char *t = to + d * p->wei_x[0] + h * p->wei_x[1];
            p->ukr->pack(f, line, row, DTP_UKR_PANEL, t, p->wei_row);
            p->ukr->pack(f + line, line, row - 1, DTP_UKR_PANEL, t + p->wei_row, p->wei_row);
        }
}

/* Column panels of the weights. */
static void pack_wei(void *arg, int slot, int64_t begin, int64_t end) {
    const conv_run_t *run = arg;
    const dtp_conv_direct_t *p = run->p;
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        const int64_t panel = u % p->npanels, g = u / p->npanels, o0 = panel * DTP_UKR_PANEL,
                      n = dtp_min64(DTP_UKR_PANEL, p->oc - o0);
        const char *from = (const char *)run->ctx->ptr[DTP_CONV_WEI] + p->from_wei_0 + g * p->from_wei_g +
                           o0 * p->from_wei_o;
        char *to = run->ctx->scratch + p->packed_src_bytes + g * p->wei_g + panel * p->wei_p;
        if (p->fold) {
            pack_folded(p, from, to);
            continue;
        }
        if (p->from_wei_way == DTP_CONV_WEI_SPACE) {
            pack_space(p, from, n, to);
            continue;
        }
        for (int64_t d = 0; d < p->win[0].kernel; ++d)
            for (int64_t h = 0; h < p->win[1].kernel; ++h)
                for (int64_t w = 0; w < p->win[2].kernel; ++w) {
                    const char *f = from + d * p->from_wei_x[0] + h * p->from_wei_x[1] + w * p->from_wei_x[2];
                    char *t = to + d * p->wei_x[0] + h * p->wei_x[1] + w * p->wei_x[2];
                    if (p->from_wei_way == DTP_CONV_WEI_CHANNELS) {
                        pack_element(p, f, n, t);
                        continue;
                    }
                    const int64_t bytes = p->elem, per_step = DTP_UKR_STEP_BYTES / bytes;
                    memset(t, 0, (size_t)(p->steps * DTP_UKR_PANEL_BYTES));
                    for (int64_t i = 0; i < p->ic; ++i, f += p->from_wei_i)
                        for (int64_t o = 0; o < n; ++o)
                            memcpy(t + i / per_step * DTP_UKR_PANEL_BYTES + o * DTP_UKR_STEP_BYTES +
                                       i % per_step * bytes,
                                   f + o * p->from_wei_o, (size_t)bytes);
                }
    }
}

void dtp_conv_direct_run(const dtp_conv_direct_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    if (p->units == 0) return;
    conv_run_t run = {.p = p, .pd = pd, .ctx = ctx};
    run.src = (const char *)ctx->ptr[DTP_CONV_SRC] + p->src_0;
    run.wei = (const char *)ctx->ptr[DTP_CONV_WEI] + p->wei_0;
    run.dst = (char *)ctx->ptr[DTP_CONV_DST] + p->dst_0;
    if (p->has_bias) run.bias = (const char *)ctx->ptr[DTP_CONV_BIA] + p->bia_0;
    run.add_is_c = p->fused.add_is_c;
    if (p->fused.has_add && !run.add_is_c) {
        const int64_t bytes = dtp_ukr_add_bytes(p->fused.flags);
        run.add = (const char *)ctx->ptr[p->fused.add_arg] + p->fused.add_offset * bytes;
        run.add_is_c = run.add == run.dst; /* partial sums would overwrite it */
    }
    run.stream_c =
        p->stream_c && !run.add_is_c && (uintptr_t)run.dst % DTP_CACHE_LINE == 0 ? DTP_UKR_STREAM : 0;
    if (p->packs_src) {
        run.src = ctx->scratch;
        const int64_t lines = p->images * p->win[0].in * p->win[1].in;
        const double ns = 0.3 * (double)p->win[2].in * (double)(p->ic * p->groups);
        dtp_parallel_for(ctx->par, lines, dtp_grain(ns + 10.), pack_src, &run);
    }
    if (p->packs_wei) {
        run.wei = ctx->scratch + p->packed_src_bytes;
        const double ns = (double)p->wei_p / (p->from_wei_way == DTP_CONV_WEI_ANY ? 4 : 40);
        dtp_parallel_for(ctx->par, p->groups * p->npanels, dtp_grain(ns + 10.), pack_wei, &run);
    }
    if ((double)p->unit_ns * (double)p->units > LOOK_NS) run.stop = dtp_parallel_stop(ctx->par);
    if (p->alone) conv_units(&run, 0, 0, p->units);
    else dtp_parallel_for(ctx->par, p->units, -p->unit_ns, conv_units, &run);
}
