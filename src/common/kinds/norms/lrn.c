/* Local response normalization: argument checks and tables. */
#include "common/problems/norms/lrn.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_lrn_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t dst_desc,
    dnnl_tp_dim_t local_size, float alpha, float beta, float k, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_REQUIRE(alg_kind == dnnl_tp_lrn_across_channels || alg_kind == dnnl_tp_lrn_within_channel, BAD_ALG,
                "%s (%d) is not an algorithm of lrn", dnnl_tp_alg_kind2str(alg_kind), (int)alg_kind);
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_TRY(dtp_check_static_pair(src_desc, dst_desc));
    DTP_REQUIRE(src_desc->ndims >= 2 && src_desc->ndims <= 5, BAD_NDIMS, "%d dimensions, 2..5 are allowed",
                src_desc->ndims);
    DTP_REQUIRE(local_size >= 1, BAD_PARAM, "local_size is %lld, at least 1 is needed",
                (long long)local_size);
    dtp_lrn_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_lrn;
    op.prop = prop_kind;
    op.alg = alg_kind;
    op.local_size = local_size;
    op.alpha = alpha;
    op.beta = beta;
    op.k = k;
    op.src = *src_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t lrn_fields[] = {DTP_FIELD(dtp_lrn_desc_t, prop, S32),
                                         DTP_FIELD(dtp_lrn_desc_t, alg, S32),
                                         DTP_FIELD(dtp_lrn_desc_t, local_size, S64),
                                         DTP_FIELD(dtp_lrn_desc_t, alpha, F32),
                                         DTP_FIELD(dtp_lrn_desc_t, beta, F32),
                                         DTP_FIELD(dtp_lrn_desc_t, k, F32),
                                         DTP_INPUT(dtp_lrn_desc_t, src, DNNL_TP_ARG_SRC),
                                         DTP_OUTPUT(dtp_lrn_desc_t, dst, DNNL_TP_ARG_DST)};

/* The squares around each element, their sum and its power. */
static void lrn_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)op;
    double taps = (double)d->local_size;
    for (int i = 3; i < d->src.ndims && d->alg == dnnl_tp_lrn_within_channel; ++i)
        taps *= (double)d->local_size;
    work->flops = (2. * taps + DTP_ELTWISE_FLOPS) * (double)dtp_md_nelems(arg[DTP_LRN_SRC].md);
}

static const dtp_attr_rules_t lrn_attr = {.post_ops = 0};
DTP_KIND_INFO(lrn, -1, &lrn_attr, lrn_work);
