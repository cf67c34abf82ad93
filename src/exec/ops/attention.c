/* Multi-head attention; masks and offsets of sequences, which pool_normalize has, too. */
#include <math.h>

#include "exec/ops/ops.h"

#include "common/problems/graph/attention.h"

DTP_ATTR(heads, 0x10000) /**< number of heads of attention (s64) */
DTP_ATTR(scale, 0x10001) /**< factor of Q K^T in attention (f32) */

static const dtp_op_field_t attention_fields[] = {
    DTP_NEEDED(dtp_attention_attrs_t, heads),
    DTP_OPTIONAL(dtp_attention_attrs_t, scale, NAN),
};

/* {n + 1} s32, with x packed {T, H}. */
dnnl_tp_status_t dtp_infer_offsets(const dtp_infer_t *c, const info_t *x, const info_t *o) {
    char tx[DTP_SHAPE_TEXT], to[DTP_SHAPE_TEXT];
    TYPE(o->data_type == dnnl_tp_s32, "offsets have type %s, s32 is needed", dnnl_tp_dt2str(o->data_type));
    SHAPE(o->ndims == 1 && (o->dims[0] == DNNL_TP_RUNTIME_DIM_VAL || o->dims[0] >= 1),
          "offsets are %s, {sequences + 1} is needed", dtp_info_text(o, to));
    SHAPE(x->ndims == 2, "with offsets src must be packed {tokens, features}, not %s", dtp_info_text(x, tx));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_infer_mask(const dtp_infer_t *c, const info_t *x, const info_t *m) {
    char tx[DTP_SHAPE_TEXT], tm[DTP_SHAPE_TEXT];
    TYPE(m->data_type == dnnl_tp_f32, "mask has type %s, f32 is needed", dnnl_tp_dt2str(m->data_type));
    SHAPE(x->ndims == 3, "with a mask src must be {batch, sequence, features}, not %s", dtp_info_text(x, tx));
    bool flat = m->ndims == 2 && dtp_dims_fit(m->dims[0], x->dims[0]) && dtp_dims_fit(m->dims[1], x->dims[1]);
    bool four = m->ndims == 4 && dtp_dims_fit(m->dims[0], x->dims[0]) && dtp_dims_fit(m->dims[1], 1) &&
                dtp_dims_fit(m->dims[2], 1) && dtp_dims_fit(m->dims[3], x->dims[1]);
    SHAPE(flat || four, "mask %s does not fit src %s", dtp_info_text(m, tm), dtp_info_text(x, tx));
    return dnnl_tp_success;
}

static dnnl_tp_status_t attention_infer(const dtp_infer_t *c) {
    const dtp_attention_attrs_t *a = c->attrs;
    const info_t *q = c->in[0], *k = c->in[1], *v = c->in[2];
    const info_t *mask = c->nin > 3 ? c->in[3] : NULL, *offsets = c->nin > 4 ? c->in[4] : NULL;
    char tq[DTP_SHAPE_TEXT], tk[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_same(c));
    TYPE(q->data_type == k->data_type && q->data_type == v->data_type, "q, k and v have types %s, %s and %s",
         dnnl_tp_dt2str(q->data_type), dnnl_tp_dt2str(k->data_type), dnnl_tp_dt2str(v->data_type));
    SHAPE(q->ndims == 2 || q->ndims == 3,
          "q %s is neither {batch, sequence, features} nor {tokens, features}", dtp_info_text(q, tq));
    for (int i = 1; i < 3; ++i) {
        bool ok = c->in[i]->ndims == q->ndims;
        for (int d = 0; ok && d < q->ndims; ++d) {
            ok = dtp_dims_fit(c->in[i]->dims[d], q->dims[d]);
            if (c->out->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) c->out->dims[d] = c->in[i]->dims[d];
        }
        SHAPE(ok, "%s %s does not have the shape of q %s", i == 1 ? "k" : "v", dtp_info_text(c->in[i], tk),
              dtp_info_text(q, tq));
    }
    int64_t width = c->out->dims[q->ndims - 1];
    ATTR(a->heads >= 1 && a->heads <= INT32_MAX, "heads is %lld", (long long)a->heads);
    SHAPE(width == DNNL_TP_RUNTIME_DIM_VAL || width % a->heads == 0,
          "%lld features are not a multiple of %lld heads", (long long)width, (long long)a->heads);
    ARITY(!mask || !offsets, "mask and offsets exclude each other%s", "");
    if (mask) DTP_TRY(dtp_infer_mask(c, k, mask));
    if (offsets) DTP_TRY(dtp_infer_offsets(c, q, offsets));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_sequence_md(dtp_lower_t *l, int v, bool alone, dtp_md_t *md, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_any(l, v, &p));
    const info_t *t = dtp_info(l, v);
    if (p.strides[t->ndims - 1] != 1 && t->dims[t->ndims - 1] != 1) DTP_TRY(dtp_view_dense(l, v, &p));
    arg->buf = p.buf;
    arg->offset = p.offset;
    if (!alone) return dtp_md_init_strides(md, t->ndims, t->dims, t->data_type, p.strides);
    int64_t dims[3] = {1, t->dims[0], t->dims[1]};
    int64_t strides[3] = {dtp_max64(p.strides[0] * t->dims[0], 1), p.strides[0], p.strides[1]};
    return dtp_md_init_strides(md, 3, dims, t->data_type, strides);
}

dnnl_tp_status_t dtp_mask_md(dtp_lower_t *l, int v, dtp_md_t *md, dtp_step_arg_t *arg) {
    const info_t *t = dtp_info(l, v);
    DTP_TRY(dtp_dense2(l, v, 1, md, arg));
    return dtp_md_dense2(md, t->dims[0], t->dims[t->ndims - 1], t->data_type);
}

dnnl_tp_status_t dtp_offsets_md(dtp_lower_t *l, int v, dtp_md_t *md, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    arg->buf = p.buf;
    arg->offset = p.offset;
    return dtp_md_init_strides(md, 1, dtp_info(l, v)->dims, dnnl_tp_s32, NULL);
}

static dnnl_tp_status_t attention_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const dtp_attention_attrs_t *a = n->attrs;
    int mask = n->nin > 3 ? n->in[3] : -1, offsets = n->nin > 4 ? n->in[4] : -1;
    const info_t *t = dtp_info(l, n->out[0]);
    bool alone = t->ndims == 2 && offsets < 0;
    dtp_attention_desc_t *d = dtp_arena_alloc(l->ir->arena, sizeof *d);
    dtp_step_arg_t arg[DTP_ATTENTION_NARGS];
    if (!d) return dnnl_tp_out_of_memory;
    for (int i = 0; i < DTP_ATTENTION_NARGS; ++i) arg[i] = (dtp_step_arg_t){.buf = -1};
    d->heads = (int)a->heads;
    int64_t width = t->dims[t->ndims - 1];
    d->scale = isnan(a->scale) ? 1.f / sqrtf((float)dtp_max64(width / d->heads, 1)) : a->scale;
    DTP_TRY(dtp_sequence_md(l, n->in[0], alone, &d->q, &arg[DTP_ATTENTION_Q]));
    DTP_TRY(dtp_sequence_md(l, n->in[1], alone, &d->k, &arg[DTP_ATTENTION_K]));
    DTP_TRY(dtp_sequence_md(l, n->in[2], alone, &d->v, &arg[DTP_ATTENTION_V]));
    if (mask >= 0) DTP_TRY(dtp_mask_md(l, mask, &d->mask, &arg[DTP_ATTENTION_MASK]));
    if (offsets >= 0) DTP_TRY(dtp_offsets_md(l, offsets, &d->offsets, &arg[DTP_ATTENTION_OFFSETS]));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    DTP_TRY(dtp_sequence_md(l, n->out[0], alone, &d->dst, &arg[DTP_ATTENTION_DST]));
    arg[DTP_ATTENTION_DST].written = true;
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof *d, DTP_KIND_ATTENTION, DTP_ATTENTION_NARGS, &s));
    d->base = *s->op;
    s->op = &d->base;
    memcpy(s->arg, arg, sizeof arg);
    s->work->whole_sequences = true;
    s->work->offsets = offsets >= 0 ? 1 + DTP_ATTENTION_OFFSETS : 0;
    return dnnl_tp_success;
}

dtp_cut_t dtp_cut_sequences(const dtp_cut_arg_t *a) {
    return a->step->work->offsets ? DTP_CUT_REFUSED : DTP_CUT_SLICED;
}

const dtp_op_class_t dtp_class_attention = DTP_OP_CLASS(
    dtp_attention_attrs_t, DTP_FIELDS(attention_fields), DTP_OP_MAY_LACK, 0, 1 | 1 << 1 | 1 << 2,
    dtp_one_result, attention_infer, DTP_NO_VALUES, attention_lower, dtp_cut_sequences, DTP_NO_POST);
