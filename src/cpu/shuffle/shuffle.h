/* Declarations that the implementations of shuffle share. */
#ifndef DTP_CPU_SHUFFLE_SHUFFLE_H
#define DTP_CPU_SHUFFLE_SHUFFLE_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/shuffle.h"

/* Attributes and `any`: dst gets src's layout. */
dnnl_tp_status_t dtp_shuffle_check(dtp_pd_t *pd);

#endif
