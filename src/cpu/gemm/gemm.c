/* Driver of the micro-kernels: see gemm.h. Loops, from outside: k passes, groups of packed strips, row chunks
 * that stay in L2, strips of nv column panels, blocks of mr rows (inside the kernel).
 *
 * Lines of the next strip are prefetched while
 * the last row blocks of this one are computed; behind the last strip the prefetch goes on past the end of B,
 * where a caller with many products keeps the weights of the next one. */
#include "cpu/gemm/gemm_rows.h"

#include "common/base/base.h"
#include "common/primitive/engine.h"

enum {
    PLAIN_AHEAD = 16,       /* k-steps of row-major B in flight */
    WIDE_AHEAD = 8,         /* the same of wide column panels; */
    WIDE_ALONE = 12 << 20,  /* so much for a thread, with one row, the processor prefetches better itself */
    AHEAD_BYTES = 96 << 10, /* of an operand of the next product of a batch */
    LOOK_NS = 50000,        /* work between two looks whether the run is over, by the estimate */
    LOOK_BYTES = 1 << 20,   /* the same of B, for vectors */
    LOOK_ROWS = 32,         /* fewer rows take as long */
    PASS_COLS = 4096        /* columns of a row of B whose passes are added up before the next ones */
};

/* ---- Strips ------------------------------------------------------------------------------------------ */

/* The strip that starts at a column panel, of those that are left up to end; two even ones rather than a narrow rest.
 */
static inline int64_t gemm_strip_end(const dtp_gemm_t *g, int64_t panel, int64_t end) {
    const int64_t left = end - panel;
    if (left <= g->nv || (g->half_panel && panel + 2 == g->npanels)) return end;
    if (left < 2 * g->nv && g->unit_panels == 1) {
        const int64_t half = dtp_div_up(left, 2);
        if (g->ukr->max_mr[half]) return panel + half;
    }
    return panel + g->nv;
}

/* One slot's view of one matrix of the batch. */
typedef struct {
    const dtp_gemm_t *g;
    dtp_gemm_ptrs_t p;
    char *a_buf, *b_buf;
    float *tile;
    int64_t a_ld; /* row stride of a_buf */
    dtp_gemm_ahead_t *ahead;
    int64_t batch;           /* the matrix; and */
    const void *arg;         /* the user's, for touch_a and touch_b */
    const dtp_share_t *stop; /* of the run, or NULL */
    int64_t unseen;          /* work (rows x column panels x k) since the last look at it */
    bool over;
    uint32_t stream_c; /* DTP_UKR_STREAM or 0 */
} gemm_slot_t;

/* After each strip: is the run over? */
static inline bool gemm_over(gemm_slot_t *s, int64_t rows, int64_t panels, int64_t k) {
    enum { FLOPS = 2 * DTP_UKR_PANEL };
    if (DTP_LIKELY(!s->stop)) return false;
    s->unseen += dtp_max64(rows, LOOK_ROWS) * panels * k;
    if (DTP_LIKELY((double)s->unseen * FLOPS < s->g->ukr->flops_per_ns * LOOK_NS)) return false;
    s->unseen = 0;
    s->over = dtp_share_over(s->stop);
    return s->over;
}

static void gemm_pack_a(const gemm_slot_t *s, int64_t m0, int64_t rows, int64_t k0, int64_t k) {
    const dtp_gemm_t *g = s->g;
    dtp_gemm_pack_a(g, s->p.a + m0 * g->sam, rows, k0, k, s->a_buf, s->a_ld);
    if (g->touch_a) g->touch_a(s->arg, s->batch, (float *)(void *)s->a_buf, s->a_ld / 4, m0, rows, k0, k);
}

static void gemm_pack_b(const gemm_slot_t *s, int64_t panel0, int64_t panel1, int64_t buf_panel, int64_t k0,
                        int64_t k) {
    const dtp_gemm_t *g = s->g;
    const int64_t n0 = panel0 * DTP_UKR_PANEL, n = dtp_min64(panel1 * DTP_UKR_PANEL, g->n) - n0;
    const int64_t bs = k * DTP_UKR_PANEL_BYTES;
    char *to = s->b_buf + (panel0 - buf_panel) * bs;
    dtp_gemm_pack_b(g, s->p.b + n0 * g->sbn, n, k0, k, to, bs);
    if (g->touch_b) g->touch_b(s->arg, s->batch, (float *)(void *)to, n0, n, k0, k);
}

/* Where strip [panel0, ..) of pass k0 starts and how it is stepped through; buf_panel: first column panel in b_buf,
 * which is to be filled in the first row chunk. */
static inline void gemm_b_of(const gemm_slot_t *s, dtp_ukr_args_t *u, int64_t panel0, int64_t panel1,
                             int64_t buf_panel, int64_t k0, bool fill) {
    const dtp_gemm_t *g = s->g;
    u->copy = NULL;
    if (g->b_panels && !(fill && g->b_copy)) {
        if (fill) gemm_pack_b(s, panel0, panel1, buf_panel, k0, u->k);
        u->bs = u->k * DTP_UKR_PANEL_BYTES;
        u->bstep = DTP_UKR_PANEL_BYTES;
        u->b = s->b_buf + (panel0 - buf_panel) * u->bs;
    } else if (g->b_form == DTP_GEMM_B_PACKED) {
        u->bs = g->sbn;
        u->bstep = DTP_UKR_PANEL_BYTES;
        u->b = s->p.b + panel0 * u->bs + k0 * DTP_UKR_PANEL_BYTES;
    } else if (g->b_form == DTP_GEMM_B_WIDE) {
        enum { NARROW = DTP_GEMM_WIDE / DTP_UKR_PANEL };
        u->bs = DTP_UKR_PANEL_BYTES;
        u->bstep = g->sbk;
        u->b = s->p.b + panel0 / NARROW * g->sbn + panel0 % NARROW * DTP_UKR_PANEL_BYTES + k0 * g->sbk;
        u->pf_dist =
            g->m == 1 && g->nunits * g->sbn >= WIDE_ALONE * (int64_t)g->num_threads ? 0 : WIDE_AHEAD * g->sbk;
    } else {
        u->bs = DTP_UKR_PANEL_BYTES;
        u->bstep = g->sbk;
        u->b = s->p.b + panel0 * u->bs + k0 * g->sbk;
        u->pf_dist = g->along_rows ? (panel1 - panel0) * DTP_UKR_PANEL_BYTES : PLAIN_AHEAD * g->sbk;
        if (g->b_panels) {
            u->copy_bs = u->k * DTP_UKR_PANEL_BYTES;
            u->copy = s->b_buf + (panel0 - buf_panel) * u->copy_bs;
        }
    }
}

/* Do the row blocks go across all strips of these column panels? */
static bool gemm_across(const gemm_slot_t *s, int64_t rows, int64_t panel0, int64_t panel1) {
    const dtp_gemm_t *g = s->g;
    return g->across && !s->stream_c && rows >= g->ukr->max_mr[g->nv] && (panel1 - panel0) % g->nv == 0 &&
           panel1 * DTP_UKR_PANEL <= g->n;
}

/* Rows of a strip, or across several. Then the last two row blocks may overlap: what both write is
 * the same. */
static void gemm_rows(const gemm_slot_t *s, dtp_ukr_args_t *u, int64_t rows, int64_t panel0, int64_t panel1,
                      const char *pf) {
    const dtp_gemm_t *g = s->g;
    if (!gemm_across(s, rows, panel0, panel1)) {
        dtp_gemm_rows_ahead(g->ukr, u, (int)(panel1 - panel0), rows, pf, s->ahead);
        return;
    }
    const int mr = g->ukr->max_mr[g->nv];
    u->strips = (panel1 - panel0) / g->nv;
    u->nblk = rows / mr;
    g->ukr->across[g->nv](u);
    if (rows % mr == 0) return;
    dtp_gemm_advance(u, rows - mr);
    u->nblk = 1;
    g->ukr->across[g->nv](u);
}

/* Rows [m0, m0 + rows) x column panels [panel0, panel1) of pass k0, straight into C. */
static void gemm_strip(const gemm_slot_t *s, dtp_ukr_args_t *u, int64_t m0, int64_t rows, int64_t panel0,
                       int64_t panel1, int64_t k0, bool last_pass, const char *pf) {
    const dtp_gemm_t *g = s->g;
    const int64_t col0 = panel0 * DTP_UKR_PANEL;
    u->c = s->p.c + m0 * g->scm + col0 * dtp_ukr_c_bytes(g->flags);
    u->ldc = g->scm;
    u->mask = dtp_gemm_mask(g, panel1);
    u->flags = (k0 || g->way != DTP_GEMM_TILES ? DTP_UKR_ACC : 0) | (g->flags & DTP_UKR_TYPES);
    u->bias = NULL;
    u->add = NULL;
    if (last_pass) {
        u->flags |= g->flags | s->stream_c;
        u->floor = g->floor;
        u->cap = g->cap;
        if (g->has_bias) u->bias = s->p.bias + col0 * dtp_ukr_bias_bytes(g->flags);
    }
    /* The old C is only there in the first pass. */
    if (g->has_add && (g->add_is_c ? k0 == 0 : last_pass)) {
        u->add = g->add_is_c ? u->c : s->p.add + m0 * g->sadd + col0 * dtp_ukr_add_bytes(g->flags);
        u->ldadd = g->add_is_c ? g->scm : g->sadd;
        u->add_scale = g->add_scale;
    }
    if (!(last_pass && g->act)) {
        gemm_rows(s, u, rows, panel0, panel1, pf);
        return;
    }
    const int64_t cols = dtp_min64(panel1 * DTP_UKR_PANEL, g->n) - col0;
    const int64_t mr = g->ukr->max_mr[g->nv], strips = dtp_div_up(panel1 - panel0, g->nv),
                  step = dtp_max64(DTP_GEMM_TILE_ROWS / strips / mr, 1) * mr;
    const dtp_ukr_args_t first = *u;
    for (int64_t r = 0, h; r < rows; r += h) {
        h = rows - r < step + mr ? rows - r : step;
        u->a = first.a + r * first.lda;
        const bool packed = first.copy && r;
        u->b = packed ? first.copy : first.b;
        u->bs = packed ? first.copy_bs : first.bs;
        u->bstep = packed ? DTP_UKR_PANEL_BYTES : first.bstep;
        u->copy = packed ? NULL : first.copy;
        u->c = first.c + r * first.ldc;
        u->bias = first.bias;
        if (first.add) u->add = first.add + r * first.ldadd;
        gemm_rows(s, u, h, panel0, panel1, r + h < rows ? u->b : pf);
        float *c = (float *)(first.c + r * first.ldc);
        const dtp_eltwise_args_t act = {c, c, g->scm / 4, g->scm / 4, h, cols, g->act_alpha, g->act_beta, 0};
        g->act(&act);
    }
}

/* One row. What follows the first pass goes through a part of a row that stays at hand. */
static void gemm_row(gemm_slot_t *s, const float *a, const char *b, int64_t cols, float *c) {
    const dtp_gemm_t *g = s->g;
    static const float one = 1;
    float part[PASS_COLS];
    const int64_t width = g->kc < g->k ? dtp_min64(cols, PASS_COLS) : cols;
    const int64_t step = s->stop ? dtp_max64(LOOK_BYTES / (4 * width), 8) & -8 : g->kc;
    for (int64_t j = 0; j < cols; j += width) {
        const int64_t n = dtp_min64(width, cols - j);
        for (int64_t k0 = 0, k1; k0 < g->k; k0 = k1) {
            k1 = dtp_min64(k0 + g->kc, g->k);
            for (int64_t k = k0; k < k1; k += step) {
                if (s->stop && j + k && (s->over = dtp_share_over(s->stop))) return;
                g->ukr->gemv(a + k, b + k * g->sbk + j * 4, g->sbk, dtp_min64(step, k1 - k), n,
                             k0 ? part : c + j, k > k0);
            }
            if (k0) g->ukr->gemv(&one, (const char *)part, 0, 1, n, c + j, 1);
        }
    }
}

/* Few rows: sums straight into C, then what follows them strip by strip, as a product over no k. */
static void gemm_block_vector(gemm_slot_t *s, int64_t m0, int64_t m1, int64_t s0, int64_t s1) {
    const dtp_gemm_t *g = s->g;
    const int64_t col0 = s0 * DTP_UKR_PANEL;
    const int64_t cols = dtp_min64(s1 * DTP_UKR_PANEL, g->n) - col0;
    const char *a = s->p.a + m0 * g->sam, *b = s->p.b + col0 * g->sbn;
    char *c = s->p.c + m0 * g->scm + col0 * 4;
    if (g->way == DTP_GEMM_GEMV) {
        gemm_row(s, (const float *)(const void *)a, b, cols, (float *)(void *)c);
        if (s->over) return;
    } else {
        const int64_t step =
            s->stop ? dtp_max64(LOOK_BYTES / (4 * DTP_UKR_PANEL * g->k), 1) * DTP_UKR_PANEL : cols;
        for (int64_t j = 0; j < cols; j += step) {
            if (j && (s->over = dtp_share_over(s->stop))) return;
            g->ukr->dot(a, g->sam, (int)(m1 - m0), b + j * g->sbn, g->sbn, dtp_min64(step, cols - j), g->k,
                        c + j * 4, g->scm);
        }
    }
    if (!g->has_bias && !g->has_add && !g->flags && !g->act) return;
    dtp_ukr_args_t u;
    memset(&u, 0, sizeof u);
    u.ntap = 1;
    u.a = a;
    u.lda = g->sam;
    u.b = b;
    u.bs = u.bstep = DTP_UKR_PANEL_BYTES;
    for (int64_t p = s0, next; p < s1; p = next) {
        next = gemm_strip_end(g, p, s1);
        gemm_strip(s, &u, m0, m1 - m0, p, next, 0, true, b);
    }
}

/* Rows [m0, m1) x column panels [s0, s1) of one matrix. */
static void gemm_block_passes(gemm_slot_t *s, int64_t m0, int64_t m1, int64_t s0, int64_t s1) {
    const dtp_gemm_t *g = s->g;
    const int64_t chunks = m1 - m0 > g->mc ? dtp_div_up(m1 - m0, g->mc) : 1;
    const int64_t group = g->b_panels ? g->b_panels : s1 - s0;
    dtp_ukr_args_t u;
    u.row_a = u.row_c = u.row_add = NULL;
    u.taps = NULL;
    u.ntap = 1;
    int64_t k0 = 0;
    do {
        const int64_t k = dtp_min64(g->kc, g->k - k0);
        const bool last_pass = k0 + k >= g->k;
        u.k = k;
        for (int64_t q0 = s0; q0 < s1; q0 += group) {
            const int64_t q1 = dtp_min64(q0 + group, s1);
            for (int64_t c = 0; c < chunks; c++) {
                int64_t r0 = m0, r1 = m1;
                if (chunks > 1) {
                    const int64_t cap = g->ukr->max_mr[g->nv], blocks = dtp_div_up(m1 - m0, cap);
                    r0 = m0 + blocks * c / chunks * cap;
                    r1 = dtp_min64(m0 + blocks * (c + 1) / chunks * cap, m1);
                }
                if (g->a_form != DTP_GEMM_A_DIRECT) gemm_pack_a(s, r0, r1 - r0, k0, k);
                for (int64_t p = q0, next; p < q1; p = next) {
                    next = gemm_across(s, r1 - r0, p, q1) ? q1 : gemm_strip_end(g, p, q1);
                    gemm_b_of(s, &u, p, next, q0, k0, c == 0);
                    u.a = g->a_form == DTP_GEMM_A_DIRECT ? s->p.a + r0 * g->sam + k0 * 4 : s->a_buf;
                    u.lda = g->a_form == DTP_GEMM_A_DIRECT ? g->sam : s->a_ld;
                    u.pf_rows = g->prefetch_a && p == q0;
                    /* After the last strip: the first, for the next rows or the next pass; else what follows
                     * B.
                     */
                    const char *pf = u.b + (next - p) * u.bs;
                    if (next == q1 && c + 1 < chunks) pf = u.b - (p - q0) * u.bs;
                    else if (next == s1 && !last_pass && g->b_form == DTP_GEMM_B_PACKED)
                        pf = u.b - (p - s0) * u.bs + k * DTP_UKR_PANEL_BYTES;
                    const int64_t panels = next - p;
                    gemm_strip(s, &u, r0, r1 - r0, p, next, k0, last_pass, pf);
                    if (gemm_over(s, r1 - r0, panels, k)) return;
                }
            }
        }
        k0 += k;
    } while (k0 < g->k);
}

static void gemm_block(gemm_slot_t *s, int64_t m0, int64_t m1, int64_t s0, int64_t s1) {
    const dtp_gemm_t *g = s->g;
    const bool one_block = g->b_form == DTP_GEMM_B_PACKED &&
                           (m1 - m0 <= g->ukr->max_mr[g->nv] ||
                            (g->nv == DTP_UKR_TALL_PANELS && dtp_gemm_tall(g->ukr, g->nv, m1 - m0)));
    if (g->kc >= g->k || !(one_block || g->b_form == DTP_GEMM_B_WIDE)) {
        gemm_block_passes(s, m0, m1, s0, s1);
        return;
    }
    /* All passes of a strip together, in the order of memory. */
    for (int64_t next; s0 < s1 && !s->over; s0 = next) {
        next = gemm_strip_end(g, s0, s1);
        gemm_block_passes(s, m0, m1, s0, next);
    }
}

/* The same through a tile that finish() stores. */
static void gemm_block_tiled(gemm_slot_t *s, int64_t m0, int64_t m1, int64_t s0, int64_t s1, int64_t batch,
                             dtp_gemm_finish_t finish, const void *arg) {
    const dtp_gemm_t *g = s->g;
    dtp_ukr_args_t u;
    u.row_a = u.row_c = u.row_add = NULL;
    u.taps = NULL;
    u.ntap = 1;
    u.bias = NULL;
    u.add = NULL;
    u.pf_rows = false;
    for (int64_t r0 = m0; r0 < m1; r0 += g->mc) {
        const int64_t rows = dtp_min64(g->mc, m1 - r0);
        for (int64_t panel0 = s0, panel1; panel0 < s1; panel0 = panel1) {
            panel1 = gemm_strip_end(g, panel0, s1);
            int64_t k0 = 0;
            do {
                u.k = dtp_min64(g->kc, g->k - k0);
                gemm_b_of(s, &u, panel0, panel1, panel0, k0, true);
                if (g->a_form == DTP_GEMM_A_DIRECT) {
                    u.a = s->p.a + r0 * g->sam + k0 * 4;
                    u.lda = g->sam;
                    u.pf_rows = g->prefetch_a && panel0 == s0;
                } else {
                    if (panel0 == s0 || g->kc < g->k) gemm_pack_a(s, r0, rows, k0, u.k);
                    u.a = s->a_buf;
                    u.lda = s->a_ld;
                }
                u.c = (char *)s->tile;
                u.ldc = DTP_GEMM_TILE_LD * 4;
                u.mask = dtp_gemm_mask(g, panel1);
                u.flags = k0 ? DTP_UKR_ACC : 0;
                const char *pf = u.b + (panel1 - panel0) * u.bs;
                k0 += u.k;
                const int64_t k = u.k;
                dtp_gemm_rows_ahead(g->ukr, &u, (int)(panel1 - panel0), rows, pf, s->ahead);
                if (gemm_over(s, rows, panel1 - panel0, k)) return;
            } while (k0 < g->k);
            const int64_t col0 = panel0 * DTP_UKR_PANEL;
            finish(arg, batch, s->tile, DTP_GEMM_TILE_LD, r0, rows, col0,
                   dtp_min64(panel1 * DTP_UKR_PANEL, g->n) - col0);
        }
    }
}

/* ---- Loops over units -------------------------------------------------------------------------------- */

typedef struct {
    const dtp_gemm_t *g;
    const dtp_gemm_ptrs_t *p;
    char *scratch;
    size_t scratch_per_slot;
    dtp_gemm_finish_t finish;
    const void *arg;
    const dtp_share_t *stop;
} gemm_run_t;

static inline void gemm_slot_init(gemm_slot_t *s, const gemm_run_t *run, int slot) {
    const dtp_gemm_t *g = run->g;
    s->g = g;
    s->p = *run->p;
    s->a_buf = run->scratch + run->scratch_per_slot * (size_t)slot;
    s->b_buf = s->a_buf + g->a_bytes;
    s->tile = (float *)(s->b_buf + g->b_bytes);
    s->a_ld = g->kc * 4 + DTP_CACHE_LINE;
    s->ahead = NULL;
    s->batch = 0;
    s->arg = run->arg;
    s->stop = run->stop;
    s->unseen = 0;
    s->over = false;
    const bool reads_c = g->has_add && s->p.add == s->p.c;
    s->stream_c = g->stream_c && !reads_c && (uintptr_t)s->p.c % DTP_CACHE_LINE == 0 ? DTP_UKR_STREAM : 0;
}

static void gemm_to_batch(gemm_slot_t *s, const gemm_run_t *run, int64_t batch) {
    const dtp_gemm_t *g = s->g;
    s->p = *run->p;
    for (int d = g->nbatch - 1; d >= 0; d--) {
        const int64_t i = batch % g->batch_size[d];
        batch /= g->batch_size[d];
        s->p.a += i * g->batch_a[d];
        s->p.b += i * g->batch_b[d];
        s->p.c += i * g->batch_c[d];
        if (g->has_bias) s->p.bias += i * g->batch_bias[d];
        if (g->has_add && !g->add_is_c) s->p.add += i * g->batch_add[d];
    }
}

/* Small products of a batch: what matrix `batch` reads, where it is dense. */
static dtp_gemm_ahead_t *gemm_look_ahead(const gemm_run_t *run, int64_t batch, dtp_gemm_ahead_t *ahead) {
    const dtp_gemm_t *g = run->g;
    const int64_t a_bytes = g->m * g->sam,
                  b_bytes = g->b_form == DTP_GEMM_B_TRANS ? g->n * g->sbn : g->k * g->ukr->elems * g->sbk;
    if (!g->b_panels || g->k == 0 || g->a_form != DTP_GEMM_A_DIRECT || batch >= g->batches ||
        a_bytes > AHEAD_BYTES || b_bytes > AHEAD_BYTES || g->sam > 8 * g->k)
        return NULL;
    gemm_slot_t next;
    next.g = g;
    gemm_to_batch(&next, run, batch);
    ahead->at[0] = next.p.a, ahead->end[0] = next.p.a + a_bytes;
    ahead->at[1] = next.p.b, ahead->end[1] = next.p.b + b_bytes;
    return ahead;
}

static void gemm_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const gemm_run_t *run = arg;
    const dtp_gemm_t *g = run->g;
    gemm_slot_t s;
    gemm_slot_init(&s, run, slot);
    while (begin < end && !s.over) {
        const int64_t u0 = begin % g->group_units, part = begin / g->group_units;
        const int64_t u1 = dtp_min64(u0 + (end - begin), g->group_units);
        const int64_t chunk = part % g->mchunks, group = part / g->mchunks % g->groups,
                      batch = part / (g->mchunks * g->groups), g0 = group * g->group_units;
        const int64_t s0 = (g0 + u0) * g->unit_panels, s1 = dtp_min64((g0 + u1) * g->unit_panels, g->npanels);
        begin += u1 - u0;
        if (s0 >= s1) continue; /* the last group has less */
        gemm_to_batch(&s, run, batch);
        s.batch = batch;
        dtp_gemm_ahead_t ahead;
        s.ahead = chunk + 1 == g->mchunks ? gemm_look_ahead(run, batch + 1, &ahead) : NULL;
        int64_t m0 = 0, m1 = g->m;
        if (g->mchunks > 1) dtp_gemm_chunk_rows(g, chunk, &m0, &m1);
        if (g->tiled) gemm_block_tiled(&s, m0, m1, s0, s1, batch, run->finish, run->arg);
        else if (g->way != DTP_GEMM_TILES) gemm_block_vector(&s, m0, m1, s0, s1);
        else gemm_block(&s, m0, m1, s0, s1);
    }
}

static inline void gemm_one_call(const dtp_gemm_t *g, const dtp_gemm_ptrs_t *p) {
    dtp_ukr_args_t u = g->one_call_args;
    u.a = p->a;
    u.b = p->b;
    u.c = p->c;
    if (g->has_bias) u.bias = p->bias;
    if (g->has_add) u.add = g->add_is_c ? p->c : p->add;
    g->one_call(&u);
    if (g->one_call_rest) {
        dtp_gemm_advance(&u, g->one_call_rows);
        u.nblk = g->one_call_nrest;
        g->one_call_rest(&u);
    }
    if (g->act) {
        float *c = (float *)(void *)p->c;
        const int64_t ld = g->scm / (int64_t)sizeof(float);
        g->act(&(dtp_eltwise_args_t){c, c, ld, ld, g->m, g->n, g->act_alpha, g->act_beta, 0});
    }
}

void dtp_gemm_run(const dtp_gemm_t *g, const dtp_gemm_ptrs_t *p, const dtp_parallel_t *par, char *scratch,
                  size_t scratch_per_slot, dtp_gemm_finish_t finish, const void *arg) {
    if (g->one_call) {
        gemm_one_call(g, p);
        return;
    }
    if (g->units == 0) return;
    /* Long products of a run look at its stop word on the way. */
    const bool long_run = (double)g->unit_ns * (double)g->units > LOOK_NS;
    const dtp_share_t *stop = long_run ? dtp_parallel_stop(par) : NULL;
    gemm_run_t run = {g, p, scratch, scratch_per_slot, finish, arg, stop};
    const bool alone = g->alone || par->num_threads < 2;
    if (g->batches == 1 && !g->tiled && alone) {
        gemm_slot_t s;
        gemm_slot_init(&s, &run, 0);
        if (g->way != DTP_GEMM_TILES) gemm_block_vector(&s, 0, g->m, 0, g->npanels);
        const int64_t group = g->group_units * g->unit_panels;
        for (int64_t s0 = 0; g->way == DTP_GEMM_TILES && s0 < g->npanels && !s.over; s0 += group)
            gemm_block(&s, 0, g->m, s0, dtp_min64(s0 + group, g->npanels));
        return;
    }
    if (alone) gemm_loop(&run, 0, 0, g->units);
    else dtp_parallel_for(par, g->units, -g->unit_ns, gemm_loop, &run);
}
