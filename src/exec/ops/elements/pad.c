/* A tensor with a value around it, or repeated. No operator of graphs has this class: compilation makes such nodes of joins
 * with constants and of joins of one tensor (compile/passes/fuse_pad.c). */
#include "common/base/half.h"
#include "common/problems/graph/pad.h"
#include "exec/ops/ops.h"

static dnnl_tp_status_t pad_infer(const dtp_infer_t *c) {
    const dtp_pad_attrs_t *a = c->attrs;
    *c->out = *c->in[0];
    for (int i = 0; i < c->out->ndims; ++i)
        c->out->dims[i] = a->before[i] + c->in[0]->dims[i] * a->times[i] + a->behind[i];
    return dnnl_tp_success;
}

static int64_t value_of(const dtp_pad_attrs_t *a, dnnl_tp_data_type_t type) {
    int64_t value = (int64_t)a->value;
    if (type == a->type) return value;
    float x; /* kept in bf16 */
    memcpy(&x, &value, sizeof x);
    const uint16_t low = dtp_f32_to_bf16(x);
    value = 0;
    memcpy(&value, &low, sizeof low);
    return value;
}

static dnnl_tp_status_t pad_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const dtp_pad_attrs_t *a = n->attrs;
    const info_t *t = dtp_info(l, n->in[0]), *to = dtp_info(l, n->out[0]);
    dtp_dim_order_t order;
    dtp_view_t x;
    dtp_step_t *s;
    DTP_TRY(dtp_view_any(l, n->in[0], &x));
    const bool is_ordered = dtp_dim_order(l, n, n->in[0], x.strides, &order);
    if (!is_ordered) {
        order.ndims = t->ndims;
        for (int i = 0; i < t->ndims; ++i) order.dim[i] = i;
        DTP_TRY(dtp_view_dense(l, n->in[0], &x));
    }
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_pad_desc_t), DTP_KIND_PAD, DTP_PAD_NARGS, &s));
    dtp_pad_desc_t *d = (dtp_pad_desc_t *)s->op;
    d->ndims = t->ndims;
    for (int i = 0; i < t->ndims; ++i) {
        d->before[i] = a->before[order.dim[i]];
        d->behind[i] = a->behind[order.dim[i]];
        d->times[i] = a->times[order.dim[i]];
    }
    d->value = value_of(a, t->data_type);
    DTP_TRY(dtp_md_in(&d->src, t, &order));
    DTP_TRY(dtp_md_in(&d->dst, to, &order));
    DTP_TRY(is_ordered ? dtp_view_new_in(l, n->out[0], &order) : dtp_view_new(l, n->out[0]));
    s->arg[DTP_PAD_SRC] = dtp_view_arg(&x);
    s->arg[DTP_PAD_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

static dtp_cut_t pad_cut(const dtp_cut_arg_t *a) {
    const dtp_pad_desc_t *d = (const dtp_pad_desc_t *)a->step->op;
    return d->before[0] || d->behind[0] || d->times[0] != 1 ? DTP_CUT_REFUSED : DTP_CUT_SLICED;
}

static const dtp_op_class_t class_pad =
    DTP_OP_CLASS(dtp_pad_attrs_t, DTP_NO_FIELDS, DTP_OP_KEEPS_ORDER, 0, 1, dtp_one_result, pad_infer,
                 DTP_NO_VALUES, pad_lower, pad_cut, DTP_NO_POST);
const dtp_op_row_t dtp_op_pad = {DTP_OP_PAD, "pad", &class_pad, 1, 1, NULL, NULL, 0};
