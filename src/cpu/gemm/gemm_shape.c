/* What the driver of the micro-kernels settles before it runs: tiles, passes, packing, the split over threads
 * and the scratch they need. See gemm.h; the loops that follow it are in gemm.c. */
#include "cpu/gemm/gemm.h"

#include "common/base/base.h"
#include "common/primitive/engine.h"

enum {
    PLAIN_ROWS = 128, /* up to here row-major B is read in place */
    PAGE_BYTES = 4096,
    ODD_PANELS = 8,      /* with more a narrow last strip costs little */
    FEW_BLOCKS = 3,      /* row blocks for which B is read along its rows */
    B_BYTES_PER_NS = 60, /* of one core, from the shared cache */
    ALONE_NS = 2000,     /* not worth a second thread */
    ROWS_PARTS =
        7, /* of ROWS_WHOLE parts of the L2, for rows of A that stay there; strips of B take the others */
    ROWS_WHOLE = 16,
    A_PACK_BYTES = 256 << 10, /* packed A of a slot */
    ONCE_BYTES = 16 << 10,    /* B that needs no prefetch: most of it stays in the first-level cache */
    B_PACK_BYTES = 384 << 10, /* packed B of a slot, or one strip */
    SHORT_BYTES = 32 << 10,   /* of a strip of B, and of the rows of A beside it: both fit the L1, about */
    ACROSS_BYTES = 24 << 10,  /* of B, which stays in the L1 */
    ROW_UNITS = 4,            /* for each thread, where rows are split */
    GROUP_BYTES = 8 << 20,    /* of packed B, which stay in the shared cache while */
    GROUP_CHUNKS = 4          /* so many row chunks, or more, pass */
};

const dtp_ukr_set_t *dtp_ukr_set(dnnl_tp_data_type_t a, dnnl_tp_data_type_t b, dnnl_tp_data_type_t sum,
                                 unsigned isa) {
    static const struct {
        dnnl_tp_data_type_t a, b, sum;
        unsigned isa;
        const dtp_ukr_set_t *set;
    } rows[] = {
#define DTP_UKR_SET(a, b, sum, set, isa) {dnnl_tp_##a, dnnl_tp_##b, dnnl_tp_##sum, isa, &set},
#include "cpu/ukr/ukr_sets.inc"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].a == a && rows[i].b == b && rows[i].sum == sum && (rows[i].isa & ~isa) == 0)
            return rows[i].set;
    return NULL;
}

static int gemm_strip_width(const dtp_gemm_t *g, int64_t m, int64_t npanels) {
    const dtp_ukr_set_t *ukr = g->ukr;
    int nv = 1;
    if (g->b_form == DTP_GEMM_B_WIDE) {
        /* Strips divide the wide column panels. Tiles of less than four rows are for products that have no more. */
        nv = DTP_GEMM_WIDE / DTP_UKR_PANEL;
        while (nv > 1 && ukr->max_mr[nv] < dtp_min64(m, 4)) nv /= 2;
    } else if (g->b_form == DTP_GEMM_B_PACKED && dtp_gemm_tall(ukr, DTP_UKR_TALL_PANELS, m) &&
               (npanels % DTP_UKR_TALL_PANELS == 0 || npanels > ODD_PANELS)) {
        nv = DTP_UKR_TALL_PANELS;
    } else if (ukr->max_nv > 1) {
        if (m <= ukr->max_mr[4]) nv = 4;
        else if (ukr->max_mr[3]) nv = npanels % 3 && npanels % 4 == 0 && m > 2 * ukr->max_mr[4] ? 4 : 3;
        else nv = m <= ukr->max_mr[2] ? 2 : 1;
    }
    if (npanels < nv) nv = (int)npanels;
    /* One row block: no narrow rest. */
    if (m <= ukr->max_mr[nv] && g->b_form != DTP_GEMM_B_WIDE)
        nv = (int)dtp_div_up(npanels, dtp_div_up(npanels, nv));
    while (ukr->max_mr[nv] == 0) nv--;
    return nv;
}

/* Row-major B: read in place, or copied into column panels by the first row block? In place every row block steps
 * through the rows of B, which costs address translations, and cache sets where rows are pages apart. */
static bool gemm_reads_in_place(const dtp_gemm_t *g, int64_t m, int64_t n, int64_t k, int cap) {
    /* The kernels tell packed column panels by their step, and would read whole lines of these. */
    if (g->sbk == DTP_UKR_PANEL_BYTES) return n % DTP_UKR_PANEL == 0;
    if (m <= cap || (k * g->sbk <= ONCE_BYTES && g->batches == 1)) return true;
    if (g->sbk % PAGE_BYTES == 0) return false;
    if (g->nv == 1 && g->ukr->max_nv > 1) return false; /* one line of each row of B is too little */
    return m <= PLAIN_ROWS || k * g->sbk <= g->l2_bytes / 2;
}

/* Are the rows of a product with packed B split between threads, rather than its columns? Where columns are split,
 * each thread reads all of A, most of which other threads have just written into their own caches, and threads
 * write neighbouring lines of C. Where rows are split, each thread reads all of B, which nobody writes. So rows are
 * split where A is larger than B; also where A is more than half as large, if B takes at most half of the
 * second-level cache, so that a thread reads B once, however many chunks of rows it computes, and there is a column
 * panel for each thread: more threads split both ways. Matrices of a batch
 * that fit this cache are not split if there is one for each thread. */
static bool gemm_splits_rows(const dtp_gemm_t *g, bool large_a) {
    if (g->b_form != DTP_GEMM_B_PACKED || (!large_a && g->batches >= g->num_threads)) return false;
    const bool b_stays = g->k == 0 || g->npanels <= g->l2_bytes / 2 / DTP_UKR_PANEL_BYTES / g->k;
    return g->m > g->n || (b_stays && 2 * g->m > g->n && g->npanels >= g->num_threads);
}

/* Products that are one or two calls of kernels get them fixed here. Sums are in order of k all the same. */
static void gemm_plan_one_call(dtp_gemm_t *g) {
    g->one_call = g->one_call_rest = NULL;
    if (g->npanels > g->nv || g->mchunks != 1 || g->batches != 1 || g->tiled || g->way == DTP_GEMM_DOT)
        return;
    if (g->a_form != DTP_GEMM_A_DIRECT || g->b_panels || g->m > g->mc || g->m > DTP_GEMM_TILE_ROWS ||
        g->kc != g->k || g->k * g->npanels * DTP_UKR_PANEL_BYTES > ONCE_BYTES)
        return;
    const bool packed = g->b_form == DTP_GEMM_B_PACKED;
    const int cap = g->ukr->max_mr[g->nv];
    const bool tall = packed && dtp_gemm_tall(g->ukr, g->nv, g->m);
    const int64_t nblk = tall ? 1 : dtp_div_up(g->m, cap), mr = dtp_div_up(g->m, nblk),
                  high = g->m - (mr - 1) * nblk;
    g->one_call = tall ? g->ukr->tall[g->nv][mr] : g->ukr->tile[g->nv][mr];
    g->one_call_rows = high * mr;
    g->one_call_nrest = nblk - high;
    if (nblk > high) g->one_call_rest = g->ukr->tile[g->nv][mr - 1];
    g->one_call_args = (dtp_ukr_args_t){.lda = g->sam,
                                        .ldc = g->scm,
                                        .ntap = 1,
                                        .k = g->k,
                                        .bs = packed ? g->sbn : DTP_UKR_PANEL_BYTES,
                                        .bstep = packed ? DTP_UKR_PANEL_BYTES : g->sbk,
                                        .nblk = high,
                                        .flags = g->flags,
                                        .mask = dtp_gemm_mask(g, g->npanels),
                                        .add_scale = g->add_scale,
                                        .floor = g->floor,
                                        .cap = g->cap,
                                        .ldadd = g->add_is_c ? g->scm : g->sadd};
}

void dtp_gemm_set_shape(dtp_gemm_t *g, int64_t m, int64_t n, int64_t k) {
    g->m = m, g->n = n, g->k = k;
    g->batches = 1;
    for (int d = 0; d < g->nbatch; d++) g->batches *= g->batch_size[d];
    g->npanels = dtp_div_up(n, DTP_UKR_PANEL);
    if (m <= 0 || n <= 0 || g->batches <= 0) {
        g->units = 0;
        g->one_call = NULL;
        return;
    }
    g->nv = gemm_strip_width(g, m, g->npanels);
    g->half_panel =
        g->b_form == DTP_GEMM_B_PACKED && dtp_gemm_takes_half_panel(g->ukr, g->nv, g->npanels, g->n);
    g->unit_panels = g->b_form == DTP_GEMM_B_WIDE ? DTP_GEMM_WIDE / DTP_UKR_PANEL : 1;
    g->nunits = dtp_div_up(g->npanels, g->unit_panels);

    const int cap = g->ukr->max_mr[g->nv];
    /* After a relu nothing is added in the first of several passes. */
    g->kc = g->has_add && g->flags & DTP_UKR_RELU_FIRST ? k : dtp_gemm_pass(k);
    const bool packed = g->b_form == DTP_GEMM_B_PACKED || g->b_form == DTP_GEMM_B_WIDE;
    const bool whole = g->ukr->elems == 1; /* k-steps of B lie in its rows */
    g->along_rows = whole && g->b_form == DTP_GEMM_B_PLAIN && m <= FEW_BLOCKS * cap &&
                    k * g->sbk > g->l2_bytes && !g->tiled && g->a_form == DTP_GEMM_A_DIRECT && !g->has_add;
    const int64_t kc_bytes = dtp_max64(g->kc, 1) * 4;

    const bool in_place = packed || (g->b_form == DTP_GEMM_B_PLAIN && whole && !g->touch_b &&
                                     gemm_reads_in_place(g, m, n, k, cap));
    g->b_copy =
        g->b_form == DTP_GEMM_B_PLAIN && whole && !in_place && g->sbk != DTP_UKR_PANEL_BYTES && !g->tiled;
    int64_t a_limit = g->l2_bytes * ROWS_PARTS / ROWS_WHOLE;
    if (g->a_form != DTP_GEMM_A_DIRECT) a_limit = dtp_min64(a_limit, A_PACK_BYTES);
    g->b_panels = 0;
    g->b_bytes = 0;
    if (!in_place) {
        const int64_t panel = DTP_UKR_PANEL * kc_bytes, strip = g->nv * panel;
        if (m * kc_bytes <= a_limit || g->tiled) {
            /* A stays in L2 while all of B passes: one strip at a time. */
            g->b_panels = g->nv;
        } else {
            g->b_panels = dtp_max64(B_PACK_BYTES / strip, 1) * g->nv;
            a_limit = dtp_min64(a_limit, g->l2_bytes / 8);
        }
        /* Room for any strip width, which depends on the rows of the call. */
        g->b_bytes =
            dtp_min64(g->npanels + DTP_UKR_MAX_NV - 1, dtp_max64(B_PACK_BYTES / panel, DTP_UKR_MAX_NV)) *
            panel;
    }
    g->mc = dtp_max64(a_limit / kc_bytes / cap, 2) * cap;
    if (g->tiled) g->mc = dtp_min64(g->mc, DTP_GEMM_TILE_ROWS / cap * cap);
    const int64_t a_row = kc_bytes + DTP_CACHE_LINE;
    g->a_bytes =
        g->a_form == DTP_GEMM_A_DIRECT ? 0 : dtp_round_up(dtp_min64(g->mc, m) * a_row, DTP_CACHE_LINE);

    g->way = DTP_GEMM_TILES;
    if (whole && g->a_form == DTP_GEMM_A_DIRECT && !g->tiled && !g->add_is_c && k > 0) {
        if (g->b_form == DTP_GEMM_B_PLAIN && m == 1) g->way = DTP_GEMM_GEMV;
        if (g->b_form == DTP_GEMM_B_TRANS && m <= DTP_UKR_DOT_ROWS) g->way = DTP_GEMM_DOT;
    }

    /* Cost: arithmetic at the peak, or reading B from the shared cache. */
    const double matrices = (double)g->batches, kn = (double)k * (double)n;
    const double flops_ns = 2.0 * (double)m * kn * matrices / g->ukr->flops_per_ns,
                 read_ns = 4 * kn * matrices / B_BYTES_PER_NS;
    const double ns = (flops_ns > read_ns ? flops_ns : read_ns) + 1;
    const bool large_a = k * 4 > g->l2_bytes / m;
    g->prefetch_a = large_a && g->a_form == DTP_GEMM_A_DIRECT && g->b_form == DTP_GEMM_B_PACKED &&
                    g->sam == k * 4 && g->kc >= k;
    g->stream_c = g->l3_bytes && dtp_exceeds_caches((double)m * (double)(k + n) * 4, g->l3_bytes) &&
                  g->batches == 1 && !g->tiled && g->way == DTP_GEMM_TILES && g->kc >= k && !g->add_is_c &&
                  !g->act && !(g->flags & DTP_UKR_C_BF16) && n % DTP_UKR_PANEL == 0 &&
                  g->scm % DTP_CACHE_LINE == 0;
    g->mchunks = 1;
    if (g->num_threads > 1 && ns >= ALONE_NS) {
        /* Split rows too where strips alone do not share out evenly. */
        const int64_t most = dtp_max64(m / dtp_min64(32, dtp_max64(dtp_div_up(m, g->num_threads), cap)), 1);
        double best = 0;
        if (gemm_splits_rows(g, large_a)) g->mchunks = dtp_min64(ROW_UNITS * (int64_t)g->num_threads, most);
        for (int64_t c = g->mchunks; c <= most && c <= 4 * g->num_threads && best < 0.95; c++) {
            const double units = (double)(g->batches * g->nunits * c);
            const double even =
                units / ((double)g->num_threads * (double)dtp_div_up((int64_t)units, g->num_threads));
            if (even > best + 0.02) best = even, g->mchunks = c;
        }
        /* Units of tall products must not be so long that a cancelled or shared run waits for them. */
        g->mchunks = dtp_max64(g->mchunks, m / (8 * g->mc));
    }
    g->groups = 1;
    if (g->b_form == DTP_GEMM_B_PACKED && g->batches == 1 && m >= GROUP_CHUNKS * g->mc)
        g->groups = dtp_div_up(g->nunits * k * DTP_UKR_PANEL_BYTES, GROUP_BYTES);
    g->group_units = dtp_div_up(g->nunits, dtp_max64(g->groups, 1));
    g->groups = dtp_div_up(g->nunits, g->group_units);
    g->units = g->batches * g->groups * g->mchunks * g->group_units;
    /* Short sums write more than they read: all strips of B, which stay in the second-level cache,
     * pass over few rows, so that lines of C that lie side by side are written together. */
    if (g->b_form == DTP_GEMM_B_PACKED && g->npanels > g->nv && !g->tiled &&
        g->nv * kc_bytes * DTP_UKR_PANEL <= SHORT_BYTES &&
        g->npanels * kc_bytes * DTP_UKR_PANEL <= g->l2_bytes / 4)
        g->mc = dtp_min64(g->mc, dtp_max64(SHORT_BYTES / kc_bytes / cap, 2) * cap);
    g->across = g->ukr->across[g->nv] && g->npanels > g->nv && g->b_form == DTP_GEMM_B_PACKED && !g->tiled &&
                g->a_form == DTP_GEMM_A_DIRECT && g->way == DTP_GEMM_TILES && g->kc >= k && !g->has_add &&
                g->batches == 1 && !(g->flags & DTP_UKR_RELU_FIRST) &&
                g->npanels * kc_bytes * DTP_UKR_PANEL <= ACROSS_BYTES;
    const double unit_ns = ns / (double)g->units;
    g->unit_ns = unit_ns < 1e9 ? (int64_t)unit_ns + 1 : (int64_t)1e9;
    g->alone = g->num_threads < 2 || g->units < 2 || ns < ALONE_NS;
    gemm_plan_one_call(g);
}

void dtp_gemm_set_rows(dtp_gemm_t *g, int64_t m) {
    const bool dot = g->way == DTP_GEMM_DOT;
    dtp_gemm_set_shape(g, m, g->n, g->k);
    /* A part of the rows has the bits of the whole. */
    if (g->way == DTP_GEMM_DOT && !dot) g->way = DTP_GEMM_TILES;
}

enum { TILE_BYTES = DTP_GEMM_TILE_ROWS * DTP_GEMM_TILE_LD * 4 };

size_t dtp_gemm_scratch_per_slot(const dtp_gemm_t *g) {
    return (size_t)(g->units ? g->a_bytes + g->b_bytes + (g->tiled ? TILE_BYTES : 0) : 0);
}

size_t dtp_gemm_scratch_any_shape(const dtp_gemm_t *g) {
    size_t bytes = g->tiled ? TILE_BYTES : 0;
    if (g->a_form != DTP_GEMM_A_DIRECT)
        bytes += dtp_max64(A_PACK_BYTES, 2 * DTP_UKR_MAX_MR * 4 * DTP_GEMM_K_CHAIN) +
                 DTP_GEMM_TILE_ROWS * DTP_CACHE_LINE * 64;
    if (g->b_form != DTP_GEMM_B_PACKED && g->b_form != DTP_GEMM_B_WIDE)
        bytes +=
            dtp_max64(B_PACK_BYTES, DTP_UKR_MAX_NV * DTP_UKR_PANEL * 4 * (DTP_GEMM_K_CHAIN + DTP_UKR_PANEL));
    return bytes;
}
