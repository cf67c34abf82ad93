/* Host half of products of matrices, which matmul and inner product share.
 *
 * A product is planned from plain tensors, and from a map of their dimensions to those of dst. As
 * many dimensions of dst as all tensors allow, except the last, are rows; the others are a batch of
 * matrices. Kernels: matmul_mma.cu, matmul_simt.cu; cuBLASLt: product_lt.h. */
#ifndef DTP_GPU_MATMUL_PRODUCT_H
#define DTP_GPU_MATMUL_PRODUCT_H

#include "gpu/device/post_ops.h"
#include "gpu/matmul/product_lt.h"

/* Products of f64, s64 and s32. */
extern const dtp_impl_t dtp_gpu_matmul_exact;

/* Dense indices of the arguments, as matmul and inner product have them. */
enum { DTP_PRODUCT_SRC, DTP_PRODUCT_WEI, DTP_PRODUCT_BIA, DTP_PRODUCT_DST };

/* Kernels of products: 16 with matrix instructions, by type, size of tile and layouts; then one for
 * f32 tiles, for few rows, for any strides, and for the sum of parts. */
enum {
    DTP_GPU_PRODUCT_MMA_KERNELS = 16,
    DTP_GPU_PRODUCT_SIMT_KERNEL = DTP_GPU_PRODUCT_MMA_KERNELS,
    DTP_GPU_PRODUCT_FEW_KERNEL,
    DTP_GPU_PRODUCT_ANY_KERNEL,
    DTP_GPU_PRODUCT_JOIN_KERNEL,
    DTP_GPU_PRODUCT_KERNELS
};

/* The operands of a product. Layouts are resolved and plain. dim: for src, weights and bias, the
 * dimension that each dimension of dst corresponds to; -1: none. */
typedef struct {
    const dtp_md_t *md[4]; /* by dense index; bias may be zero */
    int dim[3][DNNL_TP_MAX_NDIMS];
    int64_t k, src_k, wei_k; /* number of summed elements, and their strides */
} dtp_gpu_problem_t;

/* Plan of an implementation. */
typedef struct {
    dtp_matmul_args_t args; /* without pointers */
    dtp_gpu_post_ops_t post_ops;
    dtp_cu_function_t kernel, join; /* join: adds parts; NULL: one part */
    int tile_m, tile_n, threads;    /* tile_m 0: a thread has DTP_MATMUL_COLUMNS elements */
    uint32_t shared_bytes;
    bool swapped;             /* rows are columns of dst, src are the weights */
    bool tf32;                /* f32 may be rounded to it */
    int src_width, wei_width; /* bytes to which lines are aligned if element 0 is */
    bool dst_wide;            /* the same for runs of dst */
    dtp_gpu_lt_plan_t lt;     /* of DTP_GPU_PRODUCT_CUBLASLT, which has no kernel here */
} dtp_gpu_product_t;

/* A product with run-time dims: everything that does not depend on them. Each execution makes a
 * plan, without a search for kernels and without allocation. */
typedef struct {
    dtp_gpu_post_ops_t post_ops;                       /* without dims */
    dtp_cu_function_t kernel[DTP_GPU_PRODUCT_KERNELS]; /* NULL: not of these types */
    bool tf32;
    /* Size of the arguments. The compiler does not know it, so that it clears them by a call, not
     * by a slow instruction. */
    size_t args_bytes;
} dtp_gpu_runtime_product_t;

typedef enum {
    DTP_GPU_PRODUCT_CUBLASLT,
    DTP_GPU_PRODUCT_MMA,
    DTP_GPU_PRODUCT_SIMT,
    DTP_GPU_PRODUCT_ANY
} dtp_gpu_product_kind_t;

/* For pd_init after layouts are resolved: checks types and attributes, chooses a kernel of this
 * kind, registers scratch. Unimplemented, with a reason: none fits. */
dnnl_tp_status_t dtp_gpu_product_init(dtp_gpu_product_t *plan, dtp_pd_t *pd, const dtp_gpu_problem_t *problem,
                                      dtp_gpu_product_kind_t kind);
/* The same with run-time dims. In problem, unknown dims and strides may have any values that fit.
 */
dnnl_tp_status_t dtp_gpu_runtime_product_init(dtp_gpu_runtime_product_t *plan, dtp_pd_t *pd,
                                              const dtp_gpu_problem_t *problem);
/* problem: with the actual dims. Unimplemented: no kernel takes its strides or sizes. */
dnnl_tp_status_t dtp_gpu_runtime_product_execute(const dtp_gpu_runtime_product_t *plan, const dtp_pd_t *pd,
                                                 const dtp_exec_ctx_t *ctx, const dtp_gpu_problem_t *problem);
/* md: the descriptors of the problem. */
dnnl_tp_status_t dtp_gpu_product_execute(const dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                         const dtp_exec_ctx_t *ctx, const dtp_md_t *const md[4]);

#endif
