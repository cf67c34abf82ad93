/* The same elements in another shape. */
#include "exec/ops/ops.h"

typedef struct {
    dtp_op_attrs_t base;
    dtp_list_t shape;
    bool special_zero;
} attrs_t;
static const dtp_op_field_t reshape_fields[] = {DTP_NEEDED(attrs_t, shape),
                                                DTP_OPTIONAL(attrs_t, special_zero, 0)};

static dnnl_tp_status_t reshape_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT], to[DTP_SHAPE_TEXT];
    info_t *o = c->out;
    o->data_type = x->data_type;
    o->ndims = (int)a->shape.n;
    int infer_at = -1;
    for (int d = 0; d < o->ndims; ++d) {
        int64_t v = a->shape.at[d];
        ATTR(v >= -1, "shape has the dimension %lld", (long long)v);
        if (v == 0 && a->special_zero) {
            ATTR(d < x->ndims, "shape copies dimension %d, src %s has none", d, dtp_info_text(x, tx));
            v = x->dims[d];
        }
        if (v == -1) {
            ATTR(infer_at < 0, "shape has two unknown dimensions (%d and %d)", infer_at, d);
            infer_at = d;
            v = 1;
        }
        o->dims[d] = v;
    }
    int64_t have = dtp_info_nelems(x), want = dtp_info_nelems(o);
    if (infer_at >= 0) {
        if (have < 0 || want < 0) {
            o->dims[infer_at] = DNNL_TP_RUNTIME_DIM_VAL;
            return dnnl_tp_success;
        }
        SHAPE(want > 0 && have % want == 0, "src %s cannot have the shape %s", dtp_info_text(x, tx),
              dtp_info_text(o, to));
        o->dims[infer_at] = have / want;
    } else {
        SHAPE(have < 0 || want < 0 || have == want, "src %s cannot have the shape %s", dtp_info_text(x, tx),
              dtp_info_text(o, to));
    }
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_reshape =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(reshape_fields), DTP_OP_SAME_ELEMENTS, 0, dtp_one_result, reshape_infer,
                 dtp_lower_alias, DTP_NO_CUT, DTP_NO_POST);
