/* A product of rows between two reshapes, the first of which makes one dimension of the leading ones, as exporters and
 * optimisers write a Gemm of more than two dimensions: it reads what the first one reads. Then it has the form that the other
 * passes look for, and the second reshape goes where it only brings the dimensions back. */
#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

/* The reshape that alone reads v. */
static dtp_ir_node_t *reader(const dtp_ir_t *ir, int v) {
    if (!dtp_ir_single(ir, v)) return NULL;
    for (int i = ir->values[v].node + 1; i < ir->nnodes; ++i) { /* it stands behind what makes v */
        dtp_ir_node_t *n = &ir->nodes[i];
        if (!n->dead && n->row && n->row->kind == dnnl_tp_op_static_reshape && n->in[0] == v)
            return n->nbefore ? NULL : n;
    }
    return NULL;
}

/* What becomes {rows, K} in front of the product; -1. */
static int source(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    const dtp_ir_node_t *r = dtp_ir_producer(ir, n->in[0], dnnl_tp_op_static_reshape);
    const dnnl_tp_tensor_info_t *rows = ir->values[n->in[0]].info;
    if (!r || r->region != n->region || rows->ndims != 2) return -1;
    const dnnl_tp_tensor_info_t *x = ir->values[r->in[0]].info;
    int64_t leading = 1;
    for (int d = 0; d < x->ndims - 1; ++d) leading *= x->dims[d];
    return x->ndims > 2 && leading == rows->dims[0] && x->dims[x->ndims - 1] == rows->dims[1] ? r->in[0] : -1;
}

static bool is_of_rows(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    if (n->dead || !n->row || n->row->kind != dnnl_tp_op_matmul || n->nbefore || n->nparts > 1) return false;
    if (((const dtp_matmul_attrs_t *)n->attrs)->transpose_a || ir->values[n->in[1]].info->ndims != 2)
        return false;
    return n->nin < 3 || n->in[2] < 0 || ir->values[n->in[2]].info->ndims == 1;
}

dnnl_tp_status_t dtp_fuse_rows(dtp_ir_t *ir) {
    enum { MOST_INPUTS = 3 };
    bool any = false;
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        const int x = is_of_rows(ir, n) && n->nin <= MOST_INPUTS ? source(ir, n) : -1;
        dtp_ir_node_t *behind = x < 0 ? NULL : reader(ir, n->out[0]);
        if (!behind) continue;
        dnnl_tp_tensor_info_t y = *ir->values[x].info;
        y.dims[y.ndims - 1] = ir->values[n->out[0]].info->dims[1];
        y.data_type = ir->values[n->out[0]].info->data_type;
        int *in = dtp_arena_alloc(ir->arena, sizeof *in * (size_t)n->nin);
        if (!in) return dnnl_tp_out_of_memory;
        memcpy(in, n->in, sizeof *in * (size_t)n->nin);
        in[0] = x;
        n->in = in;
        any = true;
        if (dtp_info_equal(&y, ir->values[behind->out[0]].info)) {
            n->out = behind->out;
            n->effects |= behind->effects;
            ir->values[n->out[0]].node = i;
            behind->dead = behind->absorbed = true;
            dtp_ir_fused(ir, n, behind->name, behind->row->name);
        } else {
            DTP_TRY(dtp_ir_set_info(ir, n->out[0], &y, ir->arena));
        }
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
