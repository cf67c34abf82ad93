/* Import of a graph into a compilation, constant folding, helpers of passes. See ir.h. */
#include "exec/compile/ir/ir.h"

dnnl_tp_status_t dtp_ir_set_info(dtp_ir_t *ir, int v, const dnnl_tp_tensor_info_t *info, dtp_arena_t *arena) {
    if (dtp_info_equal(ir->values[v].info, info)) return dnnl_tp_success;
    dnnl_tp_tensor_info_t *copy = dtp_arena_alloc(arena, sizeof *copy);
    if (!copy) return dnnl_tp_out_of_memory;
    *copy = *info;
    ir->values[v].info = copy;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_set_known(dtp_ir_t *ir, int v, const int64_t *values) {
    dtp_ir_value_t *value = &ir->values[v];
    const size_t bytes = dtp_info_bytes(value->info), n = (size_t)dtp_info_nelems(value->info);
    void *data = dtp_arena_alloc(ir->info_arena, bytes + 1);
    int64_t *known = dtp_arena_alloc(ir->arena, sizeof *known * n + 1);
    if (!data || !known) return dnnl_tp_out_of_memory;
    dtp_known_to(value->info, values, data);
    dtp_known_of(value->info, data, known);
    value->data = data;
    value->known = known;
    value->cid = DTP_CID_OWN;
    return dnnl_tp_success;
}

static dnnl_tp_status_t set_inputs(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes,
                                   const void *const *in_values) {
    const dtp_graph_t *g = ir->graph;
    int count = ir->selection ? ir->selection->nfeeds : g->ninputs;
    const int32_t *inputs = ir->selection ? ir->selection->feeds : g->inputs;
    DTP_REQUIRE(!in_shapes || nin == count, BAD_COUNT, "%d shapes given, the graph has %d inputs", nin,
                count);
    for (int i = 0; i < count; ++i) {
        const dtp_gvalue_t *v = &g->values[inputs[i]];
        ir->values[inputs[i]].input = i;
        ir->values[inputs[i]].data = NULL; /* a constant may be fed, too */
        ir->values[inputs[i]].cid = -1;
        ir->values[inputs[i]].known = NULL;
        if (in_shapes) {
            const dnnl_tp_tensor_info_t *s = &in_shapes[i];
            char ts[DTP_SHAPE_TEXT], td[DTP_SHAPE_TEXT];
            DTP_TRY(dtp_info_check(s, false, "shape of input", v->name));
            bool ok = s->ndims == v->info->ndims && s->data_type == v->info->data_type;
            for (int d = 0; ok && d < s->ndims; ++d)
                ok = v->info->dims[d] == DNNL_TP_RUNTIME_DIM_VAL || v->info->dims[d] == s->dims[d];
            if (!ok)
                return dtp_fail(dtp_info_mismatch(v->info, s), dtp_info_mismatch_reason(v->info, s),
                                "input '%s' is declared %s %s, got %s %s", v->name,
                                dnnl_tp_dt2str(v->info->data_type), dtp_info_text(v->info, td),
                                dnnl_tp_dt2str(s->data_type), dtp_info_text(s, ts));
            DTP_TRY(dtp_ir_set_info(ir, inputs[i], s, ir->info_arena));
        }
        const dnnl_tp_tensor_info_t *info = ir->values[inputs[i]].info;
        DTP_TRY(dtp_info_check(info, false, "input", v->name));
        if (!in_values || !in_values[i]) continue;
        DTP_REQUIRE(dtp_may_be_known(info), BAD_PARAM,
                    "values of input '%s' are no integers, or more than %d", v->name, DTP_KNOWN_MAX);
        int64_t values[DTP_KNOWN_MAX];
        dtp_known_of(info, in_values[i], values);
        DTP_TRY(dtp_ir_set_known(ir, inputs[i], values));
    }
    return dnnl_tp_success;
}

/* Shapes and types that must be equal once all are known. */
static dnnl_tp_status_t equal(const dtp_gnode_t *g, const char *what, int i, const dnnl_tp_tensor_info_t *a,
                              const dnnl_tp_tensor_info_t *b) {
    const dtp_op_id_t id = {g->name, dtp_node_kind_name(g)};
    return dtp_info_equal(a, b) ? dnnl_tp_success : dtp_info_differ(id, what, i, a, b);
}

/* Of a graph's value: values that only hand another one on are replaced by it. */
typedef struct {
    dtp_ir_t *ir;
    int *same_as;        /* by value, -1 */
    int *home;           /* by region: where its nodes go: itself, or the region around an If that is known */
    bool *awaited;       /* by value: nodes wait for its operator that do not read it; NULL until asked for */
    const int *first_of; /* by region: where its nodes stand in order */
    const int *order;
    const int *numbers; /* of all values: 0, 1, 2, ... */
} import_t;

static int resolve(const import_t *m, int v) {
    while (v >= 0 && m->same_as[v] >= 0) v = m->same_as[v];
    return v;
}

/* The values themselves unless one of them is replaced; NULL when out of memory. */
static const int *resolve_all(const import_t *m, int n, const int32_t *from) {
    static const int none;
    int i = 0;
    while (i < n && resolve(m, from[i]) == from[i]) ++i;
    if (i == n) return n ? from : &none;
    int *to = dtp_arena_alloc(m->ir->arena, sizeof *to * (size_t)n);
    for (i = 0; i < n && to; ++i) to[i] = resolve(m, from[i]);
    return to;
}

static dnnl_tp_status_t import_region(import_t *m, int region);

/* *is_awaited: some node waits for g without reading from it. */
static dnnl_tp_status_t find_awaited(import_t *m, const dtp_gnode_t *g, bool *is_awaited) {
    const dtp_graph_t *graph = m->ir->graph;
    if (!m->awaited) {
        m->awaited = dtp_arena_alloc(m->ir->arena, sizeof *m->awaited * (size_t)graph->nvalues);
        if (!m->awaited) return dnnl_tp_out_of_memory;
        for (int i = 0; i < graph->nnodes; ++i)
            for (int k = 0; k < graph->nodes[i].nbefore; ++k) m->awaited[graph->nodes[i].before[k]] = true;
    }
    *is_awaited = false;
    for (int i = 0; i < g->nout; ++i) *is_awaited |= m->awaited[g->out + i];
    return dnnl_tp_success;
}

/* An If whose predicate is known keeps one branch: only its shapes count. Where no ordering names the If, it
 * ends here: the nodes of the branch become nodes of the region around it. */
static dnnl_tp_status_t import_known_if(import_t *m, const dtp_gnode_t *g, dtp_ir_node_t *n, int taken,
                                        bool *is_gone) {
    dtp_ir_t *ir = m->ir;
    const int other = 1 - taken, region = g->sub[taken];
    int *yield = dtp_arena_alloc(ir->arena, sizeof *yield * 2 * (size_t)g->nout);
    if (!yield) return dnnl_tp_out_of_memory;
    bool is_awaited;
    DTP_TRY(find_awaited(m, g, &is_awaited));
    bool ends = g->nbefore == 0 && !g->target && !is_awaited;
    for (int i = 0; i < g->nout; ++i) ends &= g->yield[taken * g->nout + i] >= 0;
    if (region >= 0) {
        if (ends) m->home[region] = m->home[g->region];
        DTP_TRY(import_region(m, region));
    }
    n->sub[other] = -1;
    for (int i = 0; i < g->nout; ++i) {
        const int v = resolve(m, g->yield[taken * g->nout + i]);
        yield[taken * g->nout + i] = v;
        yield[other * g->nout + i] = -1;
        if (ends) m->same_as[g->out + i] = v;
        if (v >= 0) ir->values[g->out + i].info = ir->values[v].info;
    }
    n->yield = yield;
    *is_gone = ends;
    return dnnl_tp_success;
}

static dnnl_tp_status_t import_if(import_t *m, const dtp_gnode_t *g, dtp_ir_node_t *n, bool *is_gone) {
    dtp_ir_t *ir = m->ir;
    const dtp_ir_value_t *p = &ir->values[n->in[0]];
    if (p->data)
        return import_known_if(m, g, n, dtp_is_true(p->data, (int)p->info->data_type) ? 0 : 1, is_gone);
    for (int b = 0; b < 2; ++b)
        if (g->sub[b] >= 0) DTP_TRY(import_region(m, g->sub[b]));
    n->yield = resolve_all(m, 2 * g->nout, g->yield);
    if (!n->yield) return dnnl_tp_out_of_memory;
    for (int i = 0; i < g->nout; ++i) {
        int t = n->yield[i], e = n->yield[g->nout + i];
        if (t < 0 || e < 0) {
            ir->values[g->out + i].info = ir->values[t < 0 ? e : t].info;
            continue;
        }
        DTP_TRY(equal(g, "output", i, ir->values[t].info, ir->values[e].info));
        ir->values[g->out + i].info = ir->values[t].info;
        int region = ir->values[t].region;
        if (t == e && g->nbefore == 0 && region != g->sub[0] && region != g->sub[1])
            m->same_as[g->out + i] = t;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t import_while(import_t *m, const dtp_gnode_t *g, dtp_ir_node_t *n) {
    dtp_ir_t *ir = m->ir;
    const int32_t *vars = ir->graph->regions[g->sub[0]].inputs;
    for (int i = 0; i < g->nin; ++i) {
        const dnnl_tp_tensor_info_t *init = ir->values[n->in[i]].info;
        dnnl_tp_tensor_info_t declared = *ir->values[vars[i]].info;
        for (int d = 0; d < declared.ndims; ++d)
            if (declared.dims[d] == DNNL_TP_RUNTIME_DIM_VAL) declared.dims[d] = init->dims[d];
        DTP_TRY(equal(g, "initial value of variable", i, init, &declared));
        DTP_TRY(dtp_ir_set_info(ir, vars[i], &declared, ir->info_arena));
        ir->values[g->out + i].info = ir->values[vars[i]].info;
        if (g->yield[1 + i] == vars[i]) m->same_as[vars[i]] = m->same_as[g->out + i] = n->in[i];
    }
    DTP_TRY(import_region(m, g->sub[0]));
    DTP_TRY(import_region(m, g->sub[1]));
    n->cond_out = resolve(m, g->yield[0]);
    n->window = g->window ? g->window : 1;
    n->yield = resolve_all(m, g->nin, g->yield + 1);
    n->live = dtp_arena_alloc(ir->arena, (size_t)g->nin);
    if (!n->yield || !n->live) return dnnl_tp_out_of_memory;
    for (int i = 0; i < g->nin; ++i)
        DTP_TRY(
            equal(g, "next value of variable", i, ir->values[n->yield[i]].info, ir->values[vars[i]].info));
    return dnnl_tp_success;
}

static dnnl_tp_status_t import_call(import_t *m, const dtp_gnode_t *g, const dtp_ir_node_t *n) {
    dtp_ir_t *ir = m->ir;
    const dtp_gregion_t *f = &ir->graph->regions[g->sub[0]];
    for (int i = 0; i < g->nin; ++i)
        DTP_TRY(equal(g, "input", i, ir->values[n->in[i]].info, ir->graph->values[f->inputs[i]].info));
    return dnnl_tp_success;
}

/* Infers shapes, types and, if they are known, values of the results: then *is_gone, they are constants. */
static dnnl_tp_status_t import_op(import_t *m, const dtp_gnode_t *g, const dtp_ir_node_t *n, bool *is_gone) {
    dtp_ir_t *ir = m->ir;
    const dnnl_tp_tensor_info_t *in[DTP_GRAPH_MAX_ARGS];
    const int64_t *known[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < g->nin; ++i) {
        in[i] = n->in[i] < 0 ? NULL : ir->values[n->in[i]].info;
        known[i] = n->in[i] < 0 ? NULL : ir->values[n->in[i]].known;
    }
    dtp_op_id_t id = {g->name, g->row->name};
    dnnl_tp_tensor_info_t out[DTP_GRAPH_MAX_ARGS];
    const dtp_infer_t infer = {g->row, id, g->attrs, g->nin, g->nout, in, known, out};
    DTP_TRY(dtp_op_infer(&infer));
    for (int i = 0; i < g->nout; ++i) {
        for (int d = 0; d < out[i].ndims; ++d)
            if (out[i].dims[d] == DNNL_TP_RUNTIME_DIM_VAL)
                return dtp_fail(
                    dnnl_tp_invalid_shape, DTP_GRAPH_RUNTIME_SHAPE,
                    "operator '%s' (%s): dimension %d of its result comes from values that are not known "
                    "when the graph is compiled",
                    g->name, g->row->name, d);
        DTP_TRY(dtp_ir_set_info(ir, g->out + i, &out[i], ir->info_arena));
    }
    int64_t values[DTP_KNOWN_MAX];
    if (n->effects || n->nbefore || !dtp_op_values(&infer, values)) return dnnl_tp_success;
    *is_gone = true;
    return dtp_ir_set_known(ir, g->out, values);
}

static dnnl_tp_status_t import_node(import_t *m, const dtp_gnode_t *g) {
    dtp_ir_t *ir = m->ir;
    dtp_ir_node_t node = {.kind = g->kind}, *n = &node;
    n->region = m->home[g->region];
    n->row = g->row;
    n->host = g->kind == DTP_NODE_HOST ? g : NULL;
    n->name = g->name;
    n->attrs = g->attrs;
    n->effects = g->target || n->host;
    n->nin = g->nin;
    n->nout = g->nout;
    memcpy(n->sub, g->sub, sizeof n->sub);
    n->in = resolve_all(m, g->nin, g->in);
    if (!n->in) return dnnl_tp_out_of_memory;
    /* As the graph has them: an operator that hands its value on is waited for all the same. */
    n->before = g->before;
    n->nbefore = g->nbefore;
    n->out = m->numbers + g->out;
    bool is_gone = false;
    if (g->kind == DTP_NODE_IF) DTP_TRY(import_if(m, g, n, &is_gone));
    else if (g->kind == DTP_NODE_WHILE) DTP_TRY(import_while(m, g, n));
    else if (g->kind == DTP_NODE_CALL) DTP_TRY(import_call(m, g, n));
    else if (g->row) DTP_TRY(import_op(m, g, n, &is_gone));
    if (is_gone) return dnnl_tp_success;
    for (int i = 0; i < g->nout; ++i) {
        ir->values[g->out + i].node = ir->nnodes;
        ir->values[g->out + i].region = n->region;
    }
    dtp_ir_region_t *r = &ir->regions[n->region];
    DTP_TRY(dtp_arena_grow(ir->arena, (void **)&r->nodes, &r->cap_nodes, r->nnodes + 1, sizeof *r->nodes));
    r->nodes[r->nnodes++] = ir->nnodes;
    ir->nodes[ir->nnodes++] = node;
    r->effects |= node.effects;
    ir->may_pend |= g->kind == DTP_NODE_HOST && g->flags;
    ir->nops += g->row != NULL;
    return dnnl_tp_success;
}

/* The operator of v, a result that is fed, may run for the sake of others: what it makes is a value that nobody reads. */
static dnnl_tp_status_t make_elsewhere(dtp_ir_t *ir, const dtp_ir_value_t *v, int result, int spare) {
    dtp_ir_node_t *n = &ir->nodes[v->node];
    int *out = dtp_arena_alloc(ir->arena, sizeof *out * (size_t)n->nout);
    if (!out) return dnnl_tp_out_of_memory;
    memcpy(out, n->out, sizeof *out * (size_t)n->nout);
    out[result] = spare;
    n->out = out;
    ir->values[spare] = *v;
    ir->values[spare].input = -1;
    return dnnl_tp_success;
}

/* Results that are fed stay inputs, with the shape that was given. */
static dnnl_tp_status_t import_with_feeds(import_t *m, const dtp_gnode_t *g) {
    dtp_ir_t *ir = m->ir;
    const dnnl_tp_tensor_info_t *given[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < g->nout; ++i) given[i] = ir->values[g->out + i].info;
    DTP_TRY(import_node(m, g));
    for (int i = 0; i < g->nout; ++i) {
        if (ir->feed_of[g->out + i] < 0) continue;
        dtp_ir_value_t *v = &ir->values[g->out + i];
        if (v->node >= 0) DTP_TRY(make_elsewhere(ir, v, i, ir->graph->nvalues + ir->feed_of[g->out + i]));
        v->info = given[i];
        v->node = v->cid = -1;
        v->data = NULL;
        v->known = NULL;
        m->same_as[g->out + i] = -1;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t import_region(import_t *m, int region) {
    const dtp_graph_t *g = m->ir->graph;
    for (int i = m->first_of[region]; i < m->first_of[region + 1]; ++i) {
        const dtp_gnode_t *n = &g->nodes[m->order[i]];
        if (!m->ir->selection) DTP_TRY(import_node(m, n));
        else if (m->ir->needed[m->order[i]]) DTP_TRY(import_with_feeds(m, n));
    }
    return dnnl_tp_success;
}

/* Nodes by region, each region in its order; refuses regions that nothing runs. */
static dnnl_tp_status_t sort_regions(import_t *m) {
    dtp_ir_t *ir = m->ir;
    const dtp_graph_t *g = ir->graph;
    int *first = dtp_arena_alloc(ir->arena, sizeof *first * (size_t)(g->nregions + 2));
    int *order = dtp_arena_alloc(ir->arena, sizeof *order * (size_t)(g->nnodes + 1));
    ir->regions = dtp_arena_alloc(ir->arena, sizeof *ir->regions * (size_t)g->nregions);
    if (!first || !order || !ir->regions) return dnnl_tp_out_of_memory;
    ir->nregions = g->nregions;
    for (int i = 0; i < g->nnodes; ++i) ++first[g->nodes[i].region + 2];
    for (int r = 0; r < g->nregions; ++r) first[r + 2] += first[r + 1];
    for (int i = 0; i < g->nnodes; ++i) order[first[g->nodes[i].region + 1]++] = i;
    for (int r = 0; r < g->nregions; ++r) {
        const dtp_gregion_t *from = &g->regions[r];
        dtp_ir_region_t *to = &ir->regions[r];
        if (from->kind == DTP_REGION_UNUSED)
            return dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_REGION,
                            "region %d, with %d operators, belongs to no operator", r,
                            first[r + 1] - first[r]);
        if (from->kind == DTP_REGION_FUNCTION && from->nbound < from->nout)
            return dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_REGION,
                            "function '%s' has %d outputs, %d of them have a value", from->name, from->nout,
                            from->nbound);
        to->kind = from->kind;
        to->cap_nodes = first[r + 1] - first[r];
        to->nodes = dtp_arena_alloc(ir->arena, sizeof *to->nodes * (size_t)to->cap_nodes);
        to->inputs = dtp_arena_alloc(ir->arena, sizeof *to->inputs * (size_t)from->ninputs);
        to->out = dtp_arena_alloc(ir->arena, sizeof *to->out * (size_t)from->nout);
        if (!to->nodes || !to->inputs || !to->out) return dnnl_tp_out_of_memory;
        for (int i = 0; i < from->ninputs; ++i) to->inputs[i] = from->inputs[i];
    }
    m->first_of = first;
    m->order = order;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_import(dtp_ir_t *ir, int nin, const dnnl_tp_tensor_info_t *in_shapes,
                               const void *const *in_values) {
    const dtp_graph_t *g = ir->graph;
    /* Passes replace nodes and values; dtp_ir_use_bf16 alone adds some. */
    ir->nvalues = g->nvalues + (ir->selection ? ir->selection->nfeeds : 0); /* make_elsewhere */
    ir->values = dtp_arena_take(ir->arena, sizeof *ir->values * (size_t)ir->nvalues);
    ir->cap_nodes = g->nnodes;
    ir->nodes = dtp_arena_take(ir->arena, sizeof *ir->nodes * (size_t)ir->cap_nodes);
    import_t m = {.ir = ir};
    m.same_as = dtp_arena_take(ir->arena, sizeof *m.same_as * (size_t)(g->nvalues + 1));
    m.home = dtp_arena_alloc(ir->arena, sizeof *m.home * (size_t)g->nregions);
    int *numbers = dtp_arena_take(ir->arena, sizeof *numbers * (size_t)(g->nvalues + 1));
    if (!ir->values || !ir->nodes || !m.same_as || !m.home || !numbers) return dnnl_tp_out_of_memory;
    for (int r = 0; r < g->nregions; ++r) m.home[r] = r;
    for (int i = 0; i < g->nvalues; ++i) {
        const dtp_gvalue_t *v = &g->values[i];
        ir->values[i] = (dtp_ir_value_t){
            .info = v->info,
            .region = v->region,
            .node = -1,
            .input = v->input,
            .data = v->data,
            .cid = v->data ? v->constant->source->id : -1,
            .known = v->data ? v->known : NULL, /* of results only what follows from these shapes */
            .buf = -1,
            .dense_buf = -1,
            .last_buf = -1,
            .into = -1,
            .dest = -1};
        m.same_as[i] = -1;
        numbers[i] = i;
    }
    for (int i = g->nvalues; i < ir->nvalues; ++i) ir->values[i] = (dtp_ir_value_t){.info = NULL};
    m.numbers = numbers;
    DTP_TRY(set_inputs(ir, nin, in_shapes, in_values));
    DTP_TRY(sort_regions(&m));
    for (int r = 1; r < g->nregions; ++r)
        if (g->regions[r].kind == DTP_REGION_FUNCTION) DTP_TRY(import_region(&m, r));
    DTP_TRY(import_region(&m, 0));
    for (int r = 1; r < g->nregions; ++r)
        for (int i = 0; i < g->regions[r].nout; ++i)
            ir->regions[r].out[i] = resolve(&m, g->regions[r].out[i]);
    ir->noutputs = ir->selection ? ir->selection->nfetches : g->noutputs;
    ir->outputs = resolve_all(&m, ir->noutputs, ir->selection ? ir->selection->fetches : g->outputs);
    if (!ir->outputs) return dnnl_tp_out_of_memory;
    for (int i = 0; ir->selection && i < ir->selection->ntargets; ++i) {
        int target = ir->selection->targets[i], node = ir->values[target].node;
        if (node < 0) node = ir->values[resolve(&m, target)].node; /* an If that ended */
        if (node >= 0) ir->nodes[node].effects = ir->regions[ir->nodes[node].region].effects = true;
    }
    ir->simple = true;
    for (int r = 1; r < g->nregions; ++r) ir->simple &= g->regions[r].kind == DTP_REGION_BRANCH;
    if (g->nregions > 1) dtp_ir_find_effects(ir);
    if (ir->noutputs == 0 && !ir->regions[0].effects)
        return dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_NO_OUTPUT, "nothing to compute");
    return dnnl_tp_success;
}

/* ---- Helpers ----------------------------------------------------------------------------------------- */

dtp_ir_node_t *dtp_ir_producer(const dtp_ir_t *ir, int v, int kind) {
    if (v < 0 || ir->values[v].node < 0) return NULL;
    dtp_ir_node_t *n = &ir->nodes[ir->values[v].node];
    return !n->dead && n->row && n->row->kind == kind && n->nbefore == 0 ? n : NULL;
}

bool dtp_ir_scalar(const dtp_ir_t *ir, int v, float *x) {
    if (!dtp_ir_is_const(ir, v)) return false;
    const dtp_ir_value_t *c = &ir->values[v];
    if (c->info->data_type != dnnl_tp_f32 || dtp_info_nelems(c->info) != 1) return false;
    memcpy(x, c->data, sizeof *x);
    return true;
}
