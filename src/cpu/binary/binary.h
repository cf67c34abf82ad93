/* What the implementations of binary share. */
#ifndef DTP_CPU_BINARY_H
#define DTP_CPU_BINARY_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/binary.h"

/* Types, attributes and `any`: src1 and dst take src0's layout where the dims are the same, otherwise plain.
 */
dnnl_tp_status_t dtp_binary_check(dtp_pd_t *pd);

#endif
