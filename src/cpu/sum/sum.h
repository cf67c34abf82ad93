/* Declarations that the implementations of sum share. */
#ifndef DTP_CPU_SUM_H
#define DTP_CPU_SUM_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/sum.h"

/* Types, attributes and `any` of dst: the layout of source 0. */
dnnl_tp_status_t dtp_sum_check(dtp_pd_t *pd);

#endif
