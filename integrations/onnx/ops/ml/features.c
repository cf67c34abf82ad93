/* Numbers of features: scaled, normalised, filled in, picked, joined, encoded. */
#include "onnx/ops/ml/ml.h"
#include "onnx/words.h"

#include <math.h>

static dnnl_tp_data_type_t type_of(const val_t *x) { return x->info.data_type; }
static val_t *number(cv_t *cv, const val_t *x, double y) {
    return cv->status ? NULL : dtp_cv_scalar(cv, type_of(x), y);
}

/* A list of an attribute in the type of x, one number or one for each feature; NULL: it is absent. */
static val_t *per_feature(cv_t *cv, const val_t *x, const char *name) {
    int64_t n;
    const float *list = dtp_cv_attr_floats(cv, name, &n);
    const int64_t features = x && x->info.ndims ? x->info.dims[x->info.ndims - 1] : 1;
    if (!cv->status && n > 1 && features != CV_RUNTIME && n != features)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld numbers for %lld features",
                    name, (long long)n, (long long)features);
    if (n <= 0 || cv->status) return NULL;
    val_t *v = dtp_cv_constant(cv, dnnl_tp_f32, 1, &n, list);
    return v ? dtp_cv_typed(cv, v, type_of(x)) : NULL;
}

/* x as it is if it is f32 or f64, otherwise as f32. */
static val_t *real(cv_t *cv, val_t *x) {
    return cv->status || type_of(x) == dnnl_tp_f64 ? x : dtp_cv_typed(cv, x, dnnl_tp_f32);
}

/* (x - offset) scale */
void dtp_onnx_scaler(cv_t *cv) {
    val_t *x = real(cv, cv->in[0]), *offset = per_feature(cv, x, "offset"),
          *scale = per_feature(cv, x, "scale");
    if (offset) x = dtp_cv_binary(cv, dnnl_tp_op_subtract, x, offset);
    if (scale) x = dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, x, scale);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_typed(cv, x, dnnl_tp_f32));
}

/* Each row by its largest number, its sum of magnitudes, or its length; rows in which that is 0 stay. */
void dtp_onnx_normalizer(cv_t *cv) {
    const bool l1 = dtp_cv_word(cv, "norm", "MAX", "L1"), l2 = dtp_cv_word(cv, "norm", "MAX", "L2");
    if (!l1 && !l2 && !dtp_cv_word(cv, "norm", "MAX", "MAX"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'norm' is none of MAX, L1 and L2");
    val_t *x = cv->in[0];
    if (x->info.ndims < 1 || x->info.ndims > 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", x->info.ndims);
    if (cv->status) return;
    const int64_t axis = x->info.ndims - 1;
    x = dtp_cv_typed(cv, x, dnnl_tp_f32);
    val_t *norm = l1 || l2 || cv->status ? x : dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, x, 1, &axis, true);
    if (l1) norm = dtp_cv_unary(cv, dnnl_tp_op_abs, x);
    if (l2) norm = dtp_cv_unary(cv, dnnl_tp_op_square, x);
    if ((l1 || l2) && !cv->status) norm = dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, norm, 1, &axis, true);
    if (l2) norm = dtp_cv_unary(cv, dnnl_tp_op_sqrt, norm);
    val_t *zero = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_equal, norm, number(cv, x, 0));
    norm = dtp_cv_select(cv, zero, number(cv, x, 1), norm);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, x, norm));
}

static val_t *is_nan(cv_t *cv, val_t *x) {
    return dtp_cv_unary(cv, dnnl_tp_op_logical_not, dtp_cv_binary(cv, dnnl_tp_op_equal, x, x));
}

void dtp_onnx_imputer(cv_t *cv) {
    val_t *x = cv->in[0], *value = NULL, *here = NULL;
    const bool is_int = type_of(x) == dnnl_tp_s64;
    const double replaced = (double)dtp_cv_float(cv, "replaced_value_float", 0.f);
    const int64_t replaced_int = dtp_cv_int(cv, "replaced_value_int64", 0);
    int64_t n;
    const int64_t *ints = dtp_cv_attr_ints(cv, "imputed_value_int64s", &n);
    const int64_t features = x->info.ndims ? x->info.dims[x->info.ndims - 1] : 1;
    if (!is_int && type_of(x) != dnnl_tp_f32 && type_of(x) != dnnl_tp_f64)
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its input is of %s", dnnl_tp_dt2str(type_of(x)));
    if (is_int && (n <= 0 || (n > 1 && features != CV_RUNTIME && n != features)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its imputed_value_int64s do not fit its input");
    if (cv->status) return;
    if (is_int) {
        value = dtp_cv_list(cv, n, ints);
        here =
            dtp_cv_binary(cv, dnnl_tp_op_equal, x, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &replaced_int));
    } else {
        value = per_feature(cv, x, "imputed_value_floats");
        if (!cv->status && !value)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no imputed_value_floats");
        here =
            isnan(replaced) ? is_nan(cv, x) : dtp_cv_binary(cv, dnnl_tp_op_equal, x, number(cv, x, replaced));
    }
    dtp_cv_set(cv, 0, dtp_cv_select(dtp_cv_last(cv), here, value, x));
}

/* x > threshold */
void dtp_onnx_binarizer(cv_t *cv) {
    val_t *x = real(cv, cv->in[0]);
    val_t *above = cv->status ? NULL
                              : dtp_cv_binary(cv, dnnl_tp_op_greater, x,
                                              number(cv, x, (double)dtp_cv_float(cv, "threshold", 0.f)));
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_typed(dtp_cv_last(cv), above, type_of(x)));
}

/* Elements of the last dimension by position; a list is one row. */
void dtp_onnx_array_feature_extractor(cv_t *cv) {
    val_t *x = cv->in[0], *ids = cv->in[1];
    const int64_t n = dtp_onnx_elems(&ids->info), all = n < 0 ? CV_RUNTIME : n;
    if (x->info.ndims < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has no dimension");
    if (cv->status) return;
    ids = dtp_cv_reshape(cv, ids, 1, &all);
    if (x->info.ndims == 1) x = dtp_cv_unsqueeze(cv, x, 1, 0);
    if (!cv->status) dtp_cv_set(cv, 0, dtp_cv_take(dtp_cv_last(cv), x, x->info.ndims - 1, ids));
}

void dtp_onnx_feature_vectorizer(cv_t *cv) {
    int64_t n;
    const int64_t *sizes = dtp_cv_attr_ints(cv, "inputdimensions", &n);
    val_t **x = dtp_cv_alloc(cv, sizeof *x * (size_t)cv->nin);
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        if (!cv->in[i]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
        if (cv->status) return;
        const int nd = cv->in[i]->info.ndims;
        val_t *v = dtp_cv_typed(cv, cv->in[i], dnnl_tp_f32);
        if (nd < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input %d has no dimension", i);
        if (nd == 1) v = dtp_cv_unsqueeze(cv, v, 1, 0);
        if (nd > 2) {
            const int64_t dims[] = {v->info.dims[0], dtp_cv_product(v, 1, nd)};
            v = dtp_cv_reshape_keeping(cv, v, 2, dims, dtp_cv_leading(1));
        }
        if (i < n && !cv->status && sizes[i] != dtp_cv_dim(cv, v, 1))
            dtp_cv_fail(cv, dnnl_tp_unimplemented,
                        "its input %d has %lld features, inputdimensions says %lld", i,
                        (long long)v->info.dims[1], (long long)sizes[i]);
        x[i] = v;
    }
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_concat(dtp_cv_last(cv), 1, cv->nin, x));
}

/* 1 in the place of the category, for each element; without `zeros`, another number fails the run. */
void dtp_onnx_one_hot_encoder(cv_t *cv) {
    int64_t n, ntexts;
    const int64_t *cats = dtp_cv_attr_ints(cv, "cats_int64s", &n);
    const bool zeros = dtp_cv_int(cv, "zeros", 1) != 0;
    const ProtobufCBinaryData *texts = dtp_cv_attr_texts(cv, "cats_strings", &ntexts);
    if ((n > 0) == (ntexts > 0))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its categories are not either texts or integers");
    if (!cv->status && (ntexts > 0) != dtp_words_is(cv->in[0]))
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its input has another type than its categories");
    if (cv->status) return;
    val_t *x = dtp_cv_unsqueeze(cv, dtp_cv_typed(cv, cv->in[0], dnnl_tp_s64), 0, 1);
    val_t *all = ntexts > 0 ? dtp_ml_words(cv, ntexts, texts) : dtp_cv_list(cv, n, cats);
    n = ntexts > 0 ? ntexts : n;
    val_t *here = dtp_cv_binary(cv, dnnl_tp_op_equal, x, all);
    if (zeros) {
        dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_typed(dtp_cv_last(cv), here, dnnl_tp_f32));
        return;
    }
    /* The place of the category as a position in a table whose rows are the results, or a position outside. */
    if (cv->status) return;
    const int64_t axis = x->info.ndims - 1, dims[] = {n, n};
    void *data;
    val_t *table = dtp_cv_room(cv, dnnl_tp_f32, 2, dims, &data);
    if (cv->status) return;
    memset(data, 0, sizeof(float) * (size_t)(n * n));
    for (int64_t i = 0; i < n; ++i) ((float *)data)[i * n + i] = 1;
    val_t *place =
        dtp_cv_select(cv, here, dtp_cv_counted(cv, n, 0), dtp_cv_scalar(cv, dnnl_tp_s64, (double)n));
    place = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_min, place, 1, &axis, false);
    if (!cv->status) dtp_cv_set(cv, 0, dtp_cv_take(dtp_cv_last(cv), table, 0, place));
}
