/* Reorder: argument checks. */
#include "common/primitive/kind_checks.h"

dnnl_tp_status_t dnnl_tp_reorder_primitive_desc_create(dnnl_tp_primitive_desc_t *primitive_desc,
                                                       const_dnnl_tp_memory_desc_t src_desc,
                                                       dnnl_tp_engine_t src_engine,
                                                       const_dnnl_tp_memory_desc_t dst_desc,
                                                       dnnl_tp_engine_t dst_engine,
                                                       const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, src_engine, attr));
    DTP_REQUIRE_HANDLE(dst_engine, DTP_OBJ_ENGINE);
    if (src_engine->v != dst_engine->v)
        DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENGINE, "engines of different kinds"));
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    DTP_TRY(dtp_check_md(dst_desc, "dst", false));
    DTP_TRY(dtp_check_same_dims(src_desc, "src", dst_desc, "dst"));
    DTP_TRY(dtp_check_post_ops(attr, dst_desc));
    dtp_reorder_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_reorder;
    op.src = *src_desc;
    op.dst = *dst_desc;
    DTP_RETURN(dtp_pd_create(primitive_desc, dst_engine, &op.base, sizeof op, attr));
}
