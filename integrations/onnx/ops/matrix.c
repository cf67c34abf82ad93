/* Products of matrices. */
#include "onnx/ops/ops.h"

val_t *dtp_cv_matmul(cv_t *cv, val_t *x, val_t *w, bool transposed) {
    const uint8_t t = transposed;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &t};
    val_t *in[] = {x, w};
    return dtp_cv_op(cv, dnnl_tp_op_matmul, 2, in, 1, &attr);
}

void dtp_onnx_matmul(cv_t *cv) {
    dtp_cv_set(cv, 0, dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_matmul, 2, cv->in, 0, NULL));
}

/* alpha A B + beta C */
val_t *dtp_cv_gemm(cv_t *cv, bool is_last) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.f), beta = dtp_cv_float(cv, "beta", 1.f);
    const uint8_t a = dtp_cv_int(cv, "transA", 0) != 0, b = dtp_cv_int(cv, "transB", 0) != 0;
    enum { BROADCASTS_ALWAYS = 7 };
    if (cv->since < BROADCASTS_ALWAYS)
        (void)dtp_cv_int(cv, "broadcast", 0); /* of shapes that are equal without it */
    if (cv->in[0]->info.ndims != 2 || cv->in[1]->info.ndims != 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its inputs have %d and %d dimensions, needed are 2",
                    cv->in[0]->info.ndims, cv->in[1]->info.ndims);
    if (cv->status) return NULL;
    const dnnl_tp_data_type_t type = cv->in[0]->info.data_type;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_transpose_a, dnnl_tp_op_attr_bool, 1, &a},
                                      {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &b}};
    val_t *c = dtp_cv_given(cv, 2) && beta != 0.f ? cv->in[2] : NULL; /* BLAS: with beta 0 nobody reads C */
    const int64_t cols = cv->in[1]->info.dims[b ? 0 : 1];
    if (c && alpha == 1.f && beta == 1.f && c->info.ndims == 1 && c->info.dims[0] == cols) {
        cv->is_last = is_last;
        return dtp_cv_op(cv, dnnl_tp_op_matmul, 3, cv->in, 2, attr);
    }
    const bool scaled = alpha != 1.f;
    if (c && beta != 1.f)
        c = dtp_cv_binary(cv, dnnl_tp_op_multiply, c, dtp_cv_scalar(cv, type, (double)beta));
    cv->is_last = is_last && !scaled && !c;
    val_t *x = dtp_cv_op(cv, dnnl_tp_op_matmul, 2, cv->in, 2, attr);
    cv->is_last = is_last && !c;
    if (scaled) x = dtp_cv_binary(cv, dnnl_tp_op_multiply, x, dtp_cv_scalar(cv, type, (double)alpha));
    if (!c) return x;
    cv->is_last = is_last;
    return dtp_cv_binary(cv, dnnl_tp_op_add, x, c);
}

void dtp_onnx_gemm(cv_t *cv) { dtp_cv_set(cv, 0, dtp_cv_gemm(cv, true)); }
