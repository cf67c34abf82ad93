/* Softmax and its logarithm along a dimension. */
#include "exec/ops/ops.h"

#include "common/problems/softmax.h"

static const dtp_op_field_t softmax_fields[] = {DTP_OPTIONAL(dtp_softmax_attrs_t, axis, -1)};

static dnnl_tp_status_t softmax_infer(const dtp_infer_t *c) {
    int axis;
    DTP_TRY(dtp_infer_same(c));
    return dtp_infer_axis(c, "axis", ((const dtp_softmax_attrs_t *)c->attrs)->axis, c->in[0]->ndims, &axis);
}

/* src with its dimensions in the order of memory: {outer, axis, inner}. */
static dnnl_tp_status_t ordered_md(const info_t *t, const dtp_dim_order_t *order, int axis, dtp_md_t *md) {
    int64_t dims[3] = {1, t->dims[axis], 1};
    int at = 0;
    for (int i = 0; i < order->ndims; ++i) {
        if (order->dim[i] == axis) at = 2;
        else dims[at] *= t->dims[order->dim[i]];
    }
    if (dims[2] == 1) return dtp_md_dense2(md, dims[0], dims[1], t->data_type);
    return dtp_md_init_strides(md, 3, dims, t->data_type, NULL);
}

static dnnl_tp_status_t softmax_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *t = dtp_info(l, n->in[0]);
    const int axis = dtp_axis(((const dtp_softmax_attrs_t *)n->attrs)->axis, t->ndims);
    dtp_step_t *s;
    dtp_view_t x;
    dtp_dim_order_t order;
    DTP_TRY(dtp_view_any(l, n->in[0], &x));
    const bool is_ordered = dtp_dim_order(l, n, n->in[0], x.strides, &order);
    if (!is_ordered) {
        DTP_TRY(dtp_view_dense(l, n->in[0], &x));
        order.ndims = t->ndims;
        for (int i = 0; i < t->ndims; ++i) order.dim[i] = i;
    }
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_softmax_desc_t), dnnl_tp_softmax, DTP_SOFTMAX_NARGS, &s));
    DTP_TRY(is_ordered ? dtp_view_new_in(l, n->out[0], &order) : dtp_view_new(l, n->out[0]));
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = ((const dtp_alg_row_t *)n->row->param)->alg;
    s->arg[DTP_SOFTMAX_SRC] = dtp_view_arg(&x);
    s->arg[DTP_SOFTMAX_DST] = dtp_written_arg(l, n->out[0]);
    d->axis = 1;
    DTP_TRY(ordered_md(t, &order, axis, &d->src));
    DTP_TRY(ordered_md(dtp_info(l, n->out[0]), &order, axis, &d->dst));
    s->work->whole_sequences = d->src.ndims == 3; /* rows of a slice are those of dimension 0 */
    return dtp_add_post_ops(l, s, n, &d->dst);
}

static dtp_cut_t softmax_cut(const dtp_cut_arg_t *a) {
    return ((const dtp_softmax_desc_t *)a->step->op)->axis ? DTP_CUT_SLICED : DTP_CUT_REFUSED;
}

const dtp_op_class_t dtp_class_softmax =
    DTP_OP_CLASS(dtp_softmax_attrs_t, DTP_FIELDS(softmax_fields), DTP_OP_KEEPS_ORDER | DTP_OP_OWN_TYPE, 0, 1,
                 dtp_one_result, softmax_infer, DTP_NO_VALUES, softmax_lower, softmax_cut, DTP_NO_POST);
