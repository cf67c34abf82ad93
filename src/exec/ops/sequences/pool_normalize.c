/* The mean of each sequence, divided by its norm. */
#include "exec/ops/ops.h"

#include "common/problems/graph/pool_normalize.h"

typedef struct {
    dtp_op_attrs_t base;
    float epsilon;
} attrs_t;
static const dtp_op_field_t pool_normalize_fields[] = {DTP_OPTIONAL(attrs_t, epsilon, 1e-12f)};

static dnnl_tp_status_t pool_normalize_infer(const dtp_infer_t *c) {
    const info_t *x = c->in[0], *mask = c->nin > 1 ? c->in[1] : NULL, *offsets = c->nin > 2 ? c->in[2] : NULL;
    char tx[DTP_SHAPE_TEXT];
    DTP_TRY(dtp_infer_same(c));
    DTP_TRY(dtp_infer_epsilon(c, ((const attrs_t *)c->attrs)->epsilon));
    SHAPE(x->ndims == 2 || x->ndims == 3,
          "src %s is neither {batch, sequence, features} nor {tokens, features}", dtp_info_text(x, tx));
    ARITY(!mask || !offsets, "mask and offsets exclude each other%s", "");
    if (mask) DTP_TRY(dtp_infer_mask(c, x, mask));
    if (offsets) DTP_TRY(dtp_infer_offsets(c, x, offsets));
    memset(c->out->dims, 0, sizeof c->out->dims);
    c->out->ndims = 2;
    c->out->dims[0] = x->ndims == 3 ? x->dims[0] : offsets ? offsets->dims[0] : 1;
    if (offsets && offsets->dims[0] != DNNL_TP_RUNTIME_DIM_VAL) --c->out->dims[0];
    c->out->dims[1] = x->dims[x->ndims - 1];
    return dnnl_tp_success;
}

static dnnl_tp_status_t pool_normalize_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    int mask = n->nin > 1 ? n->in[1] : -1, offsets = n->nin > 2 ? n->in[2] : -1;
    bool alone = dtp_info(l, n->in[0])->ndims == 2 && offsets < 0;
    dtp_pool_normalize_desc_t *d = dtp_arena_alloc(l->ir->arena, sizeof *d);
    dtp_step_arg_t arg[DTP_POOLN_NARGS];
    if (!d) return dnnl_tp_out_of_memory;
    for (int i = 0; i < DTP_POOLN_NARGS; ++i) arg[i] = (dtp_step_arg_t){.buf = -1};
    d->epsilon = ((const attrs_t *)n->attrs)->epsilon;
    DTP_TRY(dtp_sequence_md(l, n->in[0], alone, &d->src, &arg[DTP_POOLN_SRC]));
    if (mask >= 0) DTP_TRY(dtp_mask_md(l, mask, &d->mask, &arg[DTP_POOLN_MASK]));
    if (offsets >= 0) DTP_TRY(dtp_offsets_md(l, offsets, &d->offsets, &arg[DTP_POOLN_OFFSETS]));
    DTP_TRY(dtp_result2(l, n->out[0], 1, &d->dst, &arg[DTP_POOLN_DST]));
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof *d, DTP_KIND_POOL_NORMALIZE, DTP_POOLN_NARGS, &s));
    d->base = *s->op;
    s->op = &d->base;
    memcpy(s->arg, arg, sizeof arg);
    s->work->whole_sequences = true;
    s->work->offsets = offsets >= 0 ? 1 + DTP_POOLN_OFFSETS : 0;
    s->work->pools = true;
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_pool_normalize = DTP_OP_CLASS(
    attrs_t, DTP_FIELDS(pool_normalize_fields), DTP_OP_MAY_LACK | DTP_OP_OWN_TYPE, 0, 1, dtp_one_result,
    pool_normalize_infer, DTP_NO_VALUES, pool_normalize_lower, dtp_cut_sequences, DTP_NO_POST);
