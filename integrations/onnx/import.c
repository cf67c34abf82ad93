/* From a model to a graph: inputs, initializers, nodes in their order, functions inlined, outputs. */
#include "onnx/import.h"
#include "onnx/narrow.h"
#include "onnx/attrs.h"
#include "onnx/build.h"
#include "onnx/check.h"
#include "onnx/fold.h"
#include "onnx/growing.h"
#include "onnx/ops/meant.h"
#include "onnx/part.h"
#include "onnx/sized.h"
#include "onnx/words.h"

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

val_t dtp_onnx_absent;

/* Failures before there is a converter. */
#define REFUSE(code, ...)                   \
    do {                                    \
        dtp_cv_fail(cv, code, __VA_ARGS__); \
        return cv->status;                  \
    } while (0)

/* Converts the nodes of a graph or a function in their order. */
static dnnl_tp_status_t nodes_of(import_t *im, scope_t *scope, const graph_proto_t *g,
                                 const function_proto_t *f);

/* The names of a scope inside of the node: first those that earlier parts made. */
static dnnl_tp_status_t begin(cv_t *cv, scope_t *s) {
    dtp_onnx_names_init(&s->names, &cv->im->memory, 0);
    return dtp_part_begin(cv, s);
}

static dnnl_tp_status_t define_input(scope_t *s, const char *name, val_t *v) {
    const val_t *have = dtp_onnx_names_get(&s->names, name);
    return have && have->is_given ? dnnl_tp_success : define(s, name, v);
}

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
    DTP_ONNX_TRY(begin(cv, &scope));
    for (size_t i = 0; i < f->n_input; ++i)
        DTP_ONNX_TRY(define_input(&scope, f->input[i],
                                  i < (size_t)cv->nin && cv->in[i] ? cv->in[i] : &dtp_onnx_absent));
    DTP_ONNX_TRY(nodes_of(im, &scope, NULL, f));
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
        if (cv->in[i] == &dtp_onnx_absent) cv->in[i] = NULL;
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
    const char *words = dtp_words_take(cv);
    dtp_onnx_read_stored(cv);
    if (!cv->status && !dtp_cv_attends(cv) && !dtp_cv_sized(cv)) cv->row->convert(cv);
    if (!cv->status) dtp_cv_all_read(cv);
    dtp_onnx_narrow_results(cv);
    dtp_words_give(cv, words);
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

static dnnl_tp_status_t nodes_of(import_t *im, scope_t *scope, const graph_proto_t *g,
                                 const function_proto_t *f) {
    frame_t frame = {.outer = im->frame, .scope = scope, .graph = g, .function = f};
    const size_t n = g ? g->n_node : f->n_node;
    node_proto_t *const *nodes = g ? g->node : f->node;
    dnnl_tp_status_t status = dnnl_tp_success;
    im->frame = &frame;
    for (; frame.at < n && !status; ++frame.at) {
        if (dtp_part_has(scope, nodes[frame.at])) continue;
        status = dtp_part_is_cut(im, scope, nodes[frame.at]) ? dtp_part_end(im)
                                                             : one_node(im, scope, nodes[frame.at]);
    }
    im->frame = frame.outer;
    return status;
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

/* Symbols for the open sizes of an input, of which the graph knows none. One name says that two sizes are equal; if
 * they are, that is guarded; if they are not, they are two symbols. */
static dnnl_tp_status_t size_input(import_t *im, const scope_t *scope, int index,
                                   const dnnl_tp_onnx_port_t *port, val_t *v) {
    const graph_proto_t *g = im->model->proto->graph;
    dtp_sizes_t *s = im->sizes;
    dtp_size_t sizes[DNNL_TP_MAX_NDIMS];
    cv_t cv = {.im = im, .node = &(node_proto_t){.name = g->input[index]->name}};
    for (int d = 0; d < v->info.ndims; ++d) {
        const int64_t size = v->info.dims[d];
        sizes[d] = d < port->info.ndims && port->info.dims[d] != CV_RUNTIME
                       ? dtp_size_number(s, size)
                       : dtp_size_symbol(s, index, d, size, text(port->name));
        for (int i = 0; i <= index && size > 1 && port->symbols[d] && !dtp_size_is_number(s, sizes[d]); ++i) {
            dnnl_tp_onnx_port_t other;
            DTP_ONNX_TRY(dtp_onnx_port(g->input[i], &other));
            const val_t *x = i == index ? v : dtp_onnx_find(scope, other.name);
            int k = 0;
            const int most = i == index ? d : x && x->sizes ? other.info.ndims : 0;
            while (k < most && (!other.symbols[k] || !is(other.symbols[k], port->symbols[d]) ||
                                v->info.dims[d] != x->info.dims[k]))
                ++k;
            if (k == most) continue;
            const dtp_size_t same = i == index ? sizes[k] : x->sizes[k];
            if (dtp_cv_size_is(&cv, same, DTP_SIZE_EQUAL, sizes[d])) sizes[d] = same;
            break;
        }
    }
    dtp_cv_set_sizes(&cv, v, v->info.ndims, sizes);
    return cv.status;
}

static dnnl_tp_status_t input(import_t *im, scope_t *s, int index, const dnnl_tp_onnx_graph_opts_t *o) {
    const value_proto_t *value = im->model->proto->graph->input[index];
    const dnnl_tp_tensor_info_t *shape = o->shapes ? o->shapes[index] : NULL;
    dnnl_tp_onnx_port_t port, declared;
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
    v->stored = port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING ? dtp_words_read
                                                                            : dtp_onnx_stored(port.onnx_type);
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
    declared = port;
    if (shape) DTP_ONNX_TRY(give_sizes(&port, shape));
    v->info = port.info;
    v->input = port.name;
    if (im->sizes && shape) {
        DTP_ONNX_TRY(size_input(im, s, index, &declared, v));
        for (int d = 0; d < port.info.ndims; ++d)
            if (d >= declared.info.ndims || declared.info.dims[d] == CV_RUNTIME)
                port.info.dims[d] = CV_RUNTIME;
    }
    DTP_ONNX_TRY(dnnl_tp_graph_input(im->graph, &v->v, dtp_onnx_plain(port.name, room), v->info.data_type,
                                     v->info.ndims, port.info.dims));
    if (im->inputs) im->inputs[index] = v->v;
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
    scope_t *scope = dtp_cv_alloc(cv, sizeof *scope);
    if (!scope) return;
    *scope = *cv->scope;
    cv->body = scope;
    if (++scope->depth > MAX_CALLS) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "graphs are nested more than %d deep", MAX_CALLS);
        return;
    }
    scope->parent = cv->scope;
    cv->status = begin(cv, scope);
    for (int i = 0; i < nin && !cv->status; ++i)
        cv->status = g->input[i]->name && *g->input[i]->name
                         ? define_input(scope, g->input[i]->name, in[i])
                         : dtp_onnx_fail(dnnl_tp_invalid_graph, "an input has no name");
    for (size_t i = 0; i < g->n_initializer && !cv->status; ++i)
        cv->status = initializer(im, scope, g->initializer[i]);
    if (!cv->status && g->n_sparse_initializer)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a graph of it has sparse initializers");
    if (!cv->status) cv->status = nodes_of(im, scope, g, NULL);
    for (size_t i = 0; i < g->n_output && !cv->status; ++i) {
        out[i] = dtp_onnx_find(scope, text(g->output[i]->name));
        if (!out[i] || out[i] == &dtp_onnx_absent)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph, "a graph of it does not make its output '%s'",
                        text(g->output[i]->name));
        else if (out[i]->stored)
            dtp_cv_fail(cv, dnnl_tp_unimplemented,
                        "an output of its graph is %s, which graphs do not pass on", out[i]->stored);
    }
}

/* *number: its number in the graph. */
static dnnl_tp_status_t output(import_t *im, const scope_t *s, const value_proto_t *value,
                               dnnl_tp_value_t *number) {
    dnnl_tp_onnx_port_t port;
    DTP_ONNX_TRY(dtp_onnx_port(value, &port));
    val_t *v = dtp_onnx_find(s, port.name);
    if (!v) return dtp_onnx_fail(dnnl_tp_invalid_graph, "the output '%s' is made by no node", port.name);
    if (v->rows) v = v->rows; /* a state has the others */
    if (v->stored == dtp_words_read)
        return dtp_onnx_fail(
            dnnl_tp_unimplemented,
            "the output '%s' may be any text of an input, but graphs carry only words of encoders",
            port.name);
    if (v->stored && v->stored != dtp_words_made && !dtp_onnx_narrow(v->stored) &&
        !dtp_onnx_float8(v->stored))
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the output '%s' is %s, which only conversions read",
                             port.name, v->stored);
    if (port.info.data_type != dnnl_tp_data_type_undef && port.info.data_type != v->info.data_type)
        return dtp_onnx_fail(dnnl_tp_invalid_data_type,
                             "the output '%s' is declared with another type than its node makes", port.name);
    static char kind[] = "output";
    cv_t cv = {.im = im, .node = &(node_proto_t){.name = value->name, .op_type = kind}};
    if (port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16) v = dtp_cv_rounded(&cv, v);
    *number = dtp_cv_value(&cv, v);
    for (int d = 0; im->sizes && d < v->info.ndims; ++d) {
        const dtp_size_t size = dtp_cv_size(&cv, v, d);
        DTP_ONNX_TRY(dtp_import_grow(&im->sizes->memory, (void **)&im->sizes->results,
                                     &im->sizes->cap_results, im->sizes->nresults + 1, sizeof size));
        im->sizes->results[im->sizes->nresults++] = size;
    }
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
    scope_t scope = {.path = "", .nimports = p->n_opset_import, .imports = p->opset_import};
    dtp_onnx_names_init(&scope.names, &im->memory, 0);
    char room[DTP_ONNX_NAME];
    if (g->name && *g->name) DTP_ONNX_TRY(dnnl_tp_graph_set_name(im->graph, dtp_onnx_plain(g->name, room)));
    if (g->n_sparse_initializer)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the model has sparse initializers");
    for (size_t i = 0; i < g->n_initializer; ++i) DTP_ONNX_TRY(initializer(im, &scope, g->initializer[i]));
    DTP_ONNX_TRY(dtp_part_begin_all(im, &scope));
    scope_t inputs = {0}; /* only to find names that are there twice */
    dtp_onnx_names_init(&inputs.names, &im->memory, 0);
    for (size_t i = 0; i < g->n_input; ++i) {
        DTP_ONNX_TRY(define(&inputs, text(g->input[i]->name), &dtp_onnx_absent));
        DTP_ONNX_TRY(input(im, &scope, (int)i, o));
    }
    DTP_ONNX_TRY(dtp_growing_begin(im, &scope));
    dnnl_tp_status_t status = nodes_of(im, &scope, g, NULL);
    if (status && (int)status != DTP_PART_ENDS) return status;
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
                                      const dnnl_tp_onnx_graph_opts_t *opts, dtp_part_t *part,
                                      dtp_sizes_t *sizes) {
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
                   .sizes = sizes,
                   .nodes_left = o->max_nodes ? o->max_nodes : NODES,
                   .bytes_left = o->max_bytes ? o->max_bytes : bytes};
    im.for_cpu = !o->kind || o->kind == dnnl_tp_cpu;
    DTP_ONNX_TRY(dnnl_tp_graph_create(&im.root, o->kind ? o->kind : dnnl_tp_cpu));
    im.graph = im.root;
    dtp_import_memory_init(&im.memory);
    dnnl_tp_status_t status = o->share ? dnnl_tp_graph_share(im.root, o->share) : dnnl_tp_success;
    if (sizes && !status) {
        im.inputs = dtp_import_alloc(&im.memory, model->proto->graph->n_input * sizeof *im.inputs);
        if (!im.inputs) status = dnnl_tp_out_of_memory;
    }
    if (!status) status = build(&im, o);
    dtp_fold_end(&im);
    dtp_import_memory_free(&im.memory);
    if (status) (void)dnnl_tp_graph_destroy(im.root);
    else *graph = im.root;
    return status;
}

dnnl_tp_status_t dnnl_tp_onnx_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_onnx_model_t model,
                                           const dnnl_tp_onnx_graph_opts_t *opts) {
    return dtp_onnx_part_create(graph, model, opts, NULL, NULL);
}
