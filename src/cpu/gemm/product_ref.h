/* The reference of products of matrices (matmul, inner product): any type, layout, broadcast and
 * attribute.
 *
 *     dst[row][n] = sum over k of (src[row][k] - zp) * (wei[k][n] - zp) * scales + bias,
 *     post-operations, then / scale + zp of dst
 *
 * Sums are in double, in order of k for every element, so they are exact for integers and equal for
 * any number of threads. Blocks of both operands are converted to double once and multiplied from
 * scratch: about 0.3 ns a multiply-add in portable C, a tenth of the micro-kernels' speed or less.
 */
#ifndef DTP_CPU_GEMM_PRODUCT_REF_H
#define DTP_CPU_GEMM_PRODUCT_REF_H

#include "cpu/postops/postops.h"
#include "cpu/access/quant.h"

/* Dense indices of the arguments, as matmul and inner product have them. */
enum { DTP_PRODUCT_REF_SRC, DTP_PRODUCT_REF_WEI, DTP_PRODUCT_REF_BIA, DTP_PRODUCT_REF_DST };

/* Plan of an implementation. */
typedef struct {
    dtp_postops_t po;
    const dtp_vops_t *vops; /* for conversions, which are exact */
    dtp_quant_view_t src_scale, wei_scale, dst_scale, src_zp, wei_zp, dst_zp;
    bool src_scale_in_k, wei_scale_in_k; /* it varies along k, so it is applied inside the sum */
    int64_t row_block, col_block, k_block;
} dtp_product_ref_t;

/* The operands of an execution. Rows of src and dst are their logical elements in row-major order,
 * with k and n elements. */
typedef struct {
    const dtp_md_t *src, *wei, *bia, *dst; /* bia NULL: none */
    int64_t rows, n, k;
    int64_t matrix_rows; /* consecutive rows of dst that use the same weights */
    /* Weights are {.., k, n}, the batch of dst or 1 (matmul); or {n, k..}, and so is k of src
     * (inner product).
     */
    bool batched;
} dtp_product_ref_job_t;

/* For pd_init after the types are checked: resolves `any`, reads the attributes, registers scratch.
 * k_dims: dims of src (bits) that are summed over; wei_k_dims: of weights. Run-time sizes are
 * allowed. */
dnnl_tp_status_t dtp_product_ref_init(dtp_product_ref_t *p, dtp_pd_t *pd, dtp_md_t *const mds[4],
                                      unsigned k_dims, unsigned wei_k_dims);
void dtp_product_ref_execute(const dtp_product_ref_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                             const dtp_product_ref_job_t *job);

#endif
