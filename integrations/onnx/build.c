/* Operators and constants of the graph, see build.h. */
#include "onnx/build.h"
#include "onnx/fold.h"
#include "onnx/growing.h"
#include "onnx/sized.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 256 };

dnnl_tp_value_t dtp_cv_value(cv_t *cv, val_t *x) {
    if (cv->status || !x) return -1;
    if (x->v >= 0) return x->v;
    if (x->rows || x->meant) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it reads a growing cache, which only attention can");
        return -1;
    }
    if (x->elems) {
        x->v = dtp_cv_elems_value(cv, x);
    } else if (x->is_borrowed) {
        /* Refused or not, the library drops what it was lent. */
        dtp_onnx_model_ref(cv->im->model);
        dtp_cv_pass_on(cv, dnnl_tp_graph_constant(cv->im->root, &x->v, NULL, x->info.data_type, x->info.ndims,
                                                  x->info.dims, x->data, DNNL_TP_CONSTANT_BORROW,
                                                  dtp_onnx_model_unref, cv->im->model));
    } else {
        dtp_cv_pass_on(cv, dnnl_tp_graph_constant(cv->im->root, &x->v, NULL, x->info.data_type, x->info.ndims,
                                                  x->info.dims, x->data, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    }
    dtp_growing_constant(cv, x);
    return x->v;
}

static val_t *made(cv_t *cv, dnnl_tp_value_t v) {
    val_t *x = dtp_cv_alloc(cv, sizeof *x);
    if (!x) return NULL;
    x->v = v;
    dtp_cv_pass_on(cv, dnnl_tp_graph_value_info(cv->im->root, v, &x->info));
    return x;
}

val_t *dtp_cv_made(cv_t *cv, dnnl_tp_value_t v) {
    val_t *x = made(cv, v);
    for (int d = 0; x && cv->im->sizes && d < x->info.ndims; ++d)
        if (x->info.dims[d] == CV_RUNTIME)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "dimension %d of a result has no expression", d);
    return x;
}

void dtp_cv_ops(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                int nout, val_t **out) {
    enum { FEW = 64 };
    dnnl_tp_value_t in_values[FEW], out_values[FEW];
    char name[NAME], room[DTP_ONNX_NAME];
    for (int i = 0; i < nout; ++i) out[i] = NULL;
    if (nin > FEW || nout > FEW)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has more than %d inputs or outputs", FEW);
    if (dtp_fold_op(cv, kind, nin, in, nattr, attr, nout, out)) {
        cv->is_last = false;
        return;
    }
    for (int i = 0; i < nin && !cv->status; ++i) in_values[i] = dtp_cv_value(cv, in[i]);
    if (cv->status) return;
    const char *result = dtp_cv_result(cv);
    if (cv->is_last) (void)snprintf(name, sizeof name, "%s", result);
    else (void)snprintf(name, sizeof name, "%.240s.%d", result, ++cv->parts);
    cv->is_last = false;
    dtp_cv_graph_op(cv, cv->im->graph, kind, dtp_onnx_plain(name, room), nin, in, in_values, nattr, attr,
                    nout, out_values);
    for (int i = 0; i < nout && !cv->status; ++i) {
        out[i] = made(cv, out_values[i]);
    }
    dtp_cv_size_results(cv, kind, nin, in, nattr, attr, nout, out);
    dtp_growing_op(cv, kind, nin, in, nattr, attr, nout, out);
}

val_t *dtp_cv_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr) {
    val_t *out;
    dtp_cv_ops(cv, kind, nin, in, nattr, attr, 1, &out);
    return out;
}

val_t *dtp_cv_unary(cv_t *cv, int kind, val_t *x) { return dtp_cv_op(cv, kind, 1, &x, 0, NULL); }

val_t *dtp_cv_unary_with(cv_t *cv, int kind, val_t *x, int key, float value, int key2, float value2) {
    const dnnl_tp_op_attr_t attr[] = {{key, dnnl_tp_op_attr_f32, 1, &value},
                                      {key2, dnnl_tp_op_attr_f32, 1, &value2}};
    return dtp_cv_op(cv, kind, 1, &x, key2 >= 0 ? 2 : key >= 0, attr);
}

val_t *dtp_cv_binary(cv_t *cv, int kind, val_t *x, val_t *y) {
    if (!cv->status && x->data && y->data) {
        val_t *known = dtp_fold_binary(cv, kind, x, y);
        if (known || cv->status) return known;
    }
    val_t *in[] = {x, y};
    return dtp_cv_op(cv, kind, 2, in, 0, NULL);
}

val_t *dtp_cv_op_at(cv_t *cv, int kind, int nin, val_t *const *in, int key, int64_t value) {
    const dnnl_tp_op_attr_t attr = {key, dnnl_tp_op_attr_s64, 1, &value};
    return dtp_cv_op(cv, kind, nin, in, 1, &attr);
}

val_t *dtp_cv_select(cv_t *cv, val_t *condition, val_t *x, val_t *y) {
    val_t *in[] = {condition, x, y};
    return dtp_cv_op(cv, dnnl_tp_op_select, sizeof in / sizeof *in, in, 0, NULL);
}

val_t *dtp_cv_typed(cv_t *cv, val_t *x, dnnl_tp_data_type_t type) {
    if (cv->status || x->info.data_type == type) return x;
    const char *name = dnnl_tp_dt2str(type);
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, (int)strlen(name), name};
    return dtp_cv_op(cv, dnnl_tp_op_type_cast, 1, &x, 1, &attr);
}

val_t *dtp_cv_rounded(cv_t *cv, val_t *x) {
    if (cv->status || x->info.data_type != dnnl_tp_f32) return x;
    val_t *y = dtp_cv_typed(cv, x, dnnl_tp_bf16);
    return cv->status ? NULL : dtp_cv_typed(cv, y, dnnl_tp_f32);
}

/* ---- Constants --------------------------------------------------------------------------------------------- */

val_t *dtp_cv_constant(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, const void *data) {
    void *to;
    val_t *v = dtp_cv_room(cv, type, ndims, dims, &to);
    if (v) memcpy(to, data, (size_t)dtp_val_elems(v) * dtp_onnx_type_size(type));
    return v;
}

static void put(void *data, int64_t i, dnnl_tp_data_type_t type, double value) {
    /* Integers that converters ask for are small; what comes from files may be anything. */
    const int64_t n = value >= -0x1p62 && value <= 0x1p62 ? (int64_t)value : 0;
    switch (type) {
    case dnnl_tp_f32: ((float *)data)[i] = (float)value; break;
    case dnnl_tp_f64: ((double *)data)[i] = value; break;
    case dnnl_tp_s64: ((int64_t *)data)[i] = n; break;
    case dnnl_tp_s32: ((int32_t *)data)[i] = (int32_t)n; break;
    case dnnl_tp_boolean: ((uint8_t *)data)[i] = value != 0; break;
    default: ((uint8_t *)data)[i] = (uint8_t)n; break;
    }
}

val_t *dtp_cv_fill(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, double value) {
    void *to;
    val_t *v = dtp_cv_room(cv, type, ndims, dims, &to);
    const int64_t n = v ? dtp_val_elems(v) : 0;
    for (int64_t i = 0; i < n; ++i) put(to, i, type, value);
    return v;
}

val_t *dtp_cv_scalar(cv_t *cv, dnnl_tp_data_type_t type, double value) {
    return dtp_cv_fill(cv, type, 0, NULL, value);
}

val_t *dtp_cv_list(cv_t *cv, int64_t n, const int64_t *values) {
    return dtp_cv_constant(cv, dnnl_tp_s64, 1, &n, values);
}

val_t *dtp_cv_counted(cv_t *cv, int64_t n, int after) {
    void *p;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < DNNL_TP_MAX_NDIMS; ++d) dims[d] = d ? 1 : n;
    val_t *v = dtp_cv_room(cv, dnnl_tp_s64, 1 + after, dims, &p);
    for (int64_t i = 0; v && i < n; ++i) ((int64_t *)p)[i] = i;
    return v;
}

/* ---- Elements that have to be known -------------------------------------------------------------------------- */

static const val_t *known(cv_t *cv, int i) {
    if (cv->status) return NULL;
    const val_t *x = dtp_cv_given(cv, i) ? cv->in[i] : NULL;
    if (!x) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
    else if (x->data) return x;
    else if (x->input)
        dtp_cv_fail(
            cv, dnnl_tp_unimplemented,
            "the elements of its input '%s' have to be known: fix it (values of dnnl_tp_onnx_graph_opts_t)",
            x->input);
    else
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "the elements of its input '%s' have to be known when the graph is made",
                    cv->node->input[i]);
    return NULL;
}

const int64_t *dtp_cv_ints(cv_t *cv, int input, int64_t *n) {
    *n = 0;
    const val_t *x = known(cv, input);
    if (!x) return NULL;
    if (x->info.data_type != dnnl_tp_s64 && x->info.data_type != dnnl_tp_s32) {
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its input '%s' has no integers", cv->node->input[input]);
        return NULL;
    }
    *n = dtp_val_elems(x);
    if (x->info.data_type == dnnl_tp_s64) return x->data;
    int64_t *to = dtp_cv_alloc(cv, (size_t)*n * sizeof *to);
    for (int64_t i = 0; to && i < *n; ++i) to[i] = ((const int32_t *)x->data)[i];
    return to;
}

const double *dtp_cv_numbers(cv_t *cv, int input, int64_t *n) {
    *n = 0;
    const val_t *x = known(cv, input);
    if (!x) return NULL;
    *n = dtp_val_elems(x);
    double *to = dtp_cv_alloc(cv, (size_t)*n * sizeof *to);
    for (int64_t i = 0; to && i < *n; ++i) to[i] = dtp_fold_number(x, i);
    return to;
}
