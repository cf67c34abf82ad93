/* cuBLASLt on an engine's device: a handle for each device, made by the first creation of a product
 * that wants it. */
#ifndef DTP_GPU_ENGINE_CUBLASLT_H
#define DTP_GPU_ENGINE_CUBLASLT_H

#include "gpu/driver/lt_abi.h"
#include "gpu/engine/kernels.h"

/* Kept by plans: it lives as long as the engine. */
typedef struct {
    const dtp_lt_t *calls;
    dtp_lt_handle_t handle;
} dtp_gpu_lt_t;

/* In pd_init: the library and the device's handle, with the context current until dtp_gpu_lt_end.
 * unimplemented, with the reason: there is no cuBLASLt, or not for this device. Thread-safe; the
 * first call loads the library, which takes long. */
dnnl_tp_status_t dtp_gpu_lt_begin(const dtp_pd_t *pd, dtp_gpu_lt_t *lt);
void dtp_gpu_lt_end(const dtp_pd_t *pd);
/* The status of pd_init for a call's status: out_of_memory, else unimplemented, so that another
 * implementation is tried. */
dnnl_tp_status_t dtp_gpu_lt_check(const dtp_gpu_lt_t *lt, dtp_lt_status_t status, const char *call);

/* In execute: submits d = a b + beta d, with the epilogue of the product, to the stream of ctx; the
 * workspace is its scratch. */
typedef struct {
    const dtp_lt_product_t *product;
    const dtp_lt_layout_t *a_layout, *b_layout, *d_layout;
    const void *a, *b, *bias; /* bias NULL: there is none */
    void *d;
    const dtp_lt_algo_t *algo;
    size_t workspace_bytes;
    float beta;
} dtp_gpu_lt_matmul_t;
dnnl_tp_status_t dtp_gpu_lt_matmul(const dtp_exec_ctx_t *ctx, const dtp_gpu_lt_t *lt,
                                   const dtp_gpu_lt_matmul_t *matmul);

#endif
