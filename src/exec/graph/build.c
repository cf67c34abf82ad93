/* Building of graphs: inputs, constants, operators, host closures, outputs. Shapes: src/exec/ops. Regions:
 * region.c. */
#include "exec/graph/graph.h"

dnnl_tp_status_t dtp_graph_check_open(const struct dnnl_tp_graph *handle) {
    DTP_REQUIRE_HANDLE(handle, DTP_OBJ_GRAPH);
    const dtp_graph_t *g = handle->root;
    DTP_REQUIRE(!atomic_load_explicit(&g->frozen, memory_order_relaxed), GRAPH_FROZEN,
                "the graph has executables or a session");
    DTP_REQUIRE(!g->regions[handle->region].closed, GRAPH_REGION,
                "the region belongs to an operator and cannot change");
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_graph_reserve(dtp_graph_t *g, int values, int nodes, int inputs, int outputs) {
#define GROW(array, n, extra) \
    DTP_TRY(dtp_arena_grow(&g->arena, (void **)&g->array, &g->cap_##array, g->n + (extra), sizeof *g->array))
    GROW(values, nvalues, values);
    GROW(nodes, nnodes, nodes);
    GROW(inputs, ninputs, inputs);
    GROW(outputs, noutputs, outputs);
    GROW(output_names, noutputs, outputs);
#undef GROW
    return dnnl_tp_success;
}

const dnnl_tp_tensor_info_t *dtp_graph_info(dtp_graph_t *g, const dnnl_tp_tensor_info_t *info) {
    if (g->last_info && dtp_info_equal(g->last_info, info)) return g->last_info;
    dnnl_tp_tensor_info_t *copy = dtp_arena_alloc(&g->arena, sizeof *copy);
    if (!copy) return NULL;
    *copy = *info;
    return g->last_info = copy;
}

dtp_gvalue_t *dtp_graph_push_value(dtp_graph_t *g, int region, const dnnl_tp_tensor_info_t *info,
                                   const char *name) {
    dtp_gvalue_t *v = &g->values[g->nvalues++];
    *v = (dtp_gvalue_t){.info = info, .name = name, .region = region, .node = -1, .input = -1};
    return v;
}

static dnnl_tp_status_t tensor_of(dnnl_tp_tensor_info_t *info, dnnl_tp_data_type_t dt, int ndims,
                                  const int64_t *dims, bool runtime, const char *what, const char *name) {
    DTP_REQUIRE(ndims >= 0 && ndims <= DNNL_TP_MAX_NDIMS, BAD_NDIMS, "%s '%s' has %d dimensions, not 0..%d",
                what, name, ndims, DNNL_TP_MAX_NDIMS);
    DTP_REQUIRE(ndims == 0 || dims, NULL_ARG, "dims of %s '%s' is NULL", what, name);
    memset(info, 0, sizeof *info);
    info->ndims = ndims;
    info->data_type = dt;
    if (ndims) memcpy(info->dims, dims, (size_t)ndims * sizeof *dims);
    return dtp_info_check(info, runtime, what, name);
}

dnnl_tp_status_t dnnl_tp_graph_input(dnnl_tp_graph_t graph, dnnl_tp_value_t *value, const char *name,
                                     dnnl_tp_data_type_t data_type, int ndims, const dnnl_tp_dims_t dims) {
    DTP_OUT(value, -1);
    DTP_TRY(dtp_graph_check_open(graph));
    if (!name) name = "";
    dtp_graph_t *g = graph->root;
    dtp_gregion_t *r = &g->regions[graph->region];
    DTP_REQUIRE(r->kind != DTP_REGION_FUNCTION, GRAPH_REGION,
                "input '%s': a function got its parameters when it was created", name);
    dnnl_tp_tensor_info_t info;
    DTP_TRY(tensor_of(&info, data_type, ndims, dims, true, "input", name));
    bool root = r->kind == DTP_REGION_ROOT;
    DTP_TRY(dtp_graph_reserve(g, 1, 0, root, 0));
    if (!root)
        DTP_TRY(dtp_arena_grow(&g->arena, (void **)&r->inputs, &r->cap_inputs, r->ninputs + 1,
                               sizeof *r->inputs));
    const char *copy = dtp_arena_text(&g->arena, name);
    const dnnl_tp_tensor_info_t *kept = dtp_graph_info(g, &info);
    if (!copy || !kept) DTP_RETURN(dnnl_tp_out_of_memory);
    dtp_gvalue_t *v = dtp_graph_push_value(g, graph->region, kept, copy);
    v->input = root ? g->ninputs : r->ninputs;
    *value = g->nvalues - 1;
    if (root) g->inputs[g->ninputs++] = *value;
    else r->inputs[r->ninputs++] = *value;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_constant(dnnl_tp_graph_t graph, dnnl_tp_value_t *value, const char *name,
                                     dnnl_tp_data_type_t data_type, int ndims, const dnnl_tp_dims_t dims,
                                     const void *data, unsigned mode, void (*drop)(void *arg), void *arg) {
    DTP_OUT(value, -1);
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_graph_t *g = graph->root;
    if (!name) name = "";
    DTP_REQUIRE(mode == DNNL_TP_CONSTANT_COPY || mode == DNNL_TP_CONSTANT_BORROW, BAD_FLAGS,
                "mode of constant '%s' is %u", name, mode);
    dnnl_tp_tensor_info_t info;
    DTP_TRY(tensor_of(&info, data_type, ndims, dims, false, "constant", name));
    size_t bytes = dtp_info_bytes(&info);
    DTP_REQUIRE(data || bytes == 0, NULL_ARG, "data of constant '%s' is NULL", name);
    size_t element = bytes / (size_t)dtp_max64(dtp_info_nelems(&info), 1);
    DTP_REQUIRE(mode == DNNL_TP_CONSTANT_COPY || element == 0 || (uintptr_t)data % element == 0, BAD_PARAM,
                "data of constant '%s' is not aligned to its elements", name);
    DTP_TRY(dtp_graph_reserve(g, 1, 0, 0, 0));
    const char *copy = dtp_arena_text(&g->arena, name);
    const dnnl_tp_tensor_info_t *kept = dtp_graph_info(g, &info);
    dtp_gconstant_t *constant = dtp_arena_alloc(&g->arena, sizeof *constant);
    const bool looked_into = dtp_may_be_known(&info);
    int64_t *known =
        looked_into ? dtp_arena_alloc(&g->arena, sizeof *known * (size_t)dtp_info_nelems(&info)) : NULL;
    if (!copy || !kept || !constant || (looked_into && !known)) return dnnl_tp_out_of_memory;
    if (looked_into) dtp_known_of(&info, data, known);
    constant->source = dtp_store_hold(g->store, data, bytes, mode == DNNL_TP_CONSTANT_COPY || bytes == 0);
    if (!constant->source) return dnnl_tp_out_of_memory;
    dtp_gvalue_t *v = dtp_graph_push_value(g, graph->region, kept, copy);
    v->data = constant->source->data;
    v->known = known;
    v->constant = constant;
    if (mode == DNNL_TP_CONSTANT_BORROW) {
        constant->drop = drop;
        constant->drop_arg = arg;
    }
    *value = g->nvalues - 1;
    return dnnl_tp_success;
}

/* drop is called once in any case: now, unless the graph keeps the caller's data. */
dnnl_tp_status_t dnnl_tp_graph_constant(dnnl_tp_graph_t graph, dnnl_tp_value_t *value, const char *name,
                                        dnnl_tp_data_type_t data_type, int ndims, const dnnl_tp_dims_t dims,
                                        const void *data, unsigned mode, void (*drop)(void *arg), void *arg) {
    dnnl_tp_status_t status = add_constant(graph, value, name, data_type, ndims, dims, data, mode, drop, arg);
    if (drop && (status != dnnl_tp_success || mode == DNNL_TP_CONSTANT_COPY)) drop(arg);
    DTP_RETURN(status);
}

bool dtp_graph_sees(const dtp_graph_t *g, int region, int32_t v) {
    const dtp_gvalue_t *value = &g->values[v];
    for (bool outside = false; region >= 0; region = g->regions[region].parent) {
        if (value->region == region) return !outside || value->data;
        outside |= g->regions[region].kind == DTP_REGION_FUNCTION;
    }
    return false;
}

dnnl_tp_status_t dtp_graph_check_values(const dtp_graph_t *g, int region, dtp_op_id_t id, const char *what,
                                        int n, const int32_t *values, bool optional) {
    DTP_REQUIRE(n == 0 || values, NULL_ARG, "%ss of operator '%s' (%s) are NULL", what, id.name, id.kind);
    for (int i = 0; i < n; ++i) {
        DTP_REQUIRE(values[i] < g->nvalues && (values[i] >= 0 || (optional && values[i] == -1)),
                    GRAPH_BAD_VALUE, "%s %d of operator '%s' (%s) is %d, the graph has %d values", what, i,
                    id.name, id.kind, (int)values[i], g->nvalues);
        DTP_REQUIRE(values[i] < 0 || dtp_graph_sees(g, region, values[i]), GRAPH_BAD_VALUE,
                    "%s %d of operator '%s' (%s): value %d belongs to another region", what, i, id.name,
                    id.kind, (int)values[i]);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_inputs(const struct dnnl_tp_graph *graph, dtp_op_id_t id, int nin,
                                     const dnnl_tp_value_t *in, bool optional) {
    DTP_REQUIRE(nin >= 0 && nin <= DTP_GRAPH_MAX_ARGS, GRAPH_BAD_ARITY, "operator '%s' (%s) has %d inputs",
                id.name, id.kind, nin);
    return dtp_graph_check_values(graph->root, graph->region, id, "input", nin, in, optional);
}

dnnl_tp_status_t dtp_graph_push_node(dtp_graph_t *g, int region, dtp_node_kind_t kind, const char *name,
                                     int nin, const int32_t *in, int nout, const dnnl_tp_tensor_info_t *info,
                                     dtp_gnode_t **node, int32_t *out) {
    DTP_TRY(dtp_graph_reserve(g, nout, 1, 0, 0));
    const char *copy = dtp_arena_text(&g->arena, name);
    int32_t *args = nin ? dtp_arena_alloc(&g->arena, sizeof *args * (size_t)nin) : NULL;
    if (!copy || (nin && !args)) return dnnl_tp_out_of_memory;
    if (nin) memcpy(args, in, sizeof *args * (size_t)nin);
    const int first = g->nvalues;
    for (int i = 0; i < nout; ++i) {
        const dnnl_tp_tensor_info_t *kept = dtp_graph_info(g, &info[i]);
        if (!kept) {
            g->nvalues = first;
            return dnnl_tp_out_of_memory;
        }
        dtp_graph_push_value(g, region, kept, copy)->node = g->nnodes;
        out[i] = first + i;
    }
    dtp_gnode_t *n = &g->nodes[g->nnodes++];
    *n = (dtp_gnode_t){.kind = (uint8_t)kind,
                       .region = region,
                       .nin = nin,
                       .nout = nout,
                       .in = args,
                       .out = first,
                       .sub = {-1, -1},
                       .name = copy};
    *node = n;
    return dnnl_tp_success;
}

const char *dtp_node_kind_name(const dtp_gnode_t *node) {
    static const char *const names[] = {"", "host", "if", "while", "call"};
    return node->row ? node->row->name : names[node->kind];
}

static dnnl_tp_status_t add_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind, const char *name, int nin,
                               const dnnl_tp_value_t *in, int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                               dnnl_tp_value_t *out) {
    DTP_REQUIRE(out, NULL_ARG, "out is NULL");
    DTP_TRY(dtp_graph_check_open(graph));
    if (!name) name = "";
    dtp_graph_t *g = graph->root;
    const dtp_op_row_t *row = dtp_op_row((int)kind);
    if (!row)
        return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_OP,
                        "operator '%s' has kind %d, which is none of dnnl_tp_op_kind_t", name, (int)kind);
    dtp_op_id_t id = {name, row->name};
    if (nout < 1 || nout > DTP_GRAPH_MAX_ARGS)
        return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ARITY,
                        "operator '%s' (%s) cannot have %d outputs", name, row->name, nout);
    DTP_TRY(check_inputs(graph, id, nin, in, true));
    union {
        dtp_op_attrs_t base;
        int64_t all[DTP_OP_MAX_ATTRS / sizeof(int64_t)];
    } attrs;
    DTP_TRY(dtp_op_attrs_read(&attrs, row, id, nattr, attr));
    const dnnl_tp_tensor_info_t *infos[DTP_GRAPH_MAX_ARGS];
    const int64_t *known[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < nin; ++i) {
        infos[i] = in[i] < 0 ? NULL : g->values[in[i]].info;
        known[i] = in[i] < 0 ? NULL : g->values[in[i]].known;
    }
    dnnl_tp_tensor_info_t results[DTP_GRAPH_MAX_ARGS];
    const dtp_infer_t infer = {row, id, &attrs, nin, nout, infos, known, results};
    DTP_TRY(dtp_op_infer(&infer));
    int64_t values[DTP_KNOWN_MAX];
    const size_t nvalues = dtp_op_values(&infer, values) ? (size_t)dtp_info_nelems(results) : 0;
    int64_t *computed = nvalues ? dtp_arena_alloc(&g->arena, sizeof values[0] * nvalues) : NULL;
    void *kept = dtp_arena_alloc(&g->arena, row->cls->attrs_size);
    if (!kept || (nvalues && !computed)) return dnnl_tp_out_of_memory;
    if (nvalues) memcpy(computed, values, sizeof values[0] * nvalues);
    memcpy(kept, &attrs, row->cls->attrs_size);
    dtp_gnode_t *n;
    DTP_TRY(dtp_graph_push_node(g, graph->region, DTP_NODE_OP, name, nin, in, nout, results, &n, out));
    n->row = row;
    n->attrs = kept;
    g->values[out[0]].known = computed;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn, void *arg,
                                 void (*drop)(void *arg), unsigned flags, const char *name, int nin,
                                 const dnnl_tp_value_t *in, int nout, const dnnl_tp_tensor_info_t *out_info,
                                 dnnl_tp_value_t *out) {
    DTP_REQUIRE(out || nout == 0, NULL_ARG, "out is NULL");
    DTP_TRY(dtp_graph_check_open(graph));
    if (!name) name = "";
    dtp_op_id_t id = {name, "host"};
    DTP_REQUIRE(fn, NULL_ARG, "fn of operator '%s' (host) is NULL", name);
    DTP_REQUIRE(flags <= DNNL_TP_HOST_MAY_WAIT, BAD_FLAGS, "flags of operator '%s' (host) are %u", name,
                flags);
    DTP_REQUIRE(nout >= 0 && nout <= DTP_GRAPH_MAX_ARGS && (out_info || nout == 0), GRAPH_BAD_ARITY,
                "operator '%s' (host) has %d outputs", name, nout);
    DTP_TRY(check_inputs(graph, id, nin, in, false));
    dnnl_tp_tensor_info_t infos[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < nout; ++i)
        DTP_TRY(tensor_of(&infos[i], out_info[i].data_type, out_info[i].ndims, out_info[i].dims, false,
                          "an output of operator", name));
    dtp_gnode_t *n;
    DTP_TRY(
        dtp_graph_push_node(graph->root, graph->region, DTP_NODE_HOST, name, nin, in, nout, infos, &n, out));
    n->flags = (uint8_t)flags;
    n->fn = fn;
    n->arg = arg;
    n->drop = drop;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_graph_settle(dnnl_tp_status_t status, int nout, dnnl_tp_value_t *out) {
    for (int i = 0; i < nout && out && status != dnnl_tp_success; ++i) out[i] = -1;
    return status;
}

dnnl_tp_status_t dnnl_tp_graph_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind, const char *name, int nin,
                                  const dnnl_tp_value_t *in, int nattr, const dnnl_tp_op_attr_t *attr,
                                  int nout, dnnl_tp_value_t *out) {
    DTP_RETURN(dtp_graph_settle(add_op(graph, kind, name, nin, in, nattr, attr, nout, out), nout, out));
}

dnnl_tp_status_t dnnl_tp_graph_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn, void *arg,
                                    void (*drop)(void *arg), unsigned flags, const char *name, int nin,
                                    const dnnl_tp_value_t *in, int nout,
                                    const dnnl_tp_tensor_info_t *out_info, dnnl_tp_value_t *out) {
    dnnl_tp_status_t status = add_host(graph, fn, arg, drop, flags, name, nin, in, nout, out_info, out);
    if (drop && status != dnnl_tp_success) drop(arg);
    DTP_RETURN(dtp_graph_settle(status, nout, out));
}

static dnnl_tp_status_t function_output(dtp_graph_t *g, dtp_gregion_t *r, dnnl_tp_value_t value) {
    char want[DTP_SHAPE_TEXT], got[DTP_SHAPE_TEXT];
    DTP_REQUIRE(r->nbound < r->nout, GRAPH_BAD_ARITY, "function '%s' has %d outputs, not more", r->name,
                r->nout);
    const dnnl_tp_tensor_info_t *w = &r->out_info[r->nbound], *v = g->values[value].info;
    if (!dtp_info_equal(w, v))
        return dtp_fail(dtp_info_mismatch(w, v), dtp_info_mismatch_reason(w, v),
                        "output %d of function '%s' is declared %s %s, got %s %s", r->nbound, r->name,
                        dnnl_tp_dt2str(w->data_type), dtp_info_text(w, want), dnnl_tp_dt2str(v->data_type),
                        dtp_info_text(v, got));
    r->out[r->nbound++] = value;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_output(dnnl_tp_graph_t graph, dnnl_tp_value_t value, const char *name) {
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_op_id_t id = {name ? name : "", "output"};
    dtp_graph_t *g = graph->root;
    dtp_gregion_t *r = &g->regions[graph->region];
    DTP_REQUIRE(r->kind == DTP_REGION_ROOT || r->kind == DTP_REGION_FUNCTION, GRAPH_REGION,
                "output '%s': the results of a region are named by its operator", id.name);
    DTP_TRY(dtp_graph_check_values(g, graph->region, id, "value", 1, &value, false));
    if (r->kind == DTP_REGION_FUNCTION) DTP_RETURN(function_output(g, r, value));
    DTP_TRY(dtp_graph_reserve(g, 0, 0, 0, 1));
    const char *copy = dtp_arena_text(&g->arena, id.name);
    if (!copy) DTP_RETURN(dnnl_tp_out_of_memory);
    g->output_names[g->noutputs] = copy;
    g->outputs[g->noutputs++] = value;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_value_info(const_dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                          dnnl_tp_tensor_info_t *info) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE(info, NULL_ARG, "info is NULL");
    const dtp_graph_t *g = graph->root;
    DTP_REQUIRE(value >= 0 && value < g->nvalues, GRAPH_BAD_VALUE, "value is %d, the graph has %d",
                (int)value, g->nvalues);
    *info = *g->values[value].info;
    return dnnl_tp_success;
}
