/* See gemm_rows.h. Row blocks are balanced (49 rows are 7 x 7, not 6 x 8 + 1). Lines of the next strip are prefetched
 * while the last row blocks of this one are computed. */
#include "cpu/gemm/gemm_rows.h"

#include "common/base/base.h"
#include "common/primitive/engine.h"

enum { STREAM_AHEAD = 16384 /* bytes of weights in flight for single row blocks */ };

/* Row blocks over a strip that is at hand: they prefetch ahead, a column panel of lines each, not the next strip. */
static void gemm_blocks_ahead(const dtp_ukr_fn_t *fn, dtp_ukr_args_t *u, int64_t nblk, int64_t mr,
                              int64_t high, dtp_gemm_ahead_t *ahead) {
    u->pf_first = 0;
    u->pf_mode = DTP_UKR_PF_LINE;
    for (int i = 0; nblk > 0;) {
        if (high == 0) high = nblk, --mr;
        int64_t count = high;
        u->pf_count = 0;
        if (i < 2) {
            count = dtp_min64(dtp_div_up(dtp_max64(ahead->end[i] - ahead->at[i], 0), u->bs), high);
            u->pf = ahead->at[i];
            u->pf_count = count;
            ahead->at[i] += count * u->bs;
            if (ahead->at[i] >= ahead->end[i]) ++i;
            if (count == 0) continue;
        }
        u->nblk = count;
        fn[mr](u);
        nblk -= count;
        high -= count;
        dtp_gemm_advance(u, count * mr);
    }
}

/* rows x nv column panels: row blocks with their prefetch. u holds everything but blocks and prefetch; pf: the next
 * strip. */
void dtp_gemm_rows_ahead(const dtp_ukr_set_t *ukr, dtp_ukr_args_t *u, int nv, int64_t rows, const char *pf,
                         dtp_gemm_ahead_t *ahead) {
    if (DTP_UNLIKELY(ukr->max_mr[nv] == 0)) {
        /* No kernel of this width: the widest one there is, then the rest. */
        int first = nv - 1;
        while (ukr->max_mr[first] == 0) first--;
        dtp_ukr_args_t v = *u;
        v.mask = 0xffff;
        dtp_gemm_rows_ahead(ukr, &v, first, rows, u->b + first * u->bs, NULL);
        u->b += first * u->bs;
        if (u->copy) u->copy += first * u->copy_bs;
        const int64_t cols = first * DTP_UKR_PANEL;
        u->c += cols * dtp_ukr_c_bytes(u->flags);
        if (u->bias) u->bias = (const char *)u->bias + cols * dtp_ukr_bias_bytes(u->flags);
        if (u->add) u->add += cols * dtp_ukr_add_bytes(u->flags);
        dtp_gemm_rows_ahead(ukr, u, nv - first, rows, pf, ahead);
        return;
    }
    const bool half =
        nv == 2 && ukr->half_panel_mr && dtp_ukr_is_half_panel(u->mask) && u->bstep == DTP_UKR_PANEL_BYTES;
    const bool may_be_tall = u->bstep == DTP_UKR_PANEL_BYTES && !u->row_a && !u->row_c && !u->row_add &&
                             !u->taps && !(u->flags & DTP_UKR_STREAM);
    if (may_be_tall && dtp_gemm_many_tall(ukr, nv, rows) && !half && !u->pf_rows && !ahead) {
        /* A line of B serves more rows. The last rows, which are ordinary blocks, prefetch the next
         * strip; all blocks prefetch where a batch goes on (`ahead`). */
        const int mr = ukr->many_tall[nv];
        const int64_t nblk = (rows - DTP_UKR_MAX_MR) / mr;
        u->nblk = nblk;
        u->pf = u->b;
        u->pf_dist = 0;
        dtp_gemm_tall_block(ukr, nv, u->lda)(u);
        dtp_gemm_advance(u, nblk * mr);
        rows -= nblk * mr;
    }
    const bool tall = nv == DTP_UKR_TALL_PANELS && dtp_gemm_tall(ukr, nv, rows) && may_be_tall;
    const int cap = half ? ukr->half_panel_mr : tall ? DTP_UKR_TALL_ROWS : ukr->max_mr[nv];
    const dtp_ukr_fn_t *fn = half ? ukr->half_panel : tall ? ukr->tall[nv] : ukr->tile[nv];
    u->pf = pf;
    u->pf_first = 0;
    u->pf_shift = 0;
    if (rows <= cap) {
        /* With a copy only where later row chunks are there to use it. */
        u->nblk = 1;
        u->pf_count = 1;
        u->pf_mode = DTP_UKR_PF_STREAM;
        if (u->bstep == DTP_UKR_PANEL_BYTES) u->pf_dist = STREAM_AHEAD / nv & -DTP_CACHE_LINE;
        fn[rows](u);
        return;
    }
    int64_t nblk = (int64_t)((uint64_t)(rows + cap - 1) / (unsigned)cap);
    int64_t mr = dtp_div_up(rows, nblk), high = rows - (mr - 1) * nblk;
    if (u->copy) {
        /* The first block packs for the others. */
        u->nblk = 1;
        u->pf_count = 0;
        fn[mr](u);
        dtp_gemm_advance(u, mr);
        u->b = u->copy;
        u->bs = u->copy_bs;
        u->bstep = DTP_UKR_PANEL_BYTES;
        u->copy = NULL;
        --nblk;
        if (--high == 0) high = nblk, --mr;
        if (ahead) {
            gemm_blocks_ahead(fn, u, nblk, mr, high, ahead);
            return;
        }
        u->pf_mode = DTP_UKR_PF_LINE;
        u->nblk = high;
        fn[mr](u);
        if (nblk > high) {
            dtp_gemm_advance(u, high * mr);
            u->nblk = nblk - high;
            fn[mr - 1](u);
        }
        return;
    }
    if (ahead && u->bstep == DTP_UKR_PANEL_BYTES) {
        gemm_blocks_ahead(fn, u, nblk, mr, high, ahead);
        return;
    }
    if (u->bstep == DTP_UKR_PANEL_BYTES && nblk < nv) {
        /* Fewer blocks than lines: the first blocks take two each. */
        u->nblk = 1;
        u->pf_count = 1;
        for (int64_t b = 0, line = 0; b < nblk; b++) {
            const int64_t h = b < high ? mr : mr - 1;
            const bool pair = nv - line > nblk - b;
            u->pf_mode = pair ? DTP_UKR_PF_PAIR : DTP_UKR_PF_LINE;
            u->pf = pf + line * u->bs;
            fn[h](u);
            line += pair ? 2 : 1;
            dtp_gemm_advance(u, h);
        }
        return;
    }
    /* A column panel of the next strip in each of the last nv blocks, or in more blocks a part of one: memory is
     * slower than a row block that asks for a line per k-step, and the lines it waits for hold up those of this
     * strip. Where rows of A are fetched too, three blocks of four are left for them. */
    const bool packed = u->bstep == DTP_UKR_PANEL_BYTES;
    const int64_t blocks = u->pf_rows ? nblk / 4 : nblk;
    int shift = ukr->pf_shift;
    while (shift > 0 && blocks < (int64_t)nv << shift) shift--;
    const int64_t count = packed ? (int64_t)nv << shift : 0;
    u->pf_mode = DTP_UKR_PF_LINE;
    u->pf_shift = shift;
    u->nblk = high;
    u->pf_first = nblk - count;
    u->pf_count = count;
    fn[mr](u);
    if (nblk > high) {
        dtp_gemm_advance(u, high * mr);
        u->nblk = nblk - high;
        u->pf_first -= high; /* from the first block of a call; negative: some of them are done */
        fn[mr - 1](u);
    }
}

void dtp_gemm_rows(const dtp_ukr_set_t *ukr, dtp_ukr_args_t *u, int nv, int64_t rows, const char *pf) {
    dtp_gemm_rows_ahead(ukr, u, nv, rows, pf, NULL);
}
