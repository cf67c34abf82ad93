/* Normalisation over the last dimensions: layer_norm, rms_norm. */
#include "exec/ops/ops.h"

#include "common/problems/norms/layer_normalization.h"

DTP_ATTR(begin_norm_axis, 49) /**< first dimension that is normalized (s64) */
DTP_ATTR(use_affine, 103)     /**< 1: gamma and beta are inputs, default: as the inputs are (bool) */

typedef dtp_norm_attrs_t attrs_t;
static const dtp_op_field_t layer_norm_fields[] = {
    DTP_OPTIONAL(attrs_t, epsilon, 1e-5f),
    DTP_OPTIONAL(attrs_t, begin_norm_axis, -1),
    DTP_OPTIONAL(attrs_t, use_affine, 0),
};
static const dtp_op_field_t rms_norm_fields[] = {
    DTP_OPTIONAL(attrs_t, epsilon, 1e-5f),
    DTP_OPTIONAL(attrs_t, begin_norm_axis, -1),
};

static dnnl_tp_status_t norm_infer(const dtp_infer_t *c, int nparam) {
    const attrs_t *a = c->attrs;
    const info_t *x = c->in[0];
    char tx[DTP_SHAPE_TEXT], tp[DTP_SHAPE_TEXT];
    static const char *const names[] = {"scale", "shift"};
    int begin;
    DTP_TRY(dtp_infer_same(c));
    DTP_TRY(dtp_infer_epsilon(c, a->epsilon));
    DTP_TRY(dtp_infer_axis(c, "begin_norm_axis", a->begin_norm_axis, x->ndims, &begin));
    for (int i = 0; i < nparam; ++i) {
        const info_t *p = c->in[1 + i];
        ARITY(p, "%s is absent", names[i]);
        TYPE(p->data_type == dnnl_tp_f32, "%s has type %s, f32 is needed", names[i],
             dnnl_tp_dt2str(p->data_type));
        int n = x->ndims - begin;
        bool ok = p->ndims == n;
        for (int d = 0; ok && d < n; ++d) ok = dtp_dims_fit(p->dims[d], x->dims[begin + d]);
        SHAPE(ok, "%s %s does not fit the normalised dimensions of src %s", names[i], dtp_info_text(p, tp),
              dtp_info_text(x, tx));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t layer_norm_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    const bool given = dtp_op_given(c->row, a, offsetof(attrs_t, use_affine));
    const bool affine = given ? a->use_affine : c->nin > 1;
    ARITY(c->nin == (affine ? 3 : 1), "got %d inputs, needs %d (%s scale and shift)", c->nin, affine ? 3 : 1,
          affine ? "with" : "without");
    return norm_infer(c, affine ? 2 : 0);
}

static dnnl_tp_status_t rms_norm_infer(const dtp_infer_t *c) { return norm_infer(c, c->nin - 1); }

static dnnl_tp_status_t norm_lower(dtp_lower_t *l, const dtp_ir_node_t *n, unsigned flags) {
    const attrs_t *a = n->attrs;
    const info_t *t = dtp_info(l, n->in[0]);
    const int split = dtp_axis(a->begin_norm_axis, t->ndims);
    dtp_step_t *s;
    dtp_md_t src_md;
    dtp_step_arg_t src = {.buf = -1}, param[2] = {{.buf = -1}, {.buf = -1}};
    DTP_TRY(dtp_dense2(l, n->in[0], split, &src_md, &src));
    dtp_md_t unused;
    for (int i = 1; i < n->nin; ++i) DTP_TRY(dtp_dense2(l, n->in[i], 0, &unused, &param[i - 1]));
    DTP_TRY(
        dtp_new_step(l, n, sizeof(dtp_layer_norm_desc_t), dnnl_tp_layer_normalization, DTP_LNORM_NARGS, &s));
    dtp_layer_norm_desc_t *d = (dtp_layer_norm_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->epsilon = a->epsilon;
    d->flags = flags;
    d->src = src_md;
    int64_t rows = d->src.dims[0], cols = d->src.dims[1];
    DTP_TRY(dtp_md_init_strides(&d->stat, 1, &rows, dnnl_tp_f32, NULL));
    s->arg[DTP_LNORM_SRC] = src;
    if (n->nin > 1) {
        d->flags |= dnnl_tp_use_scale;
        DTP_TRY(dtp_md_init_strides(&d->scale, 1, &cols, dnnl_tp_f32, NULL));
        s->arg[DTP_LNORM_SCALE] = param[0];
    }
    if (n->nin > 2) {
        d->flags |= dnnl_tp_use_shift;
        DTP_TRY(dtp_md_init_strides(&d->shift, 1, &cols, dnnl_tp_f32, NULL));
        s->arg[DTP_LNORM_SHIFT] = param[1];
    }
    DTP_TRY(dtp_result2(l, n->out[0], split, &d->dst, &s->arg[DTP_LNORM_DST]));
    return dtp_add_post_ops(l, s, n, &d->dst);
}

static dnnl_tp_status_t layer_norm_lower(dtp_lower_t *l, dtp_ir_node_t *n) { return norm_lower(l, n, 0); }
static dnnl_tp_status_t rms_norm_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    return norm_lower(l, n, dnnl_tp_rms_norm);
}

static dtp_cut_t norm_cut(const dtp_cut_arg_t *a) {
    return a->arg == DTP_LNORM_SRC || a->arg == DTP_LNORM_DST ? DTP_CUT_SLICED : DTP_CUT_WHOLE;
}

const dtp_op_class_t dtp_class_layer_norm =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(layer_norm_fields), DTP_OP_OWN_TYPE, 0, 1, dtp_one_result,
                 layer_norm_infer, DTP_NO_VALUES, layer_norm_lower, norm_cut, DTP_NO_POST);
const dtp_op_class_t dtp_class_rms_norm =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(rms_norm_fields), DTP_OP_OWN_TYPE, 0, 1, dtp_one_result, rms_norm_infer,
                 DTP_NO_VALUES, rms_norm_lower, norm_cut, DTP_NO_POST);
