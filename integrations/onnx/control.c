/* If and Loop. An If whose condition is known is one of its branches, else two regions of the graph; a Loop whose number of
 * iterations is known is unrolled, within the budget of nodes. */
#include "onnx/ops.h"

enum { MAX_OUTPUTS = 64 };

/* ---- If ---------------------------------------------------------------------------------------------------------- */

/* The results of a branch that is converted where im->graph is. */
static void branch(cv_t *cv, graph_proto_t *g, val_t **out) {
    if (cv->status) return;
    if (g->n_output != cv->node->n_output || g->n_input)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "a branch has %zu inputs and %zu outputs", g->n_input,
                    g->n_output);
    else dtp_cv_body(cv, g, 0, NULL, out);
}

void dtp_onnx_if(cv_t *cv) {
    import_t *im = cv->im;
    static const char *const names[] = {"then_branch", "else_branch"};
    graph_proto_t *g[2];
    val_t *out[2][MAX_OUTPUTS] = {{NULL}};
    for (int b = 0; b < 2; ++b) g[b] = dtp_cv_graph(cv, names[b]);
    if (cv->nout > MAX_OUTPUTS || cv->node->n_output > MAX_OUTPUTS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has more than %d outputs", MAX_OUTPUTS);
    if (cv->status) return;
    if (cv->in[0]->data) {
        const int b = dtp_val_elems(cv->in[0]) < 1 || dtp_fold_number(cv->in[0], 0) == 0;
        branch(cv, g[b], out[b]);
        for (int i = 0; i < cv->nout; ++i) dtp_cv_set(cv, i, out[b][i]);
        return;
    }
    const dnnl_tp_graph_t around = im->graph;
    dnnl_tp_graph_t region[2] = {NULL, NULL};
    dnnl_tp_value_t yield[2][MAX_OUTPUTS], results[MAX_OUTPUTS];
    for (int b = 0; b < 2 && !cv->status; ++b) {
        dtp_cv_pass_on(cv, dnnl_tp_graph_create_region(&region[b], around));
        if (cv->status) break;
        im->graph = region[b];
        branch(cv, g[b], out[b]);
        for (int i = 0; i < cv->nout && !cv->status; ++i) yield[b][i] = dtp_cv_value(cv, out[b][i]);
        im->graph = around;
    }
    if (!cv->status)
        dtp_cv_pass_on(cv, dnnl_tp_graph_if(around, cv->node->output[0], dtp_cv_value(cv, cv->in[0]),
                                            region[0], region[1], cv->nout, yield[0], yield[1], results));
    for (int i = 0; i < cv->nout && !cv->status; ++i) dtp_cv_set(cv, i, dtp_cv_made(cv, results[i]));
    for (int b = 0; b < 2; ++b) (void)dnnl_tp_graph_destroy(region[b]);
}

/* ---- Loop -------------------------------------------------------------------------------------------------------- */

/* Is a condition known? *value: what it is. */
static bool known_condition(const val_t *x, bool *value) {
    if (!x->data || dtp_val_elems(x) != 1) return false;
    *value = dtp_fold_number(x, 0) != 0;
    return true;
}

/* What the iterations made, one behind the other along a new dimension. */
static val_t *scanned(cv_t *cv, int64_t n, val_t *const *parts) {
    val_t **grown = dtp_cv_alloc(cv, sizeof *grown * (size_t)(n + !n));
    if (!cv->status && n == 0)
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "it makes no iteration, so shapes of its outputs are not known");
    for (int64_t i = 0; i < n && !cv->status; ++i) grown[i] = dtp_cv_unsqueeze(cv, parts[i], 1, 0);
    return cv->status ? NULL : dtp_cv_concat(cv, 0, (int)n, grown);
}

void dtp_onnx_loop(cv_t *cv) {
    enum { COUNT, CONDITION, VARIABLES };
    graph_proto_t *g = dtp_cv_graph(cv, "body");
    const int nvars = cv->nin > VARIABLES ? cv->nin - VARIABLES : 0;
    int64_t most = INT64_MAX, n = 0;
    bool goes_on = true;
    if (dtp_cv_given(cv, COUNT)) {
        const int64_t *count = dtp_cv_ints(cv, COUNT, &n);
        if (count && n == 1) most = *count;
    }
    if (!cv->status && dtp_cv_given(cv, CONDITION) && !known_condition(cv->in[CONDITION], &goes_on))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its condition is not known when the graph is made");
    if (!cv->status && (g->n_input != (size_t)nvars + 2 || g->n_output < (size_t)nvars + 1 ||
                        g->n_output > MAX_OUTPUTS || (size_t)cv->nout > g->n_output - 1))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "its body has %zu inputs and %zu outputs", g->n_input,
                    g->n_output);
    for (int i = 0; i < nvars; ++i)
        if (!cv->in[VARIABLES + i]) dtp_cv_fail(cv, dnnl_tp_unimplemented, "a variable of it is absent");
    if (cv->status) return;
    const int nscans = (int)g->n_output - 1 - nvars;
    val_t *in[MAX_OUTPUTS + 1], *out[MAX_OUTPUTS] = {NULL}, **scans[MAX_OUTPUTS] = {NULL};
    int64_t room = 0;
    for (int i = 0; i < nvars; ++i) in[2 + i] = cv->in[VARIABLES + i];
    for (n = 0; n < most && goes_on; ++n) {
        static const uint8_t yes = 1;
        in[0] = dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &n);
        in[1] = dtp_cv_constant(cv, dnnl_tp_boolean, 0, NULL, &yes);
        dtp_cv_body(cv, g, nvars + 2, in, out);
        if (!cv->status && !known_condition(out[0], &goes_on))
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "whether it goes on is not known when the graph is made");
        for (int k = 0; k < nscans && !cv->status; ++k) {
            if (n >= room) { /* doubled, for each of them */
                val_t **more = dtp_cv_alloc(cv, sizeof *more * (size_t)(room ? 2 * room : 8));
                if (more && n) memcpy(more, scans[k], sizeof *more * (size_t)n);
                scans[k] = more;
            }
            if (!cv->status) scans[k][n] = out[1 + nvars + k];
        }
        if (n >= room) room = room ? 2 * room : 8;
        if (cv->status) return;
        if (--cv->im->nodes_left < 0) { /* a body without nodes ends, too */
            dtp_cv_fail(cv, dnnl_tp_invalid_graph, "the model has more nodes than max_nodes allows");
            return;
        }
        for (int i = 0; i < nvars; ++i) in[2 + i] = out[1 + i];
    }
    for (int i = 0; i < nvars; ++i) dtp_cv_set(cv, i, in[2 + i]);
    for (int k = 0; k < nscans && nvars + k < cv->nout; ++k)
        if (dtp_cv_wanted(cv, nvars + k)) dtp_cv_set(cv, nvars + k, scanned(cv, n, scans[k]));
}
