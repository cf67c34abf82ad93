/* Declarations that the implementations of batch and group normalization share. */
#ifndef DTP_CPU_CHANNEL_NORM_CHANNEL_NORM_H
#define DTP_CPU_CHANNEL_NORM_CHANNEL_NORM_H

#include "common/primitive/primitive_desc.h"
#include "common/problems/norms/channel_norm.h"
#include "cpu/access/quant.h"

/* Attributes and `any`: dst gets src's layout, SRC_1 and the workspace dst's. */
dnnl_tp_status_t dtp_channel_norm_layouts(dtp_pd_t *pd, dtp_quant_view_t *src_scale,
                                          dtp_quant_view_t *dst_scale);
/* Statistics are read, and written, as the problem has it. */
static inline bool dtp_cnorm_given(const dtp_channel_norm_desc_t *d) {
    return d->flags & dnnl_tp_use_global_stats;
}
static inline bool dtp_cnorm_written(const dtp_channel_norm_desc_t *d) {
    return !dtp_cnorm_given(d) && d->prop == dnnl_tp_forward_training;
}

#endif
