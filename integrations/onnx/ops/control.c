/* If: the branch that runs where the condition is known, else two regions of the graph. */
#include "onnx/ops/ops.h"

enum { MAX_OUTPUTS = 64 };

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
    for (int i = 0; i < cv->nout && !cv->status; ++i)
        if (!dtp_onnx_may_be_same(&out[0][i]->info, &out[1][i]->info))
            dtp_cv_fail(cv, dnnl_tp_unimplemented,
                        "its branches make results of different types or shapes, and only a run knows which "
                        "of them runs: dnnl_tp_onnx_session_run()");
    char room[DTP_ONNX_NAME];
    if (!cv->status)
        dtp_cv_pass_on(cv, dnnl_tp_graph_if(around, dtp_onnx_plain(dtp_cv_result(cv), room),
                                            dtp_cv_value(cv, cv->in[0]), region[0], region[1], cv->nout,
                                            yield[0], yield[1], results));
    for (int i = 0; i < cv->nout && !cv->status; ++i) dtp_cv_set(cv, i, dtp_cv_made(cv, results[i]));
    for (int b = 0; b < 2; ++b) (void)dnnl_tp_graph_destroy(region[b]);
}
