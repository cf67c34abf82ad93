/* Products read what a reshape flattens in front of them: with images whose channels are innermost the order of their
 * constant weights changes, once, and not that of the image at each run (ops/matmul.c, lowering/packing.c). Behind all passes that
 * look at shapes of a product's inputs. */
#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

/* What {rows, the rest} was before it was flattened, with three dimensions or more; -1. */
static int flattened(const dtp_ir_t *ir, int v) {
    const int64_t rows = ir->values[v].info->dims[0];
    int found = -1;
    while (v >= 0 && ir->values[v].node >= 0) {
        const dtp_ir_node_t *n = &ir->nodes[ir->values[v].node];
        if (n->dead || !n->row || !(n->row->cls->flags & DTP_OP_SAME_ELEMENTS)) break;
        v = n->in[0];
        const dnnl_tp_tensor_info_t *t = ir->values[v].info;
        if (t->ndims > 2 && t->dims[0] == rows) found = v;
    }
    return found;
}

static bool reads_rows(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    return !n->dead && n->row && n->row->kind == dnnl_tp_op_matmul && n->nparts <= 1 &&
           ir->values[n->in[0]].info->ndims == 2 && ir->values[n->in[1]].info->ndims == 2 &&
           dtp_ir_is_shared(ir, n->in[1]) && !((const dtp_matmul_attrs_t *)n->attrs)->transpose_a;
}

dnnl_tp_status_t dtp_fuse_flatten(dtp_ir_t *ir) {
    bool any = false;
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        const int x = reads_rows(ir, n) ? flattened(ir, n->in[0]) : -1;
        if (x < 0) continue;
        int *in = dtp_arena_alloc(ir->arena, sizeof *in * (size_t)n->nin);
        if (!in) return dnnl_tp_out_of_memory;
        memcpy(in, n->in, sizeof *in * (size_t)n->nin);
        in[0] = x;
        n->in = in;
        n->flattens = any = true;
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
