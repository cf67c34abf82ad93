/* com.microsoft: products and convolutions with what optimisers put into them. */
#include "onnx/ops/ops.h"

#include <math.h>

/* ---- Activations ----------------------------------------------------------------------------- */

enum { MOST_PARAMS = 3 };
typedef struct {
    const char *name;
    int kind;
    /* Attributes of the operator, and what they are by default. */
    int n;
    int key[2];
    float value[2];
} activation_t;

static const activation_t activations[] = {
    {"Relu", dnnl_tp_op_relu, 0, {0, 0}, {0, 0}},
    {"Sigmoid", dnnl_tp_op_sigmoid, 0, {0, 0}, {0, 0}},
    {"Tanh", dnnl_tp_op_tanh, 0, {0, 0}, {0, 0}},
    {"Softplus", dnnl_tp_op_softplus, 0, {0, 0}, {0, 0}},
    {"HardSwish", dnnl_tp_op_hard_swish, 0, {0, 0}, {0, 0}},
    {"LeakyRelu", dnnl_tp_op_leaky_relu, 1, {dnnl_tp_op_attr_alpha, 0}, {.01f, 0}},
    {"Elu", dnnl_tp_op_elu, 1, {dnnl_tp_op_attr_alpha, 0}, {1, 0}},
    {"HardSigmoid", dnnl_tp_op_hard_sigmoid, 2, {dnnl_tp_op_attr_alpha, dnnl_tp_op_attr_beta}, {.2f, .5f}},
    {"Clip", dnnl_tp_op_clamp, 2, {dnnl_tp_op_attr_min, dnnl_tp_op_attr_max}, {-INFINITY, INFINITY}},
};

static val_t *softsign(cv_t *cv, val_t *x) {
    val_t *y = dtp_cv_unary(cv, dnnl_tp_op_abs, x);
    y = y ? dtp_cv_binary(cv, dnnl_tp_op_add, y, dtp_cv_scalar(cv, x->info.data_type, 1)) : NULL;
    return y ? dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_divide, x, y) : NULL;
}

static val_t *thresholded(cv_t *cv, val_t *x, float alpha) {
    if (cv->status) return NULL;
    const dnnl_tp_data_type_t type = x->info.data_type;
    val_t *above = dtp_cv_binary(cv, dnnl_tp_op_greater, x, dtp_cv_scalar(cv, type, (double)alpha));
    return dtp_cv_select(dtp_cv_last(cv), above, x, dtp_cv_scalar(cv, type, 0));
}

/* The activation whose name an attribute holds, with the first n of its parameters. */
static val_t *activated(cv_t *cv, val_t *x, const char *name, int n, const float *param) {
    if (cv->status || !name || !*name) return x;
    if (!strcmp(name, "Softsign")) return softsign(cv, x);
    if (!strcmp(name, "ThresholdedRelu")) return thresholded(cv, x, n ? *param : 1.f);
    for (size_t i = 0; i < sizeof activations / sizeof *activations; ++i) {
        const activation_t *a = &activations[i];
        if (strcmp(a->name, name) != 0) continue;
        float value[2];
        for (int k = 0; k < 2; ++k) value[k] = k < n ? param[k] : a->value[k];
        if (a->kind == dnnl_tp_op_clamp && !(value[0] <= value[1]))
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its activation's bounds are not in order");
        return dtp_cv_unary_with(dtp_cv_last(cv), a->kind, x, a->n ? a->key[0] : -1, value[0],
                                 a->n > 1 ? a->key[1] : -1, value[1]);
    }
    dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'activation' is %.40s", name);
    return NULL;
}

/* ---- Products -------------------------------------------------------------------------------- */

/* The first dimension moves before the last one: that of {K, batch, M} goes where {batch, K, M} has
 * it. */
static val_t *batch_behind(cv_t *cv, val_t *x) {
    int64_t perm[DNNL_TP_MAX_NDIMS];
    const int nd = cv->status ? 0 : x->info.ndims;
    enum { LEAST = 3 };
    if (nd < LEAST) return x;
    for (int d = 0; d < nd - 2; ++d) perm[d] = d + 1;
    perm[nd - 2] = 0;
    perm[nd - 1] = nd - 1;
    return dtp_cv_transpose(cv, x, perm);
}

void dtp_onnx_ms_matmul(cv_t *cv) {
    static const char *const trans[] = {"transA", "transB"}, *const batch[] = {"transBatchA", "transBatchB"};
    const float alpha = dtp_cv_float(cv, "alpha", 1.f);
    val_t *in[2] = {cv->in[0], cv->in[1]};
    uint8_t turned[2];
    for (int i = 0; i < 2; ++i) {
        turned[i] = dtp_cv_int(cv, trans[i], 0) != 0 && in[i]->info.ndims > 1;
        if (dtp_cv_int(cv, batch[i], 0)) in[i] = batch_behind(cv, in[i]);
    }
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_transpose_a, dnnl_tp_op_attr_bool, 1, &turned[0]},
                                      {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &turned[1]}};
    if (cv->status) return;
    val_t *y = dtp_cv_op(alpha == 1.f ? dtp_cv_last(cv) : cv, dnnl_tp_op_matmul, 2, in, 2, attr);
    if (alpha != 1.f && y)
        y = dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, y,
                          dtp_cv_scalar(cv, y->info.data_type, (double)alpha));
    dtp_cv_set(cv, 0, y);
}

void dtp_onnx_ms_gemm(cv_t *cv) {
    static const char *const names[MOST_PARAMS] = {"activation_alpha", "activation_beta", "activation_gamma"};
    const char *name = dtp_cv_attr_text(cv, "activation");
    float param[MOST_PARAMS] = {0};
    int n = 0;
    for (int i = 0; i < MOST_PARAMS; ++i) {
        const float value = dtp_cv_float(cv, names[i], 0);
        if (!dtp_cv_has(cv, names[i])) continue;
        param[i] = value;
        if (n == i) ++n;
        else
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' stands without those before it",
                        names[i]);
    }
    val_t *y = dtp_cv_gemm(cv, !name || !*name);
    dtp_cv_set(cv, 0, activated(cv, y, name, n, param));
}

/* ---- Convolutions ---------------------------------------------------------------------------- */

static val_t *channels_moved(cv_t *cv, val_t *x, bool to_the_end) {
    int64_t perm[DNNL_TP_MAX_NDIMS];
    const int nd = cv->status ? 0 : x->info.ndims;
    for (int d = 0; d < nd; ++d)
        perm[d] = d == 0 ? 0 : to_the_end ? (d == nd - 1 ? 1 : d + 1) : (d == 1 ? nd - 1 : d - 1);
    return dtp_cv_transpose(cv, x, perm);
}

/* kind: the channels of the image and of the result come last. */
void dtp_onnx_ms_conv(cv_t *cv) {
    enum { X, W, BIAS, SUM };
    const bool is_nhwc = cv->row->kind != 0;
    const int64_t groups = dtp_cv_int(cv, "group", 1);
    const char *name = dtp_cv_attr_text(cv, "activation");
    int64_t n;
    const float *param = dtp_cv_attr_floats(cv, "activation_params", &n);
    if (cv->in[X]->info.ndims != cv->in[W]->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions, its weights %d",
                    cv->in[X]->info.ndims, cv->in[W]->info.ndims);
    if (cv->status) return;
    val_t *in[] = {cv->in[X], cv->in[W], dtp_cv_given(cv, BIAS) ? cv->in[BIAS] : NULL};
    if (is_nhwc) in[X] = channels_moved(cv, in[X], false);
    val_t *y = dtp_cv_convolution(cv, in[BIAS] ? SUM : BIAS, in, groups);
    if (is_nhwc) y = channels_moved(cv, y, true);
    if (dtp_cv_given(cv, SUM)) y = dtp_cv_binary(cv, dnnl_tp_op_add, y, cv->in[SUM]);
    dtp_cv_set(cv, 0, activated(cv, y, name, n < 0 ? 0 : (int)n, param));
}
