/* Batch and group normalization: the problem and its arguments, which both kinds share. */
#ifndef DTP_COMMON_PROBLEMS_NORMS_CHANNEL_NORM_H
#define DTP_COMMON_PROBLEMS_NORMS_CHANNEL_NORM_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    unsigned flags; /* dnnl_tp_normalization_flags_t */
    float epsilon;
    int64_t groups;        /* of channels; 0: batch normalization */
    dtp_md_t src, dst;     /* N, C, space */
    dtp_md_t src1;         /* what is added before the ReLU; zero when the flag is off */
    dtp_md_t stat;         /* f32: C, or N and groups */
    dtp_md_t scale, shift; /* f32: C; zero when the flag is off */
    /* u8 of dst's dims and layout; zero unless a ReLU is fused in training */
    dtp_md_t workspace;
} dtp_channel_norm_desc_t;
enum {
    DTP_CNORM_SRC,
    DTP_CNORM_SRC1,
    DTP_CNORM_DST,
    DTP_CNORM_MEAN,
    DTP_CNORM_VARIANCE,
    DTP_CNORM_SCALE,
    DTP_CNORM_SHIFT,
    DTP_CNORM_WORKSPACE,
    DTP_CNORM_NARGS
};

static inline bool dtp_cnorm_has_relu(const dtp_channel_norm_desc_t *d) {
    return d->flags & (dnnl_tp_fuse_norm_relu | dnnl_tp_fuse_norm_add_relu);
}

/* For the creation functions of both kinds: fills op except its kind and statistics. */
dnnl_tp_status_t dtp_channel_norm_check(dtp_channel_norm_desc_t *op, dnnl_tp_prop_kind_t prop,
                                        const dtp_md_t *src, const dtp_md_t *dst, int least_ndims,
                                        float epsilon, unsigned flags, unsigned known);
/* The arguments of both kinds (dtp_op_info_t.args). */
int dtp_channel_norm_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out);
void dtp_channel_norm_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work);

#endif
