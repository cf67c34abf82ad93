/* The node that is converted: names, failures, memory, dimensions. */
#include "onnx/context.h"
#include "onnx/sized.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 256 };

bool dtp_onnx_may_be_same(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    bool same = a->data_type == b->data_type && a->ndims == b->ndims;
    for (int d = 0; same && d < a->ndims; ++d)
        same = a->dims[d] == b->dims[d] || a->dims[d] == CV_RUNTIME || b->dims[d] == CV_RUNTIME;
    return same;
}

val_t *dtp_onnx_find(const scope_t *s, const char *name) {
    for (; s; s = s->parent) {
        val_t *v = dtp_onnx_names_get(&s->names, name);
        if (v) return v;
    }
    return NULL;
}

const char *dtp_cv_result(const cv_t *cv) {
    const node_proto_t *n = cv->node;
    return n->n_output && n->output[0] ? n->output[0] : "";
}

void dtp_cv_fail(cv_t *cv, dnnl_tp_status_t status, const char *format, ...) {
    if (cv->status) return;
    char where[NAME * 2];
    const node_proto_t *n = cv->node;
    const char *op = n->op_type ? n->op_type : "";
    if (n->name && *n->name) (void)snprintf(where, sizeof where, "node '%.200s' (%.80s): ", n->name, op);
    else (void)snprintf(where, sizeof where, "node of '%.200s' (%.80s): ", dtp_cv_result(cv), op);
    va_list args;
    va_start(args, format);
    cv->status = dtp_onnx_fail_at(status, where, format, args);
    va_end(args);
}

bool dtp_cv_take_node(cv_t *cv) {
    if (!cv->status && --cv->im->nodes_left < 0)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "the model has more nodes than max_nodes allows");
    return !cv->status;
}

void *dtp_cv_alloc(cv_t *cv, size_t bytes) {
    if (cv->status) return NULL;
    void *p = dtp_import_alloc(&cv->im->memory, bytes ? bytes : 1);
    if (!p) cv->status = dnnl_tp_out_of_memory;
    return p;
}

void dtp_cv_pass_on(cv_t *cv, dnnl_tp_status_t status) {
    char text[NAME];
    if (!status || cv->status) return;
    (void)snprintf(text, sizeof text, "%s", dnnl_tp_last_error());
    dtp_cv_fail(cv, status, "%s", text);
}

void dtp_cv_graph_op(cv_t *cv, dnnl_tp_graph_t graph, int kind, const char *name, int nin, val_t *const *in,
                     const dnnl_tp_value_t *x, int nattr, const dnnl_tp_op_attr_t *attr, int nout,
                     dnnl_tp_value_t *y) {
    if (cv->status) return;
    const dnnl_tp_status_t status =
        dnnl_tp_graph_op(graph, (dnnl_tp_op_kind_t)kind, name, nin, x, nattr, attr, nout, y);
    bool alike = nin > 0 && in[0];
    for (int i = 1; alike && i < nin; ++i) alike = in[i] && in[i]->info.data_type == in[0]->info.data_type;
    dtp_cv_pass_on(cv, alike && status == dnnl_tp_invalid_data_type ? dnnl_tp_unimplemented : status);
}

bool dtp_cv_given(const cv_t *cv, int i) { return i < cv->nin && cv->in[i]; }
bool dtp_cv_wanted(const cv_t *cv, int i) { return i < cv->nout && *cv->node->output[i]; }

void dtp_cv_set(cv_t *cv, int i, val_t *x) {
    if (!cv->status && i < cv->nout) cv->out[i] = x;
}

val_t *dtp_cv_room(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, void **data) {
    *data = NULL;
    val_t *v = dtp_cv_alloc(cv, sizeof *v);
    if (!v) return NULL;
    if (ndims > DNNL_TP_MAX_NDIMS) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a result has %d dimensions, at most %d are allowed", ndims,
                    DNNL_TP_MAX_NDIMS);
        return NULL;
    }
    v->v = -1;
    v->info.ndims = ndims;
    v->info.data_type = type;
    if (ndims) memcpy(v->info.dims, dims, sizeof *dims * (size_t)ndims);
    const int64_t n = dtp_onnx_elems(&v->info);
    const size_t bytes = n < 0 ? 0 : (size_t)n * dtp_onnx_type_size(type);
    if (n < 0 || bytes > cv->im->bytes_left) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "a constant is too large: max_bytes leaves %zu bytes",
                    cv->im->bytes_left);
        return NULL;
    }
    cv->im->bytes_left -= bytes;
    v->data = *data = dtp_cv_alloc(cv, bytes);
    return *data ? v : NULL;
}

int dtp_cv_axis(cv_t *cv, int64_t axis, int ndims) {
    if (axis < -ndims || axis >= ndims) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "axis %lld is outside %d..%d", (long long)axis, -ndims,
                    ndims - 1);
        return 0;
    }
    return (int)(axis < 0 ? axis + ndims : axis);
}

int64_t dtp_cv_dim(cv_t *cv, const val_t *x, int d) {
    if (cv->status) return 1;
    if (d < 0 || d >= x->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "an input has only %d dimensions", x->info.ndims);
    else if (x->info.dims[d] == CV_RUNTIME)
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "dimension %d of an input has to be known: give its size (dims or batch of "
                    "dnnl_tp_onnx_graph_opts_t)",
                    d);
    else if (x->sizes) dtp_cv_guard(cv, x->sizes[d]); /* now the hint is the size */
    return cv->status ? 1 : x->info.dims[d];
}

/* Of a tensor without elements the other dimensions may be anything. */
int64_t dtp_cv_product(const val_t *x, int begin, int end) {
    int64_t n = 1;
    for (int d = begin; d < end; ++d)
        if (x->info.dims[d] == CV_RUNTIME) return CV_RUNTIME;
    for (int d = begin; d < end; ++d)
        if (__builtin_mul_overflow(n, x->info.dims[d], &n)) n = INT64_MAX;
    return n;
}
