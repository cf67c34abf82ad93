/* Constant folding: operators on known elements are computed at import. */
#ifndef DTP_ONNX_FOLD_H
#define DTP_ONNX_FOLD_H

#include "onnx/context.h"

val_t *dtp_fold_take(cv_t *cv, const val_t *x, int axis, const val_t *ids);
val_t *dtp_fold_concat(cv_t *cv, int axis, int n, val_t *const *x);
val_t *dtp_fold_transpose(cv_t *cv, const val_t *x, const int64_t *perm);
/* Computes an operator of the graph; false: an input is unknown or too large. */
bool dtp_fold_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                 int nout, val_t **out);
void dtp_fold_end(import_t *im);
/* NULL: operators of this kind are not folded. */
val_t *dtp_fold_binary(cv_t *cv, int kind, const val_t *x, const val_t *y);
double dtp_fold_number(const val_t *x, int64_t i);
bool dtp_fold_wants(const val_t *x);
/* Whether all elements are known to be this number. */
bool dtp_fold_is(const val_t *x, double number);

#endif
