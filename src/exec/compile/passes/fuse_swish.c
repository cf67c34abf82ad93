/* Recognition of activations that multiply x with a gate of x: swish, x * sigmoid(x); hard_swish, x * hard_sigmoid(x) with
 * slope 1/6, or x * clamp(x + 3, 0, 6) / 6 in any order. Then x has one reader, so the producer may take it in. */
#include <math.h>

#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

static bool near(float a, double b) { return fabs((double)a - b) <= 1e-6 * fabs(b); }

/* x when v = x + c of this c; -1 otherwise. */
static int added(const dtp_ir_t *ir, int v, double c) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_add);
    float have;
    for (int k = 0; n && k < 2; ++k)
        if (dtp_ir_scalar(ir, n->in[1 - k], &have) && near(have, c)) return n->in[k];
    return -1;
}

/* y when n = y / 6 or y * 1/6. */
static int sixth(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    float c;
    if (n->row->kind == dnnl_tp_op_divide)
        return dtp_ir_scalar(ir, n->in[1], &c) && near(c, 6.) ? n->in[0] : -1;
    for (int k = 0; k < 2; ++k)
        if (dtp_ir_scalar(ir, n->in[1 - k], &c) && near(c, 1. / 6.)) return n->in[k];
    return -1;
}

/* x when v = clamp(x + 3, 0, 6), which nobody else reads. */
static int clamped(const dtp_ir_t *ir, int v) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_clamp);
    const dtp_unary_attrs_t *a = n ? n->attrs : NULL;
    if (!n || a->alpha != 0.f || !near(a->beta, 6.)) return -1;
    return dtp_ir_single(ir, v) && dtp_ir_single(ir, n->in[0]) ? added(ir, n->in[0], 3.) : -1;
}

/* Which activation gate * x is: swish, hard_swish, or -1. */
static int activation_of(const dtp_ir_t *ir, int gate, int x) {
    if (!dtp_ir_single(ir, gate)) return -1;
    const dtp_ir_node_t *n = dtp_ir_producer(ir, gate, dnnl_tp_op_sigmoid);
    if (n) return n->in[0] == x ? dnnl_tp_op_swish : -1;
    n = dtp_ir_producer(ir, gate, dnnl_tp_op_hard_sigmoid);
    if (n) {
        const dtp_unary_attrs_t *a = n->attrs;
        return n->in[0] == x && near(a->alpha, 1. / 6.) && near(a->beta, .5) ? dnnl_tp_op_hard_swish : -1;
    }
    n = dtp_ir_producer(ir, gate, dnnl_tp_op_divide);
    if (!n) n = dtp_ir_producer(ir, gate, dnnl_tp_op_multiply);
    const int inner = n ? sixth(ir, n) : -1;
    return inner >= 0 && clamped(ir, inner) == x ? dnnl_tp_op_hard_swish : -1;
}

static dnnl_tp_status_t become(dtp_ir_t *ir, dtp_ir_node_t *n, int kind, int x) {
    const int before[] = {n->in[0], n->in[1]};
    const char *was = n->row->name;
    dtp_unary_attrs_t *attrs = dtp_arena_alloc(ir->arena, sizeof *attrs);
    int *in = dtp_arena_alloc(ir->arena, sizeof *in);
    if (!attrs || !in) return dnnl_tp_out_of_memory;
    attrs->alpha = kind == dnnl_tp_op_swish ? 1.f : 1.f / 6.f;
    attrs->beta = kind == dnnl_tp_op_swish ? 0.f : .5f;
    n->row = dtp_op_row(kind);
    n->attrs = attrs;
    *in = x;
    n->in = in;
    n->nin = 1;
    dtp_ir_sweep(ir);
    dtp_ir_absorb(ir, n, before, 2);
    dtp_ir_fused(ir, n, n->name, was);
    return dnnl_tp_success;
}

/* n = gate * x, or (x * clamp(x + 3, 0, 6)) / 6. */
static dnnl_tp_status_t match(dtp_ir_t *ir, dtp_ir_node_t *n) {
    if (!dtp_is_float(ir->values[n->out[0]].info->data_type)) return dnnl_tp_success;
    for (int k = 0; k < 2 && n->row->kind == dnnl_tp_op_multiply; ++k) {
        const int kind = activation_of(ir, n->in[k], n->in[1 - k]);
        if (kind >= 0) return become(ir, n, kind, n->in[1 - k]);
    }
    const int inner = sixth(ir, n);
    const dtp_ir_node_t *product = dtp_ir_producer(ir, inner, dnnl_tp_op_multiply);
    for (int k = 0; product && k < 2 && dtp_ir_single(ir, inner); ++k)
        if (clamped(ir, product->in[k]) == product->in[1 - k])
            return become(ir, n, dnnl_tp_op_hard_swish, product->in[1 - k]);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_swish(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->nbefore) continue;
        if (n->row->kind == dnnl_tp_op_multiply || n->row->kind == dnnl_tp_op_divide) DTP_TRY(match(ir, n));
    }
    return dnnl_tp_success;
}
