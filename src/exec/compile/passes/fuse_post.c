/* Fusion into the producing matmul: bias, element-wise functions, scalars, residuals. A fused pair takes the
 * place of its later node, where everything that it reads is there. The engine says whether it can (fusible.c). */
#include "exec/compile/lowering/lower.h"

/* The matmul that makes v and may still grow, or NULL. */
static dtp_ir_node_t *growable(const dtp_ir_t *ir, int v) {
    dtp_ir_node_t *p = dtp_ir_producer(ir, v, dnnl_tp_op_matmul);
    if (!p || !dtp_ir_single(ir, v) || p->npost == DTP_IR_MAX_POST) return NULL;
    return p;
}

/* Is what n does a bias of p, a matmul without bias and post-operations? */
static bool is_bias(const dtp_ir_t *ir, const dtp_ir_node_t *p, const dtp_ir_post_t *post) {
    return post->adds_row && !p->npost && p->nin <= 2 && ir->values[p->in[1]].info->ndims > 1;
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

dnnl_tp_status_t dtp_fuse_post_ops(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->nin > 2 || n->nbefore) continue;
        for (int k = 0; k < n->nin; ++k) {
            int x = n->in[k];
            dtp_ir_node_t *p = growable(ir, x);
            dtp_ir_post_t post;
            if (!p || !n->row->cls->post || !n->row->cls->post(ir, n, x, &post)) continue;
            const bool bias = is_bias(ir, p, &post);
            bool can;
            DTP_TRY(dtp_can_fuse(ir, ir->values[x].info->data_type, &post, bias, &can));
            if (!can) continue;
            if (bias) {
                int *in = dtp_arena_alloc(ir->arena, sizeof *in * 3);
                if (!in) return dnnl_tp_out_of_memory;
                in[0] = p->in[0];
                in[1] = p->in[1];
                in[2] = post.value;
                take_over(ir, n, p, x);
                n->in = in;
                n->nin = 3;
            } else {
                if (!p->post) p->post = dtp_arena_alloc(ir->arena, sizeof *p->post * DTP_IR_MAX_POST);
                if (!p->post) return dnnl_tp_out_of_memory;
                take_over(ir, n, p, x);
                n->post[n->npost++] = post;
            }
            break;
        }
    }
    return dnnl_tp_success;
}
