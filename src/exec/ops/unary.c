/* Element-wise functions of one tensor. The algorithm and where its parameters come from stand in the row; the types
 * are those in whose arithmetic the function exists (common/base/elementwise.inc). */
#include "exec/ops/ops.h"

static dnnl_tp_alg_kind_t alg_of(const dtp_op_row_t *row) { return ((const dtp_alg_row_t *)row->param)->alg; }

static dnnl_tp_status_t unary_infer(const dtp_infer_t *c) {
    const dtp_unary_attrs_t *a = c->attrs;
    const dnnl_tp_data_type_t type = c->in[0]->data_type;
    TYPE(dtp_ew_takes(alg_of(c->row), type), "src has type %s, which this function does not take",
         dnnl_tp_dt2str(type));
    ATTR(dtp_ew_params_fit(dtp_ew_arithmetic(type, true), a->alpha, a->beta),
         "the parameters %g and %g are not integers, src has type %s", (double)a->alpha, (double)a->beta,
         dnnl_tp_dt2str(type));
    ATTR(alg_of(c->row) != dnnl_tp_eltwise_clip_v2 || a->alpha <= a->beta, "min %g is above max %g",
         (double)a->alpha, (double)a->beta);
    ATTR(alg_of(c->row) != dnnl_tp_eltwise_soft_relu || a->alpha != 0.f, "beta is %g", (double)a->alpha);
    *c->out = *c->in[0];
    return dnnl_tp_success;
}

static dnnl_tp_status_t unary_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const dtp_unary_attrs_t *a = n->attrs;
    return dtp_lower_eltwise(l, n, n->in[0], n->out[0], alg_of(n->row), a->alpha, a->beta);
}

static bool unary_post(const dtp_ir_t *ir, const dtp_ir_node_t *n, int x, dtp_ir_post_t *post) {
    const dtp_unary_attrs_t *a = n->attrs;
    (void)ir;
    (void)x;
    *post = (dtp_ir_post_t){.alg = alg_of(n->row), .alpha = a->alpha, .beta = a->beta};
    return dtp_alg_is_eltwise(post->alg);
}

const dtp_op_class_t dtp_class_unary =
    DTP_OP_CLASS(dtp_unary_attrs_t, DTP_NO_FIELDS /* rows have them */, DTP_OP_KEEPS_ORDER, 0, 1,
                 dtp_one_result, unary_infer, DTP_NO_VALUES, unary_lower, dtp_cut_all, unary_post);
