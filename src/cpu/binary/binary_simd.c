/* Binary operations as an element-wise program: any layouts, broadcasts and types that have common boxes. */
#include "cpu/binary/binary.h"
#include "cpu/elementwise/program.h"

static void resolve(dtp_md_t *md, const dtp_md_t *like) {
    if (!dtp_md_is_any(md)) return;
    if (dtp_md_same_dims(md, like)) dtp_boxes_layout_like(md, like);
    else dtp_md_make_plain(md);
}

/* One type, computed in its own arithmetic. */
static bool exact_types_ok(const dtp_binary_desc_t *op) {
    const dnnl_tp_data_type_t src = op->src0.data_type, dst = op->dst.data_type;
    return op->src1.data_type == src && (dst == src || dst == dnnl_tp_boolean) && dtp_ew_takes(op->alg, src);
}

dnnl_tp_status_t dtp_binary_check(dtp_pd_t *pd) {
    dtp_binary_desc_t *op = (dtp_binary_desc_t *)pd->op;
    if (dtp_binary_arithmetic(op) != dnnl_tp_f32) {
        DTP_DISPATCH(exact_types_ok(op), UNSUPPORTED_DATA_TYPE);
        DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    } else {
        DTP_DISPATCH(dtp_vops_takes(op->src0.data_type) && dtp_vops_takes(op->src1.data_type) &&
                         dtp_vops_takes(op->dst.data_type),
                     UNSUPPORTED_DATA_TYPE);
        DTP_DISPATCH(dtp_ew_takes(op->alg, dnnl_tp_f32), UNSUPPORTED_ALG);
    }
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    for (int i = 0; i < pd->attr->n_scales; ++i) {
        const dtp_quant_t *q = &pd->attr->scales[i];
        DTP_DISPATCH((q->arg == DNNL_TP_ARG_SRC_0 || q->arg == DNNL_TP_ARG_SRC_1) && q->mask == 0 &&
                         q->group_ndims == 0,
                     UNSUPPORTED_SCALES);
    }
    for (int i = 0; i < pd->attr->post_ops->len; ++i) {
        const dtp_post_op_t *p = &pd->attr->post_ops->entry[i];
        DTP_DISPATCH(p->kind != dnnl_tp_binary || dtp_vops_takes(p->src1.data_type), UNSUPPORTED_POST_OPS);
    }
    /* dst follows the source that has its dims. */
    const bool from_src1 =
        dtp_md_is_any(&op->dst) && !dtp_md_same_dims(&op->dst, &op->src0) && !dtp_md_is_any(&op->src1);
    resolve(&op->dst, from_src1 ? &op->src1 : &op->src0);
    resolve(&op->src1, &op->dst);
    if (!dtp_md_is_zero(&op->src2)) resolve(&op->src2, &op->dst);
    return dnnl_tp_success;
}

static bool make_program(dtp_program_t *m, dtp_pd_t *pd, const dtp_md_t **md, dtp_md_t *one) {
    const dtp_binary_desc_t *op = (const dtp_binary_desc_t *)pd->op;
    dtp_program_begin(m, dtp_pd_isa(pd), op->dst.data_type, DTP_BINARY_DST, op->src0.data_type,
                      DTP_BINARY_SRC0);
    if (dtp_binary_arithmetic(op) != dnnl_tp_f32) dtp_program_exact(m, dtp_binary_arithmetic(op));
    const int src1 = dtp_program_operand(m, op->src1.data_type, DTP_BINARY_SRC1);
    int cond = -1, b = src1;
    md[0] = &op->dst;
    md[1] = &op->src0;
    md[src1] = &op->src1;
    if (op->alg == dnnl_tp_binary_select) {
        cond = dtp_program_operand(m, op->src2.data_type, DTP_BINARY_SRC2);
        md[cond] = &op->src2;
    }
    dtp_md_init_masked(one, op->dst.ndims, op->dst.dims, 0);
    const dtp_quant_t *q0 = dtp_attr_scale(pd->attr, DNNL_TP_ARG_SRC_0);
    if (q0) {
        int o = dtp_program_operand(m, q0->data_type, dtp_pd_scale_index(pd, DNNL_TP_ARG_SRC_0));
        if (o < 0) return false;
        md[o] = one;
        if (!dtp_program_binary(m, DTP_PROGRAM_ACC, 1, o, -1, dnnl_tp_binary_mul)) return false;
    }
    const dtp_quant_t *q1 = dtp_attr_scale(pd->attr, DNNL_TP_ARG_SRC_1);
    if (q1) {
        int o = dtp_program_operand(m, q1->data_type, dtp_pd_scale_index(pd, DNNL_TP_ARG_SRC_1));
        /* A register for the scaled source: it has a buffer, its pointer is never read. */
        b = dtp_program_operand(m, dnnl_tp_f32, DTP_BINARY_DST);
        if (o < 0 || b < 0) return false;
        md[o] = one;
        md[b] = &op->dst;
        if (!dtp_program_binary(m, b, src1, o, -1, dnnl_tp_binary_mul)) return false;
    }
    return dtp_program_binary(m, DTP_PROGRAM_ACC, dtp_program_value(m), b, cond, op->alg) &&
           dtp_program_post_ops(m, pd, &op->dst, md);
}

static dnnl_tp_status_t binary_pd_init(dtp_pd_t *pd) {
    const dtp_md_t *md[DTP_BOXES_OPS];
    dtp_md_t one;
    DTP_TRY(dtp_binary_check(pd));
    DTP_DISPATCH(make_program(pd->plan, pd, md, &one), UNSUPPORTED_POST_OPS);
    return dtp_program_plan(pd->plan, pd, md);
}

DTP_CPU_IMPLS_AND_ANY(binary, "simd", .flags = DTP_IMPL_IN_PLACE, DTP_PROGRAM_PLAN, .pd_init = binary_pd_init,
                      .execute = dtp_program_execute);
