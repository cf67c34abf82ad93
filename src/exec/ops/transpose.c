/* Dimensions in another order: a view. */
#include "exec/ops/ops.h"

DTP_ATTR(order, 68) /**< source dimension of each result dimension (s64 list) */

static const dtp_op_field_t transpose_fields[] = {DTP_NEEDED(dtp_transpose_attrs_t, order)};

static dnnl_tp_status_t transpose_infer(const dtp_infer_t *c) {
    const dtp_transpose_attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    unsigned seen = 0;
    ATTR(a->order.n == x->ndims, "order has %d elements, src %d dimensions", (int)a->order.n, x->ndims);
    c->out->ndims = x->ndims;
    c->out->data_type = x->data_type;
    for (int d = 0; d < x->ndims; ++d) {
        int from;
        DTP_TRY(dtp_infer_axis(c, "order", a->order.at[d], x->ndims, &from));
        ATTR(!(seen >> from & 1), "order names dimension %d twice", from);
        seen |= 1u << from;
        c->out->dims[d] = x->dims[from];
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t transpose_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const dtp_transpose_attrs_t *a = n->attrs;
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, n->in[0], &p));
    const dtp_ir_value_t *to = dtp_value(l, n->out[0]);
    int64_t strides[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < to->info->ndims; ++d)
        strides[d] = p.strides[dtp_axis(a->order.at[d], to->info->ndims)];
    DTP_TRY(dtp_view_set(l, n->out[0], p.buf, p.offset, strides));
    if (l->ir->fuse || dtp_view_is_dense(to))
        return dnnl_tp_success; /* a view; copied only if somebody needs that */
    return dtp_view_dense(l, n->out[0], &p);
}

const dtp_op_class_t dtp_class_transpose =
    DTP_OP_CLASS(dtp_transpose_attrs_t, DTP_FIELDS(transpose_fields), DTP_OP_VIEW, 0, 1, dtp_one_result,
                 transpose_infer, DTP_NO_VALUES, transpose_lower, DTP_NO_CUT, DTP_NO_POST);
