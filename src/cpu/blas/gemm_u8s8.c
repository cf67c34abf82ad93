/* The int8 gemm calls on processors that multiply u8 by s8: both operands are packed, A only where its rows
 * cannot be read in place, and the driver of the f32 products runs over them (four bytes are one element). s8
 * in A is read as u8, 128 more.
 *
 * sum (a - ao) (b - bo) = sum a b - ao * (sums of B's columns) - bo * (sums of A's rows) + k ao bo: added
 * modulo 2^32, and the result fits, so it is exact. Results that are neither scaled nor added to and cannot
 * saturate are stored by the kernels. */
#include "cpu/engine/cpu_engine.h"
#include "cpu/blas/gemm_int8.h"
#include "cpu/gemm/gemm.h"
#include "cpu/ukr/ukr_u8s8.h"

#if DTP_X64

enum {
    BLOCK_BYTES = 8 << 20,  /* of a packed operand */
    FEW_ROWS = 8,           /* for which B is read in place */
    GROUP = DTP_GEMM_WIDE,  /* columns of B, rows of A that are packed at a time */
    A_GAP = DTP_CACHE_LINE, /* between packed rows, which else share cache sets */
    PACK_BYTES_PER_NS = 20
};

typedef struct {
    const dtp_gemm8_t *x;
    int64_t n0, n, m0, m; /* this block */
    int64_t k4, bs,
        lda; /* bytes: of padded k, from column panel to column panel, from row to row of packed A */
    bool pack_a;
    bool direct;
    int ao; /* of A as u8 */
    char *b, *a, *panels;
    int32_t *col, *row; /* what is added to the sums of a column, of a row */
} run_t;

/* From the sums of columns: what is added to them. */
static void settle_columns(const run_t *r, int32_t *col, int64_t j0, int64_t n) {
    const dtp_gemm8_t *x = r->x;
    const uint32_t all = (uint32_t)x->s.k * (uint32_t)(r->ao * x->bo);
    for (int64_t j = 0; j < n; ++j) {
        const uint32_t co = !r->direct ? 0 : (uint32_t)x->co[x->offsetc == 'R' ? r->n0 + j0 + j : 0];
        col[j] = (int32_t)(all + co - (uint32_t)r->ao * (uint32_t)col[j]);
    }
}

static void pack_b_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const run_t *r = arg;
    const dtp_gemm8_t *x = r->x;
    (void)slot;
    const int64_t j0 = begin * GROUP, n = dtp_min64(end * GROUP, r->n) - j0, at = r->n0 + j0;
    dtp_u8s8_pack_b__avx512_vnni(x->b + (x->s.trans_b ? at * x->s.ldb : at), x->s.ldb, x->s.trans_b, x->s.k,
                                 n, r->b + j0 / DTP_UKR_PANEL * r->bs, r->bs, r->col + j0);
    settle_columns(r, r->col + j0, j0, n);
}

static void pack_a_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const run_t *r = arg;
    const dtp_gemm8_t *x = r->x;
    const int64_t i0 = begin * GROUP, m = dtp_min64(end * GROUP, r->m) - i0, at = r->m0 + i0;
    dtp_u8s8_pack_a__avx512_vnni(x->a + (x->s.trans_a ? at : at * x->s.lda), x->s.lda, x->s.trans_a, m,
                                 x->s.k, x->a_signed ? 0x80 : 0, r->a + i0 * r->lda, r->lda,
                                 r->panels + slot * dtp_round_up(16 * r->k4, DTP_CACHE_LINE),
                                 x->bo ? r->row + i0 : NULL);
    for (int64_t i = i0; x->bo && i < i0 + m; ++i)
        r->row[i] = (int32_t)(0u - (uint32_t)x->bo * (uint32_t)r->row[i]);
}

/* Rows row0.. by columns col0.. of the block; col: what is added to these. */
static void store_rows(const run_t *r, const int32_t *sum, int64_t ld, const int32_t *col, int64_t row0,
                       int64_t rows, int64_t col0, int64_t cols) {
    const dtp_gemm8_t *x = r->x;
    for (int64_t i = row0; i < row0 + rows; ++i, sum += ld) {
        int32_t *c = x->c + (r->m0 + i) * x->s.ldc + r->n0 + col0;
        const int32_t *co = x->offsetc == 'F'   ? x->co
                            : x->offsetc == 'C' ? x->co + r->m0 + i
                                                : x->co + r->n0 + col0;
        dtp_u8s8_store__avx512_vnni(sum, col, x->bo ? r->row[i] : 0, c, cols, (double)x->alpha,
                                    (double)x->beta, co, x->offsetc == 'R');
    }
}

static void store(const void *arg, int64_t batch, float *tile, int64_t ld, int64_t row0, int64_t rows,
                  int64_t col0, int64_t cols) {
    const run_t *r = arg;
    (void)batch;
    store_rows(r, (const int32_t *)(const void *)tile, ld, r->col + col0, row0, rows, col0, cols);
}

static void few_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const run_t *r = arg;
    const dtp_gemm8_t *x = r->x;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        int32_t tile[DTP_U8S8_FEW * GROUP], col[GROUP];
        const int64_t j = i * GROUP, n = dtp_min64(GROUP, r->n - j);
        for (int64_t m0 = 0; m0 < r->m; m0 += DTP_U8S8_FEW) {
            const int64_t m = dtp_min64(DTP_U8S8_FEW, r->m - m0);
            const char *a = r->pack_a ? r->a : (const char *)x->a;
            dtp_u8s8_few__avx512_vnni(a + m0 * r->lda, r->lda, m, x->b + j, x->s.ldb, x->s.k, n, tile, col);
            settle_columns(r, col, j, n);
            store_rows(r, tile, GROUP, col, m0, m, j, n);
        }
    }
}

/* Nothing follows the sums but offsets of columns that cannot take them out of s32. */
static bool is_direct(const dtp_gemm8_t *x) {
    if (x->alpha != 1 || x->beta != 0 || x->bo || x->offsetc == 'C') return false;
    const int64_t room = INT32_MAX - x->s.k * 255 * 255, n = x->offsetc == 'R' ? x->s.n : 1;
    for (int64_t j = 0; j < n; ++j)
        if (x->co[j] > room || x->co[j] < -room) return false;
    return true;
}

static int64_t block_of(int64_t n, int64_t k4) {
    return dtp_min64(dtp_round_up(n, GROUP), dtp_max64(BLOCK_BYTES / k4 / GROUP, 1) * GROUP);
}

static void product_of(const run_t *r, int num_threads, dtp_gemm_t *g) {
    memset(g, 0, sizeof *g);
    g->ukr = dtp_ukr_set(dnnl_tp_u8, dnnl_tp_s8, dnnl_tp_s32, DTP_ISA_AVX512_VNNI);
    g->l2_bytes = dtp_cpu_cache_bytes(2);
    g->num_threads = num_threads;
    g->a_form = DTP_GEMM_A_DIRECT;
    g->sam = r->lda;
    g->sak = DTP_UKR_STEP_BYTES;
    g->b_form = DTP_GEMM_B_PACKED;
    g->sbk = DTP_UKR_PANEL_BYTES;
    g->sbn = r->bs;
    g->scm = r->x->s.ldc * DTP_UKR_STEP_BYTES;
    g->has_bias = true;
    g->tiled = !r->direct;
}

dnnl_tp_status_t dtp_gemm_u8s8(const dtp_gemm8_t *x, const dtp_parallel_t *par) {
    const dtp_gemm_sizes_t *s = &x->s;
    const bool few = s->m <= FEW_ROWS && !s->trans_b;
    run_t r = {.x = x, .k4 = dtp_round_up(s->k, 4), .ao = x->ao + (x->a_signed ? 0x80 : 0)};
    r.direct = !few && is_direct(x);
    r.bs = r.k4 * DTP_UKR_PANEL;
    r.pack_a = x->a_signed || s->trans_a || s->k % 4 || x->bo;
    r.lda = r.pack_a ? dtp_round_up(r.k4, DTP_CACHE_LINE) + A_GAP : s->lda;
    const int64_t nb = few ? s->n : block_of(s->n, r.k4), mb = r.pack_a ? block_of(s->m, r.k4) : s->m;
    dtp_gemm_t g;
    product_of(&r, par->num_threads, &g);
    if (!few) dtp_gemm_set_shape(&g, dtp_min64(mb, s->m), dtp_min64(nb, s->n), r.k4 / 4);

    const size_t per_slot = few ? 0 : dtp_round_up_size(dtp_gemm_scratch_per_slot(&g), DTP_CACHE_LINE),
                 slots = (size_t)par->num_threads, b_bytes = few ? 0 : (size_t)(nb * r.k4),
                 col_bytes = few ? 0 : (size_t)nb * 4,
                 row_bytes = dtp_round_up_size(x->bo ? (size_t)mb * 4 : 0, DTP_CACHE_LINE),
                 panel_bytes =
                     s->trans_a ? dtp_round_up_size((size_t)(16 * r.k4), DTP_CACHE_LINE) * slots : 0,
                 a_bytes = r.pack_a ? (size_t)(mb * r.lda) : 0,
                 bytes = b_bytes + col_bytes + row_bytes + panel_bytes + a_bytes + per_slot * slots;
    char *scratch = bytes ? dtp_alloc(NULL, bytes, DTP_CACHE_LINE) : NULL;
    if (bytes && !scratch) return dtp_no_memory(bytes);
    r.b = scratch;
    r.col = (int32_t *)(void *)(scratch + b_bytes);
    r.row = (int32_t *)(void *)(scratch + b_bytes + col_bytes);
    r.panels = scratch + b_bytes + col_bytes + row_bytes;
    r.a = r.panels + panel_bytes;
    char *tiles = r.a + a_bytes;

    const int64_t group_ns = GROUP * r.k4 / PACK_BYTES_PER_NS + 1;
    for (r.n0 = 0; r.n0 < s->n; r.n0 += nb) {
        r.n = dtp_min64(nb, s->n - r.n0);
        const int64_t groups = dtp_div_up(r.n, GROUP);
        if (!few) dtp_parallel_for(par, groups, -group_ns, pack_b_loop, &r);
        for (r.m0 = 0; r.m0 < s->m; r.m0 += mb) {
            r.m = dtp_min64(mb, s->m - r.m0);
            if (r.pack_a && (r.n0 == 0 || mb < s->m))
                dtp_parallel_for(par, dtp_div_up(r.m, GROUP), -group_ns, pack_a_loop, &r);
            if (few) {
                dtp_parallel_for(par, groups, -group_ns * dtp_div_up(r.m, DTP_U8S8_FEW), few_loop, &r);
                continue;
            }
            dtp_gemm_set_shape(&g, r.m, r.n, r.k4 / 4);
            const dtp_gemm_ptrs_t p = {.a = r.pack_a ? r.a : (const char *)(x->a + r.m0 * s->lda),
                                       .b = r.b,
                                       .c = (char *)(x->c + r.m0 * s->ldc + r.n0),
                                       .bias = (const char *)r.col};
            dtp_gemm_run(&g, &p, par, tiles, per_slot, store, &r);
        }
    }
    dtp_free(NULL, scratch);
    return dnnl_tp_success;
}
#endif
