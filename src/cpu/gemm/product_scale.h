/* Scales of src, weights and dst of a matrix product over the micro-kernels.
 *
 * Scales that do not vary along k multiply a tile of finished sums while it is in the first-level
 * cache; dst's scales divide it after the post-operations. Scales that vary along k (for each
 * element, or in groups) multiply the operand while it is packed for the kernels; such an operand
 * is always packed. */
#ifndef DTP_CPU_GEMM_PRODUCT_SCALE_H
#define DTP_CPU_GEMM_PRODUCT_SCALE_H

#include "common/primitive/primitive_desc.h"
#include "cpu/access/quant.h"
#include "cpu/simd/vops.h"

/* Dims of the operands in the primitive. */
typedef struct {
    int src_k, wei_k, wei_n;
    /* rows of dst are (batch.., m), with the batch of src and weights; else rows are dim 0 */
    bool batched;
} dtp_product_dims_t;

typedef struct {
    bool any;
    bool in_src, in_wei; /* applied while the operand is packed */
    dtp_product_dims_t dims;
    dtp_quant_view_t src, wei, dst;
    dtp_binary_fn_t mul, div;
} dtp_product_scales_t;

/* Reads the attribute. Unimplemented: scales along dims that are one k together. */
dnnl_tp_status_t dtp_product_scales_init(dtp_product_scales_t *s, const dtp_pd_t *pd,
                                         const dtp_product_dims_t *dims, const dtp_vops_t *vops);

/* tile[i * ld + j] is row row0 + i (of all rows of dst in row-major order), column col0 + j; up to
 * 64 columns. dst: its actual descriptor. The first for sums, the second for results. */
void dtp_product_scale_sums(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                            float *tile, int64_t ld, int64_t row0, int64_t rows, int64_t col0, int64_t cols);
void dtp_product_scale_dst(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                           float *tile, int64_t ld, int64_t row0, int64_t rows, int64_t col0, int64_t cols);
/* a[i * ld + j] is row row0 + i, k-step k0 + j of src. */
void dtp_product_scale_src(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                           float *a, int64_t ld, int64_t row0, int64_t rows, int64_t k0, int64_t k);
/* b[i * n + j] is k-step k0 + i, column col0 + j of the weights that row `row` of dst sees; up to
 * 64 columns.
 */
void dtp_product_scale_wei(const dtp_product_scales_t *s, const dtp_exec_ctx_t *ctx, const dtp_md_t *dst,
                           float *b, int64_t n, int64_t row, int64_t k0, int64_t k, int64_t col0,
                           int64_t cols);

#endif
