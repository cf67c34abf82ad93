/* Values in bf16, where the options allow it (fpmath_mode).
 *
 * A node computes in bf16 if its class can and it is a product, or what it reads comes from such a node: there a conversion
 * costs more than it saves. Its result is bf16 then, and so is that of a class with a type of its own whose readers all
 * want bf16. Values that others read or make in f32 are converted right behind what makes them, once for all readers.
 * Constants are folded, but for those that packing converts (packing.c): their scales and shifts are worked in in f32.
 * What a class takes in bf16 says its entry `bf16`; everything else (host closures, results and predicates of control
 * flow, outputs of the graph) stays as it is. */
#include "exec/compile/ir/ir.h"
#include "exec/ops/attrs.h"

enum { IN_BF16 = 1, IN_F32 = 2 };

typedef struct {
    dtp_ir_t *ir;
    bool *is_low;    /* by node: it computes in bf16 */
    uint8_t *read;   /* by value: what its readers take, IN_* */
    uint8_t *images; /* by value: readers in bf16 are all convolutions */
    uint8_t *type;   /* by value: IN_*, or 0: it is of another type, or a constant */
    int *other;      /* by value: what holds it in the other type; -1 */
    int nconversions;
} bf16_t;

static bool is_f32(const dtp_ir_t *ir, int v) { return ir->values[v].info->data_type == dnnl_tp_f32; }
static bool is_made(const dtp_ir_t *ir, int v) { return v >= 0 && !dtp_ir_is_const(ir, v); }

/* May input i of n be bf16? Of merged products: src and all weights. */
static bool takes_bf16(const dtp_ir_node_t *n, int i) {
    const int at = n->nparts > 1 && i >= 1 && i <= n->nparts ? 1 : i;
    if (n->nparts > 1 && i > n->nparts) return false;
    return n->in[i] >= 0 && at < 32 && n->row->cls->bf16 >> at & 1;
}

/* ---- Which nodes, which values ----------------------------------------------------------------------- */

/* Would inference of an operator as it stands in graphs accept these inputs in bf16? */
static bool infers(const dtp_ir_t *ir, const dtp_ir_node_t *n) {
    dnnl_tp_tensor_info_t low[DTP_GRAPH_MAX_ARGS], out[DTP_GRAPH_MAX_ARGS];
    const dnnl_tp_tensor_info_t *in[DTP_GRAPH_MAX_ARGS];
    const int64_t *known[DTP_GRAPH_MAX_ARGS];
    memset(out, 0, sizeof *out * (size_t)n->nout);
    for (int i = 0; i < n->nin; ++i) {
        in[i] = n->in[i] < 0 ? NULL : ir->values[n->in[i]].info;
        known[i] = n->in[i] < 0 ? NULL : ir->values[n->in[i]].known;
        if (!in[i] || !takes_bf16(n, i)) continue;
        low[i] = *in[i];
        low[i].data_type = dnnl_tp_bf16;
        in[i] = &low[i];
    }
    const dtp_infer_t c = {n->row, {n->name, n->row->name}, n->attrs, n->nin, n->nout, in, known, out};
    return n->row->cls->infer(&c) == dnnl_tp_success;
}

static bool computes_in_bf16(const bf16_t *b, const dtp_ir_node_t *n) {
    const dtp_ir_t *ir = b->ir;
    if (n->dead || n->kind != DTP_NODE_OP || !n->row->cls->bf16) return false;
    if (n->row->kind == dnnl_tp_op_round) return false; /* it decides something */
    const bool is_product = n->row->cls->flags & DTP_OP_PRODUCT;
    bool any = false;
    for (int i = 0; i < n->nin; ++i) {
        if (!takes_bf16(n, i)) continue;
        if (!is_f32(ir, n->in[i])) return false;
        const int producer = is_made(ir, n->in[i]) ? ir->values[n->in[i]].node : -1;
        any |= producer >= 0 && (is_product || b->is_low[producer]);
        any |= is_product;
    }
    for (int i = 0; i < n->nout; ++i)
        if (!is_f32(ir, n->out[i])) return false;
    return any && (is_product || infers(ir, n));
}

static void reads(const bf16_t *b, int v, int how) {
    if (v >= 0) b->read[v] |= (uint8_t)how;
}
static void read_all(const bf16_t *b, int n, const int *v) {
    for (int i = 0; i < n; ++i) reads(b, v[i], IN_F32);
}

/* Constant weights stay f32 for those that pack them in the type that they want. */
static bool is_packed(const dtp_ir_t *ir, const dtp_ir_node_t *n, int i) {
    const int at = n->nparts > 1 && i <= n->nparts ? 1 : i;
    return ir->fuse && at > 0 && (n->row->cls->packable >> at & 1) && dtp_ir_is_shared(ir, n->in[i]);
}

/* In which type a live node reads input i; 0: in any. */
static int wanted(const bf16_t *b, int index, const dtp_ir_node_t *n, int i) {
    if (!b->is_low[index]) return IN_F32;
    if (is_packed(b->ir, n, i)) return 0;
    return takes_bf16(n, i) ? IN_BF16 : IN_F32;
}

static void read_by(const bf16_t *b, int index) {
    const dtp_ir_t *ir = b->ir;
    const dtp_ir_node_t *n = &ir->nodes[index];
    switch (n->kind) {
    case DTP_NODE_OP:
        for (int i = 0; i < n->nin; ++i) {
            const int how = wanted(b, index, n, i);
            reads(b, n->in[i], how);
            if (how == IN_BF16 && !(n->row->cls->flags & DTP_OP_CHANNELS_LAST)) b->images[n->in[i]] = 0;
        }
        break; /* post-operations take operands of any type */
    case DTP_NODE_IF:
        read_all(b, 1, n->in);
        read_all(b, 2 * n->nout, n->yield);
        break;
    case DTP_NODE_WHILE:
        reads(b, n->cond_out, IN_F32);
        read_all(b, n->nin, n->yield);
        read_all(b, n->nin, n->in);
        break;
    default: read_all(b, n->nin, n->in); break;
    }
}

static int type_of(const bf16_t *b, int v) {
    const dtp_ir_value_t *value = &b->ir->values[v];
    if (!value->info || value->info->data_type != dnnl_tp_f32) return 0;
    const dtp_ir_node_t *n = value->node >= 0 ? &b->ir->nodes[value->node] : NULL;
    if (dtp_ir_is_const(b->ir, v) || !n || !n->row || n->dead) return IN_F32;
    const bool own = n->row->cls->flags & DTP_OP_OWN_TYPE && n->nout == 1;
    if (b->is_low[value->node]) return own && b->read[v] == IN_F32 ? IN_F32 : IN_BF16;
    return own && b->read[v] == IN_BF16 && n->row->cls->bf16 && !(n->row->cls->flags & DTP_OP_PRODUCT)
               ? IN_BF16
               : IN_F32;
}

static dnnl_tp_status_t decide(bf16_t *b) {
    dtp_ir_t *ir = b->ir;
    const size_t nv = (size_t)ir->nvalues;
    b->is_low = dtp_arena_alloc(ir->arena, (size_t)ir->nnodes + 1);
    b->read = dtp_arena_alloc(ir->arena, nv + 1);
    b->images = dtp_arena_alloc(ir->arena, nv + 1);
    b->type = dtp_arena_alloc(ir->arena, nv + 1);
    b->other = dtp_arena_alloc(ir->arena, sizeof *b->other * (nv + 1));
    if (!b->is_low || !b->read || !b->images || !b->type || !b->other) return dnnl_tp_out_of_memory;
    memset(b->images, 1, nv);
    for (int i = 0; i < ir->nnodes; ++i) b->is_low[i] = computes_in_bf16(b, &ir->nodes[i]);
    for (int i = 0; i < ir->nnodes; ++i)
        if (!ir->nodes[i].dead) read_by(b, i);
    read_all(b, ir->noutputs, ir->outputs);
    for (int r = 0; r < ir->nregions; ++r)
        if (ir->regions[r].kind == DTP_REGION_FUNCTION)
            read_all(b, ir->graph->regions[r].nout, ir->regions[r].out);
    for (int v = 0; v < ir->nvalues; ++v) {
        b->type[v] = (uint8_t)type_of(b, v);
        b->other[v] = b->type[v] && (b->read[v] & ~b->type[v]) ? ir->nvalues + b->nconversions++ : -1;
    }
    return dnnl_tp_success;
}

/* ---- The graph with conversions ---------------------------------------------------------------------- */

static dnnl_tp_status_t append(dtp_ir_t *ir, const dtp_ir_node_t *n) {
    dtp_ir_region_t *r = &ir->regions[n->region];
    DTP_TRY(dtp_arena_grow(ir->arena, (void **)&r->nodes, &r->cap_nodes, r->nnodes + 1, sizeof *r->nodes));
    r->nodes[r->nnodes++] = ir->nnodes;
    ir->nodes[ir->nnodes++] = *n;
    return dnnl_tp_success;
}

/* The node that makes the value which stands for v in the other type. */
static dnnl_tp_status_t add_conversion(bf16_t *b, int v) {
    dtp_ir_t *ir = b->ir;
    const dtp_ir_value_t *from = &ir->values[v];
    const int to = b->other[v];
    const bool down = b->type[v] == IN_F32;
    dtp_convert_attrs_t *attrs = dtp_arena_alloc(ir->arena, sizeof *attrs);
    dnnl_tp_tensor_info_t *info = dtp_arena_alloc(ir->arena, sizeof *info);
    int *args = dtp_arena_alloc(ir->arena, sizeof *args * 2);
    if (!attrs || !info || !args) return dnnl_tp_out_of_memory;
    attrs->to = down ? dnnl_tp_bf16 : dnnl_tp_f32;
    attrs->channels_last = down && from->node < 0 && b->images[v] && from->info->ndims > 2 && from->cid == -1;
    *info = *from->info;
    info->data_type = attrs->to;
    args[0] = v;
    args[1] = to;
    ir->values[to] = (dtp_ir_value_t){.info = info,
                                      .region = from->region,
                                      .node = ir->nnodes,
                                      .input = -1,
                                      .cid = -1,
                                      .buf = -1,
                                      .dense_buf = -1,
                                      .last_buf = -1,
                                      .into = -1,
                                      .dest = -1};
    const dtp_ir_node_t node = {
        .kind = DTP_NODE_OP,
        .region = from->region,
        .row = &dtp_op_convert,
        .name = v < ir->graph->nvalues && ir->graph->values[v].name ? ir->graph->values[v].name : "",
        .attrs = attrs,
        .nin = 1,
        .nout = 1,
        .in = args,
        .out = args + 1,
        .sub = {-1, -1},
        .cond_out = -1};
    return append(ir, &node);
}

/* The values in f32, where they have become others; the same array where none has. */
static dnnl_tp_status_t replace(const bf16_t *b, int n, const int **v, const uint8_t *how) {
    int *to = NULL;
    for (int i = 0; i < n; ++i) {
        const int from = (*v)[i], want = how ? how[i] : IN_F32;
        if (from < 0 || !want || b->type[from] == want || b->other[from] < 0) continue;
        if (!to) {
            to = dtp_arena_alloc(b->ir->arena, sizeof *to * (size_t)n);
            if (!to) return dnnl_tp_out_of_memory;
            memcpy(to, *v, sizeof *to * (size_t)n);
        }
        to[i] = b->other[from];
    }
    if (to) *v = to;
    return dnnl_tp_success;
}

/* n, number index of the old nodes, reads what it wants. */
static dnnl_tp_status_t rewrite(const bf16_t *b, int index, dtp_ir_node_t *n) {
    uint8_t how[2 * DTP_GRAPH_MAX_ARGS + 1];
    if (n->kind != DTP_NODE_OP || n->nin > (int)sizeof how) DTP_TRY(replace(b, n->nin, &n->in, NULL));
    else {
        for (int i = 0; i < n->nin; ++i) how[i] = (uint8_t)wanted(b, index, n, i);
        DTP_TRY(replace(b, n->nin, &n->in, how));
    }
    if (n->kind == DTP_NODE_IF) DTP_TRY(replace(b, 2 * n->nout, &n->yield, NULL));
    if (n->kind != DTP_NODE_WHILE) return dnnl_tp_success;
    const int *cond = &n->cond_out;
    DTP_TRY(replace(b, 1, &cond, NULL));
    n->cond_out = *cond;
    return replace(b, n->nin, &n->yield, NULL);
}

static dnnl_tp_status_t insert_conversions(bf16_t *b) {
    dtp_ir_t *ir = b->ir;
    dtp_ir_node_t *old = ir->nodes;
    dtp_ir_value_t *old_values = ir->values;
    const int nnodes = ir->nnodes, nvalues = ir->nvalues, old_cap = ir->cap_nodes;
    ir->cap_nodes = nnodes + b->nconversions;
    ir->nvalues = nvalues + b->nconversions;
    ir->nodes = dtp_arena_take(ir->arena, sizeof *ir->nodes * (size_t)ir->cap_nodes);
    ir->values = dtp_arena_take(ir->arena, sizeof *ir->values * (size_t)ir->nvalues);
    if (!ir->nodes || !ir->values) return dnnl_tp_out_of_memory;
    memcpy(ir->values, old_values, sizeof *ir->values * (size_t)nvalues);
    ir->nnodes = 0;
    for (int r = 0; r < ir->nregions; ++r) ir->regions[r].nnodes = 0;
    for (int v = 0; v < nvalues; ++v) /* what no node makes */
        if (b->other[v] >= 0 && ir->values[v].node < 0) DTP_TRY(add_conversion(b, v));
    for (int i = 0; i < nnodes; ++i) {
        dtp_ir_node_t *n = &old[i];
        DTP_TRY(rewrite(b, i, n));
        for (int k = 0; k < n->nout; ++k)
            if (old_values[n->out[k]].node == i) ir->values[n->out[k]].node = ir->nnodes;
        DTP_TRY(append(ir, n));
        for (int k = 0; k < n->nout; ++k)
            if (old_values[n->out[k]].node == i && b->other[n->out[k]] >= 0)
                DTP_TRY(add_conversion(b, n->out[k]));
    }
    dtp_arena_drop(ir->arena, old, sizeof *old * (size_t)old_cap);
    dtp_arena_drop(ir->arena, old_values, sizeof *old_values * (size_t)nvalues);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_use_bf16(dtp_ir_t *ir) {
    bf16_t b = {.ir = ir};
    const int nvalues = ir->nvalues;
    DTP_TRY(decide(&b));
    if (b.nconversions) DTP_TRY(insert_conversions(&b));
    DTP_TRY(replace(&b, ir->noutputs, &ir->outputs, NULL));
    for (int r = 0; r < ir->nregions; ++r) {
        const int *out = ir->regions[r].out;
        if (ir->regions[r].kind != DTP_REGION_FUNCTION) continue;
        DTP_TRY(replace(&b, ir->graph->regions[r].nout, &out, NULL));
        ir->regions[r].out = (int *)(uintptr_t)out;
    }
    for (int v = 0; v < nvalues; ++v) {
        if (b.type[v] != IN_BF16) continue;
        dnnl_tp_tensor_info_t info = *ir->values[v].info;
        info.data_type = dnnl_tp_bf16;
        DTP_TRY(dtp_ir_set_info(ir, v, &info, ir->arena));
    }
    dtp_ir_sweep(ir);
    return dtp_ir_fold(ir);
}
