/* Sums, means and extremes over axes; running sums. */
#include "onnx/ops/ops.h"

#include <float.h>

val_t *dtp_cv_reduce(cv_t *cv, int kind, val_t *x, int n, const int64_t *axes, bool keep) {
    const uint8_t keep_dims = keep;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_keep_dims, dnnl_tp_op_attr_bool, 1, &keep_dims},
                                      {dnnl_tp_op_attr_axes, dnnl_tp_op_attr_s64, n, axes}};
    return dtp_cv_op(cv, kind, 1, &x, 2, attr);
}

/* All of them: n = 0 would mean none to the library. */
static val_t *reduce(cv_t *cv, int kind, val_t *x, int64_t n, const int64_t *axes, bool keep, bool is_all) {
    int64_t every[DNNL_TP_MAX_NDIMS];
    if (is_all) {
        for (int d = 0; d < x->info.ndims; ++d) every[d] = d;
        n = x->info.ndims;
        axes = every;
    }
    return n ? dtp_cv_reduce(cv, kind, x, (int)n, axes, keep) : x;
}

static bool is_float(dnnl_tp_data_type_t type) { return type == dnnl_tp_f32 || type == dnnl_tp_f64; }

/* Least and largest of x and the ends of the numbers that are finite. */
static val_t *kept_finite(cv_t *cv, val_t *x, double least) {
    if (cv->status || !is_float(x->info.data_type)) return x;
    const dnnl_tp_data_type_t type = x->info.data_type;
    const double most = type == dnnl_tp_f64 ? DBL_MAX : (double)FLT_MAX;
    x = dtp_cv_binary(cv, dnnl_tp_op_maximum, x, dtp_cv_scalar(cv, type, least < 0 ? -most : least));
    return dtp_cv_binary(cv, dnnl_tp_op_minimum, x, dtp_cv_scalar(cv, type, most));
}

enum { SUM_SQUARE = -1, LOG_SUM = -2, LOG_SUM_EXP = -3 };

static void any_reduction(cv_t *cv, int64_t n, const int64_t *axes, bool is_all) {
    const bool keep = dtp_cv_int(cv, "keepdims", 1) != 0;
    val_t *x = cv->in[0];
    if (cv->status) return;
    if (n > x->info.ndims) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has more axes than its input dimensions");
        return;
    }
    /* Logarithms of integers are cut towards zero. */
    const dnnl_tp_data_type_t type = x->info.data_type;
    const bool is_cut = (cv->row->kind == LOG_SUM || cv->row->kind == LOG_SUM_EXP) && !is_float(type);
    if (is_cut) x = dtp_cv_typed(cv, x, dnnl_tp_f64);
    if (cv->status) return;
    switch (cv->row->kind) {
    case SUM_SQUARE:
        x = dtp_cv_unary(cv, dnnl_tp_op_square, x);
        x = x ? reduce(dtp_cv_last(cv), dnnl_tp_op_reduce_sum, x, n, axes, keep, is_all) : NULL;
        break;
    case LOG_SUM:
        x = reduce(cv, dnnl_tp_op_reduce_sum, x, n, axes, keep, is_all);
        x = dtp_cv_unary(dtp_cv_last(cv), dnnl_tp_op_log, x);
        break;
    case LOG_SUM_EXP: {
        /* max + log(sum(exp(x - max))), so that nothing overflows; a maximum that is infinite is replaced by the
         * number next to it, because differences of infinities are none. */
        val_t *largest = reduce(cv, dnnl_tp_op_reduce_max, x, n, axes, true, is_all);
        largest = kept_finite(cv, largest, -1);
        x = dtp_cv_binary(cv, dnnl_tp_op_subtract, x, largest);
        x = dtp_cv_unary(cv, dnnl_tp_op_exp, x);
        x = x ? reduce(cv, dnnl_tp_op_reduce_sum, x, n, axes, true, is_all) : NULL;
        x = dtp_cv_unary(cv, dnnl_tp_op_log, x);
        x = dtp_cv_binary(keep ? dtp_cv_last(cv) : cv, dnnl_tp_op_add, x, largest);
        /* The axes have size 1 now. */
        if (!keep && x) x = reduce(dtp_cv_last(cv), dnnl_tp_op_reduce_max, x, n, axes, false, is_all);
        break;
    }
    default: x = reduce(dtp_cv_last(cv), cv->row->kind, x, n, axes, keep, is_all); break;
    }
    dtp_cv_set(cv, 0, is_cut && !cv->status ? dtp_cv_typed(cv, x, type) : x);
}

/* Axes are an attribute. */
void dtp_onnx_reduce_1(cv_t *cv) {
    int64_t n;
    const int64_t *axes = dtp_cv_attr_ints(cv, "axes", &n);
    any_reduction(cv, n, axes, n <= 0);
}

/* Axes are an input. */
void dtp_onnx_reduce(cv_t *cv) {
    int64_t n = 0;
    const int64_t *axes = dtp_cv_given(cv, 1) ? dtp_cv_ints(cv, 1, &n) : NULL;
    const bool noop = dtp_cv_int(cv, "noop_with_empty_axes", 0) != 0;
    any_reduction(cv, n, axes, n == 0 && !noop);
}

void dtp_onnx_cumsum(cv_t *cv) {
    int64_t n;
    const int64_t *axis = dtp_cv_ints(cv, 1, &n);
    const uint8_t exclusive = dtp_cv_int(cv, "exclusive", 0) != 0,
                  reverse = dtp_cv_int(cv, "reverse", 0) != 0;
    if (!cv->status && n != 1) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld axes", (long long)n);
    if (cv->status) return;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, axis},
                                      {dnnl_tp_op_attr_exclusive, dnnl_tp_op_attr_bool, 1, &exclusive},
                                      {dnnl_tp_op_attr_reverse, dnnl_tp_op_attr_bool, 1, &reverse}};
    dtp_cv_set(cv, 0,
               dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_cumsum, 1, cv->in, sizeof attr / sizeof *attr, attr));
}

/* Products with what stands 1, 2, 4, ... places before. */
void dtp_onnx_cumprod(cv_t *cv) {
    int64_t n;
    const int64_t *at = dtp_cv_ints(cv, 1, &n);
    const bool exclusive = dtp_cv_int(cv, "exclusive", 0) != 0, reverse = dtp_cv_int(cv, "reverse", 0) != 0;
    val_t *x = cv->in[0];
    if (!cv->status && n != 1) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld axes", (long long)n);
    const int axis = cv->status ? 0 : dtp_cv_axis(cv, *at, x->info.ndims);
    const int64_t size = cv->status ? 0 : dtp_cv_dim(cv, x, axis);
    if (exclusive && size > 0) x = dtp_cv_pad_axis(cv, x, axis, reverse ? -1 : 1, reverse ? 1 : -1, 1);
    for (int64_t by = 1; by < size && !cv->status; by *= 2)
        x = dtp_cv_binary(cv, dnnl_tp_op_multiply, x,
                          dtp_cv_pad_axis(cv, x, axis, reverse ? -by : by, reverse ? by : -by, 1));
    dtp_cv_set(cv, 0, x);
}

void dtp_onnx_lp_normalization(cv_t *cv) {
    const int64_t p = dtp_cv_int(cv, "p", 2), axis = dtp_cv_int(cv, "axis", -1);
    if (p != 1 && p != 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'p' is %lld", (long long)p);
    if (cv->status) return;
    /* First by the largest magnitude, so that squares neither vanish nor overflow. Where that is 0 everything is, and stays. */
    const dnnl_tp_data_type_t type = cv->in[0]->info.data_type;
    const double least = type == dnnl_tp_f64 ? DBL_MIN : (double)FLT_MIN;
    val_t *largest = dtp_cv_unary(cv, dnnl_tp_op_abs, cv->in[0]);
    largest = largest ? dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, largest, 1, &axis, true) : NULL;
    val_t *x = dtp_cv_binary(cv, dnnl_tp_op_divide, cv->in[0], kept_finite(cv, largest, least));
    if (cv->status) return;
    val_t *norm = dtp_cv_reduce(cv, p == 1 ? dnnl_tp_op_reduce_l1 : dnnl_tp_op_reduce_l2, x, 1, &axis, true);
    norm = dtp_cv_binary(cv, dnnl_tp_op_maximum, norm, dtp_cv_scalar(cv, type, least));
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, x, norm));
}
