/* Local response normalisation across channels, in the order of dimensions that x has. */
#include "exec/ops/ops.h"

#include "common/problems/norms/lrn.h"

DTP_ATTR(size, 0x1000b) /**< number of neighbouring channels, odd (s64) */
DTP_ATTR(bias, 0x1000c) /**< added to the mean of squares (f32) */

typedef struct {
    dtp_op_attrs_t base;
    int64_t size;
    float alpha, beta, bias;
} attrs_t;
static const dtp_op_field_t lrn_fields[] = {DTP_NEEDED(attrs_t, size), DTP_OPTIONAL(attrs_t, alpha, 1e-4f),
                                            DTP_OPTIONAL(attrs_t, beta, .75f),
                                            DTP_OPTIONAL(attrs_t, bias, 1.f)};

static dnnl_tp_status_t lrn_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    char tx[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_same(c));
    TYPE(c->in[0]->data_type == dnnl_tp_f32 || c->in[0]->data_type == dnnl_tp_bf16,
         "src has type %s, f32 or bf16 is needed", dnnl_tp_dt2str(c->in[0]->data_type));
    SHAPE(c->in[0]->ndims >= 2 && c->in[0]->ndims <= 5, "src %s has %d dimensions, 2..5 are allowed",
          dtp_info_text(c->in[0], tx), c->in[0]->ndims);
    ATTR(a->size >= 1 && a->size % 2 == 1 && a->size <= INT32_MAX, "size is %lld, an odd number is needed",
         (long long)a->size);
    return dnnl_tp_success;
}

static dnnl_tp_status_t lrn_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const attrs_t *a = n->attrs;
    const info_t *t = dtp_info(l, n->in[0]);
    bool is_last;
    dtp_view_t x;
    dtp_step_t *s;
    dtp_dim_order_t order;
    DTP_TRY(dtp_view_pixels(l, n->in[0], &x, false, &is_last));
    dtp_order_channels_last(t->ndims, &order); /* the kernel wants equal strides on both sides */
    DTP_TRY(is_last ? dtp_view_in(l, n->in[0], &order, &x) : dtp_view_dense(l, n->in[0], &x));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_lrn_desc_t), dnnl_tp_lrn, DTP_LRN_NARGS, &s));
    DTP_TRY(is_last ? dtp_view_new_pixels(l, n->out[0]) : dtp_view_new(l, n->out[0]));
    dtp_lrn_desc_t *d = (dtp_lrn_desc_t *)s->op;
    d->prop = dnnl_tp_forward_inference;
    d->alg = dnnl_tp_lrn_across_channels;
    d->local_size = a->size;
    d->alpha = a->alpha;
    d->beta = a->beta;
    d->k = a->bias;
    DTP_TRY(dtp_md_init_strides(&d->src, t->ndims, t->dims, t->data_type, x.strides));
    DTP_TRY(dtp_md_init_strides(&d->dst, t->ndims, t->dims, t->data_type, dtp_value(l, n->out[0])->strides));
    s->arg[DTP_LRN_SRC] = dtp_view_arg(&x);
    s->arg[DTP_LRN_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_local_response_norm =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(lrn_fields), DTP_OP_KEEPS_ORDER, 0, 1, dtp_one_result, lrn_infer,
                 DTP_NO_VALUES, lrn_lower, dtp_cut_all, DTP_NO_POST);
