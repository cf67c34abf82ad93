/* Positions of the largest or smallest elements along a dimension. */
#include "common/problems/graph/top_k.h"
#include "exec/ops/ops.h"

DTP_ATTR(k, 0x10006)         /**< number of elements (s64) */
DTP_ATTR(smallest, 0x10007)  /**< 1: the smallest instead of the largest (bool) */
DTP_ATTR(last, 0x10008)      /**< 1: of equal elements the last comes first (bool) */
DTP_ATTR(nan_worst, 0x1000d) /**< 1: NaN comes after all numbers, not before them (bool) */

typedef struct {
    dtp_op_attrs_t base;
    int64_t axis, k;
    bool smallest, last, nan_worst;
} attrs_t;
static const dtp_op_field_t top_k_fields[] = {
    DTP_NEEDED(attrs_t, axis),      DTP_OPTIONAL(attrs_t, k, 1),         DTP_OPTIONAL(attrs_t, smallest, 0),
    DTP_OPTIONAL(attrs_t, last, 0), DTP_OPTIONAL(attrs_t, nan_worst, 0),
};

static dnnl_tp_status_t top_k_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    int axis;
    TYPE(x->data_type != dnnl_tp_bf16 && x->data_type != dnnl_tp_f16 && x->data_type != dnnl_tp_boolean,
         "src has type %s, f32, f64 or integers are needed", dnnl_tp_dt2str(x->data_type));
    DTP_TRY(dtp_infer_axis(c, "axis", a->axis, x->ndims, &axis));
    ATTR(a->k >= 0, "k is %lld", (long long)a->k);
    SHAPE(x->dims[axis] == DNNL_TP_RUNTIME_DIM_VAL || a->k <= x->dims[axis],
          "k is %lld, dimension %d has %lld elements", (long long)a->k, axis, (long long)x->dims[axis]);
    *c->out = *x;
    c->out->data_type = dnnl_tp_s64;
    c->out->dims[axis] = a->k;
    return dnnl_tp_success;
}

static dnnl_tp_status_t top_k_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const attrs_t *a = n->attrs;
    const info_t *t = dtp_info(l, n->in[0]);
    const int axis = dtp_axis(a->axis, t->ndims);
    const int64_t outer = dtp_info_product(t, 0, axis), inner = dtp_info_product(t, axis + 1, t->ndims);
    const int64_t from[3] = {outer, t->dims[axis], inner}, to[3] = {outer, a->k, inner};
    dtp_step_t *s;
    dtp_view_t x;
    DTP_TRY(dtp_view_dense(l, n->in[0], &x));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_top_k_desc_t), DTP_KIND_TOP_K, DTP_TOP_K_NARGS, &s));
    dtp_top_k_desc_t *d = (dtp_top_k_desc_t *)s->op;
    d->smallest = a->smallest;
    d->last = a->last;
    d->nan_worst = a->nan_worst;
    DTP_TRY(dtp_md_init_strides(&d->src, 3, from, t->data_type, NULL));
    DTP_TRY(dtp_md_init_strides(&d->dst, 3, to, dnnl_tp_s64, NULL));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_TOP_K_SRC] = dtp_view_arg(&x);
    s->arg[DTP_TOP_K_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_top_k = DTP_OP_CLASS(
    attrs_t, DTP_FIELDS(top_k_fields), 0, 0, DTP_NO_BF16, dtp_one_result, top_k_infer, DTP_NO_VALUES,
    top_k_lower, dtp_cut_all /* dimension 0 is all that stands before the axis */, DTP_NO_POST);
