/* Converters: one function for each line of ops.inc, in files by group. */
#ifndef DTP_ONNX_OPS_H
#define DTP_ONNX_OPS_H

#include "onnx/attrs.h"
#include "onnx/build.h"
#include "onnx/fold.h"
#include "onnx/import.h"
#include "onnx/move.h"

#include <string.h>

/* The kind in a line of ops.inc, for operators of by_data.c. */
enum {
    DTP_BY_DATA_NONZERO,
    DTP_BY_DATA_COMPRESS,
    DTP_BY_DATA_UNIQUE,
    DTP_BY_DATA_MS_UNIQUE,
    DTP_BY_DATA_SUPPRESS
};

#define DTP_ONNX_OF(domain, op, convert, kind, fewest, most, params, ...) void dtp_onnx_##convert(cv_t *cv);
#include "onnx/ops/ops.inc"

/* Compress where the second input is known. */
void dtp_cv_compress(cv_t *cv);
/* Input i; NULL: it is absent. */
static inline val_t *dtp_cv_input(const cv_t *cv, int i) { return dtp_cv_given(cv, i) ? cv->in[i] : NULL; }
/* x + y, of which NULL adds nothing. */
val_t *dtp_cv_plus(cv_t *cv, val_t *x, val_t *y);
/* Mean over axes, which stay with size 1. */
val_t *dtp_cv_reduce(cv_t *cv, int kind, val_t *x, int n, const int64_t *axes, bool keep);
/* A vector of channels under the shape of x: {C, 1, 1, ...}. */
val_t *dtp_cv_per_channel(cv_t *cv, const val_t *x, val_t *channels);
/* Numbers of elements before and after an axis of a value; negative: elements are left out. */
val_t *dtp_cv_pad_axis(cv_t *cv, val_t *x, int axis, int64_t before, int64_t after, double value);
/* x w, or x w^T. */
val_t *dtp_cv_matmul(cv_t *cv, val_t *x, val_t *w, bool transposed);
/* The product of the attributes and inputs of a Gemm. is_last: its operator makes the node's first
 * result. */
val_t *dtp_cv_gemm(cv_t *cv, bool is_last);
/* The last operator of the node. begin: the first of the normalised dimensions; bias may be NULL. */
val_t *dtp_cv_layer_norm(cv_t *cv, val_t *x, int begin, val_t *scale, val_t *bias, float epsilon);
val_t *dtp_cv_rms_norm(cv_t *cv, val_t *x, int begin, val_t *scale, float epsilon);
/* (x - mean) / sqrt(variance + epsilon) over axes. */
val_t *dtp_cv_normalized(cv_t *cv, val_t *x, int n, const int64_t *axes, float epsilon);
/* Random numbers of f32 or f64 from 0 on and below 1. seed: the node's; NULL: it has none. */
val_t *dtp_cv_uniform(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims,
                      const uint64_t *seed);
/* By tanh or by erf. */
val_t *dtp_cv_gelu(cv_t *cv, val_t *x, bool tanh_form);
/* With the attributes of the node's windows; in: an image, weights, maybe a bias. */
val_t *dtp_cv_convolution(cv_t *cv, int nin, val_t *const *in, int64_t groups);
/* Values of an image {N, space, C} at places {N, out, 1} by axis: its elements around a place by
 * their weights, 0 outside, joined by an operator: {N, out, C}. size: of the n dimensions of space;
 * shift: added to positions on the first of them, or NULL; scale: {N, out, 1}, of what is read, or
 * NULL. */
val_t *dtp_cv_between(cv_t *cv, val_t *image, int n, const int64_t *size, val_t *const *at, val_t *shift,
                      val_t *scale, int joined_by);

#endif
