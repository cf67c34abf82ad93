/* Declarations that the implementations of resampling share. */
#ifndef DTP_CPU_RESAMPLING_RESAMPLING_H
#define DTP_CPU_RESAMPLING_RESAMPLING_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/resampling.h"

/* depth, height, columns; dims that a problem lacks have one element */
enum { DTP_RESAMPLING_DIMS = 3 };

/* Attributes and `any`: dst gets src's layout. */
dnnl_tp_status_t dtp_resampling_check(dtp_pd_t *pd);

#endif
