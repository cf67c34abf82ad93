/* Conditions, functions of integers, and what is defined by cases. */
#include "onnx/ops/ops.h"

#include <math.h>

static dnnl_tp_data_type_t type_of(const cv_t *cv) { return cv->in[0]->info.data_type; }
static val_t *number(cv_t *cv, double value) { return dtp_cv_scalar(cv, type_of(cv), value); }
static bool is_float(const cv_t *cv) { return type_of(cv) == dnnl_tp_f32 || type_of(cv) == dnnl_tp_f64; }

void dtp_onnx_where(cv_t *cv) {
    dtp_cv_set(cv, 0, dtp_cv_select(dtp_cv_last(cv), cv->in[0], cv->in[1], cv->in[2]));
}

void dtp_onnx_is_nan(cv_t *cv) {
    val_t *same = dtp_cv_binary(cv, dnnl_tp_op_equal, cv->in[0], cv->in[0]);
    dtp_cv_set(cv, 0, dtp_cv_unary(dtp_cv_last(cv), dnnl_tp_op_logical_not, same));
}

void dtp_onnx_is_inf(cv_t *cv) {
    const bool above = dtp_cv_int(cv, "detect_positive", 1) != 0,
               below = dtp_cv_int(cv, "detect_negative", 1) != 0;
    val_t *x = above && below ? dtp_cv_unary(cv, dnnl_tp_op_abs, cv->in[0]) : cv->in[0];
    /* Neither: nothing is below itself. */
    dtp_cv_set(cv, 0,
               above || below ? dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_equal, x,
                                              number(cv, above ? INFINITY : -INFINITY))
                              : dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_less, x, x));
}

void dtp_onnx_mod(cv_t *cv) {
    const bool of_dividend = dtp_cv_int(cv, "fmod", 0) != 0;
    enum { TAKES_NUMBERS = 28 };
    if (!of_dividend && is_float(cv) && cv->since < TAKES_NUMBERS)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'fmod' has to be 1 for its type");
    dtp_cv_set(cv, 0,
               dtp_cv_binary(dtp_cv_last(cv), of_dividend ? dnnl_tp_op_remainder : dnnl_tp_op_modulo,
                             cv->in[0], cv->in[1]));
}

void dtp_onnx_bit_shift(cv_t *cv) {
    const bool left = dtp_cv_word(cv, "direction", "", "LEFT");
    if (!left && !dtp_cv_word(cv, "direction", "", "RIGHT"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'direction' is neither LEFT nor RIGHT");
    dtp_cv_set(cv, 0,
               dtp_cv_binary(dtp_cv_last(cv), left ? dnnl_tp_op_shift_left : dnnl_tp_op_shift_right,
                             cv->in[0], cv->in[1]));
}

/* x > alpha ? x : 0 */
void dtp_onnx_thresholded_relu(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.f);
    val_t *above = dtp_cv_binary(cv, dnnl_tp_op_greater, cv->in[0], number(cv, (double)alpha));
    dtp_cv_set(cv, 0, dtp_cv_select(dtp_cv_last(cv), above, cv->in[0], number(cv, 0)));
}

/* x < -lambd ? x + bias : x > lambd ? x - bias : 0 */
void dtp_onnx_shrink(cv_t *cv) {
    const float lambd = dtp_cv_float(cv, "lambd", .5f), bias = dtp_cv_float(cv, "bias", 0.f);
    val_t *x = cv->in[0], *b = number(cv, (double)bias);
    val_t *above = dtp_cv_binary(cv, dnnl_tp_op_greater, x, number(cv, (double)lambd));
    val_t *below = dtp_cv_binary(cv, dnnl_tp_op_less, x, number(cv, -(double)lambd));
    val_t *y = dtp_cv_select(cv, above, dtp_cv_binary(cv, dnnl_tp_op_subtract, x, b), number(cv, 0));
    dtp_cv_set(cv, 0, dtp_cv_select(dtp_cv_last(cv), below, dtp_cv_binary(cv, dnnl_tp_op_add, x, b), y));
}
