/* Elements that are known when the graph is made: lists that shapes and positions are computed with, and whatever else is
 * small. Frequent operators are computed here, others by a graph of their own. What is large is left to the compiler, which
 * folds constants itself. */
#include "onnx/fold.h"
#include "onnx/growing.h"

#include <string.h>

enum { MOST = 4096 }; /* elements that are looked into here */

bool dtp_fold_wants(const val_t *x) { return x && x->data && dtp_val_elems(x) <= MOST; }

double dtp_fold_number(const val_t *x, int64_t i) {
    switch (x->info.data_type) {
    case dnnl_tp_f32: return (double)((const float *)x->data)[i];
    case dnnl_tp_f64: return ((const double *)x->data)[i];
    case dnnl_tp_s64: return (double)((const int64_t *)x->data)[i];
    case dnnl_tp_s32: return ((const int32_t *)x->data)[i];
    case dnnl_tp_s8: return ((const int8_t *)x->data)[i];
    default: return ((const uint8_t *)x->data)[i];
    }
}

bool dtp_fold_is(const val_t *x, double number) {
    const int64_t n = x->data && !x->stored ? dtp_val_elems(x) : -1;
    int64_t i = 0;
    while (i < n && dtp_fold_number(x, i) == number) ++i;
    return n >= 0 && i == n;
}

static int64_t integer(const val_t *x, int64_t i) {
    if (x->info.data_type == dnnl_tp_s64) return ((const int64_t *)x->data)[i];
    const double v = dtp_fold_number(x, i); /* of a file: maybe of a type that no integers have */
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : 0;
}

val_t *dtp_fold_take(cv_t *cv, const val_t *x, int axis, const val_t *ids) {
    const int nd = x->info.ndims, ni = ids->info.ndims;
    int64_t dims[2 * DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < axis; ++d) dims[d] = x->info.dims[d];
    for (int d = 0; d < ni; ++d) dims[axis + d] = ids->info.dims[d];
    for (int d = axis + 1; d < nd; ++d) dims[ni + d - 1] = x->info.dims[d];
    void *to;
    val_t *v = dtp_cv_room(cv, x->info.data_type, nd - 1 + ni, dims, &to);
    if (!v) return NULL;
    if (dtp_val_elems(v) == 0) return v;
    const size_t row = (size_t)dtp_cv_product(x, axis + 1, nd) * dtp_onnx_type_size(x->info.data_type);
    const int64_t outer = dtp_cv_product(x, 0, axis), n = dtp_val_elems(ids), all = x->info.dims[axis];
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < n; ++i) {
            const int64_t id = integer(ids, i);
            if (id < 0 || id >= all) {
                dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "position %lld is outside 0..%lld", (long long)id,
                            (long long)all - 1);
                return NULL;
            }
            memcpy((char *)to + (size_t)(o * n + i) * row,
                   (const char *)x->data + (size_t)(o * all + id) * row, row);
        }
    return v;
}

val_t *dtp_fold_concat(cv_t *cv, int axis, int n, val_t *const *x) {
    dnnl_tp_tensor_info_t info = x[0]->info;
    for (int i = 1; i < n; ++i) {
        bool fits = x[i]->info.ndims == info.ndims && x[i]->info.data_type == info.data_type;
        for (int d = 0; fits && d < info.ndims; ++d) fits = d == axis || x[i]->info.dims[d] == info.dims[d];
        if (!fits) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "input %d does not fit input 0", i);
            return NULL;
        }
        info.dims[axis] += x[i]->info.dims[axis];
    }
    void *p;
    val_t *v = dtp_cv_room(cv, info.data_type, info.ndims, info.dims, &p);
    if (!v || dtp_val_elems(v) == 0) return v;
    char *to = p;
    const int64_t outer = dtp_cv_product(v, 0, axis);
    for (int64_t o = 0; o < outer; ++o)
        for (int i = 0; i < n; ++i) {
            const size_t row =
                (size_t)dtp_cv_product(x[i], axis, info.ndims) * dtp_onnx_type_size(info.data_type);
            if (row) memcpy(to, (const char *)x[i]->data + (size_t)o * row, row);
            to += row;
        }
    return v;
}

val_t *dtp_fold_transpose(cv_t *cv, const val_t *x, const int64_t *perm) {
    const int nd = x->info.ndims;
    int64_t dims[DNNL_TP_MAX_NDIMS], strides[DNNL_TP_MAX_NDIMS], step[DNNL_TP_MAX_NDIMS],
        at[DNNL_TP_MAX_NDIMS] = {0};
    int64_t stride = 1;
    for (int d = nd - 1; d >= 0; --d) {
        strides[d] = stride;
        stride *= x->info.dims[d];
    }
    for (int d = 0; d < nd; ++d) {
        dims[d] = x->info.dims[perm[d]];
        step[d] = strides[perm[d]];
    }
    void *to;
    val_t *v = dtp_cv_room(cv, x->info.data_type, nd, dims, &to);
    const int64_t n = v ? dtp_val_elems(v) : 0;
    const size_t size = dtp_onnx_type_size(x->info.data_type);
    for (int64_t i = 0; i < n; ++i) {
        int64_t from = 0;
        for (int d = 0; d < nd; ++d) from += at[d] * step[d];
        memcpy((char *)to + (size_t)i * size, (const char *)x->data + (size_t)from * size, size);
        for (int d = nd - 1; d >= 0 && ++at[d] == dims[d]; --d) at[d] = 0;
    }
    return v;
}

/* Modulo 2^64, as graphs compute; towards zero, 0 for a division by 0. */
static int64_t computed(int kind, int64_t x, int64_t y) {
    switch (kind) {
    case dnnl_tp_op_add: return (int64_t)((uint64_t)x + (uint64_t)y);
    case dnnl_tp_op_subtract: return (int64_t)((uint64_t)x - (uint64_t)y);
    case dnnl_tp_op_multiply: return (int64_t)((uint64_t)x * (uint64_t)y);
    default: return y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
    }
}

val_t *dtp_fold_binary(cv_t *cv, int kind, const val_t *x, const val_t *y) {
    const dnnl_tp_tensor_info_t *a = &x->info, *b = &y->info;
    if ((kind != dnnl_tp_op_add && kind != dnnl_tp_op_subtract && kind != dnnl_tp_op_multiply &&
         kind != dnnl_tp_op_divide) ||
        a->data_type != b->data_type || a->data_type != dnnl_tp_s64 || a->ndims > 1 || b->ndims > 1)
        return NULL;
    const int64_t na = dtp_val_elems(x), nb = dtp_val_elems(y), n = na == 1 ? nb : na;
    if (na > MOST || nb > MOST || (na != nb && na != 1 && nb != 1)) return NULL;
    void *to;
    val_t *v = dtp_cv_room(cv, dnnl_tp_s64, a->ndims > b->ndims ? a->ndims : b->ndims, &n, &to);
    for (int64_t i = 0; v && i < n; ++i)
        ((int64_t *)to)[i] = computed(kind, integer(x, na == 1 ? 0 : i), integer(y, nb == 1 ? 0 : i));
    return v;
}

/* ---- Operators ----------------------------------------------------------------------------------------------------- */

static void compute(cv_t *cv, dnnl_tp_graph_t g, int nout, void **data) {
    import_t *im = cv->im;
    dnnl_tp_executable_t e = NULL;
    if (!im->engine) dtp_cv_pass_on(cv, dnnl_tp_engine_create(&im->engine, dnnl_tp_cpu, 0));
    if (!cv->status && !im->stream)
        dtp_cv_pass_on(cv, dnnl_tp_stream_create(&im->stream, im->engine, dnnl_tp_stream_default_flags));
    if (!cv->status) dtp_cv_pass_on(cv, dnnl_tp_executable_compile(&e, g, im->engine, 0, NULL, NULL));
    if (!cv->status) dtp_cv_pass_on(cv, dnnl_tp_executable_run(e, im->stream, 0, NULL, nout, data, NULL));
    (void)dnnl_tp_executable_destroy(e);
}

/* Masks of all keys are known in imports for states, which are compared with one of few keys. */
static int64_t most_of(const cv_t *cv) {
    enum { MOST_OF_STATES = 1 << 16 };
    return dtp_growing(cv->im) ? MOST_OF_STATES : MOST;
}

/* Whether an operator is computed here: of few elements, or sums of integers, such as a mask's of all keys. */
static bool wants(const cv_t *cv, int kind, const val_t *x) {
    enum { MOST_SUMMED = 1 << 20 };
    return (x && x->data && dtp_val_elems(x) <= most_of(cv)) ||
           (kind == dnnl_tp_op_reduce_sum && x && x->data && dtp_val_elems(x) <= MOST_SUMMED &&
            (x->info.data_type == dnnl_tp_s64 || x->info.data_type == dnnl_tp_s32));
}

bool dtp_fold_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                 int nout, val_t **out) {
    enum { FEW = 8 };
    dnnl_tp_value_t x[FEW], y[FEW];
    void *data[FEW];
    if (cv->status || nin > FEW || nout > FEW || nin == 0) return false;
    for (int i = 0; i < nin; ++i)
        if (in[i] && !wants(cv, kind, in[i])) return false;
    if (nin > 1 && in[1] && (kind == dnnl_tp_op_gather_nd || kind == dnnl_tp_op_gather_elements))
        dtp_growing_select(cv, in[1]->data,
                           (size_t)dtp_val_elems(in[1]) * dtp_onnx_type_size(in[1]->info.data_type), false);
    dnnl_tp_graph_t g;
    dtp_cv_pass_on(cv, dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    if (cv->status) return true;
    for (int i = 0; i < nin; ++i) {
        x[i] = -1;
        if (in[i] && !cv->status)
            dtp_cv_pass_on(cv, dnnl_tp_graph_constant(g, &x[i], NULL, in[i]->info.data_type,
                                                      in[i]->info.ndims, in[i]->info.dims, in[i]->data,
                                                      DNNL_TP_CONSTANT_COPY, NULL, NULL));
    }
    dtp_cv_graph_op(cv, g, kind, "", nin, in, x, nattr, attr, nout, y);
    bool is_small = true;
    for (int i = 0; i < nout && !cv->status; ++i) {
        dnnl_tp_tensor_info_t info;
        dtp_cv_pass_on(cv, dnnl_tp_graph_value_info(g, y[i], &info));
        if (cv->status) break;
        const int64_t n = dtp_onnx_elems(&info);
        is_small &= n >= 0 && n <= most_of(cv);
        if (!is_small) break;
        out[i] = dtp_cv_room(cv, info.data_type, info.ndims, info.dims, &data[i]);
        if (!cv->status) dtp_cv_pass_on(cv, dnnl_tp_graph_output(g, y[i], NULL));
    }
    if (is_small && !cv->status) compute(cv, g, nout, data);
    (void)dnnl_tp_graph_destroy(g);
    return is_small || cv->status;
}

void dtp_fold_end(import_t *im) {
    (void)dnnl_tp_stream_destroy(im->stream);
    (void)dnnl_tp_engine_destroy(im->engine);
}
