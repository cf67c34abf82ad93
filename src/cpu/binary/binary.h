/* Declarations that the implementations of binary share. */
#ifndef DTP_CPU_BINARY_H
#define DTP_CPU_BINARY_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/binary.h"

static inline dnnl_tp_data_type_t dtp_binary_arithmetic(const dtp_binary_desc_t *op) {
    return dtp_ew_arithmetic(op->src0.data_type, op->exact);
}

/* Types, attributes and `any`: src1 and dst take src0's layout where the dims are the same,
 * otherwise plain.
 */
dnnl_tp_status_t dtp_binary_check(dtp_pd_t *pd);

#endif
