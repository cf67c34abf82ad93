/* Element-wise operators. */
#include "onnx/ops/ops.h"

#include <math.h>

static dnnl_tp_data_type_t type_of(const cv_t *cv) { return cv->in[0]->info.data_type; }

/* ---- One input --------------------------------------------------------------------------------------------- */

void dtp_onnx_unary(cv_t *cv) { dtp_cv_set(cv, 0, dtp_cv_unary(dtp_cv_last(cv), cv->row->kind, cv->in[0])); }

/* y = kind(x) with the attribute alpha. */
static void with_alpha(cv_t *cv, float value) {
    const float alpha = dtp_cv_float(cv, "alpha", value);
    dtp_cv_set(
        cv, 0,
        dtp_cv_unary_with(dtp_cv_last(cv), cv->row->kind, cv->in[0], dnnl_tp_op_attr_alpha, alpha, -1, 0));
}
void dtp_onnx_elu(cv_t *cv) { with_alpha(cv, 1.f); }
void dtp_onnx_leaky_relu(cv_t *cv) { with_alpha(cv, .01f); }

void dtp_onnx_hard_sigmoid(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", .2f), beta = dtp_cv_float(cv, "beta", .5f);
    dtp_cv_set(cv, 0,
               dtp_cv_unary_with(dtp_cv_last(cv), cv->row->kind, cv->in[0], dnnl_tp_op_attr_alpha, alpha,
                                 dnnl_tp_op_attr_beta, beta));
}

void dtp_onnx_neg(cv_t *cv) {
    if (type_of(cv) == dnnl_tp_boolean || type_of(cv) == dnnl_tp_u8)
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its type %s has no sign", dnnl_tp_dt2str(type_of(cv)));
    /* A product, not a difference, because -(0) is -0. */
    dtp_cv_set(
        cv, 0,
        dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, cv->in[0], dtp_cv_scalar(cv, type_of(cv), -1)));
}

val_t *dtp_cv_gelu(cv_t *cv, val_t *x, bool tanh_form) {
    const char *mode = tanh_form ? "gelu_tanh" : "gelu_erf";
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_mode, dnnl_tp_op_attr_string, (int)strlen(mode), mode};
    return dtp_cv_op(cv, dnnl_tp_op_gelu, 1, &x, 1, &attr);
}

void dtp_onnx_gelu(cv_t *cv) {
    const bool tanh_form = dtp_cv_word(cv, "approximate", "none", "tanh");
    if (!tanh_form && !dtp_cv_word(cv, "approximate", "none", "none"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'approximate' is neither none nor tanh");
    dtp_cv_set(cv, 0, dtp_cv_gelu(dtp_cv_last(cv), cv->in[0], tanh_form));
}

/* gamma (x > 0 ? x : alpha (exp(x) - 1)) */
void dtp_onnx_selu(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.67326319217681884765625f);
    const float gamma = dtp_cv_float(cv, "gamma", 1.05070102214813232421875f);
    val_t *x = dtp_cv_unary_with(cv, dnnl_tp_op_elu, cv->in[0], dnnl_tp_op_attr_alpha, alpha, -1, 0);
    dtp_cv_set(cv, 0,
               dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, x,
                             dtp_cv_scalar(cv, type_of(cv), (double)gamma)));
}

/* max(x, 0) + alpha elu(min(x, 0) / alpha): a quotient of large x could leave the range. */
void dtp_onnx_celu(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.f);
    if (!(alpha > 0)) dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'alpha' is not above 0");
    val_t *a = dtp_cv_scalar(cv, type_of(cv), (double)alpha), *zero = dtp_cv_scalar(cv, type_of(cv), 0);
    val_t *x = dtp_cv_binary(cv, dnnl_tp_op_minimum, cv->in[0], zero);
    x = dtp_cv_binary(cv, dnnl_tp_op_divide, x, a);
    x = dtp_cv_unary_with(cv, dnnl_tp_op_elu, x, dnnl_tp_op_attr_alpha, 1.f, -1, 0);
    x = dtp_cv_binary(cv, dnnl_tp_op_multiply, x, a);
    val_t *above = dtp_cv_binary(cv, dnnl_tp_op_maximum, cv->in[0], zero);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, x, above));
}

/* x / (1 + |x|) */
void dtp_onnx_softsign(cv_t *cv) {
    val_t *x = dtp_cv_unary(cv, dnnl_tp_op_abs, cv->in[0]);
    x = dtp_cv_binary(cv, dnnl_tp_op_add, x, dtp_cv_scalar(cv, type_of(cv), 1));
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, cv->in[0], x));
}

void dtp_onnx_swish(cv_t *cv) { with_alpha(cv, 1.f); }

/* swish(a) b */
void dtp_onnx_swiglu(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.f);
    val_t *x = dtp_cv_unary_with(cv, dnnl_tp_op_swish, cv->in[0], dnnl_tp_op_attr_alpha, alpha, -1, 0);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, x, cv->in[1]));
}

/* ---- Bounds -------------------------------------------------------------------------------------------------- */

static void clip(cv_t *cv, val_t *least, val_t *most) {
    val_t *x = cv->in[0];
    if (least) x = dtp_cv_binary(most ? cv : dtp_cv_last(cv), dnnl_tp_op_maximum, x, least);
    if (most) x = dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_minimum, x, most);
    dtp_cv_set(cv, 0, x);
}

static void clamp(cv_t *cv, double least, double most) {
    dtp_cv_set(cv, 0,
               dtp_cv_unary_with(dtp_cv_last(cv), dnnl_tp_op_clamp, cv->in[0], dnnl_tp_op_attr_min,
                                 (float)least, dnnl_tp_op_attr_max, (float)most));
}

void dtp_onnx_clip(cv_t *cv) {
    if (type_of(cv) == dnnl_tp_f32) {
        int64_t n;
        const double least = dtp_cv_given(cv, 1) && cv->in[1]->data && dtp_val_elems(cv->in[1]) == 1
                                 ? *dtp_cv_numbers(cv, 1, &n)
                                 : -INFINITY;
        const double most = dtp_cv_given(cv, 2) && cv->in[2]->data && dtp_val_elems(cv->in[2]) == 1
                                ? *dtp_cv_numbers(cv, 2, &n)
                                : INFINITY;
        const bool known =
            (!dtp_cv_given(cv, 1) || cv->in[1]->data) && (!dtp_cv_given(cv, 2) || cv->in[2]->data);
        if (known && least <= most) {
            clamp(cv, least, most);
            return;
        }
    }
    clip(cv, dtp_cv_given(cv, 1) ? cv->in[1] : NULL, dtp_cv_given(cv, 2) ? cv->in[2] : NULL);
}

/* Version 6: bounds are attributes. */
void dtp_onnx_clip_6(cv_t *cv) {
    const float least = dtp_cv_float(cv, "min", -INFINITY), most = dtp_cv_float(cv, "max", INFINITY);
    if (least <= most) clamp(cv, (double)least, (double)most);
    else
        clip(cv, dtp_cv_scalar(cv, type_of(cv), (double)least), dtp_cv_scalar(cv, type_of(cv), (double)most));
}

/* ---- Two and more inputs --------------------------------------------------------------------------------------- */

val_t *dtp_cv_plus(cv_t *cv, val_t *x, val_t *y) {
    return x && y && !cv->status ? dtp_cv_binary(cv, dnnl_tp_op_add, x, y) : x ? x : y;
}

void dtp_onnx_binary(cv_t *cv) {
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), cv->row->kind, cv->in[0], cv->in[1]));
}

/* Versions 1 and 6: the second input stands at an axis of the first, or has its shape. */
void dtp_onnx_binary_1(cv_t *cv) {
    val_t *y = cv->in[1];
    const int nx = cv->in[0]->info.ndims, ny = y->info.ndims;
    const bool broadcast = dtp_cv_int(cv, "broadcast", 0) != 0;
    const int axis = dtp_cv_has(cv, "axis") ? dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 0), nx) : nx - ny;
    if (broadcast ? ny > nx || axis + ny > nx : ny != nx)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its inputs have %d and %d dimensions", nx, ny);
    for (int d = 0; !broadcast && d < nx && !cv->status; ++d)
        if (y->info.dims[d] != cv->in[0]->info.dims[d])
            dtp_cv_fail(cv, dnnl_tp_invalid_shape,
                        "its inputs have different shapes, and nothing is broadcast");
    if (broadcast && !cv->status) y = dtp_cv_unsqueeze(cv, y, 0, nx - ny - axis);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), cv->row->kind, cv->in[0], y));
}

static val_t *fold(cv_t *cv, bool is_all) {
    val_t *x = cv->in[0];
    for (int i = 1; i < cv->nin; ++i) {
        if (!cv->in[i]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
        x = dtp_cv_binary(is_all && i == cv->nin - 1 ? dtp_cv_last(cv) : cv, cv->row->kind, x, cv->in[i]);
    }
    return x;
}

void dtp_onnx_nary(cv_t *cv) { dtp_cv_set(cv, 0, fold(cv, true)); }

void dtp_onnx_mean(cv_t *cv) {
    val_t *sum = fold(cv, false);
    dtp_cv_set(cv, 0,
               cv->nin == 1 ? sum
                            : dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, sum,
                                            dtp_cv_scalar(cv, type_of(cv), cv->nin)));
}

void dtp_onnx_pow(cv_t *cv) {
    int64_t n;
    if (cv->since == 1) { /* a number fits every shape */
        (void)dtp_cv_int(cv, "broadcast", 0);
        (void)dtp_cv_int(cv, "axis", 0);
    }
    val_t *x = cv->in[0], *e = cv->in[1];
    const dnnl_tp_data_type_t type = type_of(cv), other = e->info.data_type;
    const bool is_number = e->data && dtp_val_elems(e) == 1 && e->info.ndims <= x->info.ndims;
    if (is_number && (type == dnnl_tp_f32 || type == dnnl_tp_f64)) {
        const double *exponent = dtp_cv_numbers(cv, 1, &n);
        if (exponent && (double)(float)*exponent == *exponent) {
            dtp_cv_set(cv, 0,
                       dtp_cv_unary_with(dtp_cv_last(cv), dnnl_tp_op_pow, x, dnnl_tp_op_attr_beta,
                                         (float)*exponent, -1, 0));
            return;
        }
    }
    /* The result has the type of the base; of an integer to a power that is none it is computed in double. */
    const bool leaves =
        type != dnnl_tp_f32 && type != dnnl_tp_f64 && (other == dnnl_tp_f32 || other == dnnl_tp_f64);
    const dnnl_tp_data_type_t in = leaves ? dnnl_tp_f64 : type;
    x = dtp_cv_binary(leaves ? cv : dtp_cv_last(cv), dnnl_tp_op_power, dtp_cv_typed(cv, x, in),
                      dtp_cv_typed(cv, e, in));
    dtp_cv_set(cv, 0, leaves ? dtp_cv_typed(dtp_cv_last(cv), x, type) : x);
}

static bool is_finite(const val_t *x) {
    const int64_t n = x->data ? dtp_val_elems(x) : 0;
    if (x->info.data_type == dnnl_tp_f32)
        for (int64_t i = 0; i < n; ++i)
            if (!isfinite(((const float *)x->data)[i])) return false;
    if (x->info.data_type == dnnl_tp_f64)
        for (int64_t i = 0; i < n; ++i)
            if (!isfinite(((const double *)x->data)[i])) return false;
    return x->data != NULL;
}

/* x < 0 ? slope x : x, the slope broadcast to x. Of slopes that are known to be finite max(x, 0) + slope min(x, 0), which
 * operators before and behind it take in; an infinite one would make NaN of 0. */
static void prelu(cv_t *cv, val_t *slope) {
    val_t *x = cv->in[0], *zero = dtp_cv_scalar(cv, type_of(cv), 0);
    if (!is_finite(slope)) {
        val_t *below = dtp_cv_binary(cv, dnnl_tp_op_less, x, zero);
        val_t *low = dtp_cv_binary(cv, dnnl_tp_op_multiply, x, slope);
        dtp_cv_set(cv, 0, dtp_cv_select(dtp_cv_last(cv), below, low, x));
        return;
    }
    val_t *low = dtp_cv_binary(cv, dnnl_tp_op_minimum, x, zero);
    low = dtp_cv_binary(cv, dnnl_tp_op_multiply, low, slope);
    val_t *high = dtp_cv_binary(cv, dnnl_tp_op_maximum, x, zero);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, high, low));
}

void dtp_onnx_prelu(cv_t *cv) { prelu(cv, cv->in[1]); }
/* Versions 1 and 6: a slope for each channel. */
void dtp_onnx_prelu_1(cv_t *cv) {
    val_t *slope = cv->in[1];
    if (slope->info.ndims == 1 && cv->in[0]->info.ndims > 2 && slope->info.dims[0] != 1)
        slope = dtp_cv_per_channel(cv, cv->in[0], slope);
    prelu(cv, slope);
}
