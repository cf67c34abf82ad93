/* Convolutions: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_CONVOLUTION_H
#define DTP_COMMON_PROBLEMS_CONVOLUTION_H

#include "common/primitive/op_desc.h"
#include "common/problems/window.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int nspatial; /* 1 to 3, how many numbers stand in each of: */
    dnnl_tp_dims_t strides, dilations, padding_l, padding_r;
    dtp_md_t src, wei, bia, dst; /* bia may be zero */
} dtp_convolution_desc_t;
enum { DTP_CONV_SRC, DTP_CONV_WEI, DTP_CONV_BIA, DTP_CONV_DST, DTP_CONV_NARGS };

/* 1: weights have a dimension of groups in front. */
static inline int dtp_conv_grouped(const dtp_convolution_desc_t *d) { return d->wei.ndims > d->src.ndims; }
static inline int64_t dtp_conv_groups(const dtp_convolution_desc_t *d) {
    return dtp_conv_grouped(d) ? d->wei.dims[0] : 1;
}

/* For implementations that sum directly: unless Winograd was asked for, the descriptor then says direct. */
static inline bool dtp_conv_take_direct(dtp_convolution_desc_t *d) {
    if (d->alg == dnnl_tp_convolution_winograd) return false;
    d->alg = dnnl_tp_convolution_direct;
    return true;
}

/* Products that an element of dst sums up. */
static inline int64_t dtp_conv_depth(const dtp_convolution_desc_t *d) {
    int64_t depth = 1;
    for (int i = 1 + dtp_conv_grouped(d); i < d->wei.ndims; ++i) depth *= d->wei.dims[i];
    return depth;
}
/* Along the i-th of the three dimensions depth, height, width, of which a problem may lack the first ones. */
static inline dtp_window_t dtp_conv_window(const dtp_convolution_desc_t *d, int i) {
    const int s = i - (3 - d->nspatial);
    if (s < 0) return DTP_WINDOW_NONE;
    return (dtp_window_t){.in = d->src.dims[2 + s],
                          .out = d->dst.dims[2 + s],
                          .kernel = d->wei.dims[2 + dtp_conv_grouped(d) + s],
                          .stride = d->strides[s],
                          .step = d->dilations[s] + 1,
                          .pad = d->padding_l[s]};
}

/* Layout any becomes this one. */
static inline dnnl_tp_status_t dtp_conv_resolve(dtp_md_t *md, const char *layout) {
    const dtp_md_t from = *md;
    return dtp_md_is_any(md) ? dtp_md_init_layout(md, from.ndims, from.dims, from.data_type, layout)
                             : dnnl_tp_success;
}

/* A convolution of f32 without groups reads src of so few channels in whatever layout: to bring the channels together first
 * would take longer. */
enum { DTP_CONV_FIRST_CHANNELS = 4 };

/* True when the layout has a single inner block, of n elements of a dim: nChw16c, Ohwi16o, Goihw16g. */
static inline bool dtp_conv_in_blocks(const dtp_md_t *md, int dim, int64_t n) {
    return md->format_kind == dnnl_tp_blocked && md->inner_nblks == 1 && md->inner_blks[0] == n &&
           md->inner_idxs[0] == dim;
}

/* Checks and fills op but for the engine's part; transposed: a deconvolution, whose window slides over dst. The algorithm
 * is the direct one. (kinds/convolution.c) */
struct dnnl_tp_primitive_attr;
dnnl_tp_status_t dtp_convolution_problem(dtp_convolution_desc_t *op, bool transposed,
                                         dnnl_tp_prop_kind_t prop, const dtp_md_t *src,
                                         const dtp_md_t *weights, const dtp_md_t *bias, const dtp_md_t *dst,
                                         const int64_t *strides, const int64_t *dilates,
                                         const int64_t *padding_l, const int64_t *padding_r,
                                         const struct dnnl_tp_primitive_attr *attr);

#endif
