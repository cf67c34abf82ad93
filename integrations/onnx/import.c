/* From a model to a graph: inputs, initializers, nodes in their order, functions inlined, outputs. */
#include "onnx/import.h"
#include "onnx/attrs.h"
#include "onnx/build.h"
#include "onnx/check.h"
#include "onnx/fold.h"
#include "onnx/part.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CALLS = 64 };

static bool is(const char *a, const char *b) { return !strcmp(a, b); }
/* A name of protobuf-c, which may be absent. */
static const char *text(const char *s) { return s ? s : ""; }

/* ---- Names ------------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t define(scope_t *s, const char *name, val_t *v) {
    if (dtp_onnx_names_get(&s->names, name))
        return dtp_onnx_fail(dnnl_tp_invalid_graph, "the tensor '%s' is defined twice", name);
    return dtp_onnx_names_set(&s->names, name, v);
}

static val_t *new_val(import_t *im) {
    val_t *v = dtp_import_alloc(&im->memory, sizeof *v);
    if (v) v->v = -1;
    return v;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

/* What a function sees of an input that its call leaves out. */
static val_t absent;

/* Failures before there is a converter. */
#define REFUSE(code, ...)                   \
    do {                                    \
        dtp_cv_fail(cv, code, __VA_ARGS__); \
        return cv->status;                  \
    } while (0)

/* Converts nodes in their order. */
static dnnl_tp_status_t nodes_of(import_t *im, scope_t *scope, size_t n, node_proto_t *const *nodes);

static dnnl_tp_status_t inline_function(cv_t *cv, scope_t *around, const function_proto_t *f) {
    import_t *im = cv->im;
    if (around->depth >= MAX_CALLS)
        REFUSE(dnnl_tp_invalid_graph, "functions call each other more than %d deep", MAX_CALLS);
    if (f->n_input < (size_t)cv->nin || f->n_output < (size_t)cv->nout)
        REFUSE(dnnl_tp_invalid_graph, "the function has %zu inputs and %zu outputs", f->n_input, f->n_output);
    if (dtp_onnx_has_defaults(f))
        REFUSE(dnnl_tp_unimplemented, "the function has default values of attributes");
    scope_t scope = {.call = cv->node,
                     .caller = around,
                     .nimports = f->n_opset_import,
                     .imports = f->opset_import,
                     .depth = around->depth + 1};
    dtp_onnx_names_init(&scope.names, &im->memory, 0);
    for (size_t i = 0; i < f->n_input; ++i)
        DTP_ONNX_TRY(define(&scope, f->input[i], i < (size_t)cv->nin && cv->in[i] ? cv->in[i] : &absent));
    DTP_ONNX_TRY(nodes_of(im, &scope, f->n_node, f->node));
    for (int i = 0; i < cv->nout; ++i) {
        cv->out[i] = dtp_onnx_find(&scope, f->output[i]);
        if (!cv->out[i] && *cv->node->output[i])
            REFUSE(dnnl_tp_invalid_graph, "the function does not make its output '%s'", f->output[i]);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t inputs(cv_t *cv) {
    const node_proto_t *n = cv->node;
    for (int i = 0; i < cv->nin; ++i) {
        if (!n->input[i]) REFUSE(dnnl_tp_invalid_graph, "input %d has no name", i);
        if (!*n->input[i]) continue;
        cv->in[i] = dtp_onnx_find(cv->scope, n->input[i]);
        if (cv->in[i] == &absent) cv->in[i] = NULL;
        else if (!cv->in[i])
            REFUSE(dnnl_tp_invalid_graph,
                   "its input '%s' is made by no node before it: it does not exist, or the nodes form a "
                   "cycle or are not "
                   "in order",
                   n->input[i]);
    }
    while (cv->nin > 0 && !cv->in[cv->nin - 1]) --cv->nin;
    return dnnl_tp_success;
}

/* Elements of a type that only conversions read become those of the type that graphs carry them in. */
static dnnl_tp_status_t read_stored(cv_t *cv) {
    enum { SCALES = 1 };
    const char *op = cv->row->op;
    for (int i = 0; i < cv->nin; ++i) {
        if (!cv->in[i] || !cv->in[i]->stored) continue;
        const bool reads =
            is(op, "DequantizeLinear") ? i != SCALES : i == 0 && (is(op, "Cast") || is(op, "CastLike"));
        if (!reads)
            REFUSE(dnnl_tp_unimplemented,
                   "its input %d is %s, which Cast, CastLike and DequantizeLinear read", i,
                   cv->in[i]->stored);
        val_t *plain = dtp_cv_alloc(cv, sizeof *plain);
        if (!plain) return cv->status;
        *plain = *cv->in[i];
        plain->stored = NULL;
        cv->in[i] = plain;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t convert(cv_t *cv, scope_t *scope) {
    const node_proto_t *n = cv->node;
    if (!n->op_type || !*n->op_type) REFUSE(dnnl_tp_invalid_graph, "it has no operator");
    if (n->n_attribute > sizeof cv->attrs_read * 8)
        REFUSE(dnnl_tp_invalid_graph, "it has %zu attributes", n->n_attribute);
    DTP_ONNX_TRY(inputs(cv));
    const function_proto_t *f = dtp_onnx_function(cv->im->model, &cv->im->memory, n);
    if (f) return inline_function(cv, scope, f);
    char why[DTP_ONNX_NAME];
    dnnl_tp_status_t status;
    cv->row = dtp_onnx_row_of(scope->nimports, scope->imports, n, &cv->since, &status, why);
    if (!cv->row) REFUSE(status, "%s", why);
    if (cv->nin < cv->row->min_in || (cv->row->max_in >= 0 && cv->nin > cv->row->max_in))
        REFUSE(dnnl_tp_invalid_graph_op, "it has %d inputs, needed are %d to %d", cv->nin, cv->row->min_in,
               cv->row->max_in);
    for (int i = 0; i < cv->row->min_in; ++i)
        if (!cv->in[i]) REFUSE(dnnl_tp_invalid_graph_op, "its input %d is absent", i);
    DTP_ONNX_TRY(read_stored(cv));
    cv->row->convert(cv);
    if (!cv->status) dtp_cv_all_read(cv);
    return cv->status;
}

static dnnl_tp_status_t one_node(import_t *im, scope_t *scope, const node_proto_t *n) {
    cv_t at = {.im = im, .scope = scope, .node = n, .nin = (int)n->n_input, .nout = (int)n->n_output},
         *cv = &at;
    if (n->n_input > INT32_MAX || n->n_output > INT32_MAX) return dnnl_tp_invalid_graph;
    cv->in = dtp_import_alloc(&im->memory, (n->n_input + 1) * sizeof *cv->in);
    cv->out = dtp_import_alloc(&im->memory, (n->n_output + 1) * sizeof *cv->out);
    if (!cv->in || !cv->out) return dnnl_tp_out_of_memory;
    if (--im->nodes_left < 0) REFUSE(dnnl_tp_invalid_graph, "the model has more nodes than max_nodes allows");
    while (cv->nout > 0 && !*n->output[cv->nout - 1]) --cv->nout;
    DTP_ONNX_TRY(convert(cv, scope));
    for (int i = 0; i < cv->nout; ++i) {
        if (!*n->output[i]) continue;
        const val_t *have = dtp_onnx_names_get(&scope->names, n->output[i]);
        if (have && have->is_given) continue;
        if (!cv->out[i]) REFUSE(dnnl_tp_unimplemented, "its output %d is not implemented", i);
        DTP_ONNX_TRY(define(scope, n->output[i], cv->out[i]));
    }
    return dnnl_tp_success;
}

/* ---- Parts (part.h) ---------------------------------------------------------------------------------------- */

static bool is_given(const scope_t *s, const node_proto_t *n) {
    bool all = n->n_output > 0;
    for (size_t i = 0; i < n->n_output && all; ++i) {
        const val_t *v = *n->output[i] ? dtp_onnx_names_get(&s->names, n->output[i]) : NULL;
        all = !*n->output[i] || (v && v->is_given);
    }
    return all;
}

/* The line of the table that serves a node; NULL: none, or it calls a function. */
static const row_t *row_of(import_t *im, const scope_t *s, const node_proto_t *n, int *since) {
    char why[DTP_ONNX_NAME];
    dnnl_tp_status_t status;
    if (!n->op_type || dtp_onnx_function(im->model, &im->memory, n)) return NULL;
    return dtp_onnx_row_of(s->nimports, s->imports, n, since, &status, why);
}

/* Inputs, as bits, that no constant makes; the bits of `of` count. */
static unsigned unknown_inputs(const scope_t *s, const node_proto_t *n, unsigned of) {
    unsigned unknown = 0;
    for (size_t i = 0; i < n->n_input && i < sizeof of * 8; ++i) {
        const val_t *v = text(n->input[i])[0] ? dtp_onnx_find(s, n->input[i]) : NULL;
        if (v && v != &absent && !v->data) unknown |= 1u << i & of;
    }
    return unknown;
}

/* Must the graph end before the node, so that a run tells what it needs? */
static bool is_cut(import_t *im, const scope_t *s, const node_proto_t *n) {
    enum { KEEPS = 1 }; /* input of Compress; its data need not be known */
    dtp_part_t *part = im->part;
    if (!part || s != im->main) return false;
    const row_t *row = row_of(im, s, n, &part->since);
    if (!row) return false;
    const bool by_data = dtp_onnx_is_by_data(row);
    if (by_data && !dtp_onnx_by_data_fits(row, n)) return false;
    const unsigned of = !by_data ? row->params : is(row->op, "Compress") ? 1u << KEEPS : ~0u;
    const unsigned needs = unknown_inputs(s, n, of);
    if (!needs) return false;
    part->cut = n;
    part->row = row;
    part->needs = by_data ? 0 : needs;
    return true;
}

/* Does the next part get the tensor by this name without the graph's help? A node may pass a tensor on under another name. */
static bool is_at_hand(const import_t *im, const val_t *v, const char *name) {
    bool found = v->data || (v->input && is(v->input, name));
    for (int i = 0; i < im->part->ngiven && !found; ++i) found = is(im->part->given[i].name, name);
    return found;
}

/* An output of the part, if a node of it made the tensor. */
static dnnl_tp_status_t keep_live(import_t *im, const char *name, dtp_onnx_names_t *met, int room[2]) {
    dtp_part_t *part = im->part;
    static char yes;
    val_t *v = *text(name) ? dtp_onnx_names_get(&im->main->names, name) : NULL;
    if (!v || is_at_hand(im, v, name) || dtp_onnx_names_get(met, name)) return dnnl_tp_success;
    if (v->stored)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the tensor '%s' is %s, which only conversions read",
                             name, v->stored);
    DTP_ONNX_TRY(dtp_onnx_names_set(met, name, &yes));
    const int n = part->nlive + 1;
    DTP_ONNX_TRY(dtp_import_grow(&part->memory, (void **)&part->live, &room[0], n, sizeof *part->live));
    DTP_ONNX_TRY(
        dtp_import_grow(&part->memory, (void **)&part->live_values, &room[1], n, sizeof *part->live_values));
    part->live[part->nlive] = name;
    part->live_values[part->nlive++] = v->v;
    char plain[DTP_ONNX_NAME];
    return dnnl_tp_graph_output(im->graph, v->v, dtp_onnx_plain(name, plain));
}

static dnnl_tp_status_t keep_all(import_t *im, size_t n, node_proto_t *const *nodes, dtp_onnx_names_t *met,
                                 int room[2]) {
    for (size_t i = 0; i < n; ++i) {
        const node_proto_t *x = nodes[i];
        for (size_t k = 0; k < x->n_input; ++k) DTP_ONNX_TRY(keep_live(im, x->input[k], met, room));
        for (size_t k = 0; k < x->n_attribute; ++k) {
            const graph_proto_t *g = x->attribute[k]->g;
            if (!g) continue;
            DTP_ONNX_TRY(keep_all(im, g->n_node, g->node, met, room));
            for (size_t j = 0; j < g->n_output; ++j)
                DTP_ONNX_TRY(keep_live(im, g->output[j]->name, met, room));
        }
    }
    return dnnl_tp_success;
}

/* Ends the graph before nodes[at]: what the nodes from there on read are its outputs. */
static dnnl_tp_status_t end_part(import_t *im, size_t at, size_t n, node_proto_t *const *nodes) {
    dtp_part_t *part = im->part;
    const graph_proto_t *g = im->model->proto->graph;
    dtp_onnx_names_t met;
    int room[2] = {0};
    dtp_onnx_names_init(&met, &im->memory, 0);
    DTP_ONNX_TRY(keep_all(im, n - at, nodes + at, &met, room));
    for (size_t i = 0; i < g->n_output; ++i) DTP_ONNX_TRY(keep_live(im, g->output[i]->name, &met, room));
    const node_proto_t *cut = part->cut;
    part->in = dtp_import_alloc(&part->memory, (cut->n_input + 1) * sizeof *part->in);
    if (!part->in) return dnnl_tp_out_of_memory;
    for (size_t i = 0; i < cut->n_input; ++i) {
        const val_t *v = dtp_onnx_find(im->main, text(cut->input[i]));
        if (!v || v == &absent) continue;
        part->in[i].name = cut->input[i];
        if (!v->data) continue;
        const size_t bytes = (size_t)dtp_val_elems(v) * dtp_onnx_type_size(v->info.data_type);
        void *data = dtp_import_alloc(&part->memory, bytes + 1);
        if (!data) return dnnl_tp_out_of_memory;
        part->in[i].info = v->info;
        part->in[i].data = memcpy(data, v->data, bytes);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t nodes_of(import_t *im, scope_t *scope, size_t n, node_proto_t *const *nodes) {
    for (size_t i = 0; i < n; ++i) {
        if (scope == im->main && is_given(scope, nodes[i])) continue;
        if (is_cut(im, scope, nodes[i])) return end_part(im, i, n, nodes);
        DTP_ONNX_TRY(one_node(im, scope, nodes[i]));
    }
    return dnnl_tp_success;
}

/* ---- The main graph ---------------------------------------------------------------------------------------- */

static const dnnl_tp_onnx_value_t *fixed_value(const dnnl_tp_onnx_graph_opts_t *o, const char *name) {
    for (int i = 0; i < o->nvalues; ++i)
        if (is(o->values[i].name, name)) return &o->values[i];
    return NULL;
}

static bool is_fed(const dnnl_tp_onnx_graph_opts_t *o, const char *name) {
    for (int i = 0; i < o->nfed; ++i)
        if (is(o->fed[i], name)) return true;
    return false;
}

static dnnl_tp_status_t fix_input(import_t *im, const dnnl_tp_onnx_value_t *x,
                                  const dnnl_tp_onnx_port_t *port, val_t *v) {
    const int64_t n = dtp_onnx_elems(&x->info);
    bool fits = x->info.data_type == port->info.data_type &&
                (port->info.ndims < 0 || port->info.ndims == x->info.ndims);
    for (int d = 0; fits && d < port->info.ndims; ++d)
        fits = port->info.dims[d] == x->info.dims[d] || port->info.dims[d] == CV_RUNTIME;
    if (!fits || n < 0 || (n > 0 && !x->data))
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "the value of input '%s' has another type or shape",
                             x->name);
    void *copy = dtp_import_alloc(&im->memory, (size_t)n * dtp_onnx_type_size(x->info.data_type) + 1);
    if (!copy) return dnnl_tp_out_of_memory;
    if (n) memcpy(copy, x->data, (size_t)n * dtp_onnx_type_size(x->info.data_type));
    v->data = copy;
    v->info = x->info;
    return dnnl_tp_success;
}

/* Sizes of the dimensions that are still open: names are not asked, two sizes of one name may differ. */
static dnnl_tp_status_t give_sizes(dnnl_tp_onnx_port_t *port, const dnnl_tp_tensor_info_t *shape) {
    if (port->info.ndims < 0) {
        port->info.ndims = shape->ndims;
        for (int d = 0; d < shape->ndims; ++d) port->info.dims[d] = CV_RUNTIME;
    }
    bool fits = port->info.ndims == shape->ndims && dtp_onnx_elems(shape) >= 0;
    for (int d = 0; fits && d < shape->ndims; ++d) {
        if (port->info.dims[d] == CV_RUNTIME) port->info.dims[d] = shape->dims[d];
        fits = port->info.dims[d] == shape->dims[d];
    }
    if (fits) return dnnl_tp_success;
    return dtp_onnx_fail(dnnl_tp_invalid_arguments, "the shape of input '%s' is another one in the model",
                         port->name);
}

/* A tensor that an earlier part made: an input of the graph, or a constant. */
static dnnl_tp_status_t given_tensor(import_t *im, scope_t *s, const dtp_given_t *x,
                                     dnnl_tp_value_t *number) {
    val_t *v = new_val(im);
    char room[DTP_ONNX_NAME];
    if (!v) return dnnl_tp_out_of_memory;
    v->info = x->info;
    v->is_given = true;
    *number = -1;
    if (x->is_known) {
        const size_t bytes = (size_t)dtp_val_elems(v) * dtp_onnx_type_size(x->info.data_type);
        void *copy = dtp_import_alloc(&im->memory, bytes + 1);
        if (!copy) return dnnl_tp_out_of_memory;
        v->data = bytes ? memcpy(copy, x->data, bytes) : copy;
    } else {
        DTP_ONNX_TRY(dnnl_tp_graph_input(im->graph, &v->v, dtp_onnx_plain(x->name, room), v->info.data_type,
                                         v->info.ndims, v->info.dims));
        *number = v->v;
    }
    return define(s, x->name, v);
}

static dnnl_tp_status_t input(import_t *im, scope_t *s, const value_proto_t *value,
                              const dnnl_tp_onnx_graph_opts_t *o, const dnnl_tp_tensor_info_t *shape) {
    dnnl_tp_onnx_port_t port;
    char room[DTP_ONNX_NAME];
    DTP_ONNX_TRY(dtp_onnx_port(value, &port));
    if (!*port.name) return dtp_onnx_fail(dnnl_tp_invalid_graph, "an input has no name");
    const val_t *have = dtp_onnx_find(s, port.name); /* an initializer, or known by now */
    if (have && (have->is_given || !is_fed(o, port.name))) return dnnl_tp_success;
    val_t *v = new_val(im);
    if (!v) return dnnl_tp_out_of_memory;
    if (port.info.data_type == dnnl_tp_data_type_undef)
        return dtp_onnx_fail(dnnl_tp_unimplemented,
                             "input '%s' is no tensor, or one of the type %s, which graphs do not carry",
                             port.name, dtp_onnx_type_name(port.onnx_type));
    v->stored = dtp_onnx_stored(port.onnx_type);
    const dnnl_tp_onnx_value_t *x = fixed_value(o, port.name);
    if (x) {
        DTP_ONNX_TRY(fix_input(im, x, &port, v));
        return define(s, port.name, v);
    }
    if (port.info.ndims < 0 && !shape)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "input '%s' has no shape", port.name);
    for (int d = 0; d < port.info.ndims; ++d)
        for (int i = 0; port.symbols[d] && i < o->ndims; ++i)
            if (is(o->dims[i].name, port.symbols[d])) port.info.dims[d] = o->dims[i].size;
    if (o->batch > 0 && port.info.ndims > 0) port.info.dims[0] = o->batch;
    if (shape) DTP_ONNX_TRY(give_sizes(&port, shape));
    v->info = port.info;
    v->input = port.name;
    DTP_ONNX_TRY(dnnl_tp_graph_input(im->graph, &v->v, dtp_onnx_plain(port.name, room), v->info.data_type,
                                     v->info.ndims, v->info.dims));
    if (is_fed(o, port.name)) return dtp_onnx_names_set(&s->names, port.name, v);
    return define(s, port.name, v);
}

static dnnl_tp_status_t initializer(import_t *im, scope_t *s, const tensor_proto_t *x) {
    const dtp_onnx_tensor_t *t = dtp_onnx_tensor(im->model, x);
    val_t *v = new_val(im);
    if (!v) return dnnl_tp_out_of_memory;
    if (!x->name || !*x->name) return dtp_onnx_fail(dnnl_tp_invalid_graph, "an initializer has no name");
    if (t->status)
        return dtp_onnx_fail(t->status, "initializer '%s' of type %s: %s", x->name,
                             dtp_onnx_type_name(t->onnx_type), t->why);
    v->info = t->info;
    v->data = t->data;
    v->is_borrowed = true;
    v->stored = dtp_onnx_stored(t->onnx_type);
    return define(s, x->name, v);
}

void dtp_cv_body(cv_t *cv, graph_proto_t *g, int nin, val_t *const *in, val_t **out) {
    import_t *im = cv->im;
    scope_t scope = *cv->scope;
    if (cv->status) return;
    if (++scope.depth > MAX_CALLS) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "graphs are nested more than %d deep", MAX_CALLS);
        return;
    }
    scope.parent = cv->scope;
    dtp_onnx_names_init(&scope.names, &im->memory, 0);
    for (int i = 0; i < nin && !cv->status; ++i)
        cv->status = g->input[i]->name && *g->input[i]->name
                         ? define(&scope, g->input[i]->name, in[i])
                         : dtp_onnx_fail(dnnl_tp_invalid_graph, "an input has no name");
    for (size_t i = 0; i < g->n_initializer && !cv->status; ++i)
        cv->status = initializer(im, &scope, g->initializer[i]);
    if (!cv->status && g->n_sparse_initializer)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a graph of it has sparse initializers");
    if (!cv->status) cv->status = nodes_of(im, &scope, g->n_node, g->node);
    for (size_t i = 0; i < g->n_output && !cv->status; ++i) {
        out[i] = dtp_onnx_find(&scope, text(g->output[i]->name));
        if (!out[i] || out[i] == &absent)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph, "a graph of it does not make its output '%s'",
                        text(g->output[i]->name));
        else if (out[i]->stored)
            dtp_cv_fail(cv, dnnl_tp_unimplemented,
                        "an output of its graph is %s, which only conversions read", out[i]->stored);
    }
}

/* *number: its number in the graph. */
static dnnl_tp_status_t output(import_t *im, const scope_t *s, const value_proto_t *value,
                               dnnl_tp_value_t *number) {
    dnnl_tp_onnx_port_t port;
    DTP_ONNX_TRY(dtp_onnx_port(value, &port));
    val_t *v = dtp_onnx_find(s, port.name);
    if (!v) return dtp_onnx_fail(dnnl_tp_invalid_graph, "the output '%s' is made by no node", port.name);
    if (v->stored)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the output '%s' is %s, which only conversions read",
                             port.name, v->stored);
    if (port.info.data_type != dnnl_tp_data_type_undef && port.info.data_type != v->info.data_type)
        return dtp_onnx_fail(dnnl_tp_invalid_data_type,
                             "the output '%s' is declared with another type than its node makes", port.name);
    if (port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16)
        return dtp_onnx_fail(dnnl_tp_unimplemented,
                             "the output '%s' is BFLOAT16, to which nothing is rounded", port.name);
    static char kind[] = "output";
    cv_t cv = {.im = im, .node = &(node_proto_t){.name = value->name, .op_type = kind}};
    *number = dtp_cv_value(&cv, v);
    if (cv.status) return cv.status;
    char room[DTP_ONNX_NAME];
    return dnnl_tp_graph_output(im->graph, *number, dtp_onnx_plain(port.name, room));
}

static dnnl_tp_status_t check_opts(const_dnnl_tp_onnx_model_t m, const dnnl_tp_onnx_graph_opts_t *o) {
    const graph_proto_t *g = m->proto->graph;
    if (o->ndims < 0 || (o->ndims && !o->dims) || o->nvalues < 0 || (o->nvalues && !o->values) ||
        o->nfed < 0 || (o->nfed && !o->fed) || o->batch < 0 || o->max_nodes < 0)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                             "a number of the options is negative, or a list is NULL");
    for (int i = 0; i < o->ndims; ++i) {
        bool known = false;
        for (size_t k = 0; k < g->n_input && !known; ++k) {
            dnnl_tp_onnx_port_t port;
            DTP_ONNX_TRY(dtp_onnx_port(g->input[k], &port));
            for (int d = 0; d < port.info.ndims; ++d)
                known |= port.symbols[d] && is(port.symbols[d], o->dims[i].name);
        }
        if (!known || o->dims[i].size < 0)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                                 "no input has the dimension '%s', or its size is negative", o->dims[i].name);
    }
    for (int i = 0; i < o->nvalues + o->nfed; ++i) {
        const char *name = i < o->nvalues ? o->values[i].name : o->fed[i - o->nvalues];
        bool known = false;
        for (size_t k = 0; k < g->n_input; ++k) known |= name && is(text(g->input[k]->name), name);
        if (!known) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "no input is named '%s'", text(name));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t build(import_t *im, const dnnl_tp_onnx_graph_opts_t *o) {
    const model_proto_t *p = im->model->proto;
    const graph_proto_t *g = p->graph;
    scope_t scope = {.nimports = p->n_opset_import, .imports = p->opset_import};
    dtp_onnx_names_init(&scope.names, &im->memory, 0);
    char room[DTP_ONNX_NAME];
    if (g->name && *g->name) DTP_ONNX_TRY(dnnl_tp_graph_set_name(im->graph, dtp_onnx_plain(g->name, room)));
    if (g->n_sparse_initializer)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the model has sparse initializers");
    for (size_t i = 0; i < g->n_initializer; ++i) DTP_ONNX_TRY(initializer(im, &scope, g->initializer[i]));
    im->main = &scope;
    for (int i = 0; im->part && i < im->part->ngiven; ++i)
        DTP_ONNX_TRY(given_tensor(im, &scope, &im->part->given[i], &im->part->inputs[i]));
    scope_t inputs = {0}; /* only to find names that are there twice */
    dtp_onnx_names_init(&inputs.names, &im->memory, 0);
    for (size_t i = 0; i < g->n_input; ++i) {
        DTP_ONNX_TRY(define(&inputs, text(g->input[i]->name), &absent));
        DTP_ONNX_TRY(input(im, &scope, g->input[i], o, o->shapes ? o->shapes[i] : NULL));
    }
    DTP_ONNX_TRY(nodes_of(im, &scope, g->n_node, g->node));
    for (size_t i = 0; o->inputs && i < g->n_input; ++i) {
        const val_t *v = dtp_onnx_find(&scope, g->input[i]->name);
        o->inputs[i] = v->input ? v->v : -1;
    }
    if (im->part && im->part->cut) return dnnl_tp_success;
    if (!g->n_output) return dtp_onnx_fail(dnnl_tp_invalid_graph, "the model has no outputs");
    for (size_t i = 0; i < g->n_output; ++i) {
        dnnl_tp_value_t number = -1;
        DTP_ONNX_TRY(output(im, &scope, g->output[i], &number));
        if (o->outputs) o->outputs[i] = number;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_onnx_part_create(dnnl_tp_graph_t *graph, dnnl_tp_onnx_model_t model,
                                      const dnnl_tp_onnx_graph_opts_t *opts, dtp_part_t *part) {
    enum { NODES = 100000 };
    static const size_t bytes = (size_t)1 << 30;
    if (!graph) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "graph is NULL");
    *graph = NULL;
    if (!model) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "model is NULL");
    const dnnl_tp_onnx_graph_opts_t none = {.struct_size = sizeof none}, *o = opts ? opts : &none;
    if (o->struct_size != sizeof *o)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "struct_size is %zu, needed is %zu", o->struct_size,
                             sizeof *o);
    DTP_ONNX_TRY(check_opts(model, o));
    import_t im = {.model = model,
                   .part = part,
                   .nodes_left = o->max_nodes ? o->max_nodes : NODES,
                   .bytes_left = o->max_bytes ? o->max_bytes : bytes};
    DTP_ONNX_TRY(dnnl_tp_graph_create(&im.root, o->kind ? o->kind : dnnl_tp_cpu));
    im.graph = im.root;
    dtp_import_memory_init(&im.memory);
    dnnl_tp_status_t status = o->share ? dnnl_tp_graph_share(im.root, o->share) : dnnl_tp_success;
    if (!status) status = build(&im, o);
    dtp_fold_end(&im);
    dtp_import_memory_free(&im.memory);
    if (status) (void)dnnl_tp_graph_destroy(im.root);
    else *graph = im.root;
    return status;
}

dnnl_tp_status_t dnnl_tp_onnx_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_onnx_model_t model,
                                           const dnnl_tp_onnx_graph_opts_t *opts) {
    return dtp_onnx_part_create(graph, model, opts, NULL);
}
