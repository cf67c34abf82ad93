/* Products by cuBLASLt: which it takes, its descriptors, the call. */
#ifndef DTP_GPU_MATMUL_PRODUCT_LT_H
#define DTP_GPU_MATMUL_PRODUCT_LT_H

#include "gpu/engine/cublaslt.h"
#include "gpu/matmul/matmul_args.h"

/* The library counts columns first: it is asked for the transpose of dst, weights times src. */
typedef struct {
    dtp_gpu_lt_t lt;
    dtp_lt_product_t product; /* a bias has no address yet */
    dtp_lt_layout_t wei, src, dst;
    /* How it is computed at any addresses, and where all are multiples of 16. */
    struct {
        size_t workspace_bytes;
        dtp_lt_algo_t algo;
    } way[2];
    float beta; /* of the old dst */
    bool has_bias;
} dtp_gpu_lt_plan_t;

/* pd_init: from the operands without addresses. Books scratch. Unimplemented, with a reason, where the library cannot. */
dnnl_tp_status_t dtp_gpu_lt_init(dtp_gpu_lt_plan_t *plan, dtp_pd_t *pd, const dtp_matmul_args_t *args,
                                 bool allows_tf32);
/* args: with addresses. */
dnnl_tp_status_t dtp_gpu_lt_execute(const dtp_gpu_lt_plan_t *plan, const dtp_exec_ctx_t *ctx,
                                    const dtp_matmul_args_t *args);

#endif
