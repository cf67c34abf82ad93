/* Normalisations. */
#include "onnx/ops/ops.h"
#include "onnx/sized.h"

static dnnl_tp_data_type_t type_of(const cv_t *cv) { return cv->in[0]->info.data_type; }
static val_t *scalar(cv_t *cv, double value) { return dtp_cv_scalar(cv, type_of(cv), value); }

val_t *dtp_cv_per_channel(cv_t *cv, const val_t *x, val_t *channels) {
    return dtp_cv_unsqueeze(cv, channels, 0, x->info.ndims > 2 ? x->info.ndims - 2 : 0);
}

static void along(cv_t *cv, val_t *x, int64_t axis, bool is_last, val_t **y) {
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    *y = dtp_cv_op(is_last ? dtp_cv_last(cv) : cv, cv->row->kind, 1, &x, 1, &attr);
}

void dtp_onnx_softmax(cv_t *cv) {
    val_t *y;
    along(cv, cv->in[0], dtp_cv_int(cv, "axis", -1), true, &y);
    dtp_cv_set(cv, 0, y);
}

/* Before version 13: all dimensions from axis on are one. */
void dtp_onnx_softmax_1(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int nd = x->info.ndims, axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 1), nd);
    val_t *y;
    if (cv->status) return;
    bool single = true; /* nothing but ones behind axis */
    for (int d = axis + 1; d < nd; ++d) single &= x->info.dims[d] == 1;
    if (single) {
        along(cv, cv->in[0], axis, true, &y);
    } else {
        const int64_t flat[2] = {dtp_cv_product(x, 0, axis), dtp_cv_product(x, axis, nd)};
        along(cv, dtp_cv_reshape(cv, cv->in[0], 2, flat), 1, false, &y);
        y = dtp_cv_reshape(dtp_cv_last(cv), y, nd, x->info.dims);
    }
    dtp_cv_set(cv, 0, y);
}

/* Mean over axes, and 1 / sqrt(variance + epsilon); axes stay with size 1. */
static void moments(cv_t *cv, val_t *x, int n, const int64_t *axes, float epsilon, val_t **mean,
                    val_t **factor) {
    *mean = dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, x, n, axes, true);
    if (!factor) return;
    val_t *v = dtp_cv_binary(cv, dnnl_tp_op_squared_difference, x, *mean);
    v = v ? dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, v, n, axes, true) : NULL;
    v = dtp_cv_binary(cv, dnnl_tp_op_add, v, scalar(cv, (double)epsilon));
    *factor = dtp_cv_unary(cv, dnnl_tp_op_reciprocal, dtp_cv_unary(cv, dnnl_tp_op_sqrt, v));
}

static bool same_dims(const val_t *x, int begin, const val_t *p) {
    bool same = p->info.ndims == x->info.ndims - begin;
    for (int d = 0; same && d < p->info.ndims; ++d) same = p->info.dims[d] == x->info.dims[begin + d];
    return same;
}

static bool fits_affine(const val_t *x, int begin, const val_t *scale, const val_t *bias) {
    return same_dims(x, begin, scale) && (!bias || same_dims(x, begin, bias)) &&
           x->info.data_type == dnnl_tp_f32;
}

val_t *dtp_cv_layer_norm(cv_t *cv, val_t *x, int begin, val_t *scale, val_t *bias, float epsilon) {
    if (cv->status) return NULL;
    const int64_t at = begin;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_epsilon, dnnl_tp_op_attr_f32, 1, &epsilon},
                                      {dnnl_tp_op_attr_begin_norm_axis, dnnl_tp_op_attr_s64, 1, &at}};
    if (fits_affine(x, begin, scale, bias)) {
        if (!bias) bias = dtp_cv_fill(cv, dnnl_tp_f32, scale->info.ndims, scale->info.dims, 0);
        val_t *in[] = {x, scale, bias};
        return dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_layer_norm, sizeof in / sizeof *in, in, 2, attr);
    }
    val_t *y = dtp_cv_op(cv, dnnl_tp_op_layer_norm, 1, &x, 2, attr);
    y = dtp_cv_binary(bias ? cv : dtp_cv_last(cv), dnnl_tp_op_multiply, y, scale);
    return bias ? dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, y, bias) : y;
}

void dtp_onnx_layer_normalization(cv_t *cv) {
    val_t *x = cv->in[0], *scale = cv->in[1], *bias = dtp_cv_given(cv, 2) ? cv->in[2] : NULL;
    const int nd = x->info.ndims, begin = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", -1), nd);
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-5f);
    (void)dtp_cv_int(cv, "stash_type", 1); /* what it computes in: never less than f32 here */
    if (cv->status) return;
    int64_t axes[DNNL_TP_MAX_NDIMS];
    for (int d = begin; d < nd; ++d) axes[d - begin] = d;
    dtp_cv_set(cv, 0, dtp_cv_layer_norm(cv, x, begin, scale, bias, epsilon));
    if (dtp_cv_wanted(cv, 1) || dtp_cv_wanted(cv, 2)) {
        val_t *mean, *factor = NULL;
        moments(cv, x, nd - begin, axes, epsilon, &mean, dtp_cv_wanted(cv, 2) ? &factor : NULL);
        dtp_cv_set(cv, 1, mean);
        dtp_cv_set(cv, 2, factor);
    }
}

val_t *dtp_cv_rms_norm(cv_t *cv, val_t *x, int begin, val_t *scale, float epsilon) {
    if (cv->status) return NULL;
    const int64_t at = begin;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_epsilon, dnnl_tp_op_attr_f32, 1, &epsilon},
                                      {dnnl_tp_op_attr_begin_norm_axis, dnnl_tp_op_attr_s64, 1, &at}};
    val_t *in[] = {x, scale};
    const bool fits = fits_affine(x, begin, scale, NULL);
    val_t *y = dtp_cv_op(fits ? dtp_cv_last(cv) : cv, dnnl_tp_op_rms_norm, fits ? 2 : 1, in, 2, attr);
    return fits ? y : dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, y, scale);
}

/* Also SimplifiedLayerNormalization, which optimisers write. */
void dtp_onnx_rms_normalization(cv_t *cv) {
    val_t *x = cv->in[0];
    const int begin = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", -1), x->info.ndims);
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-5f);
    (void)dtp_cv_int(cv, "stash_type", 1);
    dtp_cv_set(cv, 0, dtp_cv_rms_norm(cv, x, begin, cv->in[1], epsilon));
}

/* Mean and variance of each channel, which go into the running ones. */
static void batch_moments(cv_t *cv, float momentum) {
    enum { X, MEAN = 3, STATISTICS = 2 };
    int64_t axes[DNNL_TP_MAX_NDIMS];
    val_t *x = cv->in[X], *now[STATISTICS];
    int n = 0;
    for (int d = 0; d < x->info.ndims; ++d)
        if (d != 1) axes[n++] = d;
    val_t *mean = dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, x, n, axes, true);
    val_t *apart = dtp_cv_binary(cv, dnnl_tp_op_subtract, x, mean);
    now[0] = dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, x, n, axes, false);
    now[1] = dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, dtp_cv_binary(cv, dnnl_tp_op_multiply, apart, apart),
                           n, axes, false);
    for (int i = 0; i < STATISTICS && !cv->status; ++i) {
        val_t *old = dtp_cv_binary(cv, dnnl_tp_op_multiply, cv->in[MEAN + i], scalar(cv, (double)momentum));
        val_t *part = dtp_cv_binary(cv, dnnl_tp_op_multiply, now[i], scalar(cv, 1 - (double)momentum));
        dtp_cv_set(cv, 1 + i, dtp_cv_binary(cv, dnnl_tp_op_add, old, part));
        cv->in[MEAN + i] = now[i];
    }
}

/* (x - mean) scale / sqrt(var + epsilon) + bias for each channel. With constant parameters all but a product and a sum is
 * computed when the graph is compiled. */
void dtp_onnx_batch_normalization(cv_t *cv) {
    enum { X, SCALE, BIAS, MEAN, VARIANCE };
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-5f);
    const float momentum = dtp_cv_float(cv, "momentum", .9f);
    enum { INFERS_UNASKED = 7 };
    const bool trains = dtp_cv_int(cv, "training_mode", 0) != 0;
    if (cv->since < INFERS_UNASKED && !dtp_cv_int(cv, "is_test", 0))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it is in training mode");
    if (dtp_cv_has(cv, "spatial") && !dtp_cv_int(cv, "spatial", 1))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it normalises each element, not each channel");
    if (cv->in[0]->info.ndims < 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has less than 2 dimensions");
    if (trains && !cv->status) batch_moments(cv, momentum);
    if (cv->status) return;
    bool is_f32 = true;
    for (int i = X; i <= VARIANCE; ++i) is_f32 &= cv->in[i]->info.data_type == dnnl_tp_f32;
    if (is_f32 && !cv->status) {
        const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_epsilon, dnnl_tp_op_attr_f32, 1, &epsilon};
        dtp_cv_set(
            cv, 0,
            dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_batch_norm_inference, VARIANCE + 1, cv->in, 1, &attr));
        return;
    }
    val_t *f = dtp_cv_binary(cv, dnnl_tp_op_add, cv->in[VARIANCE], scalar(cv, (double)epsilon));
    f = dtp_cv_binary(cv, dnnl_tp_op_divide, cv->in[SCALE], dtp_cv_unary(cv, dnnl_tp_op_sqrt, f));
    val_t *shift = dtp_cv_binary(cv, dnnl_tp_op_subtract, cv->in[BIAS],
                                 dtp_cv_binary(cv, dnnl_tp_op_multiply, cv->in[MEAN], f));
    val_t *y = dtp_cv_binary(cv, dnnl_tp_op_multiply, cv->in[X], dtp_cv_per_channel(cv, cv->in[X], f));
    dtp_cv_set(cv, 0,
               dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, y, dtp_cv_per_channel(cv, cv->in[X], shift)));
}

val_t *dtp_cv_normalized(cv_t *cv, val_t *x, int n, const int64_t *axes, float epsilon) {
    val_t *mean, *factor;
    moments(cv, x, n, axes, epsilon, &mean, &factor);
    return dtp_cv_binary(cv, dnnl_tp_op_multiply, dtp_cv_binary(cv, dnnl_tp_op_subtract, x, mean), factor);
}

void dtp_onnx_instance_normalization(cv_t *cv) {
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-5f);
    int64_t axes[DNNL_TP_MAX_NDIMS];
    const int n = cv->in[0]->info.ndims - 2;
    if (n < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has less than 3 dimensions");
    if (cv->status) return;
    for (int d = 0; d < n; ++d) axes[d] = d + 2;
    val_t *y = dtp_cv_normalized(cv, cv->in[0], n, axes, epsilon);
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, dtp_cv_per_channel(cv, cv->in[0], cv->in[1]));
    dtp_cv_set(
        cv, 0,
        dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, y, dtp_cv_per_channel(cv, cv->in[0], cv->in[2])));
}

/* {N, groups, the rest} */
static val_t *in_groups(cv_t *cv, val_t *x, int64_t groups) {
    enum { GROUPED = 3 };
    const int nd = x->info.ndims;
    if (x->sizes) {
        dtp_sizes_t *s = cv->im->sizes;
        dtp_size_t all = dtp_cv_size(cv, x, 1);
        for (int d = 2; d < nd; ++d) all = dtp_size_multiply(s, all, dtp_cv_size(cv, x, d));
        const dtp_size_t each = dtp_size_number(s, groups),
                         to[GROUPED] = {dtp_cv_size(cv, x, 0), each, dtp_size_exact(s, all, each)};
        if (to[GROUPED - 1] >= 0) return dtp_cv_resized(cv, x, GROUPED, to);
        dtp_cv_guard_sizes(cv, x);
    }
    const int64_t all = dtp_cv_product(x, 1, nd),
                  flat[] = {x->info.dims[0], groups, all == CV_RUNTIME ? CV_RUNTIME : all / groups};
    return cv->status ? NULL : dtp_cv_reshape(cv, x, GROUPED, flat);
}

/* Groups of channels. Scale and bias are per group in version 18, per channel in version 21. */
void dtp_onnx_group_normalization(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int64_t groups = dtp_cv_int(cv, "num_groups", 0);
    const float epsilon = dtp_cv_float(cv, "epsilon", 1e-5f);
    (void)dtp_cv_int(cv, "stash_type", 1);
    if (x->info.ndims < 2 || groups < 1)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld groups", (long long)groups);
    const int64_t channels = cv->status ? 1 : dtp_cv_dim(cv, x, 1);
    if (!cv->status && channels % groups)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld channels in %lld groups", (long long)channels,
                    (long long)groups);
    if (cv->status) return;
    const int64_t axis = 2;
    val_t *y = in_groups(cv, cv->in[0], groups), *scale = cv->in[1], *bias = cv->in[2];
    y = dtp_cv_normalized(cv, y, 1, &axis, epsilon);
    enum { PER_CHANNEL = 21 };
    if (cv->since < PER_CHANNEL && y) {
        y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, dtp_cv_unsqueeze(cv, scale, 0, 1));
        y = dtp_cv_binary(cv, dnnl_tp_op_add, y, dtp_cv_unsqueeze(cv, bias, 0, 1));
        y = dtp_cv_reshape_as(dtp_cv_last(cv), y, x);
    } else {
        y = dtp_cv_reshape_as(cv, y, x);
        y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, dtp_cv_per_channel(cv, x, scale));
        y = dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, y, dtp_cv_per_channel(cv, x, bias));
    }
    dtp_cv_set(cv, 0, y);
}

void dtp_onnx_mean_variance_normalization(cv_t *cv) {
    static const int64_t usual[] = {0, 2, 3};
    int64_t n;
    const int64_t *axes = dtp_cv_attr_ints(cv, "axes", &n);
    if (n < 0) {
        axes = usual;
        n = sizeof usual / sizeof *usual;
    }
    if (cv->status) return;
    val_t *mean = dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, cv->in[0], (int)n, axes, true), *v = NULL;
    if (mean) v = dtp_cv_binary(cv, dnnl_tp_op_squared_difference, cv->in[0], mean);
    if (v) v = dtp_cv_reduce(cv, dnnl_tp_op_reduce_mean, v, (int)n, axes, true);
    /* As the function of the standard has it: behind the root. */
    v = dtp_cv_binary(cv, dnnl_tp_op_add, dtp_cv_unary(cv, dnnl_tp_op_sqrt, v), scalar(cv, 1e-9));
    val_t *y = dtp_cv_binary(cv, dnnl_tp_op_subtract, cv->in[0], mean);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, y, v));
}
