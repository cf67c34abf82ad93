/* Reductions: argument checks and tables. */
#include "common/problems/reduction.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_reduction_primitive_desc_create(dnnl_tp_primitive_desc_t *primitive_desc,
                                                         dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
                                                         const_dnnl_tp_memory_desc_t src_desc,
                                                         const_dnnl_tp_memory_desc_t dst_desc, float p,
                                                         float eps, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_REQUIRE(alg_kind >= dnnl_tp_reduction_max && alg_kind <= dnnl_tp_reduction_norm_lp_power_p_sum,
                BAD_ALG, "%s (%d) is not an algorithm of reduction", dnnl_tp_alg_kind2str(alg_kind),
                (int)alg_kind);
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_REQUIRE(src_desc->ndims == dst_desc->ndims, NDIMS_MISMATCH, "src has %d, dst has %d", src_desc->ndims,
                dst_desc->ndims);
    bool reduces = false;
    for (int d = 0; d < src_desc->ndims; ++d) {
        DTP_REQUIRE(dst_desc->dims[d] == 1 || dst_desc->dims[d] == src_desc->dims[d], DIMS_MISMATCH,
                    "dimension %d of dst is %lld, src's is %lld", d, (long long)dst_desc->dims[d],
                    (long long)src_desc->dims[d]);
        reduces |= dst_desc->dims[d] != src_desc->dims[d];
    }
    DTP_REQUIRE(reduces, DIMS_MISMATCH, "dst has the dimensions of src: nothing is reduced");
    if (alg_kind >= dnnl_tp_reduction_norm_lp_max) {
        DTP_REQUIRE(p >= 1.f, BAD_PARAM, "a norm needs p >= 1, got %g", (double)p);
        DTP_REQUIRE(src_desc->data_type == dnnl_tp_f32 || src_desc->data_type == dnnl_tp_bf16 ||
                        src_desc->data_type == dnnl_tp_f16,
                    BAD_DATA_TYPE, "a norm needs a floating-point src, not %s",
                    dnnl_tp_dt2str(src_desc->data_type));
    }
    DTP_TRY(dtp_check_static(src_desc, "src"));
    DTP_TRY(dtp_check_static(dst_desc, "dst"));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_reduction_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_reduction;
    op.alg = alg_kind;
    op.p = p;
    op.eps = eps;
    op.src = *src_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t reduction_fields[] = {DTP_FIELD(dtp_reduction_desc_t, alg, S32),
                                               DTP_FIELD(dtp_reduction_desc_t, p, F32),
                                               DTP_FIELD(dtp_reduction_desc_t, eps, F32),
                                               DTP_FIELD(dtp_reduction_desc_t, exact, S32),
                                               DTP_FIELD(dtp_reduction_desc_t, keeps_nan, S32),
                                               DTP_INPUT(dtp_reduction_desc_t, src, DNNL_TP_ARG_SRC),
                                               DTP_OUTPUT(dtp_reduction_desc_t, dst, DNNL_TP_ARG_DST)};

static void reduction_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 1. * (double)dtp_md_nelems(arg[DTP_REDUCTION_SRC].md);
}

static const dtp_attr_rules_t reduction_attr = {.post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(reduction, -1, &reduction_attr, reduction_work);
