/* Which inputs have to be known when a graph is made: what the shapes, axes and positions of operators are computed from;
 * and of which it helps to know them, since they decide which branch of an If runs. */
#include "onnx/wanted.h"
#include "onnx/ops/table.h"
#include "onnx/part.h"

#include <string.h>

static bool is(const char *a, const char *b) { return !strcmp(a, b); }
static const char *text(const char *s) { return s ? s : ""; }

static dnnl_tp_status_t mark(dtp_onnx_names_t *wanted, const char *name) {
    static char yes;
    return *text(name) ? dtp_onnx_names_set(wanted, name, &yes) : dnnl_tp_success;
}

static bool is_wanted(const dtp_onnx_names_t *wanted, const char *name) {
    return *text(name) && dtp_onnx_names_get(wanted, name);
}

/* A Loop whose number of iterations is not known is a While, whose variables have no known elements. So the number has to be
 * known where the body needs known elements, or where the size of an output is that number. */
static dnnl_tp_status_t mark_loop(dtp_onnx_names_t *wanted, const node_proto_t *x) {
    enum { FIXED = 2 }; /* inputs before the variables */
    bool counts = false;
    for (size_t k = x->n_input < FIXED ? 0 : x->n_input - FIXED; k < x->n_output; ++k)
        counts |= *text(x->output[k]) != 0;
    for (size_t k = 0; k < x->n_attribute; ++k) {
        const graph_proto_t *g = x->attribute[k]->g;
        for (size_t i = 0; g && i < g->n_input; ++i) {
            if (!is_wanted(wanted, g->input[i]->name)) continue;
            counts = true;
            if (i >= FIXED && i < x->n_input) DTP_ONNX_TRY(mark(wanted, x->input[i]));
        }
    }
    for (size_t k = 0; counts && k < FIXED && k < x->n_input; ++k) DTP_ONNX_TRY(mark(wanted, x->input[k]));
    return dnnl_tp_success;
}

/* The positions that Compress keeps, if no node makes them: then they are as good as a list of axes. */
static dnnl_tp_status_t mark_kept(dtp_onnx_names_t *wanted, const node_proto_t *x, size_t n,
                                  node_proto_t *const *nodes) {
    const char *name = x->n_input > 1 ? text(x->input[1]) : "";
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < nodes[i]->n_output; ++k)
            if (is(text(nodes[i]->output[k]), name)) return dnnl_tp_success;
    return mark(wanted, name);
}

/* What a graph or function imports. */
typedef struct {
    size_t n;
    opset_proto_t *const *set;
} imports_t;

/* From the last node to the first: what a wanted tensor is computed from is wanted. Names are unique in a model. */
static dnnl_tp_status_t mark_nodes(dtp_onnx_names_t *wanted, const imports_t *imports, size_t n,
                                   node_proto_t *const *nodes) {
    for (size_t i = n; i-- > 0;) {
        const node_proto_t *x = nodes[i];
        int since;
        const char *domain = dtp_onnx_domain(text(x->domain));
        const row_t *row =
            dtp_onnx_row(domain, text(x->op_type), dtp_onnx_opset(imports->n, imports->set, domain), &since);
        bool all = false;
        for (size_t k = 0; k < x->n_output; ++k) all |= is_wanted(wanted, x->output[k]);
        all &= !is(text(x->op_type), "Shape") && !is(text(x->op_type), "Size");
        all &= !row || !dtp_onnx_is_by_data(row); /* a run computes it, between two parts */
        for (size_t k = 0; k < x->n_attribute; ++k) {
            const graph_proto_t *g = x->attribute[k]->g;
            for (size_t j = 0; g && all && j < g->n_output; ++j)
                DTP_ONNX_TRY(mark(wanted, g->output[j]->name));
            if (g) DTP_ONNX_TRY(mark_nodes(wanted, imports, g->n_node, g->node));
        }
        if (row && is(row->op, "Loop")) DTP_ONNX_TRY(mark_loop(wanted, x));
        if (row && is(row->op, "Compress")) DTP_ONNX_TRY(mark_kept(wanted, x, n, nodes));
        for (size_t k = 0; k < x->n_input; ++k)
            if (all || (row && k < sizeof row->params * 8 && row->params >> k & 1))
                DTP_ONNX_TRY(mark(wanted, x->input[k]));
    }
    return dnnl_tp_success;
}

/* ---- Ifs ---------------------------------------------------------------------------------------------- */

enum { FEW = 64, DEEPEST = 16 };

static bool has_few_integers(const value_proto_t *input) {
    dnnl_tp_onnx_port_t port;
    if (dtp_onnx_port(input, &port) || port.info.ndims < 0) return false;
    const int64_t n = dtp_onnx_elems(&port.info);
    const dnnl_tp_data_type_t type = port.info.data_type;
    return n >= 0 && n <= FEW && (type == dnnl_tp_s64 || type == dnnl_tp_s32 || type == dnnl_tp_boolean);
}

/* Does the tensor of the main graph come from constants and inputs of few integers only, by few nodes? */
static bool is_cheap(const graph_proto_t *g, const char *name, int depth) {
    if (depth > DEEPEST) return false;
    for (size_t i = 0; i < g->n_input; ++i)
        if (is(text(g->input[i]->name), name)) return has_few_integers(g->input[i]);
    for (size_t i = 0; i < g->n_initializer; ++i)
        if (is(text(g->initializer[i]->name), name)) return true;
    for (size_t i = 0; i < g->n_node; ++i)
        for (size_t k = 0; k < g->node[i]->n_output; ++k) {
            const node_proto_t *x = g->node[i];
            if (!is(text(x->output[k]), name)) continue;
            if (is(text(x->op_type), "Shape") || is(text(x->op_type), "Size")) return true;
            bool cheap = x->n_input <= 2; /* so at most 2^DEEPEST looks, of which most end early */
            for (size_t j = 0; cheap && j < x->n_input; ++j)
                cheap = !*text(x->input[j]) || is_cheap(g, x->input[j], depth + 1);
            return cheap;
        }
    return false;
}

/* Branches may fit some values of such inputs only, and make results of different shapes: a session makes a graph for
 * each of the values, with the branch that runs. */
static dnnl_tp_status_t mark_ifs(dtp_onnx_names_t *decides, const graph_proto_t *g) {
    for (size_t i = 0; i < g->n_node; ++i) {
        const node_proto_t *x = g->node[i];
        if (is(text(x->op_type), "If") && x->n_input && is_cheap(g, text(x->input[0]), 0))
            DTP_ONNX_TRY(mark(decides, x->input[0]));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t mark_branches(dnnl_tp_onnx_model_t m) {
    const graph_proto_t *g = m->proto->graph;
    dtp_onnx_names_t decides;
    dtp_onnx_names_init(&decides, &m->memory, 0);
    m->decides = dtp_import_alloc(&m->memory, g->n_input * sizeof *m->decides);
    if (!m->decides) return dnnl_tp_out_of_memory;
    DTP_ONNX_TRY(mark_ifs(&decides, g));
    /* Only what leads to an If: parameters of other operators are marked elsewhere. */
    for (size_t i = g->n_node; i-- > 0;) {
        const node_proto_t *x = g->node[i];
        bool leads = false;
        for (size_t k = 0; k < x->n_output; ++k) leads |= is_wanted(&decides, text(x->output[k]));
        for (size_t k = 0; leads && k < x->n_input; ++k) DTP_ONNX_TRY(mark(&decides, text(x->input[k])));
    }
    for (size_t i = 0; i < g->n_input; ++i)
        m->decides[i] = is_wanted(&decides, text(g->input[i]->name)) && has_few_integers(g->input[i]);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_onnx_mark_shapes(dnnl_tp_onnx_model_t m) {
    const graph_proto_t *g = m->proto->graph;
    dtp_onnx_names_t wanted;
    dtp_onnx_names_init(&wanted, &m->memory, 0);
    m->determines = dtp_import_alloc(&m->memory, g->n_input * sizeof *m->determines);
    if (!m->determines) return dnnl_tp_out_of_memory;
    const imports_t imports = {m->proto->n_opset_import, m->proto->opset_import};
    DTP_ONNX_TRY(mark_nodes(&wanted, &imports, g->n_node, g->node));
    for (size_t i = 0; i < g->n_input; ++i) m->determines[i] = is_wanted(&wanted, g->input[i]->name);
    return mark_branches(m);
}

bool dtp_cv_needs_inputs(cv_t *cv, const graph_proto_t *g) {
    dtp_onnx_names_t wanted;
    dtp_onnx_names_init(&wanted, &cv->im->memory, 0);
    if (!cv->status)
        cv->status =
            mark_nodes(&wanted, &(imports_t){cv->scope->nimports, cv->scope->imports}, g->n_node, g->node);
    bool needs = false;
    for (size_t i = 0; i < g->n_input && !cv->status; ++i) needs |= is_wanted(&wanted, g->input[i]->name);
    return needs;
}
