/* What the operators of ai.onnx.ml have in common: rows of numbers, scores of classes, labels. */
#ifndef DTP_ONNX_OPS_ML_ML_H
#define DTP_ONNX_OPS_ML_ML_H

#include "onnx/ops/ops.h"

/* Numbered as attribute post_transform of TreeEnsemble. */
typedef enum { ML_NONE, ML_SOFTMAX, ML_LOGISTIC, ML_SOFTMAX_ZERO, ML_PROBIT } ml_transform_t;

/* The transform that attribute post_transform names. */
ml_transform_t dtp_ml_transform_of(cv_t *cv);
/* Applies it to scores {rows, classes} of f32 or f64. */
val_t *dtp_ml_transform(cv_t *cv, val_t *scores, ml_transform_t transform);
/* An input as rows {rows, features}, of f32, or f64 if the input is and keeps_f64: a list is one row,
 * integers become f32. */
val_t *dtp_ml_rows(cv_t *cv, int input, bool keeps_f64);
/* Number i of the classes whose score is the largest, the first of equal ones, s64 {rows}. */
val_t *dtp_ml_best(cv_t *cv, val_t *scores);
/* What two labels become: 1 where the score {rows, 1} is above the limit, otherwise 0; s64 {rows}. */
val_t *dtp_ml_above(cv_t *cv, val_t *score, double limit);
/* {-score, score}, {1 - score, score}, or the logistic function of the first. */
val_t *dtp_ml_both(cv_t *cv, val_t *score, ml_transform_t transform, bool sums_to_1);
/* Column i, {rows, 1}. */
static inline val_t *dtp_ml_column(cv_t *cv, val_t *x, int64_t i) { return dtp_cv_part(cv, x, 1, i, 1); }

/* The classes that attributes name. */
typedef struct {
    int64_t n;
    /* NULL: texts, whose positions are the labels. */
    const int64_t *ints;
} ml_classes_t;
ml_classes_t dtp_ml_classes(cv_t *cv, const char *ints);
/* Sets result 0 of a classifier from numbers of classes. */
void dtp_ml_set_label(cv_t *cv, const ml_classes_t *classes, val_t *best);

/* The numbers of texts that are words (words.h), s64 {n}. */
val_t *dtp_ml_words(cv_t *cv, int64_t n, const ProtobufCBinaryData *texts);

/* A constant of f32 from an attribute: {n}, or {rows, n / rows}. */
val_t *dtp_ml_floats(cv_t *cv, const char *name, int64_t rows, int64_t *n);
static inline val_t *dtp_ml_number(cv_t *cv, double x) { return dtp_cv_scalar(cv, dnnl_tp_f32, x); }

#endif
