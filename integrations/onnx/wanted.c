/* Which inputs have to be known when a graph is made: what the shapes, axes and positions of operators are computed from. */
#include "onnx/wanted.h"
#include "onnx/ops/table.h"

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

/* From the last node to the first: what a wanted tensor is computed from is wanted. Names are unique in a model. */
static dnnl_tp_status_t mark_nodes(dtp_onnx_names_t *wanted, int64_t version, size_t n,
                                   node_proto_t *const *nodes) {
    for (size_t i = n; i-- > 0;) {
        const node_proto_t *x = nodes[i];
        int since;
        const row_t *row =
            is(dtp_onnx_domain(text(x->domain)), "") ? dtp_onnx_row(text(x->op_type), version, &since) : NULL;
        bool all = false;
        for (size_t k = 0; k < x->n_output; ++k) all |= is_wanted(wanted, x->output[k]);
        all &= !is(text(x->op_type), "Shape") && !is(text(x->op_type), "Size");
        for (size_t k = 0; k < x->n_attribute; ++k) {
            const graph_proto_t *g = x->attribute[k]->g;
            for (size_t j = 0; g && all && j < g->n_output; ++j)
                DTP_ONNX_TRY(mark(wanted, g->output[j]->name));
            if (g) DTP_ONNX_TRY(mark_nodes(wanted, version, g->n_node, g->node));
        }
        if (row && is(row->op, "Loop")) DTP_ONNX_TRY(mark_loop(wanted, x));
        for (size_t k = 0; k < x->n_input; ++k)
            if (all || (row && k < sizeof row->params * 8 && row->params >> k & 1))
                DTP_ONNX_TRY(mark(wanted, x->input[k]));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_onnx_mark_shapes(dnnl_tp_onnx_model_t m) {
    const graph_proto_t *g = m->proto->graph;
    dtp_onnx_names_t wanted;
    dtp_onnx_names_init(&wanted, &m->memory, 0);
    m->determines = dtp_import_alloc(&m->memory, g->n_input * sizeof *m->determines);
    if (!m->determines) return dnnl_tp_out_of_memory;
    const int64_t version = dtp_onnx_opset(m->proto->n_opset_import, m->proto->opset_import, "");
    DTP_ONNX_TRY(mark_nodes(&wanted, version, g->n_node, g->node));
    for (size_t i = 0; i < g->n_input; ++i) m->determines[i] = is_wanted(&wanted, g->input[i]->name);
    return dnnl_tp_success;
}

bool dtp_cv_needs_inputs(cv_t *cv, const graph_proto_t *g) {
    dtp_onnx_names_t wanted;
    dtp_onnx_names_init(&wanted, &cv->im->memory, 0);
    if (!cv->status)
        cv->status = mark_nodes(&wanted, dtp_onnx_opset(cv->scope->nimports, cv->scope->imports, ""),
                                g->n_node, g->node);
    bool needs = false;
    for (size_t i = 0; i < g->n_input && !cv->status; ++i) needs |= is_wanted(&wanted, g->input[i]->name);
    return needs;
}
