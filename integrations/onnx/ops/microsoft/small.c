/* com.microsoft, and what was once in ai.onnx: inverses, transforms, dimensions, maps of
 * channels. */
#include "onnx/ops/ops.h"

/* A dimension of one element at an axis of the result. */
void dtp_onnx_ms_expand_dims(cv_t *cv) {
    int64_t n, dims[DNNL_TP_MAX_NDIMS + 1];
    val_t *x = cv->in[0];
    const int64_t *at = dtp_cv_ints(cv, 1, &n);
    if (!cv->status && (n != 1 || x->info.ndims == DNNL_TP_MAX_NDIMS))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has %lld axes, its input %d dimensions", (long long)n,
                    x->info.ndims);
    const int nd = x->info.ndims + 1, axis = cv->status ? 0 : dtp_cv_axis(cv, *at, nd);
    for (int d = 0, k = 0; d < nd && !cv->status; ++d) dims[d] = d == axis ? 1 : x->info.dims[k++];
    if (!cv->status)
        dtp_cv_set(cv, 0, dtp_cv_reshape_keeping(dtp_cv_last(cv), x, nd, dims, dtp_cv_leading(axis)));
}

/* ---- Inverse --------------------------------------------------------------------------------- */

/* Row k of x {..., n, m} changes places with the row of the largest pivot below it, is divided by
 * the pivot and taken from all other rows, so that column k becomes that of a unit matrix. */
static val_t *eliminated(cv_t *cv, val_t *x, int64_t k, int64_t n) {
    const int rows = x->info.ndims - 2, cols = rows + 1;
    const dnnl_tp_data_type_t type = x->info.data_type;
    const int64_t axis = rows;
    const dnnl_tp_op_attr_t largest[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                         {dnnl_tp_op_attr_k, dnnl_tp_op_attr_s64, 1, &(int64_t){1}}};
    val_t *row = dtp_cv_counted(cv, n, 1), *column = dtp_cv_part(cv, x, cols, k, 1); /* {n, 1}, {..., n, 1} */
    val_t *size = dtp_cv_unary(cv, dnnl_tp_op_abs, column);
    size = cv->status ? NULL : dtp_cv_part(cv, size, rows, k, n - k);
    val_t *pivot = dtp_cv_op(cv, dnnl_tp_op_top_k, 1, &size, 2, largest); /* {..., 1, 1}, from k on */
    pivot = cv->status ? NULL : dtp_cv_typed(cv, pivot, dnnl_tp_s64);
    pivot = dtp_cv_binary(cv, dnnl_tp_op_add, pivot, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &k));
    if (cv->status) return NULL;
    val_t *is_pivot = dtp_cv_binary(cv, dnnl_tp_op_equal, row, pivot), *zero = dtp_cv_scalar(cv, type, 0);
    val_t *is_k = dtp_cv_binary(cv, dnnl_tp_op_equal, row, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &k));
    val_t *first = dtp_cv_part(cv, x, rows, k, 1); /* {..., 1, m} */
    val_t *best = cv->status ? NULL : dtp_cv_select(cv, is_pivot, x, zero);
    best = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, best, 1, &axis, true);
    x = cv->status ? NULL : dtp_cv_select(cv, is_pivot, first, x);
    if (cv->status) return NULL;
    column = dtp_cv_part(cv, x, cols, k, 1);
    best = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_divide, best, dtp_cv_part(cv, best, cols, k, 1));
    val_t *rest = cv->status ? NULL
                             : dtp_cv_binary(cv, dnnl_tp_op_subtract, x,
                                             dtp_cv_binary(cv, dnnl_tp_op_multiply, column, best));
    return cv->status ? NULL : dtp_cv_select(cv, is_k, best, rest);
}

void dtp_onnx_ms_inverse(cv_t *cv) {
    enum { MOST_ROWS = 32 };
    val_t *x = cv->in[0];
    const int nd = x->info.ndims;
    if (nd < 2) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", nd);
    const int64_t n = cv->status ? 0 : dtp_cv_dim(cv, x, nd - 1);
    if (!cv->status && (n < 1 || n > MOST_ROWS || n != dtp_cv_dim(cv, x, nd - 2)))
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its matrices have %lld columns; 1 to %d, and as many rows, are implemented",
                    (long long)n, MOST_ROWS);
    if (!cv->status && x->info.data_type != dnnl_tp_f32 && x->info.data_type != dnnl_tp_f64)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its type is %s", dnnl_tp_dt2str(x->info.data_type));
    if (cv->status) return;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < nd; ++d) dims[d] = d < nd - 2 ? dtp_cv_dim(cv, x, d) : n;
    void *p;
    val_t *unit = dtp_cv_room(cv, dnnl_tp_f32, 2, dims + nd - 2, &p);
    for (int64_t i = 0; unit && i < n * n; ++i) ((float *)p)[i] = i / n == i % n;
    if (cv->status) return;
    unit = dtp_cv_expand(cv, dtp_cv_typed(cv, unit, x->info.data_type), nd, dims);
    x = dtp_cv_concat(cv, nd - 1, 2, (val_t *[]){x, unit});
    for (int64_t k = 0; k < n && !cv->status; ++k) x = eliminated(cv, x, k, n);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_part(cv, x, nd - 1, n, n));
}

/* ---- What was once in ai.onnx ---------------------------------------------------------------- */

static val_t *with(cv_t *cv, int kind, val_t *x, float value) {
    return cv->status ? NULL
                      : dtp_cv_binary(cv, kind, x, dtp_cv_scalar(cv, x->info.data_type, (double)value));
}

/* kind: of the function between two products; alpha kind(beta x), or alpha x + beta. */
void dtp_onnx_scaled(cv_t *cv) {
    const float alpha = dtp_cv_float(cv, "alpha", 1.f),
                beta = dtp_cv_float(cv, "beta", cv->row->kind ? 1.f : 0);
    val_t *x = cv->in[0];
    if (!cv->row->kind) {
        x = with(cv, dnnl_tp_op_multiply, x, alpha);
        dtp_cv_set(cv, 0, with(dtp_cv_last(cv), dnnl_tp_op_add, x, beta));
        return;
    }
    x = with(cv, dnnl_tp_op_multiply, x, beta);
    x = dtp_cv_unary(cv, cv->row->kind, x);
    dtp_cv_set(cv, 0, with(dtp_cv_last(cv), dnnl_tp_op_multiply, x, alpha));
}

/* scale x, and a bias for each channel. */
void dtp_onnx_image_scaler(cv_t *cv) {
    int64_t n;
    const float scale = dtp_cv_float(cv, "scale", 1.f), *bias = dtp_cv_attr_floats(cv, "bias", &n);
    val_t *x = with(cv, dnnl_tp_op_multiply, cv->in[0], scale);
    if (n >= 0 && x) {
        val_t *b = dtp_cv_constant(cv, dnnl_tp_f32, 1, &n, bias);
        b = b ? dtp_cv_per_channel(cv, x, dtp_cv_typed(cv, b, x->info.data_type)) : NULL;
        x = cv->status ? NULL : dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, x, b);
    }
    dtp_cv_set(cv, 0, x);
}

/* border: left, top, right, bottom; scale: rows and columns of the result. */
void dtp_onnx_crop(cv_t *cv) {
    enum { LEFT, TOP, RIGHT, BOTTOM, SIDES, HEIGHT = 2, WIDTH };
    int64_t n, ns;
    const int64_t *border = dtp_cv_attr_ints(cv, "border", &n), *size = dtp_cv_attr_ints(cv, "scale", &ns);
    val_t *x = cv->in[0];
    if (!cv->status && (x->info.ndims != SIDES || n != SIDES || (ns >= 0 && ns != 2)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input has %d dimensions, its border %lld sides",
                    x->info.ndims, (long long)n);
    for (int d = HEIGHT; d <= WIDTH && !cv->status; ++d) {
        const int64_t all = dtp_cv_dim(cv, x, d), begin = border[d == HEIGHT ? TOP : LEFT],
                      end = border[d == HEIGHT ? BOTTOM : RIGHT];
        if (begin < 0 || end < 0 || begin > all || (ns < 0 && end > all - begin) ||
            (ns >= 0 && (size[d - HEIGHT] < 0 || size[d - HEIGHT] > all - begin))) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its border is not inside of dimension %d", d);
            return;
        }
        x = dtp_cv_part(cv, x, d, begin, ns >= 0 ? size[d - HEIGHT] : all - begin - end);
    }
    dtp_cv_set(cv, 0, x);
}
