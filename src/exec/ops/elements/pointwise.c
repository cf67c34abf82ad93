/* Functions of one to three tensors, broadcast, that no public primitive has (common/problems/graph/pointwise.inc): comparisons,
 * selections, functions of integers, trigonometry. */
#include "common/problems/graph/pointwise.h"
#include "exec/ops/ops.h"

static dnnl_tp_status_t pointwise_infer(const dtp_infer_t *c) {
    const dtp_pointwise_row_t *row = c->row->param;
    const int first = row->fn == DTP_PW_select;
    const dnnl_tp_data_type_t type = c->in[first]->data_type;
    DTP_TRY(dtp_infer_broadcast(c));
    c->out->data_type = type;
    for (int i = first + 1; i < c->nin; ++i)
        TYPE(c->in[i]->data_type == type, "src %d has type %s, src %d %s", i,
             dnnl_tp_dt2str(c->in[i]->data_type), first, dnnl_tp_dt2str(type));
    if (row->fn == DTP_PW_select) {
        TYPE(c->in[0]->data_type == dnnl_tp_boolean, "src 0 has type %s, boolean is needed",
             dnnl_tp_dt2str(c->in[0]->data_type));
        return dnnl_tp_success;
    }
    TYPE(dtp_pointwise_takes(row->fn, type), "the sources have type %s, which this function does not take",
         dnnl_tp_dt2str(type));
    if (dtp_pointwise_is_truth(row->fn)) c->out->data_type = dnnl_tp_boolean;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_pointwise(dtp_lower_t *l, dtp_ir_node_t *n, int fn) {
    const info_t *to = dtp_info(l, n->out[0]);
    const int nd = to->ndims > 0 ? to->ndims : 1;
    dtp_step_t *s;
    dtp_view_t p[DTP_POINTWISE_DST];
    static const int64_t one[1] = {1}; /* of a number */
    for (int i = 0; i < n->nin; ++i) DTP_TRY(dtp_view_any(l, n->in[i], &p[i]));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_pointwise_desc_t), DTP_KIND_POINTWISE, DTP_POINTWISE_NARGS, &s));
    dtp_pointwise_desc_t *d = (dtp_pointwise_desc_t *)s->op;
    dtp_md_t *const src[] = {&d->src0, &d->src1, &d->src2};
    d->fn = fn;
    for (int i = 0; i < n->nin; ++i) {
        DTP_TRY(dtp_md_padded(src[i], dtp_info(l, n->in[i]), p[i].strides, nd));
        s->arg[DTP_POINTWISE_SRC0 + i] = dtp_view_arg(&p[i]);
    }
    for (int i = n->nin; i < DTP_POINTWISE_DST; ++i) s->arg[DTP_POINTWISE_SRC0 + i].buf = -1;
    DTP_TRY(dtp_view_new(l, n->out[0]));
    DTP_TRY(dtp_md_init_strides(&d->dst, nd, to->ndims > 0 ? to->dims : one, to->data_type, NULL));
    s->arg[DTP_POINTWISE_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

static dnnl_tp_status_t pointwise_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return dtp_lower_pointwise(l, n, ((const dtp_pointwise_row_t *)n->row->param)->fn);
}

const dtp_op_class_t dtp_class_pointwise =
    DTP_OP_CLASS(dtp_op_attrs_t, DTP_NO_FIELDS, 0, 0, 1 << 1 | 1 << 2 /* of a selection */, dtp_one_result,
                 pointwise_infer, DTP_NO_VALUES, pointwise_lower, dtp_cut_by_dim, DTP_NO_POST);
