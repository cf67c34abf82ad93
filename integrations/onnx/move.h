/* Operators that move elements without changing them. Known elements stay known. */
#ifndef DTP_ONNX_MOVE_H
#define DTP_ONNX_MOVE_H

#include "onnx/context.h"

/* One of the dimensions may be CV_RUNTIME: all remaining elements. */
val_t *dtp_cv_reshape(cv_t *cv, val_t *x, int ndims, const int64_t *dims);
/* In the shape of another tensor. */
val_t *dtp_cv_reshape_as(cv_t *cv, val_t *x, const val_t *other);
/* Bit d of kept: dimension d is dimension d of x, known or not. */
val_t *dtp_cv_reshape_keeping(cv_t *cv, val_t *x, int ndims, const int64_t *dims, unsigned kept);
static inline unsigned dtp_cv_leading(int n) { return (1u << n) - 1; }
val_t *dtp_cv_transpose(cv_t *cv, val_t *x, const int64_t *perm);
/* Elements begin..begin+size-1 of an axis. */
val_t *dtp_cv_part(cv_t *cv, val_t *x, int axis, int64_t begin, int64_t size);
/* The elements of an axis at the positions ids, which have any shape, are s32 or s64, and are not
 * negative if they are known. */
val_t *dtp_cv_take(cv_t *cv, val_t *x, int axis, val_t *ids);
val_t *dtp_cv_concat(cv_t *cv, int axis, int n, val_t *const *x);
/* Joins tensors along a new dimension. */
val_t *dtp_cv_stack(cv_t *cv, int n, val_t *const *x, int axis);
/* Broadcasts to dims as numpy does. */
val_t *dtp_cv_expand(cv_t *cv, val_t *x, int ndims, const int64_t *dims);
val_t *dtp_cv_unsqueeze(cv_t *cv, val_t *x, int before, int after);

#endif
