/* Running sums along a dimension. */
#include "common/problems/graph/cumsum.h"
#include "exec/ops/ops.h"

DTP_ATTR(exclusive, 0x10003) /**< 1: sums leave out the element itself (bool) */

typedef struct {
    dtp_op_attrs_t base;
    int64_t axis;
    bool exclusive, reverse;
} attrs_t;
static const dtp_op_field_t cumsum_fields[] = {
    DTP_NEEDED(attrs_t, axis),
    DTP_OPTIONAL(attrs_t, exclusive, 0),
    DTP_OPTIONAL(attrs_t, reverse, 0),
};

static dnnl_tp_status_t cumsum_infer(const dtp_infer_t *c) {
    const info_t *x = c->in[0];
    int axis;
    TYPE(dtp_is_float(x->data_type) || x->data_type == dnnl_tp_s32 || x->data_type == dnnl_tp_s64,
         "src has type %s, a floating-point type, s32 or s64 is needed", dnnl_tp_dt2str(x->data_type));
    *c->out = *x;
    return dtp_infer_axis(c, "axis", ((const attrs_t *)c->attrs)->axis, x->ndims, &axis);
}

static dnnl_tp_status_t cumsum_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const attrs_t *a = n->attrs;
    const info_t *t = dtp_info(l, n->in[0]);
    const int axis = dtp_axis(a->axis, t->ndims);
    const int64_t dims[3] = {dtp_info_product(t, 0, axis), t->dims[axis],
                             dtp_info_product(t, axis + 1, t->ndims)};
    dtp_step_t *s;
    dtp_view_t x;
    DTP_TRY(dtp_view_dense(l, n->in[0], &x));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_cumsum_desc_t), DTP_KIND_CUMSUM, DTP_CUMSUM_NARGS, &s));
    dtp_cumsum_desc_t *d = (dtp_cumsum_desc_t *)s->op;
    d->exclusive = a->exclusive;
    d->reverse = a->reverse;
    DTP_TRY(dtp_md_init_strides(&d->src, 3, dims, t->data_type, NULL));
    d->dst = d->src;
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_CUMSUM_SRC] = dtp_view_arg(&x);
    s->arg[DTP_CUMSUM_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_cumsum = DTP_OP_CLASS(
    attrs_t, DTP_FIELDS(cumsum_fields), 0, 0, DTP_NO_BF16, dtp_one_result, cumsum_infer, DTP_NO_VALUES,
    cumsum_lower, dtp_cut_all /* dimension 0 is all that stands before the axis */, DTP_NO_POST);
