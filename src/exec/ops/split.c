/* Parts of a tensor along a dimension: views of it, nothing is copied unless a reader wants a part dense. As many
 * results as `sizes` has, or, without sizes, as the user wants: of the sizes in the second input, or of equal size,
 * the last one what is left. */
#include "exec/ops/ops.h"

typedef struct {
    dtp_op_attrs_t base;
    int64_t axis;
    dtp_lengths_t sizes; /* none: equal parts */
} attrs_t;
static const dtp_op_field_t split_fields[] = {DTP_OPTIONAL(attrs_t, axis, 0),
                                              DTP_OPTIONAL(attrs_t, sizes, 0)};

static int split_results(const void *attrs, int wanted) {
    const attrs_t *a = attrs;
    return a->sizes.n ? (int)a->sizes.n : wanted;
}

static dnnl_tp_status_t split_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT];
    int axis;
    DTP_TRY(dtp_infer_axis(c, "axis", a->axis, x->ndims, &axis));
    const int64_t all = x->dims[axis];
    const bool by_input = c->nin > 1 && c->in[1];
    const int64_t *sizes = !by_input ? a->sizes.at : c->known[1];
    const bool known = all != DNNL_TP_RUNTIME_DIM_VAL && sizes;
    int64_t left = all;
    if (by_input) {
        const info_t *t = c->in[1];
        TYPE(t->data_type == dnnl_tp_s64 || t->data_type == dnnl_tp_s32,
             "sizes have type %s, s64 or s32 is needed", dnnl_tp_dt2str(t->data_type));
        SHAPE(!a->sizes.n && t->ndims == 1 && dtp_dims_fit(t->dims[0], c->nout),
              "sizes %s, %d results and %d sizes in an attribute", dtp_info_text(t, tx), c->nout,
              (int)a->sizes.n);
    }
    for (int i = 0; i < c->nout; ++i) {
        const int64_t part = !sizes                   ? DNNL_TP_RUNTIME_DIM_VAL
                             : a->sizes.n || by_input ? sizes[i]
                             : known                  ? dtp_min64(dtp_div_up(all, c->nout), left)
                                                      : all;
        ATTR(part >= 0 || !sizes || (!a->sizes.n && !by_input), "size %d is %lld", i, (long long)part);
        SHAPE(!known || part <= left, "the sizes are more than dimension %d of src %s", axis,
              dtp_info_text(x, tx));
        c->out[i] = *x;
        c->out[i].dims[axis] = part;
        if (known) left -= part;
    }
    SHAPE(!known || left == 0, "the sizes are less than dimension %d of src %s", axis, dtp_info_text(x, tx));
    return dnnl_tp_success;
}

static dnnl_tp_status_t split_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *x = dtp_info(l, n->in[0]);
    const int axis = dtp_axis(((const attrs_t *)n->attrs)->axis, x->ndims);
    dtp_view_t from, copy;
    DTP_TRY(dtp_view_any(l, n->in[0], &from));
    const int64_t row = from.strides[axis] * (int64_t)dtp_type_size(x->data_type);
    for (int i = 0; i < n->nout; ++i) {
        DTP_TRY(dtp_view_set(l, n->out[i], from.buf, from.offset, from.strides));
        from.offset += dtp_info(l, n->out[i])->dims[axis] * row;
        if (!l->ir->fuse) DTP_TRY(dtp_view_dense(l, n->out[i], &copy));
    }
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_split =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(split_fields), DTP_OP_VIEW | DTP_OP_SHAPE_INPUT, 0, 1, split_results,
                 split_infer, DTP_NO_VALUES, split_lower, DTP_NO_CUT, DTP_NO_POST);
