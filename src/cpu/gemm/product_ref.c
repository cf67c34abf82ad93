/* See product_ref.h. A unit of work is a block of rows of one matrix times a block of columns; both operands
 * pass through it in blocks of k, packed in groups of four so that the inner loop reads memory in order. */
#include "cpu/gemm/product_ref.h"

#include "common/layout/zero_pad.h"
#include "cpu/access/rows.h"
#include "threading/base/parallel.h"

enum {
    SIDE = 4,       /* rows, and columns, of a tile that is summed in registers */
    ROW_BLOCK = 32, /* a converted weight serves so many rows */
    COL_BLOCK = 64, /* a converted src so many columns */
    K_BLOCK = 256,
    FEW_ROWS = 8,   /* so few hide no conversion: weights are read in longer runs, */
    LONG_RUN = 512, /* of so many elements */
    SHORT_SIDE = 32
};

/* Two doubles, which every processor of this kind multiplies at once; others get two products of it. */
enum { PAIR = 2, PAIRS = SIDE / PAIR };
typedef double f64x2_t __attribute__((vector_size(PAIR * sizeof(double))));

/* ---- Creation ---------------------------------------------------------------------------------------- */

/* Blocks no larger than the problem. */
static int64_t ref_block(int64_t most, int64_t size) {
    return size < 0 ? most : dtp_min64(most, dtp_round_up(dtp_max64(size, 1), SIDE));
}

/* Doubles of a slot's scratch: both operands, sums, one row, scales of the columns. */
static size_t ref_scratch(const dtp_product_ref_t *p) {
    const int64_t run = dtp_max64(p->k_block, p->col_block);
    const int64_t elems =
        (p->row_block + p->col_block) * p->k_block + p->row_block * p->col_block * 2 + 2 * run + p->col_block;
    return (size_t)elems * sizeof(double);
}

dnnl_tp_status_t dtp_product_ref_init(dtp_product_ref_t *p, dtp_pd_t *pd, dtp_md_t *const mds[4],
                                      unsigned k_dims, unsigned wei_k_dims) {
    for (int i = 0; i < 4; ++i)
        if (!dtp_md_is_zero(mds[i]) && dtp_md_is_any(mds[i])) dtp_md_make_plain(mds[i]);
    DTP_TRY(dtp_quant_init(&p->src_scale, pd, DNNL_TP_ARG_SRC, true));
    DTP_TRY(dtp_quant_init(&p->wei_scale, pd, DNNL_TP_ARG_WEIGHTS, true));
    DTP_TRY(dtp_quant_init(&p->dst_scale, pd, DNNL_TP_ARG_DST, true));
    DTP_TRY(dtp_quant_init(&p->src_zp, pd, DNNL_TP_ARG_SRC, false));
    DTP_TRY(dtp_quant_init(&p->wei_zp, pd, DNNL_TP_ARG_WEIGHTS, false));
    DTP_TRY(dtp_quant_init(&p->dst_zp, pd, DNNL_TP_ARG_DST, false));
    p->src_scale_in_k = p->src_scale.index >= 0 && (unsigned)p->src_scale.mask & k_dims;
    p->wei_scale_in_k = p->wei_scale.index >= 0 && (unsigned)p->wei_scale.mask & wei_k_dims;
    const dtp_md_t *src = mds[DTP_PRODUCT_REF_SRC], *dst = mds[DTP_PRODUCT_REF_DST];
    int64_t rows = 1, k = 1;
    for (int d = 0; d < dst->ndims - 1; ++d)
        rows = rows < 0 || dst->dims[d] < 0 ? DNNL_TP_RUNTIME_DIM_VAL : rows * dst->dims[d];
    for (int d = 0; d < src->ndims; ++d)
        if (k_dims >> d & 1) k = k < 0 || src->dims[d] < 0 ? DNNL_TP_RUNTIME_DIM_VAL : k * src->dims[d];
    p->row_block = ref_block(ROW_BLOCK, rows);
    p->col_block = ref_block(COL_BLOCK, dst->dims[dst->ndims - 1]);
    p->k_block = ref_block(K_BLOCK, k);
    if (rows >= 0 && rows <= FEW_ROWS) {
        const bool along_n = wei_k_dims >> (mds[DTP_PRODUCT_REF_WEI]->ndims - 1) == 0;
        p->col_block = ref_block(along_n ? LONG_RUN : SHORT_SIDE, dst->dims[dst->ndims - 1]);
        p->k_block = ref_block(along_n ? SHORT_SIDE : LONG_RUN, k);
    }
    p->vops = dtp_vops(pd->engine->isa);
    dtp_pd_book(pd, 0, ref_scratch(p));
    return dtp_postops_init(&p->po, pd, DTP_PRODUCT_REF_DST, 0);
}

/* ---- Execution --------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_product_ref_t *p;
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const dtp_product_ref_job_t *job;
    int64_t row_blocks, col_blocks; /* of a matrix */
} run_t;

/* n elements of an operand, ready to be multiplied. values: room for n. */
static void ref_read(const run_t *r, const dtp_md_t *md, int arg, const dtp_quant_view_t *zp,
                     const dtp_quant_view_t *scale, int64_t index, int64_t n, double *x, double *values) {
    dtp_rows_load_f64(r->p->vops, md, r->ctx->ptr[arg], index, n, x);
    if (zp->index >= 0) {
        dtp_quant_run(zp, r->ctx, md, index, n, values);
        for (int64_t i = 0; i < n; ++i) x[i] -= values[i];
    }
    if (scale) {
        dtp_quant_run(scale, r->ctx, md, index, n, values);
        for (int64_t i = 0; i < n; ++i) x[i] *= values[i];
    }
}

/* Row-major index of the row of dst among the rows of md, whose batch is dst's or 1; rows: of each matrix. */
static int64_t ref_row_of(const dtp_product_ref_job_t *j, const dtp_md_t *md, int64_t row, int64_t rows) {
    if (!j->batched) return row;
    const dtp_md_t *dst = j->dst;
    const int nd = dst->ndims;
    int64_t rest = row / dst->dims[nd - 2], at = 0, step = 1;
    for (int d = nd - 3; d >= 0; --d) {
        if (md->dims[d] != 1) at += rest % dst->dims[d] * step;
        step *= md->dims[d];
        rest /= dst->dims[d];
    }
    return at * rows + (rows == 1 ? 0 : row % dst->dims[nd - 2]);
}

/* Elements 0..n of x, `step` apart in groups of four, as one row or column of a packed block. */
static inline void ref_spread(double *to, const double *x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i * SIDE] = x[i];
}

/* a[rows / 4][k][4]: src's rows. */
static void ref_pack_src(const run_t *r, int64_t row0, int64_t rows, int64_t k0, int64_t k, double *a,
                         double *x, double *values) {
    const dtp_product_ref_job_t *j = r->job;
    const dtp_product_ref_t *p = r->p;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = ref_row_of(j, j->src, row0 + i, j->batched ? j->dst->dims[j->dst->ndims - 2] : 1);
        ref_read(r, j->src, DTP_PRODUCT_REF_SRC, &p->src_zp, p->src_scale_in_k ? &p->src_scale : NULL,
                 at * j->k + k0, k, x, values);
        ref_spread(a + i / SIDE * SIDE * k + i % SIDE, x, k);
    }
    for (int64_t i = rows; i % SIDE; ++i)
        for (int64_t l = 0; l < k; ++l) a[i / SIDE * SIDE * k + i % SIDE + l * SIDE] = 0;
}

/* b[cols / 4][k][4]: columns of the weights of matrix `wei`. */
static void ref_pack_wei(const run_t *r, int64_t wei, int64_t col0, int64_t cols, int64_t k0, int64_t k,
                         double *b, double *x, double *values) {
    const dtp_product_ref_job_t *j = r->job;
    const dtp_product_ref_t *p = r->p;
    const dtp_quant_view_t *scale = p->wei_scale_in_k ? &p->wei_scale : NULL;
    if (j->batched) {
        for (int64_t l = 0; l < k; ++l) {
            ref_read(r, j->wei, DTP_PRODUCT_REF_WEI, &p->wei_zp, scale, (wei * j->k + k0 + l) * j->n + col0,
                     cols, x, values);
            for (int64_t i = cols; i % SIDE; ++i) x[i] = 0;
            for (int64_t i = 0; i < cols; i += SIDE) memcpy(b + i * k + l * SIDE, x + i, SIDE * sizeof *b);
        }
        return;
    }
    for (int64_t i = 0; i < cols; ++i) {
        ref_read(r, j->wei, DTP_PRODUCT_REF_WEI, &p->wei_zp, scale, (col0 + i) * j->k + k0, k, x, values);
        ref_spread(b + i / SIDE * SIDE * k + i % SIDE, x, k);
    }
    for (int64_t i = cols; i % SIDE; ++i)
        for (int64_t l = 0; l < k; ++l) b[i / SIDE * SIDE * k + i % SIDE + l * SIDE] = 0;
}

/* Rows and four columns: sums go on from c. */
static inline __attribute__((always_inline)) void ref_tile(const double *a, const double *b, int64_t k,
                                                           double *c, int64_t ldc, const int rows) {
    f64x2_t s[SIDE][PAIRS], w[PAIRS];
    for (int i = 0; i < rows; ++i) memcpy(s[i], c + i * ldc, sizeof s[i]);
    for (int64_t l = 0; l < k; ++l, a += SIDE, b += SIDE) {
        memcpy(w, b, sizeof w);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < PAIRS; ++j) s[i][j] += a[i] * w[j];
    }
    for (int i = 0; i < rows; ++i) memcpy(c + i * ldc, s[i], sizeof s[i]);
}
static void ref_tile_4(const double *a, const double *b, int64_t k, double *c, int64_t ldc) {
    ref_tile(a, b, k, c, ldc, SIDE);
}
static void ref_tile_1(const double *a, const double *b, int64_t k, double *c, int64_t ldc) {
    ref_tile(a, b, k, c, ldc, 1);
}

/* What follows the sums: c[i * ld + n] of rows row0.., columns col0.. x: a row; scale: one per column. */
static void ref_finish(const run_t *r, int64_t row0, int64_t rows, int64_t col0, int64_t cols, int64_t wei,
                       double *c, int64_t ld, double *x, double *scale, float *tile) {
    const dtp_product_ref_job_t *j = r->job;
    const dtp_product_ref_t *p = r->p;
    const bool src_scale = p->src_scale.index >= 0 && !p->src_scale_in_k && j->k > 0;
    const bool wei_scale = p->wei_scale.index >= 0 && !p->wei_scale_in_k && j->k > 0;
    if (wei_scale && j->batched)
        dtp_quant_run(&p->wei_scale, r->ctx, j->wei, wei * j->k * j->n + col0, cols, scale);
    if (wei_scale && !j->batched)
        for (int64_t n = 0; n < cols; ++n)
            dtp_quant_run(&p->wei_scale, r->ctx, j->wei, (col0 + n) * j->k, 1, scale + n);
    for (int64_t i = 0; i < rows; ++i) {
        double *y = c + i * ld;
        double by = 1;
        if (src_scale) {
            const int64_t m = j->batched ? j->dst->dims[j->dst->ndims - 2] : 1;
            dtp_quant_run(&p->src_scale, r->ctx, j->src, ref_row_of(j, j->src, row0 + i, m) * j->k, 1, &by);
        }
        if (src_scale || wei_scale)
            for (int64_t n = 0; n < cols; ++n) y[n] *= wei_scale ? by * scale[n] : by;
        if (j->bia) {
            const dtp_md_t *bia = j->bia;
            const int last = bia->ndims - 1;
            const int64_t at = ref_row_of(j, bia, row0 + i, j->batched ? bia->dims[last - 1] : 1);
            const bool one = bia->dims[last] == 1;
            const int64_t first = (j->batched ? at * bia->dims[last] : 0) + (one ? 0 : col0);
            dtp_rows_load_f64(p->vops, bia, r->ctx->ptr[DTP_PRODUCT_REF_BIA], first, one ? 1 : cols, x);
            for (int64_t n = 0; n < cols; ++n) y[n] += x[one ? 0 : n];
        }
        for (int64_t n = 0; n < cols && p->po.len; ++n) tile[i * ld + n] = (float)y[n];
    }
    if (p->po.len) dtp_postops_apply(&p->po, r->pd, r->ctx, tile, ld, rows, cols, row0, col0);
    for (int64_t i = 0; i < rows; ++i) {
        double *y = c + i * ld;
        const int64_t index = (row0 + i) * j->n + col0;
        for (int64_t n = 0; n < cols && p->po.len; ++n) y[n] = tile[i * ld + n];
        if (p->dst_scale.index >= 0) {
            dtp_quant_run(&p->dst_scale, r->ctx, j->dst, index, cols, x);
            for (int64_t n = 0; n < cols; ++n) y[n] /= x[n];
        }
        if (p->dst_zp.index >= 0) {
            dtp_quant_run(&p->dst_zp, r->ctx, j->dst, index, cols, x);
            for (int64_t n = 0; n < cols; ++n) y[n] += x[n];
        }
        dtp_rows_store_f64(j->dst, r->ctx->ptr[DTP_PRODUCT_REF_DST], index, cols, y);
    }
}

static void ref_units(void *arg, int slot, int64_t begin, int64_t end) {
    const run_t *r = arg;
    const dtp_product_ref_t *p = r->p;
    const dtp_product_ref_job_t *j = r->job;
    double *a = (double *)(void *)dtp_scratch_slot(r->pd, r->ctx, slot);
    double *b = a + p->row_block * p->k_block, *c = b + p->col_block * p->k_block;
    double *x = c + p->row_block * p->col_block;
    double *values = x + dtp_max64(p->k_block, p->col_block);
    double *scale = values + dtp_max64(p->k_block, p->col_block);
    float *tile = (float *)(void *)(scale + p->col_block);
    const int64_t ld = p->col_block;
    for (int64_t u = begin; u < end; ++u) {
        const int64_t nb = u % r->col_blocks, mb = u / r->col_blocks % r->row_blocks;
        const int64_t first = u / r->col_blocks / r->row_blocks * j->matrix_rows;
        const int64_t row0 = first + mb * p->row_block, col0 = nb * p->col_block;
        const int64_t rows = dtp_min64(p->row_block, dtp_min64(first + j->matrix_rows, j->rows) - row0);
        const int64_t cols = dtp_min64(p->col_block, j->n - col0);
        if (rows <= 0) continue;
        const int64_t wei = j->batched ? ref_row_of(j, j->wei, first, 1) : 0;
        const int64_t full = rows / SIDE * SIDE;
        memset(c, 0, (size_t)(dtp_round_up(rows, SIDE) * ld) * sizeof *c);
        for (int64_t k0 = 0; k0 < j->k; k0 += p->k_block) {
            const int64_t k = dtp_min64(p->k_block, j->k - k0);
            ref_pack_src(r, row0, rows, k0, k, a, x, values);
            ref_pack_wei(r, wei, col0, cols, k0, k, b, x, values);
            for (int64_t n = 0; n < cols; n += SIDE) {
                for (int64_t m = 0; m < full; m += SIDE)
                    ref_tile_4(a + m * k, b + n * k, k, c + m * ld + n, ld);
                for (int64_t m = full; m < rows; ++m)
                    ref_tile_1(a + full * k + m - full, b + n * k, k, c + m * ld + n, ld);
            }
        }
        ref_finish(r, row0, rows, col0, cols, wei, c, ld, x, scale, tile);
    }
}

void dtp_product_ref_execute(const dtp_product_ref_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                             const dtp_product_ref_job_t *job) {
    run_t r = {p, pd, ctx, job, 0, 0};
    if (job->rows > 0 && job->n > 0) {
        r.row_blocks = dtp_div_up(dtp_min64(job->matrix_rows, job->rows), p->row_block);
        r.col_blocks = dtp_div_up(job->n, p->col_block);
        const int64_t units = dtp_div_up(job->rows, job->matrix_rows) * r.row_blocks * r.col_blocks;
        const double elems = (double)dtp_min64(p->row_block, job->matrix_rows) * (double)p->col_block;
        dtp_parallel_for(ctx->par, units, dtp_grain(elems * (5. + 0.4 * (double)job->k)), ref_units, &r);
    }
    dtp_zero_pad(job->dst, ctx->ptr[DTP_PRODUCT_REF_DST]);
}
