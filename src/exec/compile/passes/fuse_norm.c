/* Recognition of normalisations over the last dimensions that are written out: (x - mean) / sqrt(variance + epsilon) * gamma +
 * beta becomes layer_norm, x / sqrt(mean x^2 + epsilon) * gamma becomes rms_norm. */
#include <math.h>

#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

static bool near(float a, double b) { return fabs((double)a - b) <= 1e-6 * fabs(b); }

/* y when v = 1 / y. */
static int inverse_of(const dtp_ir_t *ir, int v) {
    float one;
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_reciprocal);
    if (n) return n->in[0];
    n = dtp_ir_producer(ir, v, dnnl_tp_op_divide);
    return n && dtp_ir_scalar(ir, n->in[0], &one) && near(one, 1.) ? n->in[1] : -1;
}

/* y when v = y^exponent. */
static int power_of(const dtp_ir_t *ir, int v, double exponent) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_pow);
    return n && near(((const dtp_unary_attrs_t *)n->attrs)->beta, exponent) ? n->in[0] : -1;
}

/* y when v = sqrt(y). */
static int root_of(const dtp_ir_t *ir, int v) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_sqrt);
    return n ? n->in[0] : power_of(ir, v, .5);
}

/* y when v = y^2. */
static int square_of(const dtp_ir_t *ir, int v) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_square);
    if (n) return n->in[0];
    n = dtp_ir_producer(ir, v, dnnl_tp_op_multiply);
    return n ? n->in[0] == n->in[1] ? n->in[0] : -1 : power_of(ir, v, 2.);
}

/* y when v is the mean of y over its last dimensions, which stay with size 1; *begin: the first of them. */
static int mean_of(const dtp_ir_t *ir, int v, int *begin) {
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_reduce_mean);
    if (!n) return -1;
    const dtp_reduce_attrs_t *a = n->attrs;
    const int nd = ir->values[n->in[0]].info->ndims;
    unsigned gone = 0;
    for (int64_t i = 0; i < a->axes.n; ++i) gone |= 1U << (a->axes.at[i] + nd) % nd;
    *begin = nd - (int)a->axes.n;
    return a->keep_dims && a->axes.n && gone == (1U << nd) - (1U << *begin) ? n->in[0] : -1;
}

typedef struct {
    int x, begin;
    float epsilon;
    bool centred; /* layer_norm */
} norm_t;

/* x when v = x - mean(x). */
static int centred(const dtp_ir_t *ir, int v, int begin) {
    int b;
    const dtp_ir_node_t *n = dtp_ir_producer(ir, v, dnnl_tp_op_subtract);
    return n && mean_of(ir, n->in[1], &b) == n->in[0] && b == begin ? n->in[0] : -1;
}

/* Is d / sqrt(e) a normalisation? */
static bool is_norm(const dtp_ir_t *ir, int d, int e, norm_t *out) {
    const dtp_ir_node_t *sum = dtp_ir_producer(ir, e, dnnl_tp_op_add);
    const int k = sum && dtp_ir_scalar(ir, sum->in[0], &out->epsilon) ? 1 : 0;
    if (!sum || (k == 0 && !dtp_ir_scalar(ir, sum->in[1], &out->epsilon)) || !(out->epsilon >= 0))
        return false;
    const int square = square_of(ir, mean_of(ir, sum->in[k], &out->begin));
    if (square < 0) return false;
    const int x = centred(ir, d, out->begin);
    out->centred = x >= 0 && (square == d || centred(ir, square, out->begin) == x);
    out->x = out->centred ? x : d;
    return (out->centred || square == d) && ir->values[out->x].info->data_type == dnnl_tp_f32 &&
           out->begin > 0;
}

static bool matches(const dtp_ir_t *ir, const dtp_ir_node_t *n, norm_t *out) {
    if (n->row->kind == dnnl_tp_op_divide) {
        const int e = root_of(ir, n->in[1]);
        return e >= 0 && is_norm(ir, n->in[0], e, out);
    }
    for (int k = 0; k < 2 && n->row->kind == dnnl_tp_op_multiply; ++k) {
        int e = root_of(ir, inverse_of(ir, n->in[k]));
        if (e < 0) e = power_of(ir, n->in[k], -.5);
        if (e >= 0 && is_norm(ir, n->in[1 - k], e, out)) return true;
    }
    return false;
}

/* The only reader of v, an operator of this kind with a vector for the dimensions from begin; *other: the vector. */
static dtp_ir_node_t *affine(const dtp_ir_t *ir, int v, int kind, int begin, int *other) {
    const dnnl_tp_tensor_info_t *x = ir->values[v].info;
    if (!dtp_ir_single(ir, v)) return NULL;
    for (int i = ir->values[v].node + 1; i < ir->nnodes; ++i) { /* it stands behind what makes v */
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->row->kind != kind || n->nbefore || n->region != ir->values[v].region)
            continue;
        if (n->in[0] != v && n->in[1] != v) continue;
        *other = n->in[n->in[0] == v];
        const dnnl_tp_tensor_info_t *p = ir->values[*other].info;
        bool fits = p->data_type == dnnl_tp_f32 && p->ndims == x->ndims - begin;
        for (int d = 0; fits && d < p->ndims; ++d) fits = p->dims[d] == x->dims[begin + d];
        return fits ? n : NULL;
    }
    return NULL;
}

static dnnl_tp_status_t become_norm(dtp_ir_t *ir, dtp_ir_node_t *n, const norm_t *norm) {
    enum { X, GAMMA, BETA, INPUTS };
    const int before[] = {n->in[0], n->in[1]};
    dtp_norm_attrs_t *attrs = dtp_arena_alloc(ir->arena, sizeof *attrs);
    int *in = dtp_arena_alloc(ir->arena, sizeof *in * INPUTS);
    if (!attrs || !in) return dnnl_tp_out_of_memory;
    in[X] = norm->x;
    int nin = 1;
    dtp_ir_node_t *last = n, *scale = affine(ir, n->out[0], dnnl_tp_op_multiply, norm->begin, &in[GAMMA]),
                  *shift = NULL;
    if (scale && norm->centred) shift = affine(ir, scale->out[0], dnnl_tp_op_add, norm->begin, &in[BETA]);
    if (shift) {
        last = shift;
        nin = INPUTS;
    } else if (scale && !norm->centred) {
        last = scale;
        nin = BETA;
    }
    const char *was = last->row->name;
    const int behind[] = {last->in[0], last->in[1]};
    attrs->epsilon = norm->epsilon;
    attrs->begin_norm_axis = norm->begin;
    attrs->use_affine = nin == INPUTS;
    last->row = dtp_op_row(norm->centred ? dnnl_tp_op_layer_norm : dnnl_tp_op_rms_norm);
    last->attrs = attrs;
    last->in = in;
    last->nin = nin;
    dtp_ir_sweep(ir);
    dtp_ir_absorb(ir, last, behind, 2);
    if (last != n) dtp_ir_absorb(ir, last, before, 2);
    dtp_ir_fused(ir, last, last->name, was);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_norm(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        norm_t norm;
        if (n->dead || !n->row || n->nbefore) continue;
        if (n->row->kind != dnnl_tp_op_multiply && n->row->kind != dnnl_tp_op_divide) continue;
        if (matches(ir, n, &norm)) DTP_TRY(become_norm(ir, n, &norm));
    }
    return dnnl_tp_success;
}
