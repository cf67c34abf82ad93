/* A While of the graph in the making: an index that counts from 0, variables, and what its iterations collect. */
#include "onnx/ops/repeat.h"
#include "onnx/ops/ops.h"

void dtp_repeat_begin(dtp_repeat_t *r, cv_t *cv) {
    *r = (dtp_repeat_t){.cv = cv, .around = cv->im->graph};
    if (!cv->status) dtp_cv_pass_on(cv, dnnl_tp_graph_create_region(&r->cond, r->around));
    if (!cv->status) dtp_cv_pass_on(cv, dnnl_tp_graph_create_region(&r->body, r->cond));
    r->index = dtp_repeat_variable(r, dtp_cv_scalar(cv, dnnl_tp_s64, 0));
}

val_t *dtp_repeat_variable(dtp_repeat_t *r, val_t *init) {
    cv_t *cv = r->cv;
    dnnl_tp_value_t v = -1;
    if (!cv->status && r->n >= DTP_REPEAT_MOST)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has more than %d variables", DTP_REPEAT_MOST);
    if (cv->status) return NULL;
    dtp_cv_pass_on(
        cv, dnnl_tp_graph_input(r->cond, &v, "", init->info.data_type, init->info.ndims, init->info.dims));
    r->init[r->n] = init;
    return r->inside[r->n++] = dtp_cv_made(cv, v);
}

void dtp_repeat_next(dtp_repeat_t *r, const val_t *variable, val_t *next, const char *name) {
    cv_t *cv = r->cv;
    if (cv->status) return;
    if (!dtp_onnx_may_be_same(&variable->info, &next->info))
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its variable '%s' gets another shape or type, and its iterations are not known when the "
                    "graph is made",
                    name);
    for (int i = 0; i < r->n; ++i)
        if (r->inside[i] == variable) r->next[i] = next;
}

void dtp_repeat_collect_in(dtp_repeat_t *r, val_t *room, val_t *at, val_t *x) {
    cv_t *cv = r->cv;
    static const int64_t one_place[2] = {1, 1};
    static const char word[] = "none";
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_reduction, dnnl_tp_op_attr_string, sizeof word - 1, word};
    if (cv->status) return;
    val_t *all = dtp_repeat_variable(r, room);
    val_t *in[] = {all, dtp_cv_reshape(cv, at, 2, one_place), dtp_cv_unsqueeze(cv, x, 1, 0)};
    dtp_repeat_next(r, all, dtp_cv_op(cv, dnnl_tp_op_scatter_nd, 3, in, 1, &attr), "");
}

void dtp_repeat_collect(dtp_repeat_t *r, int64_t steps, val_t *at, val_t *x) {
    cv_t *cv = r->cv;
    int64_t dims[DNNL_TP_MAX_NDIMS] = {steps};
    if (!cv->status && x->info.ndims >= DNNL_TP_MAX_NDIMS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a result has more than %d dimensions", DNNL_TP_MAX_NDIMS);
    for (int d = 0; !cv->status && d < x->info.ndims; ++d) dims[1 + d] = dtp_cv_dim(cv, x, d);
    if (!cv->status)
        dtp_repeat_collect_in(r, dtp_cv_fill(cv, x->info.data_type, x->info.ndims + 1, dims, 0), at, x);
}

void dtp_repeat_end(dtp_repeat_t *r, val_t *condition, val_t **results) {
    cv_t *cv = r->cv;
    dnnl_tp_value_t v[4][DTP_REPEAT_MOST];
    enum { INIT, INSIDE, NEXT, RESULT };
    cv->im->graph = r->body;
    dtp_repeat_next(r, r->index,
                    dtp_cv_binary(cv, dnnl_tp_op_add, r->index, dtp_cv_scalar(cv, dnnl_tp_s64, 1)), "");
    cv->im->graph = r->around;
    for (int i = 0; i < r->n; ++i) {
        v[INIT][i] = dtp_cv_value(cv, r->init[i]);
        v[INSIDE][i] = dtp_cv_value(cv, r->inside[i]);
        v[NEXT][i] = dtp_cv_value(cv, r->next[i]);
    }
    const dnnl_tp_value_t goes_on = dtp_cv_value(cv, condition);
    char room[DTP_ONNX_NAME];
    if (!cv->status)
        dtp_cv_pass_on(cv, dnnl_tp_graph_while(r->around, dtp_onnx_plain(dtp_cv_result(cv), room), r->cond,
                                               goes_on, r->body, r->n, v[INIT], v[INSIDE], v[NEXT], 0,
                                               v[RESULT]));
    for (int i = 0; i < r->n && !cv->status; ++i) results[i] = dtp_cv_made(cv, v[RESULT][i]);
    (void)dnnl_tp_graph_destroy(r->body);
    (void)dnnl_tp_graph_destroy(r->cond);
}
