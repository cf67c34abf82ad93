/* Host half of products of matrices: what matmul and inner product share.
 *
 * A product is planned from plain tensors and how their dimensions map to those of dst. Dimensions of dst but the last are rows as
 * far as every tensor allows it, the rest is a batch of matrices. Kernels: matmul_mma.cu, matmul_simt.cu; cuBLASLt: product_lt.h. */
#ifndef DTP_GPU_MATMUL_PRODUCT_H
#define DTP_GPU_MATMUL_PRODUCT_H

#include "gpu/device/post_ops.h"
#include "gpu/matmul/product_lt.h"

/* Dense indices of the arguments, as matmul and inner product have them. */
enum { DTP_PRODUCT_SRC, DTP_PRODUCT_WEI, DTP_PRODUCT_BIA, DTP_PRODUCT_DST };

/* Kernels of products: 16 of matrix instructions, by type, size of tile and layouts; then f32 tiles, those of few
 * rows, any strides, the sum of parts. */
enum {
    DTP_GPU_PRODUCT_MMA_KERNELS = 16,
    DTP_GPU_PRODUCT_SIMT_KERNEL = DTP_GPU_PRODUCT_MMA_KERNELS,
    DTP_GPU_PRODUCT_FEW_KERNEL,
    DTP_GPU_PRODUCT_ANY_KERNEL,
    DTP_GPU_PRODUCT_JOIN_KERNEL,
    DTP_GPU_PRODUCT_KERNELS
};

/* What is multiplied. Layouts are resolved and plain. dim: of src, weights and bias, which each dimension of dst is; -1: none. */
typedef struct {
    const dtp_md_t *md[4]; /* by dense index; bias may be zero */
    int dim[3][DNNL_TP_MAX_NDIMS];
    int64_t k, src_k, wei_k; /* sums over k, whose elements are so far apart */
} dtp_gpu_problem_t;

/* Plan of an implementation. */
typedef struct {
    dtp_matmul_args_t args; /* without pointers */
    dtp_gpu_post_ops_t post_ops;
    dtp_cu_function_t kernel, join; /* join: adds parts; NULL: there is one */
    int tile_m, tile_n, threads;    /* tile_m 0: a thread has DTP_MATMUL_COLUMNS elements */
    uint32_t shared_bytes;
    bool swapped;             /* rows are columns of dst, src are the weights */
    bool tf32;                /* f32 may be rounded to it */
    int src_width, wei_width; /* bytes to which lines are aligned if element 0 is */
    bool dst_wide;            /* the same for runs of dst */
    dtp_gpu_lt_plan_t lt;     /* of DTP_GPU_PRODUCT_CUBLASLT, which has no kernel here */
} dtp_gpu_product_t;

/* With run-time dims: what is known before them. Each execution makes a plan of its own; it finds nothing and allocates nothing. */
typedef struct {
    dtp_gpu_post_ops_t post_ops;                       /* without dims */
    dtp_cu_function_t kernel[DTP_GPU_PRODUCT_KERNELS]; /* NULL: not of these types */
    bool tf32;
    size_t
        args_bytes; /* of arguments: a number that the compiler does not know makes it clear them by a call, not by a slow instruction */
} dtp_gpu_runtime_product_t;

typedef enum {
    DTP_GPU_PRODUCT_CUBLASLT,
    DTP_GPU_PRODUCT_MMA,
    DTP_GPU_PRODUCT_SIMT,
    DTP_GPU_PRODUCT_ANY
} dtp_gpu_product_kind_t;

/* pd_init after layouts are resolved: checks types and attributes, chooses a kernel of this kind, books scratch. Unimplemented, with a
 * reason, where none fits. */
dnnl_tp_status_t dtp_gpu_product_init(dtp_gpu_product_t *plan, dtp_pd_t *pd, const dtp_gpu_problem_t *problem,
                                      dtp_gpu_product_kind_t kind);
/* The same with run-time dims. problem: dims and strides that are not known may be any that fit. */
dnnl_tp_status_t dtp_gpu_runtime_product_init(dtp_gpu_runtime_product_t *plan, dtp_pd_t *pd,
                                              const dtp_gpu_problem_t *problem);
/* problem: the actual one. Unimplemented: strides, or sizes, that no kernel takes. */
dnnl_tp_status_t dtp_gpu_runtime_product_execute(const dtp_gpu_runtime_product_t *plan, const dtp_pd_t *pd,
                                                 const dtp_exec_ctx_t *ctx, const dtp_gpu_problem_t *problem);
/* md: the descriptors of the problem. */
dnnl_tp_status_t dtp_gpu_product_execute(const dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                         const dtp_exec_ctx_t *ctx, const dtp_md_t *const md[4]);

#endif
