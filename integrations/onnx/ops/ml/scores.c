/* Scores of classes, labels, and rows of numbers. */
#include "onnx/ops/ml/ml.h"

static val_t *binary(cv_t *cv, int kind, val_t *x, double y) {
    return cv->status ? NULL : dtp_cv_binary(cv, kind, x, dtp_cv_scalar(cv, x->info.data_type, y));
}

ml_transform_t dtp_ml_transform_of(cv_t *cv) {
    static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    for (int i = 0; i < (int)(sizeof words / sizeof *words); ++i)
        if (dtp_cv_word(cv, "post_transform", "NONE", words[i])) return (ml_transform_t)i;
    dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'post_transform' is not known");
    return ML_NONE;
}

/* The exponentials of scores that are not 0 share 1 among themselves; scores of 0 stay 0. */
static val_t *softmax_zero(cv_t *cv, val_t *x) {
    static const int64_t axis = 1;
    const double zero = 0.0000001;
    val_t *most = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, x, 1, &axis, true);
    val_t *y = dtp_cv_unary(cv, dnnl_tp_op_exp, dtp_cv_binary(cv, dnnl_tp_op_subtract, x, most));
    val_t *other = dtp_cv_unary(cv, dnnl_tp_op_exp, binary(cv, dnnl_tp_op_multiply, most, -1));
    other = dtp_cv_binary(cv, dnnl_tp_op_multiply, x, other);
    val_t *counts = binary(cv, dnnl_tp_op_greater, dtp_cv_unary(cv, dnnl_tp_op_abs, x), zero);
    val_t *sum = cv->status ? NULL : dtp_cv_select(cv, counts, y, dtp_cv_scalar(cv, x->info.data_type, 0));
    sum = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, sum, 1, &axis, true);
    return dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, dtp_cv_select(cv, counts, y, other), sum);
}

/* In f64, for which there is no operator. */
static val_t *softmax(cv_t *cv, val_t *x) {
    static const int64_t axis = 1;
    val_t *most = dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, x, 1, &axis, true);
    val_t *y = dtp_cv_binary(cv, dnnl_tp_op_subtract, x, most);
    y = cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_exp, y);
    val_t *sum = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, y, 1, &axis, true);
    return cv->status ? NULL : dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, y, sum);
}

/* The inverse of the normal distribution, by Winitzki's inverse of erf: with z = 2 x - 1, l = ln(1 - z^2) and a = 0.147,
 * sqrt(2) sign(z) sqrt(sqrt(v^2 - l / a) - v), v = 2 / (pi a) + l / 2. */
static val_t *probit(cv_t *cv, val_t *x) {
    const double a = (double)0.147f, pi = (double)3.14159f, sqrt2 = (double)1.41421356f;
    val_t *z = binary(cv, dnnl_tp_op_subtract, binary(cv, dnnl_tp_op_multiply, x, 2), 1);
    val_t *above = binary(cv, dnnl_tp_op_add, z, 1);
    val_t *l = dtp_cv_binary(cv, dnnl_tp_op_multiply, above,
                             binary(cv, dnnl_tp_op_add, binary(cv, dnnl_tp_op_multiply, z, -1), 1));
    l = dtp_cv_unary(cv, dnnl_tp_op_log, l);
    val_t *v = binary(cv, dnnl_tp_op_add, binary(cv, dnnl_tp_op_multiply, l, .5), 2 / (pi * a));
    val_t *root = dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_unary(cv, dnnl_tp_op_square, v),
                                binary(cv, dnnl_tp_op_multiply, l, 1 / a));
    root = dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_unary(cv, dnnl_tp_op_sqrt, root), v);
    root = binary(cv, dnnl_tp_op_multiply, dtp_cv_unary(cv, dnnl_tp_op_sqrt, root), sqrt2);
    val_t *minus = binary(cv, dnnl_tp_op_multiply, root, -1);
    return dtp_cv_select(dtp_cv_last(cv), binary(cv, dnnl_tp_op_less, z, 0), minus, root);
}

val_t *dtp_ml_transform(cv_t *cv, val_t *x, ml_transform_t transform) {
    if (cv->status) return NULL;
    switch (transform) {
    case ML_SOFTMAX:
        if (x->info.data_type == dnnl_tp_f64) return softmax(cv, x);
        return dtp_cv_op_at(dtp_cv_last(cv), dnnl_tp_op_softmax, 1, &x, dnnl_tp_op_attr_axis, 1);
    case ML_LOGISTIC: return dtp_cv_unary(dtp_cv_last(cv), dnnl_tp_op_sigmoid, x);
    case ML_SOFTMAX_ZERO: return softmax_zero(cv, x);
    case ML_PROBIT: return probit(cv, x);
    default: return x;
    }
}

val_t *dtp_ml_rows(cv_t *cv, int input, bool keeps_f64) {
    val_t *x = cv->in[input];
    const int nd = x->info.ndims;
    if (nd != 1 && nd != 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input %d has %d dimensions, needed are 2", input, nd);
    if (x->info.data_type == dnnl_tp_boolean || x->info.data_type == dnnl_tp_u8 ||
        x->info.data_type == dnnl_tp_s8)
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its input %d has the type %s", input,
                    dnnl_tp_dt2str(x->info.data_type));
    if (cv->status) return NULL;
    if (nd == 1) x = dtp_cv_unsqueeze(cv, x, 1, 0);
    const bool stays = keeps_f64 && x && x->info.data_type == dnnl_tp_f64;
    return stays || cv->status ? x : dtp_cv_typed(cv, x, dnnl_tp_f32);
}

/* {rows, 1} as {rows} */
static val_t *as_list(cv_t *cv, val_t *x) {
    return cv->status ? NULL : dtp_cv_reshape_keeping(cv, x, 1, x->info.dims, dtp_cv_leading(1));
}

val_t *dtp_ml_best(cv_t *cv, val_t *scores) {
    static const int64_t axis = 1, k = 1;
    static const uint8_t yes = 1;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                      {dnnl_tp_op_attr_k, dnnl_tp_op_attr_s64, 1, &k},
                                      {dnnl_tp_op_attr_nan_worst, dnnl_tp_op_attr_bool, 1, &yes}};
    if (cv->status) return NULL;
    return as_list(cv, dtp_cv_op(cv, dnnl_tp_op_top_k, 1, &scores, sizeof attr / sizeof *attr, attr));
}

val_t *dtp_ml_above(cv_t *cv, val_t *score, double limit) {
    val_t *above = binary(cv, dnnl_tp_op_greater, score, limit);
    return as_list(cv, cv->status ? NULL : dtp_cv_typed(cv, above, dnnl_tp_s64));
}

val_t *dtp_ml_both(cv_t *cv, val_t *score, ml_transform_t transform, bool sums_to_1) {
    val_t *both[] = {binary(cv, dnnl_tp_op_multiply, score, -1), score};
    if (transform == ML_PROBIT) dtp_cv_fail(cv, dnnl_tp_unimplemented, "PROBIT of one score for two classes");
    if (sums_to_1 && transform != ML_LOGISTIC) both[0] = binary(cv, dnnl_tp_op_add, both[0], 1);
    val_t *scores =
        cv->status ? NULL : dtp_cv_concat(transform == ML_LOGISTIC ? cv : dtp_cv_last(cv), 1, 2, both);
    return transform == ML_LOGISTIC ? dtp_ml_transform(cv, scores, ML_LOGISTIC) : scores;
}

ml_classes_t dtp_ml_classes(cv_t *cv, const char *ints) {
    ml_classes_t c;
    int64_t texts;
    dtp_cv_attr_texts(cv, "classlabels_strings", &texts);
    c.ints = dtp_cv_attr_ints(cv, ints, &c.n);
    if (texts > 0) c = (ml_classes_t){texts, NULL};
    if (c.n <= 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no labels of classes");
    return c;
}

void dtp_ml_set_label(cv_t *cv, const ml_classes_t *classes, val_t *best) {
    if (cv->status || !dtp_cv_wanted(cv, 0)) return;
    bool counts = true;
    for (int64_t i = 0; classes->ints && i < classes->n; ++i) counts &= classes->ints[i] == i;
    dtp_cv_set(cv, 0,
               counts ? best
                      : dtp_cv_take(dtp_cv_last(cv), dtp_cv_list(cv, classes->n, classes->ints), 0, best));
}

val_t *dtp_ml_floats(cv_t *cv, const char *name, int64_t rows, int64_t *n) {
    const float *x = dtp_cv_attr_floats(cv, name, n);
    if (*n <= 0 || (rows > 0 && *n % rows))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld numbers for %lld rows", name,
                    (long long)(*n < 0 ? 0 : *n), (long long)rows);
    if (cv->status) return NULL;
    const int64_t dims[] = {rows ? rows : *n, rows ? *n / rows : 0};
    return dtp_cv_constant(cv, dnnl_tp_f32, rows ? 2 : 1, dims, x);
}
