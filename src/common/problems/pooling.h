/* Pooling: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_POOLING_H
#define DTP_COMMON_PROBLEMS_POOLING_H

#include "common/primitive/op_desc.h"
#include "common/problems/window.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int keeps_nan; /* the maximum of a window with NaN is NaN, as graphs want it; without a workspace */
    int spatial;   /* dimensions of the window: 1..3 */
    dnnl_tp_dims_t strides, kernel, dilations, padding_l, padding_r;
    dtp_md_t src, dst;  /* N, C, space */
    dtp_md_t workspace; /* of dst's dims and layout; zero unless the maxima of training are asked for */
} dtp_pooling_desc_t;
enum { DTP_POOLING_SRC, DTP_POOLING_DST, DTP_POOLING_WORKSPACE, DTP_POOLING_NARGS };

/* Along spatial dimension d. */
static inline dtp_window_t dtp_pooling_window(const dtp_pooling_desc_t *p, int d) {
    return (dtp_window_t){.in = p->src.dims[2 + d],
                          .out = p->dst.dims[2 + d],
                          .kernel = p->kernel[d],
                          .stride = p->strides[d],
                          .step = p->dilations[d] + 1,
                          .pad = p->padding_l[d]};
}

#endif
