/* Building of graphs and their lifetime. Shapes: infer.c. Compilation: compile.c. */
#include "exec/graph.h"

/* ---- Derived constants -------------------------------------------------------------------------------- */

static unsigned bucket_of(const uint8_t *key, size_t size) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; ++i) h = (h ^ key[i]) * 0x100000001b3u;
    return (unsigned)(h >> 32) % DTP_DERIVED_BUCKETS;
}

const dtp_derived_t *dtp_derived_find(const dtp_graph_t *graph, const void *key, size_t size) {
    for (const dtp_derived_t *d = graph->derived[bucket_of(key, size)]; d; d = d->next)
        if (d->key_size == size && !memcmp(d->key, key, size)) return d;
    return NULL;
}

const dtp_derived_t *dtp_derived_add(dtp_graph_t *graph, const void *key, size_t size, const void *data) {
    dtp_derived_t *d = dtp_arena_alloc(&graph->derived_arena, sizeof *d + size);
    if (!d) return NULL;
    dtp_derived_t **bucket = &graph->derived[bucket_of(key, size)];
    d->id = graph->next_id++;
    d->data = data;
    d->key_size = size;
    memcpy(d->key, key, size);
    d->next = *bucket;
    *bucket = d;
    return d;
}

void *dtp_derived_room(dtp_graph_t *graph, size_t bytes) {
    struct dtp_blob *b = dtp_alloc(graph->obj.allocator, DTP_CACHE_LINE + bytes, DTP_CACHE_LINE);
    if (!b) {
        (void)dtp_no_memory(DTP_CACHE_LINE + bytes);
        return NULL;
    }
    b->next = graph->blobs;
    graph->blobs = b;
    return (char *)b + DTP_CACHE_LINE;
}

/* ---- Lifetime ----------------------------------------------------------------------------------------- */

static void graph_free(dtp_object_t *obj) {
    dtp_graph_t *g = (dtp_graph_t *)obj;
    for (int i = 0; i < g->nvalues; ++i) {
        dtp_free(g->obj.allocator, g->values[i].owned);
        if (g->values[i].drop) g->values[i].drop(g->values[i].drop_arg);
    }
    for (int i = 0; i < g->nnodes; ++i)
        if (g->nodes[i].drop) g->nodes[i].drop(g->nodes[i].arg);
    for (struct dtp_blob *b = g->blobs, *next; b; b = next) {
        next = b->next;
        dtp_free(g->obj.allocator, b);
    }
    dtp_arena_free(&g->derived_arena);
    dtp_arena_free(&g->arena);
}

dnnl_tp_status_t dnnl_tp_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_engine_kind_t kind) {
    DTP_REQUIRE(graph, NULL_ARG, "graph is NULL");
    *graph = NULL;
    DTP_REQUIRE(kind == dnnl_tp_cpu || kind == dnnl_tp_gpu, BAD_ENUM, "engine kind %d", (int)kind);
    if (kind == dnnl_tp_gpu)
        return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "this build has no gpu engine");
    dtp_graph_t *g = dtp_object_create(dtp_process_allocator(), sizeof *g, DTP_OBJ_GRAPH, graph_free);
    if (!g) return dtp_no_memory(sizeof *g);
    g->kind = kind;
    dtp_arena_init(&g->arena, g->obj.allocator);
    dtp_arena_init(&g->derived_arena, g->obj.allocator);
    *graph = g;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_destroy(dnnl_tp_graph_t graph) {
    if (!graph) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    dtp_object_release(graph);
    return dnnl_tp_success;
}

/* ---- Building ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t check_open(const dtp_graph_t *graph) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE(!atomic_load_explicit(&graph->frozen, memory_order_relaxed), GRAPH_FROZEN,
                "the graph has executables");
    return dnnl_tp_success;
}

/* Room for one more of everything, so that committing cannot fail. */
static dnnl_tp_status_t reserve(dtp_graph_t *g, int values, int nodes, int inputs, int outputs) {
#define GROW(array, n, extra) \
    DTP_TRY(dtp_arena_grow(&g->arena, (void **)&g->array, &g->cap_##array, g->n + (extra), sizeof *g->array))
    GROW(values, nvalues, values);
    GROW(nodes, nnodes, nodes);
    GROW(inputs, ninputs, inputs);
    GROW(outputs, noutputs, outputs);
#undef GROW
    return dnnl_tp_success;
}

static dtp_gvalue_t *push_value(dtp_graph_t *g, const dnnl_tp_tensor_info_t *info, const char *name) {
    dtp_gvalue_t *v = &g->values[g->nvalues++];
    memset(v, 0, sizeof *v);
    v->info = *info;
    v->name = name;
    v->node = v->input = -1;
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
    DTP_REQUIRE(value, NULL_ARG, "value is NULL");
    *value = -1;
    DTP_TRY(check_open(graph));
    if (!name) name = "";
    dnnl_tp_tensor_info_t info;
    DTP_TRY(tensor_of(&info, data_type, ndims, dims, true, "input", name));
    DTP_TRY(reserve(graph, 1, 0, 1, 0));
    const char *copy = dtp_arena_text(&graph->arena, name);
    if (!copy) return dnnl_tp_out_of_memory;
    dtp_gvalue_t *v = push_value(graph, &info, copy);
    v->input = graph->ninputs;
    *value = graph->inputs[graph->ninputs++] = graph->nvalues - 1;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_constant(dnnl_tp_graph_t graph, dnnl_tp_value_t *value, const char *name,
                                     dnnl_tp_data_type_t data_type, int ndims, const dnnl_tp_dims_t dims,
                                     const void *data, unsigned mode, void (*drop)(void *arg), void *arg) {
    DTP_REQUIRE(value, NULL_ARG, "value is NULL");
    *value = -1;
    DTP_TRY(check_open(graph));
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
    DTP_TRY(reserve(graph, 1, 0, 0, 0));
    const char *copy = dtp_arena_text(&graph->arena, name);
    if (!copy) return dnnl_tp_out_of_memory;
    void *owned = NULL;
    if (mode == DNNL_TP_CONSTANT_COPY || bytes == 0) {
        owned = dtp_alloc(graph->obj.allocator, bytes ? bytes : 1, DTP_CACHE_LINE);
        if (!owned) return dtp_no_memory(bytes);
        if (bytes) memcpy(owned, data, bytes);
        data = owned;
    }
    dtp_gvalue_t *v = push_value(graph, &info, copy);
    v->data = data;
    v->owned = owned;
    if (mode == DNNL_TP_CONSTANT_BORROW) {
        v->drop = drop;
        v->drop_arg = arg;
    }
    *value = graph->nvalues - 1;
    return dnnl_tp_success;
}

/* drop is called once in any case: now, unless the graph keeps the caller's data. */
dnnl_tp_status_t dnnl_tp_graph_constant(dnnl_tp_graph_t graph, dnnl_tp_value_t *value, const char *name,
                                        dnnl_tp_data_type_t data_type, int ndims, const dnnl_tp_dims_t dims,
                                        const void *data, unsigned mode, void (*drop)(void *arg), void *arg) {
    dnnl_tp_status_t status = add_constant(graph, value, name, data_type, ndims, dims, data, mode, drop, arg);
    if (drop && (status != dnnl_tp_success || mode == DNNL_TP_CONSTANT_COPY)) drop(arg);
    return status;
}

static dnnl_tp_status_t check_values(const dtp_graph_t *g, dtp_op_id_t id, int nin, const dnnl_tp_value_t *in,
                                     bool optional) {
    DTP_REQUIRE(nin >= 0 && nin <= DTP_GRAPH_MAX_ARGS, GRAPH_BAD_ARITY, "operator '%s' (%s) has %d inputs",
                id.name, id.kind, nin);
    DTP_REQUIRE(nin == 0 || in, NULL_ARG, "inputs of operator '%s' (%s) are NULL", id.name, id.kind);
    for (int i = 0; i < nin; ++i)
        DTP_REQUIRE(in[i] < g->nvalues && (in[i] >= 0 || (optional && in[i] == -1)), GRAPH_BAD_VALUE,
                    "input %d of operator '%s' (%s) is %d, the graph has %d values", i, id.name, id.kind,
                    (int)in[i], g->nvalues);
    return dnnl_tp_success;
}

static dnnl_tp_status_t push_node(dtp_graph_t *g, const char *name, int nin, const dnnl_tp_value_t *in,
                                  int nout, const dnnl_tp_tensor_info_t *info, dtp_gnode_t **node,
                                  dnnl_tp_value_t *out) {
    DTP_TRY(reserve(g, nout, 1, 0, 0));
    const char *copy = dtp_arena_text(&g->arena, name);
    int32_t *args = dtp_arena_alloc(&g->arena, sizeof *args * (size_t)nin);
    if (!copy || !args) return dnnl_tp_out_of_memory;
    if (nin) memcpy(args, in, sizeof *args * (size_t)nin);
    dtp_gnode_t *n = &g->nodes[g->nnodes++];
    memset(n, 0, sizeof *n);
    n->name = copy;
    n->nin = nin;
    n->in = args;
    n->nout = nout;
    n->out = g->nvalues;
    for (int i = 0; i < nout; ++i) {
        push_value(g, &info[i], copy)->node = g->nnodes - 1;
        out[i] = g->nvalues - 1;
    }
    *node = n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind, const char *name, int nin,
                               const dnnl_tp_value_t *in, int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                               dnnl_tp_value_t *out) {
    DTP_REQUIRE(out, NULL_ARG, "out is NULL");
    DTP_TRY(check_open(graph));
    if (!name) name = "";
    const dtp_op_row_t *row = dtp_op_row((int)kind);
    if (!row)
        return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_OP, "operator '%s' has kind %d", name,
                        (int)kind);
    dtp_op_id_t id = {name, row->name};
    if (nout != 1)
        return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ARITY,
                        "operator '%s' (%s) has 1 output, not %d", name, row->name, nout);
    DTP_TRY(check_values(graph, id, nin, in, true));
    dtp_op_attrs_t attrs;
    DTP_TRY(dtp_op_attrs_read(&attrs, row, id, nattr, attr));
    const dnnl_tp_tensor_info_t *infos[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < nin; ++i) infos[i] = in[i] < 0 ? NULL : &graph->values[in[i]].info;
    dnnl_tp_tensor_info_t info;
    DTP_TRY(dtp_op_infer(row, id, &attrs, nin, infos, &info));
    dtp_gnode_t *n;
    DTP_TRY(push_node(graph, name, nin, in, 1, &info, &n, out));
    n->row = row;
    n->attrs = attrs;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn, void *arg,
                                 void (*drop)(void *arg), unsigned flags, const char *name, int nin,
                                 const dnnl_tp_value_t *in, int nout, const dnnl_tp_tensor_info_t *out_info,
                                 dnnl_tp_value_t *out) {
    DTP_REQUIRE(out, NULL_ARG, "out is NULL");
    DTP_TRY(check_open(graph));
    if (!name) name = "";
    dtp_op_id_t id = {name, "host"};
    DTP_REQUIRE(fn, NULL_ARG, "fn of operator '%s' (host) is NULL", name);
    DTP_REQUIRE(flags == 0, BAD_FLAGS, "flags of operator '%s' (host) are %u", name, flags);
    DTP_REQUIRE(nout >= 1 && nout <= DTP_GRAPH_MAX_ARGS && out_info, GRAPH_BAD_ARITY,
                "operator '%s' (host) has %d outputs", name, nout);
    DTP_TRY(check_values(graph, id, nin, in, false));
    dnnl_tp_tensor_info_t infos[DTP_GRAPH_MAX_ARGS];
    for (int i = 0; i < nout; ++i)
        DTP_TRY(tensor_of(&infos[i], out_info[i].data_type, out_info[i].ndims, out_info[i].dims, false,
                          "an output of operator", name));
    dtp_gnode_t *n;
    DTP_TRY(push_node(graph, name, nin, in, nout, infos, &n, out));
    n->fn = fn;
    n->arg = arg;
    n->drop = drop;
    return dnnl_tp_success;
}

/* Results may overwrite the array of inputs, so that chains are easy to write: nothing is stored before
 * success. */
static dnnl_tp_status_t settle(dnnl_tp_status_t status, int nout, dnnl_tp_value_t *out) {
    for (int i = 0; i < nout && out && status != dnnl_tp_success; ++i) out[i] = -1;
    return status;
}

dnnl_tp_status_t dnnl_tp_graph_op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind, const char *name, int nin,
                                  const dnnl_tp_value_t *in, int nattr, const dnnl_tp_op_attr_t *attr,
                                  int nout, dnnl_tp_value_t *out) {
    return settle(add_op(graph, kind, name, nin, in, nattr, attr, nout, out), nout, out);
}

dnnl_tp_status_t dnnl_tp_graph_host(dnnl_tp_graph_t graph, dnnl_tp_host_fn_t fn, void *arg,
                                    void (*drop)(void *arg), unsigned flags, const char *name, int nin,
                                    const dnnl_tp_value_t *in, int nout,
                                    const dnnl_tp_tensor_info_t *out_info, dnnl_tp_value_t *out) {
    dnnl_tp_status_t status = add_host(graph, fn, arg, drop, flags, name, nin, in, nout, out_info, out);
    if (drop && status != dnnl_tp_success) drop(arg);
    return settle(status, nout, out);
}

dnnl_tp_status_t dnnl_tp_graph_output(dnnl_tp_graph_t graph, dnnl_tp_value_t value, const char *name) {
    (void)name; /* outputs are found by their order */
    DTP_TRY(check_open(graph));
    DTP_REQUIRE(value >= 0 && value < graph->nvalues, GRAPH_BAD_VALUE,
                "output is %d, the graph has %d values", (int)value, graph->nvalues);
    DTP_TRY(reserve(graph, 0, 0, 0, 1));
    graph->outputs[graph->noutputs++] = value;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_value_info(const_dnnl_tp_graph_t graph, dnnl_tp_value_t value,
                                          dnnl_tp_tensor_info_t *info) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE(info, NULL_ARG, "info is NULL");
    DTP_REQUIRE(value >= 0 && value < graph->nvalues, GRAPH_BAD_VALUE, "value is %d, the graph has %d",
                (int)value, graph->nvalues);
    *info = graph->values[value].info;
    return dnnl_tp_success;
}
