/* Binary operations: argument checks and tables. */
#include "common/problems/binary.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create_v2(dnnl_tp_primitive_desc_t *primitive_desc,
                                                         dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
                                                         const_dnnl_tp_memory_desc_t src0_desc,
                                                         const_dnnl_tp_memory_desc_t src1_desc,
                                                         const_dnnl_tp_memory_desc_t src2_desc,
                                                         const_dnnl_tp_memory_desc_t dst_desc,
                                                         const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_REQUIRE(dtp_alg_is_binary(alg_kind), BAD_ALG, "%s (%d) is not a binary algorithm",
                dnnl_tp_alg_kind2str(alg_kind), (int)alg_kind);
    bool select = alg_kind == dnnl_tp_binary_select;
    DTP_TRY(dtp_check_md(src0_desc, "src0", false));
    DTP_TRY(dtp_check_md(src1_desc, "src1", true));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    DTP_REQUIRE(select == !dtp_md_is_zero(src2_desc), BAD_PARAM, "src2 is for select, and select needs it");
    const dtp_md_t *in[] = {src0_desc, src1_desc, src2_desc};
    DTP_TRY(dtp_check_static(dst_desc, "dst"));
    for (int i = 0; i < 2 + select; ++i) {
        DTP_TRY(dtp_check_static(in[i], "source"));
        DTP_REQUIRE(in[i]->ndims == dst_desc->ndims, NDIMS_MISMATCH, "src%d has %d, dst has %d", i,
                    in[i]->ndims, dst_desc->ndims);
        for (int d = 0; d < dst_desc->ndims; ++d)
            DTP_REQUIRE(in[i]->dims[d] == dst_desc->dims[d] || in[i]->dims[d] == 1, DIMS_MISMATCH,
                        "dimension %d of src%d is %lld, dst's is %lld", d, i, (long long)in[i]->dims[d],
                        (long long)dst_desc->dims[d]);
    }
    for (int d = 0; d < dst_desc->ndims; ++d)
        DTP_REQUIRE(src0_desc->dims[d] == dst_desc->dims[d] || src1_desc->dims[d] == dst_desc->dims[d],
                    DIMS_MISMATCH, "dimension %d: neither source has dst's %lld", d,
                    (long long)dst_desc->dims[d]);
    if (select)
        DTP_REQUIRE(src2_desc->data_type == dnnl_tp_s8, BAD_DATA_TYPE, "src2 of select is %s, needed is s8",
                    dnnl_tp_dt2str(src2_desc->data_type));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_binary_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_binary;
    op.alg = alg_kind;
    op.src0 = *src0_desc;
    op.src1 = *src1_desc;
    if (select) op.src2 = *src2_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

dnnl_tp_status_t dnnl_tp_binary_primitive_desc_create(dnnl_tp_primitive_desc_t *primitive_desc,
                                                      dnnl_tp_engine_t engine, dnnl_tp_alg_kind_t alg_kind,
                                                      const_dnnl_tp_memory_desc_t src0_desc,
                                                      const_dnnl_tp_memory_desc_t src1_desc,
                                                      const_dnnl_tp_memory_desc_t dst_desc,
                                                      const_dnnl_tp_primitive_attr_t attr) {
    DTP_RETURN(dnnl_tp_binary_primitive_desc_create_v2(primitive_desc, engine, alg_kind, src0_desc, src1_desc,
                                                       NULL, dst_desc, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t binary_fields[] = {DTP_FIELD(dtp_binary_desc_t, alg, S32),
                                            DTP_FIELD(dtp_binary_desc_t, exact, S32),
                                            DTP_INPUT(dtp_binary_desc_t, src0, DNNL_TP_ARG_SRC_0),
                                            DTP_INPUT(dtp_binary_desc_t, src1, DNNL_TP_ARG_SRC_1),
                                            DTP_INPUT(dtp_binary_desc_t, src2, DNNL_TP_ARG_SRC_2),
                                            DTP_OUTPUT(dtp_binary_desc_t, dst, DNNL_TP_ARG_DST)};

static void binary_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = 1. * (double)dtp_md_nelems(arg[DTP_BINARY_DST].md);
}

static const dtp_attr_rules_t binary_attr = {
    .scales = {{DNNL_TP_ARG_SRC, DTP_MASK_COMMON}, {DNNL_TP_ARG_SRC_1, DTP_MASK_COMMON}},
    .post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(binary, DTP_BINARY_SRC0, &binary_attr, binary_work);
