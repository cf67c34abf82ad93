/* LabelEncoder, CategoryMapper and ZipMap. */
#include "onnx/ops/ml/ml.h"
#include "onnx/words.h"

#include <math.h>

/* Keys, values or the default of an encoder, of one of the types that it may have. */
typedef struct {
    val_t *list;  /* {n} of s64, f32, f64; NULL: there are none */
    bool is_text; /* the numbers of words */
} side_t;

val_t *dtp_ml_words(cv_t *cv, int64_t n, const ProtobufCBinaryData *texts) {
    void *p;
    val_t *v = dtp_cv_room(cv, dnnl_tp_s64, 1, &n, &p);
    for (int64_t i = 0; v && i < n; ++i) {
        ((int64_t *)p)[i] = dtp_words_number(cv->im->model, texts[i].data, texts[i].len);
        if (((int64_t *)p)[i] == DTP_NO_WORD)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its texts are attributes of the call of a function");
    }
    return cv->status ? NULL : v;
}

static val_t *flat(cv_t *cv, val_t *x) {
    const int64_t n = x && !cv->status ? dtp_val_elems(x) : 0;
    return x && !cv->status ? dtp_cv_reshape(cv, x, 1, &n) : NULL;
}

static side_t side(cv_t *cv, const char *ints, const char *floats, const char *texts, const char *tensor) {
    int64_t n;
    side_t s = {NULL, false};
    const int64_t *i = dtp_cv_attr_ints(cv, ints, &n);
    if (n > 0) s.list = dtp_cv_list(cv, n, i);
    const float *f = dtp_cv_attr_floats(cv, floats, &n);
    if (n > 0) s.list = dtp_cv_constant(cv, dnnl_tp_f32, 1, &n, f);
    const ProtobufCBinaryData *words = dtp_cv_attr_texts(cv, texts, &n);
    if (!(n > 0) && tensor) words = dtp_cv_tensor_texts(cv, tensor, &n);
    s.is_text = n > 0;
    if (s.is_text) s.list = dtp_ml_words(cv, n, words);
    else if (tensor && dtp_cv_has(cv, tensor)) s.list = flat(cv, dtp_cv_tensor(cv, tensor));
    return s;
}

/* What an element becomes that no key is equal to. */
static val_t *default_of(cv_t *cv, dnnl_tp_data_type_t type, bool is_text) {
    static uint8_t letters[] = "_Unused";
    static const ProtobufCBinaryData unused = {.len = sizeof letters - 1, .data = letters};
    int64_t n;
    const ProtobufCBinaryData *texts = dtp_cv_tensor_texts(cv, "default_tensor", &n),
                              *word = dtp_cv_attr_bytes(cv, "default_string");
    const int64_t i = dtp_cv_int(cv, "default_int64", -1), one = 1;
    const float f = dtp_cv_float(cv, "default_float", -0.f);
    if (is_text) return n == 1 ? dtp_ml_words(cv, 1, texts) : dtp_ml_words(cv, 1, word ? word : &unused);
    if (dtp_cv_has(cv, "default_tensor")) return flat(cv, dtp_cv_tensor(cv, "default_tensor"));
    return type == dnnl_tp_s64 ? dtp_cv_list(cv, 1, &i) : dtp_cv_constant(cv, dnnl_tp_f32, 1, &one, &f);
}

/* For each element of x: n minus the position of the first key that it is equal to; 0: there is none. */
static val_t *rank_of(cv_t *cv, val_t *x, val_t *keys) {
    enum { KNOWS_NAN = 4 };
    const int64_t n = keys->info.dims[0], axis = x->info.ndims;
    void *p, *q;
    bool has_nan = false;
    val_t *ranks = dtp_cv_room(cv, dnnl_tp_s64, 1, &n, &p),
          *nans = dtp_cv_room(cv, dnnl_tp_boolean, 1, &n, &q);
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        ((int64_t *)p)[i] = n - i;
        ((uint8_t *)q)[i] = isnan(dtp_fold_number(keys, i));
        has_nan |= cv->since >= KNOWS_NAN && ((uint8_t *)q)[i];
    }
    x = dtp_cv_unsqueeze(cv, x, 0, 1);
    val_t *here = dtp_cv_binary(cv, dnnl_tp_op_equal, x, keys);
    if (has_nan) { /* a key that is NaN is that of NaN */
        val_t *is_nan = dtp_cv_unary(cv, dnnl_tp_op_logical_not, dtp_cv_binary(cv, dnnl_tp_op_equal, x, x));
        here = dtp_cv_binary(cv, dnnl_tp_op_logical_or, here,
                             dtp_cv_binary(cv, dnnl_tp_op_logical_and, is_nan, nans));
    }
    val_t *rank = dtp_cv_select(cv, here, ranks, dtp_cv_scalar(cv, dnnl_tp_s64, 0));
    return cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, rank, 1, &axis, false);
}

/* The default, then the values in reverse order: the table that ranks are positions in. */
static val_t *table_of(cv_t *cv, val_t *values, val_t *otherwise) {
    const int64_t n = values->info.dims[0];
    void *p;
    val_t *order = dtp_cv_room(cv, dnnl_tp_s64, 1, &n, &p);
    for (int64_t i = 0; order && i < n; ++i) ((int64_t *)p)[i] = n - 1 - i;
    val_t *both[] = {otherwise, order ? dtp_cv_take(cv, values, 0, order) : NULL};
    return cv->status ? NULL : dtp_cv_concat(cv, 0, 2, both);
}

static void encode(cv_t *cv, side_t keys, side_t values) {
    val_t *x = cv->in[0];
    if (!cv->status && (!keys.list || !values.list || keys.list->info.dims[0] != values.list->info.dims[0]))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no keys, or another number of values");
    if (cv->status) return;
    if (keys.list->info.data_type != x->info.data_type || keys.is_text != dtp_words_is(x))
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its input has another type than its keys");
    val_t *otherwise = default_of(cv, values.list->info.data_type, values.is_text);
    if (!cv->status &&
        (otherwise->info.data_type != values.list->info.data_type || dtp_val_elems(otherwise) != 1))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its default is not one number of the type of its values");
    if (cv->status) return;
    val_t *table = table_of(cv, values.list, otherwise), *rank = rank_of(cv, x, keys.list);
    val_t *y = cv->status ? NULL : dtp_cv_take(dtp_cv_last(cv), table, 0, rank);
    if (y && values.is_text) y->stored = dtp_words_made;
    dtp_cv_set(cv, 0, y);
}

void dtp_onnx_label_encoder(cv_t *cv) {
    const side_t keys = side(cv, "keys_int64s", "keys_floats", "keys_strings", "keys_tensor"),
                 values = side(cv, "values_int64s", "values_floats", "values_strings", "values_tensor");
    encode(cv, keys, values);
}

/* Texts of a list become their positions, positions the texts. */
void dtp_onnx_label_encoder_1(cv_t *cv) {
    int64_t n;
    const ProtobufCBinaryData *words = dtp_cv_attr_texts(cv, "classes_strings", &n);
    const side_t texts = {n > 0 ? dtp_ml_words(cv, n, words) : NULL, true},
                 numbers = {n > 0 ? dtp_cv_counted(cv, n, 0) : NULL, false};
    if (dtp_words_is(cv->in[0])) encode(cv, texts, numbers);
    else encode(cv, numbers, texts);
}

/* Texts become the numbers beside them, numbers the texts. */
void dtp_onnx_category_mapper(cv_t *cv) {
    int64_t n;
    const int64_t *ints = dtp_cv_attr_ints(cv, "cats_int64s", &n);
    const side_t numbers = {n > 0 ? dtp_cv_list(cv, n, ints) : NULL, false};
    const ProtobufCBinaryData *words = dtp_cv_attr_texts(cv, "cats_strings", &n);
    const side_t texts = {n > 0 ? dtp_ml_words(cv, n, words) : NULL, true};
    if (dtp_words_is(cv->in[0])) encode(cv, texts, numbers);
    else encode(cv, numbers, texts);
}

/* A list of maps from labels to scores: here the scores, whose columns are in the order of the labels. */
void dtp_onnx_zip_map(cv_t *cv) {
    int64_t n;
    (void)dtp_cv_attr_ints(cv, "classlabels_int64s", &n);
    (void)dtp_cv_attr_texts(cv, "classlabels_strings", &n);
    dtp_cv_set(cv, 0, cv->in[0]);
}
