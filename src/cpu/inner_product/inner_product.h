/* Inner product over a set of micro-kernels: what its implementations are made of. */
#ifndef DTP_CPU_INNER_PRODUCT_INNER_PRODUCT_H
#define DTP_CPU_INNER_PRODUCT_INNER_PRODUCT_H

#include "cpu/gemm/product.h"

/* As dtp_matmul_ukr_pd_init. */
dnnl_tp_status_t dtp_inner_product_ukr_pd_init(dtp_pd_t *pd, const dtp_ukr_set_t *ukr, unsigned isa);
dnnl_tp_status_t dtp_inner_product_ukr_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

#endif
