/* The same elements in f32 or bf16. No operator of graphs has this class: compilation puts nodes of it where it keeps values in
 * bf16 (compile/passes/bf16.c). Any view is read, and the order of dimensions stays. */
#include "common/problems/reorder.h"
#include "exec/ops/ops.h"

static dnnl_tp_status_t convert_infer(const dtp_infer_t *c) {
    *c->out = *c->in[0];
    c->out->data_type = ((const dtp_convert_attrs_t *)c->attrs)->to;
    return dnnl_tp_success;
}

/* Where the result lies, the source lying as p says. */
static dnnl_tp_status_t place(dtp_lower_t *l, const dtp_ir_node_t *n, const dtp_view_t *p, bool is_last) {
    const int out = n->out[0];
    const dtp_ir_value_t *value = dtp_value(l, out);
    dtp_dim_order_t order;
    if (l->at_once || !l->ir->fuse) return dtp_view_new(l, out);
    if (value->into >= 0 || (is_last && value->info->ndims > 2 && value->dest < 0))
        return dtp_view_new_pixels(l, out);
    if (((const dtp_convert_attrs_t *)n->attrs)->channels_last && value->dest < 0) {
        dtp_order_channels_last(value->info->ndims, &order);
        return dtp_view_new_in(l, out, &order);
    }
    if (dtp_dim_order(l, n, n->in[0], p->strides, &order)) return dtp_view_new_in(l, out, &order);
    return dtp_view_new(l, out);
}

static dnnl_tp_status_t convert_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *t = dtp_info(l, n->in[0]), *to = dtp_info(l, n->out[0]);
    const int nd = t->ndims > 0 ? t->ndims : 1;
    dtp_view_t p, q;
    bool is_last;
    dtp_step_t *s;
    DTP_TRY(dtp_view_pixels(l, n->in[0], &p, false, &is_last));
    DTP_TRY(place(l, n, &p, is_last));
    DTP_TRY(dtp_view_any(l, n->out[0], &q));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_reorder_desc_t), dnnl_tp_reorder, DTP_REORDER_NARGS, &s));
    dtp_reorder_desc_t *d = (dtp_reorder_desc_t *)s->op;
    DTP_TRY(dtp_md_padded(&d->src, t, p.strides, nd));
    DTP_TRY(dtp_md_padded(&d->dst, to, q.strides, nd));
    s->arg[DTP_REORDER_SRC] = dtp_view_arg(&p);
    s->arg[DTP_REORDER_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

static const dtp_op_class_t class_convert =
    DTP_OP_CLASS(dtp_convert_attrs_t, DTP_NO_FIELDS, DTP_OP_KEEPS_ORDER | DTP_OP_PIXELS_APART, 0, DTP_NO_BF16,
                 dtp_one_result, convert_infer, DTP_NO_VALUES, convert_lower, dtp_cut_all, DTP_NO_POST);
const dtp_op_row_t dtp_op_convert = {DTP_OP_CONVERT, "convert", &class_convert, 1, 1, NULL, NULL, 0};
