/* Losses: negative log likelihood of the class that each place has, and the cross entropy of scores. */
#include "onnx/ops/ops.h"

enum { SCORES, TARGET, WEIGHTS };

static val_t *total(cv_t *cv, val_t *x) {
    int64_t axes[DNNL_TP_MAX_NDIMS];
    if (cv->status) return NULL;
    for (int d = 0; d < x->info.ndims; ++d) axes[d] = d;
    return x->info.ndims ? dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, x, x->info.ndims, axes, false) : x;
}

/* -log p[n, target[n, ...], ...] * weights[target[n, ...]]; places whose target is ignore_index weigh nothing. */
static val_t *likelihood(cv_t *cv, val_t *log_p) {
    val_t *t = cv->in[TARGET], *ignored = NULL, *w = NULL;
    const dnnl_tp_data_type_t type = log_p->info.data_type, integer = t->info.data_type;
    const bool is_mean = dtp_cv_word(cv, "reduction", "mean", "mean"),
               is_sum = dtp_cv_word(cv, "reduction", "mean", "sum");
    if (!is_mean && !is_sum && !dtp_cv_word(cv, "reduction", "mean", "none"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'reduction' is none of none, sum and mean");
    const int nd = log_p->info.ndims;
    if (!cv->status && (nd < 2 || t->info.ndims != nd - 1))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its scores have %d dimensions, its targets %d", nd,
                    t->info.ndims);
    if (cv->status) return NULL;
    if (dtp_cv_has(cv, "ignore_index")) {
        const int64_t ignore = dtp_cv_int(cv, "ignore_index", 0);
        ignored = dtp_cv_binary(cv, dnnl_tp_op_equal, t, dtp_cv_scalar(cv, integer, (double)ignore));
        t = dtp_cv_select(cv, ignored, dtp_cv_scalar(cv, integer, 0), t);
    }
    if (dtp_cv_given(cv, WEIGHTS)) w = dtp_cv_take(cv, cv->in[WEIGHTS], 0, t);
    if (ignored)
        w = dtp_cv_select(cv, ignored, dtp_cv_scalar(cv, type, 0), w ? w : dtp_cv_scalar(cv, type, 1));
    if (cv->status) return NULL;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < nd; ++d) dims[d] = d == 1 ? 1 : t->info.dims[d ? d - 1 : 0];
    val_t *in[] = {log_p, dtp_cv_reshape(cv, t, nd, dims)};
    val_t *loss = dtp_cv_op_at(cv, dnnl_tp_op_gather_elements, 2, in, dnnl_tp_op_attr_axis, 1);
    loss = cv->status ? NULL : dtp_cv_reshape(cv, loss, nd - 1, t->info.dims);
    loss = dtp_cv_binary(cv, dnnl_tp_op_multiply, loss, dtp_cv_scalar(cv, type, -1));
    if (w) loss = dtp_cv_binary(cv, dnnl_tp_op_multiply, loss, w);
    if (is_sum || is_mean) loss = total(cv, loss);
    if (!is_mean) return loss;
    val_t *count = NULL;
    if (w) count = total(cv, dtp_cv_expand(cv, w, t->info.ndims, t->info.dims));
    else {
        const int64_t n = dtp_cv_product(t, 0, t->info.ndims);
        if (n == CV_RUNTIME)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "the sizes of its targets have to be known");
        count = dtp_cv_scalar(cv, type, (double)n);
    }
    return dtp_cv_binary(cv, dnnl_tp_op_divide, loss, count);
}

void dtp_onnx_negative_log_likelihood(cv_t *cv) { dtp_cv_set(cv, 0, likelihood(cv, cv->in[SCORES])); }

void dtp_onnx_cross_entropy(cv_t *cv) {
    val_t *log_p = dtp_cv_op_at(cv, dnnl_tp_op_log_softmax, 1, cv->in, dnnl_tp_op_attr_axis, 1);
    dtp_cv_set(cv, 0, cv->status ? NULL : likelihood(cv, log_p));
    dtp_cv_set(cv, 1, log_p);
}
