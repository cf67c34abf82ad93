/* Import of a graph into a compilation, dead code, constant folding, helpers of passes. See ir.h. */
#include "exec/ir.h"

#include "exec/lower.h"

static dnnl_tp_status_t set_inputs(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes) {
    const dtp_graph_t *g = ir->graph;
    DTP_REQUIRE(!in_shapes || nin == g->ninputs, BAD_COUNT, "%d shapes given, the graph has %d inputs", nin,
                g->ninputs);
    for (int i = 0; i < g->ninputs; ++i) {
        const dtp_gvalue_t *v = &g->values[g->inputs[i]];
        dnnl_tp_tensor_info_t *to = &ir->values[g->inputs[i]].info;
        if (in_shapes) {
            const dnnl_tp_tensor_info_t *s = &in_shapes[i];
            char ts[DTP_SHAPE_TEXT], td[DTP_SHAPE_TEXT];
            DTP_TRY(dtp_info_check(s, false, "shape of input", v->name));
            bool ok = s->ndims == v->info.ndims && s->data_type == v->info.data_type;
            for (int d = 0; ok && d < s->ndims; ++d)
                ok = v->info.dims[d] == DNNL_TP_RUNTIME_DIM_VAL || v->info.dims[d] == s->dims[d];
            if (!ok)
                return dtp_fail(dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE,
                                "input '%s' is declared %s %s, got %s %s", v->name,
                                dnnl_tp_dt2str(v->info.data_type), dtp_info_text(&v->info, td),
                                dnnl_tp_dt2str(s->data_type), dtp_info_text(s, ts));
            memcpy(to->dims, s->dims, (size_t)s->ndims * sizeof *s->dims);
        }
        DTP_TRY(dtp_info_check(to, false, "input", v->name));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t import_node(dtp_ir_t *ir, const dtp_gnode_t *g) {
    if (g->kind > DTP_NODE_HOST)
        return dtp_fail(dnnl_tp_unimplemented, DTP_GRAPH_BAD_OP, "operator '%s' (%s)", g->name,
                        dtp_node_kind_name(g));
    dtp_ir_node_t *n = &ir->nodes[ir->nnodes];
    n->row = g->row;
    n->host = g->row ? NULL : g;
    n->name = g->name;
    n->attrs = g->attrs;
    n->nin = g->nin;
    n->nout = g->nout;
    n->in = dtp_arena_alloc(ir->arena, sizeof *n->in * (size_t)(g->nin + g->nout));
    if (!n->in) return dnnl_tp_out_of_memory;
    n->out = n->in + g->nin;
    for (int i = 0; i < g->nin; ++i) n->in[i] = g->in[i];
    for (int i = 0; i < g->nout; ++i) {
        n->out[i] = g->out + i;
        ir->values[g->out + i].node = ir->nnodes;
    }
    ++ir->nnodes;
    if (!g->row) return dnnl_tp_success;
    const dnnl_tp_tensor_info_t *in[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < g->nin; ++i) in[i] = g->in[i] < 0 ? NULL : &ir->values[g->in[i]].info;
    dtp_op_id_t id = {g->name, g->row->name};
    return dtp_op_infer(g->row, id, &g->attrs, g->nin, in, &ir->values[g->out].info);
}

dnnl_tp_status_t dtp_ir_import(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes) {
    const dtp_graph_t *g = ir->graph;
    if (g->noutputs == 0) return dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_NO_OUTPUT, "nothing to compute");
    /* Merged projections add values; nodes are only ever replaced. */
    ir->cap_values = g->nvalues + g->nnodes + 1;
    ir->cap_nodes = g->nnodes + 1;
    ir->values = dtp_arena_alloc(ir->arena, sizeof *ir->values * (size_t)ir->cap_values);
    ir->nodes = dtp_arena_alloc(ir->arena, sizeof *ir->nodes * (size_t)ir->cap_nodes);
    if (!ir->values || !ir->nodes) return dnnl_tp_out_of_memory;
    ir->nvalues = g->nvalues;
    for (int i = 0; i < g->nvalues; ++i) {
        dtp_ir_value_t *v = &ir->values[i];
        v->info = g->values[i].info;
        v->node = -1;
        v->input = g->values[i].input;
        v->data = g->values[i].data;
        v->cid = v->data ? i : -1;
        v->place.buf = v->dense_buf = -1;
    }
    DTP_TRY(set_inputs(ir, nin, in_shapes));
    for (int i = 0; i < g->nnodes; ++i) DTP_TRY(import_node(ir, &g->nodes[i]));
    return dnnl_tp_success;
}

void dtp_ir_sweep(dtp_ir_t *ir) {
    const dtp_graph_t *g = ir->graph;
    for (int i = 0; i < ir->nvalues; ++i) ir->values[i].uses = ir->values[i].outputs = 0;
    for (int i = 0; i < g->noutputs; ++i) {
        ++ir->values[g->outputs[i]].uses;
        ++ir->values[g->outputs[i]].outputs;
    }
    for (int i = ir->nnodes - 1; i >= 0; --i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        /* A host closure may have effects that nobody sees here. */
        bool needed = n->host != NULL;
        for (int k = 0; k < n->nout; ++k)
            needed |= ir->values[n->out[k]].uses > 0 && ir->values[n->out[k]].node == i;
        n->dead = n->dead || !needed;
        if (n->dead) continue;
        for (int k = 0; k < n->nin; ++k)
            if (n->in[k] >= 0) ++ir->values[n->in[k]].uses;
        for (int k = 0; k < n->npost; ++k)
            if (n->post[k].is_binary) ++ir->values[n->post[k].value].uses;
    }
}

/* The key of a folded operator: what it does and the identities of what it reads. */
typedef struct {
    int32_t tag, kind;
    dtp_op_attrs_t attrs;
    int64_t in[4];
    dnnl_tp_tensor_info_t info[4];
} fold_key_t;
enum { FOLD_TAG = 1 };

static dnnl_tp_status_t fold_node(dtp_ir_t *ir, int index) {
    dtp_ir_node_t *n = &ir->nodes[index];
    dtp_ir_value_t *out = &ir->values[n->out[0]];
    fold_key_t *key = dtp_arena_alloc(ir->arena, sizeof *key);
    if (!key) return dnnl_tp_out_of_memory;
    key->tag = FOLD_TAG;
    key->kind = n->row->kind;
    key->attrs = n->attrs;
    for (int i = 0; i < n->nin; ++i) {
        key->in[i] = n->in[i] < 0 ? -1 : ir->values[n->in[i]].cid;
        if (n->in[i] >= 0) {
            const dnnl_tp_tensor_info_t *t = &ir->values[n->in[i]].info;
            key->info[i].ndims = t->ndims;
            key->info[i].data_type = t->data_type;
            memcpy(key->info[i].dims, t->dims, sizeof t->dims);
        }
    }
    dtp_lock(&ir->graph->lock);
    const dtp_derived_t *d = dtp_derived_find(ir->graph, key, sizeof *key);
    dtp_unlock(&ir->graph->lock);
    if (!d) {
        void *data;
        DTP_TRY(dtp_lower_constant(ir, index, &data));
        dtp_lock(&ir->graph->lock);
        d = dtp_derived_find(ir->graph, key, sizeof *key);
        if (!d) d = dtp_derived_add(ir->graph, key, sizeof *key, data);
        dtp_unlock(&ir->graph->lock);
        if (!d) return dnnl_tp_out_of_memory;
    }
    out->data = d->data;
    out->cid = d->id;
    out->node = -1;
    n->dead = true;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_fold(dtp_ir_t *ir) {
    for (int i = 0; i < ir->nnodes; ++i) {
        dtp_ir_node_t *n = &ir->nodes[i];
        if (n->dead || !n->row || n->nin > 4) continue;
        bool all = true;
        for (int k = 0; k < n->nin; ++k) all &= n->in[k] < 0 || dtp_ir_is_const(ir, n->in[k]);
        if (all) DTP_TRY(fold_node(ir, i));
    }
    dtp_ir_sweep(ir);
    return dnnl_tp_success;
}

/* ---- Helpers ------------------------------------------------------------------------------------------ */

dtp_ir_node_t *dtp_ir_producer(const dtp_ir_t *ir, int v, int kind) {
    if (v < 0 || ir->values[v].node < 0) return NULL;
    dtp_ir_node_t *n = &ir->nodes[ir->values[v].node];
    return !n->dead && n->row && n->row->kind == kind ? n : NULL;
}

bool dtp_ir_scalar(const dtp_ir_t *ir, int v, float *x) {
    if (!dtp_ir_is_const(ir, v)) return false;
    const dtp_ir_value_t *c = &ir->values[v];
    if (c->info.data_type != dnnl_tp_f32 || dtp_info_nelems(&c->info) != 1) return false;
    memcpy(x, c->data, sizeof *x);
    return true;
}

static void unuse(dtp_ir_t *ir, int v) {
    if (v < 0 || --ir->values[v].uses > 0 || ir->values[v].node < 0) return;
    const dtp_ir_node_t *n = &ir->nodes[ir->values[v].node];
    if (n->host) return;
    for (int i = 0; i < n->nout; ++i)
        if (ir->values[n->out[i]].uses > 0) return;
    dtp_ir_kill(ir, ir->values[v].node);
}

void dtp_ir_kill(dtp_ir_t *ir, int node) {
    dtp_ir_node_t *n = &ir->nodes[node];
    if (n->dead) return;
    n->dead = true;
    for (int i = 0; i < n->nin; ++i) unuse(ir, n->in[i]);
    for (int i = 0; i < n->npost; ++i)
        if (n->post[i].is_binary) unuse(ir, n->post[i].value);
}

void dtp_ir_set_in(dtp_ir_t *ir, dtp_ir_node_t *node, int i, int value) {
    if (value >= 0) ++ir->values[value].uses;
    int old = node->in[i];
    node->in[i] = value;
    unuse(ir, old);
}
