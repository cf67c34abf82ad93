/* A matrix product as a primitive: geometry of its operands, post-operations, execution over
 * cpu/gemm/gemm.h.
 *
 * matmul and inner product describe themselves as a geometry; the rest is common. Both have their
 * arguments at the dense indices src, weights, bias, dst = 0..3. The types of src and weights
 * choose the set of micro-kernels; sums, addends and everything after them are f32. */
#ifndef DTP_CPU_GEMM_PRODUCT_H
#define DTP_CPU_GEMM_PRODUCT_H

#include "common/primitive/primitive_desc.h"
#include "cpu/postops/postops.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/product_scale.h"

enum { DTP_PRODUCT_SRC, DTP_PRODUCT_WEI, DTP_PRODUCT_BIA, DTP_PRODUCT_DST };

/* dst[b][m][n] = sum over k of src[b][m][k] * wei[b][k][n] + bias[b][m][n]; strides in elements,
 * run-time values allowed, broadcast = 0. */
typedef struct {
    int64_t m, n, k;
    int64_t src_m, src_k, wei_k, wei_n, dst_m, dst_n, bia_m, bia_n;
    int64_t src_0, wei_0, dst_0, bia_0; /* element 0 */
    /* Weights in column panels of so many columns, with wei_n from column panel to column panel; 0:
     * plain. */
    int panel;
    dtp_product_dims_t dims; /* at creation */
    bool dst_channels;       /* at creation: columns are dim 1 of dst, rows are all other dims */
    bool has_bias;
    dnnl_tp_data_type_t src_dt, wei_dt, dst_dt, bia_dt;
    int nbatch; /* dims of size 1 may be left out */
    int64_t size[DTP_GEMM_MAX_BATCH_DIMS], src_b[DTP_GEMM_MAX_BATCH_DIMS], wei_b[DTP_GEMM_MAX_BATCH_DIMS],
        dst_b[DTP_GEMM_MAX_BATCH_DIMS], bia_b[DTP_GEMM_MAX_BATCH_DIMS];
} dtp_product_geometry_t;

/* The members that depend on sizes. */
typedef struct {
    dtp_gemm_t gemm;
    int64_t off_src, off_wei, off_bia, off_dst, off_add; /* bytes */
    int64_t dst_m, dst_n, bia_m, bia_n;                  /* elements; tiled only */
} dtp_product_shape_t;

/* Plan of an implementation. */
typedef struct {
    dtp_product_shape_t shape; /* without run-time dims */
    dtp_gemm_t common;         /* members of gemm that do not depend on sizes */
    int add_arg;               /* dense index of the addend */
    int64_t add_row_stride, add_offset;
    bool tiled;
    int64_t src_bytes, wei_bytes; /* of an element */
    dnnl_tp_data_type_t dst_dt, bia_dt;
    const dtp_vops_t *vops;
    dtp_product_scales_t scales;
    dtp_postops_t po;
} dtp_product_t;

/* The kernels of an implementation for types of src and weights with f32 sums: implementations with
 * AVX512-BF16 in their name have those of bf16 only, all others have kernels of f32 arithmetic.
 * NULL: none. */
const dtp_ukr_set_t *dtp_product_set(const dtp_pd_t *pd, dnnl_tp_data_type_t src, dnnl_tp_data_type_t wei);
/* Best width of the column panels for weights of m x n x k products. rows_vary: for all m, so the
 * choice does not depend on m. */
int dtp_product_panel(const dtp_ukr_set_t *ukr, dnnl_tp_data_type_t wei, int64_t m, int64_t n, int64_t k,
                      bool rows_vary, int64_t l2_bytes);
/* Text of the blocks of packed weights whose dims are named k and n: "16a16b", for bf16 "8a16b2a".
 */
void dtp_product_packed_blocks(char *text, size_t size, char k, char n, int panel, dnnl_tp_data_type_t wei);
/* Number of columns of the column panels in which md is packed along dims k_dim and n_dim; 0: it is
 * not packed so. */
int dtp_product_packed_panel(const dtp_md_t *md, int k_dim, int n_dim);

/* Fills in the members that do not depend on the meaning of dims: the last two dims of dst, first
 * elements, types, and whether there is a bias. */
void dtp_product_operands(dtp_product_geometry_t *geo, const dtp_md_t *src, const dtp_md_t *wei,
                          const dtp_md_t *bia, const dtp_md_t *dst);
/* For pd_init, after layouts are resolved: chooses, compiles the chain, books scratch. */
dnnl_tp_status_t dtp_product_init(dtp_product_t *p, dtp_pd_t *pd, const dtp_product_geometry_t *geo,
                                  const dtp_ukr_set_t *ukr, unsigned isa);
/* geo: the sizes of this execution; NULL: the pd has no run-time sizes. */
void dtp_product_execute(const dtp_product_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                         const dtp_product_geometry_t *geo);

#endif
