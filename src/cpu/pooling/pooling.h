/* Declarations that the implementations of pooling share. */
#ifndef DTP_CPU_POOLING_POOLING_H
#define DTP_CPU_POOLING_POOLING_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/pooling.h"

/* depth, height, columns; dims that a problem lacks are DTP_WINDOW_NONE */
enum { DTP_POOLING_DIMS = 3 };

/* Attributes and `any`: dst gets src's layout, the workspace dst's. */
dnnl_tp_status_t dtp_pooling_check(dtp_pd_t *pd);
/* Windows of the problem, the last spatial dimension at the end. */
void dtp_pooling_windows(const dtp_pooling_desc_t *d, dtp_window_t w[DTP_POOLING_DIMS]);

#endif
