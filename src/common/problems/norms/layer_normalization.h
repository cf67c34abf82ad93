/* Layer normalization: the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_NORMS_LAYER_NORMALIZATION_H
#define DTP_COMMON_PROBLEMS_NORMS_LAYER_NORMALIZATION_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    unsigned flags; /* dnnl_tp_normalization_flags_t */
    float epsilon;
    dtp_md_t src, dst, stat; /* stat: ndims-1, f32 */
    dtp_md_t scale, shift;   /* 1-D; zero when the flag is off */
} dtp_layer_norm_desc_t;
enum {
    DTP_LNORM_SRC,
    DTP_LNORM_DST,
    DTP_LNORM_MEAN,
    DTP_LNORM_VARIANCE,
    DTP_LNORM_SCALE,
    DTP_LNORM_SHIFT,
    DTP_LNORM_NARGS
};

#endif
