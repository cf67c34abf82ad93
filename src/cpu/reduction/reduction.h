/* Declarations that the implementations of reduction share. */
#ifndef DTP_CPU_REDUCTION_H
#define DTP_CPU_REDUCTION_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/reduction.h"

/* Types, attributes and `any` of dst: blocks and order of src. */
dnnl_tp_status_t dtp_reduction_check(dtp_pd_t *pd);
/* The value of one output from its combined elements; count = elements per output. */
float dtp_reduction_finish(const dtp_reduction_desc_t *op, double acc, int64_t count);

#endif
