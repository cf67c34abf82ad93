/* Tensors one behind the other along a dimension. */
#include "exec/ops/ops.h"

#include "common/problems/concat.h"

static const dtp_op_field_t concat_fields[] = {DTP_NEEDED(dtp_concat_attrs_t, axis)};

static dnnl_tp_status_t concat_infer(const dtp_infer_t *c) {
    const dtp_concat_attrs_t *a = c->attrs;
    int axis;
    char t0[DTP_SHAPE_TEXT], ti[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_axis(c, "axis", a->axis, c->in[0]->ndims, &axis));
    *c->out = *c->in[0];
    for (int i = 1; i < c->nin; ++i) {
        const info_t *x = c->in[i];
        TYPE(x->data_type == c->in[0]->data_type, "src %d has type %s, src 0 %s", i,
             dnnl_tp_dt2str(x->data_type), dnnl_tp_dt2str(c->in[0]->data_type));
        bool ok = x->ndims == c->in[0]->ndims;
        for (int d = 0; ok && d < x->ndims; ++d) {
            if (d == axis) continue;
            ok = dtp_dims_fit(x->dims[d], c->out->dims[d]);
            if (c->out->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) c->out->dims[d] = x->dims[d];
        }
        SHAPE(ok, "src %d %s does not fit src 0 %s along axis %d", i, dtp_info_text(x, ti),
              dtp_info_text(c->in[0], t0), axis);
        int64_t *sum = &c->out->dims[axis];
        *sum = *sum == DNNL_TP_RUNTIME_DIM_VAL || x->dims[axis] == DNNL_TP_RUNTIME_DIM_VAL
                   ? DNNL_TP_RUNTIME_DIM_VAL
                   : *sum + x->dims[axis];
    }
    return dnnl_tp_success;
}

/* Whoever makes the inputs wrote them where they belong (dtp_want_parts), but for views. */
static dnnl_tp_status_t concat_parts(dtp_lower_t *l, dtp_ir_node_t *n) {
    int parts[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < n->nin; ++i) {
        parts[i] = dtp_value(l, n->in[i])->dest;
        DTP_TRY(dtp_settle(l, n->in[i], parts[i]));
    }
    DTP_TRY(dtp_view_new(l, n->out[0]));
    return dtp_join_parts(l, n, parts, n->nin);
}

static bool concat_values(const dtp_infer_t *c, int64_t *values) {
    if (c->out->ndims != 1) return false;
    for (int i = 0; i < c->nin; ++i) {
        if (!c->known[i]) return false;
        memcpy(values, c->known[i], sizeof *values * (size_t)c->in[i]->dims[0]);
        values += c->in[i]->dims[0];
    }
    return true;
}

static dnnl_tp_status_t concat_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    if (dtp_value(l, n->out[0])->into >= 0) return dtp_join_channels(l, n);
    const int part = dtp_value(l, n->in[0])->dest;
    if (part >= 0 && l->bufs[part].kind == DTP_BUF_PART &&
        l->bufs[part].part_of == dtp_value(l, n->out[0])->dest)
        return concat_parts(l, n);
    if (n->nin == 1) return dtp_lower_alias(l, n);
    const info_t *to = dtp_info(l, n->out[0]);
    const int axis = dtp_axis(((const dtp_concat_attrs_t *)n->attrs)->axis, to->ndims);
    dtp_view_t views[DTP_GRAPH_MAX_ARGS];
    dtp_dim_order_t order;
    for (int i = 0; i < n->nin; ++i) DTP_TRY(dtp_view_any(l, n->in[i], &views[i]));
    bool is_ordered = dtp_dim_order(l, n, n->in[0], views[0].strides, &order);
    for (int i = 1; i < n->nin && is_ordered; ++i)
        is_ordered = dtp_is_dense_in(dtp_info(l, n->in[i]), views[i].strides, &order);
    if (!is_ordered) {
        order.ndims = to->ndims;
        for (int i = 0; i < to->ndims; ++i) order.dim[i] = i;
        for (int i = 0; i < n->nin; ++i) DTP_TRY(dtp_view_dense(l, n->in[i], &views[i]));
    }
    dtp_step_t *s;
    size_t size = sizeof(dtp_concat_desc_t) + (size_t)n->nin * sizeof(dtp_md_t);
    DTP_TRY(dtp_new_step(l, n, size, dnnl_tp_concat, 1 + n->nin, &s));
    dtp_concat_desc_t *d = (dtp_concat_desc_t *)s->op;
    d->axis = 0;
    while (order.dim[d->axis] != axis) ++d->axis;
    d->n = n->nin;
    DTP_TRY(dtp_md_in(&d->dst, to, &order));
    for (int i = 0; i < n->nin; ++i) {
        DTP_TRY(dtp_md_in(&d->src[i], dtp_info(l, n->in[i]), &order));
        s->arg[DTP_CONCAT_SRC + i] = dtp_view_arg(&views[i]);
    }
    DTP_TRY(is_ordered ? dtp_view_new_in(l, n->out[0], &order) : dtp_view_new(l, n->out[0]));
    s->arg[DTP_CONCAT_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

static dtp_cut_t concat_cut(const dtp_cut_arg_t *a) {
    return ((const dtp_concat_desc_t *)a->step->op)->axis ? DTP_CUT_SLICED : DTP_CUT_REFUSED;
}

const dtp_op_class_t dtp_class_concat = DTP_OP_CLASS(
    dtp_concat_attrs_t, DTP_FIELDS(concat_fields), DTP_OP_JOINS | DTP_OP_KEEPS_ORDER, 0, DTP_ALL_BF16,
    dtp_one_result, concat_infer, concat_values, concat_lower, concat_cut, DTP_NO_POST);
