/* Recognition of attention that is written out, and one projection for Q, K and V.
 *
 * reshape {B, S, heads, d}, transpose to {B, heads, S, d}, matmul, scale, mask, softmax, matmul, transpose,
 * reshape becomes one operator on {B, S, heads * d}. Then matmuls of one source with constant weights whose
 * results go to attention only become one matmul; its results are windows of its columns. */
#include <math.h>

#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

typedef dnnl_tp_tensor_info_t info_t;

static const dtp_matmul_attrs_t *of_matmul(const dtp_ir_node_t *n) { return n->attrs; }

/* The operand of a binary operator that is not a scalar constant, and the factor by which the constant scales
 * it. */
static int unscale(const dtp_ir_t *ir, int v, float *scale) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_multiply);
    float c;
    for (int k = 0; n && k < 2; ++k)
        if (dtp_ir_single(ir, v) && dtp_ir_scalar(ir, n->in[1 - k], &c)) {
            *scale *= c;
            return n->in[k];
        }
    n = dtp_ir_producer(ir, v, dnnl_tp_op_divide);
    if (n && dtp_ir_single(ir, v) && dtp_ir_scalar(ir, n->in[1], &c) && c != 0.f) {
        *scale /= c;
        return n->in[0];
    }
    return v;
}

static bool order_is(const dtp_ir_node_t *t, int a, int b, int c, int d) {
    const dtp_list_t *order = &((const dtp_transpose_attrs_t *)t->attrs)->order;
    const int want[4] = {a, b, c, d};
    for (int i = 0; i < 4; ++i)
        if ((order->at[i] + 4) % 4 != want[i]) return false;
    return order->n == 4;
}

/* v = transpose(reshape(x) to {B, S, h, d}): the reshape, if both are used once. swapped: to {B, h, d, S}, maybe in two steps. */
static dtp_ir_node_t *heads_of(const dtp_ir_t *ir, int v, bool *swapped) {
    const dtp_ir_node_t *t = dtp_ir_producer(ir, v, dnnl_tp_op_static_transpose);
    if (!t || !dtp_ir_single(ir, v)) return NULL;
    *swapped = order_is(t, 0, 2, 3, 1);
    if (order_is(t, 0, 1, 3, 2) && dtp_ir_single(ir, t->in[0])) {
        t = dtp_ir_producer(ir, t->in[0], dnnl_tp_op_static_transpose);
        if (!t || !order_is(t, 0, 2, 1, 3)) return NULL;
        *swapped = true;
    }
    if (!*swapped && !order_is(t, 0, 2, 1, 3)) return NULL;
    dtp_ir_node_t *r = dtp_ir_producer(ir, t->in[0], dnnl_tp_op_static_reshape);
    return r && dtp_ir_single(ir, t->in[0]) ? r : NULL;
}

/* Makes a reshape to {B, S, h, d} one to {B, S, h * d}. */
static dnnl_tp_status_t join_heads(dtp_ir_t *ir, int v) {
    info_t t = *ir->values[v].info;
    t.dims[2] *= t.dims[3];
    t.dims[3] = 0;
    t.ndims = 3;
    return dtp_ir_set_info(ir, v, &t, ir->arena);
}

static bool is_key_mask(const info_t *m, const info_t *scores) {
    return m->data_type == dnnl_tp_f32 && m->ndims == 4 && m->dims[0] == scores->dims[0] && m->dims[1] == 1 &&
           m->dims[2] == 1 && m->dims[3] == scores->dims[3];
}

/* The only reader of v if it is the operator `kind` with v as input `at`. */
static dtp_ir_node_t *reader(const dtp_ir_t *ir, int v, int kind, int at) {
    if (!dtp_ir_single(ir, v)) return NULL;
    for (int i = ir->values[v].node + 1; i < ir->nnodes; ++i) { /* it stands behind what makes v */
        dtp_ir_node_t *n = &ir->nodes[i];
        if (!n->dead && n->row && n->row->kind == kind && !n->nbefore && n->nin > at && n->in[at] == v)
            return n;
    }
    return NULL;
}

static dnnl_tp_status_t match(dtp_ir_t *ir, const dtp_ir_node_t *softmax) {
    int v = softmax->in[0], mask = -1;
    const info_t *scores = ir->values[v].info;
    const int64_t axis = ((const dtp_softmax_attrs_t *)softmax->attrs)->axis;
    if (scores->ndims != 4 || (axis != 3 && axis != -1) || !dtp_ir_single(ir, v)) return dnnl_tp_success;
    const dtp_ir_node_t *add = dtp_ir_producer(ir, v, dnnl_tp_op_add);
    if (add) {
        int m = is_key_mask(ir->values[add->in[1]].info, scores) ? 1 : 0;
        if (!is_key_mask(ir->values[add->in[m]].info, scores)) return dnnl_tp_success;
        mask = add->in[m];
        v = add->in[1 - m];
    }
    float scale = 1.f;
    v = unscale(ir, v, &scale);
    const dtp_ir_node_t *qk = dtp_ir_producer(ir, v, dnnl_tp_op_matmul);
    if (!qk || !dtp_ir_single(ir, v) || qk->nin > 2 || of_matmul(qk)->transpose_a) return dnnl_tp_success;
    bool q_swapped, k_swapped, v_swapped;
    dtp_ir_node_t *q = heads_of(ir, unscale(ir, qk->in[0], &scale), &q_swapped);
    dtp_ir_node_t *k = heads_of(ir, unscale(ir, qk->in[1], &scale), &k_swapped);
    if (!q || !k || q_swapped || k_swapped == (of_matmul(qk)->transpose_b != 0)) return dnnl_tp_success;
    const dtp_ir_node_t *pv = reader(ir, softmax->out[0], dnnl_tp_op_matmul, 0);
    if (!pv || pv->nin > 2 || of_matmul(pv)->transpose_a || of_matmul(pv)->transpose_b)
        return dnnl_tp_success;
    dtp_ir_node_t *w = heads_of(ir, pv->in[1], &v_swapped);
    dtp_ir_node_t *last = reader(ir, pv->out[0], dnnl_tp_op_static_transpose, 0);
    if (!w || v_swapped || !last || !order_is(last, 0, 2, 1, 3)) return dnnl_tp_success;
    if (!reader(ir, last->out[0], dnnl_tp_op_static_reshape, 0)) return dnnl_tp_success;
    const info_t *tq = ir->values[q->out[0]].info, *tk = ir->values[k->out[0]].info,
                 *tv = ir->values[w->out[0]].info;
    if (!dtp_info_equal(tq, tk) || !dtp_info_equal(tq, tv)) return dnnl_tp_success;
    bool can;
    DTP_TRY(dtp_can_attend(ir, tq->data_type, &can));
    if (!can) return dnnl_tp_success;

    int *in = dtp_arena_alloc(ir->arena, sizeof *in * 4);
    dtp_attention_attrs_t *attrs = dtp_arena_alloc(ir->arena, sizeof *attrs);
    if (!in || !attrs) return dnnl_tp_out_of_memory;
    int64_t heads = tq->dims[2];
    DTP_TRY(join_heads(ir, q->out[0]));
    DTP_TRY(join_heads(ir, k->out[0]));
    DTP_TRY(join_heads(ir, w->out[0]));
    DTP_TRY(join_heads(ir, last->out[0]));
    in[0] = q->out[0];
    in[1] = k->out[0];
    in[2] = w->out[0];
    in[3] = mask;
    const int *before = last->in;
    const int nbefore = last->nin;
    const char *name = last->name, *kind = last->row->name;
    last->row = dtp_op_row(dnnl_tp_op_attention);
    attrs->heads = heads;
    attrs->scale = scale;
    last->attrs = attrs;
    last->in = in;
    last->nin = 4;
    dtp_ir_sweep(ir);
    dtp_ir_absorb(ir, last, before, nbefore);
    dtp_ir_fused(ir, last, name, kind);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_attention(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        const dtp_ir_node_t *n = &ir->nodes[i];
        if (!n->dead && n->row && n->row->kind == dnnl_tp_op_softmax) DTP_TRY(match(ir, n));
    }
    return dnnl_tp_success;
}

/* ---- One projection ---------------------------------------------------------------------------------- */

/* The matmul behind q, k or v of an attention, seen through reshapes, if all it does is a constant
 * projection. */
static dtp_ir_node_t *projection(const dtp_ir_t *ir, int v) {
    while (dtp_ir_single(ir, v)) {
        dtp_ir_node_t *r = dtp_ir_producer(ir, v, dnnl_tp_op_static_reshape);
        if (!r) break;
        v = r->in[0];
    }
    dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_matmul);
    if (!n || !dtp_ir_single(ir, v) || n->npost || n->nparts > 1 || of_matmul(n)->transpose_a) return NULL;
    const dtp_ir_value_t *w = &ir->values[n->in[1]];
    bool has_bias = n->nin == 3 && n->in[2] >= 0;
    if (w->cid < 0 || w->info->ndims != 2 || (has_bias && !dtp_ir_is_shared(ir, n->in[2]))) return NULL;
    return ir->values[n->in[0]].info->ndims >= 2 ? n : NULL;
}

static bool fits(const dtp_ir_node_t *a, const dtp_ir_node_t *b) {
    bool bias_a = a->nin == 3 && a->in[2] >= 0, bias_b = b->nin == 3 && b->in[2] >= 0;
    return a != b && a->in[0] == b->in[0] && of_matmul(a)->transpose_b == of_matmul(b)->transpose_b &&
           bias_a == bias_b;
}

static dnnl_tp_status_t merge(dtp_ir_t *ir, dtp_ir_node_t *const *parts, int n) {
    int *in = dtp_arena_alloc(ir->arena, sizeof *in * (size_t)(1 + 2 * n));
    int *out = dtp_arena_alloc(ir->arena, sizeof *out * (size_t)n);
    if (!in || !out) return dnnl_tp_out_of_memory;
    dtp_ir_node_t *first =
        parts[0]; /* all that it reads besides src is constant, so the earliest place will do */
    for (int i = 1; i < n; ++i)
        if (parts[i] < first) first = parts[i];
    in[0] = first->in[0];
    for (int i = 0; i < n; ++i) {
        in[1 + i] = parts[i]->in[1];
        in[1 + n + i] = parts[i]->nin == 3 ? parts[i]->in[2] : -1;
        out[i] = parts[i]->out[0];
    }
    for (int i = 0; i < n; ++i)
        if (parts[i] != first) {
            dtp_ir_fused(ir, first, parts[i]->name, parts[i]->row->name);
            parts[i]->dead = parts[i]->absorbed = true;
        }
    first->in = in;
    first->nin = 1 + 2 * n;
    first->out = out;
    first->nout = first->nparts = n;
    for (int i = 0; i < n; ++i) ir->values[out[i]].node = (int)(first - ir->nodes);
    dtp_ir_sweep(ir);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_parts(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        const dtp_ir_node_t *a = &ir->nodes[i];
        if (a->dead || !a->row || a->row->kind != dnnl_tp_op_attention) continue;
        dtp_ir_node_t *parts[3];
        for (int k = 0; k < 3; ++k) parts[k] = projection(ir, a->in[k]);
        if (parts[0] && parts[1] && parts[2] && fits(parts[0], parts[1]) && fits(parts[0], parts[2]) &&
            fits(parts[1], parts[2]))
            DTP_TRY(merge(ir, parts, 3));
        else if (parts[1] && parts[2] && fits(parts[1], parts[2])) /* keys and values of one source */
            DTP_TRY(merge(ir, parts + 1, 2));
    }
    return dnnl_tp_success;
}
