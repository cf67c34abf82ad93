/* Matmul over a set of micro-kernels: what its implementations are made of. */
#ifndef DTP_CPU_MATMUL_MATMUL_H
#define DTP_CPU_MATMUL_MATMUL_H

#include "cpu/gemm/product.h"

/* pd_init over this set, which is one for the types of src and weights with sums of f32, or NULL: unimplemented. The
 * plan is a dtp_product_t. isa: DTP_ISA_* bits for everything around the products. */
dnnl_tp_status_t dtp_matmul_ukr_pd_init(dtp_pd_t *pd, const dtp_ukr_set_t *ukr, unsigned isa);
dnnl_tp_status_t dtp_matmul_ukr_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

#endif
