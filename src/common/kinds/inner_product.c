/* Inner product: argument checks and tables. dst[n][oc] = sum over ic and space of src * weights + bias. */
#include "common/problems/inner_product.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_inner_product_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    const_dnnl_tp_memory_desc_t src_desc, const_dnnl_tp_memory_desc_t weights_desc,
    const_dnnl_tp_memory_desc_t bias_desc, const_dnnl_tp_memory_desc_t dst_desc,
    const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_TRY(dtp_check_md(src_desc, "src", true));
    DTP_TRY(dtp_check_md(weights_desc, "weights", true));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    const dtp_md_t *src = src_desc, *wei = weights_desc, *dst = dst_desc;
    DTP_TRY(dtp_check_static(src, "src"));
    DTP_TRY(dtp_check_static(wei, "weights"));
    DTP_TRY(dtp_check_static(dst, "dst"));
    DTP_REQUIRE(src->ndims >= 2 && src->ndims <= 5, BAD_NDIMS, "src has %d dimensions, 2..5 are allowed",
                src->ndims);
    DTP_REQUIRE(wei->ndims == src->ndims && dst->ndims == 2, NDIMS_MISMATCH,
                "src %d, weights %d, dst %d (must be 2)", src->ndims, wei->ndims, dst->ndims);
    DTP_REQUIRE(src->dims[0] == dst->dims[0], DIMS_MISMATCH, "batch: src %lld, dst %lld",
                (long long)src->dims[0], (long long)dst->dims[0]);
    DTP_REQUIRE(wei->dims[0] == dst->dims[1], DIMS_MISMATCH, "output channels: weights %lld, dst %lld",
                (long long)wei->dims[0], (long long)dst->dims[1]);
    for (int d = 1; d < src->ndims; ++d)
        DTP_REQUIRE(src->dims[d] == wei->dims[d], DIMS_MISMATCH, "dimension %d: src %lld, weights %lld", d,
                    (long long)src->dims[d], (long long)wei->dims[d]);
    dtp_inner_product_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_inner_product;
    op.prop = prop_kind;
    op.src = *src;
    op.wei = *wei;
    op.dst = *dst;
    if (!dtp_md_is_zero(bias_desc)) {
        DTP_REQUIRE(bias_desc->ndims == 1 && bias_desc->dims[0] == dst->dims[1], DIMS_MISMATCH,
                    "bias is 1-D of the %lld output channels; got %d dimensions, the first %lld",
                    (long long)dst->dims[1], bias_desc->ndims, (long long)bias_desc->dims[0]);
        op.bia = *bias_desc;
    }
    DTP_TRY(dtp_check_post_ops(attr, dst));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t inner_product_fields[] = {
    DTP_FIELD(dtp_inner_product_desc_t, prop, S32), DTP_INPUT(dtp_inner_product_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_INPUT(dtp_inner_product_desc_t, wei, DNNL_TP_ARG_WEIGHTS),
    DTP_INPUT(dtp_inner_product_desc_t, bia, DNNL_TP_ARG_BIAS),
    DTP_OUTPUT(dtp_inner_product_desc_t, dst, DNNL_TP_ARG_DST)};

static void inner_product_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    const double channels = (double)arg[DTP_IP_DST].md->dims[1];
    work->flops = 2. * channels * (double)dtp_md_nelems(arg[DTP_IP_SRC].md);
}

static const dtp_attr_rules_t inner_product_attr = {.scales = {{DNNL_TP_ARG_SRC, DTP_MASK_ANY},
                                                               {DNNL_TP_ARG_WEIGHTS, DTP_MASK_ANY},
                                                               {DNNL_TP_ARG_DST, DTP_MASK_ANY}},
                                                    .post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(inner_product, -1, &inner_product_attr, inner_product_work);
