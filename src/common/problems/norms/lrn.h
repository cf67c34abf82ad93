/* Local response normalization: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_NORMS_LRN_H
#define DTP_COMMON_PROBLEMS_NORMS_LRN_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int64_t local_size;
    float alpha, beta, k;
    dtp_md_t src, dst; /* N, C, space */
} dtp_lrn_desc_t;
enum { DTP_LRN_SRC, DTP_LRN_DST, DTP_LRN_NARGS };

/* Neighbours on each side. */
static inline int64_t dtp_lrn_half(const dtp_lrn_desc_t *d) { return (d->local_size - 1) / 2; }
/* The factor of the sum of squares. */
static inline double dtp_lrn_factor(const dtp_lrn_desc_t *d) {
    double size = (double)d->local_size, all = size;
    if (d->alg == dnnl_tp_lrn_within_channel) {
        all = 1;
        for (int i = 2; i < d->src.ndims; ++i) all *= size;
    }
    return (double)d->alpha / all;
}

#endif
