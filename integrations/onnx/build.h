/* Adds operators and constants to the graph; reads elements that must be known at import. */
#ifndef DTP_ONNX_BUILD_H
#define DTP_ONNX_BUILD_H

#include "onnx/context.h"

/* Wraps value v, the result of an operator of the graph. */
val_t *dtp_cv_made(cv_t *cv, dnnl_tp_value_t v);
/* The number of x in the graph; adds it as a constant if it is not there yet. */
dnnl_tp_value_t dtp_cv_value(cv_t *cv, val_t *x);
/* Tells that the next operator makes the node's first result, whose name it then gets. */
static inline cv_t *dtp_cv_last(cv_t *cv) {
    cv->is_last = true;
    return cv;
}
/* Adds an operator with nout results. */
void dtp_cv_ops(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                int nout, val_t **out);
val_t *dtp_cv_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr);
val_t *dtp_cv_unary(cv_t *cv, int kind, val_t *x);
/* With up to two attributes; a key below 0 stands for none. */
val_t *dtp_cv_unary_with(cv_t *cv, int kind, val_t *x, int key, float value, int key2, float value2);
val_t *dtp_cv_binary(cv_t *cv, int kind, val_t *x, val_t *y);
/* With one integer attribute. */
val_t *dtp_cv_op_at(cv_t *cv, int kind, int nin, val_t *const *in, int key, int64_t value);
/* condition ? x : y */
val_t *dtp_cv_select(cv_t *cv, val_t *condition, val_t *x, val_t *y);
val_t *dtp_cv_typed(cv_t *cv, val_t *x, dnnl_tp_data_type_t type);
/* Numbers of f32, rounded to bf16; other types stay. */
val_t *dtp_cv_rounded(cv_t *cv, val_t *x);
/* A constant; data are copied. */
val_t *dtp_cv_constant(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, const void *data);
val_t *dtp_cv_fill(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, double value);
val_t *dtp_cv_scalar(cv_t *cv, dnnl_tp_data_type_t type, double value);
val_t *dtp_cv_list(cv_t *cv, int64_t n, const int64_t *values);
/* 0, 1, ..., n - 1 in s64, followed by `after` dimensions of 1. */
val_t *dtp_cv_counted(cv_t *cv, int64_t n, int after);
/* The elements of an input that must be known, as integers or as doubles. NULL on failure. */
const int64_t *dtp_cv_ints(cv_t *cv, int input, int64_t *n);
const double *dtp_cv_numbers(cv_t *cv, int input, int64_t *n);

#endif
