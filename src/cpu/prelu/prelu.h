/* Declarations that the implementations of prelu share. */
#ifndef DTP_CPU_PRELU_PRELU_H
#define DTP_CPU_PRELU_PRELU_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/prelu.h"

/* Attributes and `any`: dst gets src's layout, weights too where they have src's dims; otherwise
 * plain. */
dnnl_tp_status_t dtp_prelu_check(dtp_pd_t *pd);

#endif
