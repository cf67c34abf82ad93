/* Reorder: argument checks and tables. */
#include "common/problems/reorder.h"

#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_reorder_primitive_desc_create(dnnl_tp_primitive_desc_t *primitive_desc,
                                                       const_dnnl_tp_memory_desc_t src_desc,
                                                       dnnl_tp_engine_t src_engine,
                                                       const_dnnl_tp_memory_desc_t dst_desc,
                                                       dnnl_tp_engine_t dst_engine,
                                                       const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, src_engine, attr));
    DTP_REQUIRE_HANDLE(dst_engine, DTP_OBJ_ENGINE);
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", false));
    DTP_TRY(dtp_check_same_dims(src_desc, "src", dst_desc, "dst"));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_reorder_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_reorder;
    op.src = *src_desc;
    op.dst = *dst_desc;
    if (src_engine->device == dst_engine->device)
        DTP_RETURN(dtp_pd_create(primitive_desc, dst_engine, &op.base, sizeof op, attr));
    dnnl_tp_engine_t runs = dtp_engine_of_reorder(src_engine, dst_engine);
    if (!runs)
        DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENGINE,
                            "neither %s %zu nor %s %zu reaches the memory of the other", src_engine->v->name,
                            src_engine->index, dst_engine->v->name, dst_engine->index));
    const bool by_src = runs == src_engine;
    DTP_RETURN(dtp_pd_create_between(primitive_desc, runs, by_src ? dst_engine : src_engine,
                                     by_src ? DTP_REORDER_DST : DTP_REORDER_SRC, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t reorder_fields[] = {DTP_INPUT(dtp_reorder_desc_t, src, DNNL_TP_ARG_FROM),
                                             DTP_OUTPUT(dtp_reorder_desc_t, dst, DNNL_TP_ARG_TO)};

static dnnl_tp_status_t reorder_check_runtime(const dtp_md_t *const *md) {
    DTP_REQUIRE(dtp_md_same_dims(md[DTP_REORDER_SRC], md[DTP_REORDER_DST]), RUNTIME_INCONSISTENT,
                "src and dst differ");
    return dnnl_tp_success;
}

static const dtp_attr_rules_t reorder_attr = {
    .scales = {{DNNL_TP_ARG_SRC, DTP_MASK_ANY}, {DNNL_TP_ARG_DST, DTP_MASK_ANY}},
    .zero_points = {{DNNL_TP_ARG_SRC, DTP_MASK_ANY}, {DNNL_TP_ARG_DST, DTP_MASK_ANY}},
    .real_zero_points = true,
    .post_ops = DTP_TAKES_SUM};
DTP_KIND_INFO(reorder, -1, &reorder_attr, NULL, .single = true,
              .opaque = 1u << DTP_REORDER_SRC | 1u << DTP_REORDER_DST,
              .check_runtime = reorder_check_runtime);
