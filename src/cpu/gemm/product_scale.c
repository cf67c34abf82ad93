/* See product_scale.h. */
#include "cpu/gemm/product_scale.h"

enum { CHUNK = 256 }; /* values on the stack */

dnnl_tp_status_t dtp_product_scales_init(dtp_product_scales_t *s, const dtp_pd_t *pd,
                                         const dtp_product_dims_t *dims, const dtp_vops_t *vops) {
    memset(s, 0, sizeof *s);
    s->any = pd->attr->n_scales > 0;
    s->dims = *dims;
    if (!s->any) return dnnl_tp_success;
    DTP_TRY(dtp_quant_init(&s->src, pd, DNNL_TP_ARG_SRC, true));
    DTP_TRY(dtp_quant_init(&s->wei, pd, DNNL_TP_ARG_WEIGHTS, true));
    DTP_TRY(dtp_quant_init(&s->dst, pd, DNNL_TP_ARG_DST, true));
    s->mul = dtp_vops_binary(vops, dnnl_tp_binary_mul);
    s->div = dtp_vops_binary(vops, dnnl_tp_binary_div);
    s->in_src = s->src.stride[dims->src_k] != 0;
    s->in_wei = s->wei.stride[dims->wei_k] != 0;
    /* Channels and space are one k here, in the order of memory. */
    for (int d = 1; !dims->batched && d < DNNL_TP_MAX_NDIMS; ++d)
        DTP_DISPATCH((!s->src.stride[d] || s->src.ndims == 2) && (!s->wei.stride[d] || s->wei.ndims == 2),
                     UNSUPPORTED_SCALES);
    return dnnl_tp_success;
}

/* Position of row `row` of dst, column 0. */
static void scale_position(const dtp_md_t *dst, int64_t row, int64_t *pos) {
    const int last = dst->ndims - 1;
    memset(pos, 0, sizeof(dnnl_tp_dims_t));
    for (int d = last - 1; d >= 0; --d) {
        pos[d] = d ? row % dst->dims[d] : row;
        if (d) row /= dst->dims[d];
    }
}

/* Does a scale differ between positions that differ in other dims than these two? */
static bool scale_by_others(const dtp_quant_view_t *q, int row_dim, int col_dim) {
    for (int d = 0; d < q->ndims; ++d)
        if (d != row_dim && d != col_dim && q->stride[d]) return true;
    return false;
}

/* x[i * ld + j] = x op values[j], or values[i] */
static void scale_by_cols(dtp_binary_fn_t op, float *x, int64_t ld, int64_t rows, int64_t cols,
                          const float *values) {
    const dtp_binary_args_t a = {
        .x0 = x, .x1 = values, .y = x, .ld0 = ld, .ldy = ld, .rows = rows, .cols = cols, .cs0 = 1, .cs1 = 1};
    op(&a);
}
static void scale_by_rows(dtp_binary_fn_t op, float *x, int64_t ld, int64_t rows, int64_t cols,
                          const float *values) {
    const dtp_binary_args_t a = {
        .x0 = x, .x1 = values, .y = x, .ld0 = ld, .ld1 = 1, .ldy = ld, .rows = rows, .cols = cols, .cs0 = 1};
    op(&a);
}

/* Rows from row0 on that differ in dst's last row dim only. */
static int64_t scale_run(const dtp_md_t *dst, int64_t row0, int64_t rows) {
    const int64_t m = dst->dims[dst->ndims - 2];
    return dtp_min64(dtp_min64(rows, CHUNK), m - row0 % m);
}

void dtp_product_scale_sums(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                            float *tile, int64_t ld, int64_t row0, int64_t rows, int64_t col0, int64_t cols) {
    const bool src = s->src.index >= 0 && !s->in_src, wei = s->wei.index >= 0 && !s->in_wei;
    if (!src && !wei) return;
    const bool batched = s->dims.batched;
    const int m = dst->ndims - 2;
    const bool by_row = src && s->src.stride[m];
    const bool one_batch = !batched || !((src && scale_by_others(&s->src, m, m)) ||
                                         (wei && scale_by_others(&s->wei, s->dims.wei_n, s->dims.wei_n)));
    for (int64_t i = 0, run; i < rows; i += run) {
        float values[CHUNK];
        dnnl_tp_dims_t pos;
        run = by_row || !one_batch ? scale_run(dst, row0 + i, rows - i) : rows;
        scale_position(dst, row0 + i, pos);
        if (by_row) {
            dtp_quant_along(&s->src, ctx, pos, m, run, values);
            scale_by_rows(s->mul, tile + i * ld, ld, run, cols, values);
            if (!wei) continue;
        }
        const float all = src && !by_row ? (float)dtp_quant_at(&s->src, ctx, pos) : 1;
        if (!batched) memset(pos, 0, sizeof pos);
        pos[s->dims.wei_k] = 0;
        pos[s->dims.wei_n] = col0;
        if (wei) dtp_quant_along(&s->wei, ctx, pos, s->dims.wei_n, cols, values);
        for (int64_t j = 0; j < cols; ++j) values[j] = wei ? values[j] * all : all;
        scale_by_cols(s->mul, tile + i * ld, ld, run, cols, values);
    }
}

void dtp_product_scale_dst(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                           float *tile, int64_t ld, int64_t row0, int64_t rows, int64_t col0, int64_t cols) {
    if (s->dst.index < 0) return;
    const int last = dst->ndims - 1, m = last - 1;
    const bool by_row = s->dst.stride[m] != 0, by_col = s->dst.stride[last] != 0;
    const bool one_batch = !scale_by_others(&s->dst, m, last);
    for (int64_t i = 0, run; i < rows; i += run) {
        float values[CHUNK];
        dnnl_tp_dims_t pos;
        run = by_row && by_col ? 1 : by_row || !one_batch ? scale_run(dst, row0 + i, rows - i) : rows;
        scale_position(dst, row0 + i, pos);
        pos[last] = col0;
        const bool rows_only = by_row && !by_col;
        dtp_quant_along(&s->dst, ctx, pos, rows_only ? m : last, rows_only ? run : cols, values);
        (rows_only ? scale_by_rows : scale_by_cols)(s->div, tile + i * ld, ld, run, cols, values);
    }
}

void dtp_product_scale_src(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                           float *a, int64_t ld, int64_t row0, int64_t rows, int64_t k0, int64_t k) {
    for (int64_t i = 0; i < rows; ++i) {
        dnnl_tp_dims_t pos;
        scale_position(dst, row0 + i, pos);
        for (int64_t j = 0; j < k; j += CHUNK) {
            float values[CHUNK];
            const int64_t n = dtp_min64(CHUNK, k - j);
            pos[s->dims.src_k] = k0 + j;
            dtp_quant_along(&s->src, ctx, pos, s->dims.src_k, n, values);
            for (int64_t l = 0; l < n; ++l) a[i * ld + j + l] *= values[l];
        }
    }
}

void dtp_product_scale_wei(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                           float *b, int64_t n, int64_t row, int64_t k0, int64_t k, int64_t col0,
                           int64_t cols) {
    const int64_t group = s->wei.group[s->dims.wei_k];
    float values[CHUNK];
    dnnl_tp_dims_t pos;
    scale_position(dst, row, pos);
    if (!s->dims.batched) memset(pos, 0, sizeof pos);
    for (int64_t i = 0, run; i < k; i += run) {
        run = dtp_min64(k - i, group - (k0 + i) % group);
        pos[s->dims.wei_k] = k0 + i;
        pos[s->dims.wei_n] = col0;
        dtp_quant_along(&s->wei, ctx, pos, s->dims.wei_n, cols, values);
        scale_by_cols(s->mul, b + i * n, n, run, cols, values);
    }
}
