/* Scales and zero points as reference implementations read them: one value per masked position. */
#ifndef DTP_CPU_QUANT_H
#define DTP_CPU_QUANT_H

#include "common/primitive_desc.h"

typedef struct {
    int index; /* dense index of the values; -1 = none: scale 1, zero point 0 */
    bool is_scale;
    dnnl_tp_data_type_t data_type;
    int ndims, mask;
    int64_t count[DNNL_TP_MAX_NDIMS], group[DNNL_TP_MAX_NDIMS]; /* values and elements per value, by dim */
} dtp_quant_view_t;

/* The scale (or zero point) of an argument of pd. Unimplemented for a mask beyond its dims. */
dnnl_tp_status_t dtp_quant_init(dtp_quant_view_t *q, const dtp_pd_t *pd, int arg, bool scale);
/* The scales of src and dst for kinds that serve one value each. */
dnnl_tp_status_t dtp_quant_init_common(dtp_quant_view_t *src, dtp_quant_view_t *dst, const dtp_pd_t *pd);
/* Value at a logical position. */
double dtp_quant_at(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const int64_t *pos);

/* A scale either varies along the summed dim k (then it applies inside the sum) or not. */
static inline double dtp_quant_scale_in_k(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx,
                                          const int64_t *pos, int k) {
    return q->index >= 0 && (q->mask >> k & 1) ? dtp_quant_at(q, ctx, pos) : 1;
}
static inline double dtp_quant_scale_outside(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx,
                                             const int64_t *pos, int k) {
    return q->index >= 0 && !(q->mask >> k & 1) ? dtp_quant_at(q, ctx, pos) : 1;
}

#endif
