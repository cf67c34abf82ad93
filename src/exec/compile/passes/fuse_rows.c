/* A product of rows between two reshapes, the first of which makes one dimension of the leading
 * ones, as exporters and optimisers write a Gemm of more than two dimensions: it gets the leading
 * dimensions itself. Then it has the form that the other passes look for, and the reshape behind it
 * goes where it only brings the dimensions back. */
#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

typedef dnnl_tp_tensor_info_t info_t;

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

/* Is t {rows, last} with more dimensions in place of the first one? */
static bool has_rows(const info_t *t, int64_t rows, int64_t last) {
    int64_t leading = 1;
    for (int d = 0; d < t->ndims - 1; ++d) leading *= t->dims[d];
    return t->ndims > 2 && leading == rows && t->dims[t->ndims - 1] == last;
}

static bool is_of_rows(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    if (n->dead || !n->row || n->row->kind != dnnl_tp_op_matmul || n->nbefore || n->nparts > 1) return false;
    if (((const dtp_matmul_attrs_t *)n->attrs)->transpose_a || ir->values[n->in[0]].info->ndims != 2 ||
        ir->values[n->in[1]].info->ndims != 2)
        return false;
    return n->nin < 3 || n->in[2] < 0 || ir->values[n->in[2]].info->ndims == 1;
}

/* Gives the product n of {rows, K} its leading dimensions, between the reshapes `before` and
 * `behind`. */
static dnnl_tp_status_t lift(dtp_ir_t *ir, dtp_ir_node_t *n, const dtp_ir_node_t *before,
                             dtp_ir_node_t *behind, bool *is_done) {
    const info_t *x = ir->values[n->in[0]].info, *y = ir->values[n->out[0]].info,
                 *from = ir->values[before->in[0]].info, *to = ir->values[behind->out[0]].info;
    const bool comes_back = has_rows(to, y->dims[0], y->dims[1]);
    info_t lifted = comes_back ? *to : *from;
    lifted.dims[lifted.ndims - 1] = x->dims[1];
    lifted.data_type = x->data_type;
    const bool reads_source = dtp_info_equal(&lifted, from);
    if ((!comes_back && !has_rows(from, x->dims[0], x->dims[1])) ||
        (!reads_source && !dtp_ir_single(ir, n->in[0])))
        return dnnl_tp_success;
    *is_done = true;
    if (reads_source) {
        int *in = dtp_arena_alloc(ir->arena, sizeof *in * (size_t)n->nin);
        if (!in) return dnnl_tp_out_of_memory;
        memcpy(in, n->in, sizeof *in * (size_t)n->nin);
        in[0] = before->in[0];
        n->in = in;
    } else {
        DTP_TRY(dtp_ir_set_info(ir, n->in[0], &lifted, ir->arena));
    }
    lifted.dims[lifted.ndims - 1] = y->dims[1];
    lifted.data_type = y->data_type;
    if (!comes_back) return dtp_ir_set_info(ir, n->out[0], &lifted, ir->arena);
    n->out = behind->out;
    n->effects |= behind->effects;
    ir->values[n->out[0]].node = (int)(n - ir->nodes);
    behind->dead = behind->absorbed = true;
    dtp_ir_fused(ir, n, behind->name, behind->row->name);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_fuse_rows(dtp_ir_t *ir) {
    bool any = false;
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        const dtp_ir_node_t *before =
            is_of_rows(ir, n) ? dtp_ir_producer(ir, n->in[0], dnnl_tp_op_static_reshape) : NULL;
        dtp_ir_node_t *behind = before && before->region == n->region ? reader(ir, n->out[0]) : NULL;
        if (behind) DTP_TRY(lift(ir, n, before, behind, &any));
    }
    if (any) dtp_ir_sweep(ir);
    return dnnl_tp_success;
}
