/* Integers that stand for numbers: y = saturate(round(x / scale) + zero point), and products of such tensors. Products
 * are exact: those of f32 over at most 256 terms of 16 bits are integers below 2^24, longer sums are made of such parts. */
#include "onnx/narrow.h"
#include "onnx/ops/ops.h"

enum { TERMS = 256 };

static val_t *zero_point(cv_t *cv, int input) { return dtp_cv_given(cv, input) ? cv->in[input] : NULL; }

/* Where scales and zero points stand: one, a vector along an axis, or one for each block of an axis. */
typedef struct {
    int axis;
    int64_t block; /* 0: no blocks */
} places_t;

/* The scale or zero point of each element, under the shape of x. */
static val_t *along(cv_t *cv, const val_t *x, val_t *v, places_t at) {
    if (!v || cv->status || v->info.ndims == 0) return v;
    if (at.block) {
        void *p;
        const int64_t size = dtp_cv_dim(cv, x, at.axis);
        if (!cv->status && (v->info.ndims != x->info.ndims ||
                            dtp_cv_dim(cv, v, at.axis) != (size + at.block - 1) / at.block))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its scales are not those of blocks of %lld elements",
                        (long long)at.block);
        val_t *ids = cv->status ? NULL : dtp_cv_room(cv, dnnl_tp_s64, 1, &size, &p);
        for (int64_t i = 0; ids && i < size; ++i) ((int64_t *)p)[i] = i / at.block;
        return ids ? dtp_cv_take(cv, v, at.axis, ids) : NULL;
    }
    if (v->info.ndims > 1) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its scales or zero points have %d dimensions", v->info.ndims);
        return NULL;
    }
    if (v->info.dims[0] == 1) return dtp_cv_reshape(cv, v, 0, NULL);
    return dtp_cv_unsqueeze(cv, v, 0, x->info.ndims - 1 - at.axis);
}

static val_t *minus(cv_t *cv, val_t *x, val_t *zero) {
    return zero ? dtp_cv_binary(cv, dnnl_tp_op_subtract, x, dtp_cv_typed(cv, zero, x->info.data_type)) : x;
}

/* x of floating point, in units of the result's scale. */
static val_t *saturated(cv_t *cv, val_t *x, val_t *zero, dnnl_tp_data_type_t type) {
    if (type != dnnl_tp_u8 && type != dnnl_tp_s8) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its result has type %s; UINT8 and INT8 are implemented",
                    dnnl_tp_dt2str(type));
        return NULL;
    }
    x = dtp_cv_unary(cv, dnnl_tp_op_round, x);
    if (zero && !cv->status)
        x = dtp_cv_binary(cv, dnnl_tp_op_add, x, dtp_cv_typed(cv, zero, x->info.data_type));
    return dtp_cv_typed(dtp_cv_last(cv), x, type); /* which limits */
}

/* The same for types that graphs carry in wider ones. */
static val_t *within(cv_t *cv, val_t *x, val_t *zero, const dtp_narrow_t *n) {
    const double values = (double)((int64_t)1 << n->bits), least = n->is_signed ? -values / 2 : 0;
    x = cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_round, x);
    const dnnl_tp_data_type_t type = cv->status ? dnnl_tp_f32 : x->info.data_type;
    if (zero && !cv->status) x = dtp_cv_binary(cv, dnnl_tp_op_add, x, dtp_cv_typed(cv, zero, type));
    x = dtp_cv_binary(cv, dnnl_tp_op_maximum, x, dtp_cv_scalar(cv, type, least));
    x = dtp_cv_binary(cv, dnnl_tp_op_minimum, x, dtp_cv_scalar(cv, type, least + values - 1));
    return dtp_cv_narrowed(cv, x, n);
}

static places_t places(cv_t *cv, const val_t *x, const val_t *scale) {
    const int64_t axis = dtp_cv_int(cv, "axis", 1), block = dtp_cv_int(cv, "block_size", 0);
    const bool has_axis = block || (scale->info.ndims == 1 && scale->info.dims[0] != 1);
    if (block < 0 || block > INT32_MAX)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'block_size' is %lld", (long long)block);
    return (places_t){has_axis ? dtp_cv_axis(cv, axis, x->info.ndims) : 0, cv->status ? 0 : block};
}

/* The arithmetic of a quotient: f32, also of numbers that were FLOAT16 or BFLOAT16, or what 'precision' says. Graphs do
 * not round to FLOAT16 or BFLOAT16. */
static dnnl_tp_data_type_t precision_of(cv_t *cv) {
    const int64_t precision = dtp_cv_int(cv, "precision", 0);
    switch (precision) {
    case 0:
    case DTP_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT: return dnnl_tp_f32;
    case DTP_ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE: return dnnl_tp_f64;
    default:
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'precision' is %s",
                    dtp_onnx_type_name((int)(precision & INT16_MAX)));
        return dnnl_tp_f32;
    }
}

void dtp_onnx_quantize(cv_t *cv) {
    val_t *scale = cv->in[1], *zero = zero_point(cv, 2);
    const int64_t to = dtp_cv_int(cv, "output_dtype", 0);
    const dnnl_tp_data_type_t precision = precision_of(cv);
    const bool saturates = dtp_cv_int(cv, "saturate", 1) != 0;
    const places_t at = places(cv, cv->in[0], scale);
    dnnl_tp_data_type_t type = dnnl_tp_u8;
    const char *stored = zero ? zero->stored : dtp_onnx_stored((int)(to & INT16_MAX));
    const dtp_narrow_t *narrow = dtp_onnx_narrow(stored);
    const dtp_float8_t *float8 = dtp_onnx_float8(stored);
    if (narrow) type = narrow->as;
    else if (float8) type = dnnl_tp_f32;
    else if (to) type = dtp_cv_type(cv, "output_dtype", 0);
    if (zero && to && zero->info.data_type != type)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'output_dtype' is %s, its zero point is %s",
                    dnnl_tp_dt2str(type), dnnl_tp_dt2str(zero->info.data_type));
    if (zero) type = zero->info.data_type;
    if (cv->status) return;
    val_t *x = dtp_cv_typed(cv, cv->in[0], precision);
    scale = dtp_cv_typed(cv, along(cv, cv->in[0], scale, at), precision);
    val_t *y = dtp_cv_binary(cv, dnnl_tp_op_divide, x, scale);
    zero = along(cv, cv->in[0], zero, at);
    if (float8) {
        if (zero && !cv->status) y = dtp_cv_binary(cv, dnnl_tp_op_add, y, dtp_cv_typed(cv, zero, precision));
        dtp_cv_set(cv, 0, dtp_cv_float8(cv, y, float8, saturates));
        return;
    }
    dtp_cv_set(cv, 0, narrow ? within(cv, y, zero, narrow) : saturated(cv, y, zero, type));
}

void dtp_onnx_dequantize(cv_t *cv) {
    val_t *scale = cv->in[1], *zero = zero_point(cv, 2);
    const places_t at = places(cv, cv->in[0], scale);
    const int64_t to = dtp_cv_int(cv, "output_dtype", 0);
    const dnnl_tp_data_type_t type = to ? dtp_cv_type(cv, "output_dtype", 0) : scale->info.data_type;
    if (type != scale->info.data_type)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'output_dtype' is %s",
                    dtp_onnx_type_name((int)(to & INT16_MAX)));
    if (cv->status) return;
    /* Differences of integers of 32 bits are exact in double only. */
    const dnnl_tp_data_type_t wide = cv->in[0]->info.data_type == dnnl_tp_s32 ? dnnl_tp_f64 : dnnl_tp_f32;
    val_t *x = minus(cv, dtp_cv_typed(cv, cv->in[0], wide), along(cv, cv->in[0], zero, at));
    x = dtp_cv_typed(cv, x, scale->info.data_type);
    x = dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, x, along(cv, x, scale, at));
    dtp_cv_set(cv, 0, to == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16 ? dtp_cv_rounded(cv, x) : x);
}

/* Scale and zero point from the range of the input, which holds 0. */
void dtp_onnx_dynamic_quantize(cv_t *cv) {
    val_t *x = cv->in[0], *range[2];
    int64_t axes[DNNL_TP_MAX_NDIMS];
    const double most = 255;
    for (int d = 0; d < x->info.ndims; ++d) axes[d] = d;
    for (int i = 0; i < 2; ++i) {
        range[i] = x->info.ndims ? dtp_cv_reduce(cv, i ? dnnl_tp_op_reduce_max : dnnl_tp_op_reduce_min, x,
                                                 x->info.ndims, axes, false)
                                 : x;
        range[i] = dtp_cv_binary(cv, i ? dnnl_tp_op_maximum : dnnl_tp_op_minimum, range[i],
                                 dtp_cv_scalar(cv, dnnl_tp_f32, 0));
    }
    val_t *scale = dtp_cv_binary(cv, dnnl_tp_op_subtract, range[1], range[0]);
    scale = dtp_cv_binary(cv, dnnl_tp_op_divide, scale, dtp_cv_scalar(cv, dnnl_tp_f32, most));
    /* A tensor of zeros has any scale: 1, as ONNX Runtime has it. */
    scale = dtp_cv_select(cv, dtp_cv_binary(cv, dnnl_tp_op_equal, scale, dtp_cv_scalar(cv, dnnl_tp_f32, 0)),
                          dtp_cv_scalar(cv, dnnl_tp_f32, 1), scale);
    val_t *zero = dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_scalar(cv, dnnl_tp_f32, 0),
                                dtp_cv_binary(cv, dnnl_tp_op_divide, range[0], scale));
    zero = saturated(cv, zero, NULL, dnnl_tp_u8);
    dtp_cv_set(cv, 0, saturated(cv, dtp_cv_binary(cv, dnnl_tp_op_divide, x, scale), zero, dnnl_tp_u8));
    dtp_cv_set(cv, 1, scale);
    dtp_cv_set(cv, 2, zero);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* x w of integers that f32 holds, in s32. */
static val_t *exact_product(cv_t *cv, val_t *x, val_t *w) {
    if (cv->status) return NULL;
    const int xd = x->info.ndims, wd = w->info.ndims;
    if (xd < 1 || wd < 1) {
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "an input has no dimensions");
        return NULL;
    }
    const int along_w = wd > 1 ? wd - 2 : 0;
    const int64_t terms = dtp_cv_dim(cv, x, xd - 1);
    val_t *sum = NULL;
    for (int64_t at = 0; at < terms && dtp_cv_take_node(cv); at += TERMS) {
        const int64_t size = terms - at < TERMS ? terms - at : TERMS;
        val_t *part = dtp_cv_matmul(cv, dtp_cv_part(cv, x, xd - 1, at, size),
                                    dtp_cv_part(cv, w, along_w, at, size), false);
        part = dtp_cv_typed(cv, part, dnnl_tp_s32);
        sum = sum ? dtp_cv_binary(cv, dnnl_tp_op_add, sum, part) : part;
    }
    if (!sum) dtp_cv_fail(cv, dnnl_tp_unimplemented, "it sums nothing");
    return sum;
}

/* Without their zero points, in f32. A vector of zero points is that of rows of x, of columns of w. */
static val_t *centred(cv_t *cv, val_t *x, val_t *zero, bool is_x) {
    const int nd = x->info.ndims;
    val_t *y = dtp_cv_typed(cv, x, dnnl_tp_f32);
    if (zero && !cv->status && zero->info.ndims == 1 && zero->info.dims[0] != 1) {
        if (nd < 2) dtp_cv_fail(cv, dnnl_tp_unimplemented, "a vector has a vector of zero points");
        zero = cv->status || !is_x ? zero : dtp_cv_unsqueeze(cv, zero, 0, 1);
    }
    return cv->status ? NULL : minus(cv, y, zero);
}

void dtp_onnx_matmul_integer(cv_t *cv) {
    val_t *x = centred(cv, cv->in[0], zero_point(cv, 2), true),
          *w = centred(cv, cv->in[1], zero_point(cv, 3), false);
    dtp_cv_set(cv, 0, exact_product(cv, x, w));
}

/* A scale of rows (x) or columns (w, y of columns). */
void dtp_onnx_qlinear_matmul(cv_t *cv) {
    enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };
    val_t *x = centred(cv, cv->in[A], cv->in[A_ZERO], true),
          *w = centred(cv, cv->in[B], cv->in[B_ZERO], false);
    val_t *y = dtp_cv_typed(cv, exact_product(cv, x, w), dnnl_tp_f32);
    val_t *sa = cv->in[A_SCALE];
    if (!cv->status && sa->info.ndims == 1 && sa->info.dims[0] != 1) sa = dtp_cv_unsqueeze(cv, sa, 0, 1);
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, sa);
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, cv->in[B_SCALE]);
    y = dtp_cv_binary(cv, dnnl_tp_op_divide, y, cv->in[Y_SCALE]);
    dtp_cv_set(cv, 0, cv->status ? NULL : saturated(cv, y, cv->in[Y_ZERO], cv->in[Y_ZERO]->info.data_type));
}

/* A convolution of integers in s32: in f32 where that holds all sums, over parts of the channels if there are many; else in
 * s32. Zero points of weights are by output. */
static val_t *exact_convolution(cv_t *cv, val_t *x, val_t *x_zero, val_t *w, val_t *w_zero) {
    const int64_t groups = dtp_cv_int(cv, "group", 1);
    if (w->info.ndims < 3 || w->info.ndims != x->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions, its weights %d", x->info.ndims,
                    w->info.ndims);
    int64_t taps = 1;
    for (int d = 2; d < w->info.ndims && !cv->status; ++d)
        if (__builtin_mul_overflow(taps, dtp_cv_dim(cv, w, d), &taps)) taps = INT64_MAX;
    const int64_t channels = cv->status ? 0 : dtp_cv_dim(cv, w, 1),
                  each = taps > 0 && taps <= TERMS ? TERMS / taps : 0;
    const bool in_f32 = each > 0 && channels > 0 && (channels <= each || groups == 1);
    const dnnl_tp_data_type_t type = in_f32 ? dnnl_tp_f32 : dnnl_tp_s32;
    if (cv->status) return NULL;
    x = minus(cv, dtp_cv_typed(cv, x, type), along(cv, x, x_zero, (places_t){1, 0}));
    w = minus(cv, dtp_cv_typed(cv, w, type), along(cv, w, w_zero, (places_t){0, 0}));
    if (cv->status) return NULL;
    if (!in_f32) return dtp_cv_convolution(cv, 2, (val_t *[]){x, w}, groups);
    val_t *sum = NULL;
    for (int64_t at = 0; at < channels && dtp_cv_take_node(cv); at += each) {
        const int64_t size = channels - at < each ? channels - at : each;
        val_t *in[] = {groups == 1 ? dtp_cv_part(cv, x, 1, at, size) : x, dtp_cv_part(cv, w, 1, at, size)};
        val_t *part = dtp_cv_typed(cv, dtp_cv_convolution(cv, 2, in, groups), dnnl_tp_s32);
        sum = sum ? dtp_cv_binary(cv, dnnl_tp_op_add, sum, part) : part;
    }
    return sum;
}

void dtp_onnx_conv_integer(cv_t *cv) {
    dtp_cv_set(cv, 0, exact_convolution(cv, cv->in[0], zero_point(cv, 2), cv->in[1], zero_point(cv, 3)));
}

void dtp_onnx_qlinear_conv(cv_t *cv) {
    enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };
    val_t *y = exact_convolution(cv, cv->in[X], cv->in[X_ZERO], cv->in[W], cv->in[W_ZERO]);
    if (dtp_cv_given(cv, BIAS) && !cv->status)
        y = dtp_cv_binary(cv, dnnl_tp_op_add, y, dtp_cv_per_channel(cv, cv->in[X], cv->in[BIAS]));
    y = dtp_cv_typed(cv, y, dnnl_tp_f32);
    if (cv->status) return;
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, cv->in[X_SCALE]);
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, along(cv, y, cv->in[W_SCALE], (places_t){1, 0}));
    y = dtp_cv_binary(cv, dnnl_tp_op_divide, y, cv->in[Y_SCALE]);
    dtp_cv_set(cv, 0, cv->status ? NULL : saturated(cv, y, cv->in[Y_ZERO], cv->in[Y_ZERO]->info.data_type));
}
