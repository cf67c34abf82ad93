/* The same elements in another shape, which attributes or an input tell; the shape of a tensor as a tensor. */
#include "exec/ops/ops.h"

DTP_ATTR(shape, 72)         /**< sizes (s64 list) */
DTP_ATTR(special_zero, 100) /**< 1: 0 in shape copies the size (bool) */

typedef struct {
    dtp_op_attrs_t base;
    dtp_list_t shape;
    bool special_zero;
} attrs_t;
static const dtp_op_field_t reshape_fields[] = {DTP_NEEDED(attrs_t, shape),
                                                DTP_OPTIONAL(attrs_t, special_zero, 0)};

/* shape: n dimensions; -1: the rest, 0 with special_zero: that of src. */
static dnnl_tp_status_t infer_shape(const dtp_infer_t *c, int64_t n, const int64_t *shape,
                                    bool special_zero) {
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT], to[DTP_SHAPE_TEXT];
    info_t *o = c->out;
    o->data_type = x->data_type;
    o->ndims = (int)n;
    int infer_at = -1;
    for (int d = 0; d < o->ndims; ++d) {
        int64_t v = shape[d];
        ATTR(v >= -1, "shape has the dimension %lld", (long long)v);
        if (v == 0 && special_zero) {
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

static dnnl_tp_status_t reshape_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    return infer_shape(c, a->shape.n, a->shape.at, a->special_zero);
}

/* The elements stay, so what is known of them does. */
static bool reshape_values(const dtp_infer_t *c, int64_t *values) {
    if (!c->known[0]) return false;
    memcpy(values, c->known[0], sizeof *values * (size_t)dtp_info_nelems(c->out));
    return true;
}

const dtp_op_class_t dtp_class_reshape =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(reshape_fields), DTP_OP_SAME_ELEMENTS, 0, 1, dtp_one_result,
                 reshape_infer, reshape_values, dtp_lower_alias, DTP_NO_CUT, DTP_NO_POST);

/* ---- The shape is an input --------------------------------------------------------------------------- */

typedef struct {
    dtp_op_attrs_t base;
    bool special_zero;
} dynamic_attrs_t;
static const dtp_op_field_t dynamic_fields[] = {DTP_OPTIONAL(dynamic_attrs_t, special_zero, 0)};

static dnnl_tp_status_t dynamic_reshape_infer(const dtp_infer_t *c) {
    const info_t *shape = c->in[1];
    char ts[DTP_SHAPE_TEXT];
    TYPE(shape->data_type == dnnl_tp_s64 || shape->data_type == dnnl_tp_s32,
         "shape has type %s, s64 or s32 is needed", dnnl_tp_dt2str(shape->data_type));
    SHAPE(shape->ndims == 1 && shape->dims[0] >= 0 && shape->dims[0] <= DNNL_TP_MAX_NDIMS,
          "shape %s is no list of at most %d dimensions", dtp_info_text(shape, ts), DNNL_TP_MAX_NDIMS);
    if (c->known[1])
        return infer_shape(c, shape->dims[0], c->known[1], ((const dynamic_attrs_t *)c->attrs)->special_zero);
    c->out->data_type = c->in[0]->data_type;
    c->out->ndims = (int)shape->dims[0];
    for (int d = 0; d < c->out->ndims; ++d) c->out->dims[d] = DNNL_TP_RUNTIME_DIM_VAL;
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_dynamic_reshape = DTP_OP_CLASS(
    dynamic_attrs_t, DTP_FIELDS(dynamic_fields), DTP_OP_SAME_ELEMENTS | DTP_OP_SHAPE_INPUT, 0, 1,
    dtp_one_result, dynamic_reshape_infer, reshape_values, dtp_lower_alias, DTP_NO_CUT, DTP_NO_POST);

/* ---- The shape of a tensor --------------------------------------------------------------------------- */

static dnnl_tp_status_t shape_of_infer(const dtp_infer_t *c) {
    c->out->data_type = dnnl_tp_s64;
    c->out->ndims = 1;
    c->out->dims[0] = c->in[0]->ndims;
    return dnnl_tp_success;
}

static bool shape_of_values(const dtp_infer_t *c, int64_t *values) {
    memcpy(values, c->in[0]->dims, sizeof *values * (size_t)c->in[0]->ndims);
    return dtp_info_nelems(c->in[0]) >= 0;
}

/* Shapes are known when a graph is compiled; what is left here has to wait for other operators all the same. */
static dnnl_tp_status_t shape_of_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return dtp_ir_set_known(l->ir, n->out[0], dtp_info(l, n->in[0])->dims);
}

const dtp_op_class_t dtp_class_shape_of =
    DTP_OP_CLASS(dtp_op_attrs_t, DTP_NO_FIELDS, 0, 0, DTP_NO_BF16, dtp_one_result, shape_of_infer,
                 shape_of_values, shape_of_lower, DTP_NO_CUT, DTP_NO_POST);
