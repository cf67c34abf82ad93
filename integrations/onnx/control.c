/* If, Loop and Scan. An If whose condition is known is one of its branches, else two regions of the graph; a Loop whose number of
 * iterations is known and a Scan are unrolled, within the budget of nodes. */
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
    if (!cv->status && n == 0)
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "it makes no iteration, so shapes of its outputs are not known");
    return cv->status ? NULL : dtp_cv_stack(cv, (int)n, parts, 0);
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

/* ---- Scan -------------------------------------------------------------------------------------------------------- */

/* Entry i of a list of axes or directions, 0 where there is none; false: the list has another length. */
static bool entries(cv_t *cv, const char *name, int n, const int64_t **list) {
    static const int64_t zeros[MAX_OUTPUTS];
    int64_t count;
    *list = dtp_cv_attr_ints(cv, name, &count);
    if (count < 0) *list = zeros;
    else if (count != n && !cv->status)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld entries, needed are %d", name,
                    (long long)count, n);
    return !cv->status;
}

/* States pass from step to step; of scanned inputs each step sees one slice, and the slices that it makes are joined. */
void dtp_onnx_scan_steps(cv_t *cv) {
    graph_proto_t *g = dtp_cv_graph(cv, "body");
    const int64_t scanned_in = dtp_cv_int(cv, "num_scan_inputs", 0);
    if (!cv->status && (scanned_in < 1 || scanned_in > cv->nin || cv->nin > MAX_OUTPUTS ||
                        g->n_output > MAX_OUTPUTS || g->n_input != (size_t)cv->nin ||
                        g->n_output < (size_t)(cv->nin - scanned_in) || (size_t)cv->nout > g->n_output))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "its body has %zu inputs and %zu outputs for %d inputs",
                    g->n_input, g->n_output, cv->nin);
    if (cv->status) return;
    const int nscans = (int)scanned_in, nstates = cv->nin - nscans, nouts = (int)g->n_output - nstates;
    const int64_t *in_axes, *in_back, *out_axes, *out_back;
    if (!entries(cv, "scan_input_axes", nscans, &in_axes) ||
        !entries(cv, "scan_input_directions", nscans, &in_back) ||
        !entries(cv, "scan_output_axes", nouts, &out_axes) ||
        !entries(cv, "scan_output_directions", nouts, &out_back))
        return;
    val_t *state[MAX_OUTPUTS], *in[MAX_OUTPUTS], *out[MAX_OUTPUTS] = {NULL}, **parts[MAX_OUTPUTS] = {NULL};
    int axis[MAX_OUTPUTS];
    int64_t steps = -1;
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        if (!cv->in[i]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
        else if (i < nstates) state[i] = cv->in[i];
        else {
            const val_t *x = cv->in[i];
            axis[i - nstates] = dtp_cv_axis(cv, in_axes[i - nstates], x->info.ndims);
            const int64_t size = cv->status ? 0 : dtp_cv_dim(cv, x, axis[i - nstates]);
            if (!cv->status && steps >= 0 && size != steps)
                dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its scanned inputs have %lld and %lld steps",
                            (long long)steps, (long long)size);
            steps = size;
        }
    }
    if (!cv->status && steps < 1) dtp_cv_fail(cv, dnnl_tp_unimplemented, "it makes no step");
    if (!cv->status && steps > cv->im->nodes_left)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "the model has more nodes than max_nodes allows");
    if (cv->status) return;
    for (int k = 0; k < nouts; ++k)
        parts[k] = dtp_cv_alloc(cv, sizeof **parts * (size_t)(steps > 0 ? steps : 1));
    for (int64_t t = 0; t < steps && !cv->status; ++t) {
        for (int i = 0; i < nstates; ++i) in[i] = state[i];
        for (int i = 0; i < nscans && !cv->status; ++i) {
            val_t *x = cv->in[nstates + i];
            int64_t dims[DNNL_TP_MAX_NDIMS];
            for (int d = 0, k = 0; d < x->info.ndims; ++d)
                if (d != axis[i]) dims[k++] = x->info.dims[d];
            x = dtp_cv_part(cv, x, axis[i], in_back[i] ? steps - 1 - t : t, 1);
            in[nstates + i] = cv->status ? NULL : dtp_cv_reshape(cv, x, x->info.ndims - 1, dims);
        }
        if (cv->status) return;
        dtp_cv_body(cv, g, cv->nin, in, out);
        for (int i = 0; i < nstates; ++i) state[i] = out[i];
        for (int k = 0; k < nouts && !cv->status; ++k)
            parts[k][out_back[k] ? steps - 1 - t : t] = out[nstates + k];
        if (--cv->im->nodes_left < 0)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph, "the model has more nodes than max_nodes allows");
    }
    for (int i = 0; i < nstates && !cv->status; ++i) dtp_cv_set(cv, i, state[i]);
    for (int k = 0; k < nouts && nstates + k < cv->nout && !cv->status; ++k)
        if (dtp_cv_wanted(cv, nstates + k))
            dtp_cv_set(cv, nstates + k,
                       dtp_cv_stack(cv, (int)steps, parts[k],
                                    dtp_cv_axis(cv, out_axes[k], parts[k][0]->info.ndims + 1)));
}
