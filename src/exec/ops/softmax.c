/* Softmax and its logarithm along a dimension. */
#include "exec/ops/ops.h"

#include "common/problems/softmax.h"

static const dtp_op_field_t softmax_fields[] = {DTP_OPTIONAL(dtp_softmax_attrs_t, axis, -1)};

static dnnl_tp_status_t softmax_infer(const dtp_infer_t *c) {
    int axis;
    DTP_TRY(dtp_infer_same(c));
    return dtp_infer_axis(c, "axis", ((const dtp_softmax_attrs_t *)c->attrs)->axis, c->in[0]->ndims, &axis);
}

static dnnl_tp_status_t softmax_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *t = dtp_info(l, n->in[0]);
    const int axis = dtp_axis(((const dtp_softmax_attrs_t *)n->attrs)->axis, t->ndims);
    dtp_step_t *s;
    dtp_step_arg_t src = {.buf = -1}, dst = {.buf = -1};
    dtp_md_t src_md, dst_md;
    DTP_TRY(dtp_dense2(l, n->in[0], axis, &src_md, &src));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_softmax_desc_t), dnnl_tp_softmax, DTP_SOFTMAX_NARGS, &s));
    DTP_TRY(dtp_result2(l, n->out[0], axis, &dst_md, &dst));
    dtp_softmax_desc_t *d = (dtp_softmax_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = ((const dtp_alg_row_t *)n->row->param)->alg;
    s->arg[DTP_SOFTMAX_SRC] = src;
    s->arg[DTP_SOFTMAX_DST] = dst;
    d->axis = 1;
    d->src = src_md;
    d->dst = dst_md;
    if (axis != t->ndims - 1) { /* {outer, axis, inner} */
        int64_t dims[3] = {src_md.dims[0], t->dims[axis], dtp_info_product(t, axis + 1, t->ndims)};
        DTP_TRY(dtp_md_init_strides(&d->src, 3, dims, t->data_type, NULL));
        d->dst = d->src;
        s->work->whole_sequences = true; /* rows of a slice are those of dimension 0 */
    }
    return dtp_add_post_ops(l, s, n, &d->dst);
}

static dtp_cut_t softmax_cut(const dtp_cut_arg_t *a) {
    return ((const dtp_softmax_desc_t *)a->step->op)->axis ? DTP_CUT_SLICED : DTP_CUT_REFUSED;
}

const dtp_op_class_t dtp_class_softmax =
    DTP_OP_CLASS(dtp_softmax_attrs_t, DTP_FIELDS(softmax_fields), 0, 0, dtp_one_result, softmax_infer,
                 DTP_NO_VALUES, softmax_lower, softmax_cut, DTP_NO_POST);
