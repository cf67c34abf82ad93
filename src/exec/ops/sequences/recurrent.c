/* The steps of LSTM, GRU and RNN; what they compute stands with the operators in ops.inc. */
#include "common/problems/graph/recurrent.h"
#include "exec/ops/ops.h"

typedef struct {
    dtp_op_attrs_t base;
    bool reverse;
} attrs_t;
static const dtp_op_field_t recurrent_fields[] = {DTP_OPTIONAL(attrs_t, reverse, 0)};

enum { X, R, H, LAST, PEEP }; /* LAST: c of LSTM, bias of GRU; PEEP: of LSTM */
enum { LSTM_PARTS = 4, GRU_PARTS = 3, RNN_PARTS = 1, PEEP_PARTS = 3 };

static int lstm_results(const void *attrs, int wanted) {
    (void)attrs;
    (void)wanted;
    return 3;
}
static int two_results(const void *attrs, int wanted) {
    (void)attrs;
    (void)wanted;
    return 2;
}

/* Takes over what is not known in a. */
static bool agree(int64_t *a, int64_t b) {
    const bool fits = dtp_dims_fit(*a, b);
    if (*a == DNNL_TP_RUNTIME_DIM_VAL) *a = b;
    return fits;
}

static dnnl_tp_status_t infer(const dtp_infer_t *c, int64_t parts) {
    const bool is_lstm = parts == LSTM_PARTS;
    const char *const names[] = {"x", "r", "h", is_lstm ? "c" : "bias", "p"};
    const int ndims[] = {3, 2, 2, is_lstm ? 2 : 1, 1};
    char tx[DTP_SHAPE_TEXT], tr[DTP_SHAPE_TEXT], th[DTP_SHAPE_TEXT];
    for (int i = 0; i < c->nin; ++i) {
        TYPE(c->in[i]->data_type == dnnl_tp_f32, "%s has type %s, f32 is needed", names[i],
             dnnl_tp_dt2str(c->in[i]->data_type));
        SHAPE(c->in[i]->ndims == ndims[i], "%s is %s, needed are %d dimensions", names[i],
              dtp_info_text(c->in[i], tx), ndims[i]);
    }
    const info_t *x = c->in[X], *r = c->in[R], *h = c->in[H], *last = c->nin > LAST ? c->in[LAST] : NULL;
    int64_t hidden = h->dims[1], batch = x->dims[1];
    bool fits = agree(&hidden, r->dims[1]) && agree(&batch, h->dims[0]);
    if (last)
        fits &= agree(&hidden, last->dims[last->ndims - 1]) && (!is_lstm || agree(&batch, last->dims[0]));
    int64_t all = DNNL_TP_RUNTIME_DIM_VAL;
    SHAPE(hidden == DNNL_TP_RUNTIME_DIM_VAL || (hidden > 0 && !__builtin_mul_overflow(hidden, parts, &all)),
          "there are %lld hidden units", (long long)hidden);
    fits &= dtp_dims_fit(x->dims[2], all) && dtp_dims_fit(r->dims[0], all);
    SHAPE(fits, "x %s, r %s and h %s do not fit each other, or not the last input", dtp_info_text(x, tx),
          dtp_info_text(r, tr), dtp_info_text(h, th));
    if (c->nin > PEEP && all != DNNL_TP_RUNTIME_DIM_VAL)
        SHAPE(dtp_dims_fit(c->in[PEEP]->dims[0], PEEP_PARTS * hidden), "p has %lld elements, not %lld",
              (long long)c->in[PEEP]->dims[0], (long long)(PEEP_PARTS * hidden));
    c->out[0] = (info_t){.ndims = 3, .data_type = dnnl_tp_f32, .dims = {x->dims[0], batch, hidden}};
    for (int i = 1; i < c->nout; ++i)
        c->out[i] = (info_t){.ndims = 2, .data_type = dnnl_tp_f32, .dims = {batch, hidden}};
    return dnnl_tp_success;
}
static dnnl_tp_status_t lstm_infer(const dtp_infer_t *c) { return infer(c, LSTM_PARTS); }
static dnnl_tp_status_t gru_infer(const dtp_infer_t *c) { return infer(c, GRU_PARTS); }
static dnnl_tp_status_t rnn_infer(const dtp_infer_t *c) { return infer(c, RNN_PARTS); }

static dnnl_tp_status_t put(dtp_lower_t *l, int v, dtp_step_t *s, int arg, dtp_md_t *md) {
    const info_t *t = dtp_info(l, v);
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    s->arg[arg] = dtp_view_arg(&p);
    return dtp_md_init_strides(md, t->ndims, t->dims, t->data_type, NULL);
}

static dnnl_tp_status_t give(dtp_lower_t *l, int v, dtp_step_t *s, int arg, dtp_md_t *md) {
    const info_t *t = dtp_info(l, v);
    DTP_TRY(dtp_view_new(l, v));
    s->arg[arg] = dtp_written_arg(l, v);
    return dtp_md_init_strides(md, t->ndims, t->dims, t->data_type, NULL);
}

static dnnl_tp_status_t recurrent_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const bool is_lstm = n->row->cls == &dtp_class_lstm, is_rnn = n->row->cls == &dtp_class_rnn;
    const int64_t hidden = dtp_info(l, n->out[0])->dims[2], dims[] = {is_lstm  ? LSTM_PARTS
                                                                      : is_rnn ? RNN_PARTS
                                                                               : GRU_PARTS,
                                                                      hidden, hidden};
    dtp_view_t none;
    dtp_step_t *s;
    dtp_packing_t *packing;
    for (int i = 0; i < n->nin; ++i) DTP_TRY(dtp_view_dense(l, n->in[i], &none)); /* steps before this one */
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_recurrent_desc_t), DTP_KIND_RECURRENT, DTP_RECURRENT_NARGS, &s));
    dtp_recurrent_desc_t *d = (dtp_recurrent_desc_t *)s->op;
    d->cell = is_lstm ? DTP_CELL_LSTM : is_rnn ? DTP_CELL_RNN : DTP_CELL_GRU;
    d->reverse = ((const attrs_t *)n->attrs)->reverse;
    DTP_TRY(put(l, n->in[X], s, DTP_RECURRENT_SRC, &d->src));
    DTP_TRY(put(l, n->in[R], s, DTP_RECURRENT_WEI, &d->wei));
    DTP_TRY(put(l, n->in[H], s, DTP_RECURRENT_H, &d->h));
    if (is_lstm) DTP_TRY(put(l, n->in[LAST], s, DTP_RECURRENT_C, &d->c));
    else if (n->nin > LAST) DTP_TRY(put(l, n->in[LAST], s, DTP_RECURRENT_BIA, &d->bia));
    if (n->nin > PEEP) DTP_TRY(put(l, n->in[PEEP], s, DTP_RECURRENT_PEEP, &d->peep));
    DTP_TRY(dtp_md_init_strides(&d->wei, 3, dims, dnnl_tp_f32, NULL));
    if (dtp_packable(l, n, R)) {
        const dtp_ir_value_t *r = dtp_value(l, n->in[R]);
        DTP_TRY(dtp_pack_arg(l, s, DTP_RECURRENT_WEI, 1, &packing));
        packing->part[0] = (dtp_packed_part_t){r->cid, r->data, d->wei};
        DTP_TRY(dtp_md_init_tag(&d->wei, 3, dims, dnnl_tp_f32, dnnl_tp_format_tag_any));
    }
    DTP_TRY(give(l, n->out[0], s, DTP_RECURRENT_DST, &d->dst));
    DTP_TRY(give(l, n->out[1], s, DTP_RECURRENT_LAST_H, &d->last_h));
    return is_lstm ? give(l, n->out[2], s, DTP_RECURRENT_LAST_C, &d->last_c) : dnnl_tp_success;
}

const dtp_op_class_t dtp_class_lstm =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(recurrent_fields), 0, 1 << R, DTP_NO_BF16, lstm_results, lstm_infer,
                 DTP_NO_VALUES, recurrent_lower, DTP_NO_CUT, DTP_NO_POST);
const dtp_op_class_t dtp_class_gru =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(recurrent_fields), 0, 1 << R, DTP_NO_BF16, two_results, gru_infer,
                 DTP_NO_VALUES, recurrent_lower, DTP_NO_CUT, DTP_NO_POST);
const dtp_op_class_t dtp_class_rnn =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(recurrent_fields), 0, 1 << R, DTP_NO_BF16, two_results, rnn_infer,
                 DTP_NO_VALUES, recurrent_lower, DTP_NO_CUT, DTP_NO_POST);
