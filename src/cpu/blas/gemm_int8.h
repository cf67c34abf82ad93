/* One int8 gemm call, and the fastest way to compute it. */
#ifndef DTP_CPU_BLAS_GEMM_INT8_H
#define DTP_CPU_BLAS_GEMM_INT8_H

#include "cpu/blas/gemm_api.h"

typedef struct {
    dtp_gemm_sizes_t s;
    char offsetc; /* F, C, R */
    float alpha, beta;
    const uint8_t *a; /* bytes of u8 or s8 */
    const int8_t *b;
    int32_t *c;
    const int32_t *co;
    int ao, bo;
    bool a_signed;
} dtp_gemm8_t;

/* Longer sums may not fit s32. */
#define DTP_GEMM_U8S8_MAX_K (INT32_MAX / (255 * 255))

/* For processors with AVX-512 VNNI and k <= DTP_GEMM_U8S8_MAX_K. */
dnnl_tp_status_t dtp_gemm_u8s8(const dtp_gemm8_t *x, const dtp_parallel_t *par);

#endif
