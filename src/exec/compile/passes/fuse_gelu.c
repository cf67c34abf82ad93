/* Recognition of gelu that is written out: x/2 (1 + erf(x / sqrt 2)), and the form with tanh. */
#include <math.h>

#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

static bool near(float a, double b) { return fabs((double)a - b) <= 1e-5 * fabs(b); }

/* n = kind(a, b) of a binary kind: the operand that is not `x`; -1 when x is not one of them. */
static int other_of(const dtp_ir_node_t *n, int x) {
    return !n ? -1 : n->in[0] == x ? n->in[1] : n->in[1] == x ? n->in[0] : -1;
}

/* v = multiply(y, c) or divide(y, 1/c) with a constant: y and c. */
static int scaled(const dtp_ir_t *ir, int v, float *c) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_multiply);
    if (n && dtp_ir_scalar(ir, n->in[1], c)) return n->in[0];
    if (n && dtp_ir_scalar(ir, n->in[0], c)) return n->in[1];
    n = dtp_ir_producer(ir, v, dnnl_tp_op_divide);
    if (!n || !dtp_ir_scalar(ir, n->in[1], c) || *c == 0.f) return -1;
    *c = 1.f / *c;
    return n->in[0];
}

/* The only live node that reads v, if it has this kind. */
static dtp_ir_node_t *consumer(const dtp_ir_t *ir, int v, int kind) {
    if (!dtp_ir_single(ir, v)) return NULL;
    for (int i = ir->values[v].node + 1; i < ir->nnodes; ++i) { /* it stands behind what makes v */
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->row->kind != kind || n->nbefore) continue;
        for (int k = 0; k < n->nin; ++k)
            if (n->in[k] == v) return n;
    }
    return NULL;
}

/* The node that yields x/2 * (1 + t), in any order of the factors. */
static dtp_ir_node_t *tail(const dtp_ir_t *ir, int t, int x) {
    float c;
    dtp_ir_node_t *add = consumer(ir, t, dnnl_tp_op_add);
    if (!add || !dtp_ir_scalar(ir, other_of(add, t), &c) || !near(c, 1.)) return NULL;
    dtp_ir_node_t *m1 = consumer(ir, add->out[0], dnnl_tp_op_multiply);
    if (!m1) return NULL;
    int other = other_of(m1, add->out[0]);
    if (other != x && !dtp_ir_is_const(ir, other)) /* (x/2) (1 + t) */
        return scaled(ir, other, &c) == x && near(c, .5) ? m1 : NULL;
    bool half_first = dtp_ir_scalar(ir, other, &c);
    if (half_first ? !near(c, .5) : other != x) return NULL;
    dtp_ir_node_t *m2 = consumer(ir, m1->out[0], dnnl_tp_op_multiply);
    int last = other_of(m2, m1->out[0]);
    if (m2 && (half_first ? last == x : dtp_ir_scalar(ir, last, &c) && near(c, .5))) return m2;
    m2 = half_first ? NULL : consumer(ir, m1->out[0], dnnl_tp_op_divide);
    return m2 && m2->in[0] == m1->out[0] && dtp_ir_scalar(ir, m2->in[1], &c) && near(c, 2.) ? m2 : NULL;
}

/* x when v = x^3. */
static int cubed(const dtp_ir_t *ir, int v) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_pow);
    if (n) return near(((const dtp_unary_attrs_t *)n->attrs)->beta, 3.) ? n->in[0] : -1;
    n = dtp_ir_producer(ir, v, dnnl_tp_op_multiply);
    for (int k = 0; n && k < 2; ++k) {
        int x = n->in[k], square = n->in[1 - k];
        const dtp_ir_node_t *s = dtp_ir_producer(ir, square, dnnl_tp_op_square);
        if (s && s->in[0] == x) return x;
        s = dtp_ir_producer(ir, square, dnnl_tp_op_multiply);
        if (s && s->in[0] == x && s->in[1] == x) return x;
    }
    return -1;
}

/* x when v = sqrt(2/pi) (x + 0.044715 x^3). */
static int tanh_argument(const dtp_ir_t *ir, int v) {
    float c;
    const dtp_ir_node_t *add = dtp_ir_producer(ir, scaled(ir, v, &c), dnnl_tp_op_add);
    if (!add || !near(c, 0.79788456080286535588)) return -1;
    for (int k = 0; k < 2; ++k) {
        int x = add->in[k], cube = scaled(ir, add->in[1 - k], &c);
        if (cube >= 0 && near(c, 0.044715) && cubed(ir, cube) == x) return x;
    }
    return -1;
}

static dnnl_tp_status_t become_gelu(dtp_ir_t *ir, dtp_ir_node_t *n, int x, bool tanh) {
    const int before[] = {n->in[0], n->nin > 1 ? n->in[1] : -1};
    const char *kind = n->row->name;
    dtp_gelu_attrs_t *attrs = dtp_arena_alloc(ir->arena, sizeof *attrs);
    int *in = dtp_arena_alloc(ir->arena, sizeof *in);
    if (!attrs || !in) return dnnl_tp_out_of_memory;
    attrs->mode.at = tanh ? DTP_GELU_TANH : DTP_GELU_ERF;
    n->row = dtp_op_row(dnnl_tp_op_gelu);
    n->attrs = attrs;
    *in = x;
    n->in = in;
    n->nin = 1;
    dtp_ir_sweep(ir);
    dtp_ir_absorb(ir, n, before, 2);
    dtp_ir_fused(ir, n, n->name, kind);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_gelu(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || (n->row->kind != dnnl_tp_op_erf && n->row->kind != dnnl_tp_op_tanh))
            continue;
        bool is_tanh = n->row->kind == dnnl_tp_op_tanh;
        float c;
        int x = is_tanh ? tanh_argument(ir, n->in[0]) : scaled(ir, n->in[0], &c);
        if (x < 0 || (!is_tanh && !near(c, 0.70710678118654752440))) continue;
        dtp_ir_node_t *last = tail(ir, n->out[0], x);
        if (last) DTP_TRY(become_gelu(ir, last, x, is_tanh));
    }
    return dnnl_tp_success;
}
