/* Functions that the gemm calls share: argument checks and the threads of a pool that is passed
 * with the call. */
#ifndef DTP_CPU_BLAS_GEMM_API_H
#define DTP_CPU_BLAS_GEMM_API_H

#include "common/primitive/engine.h"
#include "threading/pools/pool.h"

typedef struct {
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
} dtp_gemm_sizes_t;

/* Reads the letters, checks sizes and leading dimensions. Matrices may not be NULL. */
dnnl_tp_status_t dtp_gemm_check(dtp_gemm_sizes_t *s, char transa, char transb, int64_t m, int64_t n,
                                int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                                const void *c, int64_t ldc);

/* Runs on the threads of a pool given by the host (NULL = this thread). body gets the threads and
 * fails only with out_of_memory. */
typedef dnnl_tp_status_t (*dtp_gemm_body_t)(void *arg, const dtp_parallel_t *par);
dnnl_tp_status_t dtp_gemm_on_pool(const dnnl_tp_threadpool_iface_t *pool, dtp_gemm_body_t body, void *arg);

#endif
