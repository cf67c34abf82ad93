/* Declarations that the implementations of reorder share: admissible problems, the compensation of
 * int8 weights. */
#ifndef DTP_CPU_REORDER_H
#define DTP_CPU_REORDER_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/reorder.h"

/* Attributes that reorder takes: scales and zero points of src and dst, one sum. */
dnnl_tp_status_t dtp_reorder_check(const dtp_pd_t *pd);
/* Descriptors of this execution; dims that differ give invalid_arguments. */
dnnl_tp_status_t dtp_reorder_actual(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, const dtp_md_t **src,
                                    const dtp_md_t **dst);
/* Writes the s32 vectors after dst's data that its `extra` asks for: s8s8 comp[k] = -128 * sum,
 * asymmetric source comp[k] = -sum of the weights of k. dst was written before. */
void dtp_reorder_compensate(const dtp_exec_ctx_t *ctx, const dtp_md_t *dst);

#endif
