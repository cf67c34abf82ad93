/* Fusion into the producing matmul: bias, element-wise functions, scalars, residuals. A fused pair takes the
 * place of its later node, where everything that it reads is there. */
#include "exec/compile/lowering/lower.h"

/* Row vector of n elements: {n}, {1, n}, ... */
static bool is_row(const dtp_ir_value_t *v, int64_t n) {
    return v->info->ndims >= 1 && v->info->dims[v->info->ndims - 1] == n && dtp_info_nelems(v->info) == n;
}

static bool same_dims(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    return a->ndims == b->ndims && !memcmp(a->dims, b->dims, sizeof(int64_t) * (size_t)a->ndims);
}

/* The matmul that makes v and may still grow, or NULL. */
static dtp_ir_node_t *growable(const dtp_ir_t *ir, int v) {
    dtp_ir_node_t *p = dtp_ir_producer(ir, v, dnnl_tp_op_matmul);
    if (!p || !dtp_ir_single(ir, v) || p->npost == DTP_IR_MAX_POST ||
        ir->values[v].info->data_type != dnnl_tp_f32)
        return NULL;
    return p;
}

/* What n does to x, the result of a matmul, as one post-operation. */
static bool as_post(const dtp_ir_t *ir, const dtp_ir_node_t *n, int x, dtp_ir_post_t *post) {
    memset(post, 0, sizeof *post);
    if (n->row->kind == dnnl_tp_op_erf) return false; /* not a post-operation */
    if (n->row->cls == DTP_CLASS_UNARY) return dtp_unary_alg(n, &post->alg, &post->alpha, &post->beta);
    if ((n->row->cls != DTP_CLASS_BINARY && n->row->cls != DTP_CLASS_BIAS_ADD) ||
        n->row->kind == dnnl_tp_op_squared_difference || n->in[0] == n->in[1])
        return false;
    bool first = n->in[0] == x;
    int other = first ? n->in[1] : n->in[0];
    const dnnl_tp_tensor_info_t *out = ir->values[x].info, *o = ir->values[other].info;
    if (!same_dims(ir->values[n->out[0]].info, out)) return false;
    float c;
    if (dtp_ir_scalar(ir, other, &c)) {
        post->alg = dnnl_tp_eltwise_linear;
        post->alpha = 1.f;
        switch (n->row->kind) {
        case dnnl_tp_op_bias_add:
        case dnnl_tp_op_add: post->beta = c; return true;
        case dnnl_tp_op_multiply: post->alpha = c; return true;
        case dnnl_tp_op_subtract:
            post->alpha = first ? 1.f : -1.f;
            post->beta = first ? -c : c;
            return true;
        case dnnl_tp_op_divide:
            if (!first || c == 0.f) return false;
            post->alpha = 1.f / c;
            return true;
        default: break;
        }
    }
    int64_t cols = out->ndims ? out->dims[out->ndims - 1] : 1;
    if (!same_dims(o, out) && !is_row(&ir->values[other], cols) && dtp_info_nelems(o) != 1) return false;
    post->is_binary = true;
    post->value = other;
    switch (n->row->kind) {
    case dnnl_tp_op_bias_add:
    case dnnl_tp_op_add: post->alg = dnnl_tp_binary_add; return true;
    case dnnl_tp_op_multiply: post->alg = dnnl_tp_binary_mul; return true;
    case dnnl_tp_op_maximum: post->alg = dnnl_tp_binary_max; return true;
    case dnnl_tp_op_minimum: post->alg = dnnl_tp_binary_min; return true;
    case dnnl_tp_op_subtract: post->alg = dnnl_tp_binary_sub; return first;
    case dnnl_tp_op_divide: post->alg = dnnl_tp_binary_div; return first;
    default: return false;
    }
}

/* A row that is added to a matmul without bias and post-operations. */
static int as_bias(const dtp_ir_t *ir, const dtp_ir_node_t *n, const dtp_ir_node_t *p, int x) {
    if (n->row->kind != dnnl_tp_op_add && n->row->kind != dnnl_tp_op_bias_add) return -1;
    const dnnl_tp_tensor_info_t *out = ir->values[x].info;
    int other = n->in[0] == x ? n->in[1] : n->in[0];
    bool has_cols = ir->values[p->in[1]].info->ndims > 1;
    if (other == x || p->npost || p->nin > 2 || !has_cols || !same_dims(ir->values[n->out[0]].info, out))
        return -1;
    return is_row(&ir->values[other], out->dims[out->ndims - 1]) ? other : -1;
}

/* n becomes what p was, and p ends. */
static void take_over(dtp_ir_t *ir, dtp_ir_node_t *n, dtp_ir_node_t *p, int x) {
    const int *out = n->out;
    const char *name = n->name, *kind = n->row->name;
    bool effects = n->effects || p->effects;
    *n = *p;
    n->out = out;
    n->effects = effects;
    dtp_ir_fused(ir, n, name, kind);
    p->dead = p->absorbed = true;
    ir->values[x].uses = 0;
}

void dtp_fuse_post_ops(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->nin > 2 || n->nbefore) continue;
        for (int k = 0; k < n->nin; ++k) {
            int x = n->in[k];
            dtp_ir_node_t *p = growable(ir, x);
            if (!p) continue;
            int bias = as_bias(ir, n, p, x);
            dtp_ir_post_t post;
            if (bias >= 0) {
                int *in = dtp_arena_alloc(ir->arena, sizeof *in * 3);
                if (!in) return; /* unfused is right, too */
                in[0] = p->in[0];
                in[1] = p->in[1];
                in[2] = bias;
                take_over(ir, n, p, x);
                n->in = in;
                n->nin = 3;
            } else if (as_post(ir, n, x, &post)) {
                if (!p->post) p->post = dtp_arena_alloc(ir->arena, sizeof *p->post * DTP_IR_MAX_POST);
                if (!p->post) return;
                take_over(ir, n, p, x);
                n->post[n->npost++] = post;
            } else {
                continue;
            }
            break;
        }
    }
}
