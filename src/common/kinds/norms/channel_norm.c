/* What batch and group normalization share of their checks and tables. */
#include "common/problems/norms/channel_norm.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dtp_channel_norm_check(dtp_channel_norm_desc_t *op, dnnl_tp_prop_kind_t prop,
                                        const dtp_md_t *src, const dtp_md_t *dst, int least_ndims,
                                        float epsilon, unsigned flags, unsigned known) {
    memset(op, 0, sizeof *op);
    DTP_TRY(dtp_check_forward(prop));
    DTP_TRY(dtp_check_md(src, "src", false));
    DTP_TRY(dtp_check_md(dst, "dst", true));
    DTP_TRY(dtp_check_static_pair(src, dst));
    DTP_REQUIRE(src->ndims >= least_ndims && src->ndims <= 5, BAD_NDIMS, "%d dimensions, %d..5 are allowed",
                src->ndims, least_ndims);
    DTP_REQUIRE(!(flags & ~known), BAD_FLAGS, "flags 0x%x", flags);
    op->prop = prop;
    op->flags = flags;
    op->epsilon = epsilon;
    op->src = *src;
    op->dst = *dst;
    const int64_t *channels = &src->dims[1];
    if (flags & dnnl_tp_use_scale) DTP_TRY(dtp_md_init_strides(&op->scale, 1, channels, dnnl_tp_f32, NULL));
    if (flags & dnnl_tp_use_shift) DTP_TRY(dtp_md_init_strides(&op->shift, 1, channels, dnnl_tp_f32, NULL));
    if (flags & dnnl_tp_fuse_norm_add_relu) op->src1 = op->dst;
    if (dtp_cnorm_has_relu(op) && prop == dnnl_tp_forward_training) {
        op->workspace = op->dst;
        op->workspace.data_type = dnnl_tp_u8;
    }
    return dnnl_tp_success;
}

static void put(dtp_pd_arg_t *out, int i, int arg, bool input, const dtp_md_t *md) {
    if (out) out[i] = (dtp_pd_arg_t){arg, input ? DTP_ARG_INPUT : DTP_ARG_OUTPUT, md};
}

/* The statistics, one descriptor, are two arguments, read or written as the problem has it. */
int dtp_channel_norm_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)op;
    const bool in = d->flags & dnnl_tp_use_global_stats;
    const dtp_md_t *stat = in || d->prop == dnnl_tp_forward_training ? &d->stat : &dtp_md_zero;
    put(out, DTP_CNORM_SRC, DNNL_TP_ARG_SRC, true, &d->src);
    put(out, DTP_CNORM_SRC1, DNNL_TP_ARG_SRC_1, true, &d->src1);
    put(out, DTP_CNORM_DST, DNNL_TP_ARG_DST, false, &d->dst);
    put(out, DTP_CNORM_MEAN, DNNL_TP_ARG_MEAN, in, stat);
    put(out, DTP_CNORM_VARIANCE, DNNL_TP_ARG_VARIANCE, in, stat);
    put(out, DTP_CNORM_SCALE, DNNL_TP_ARG_SCALE, true, &d->scale);
    put(out, DTP_CNORM_SHIFT, DNNL_TP_ARG_SHIFT, true, &d->shift);
    put(out, DTP_CNORM_WORKSPACE, DNNL_TP_ARG_WORKSPACE, false, &d->workspace);
    return DTP_CNORM_NARGS;
}

/* As layer normalization; with statistics that are known a product and a sum. */
void dtp_channel_norm_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const bool known = ((const dtp_channel_norm_desc_t *)op)->flags & dnnl_tp_use_global_stats;
    work->flops = (known ? 2. : 8.) * (double)dtp_md_nelems(arg[DTP_CNORM_SRC].md);
}
