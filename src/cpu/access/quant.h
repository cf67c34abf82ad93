/* Scales and zero points as reference implementations read them: one value per masked position. */
#ifndef DTP_CPU_ACCESS_QUANT_H
#define DTP_CPU_ACCESS_QUANT_H

#include "common/primitive/primitive_desc.h"

typedef struct {
    int index; /* dense index of the values; -1 = none: scale 1, zero point 0 */
    bool is_scale;
    dnnl_tp_data_type_t data_type;
    int ndims, mask;
    int64_t group[DNNL_TP_MAX_NDIMS];  /* elements per value, by dim */
    int64_t stride[DNNL_TP_MAX_NDIMS]; /* from one value to the next; 0: the same all along the dim */
} dtp_quant_view_t;

/* The scale (or zero point) of an argument of pd. Unimplemented for a mask beyond its dims. */
dnnl_tp_status_t dtp_quant_init(dtp_quant_view_t *q, const dtp_pd_t *pd, int arg, bool scale);
/* The scales of src and dst for kinds that serve one value each. */
dnnl_tp_status_t dtp_quant_init_common(dtp_quant_view_t *src, dtp_quant_view_t *dst, const dtp_pd_t *pd);
/* Value at a logical position. A dim of size 1 may be addressed beyond it (broadcast). */
double dtp_quant_at(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const int64_t *pos);
/* v[i] = value at pos, but i further along dim d; i < n. */
void dtp_quant_along(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const int64_t *pos, int d,
                     int64_t n, float *v);
/* v[i] = value at the element of md with row-major logical index index + i, i < n. md: the argument's. */
void dtp_quant_run(const dtp_quant_view_t *q, const dtp_exec_ctx_t *ctx, const dtp_md_t *md, int64_t index,
                   int64_t n, double *v);

#endif
