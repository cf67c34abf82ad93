/* Operators whose results are known when the graph is made, and those that pass their input on. */
#include "onnx/growing.h"
#include "onnx/narrow.h"
#include "onnx/ops/ops.h"

#include <limits.h>
#include <math.h>

void dtp_onnx_identity(cv_t *cv) { dtp_cv_set(cv, 0, cv->in[0]); }

/* Training: an element passes if a random number is at least the ratio. */
static void drop_some(cv_t *cv, double ratio, const uint64_t *seed) {
    val_t *x = cv->in[0];
    const dnnl_tp_data_type_t type = x->info.data_type;
    if (!(ratio >= 0 && ratio <= 1)) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its ratio is %g", ratio);
    for (int d = 0; d < x->info.ndims; ++d) (void)dtp_cv_dim(cv, x, d);
    val_t *mask = cv->status ? NULL : dtp_cv_uniform(cv, type, x->info.ndims, x->info.dims, seed);
    if (cv->status) return;
    mask = dtp_cv_binary(cv, dnnl_tp_op_greater_equal, mask, dtp_cv_scalar(cv, type, ratio));
    val_t *y =
        dtp_cv_binary(cv, dnnl_tp_op_multiply, x, dtp_cv_scalar(cv, type, ratio < 1 ? 1 / (1 - ratio) : 0));
    dtp_cv_set(cv, 0,
               cv->status ? NULL : dtp_cv_select(dtp_cv_last(cv), mask, y, dtp_cv_scalar(cv, type, 0)));
    dtp_cv_set(cv, 1, mask);
}

void dtp_onnx_dropout(cv_t *cv) {
    const val_t *x = cv->in[0];
    int64_t n = 0;
    (void)dtp_cv_float(cv, "ratio", .5f);
    const bool has_seed = dtp_cv_has(cv, "seed");
    const uint64_t seed = (uint64_t)dtp_cv_int(cv, "seed", 0);
    enum { INPUT, RATIO, TRAINING, IS_TEST_UNTIL = 7 };
    if (cv->since < IS_TEST_UNTIL && !dtp_cv_int(cv, "is_test", 0))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it is in training mode");
    if (dtp_cv_given(cv, TRAINING)) {
        const double *training = dtp_cv_numbers(cv, TRAINING, &n);
        if (training && (n != 1 || *training != 0)) {
            const double *ratio = dtp_cv_given(cv, RATIO) ? dtp_cv_numbers(cv, RATIO, &n) : NULL;
            if (!cv->status && (!ratio || *ratio != 0)) {
                drop_some(cv, ratio ? *ratio : .5, has_seed ? &seed : NULL);
                return;
            }
        }
    }
    dtp_cv_set(cv, 0, cv->in[0]);
    if (!dtp_cv_wanted(cv, 1)) return;
    for (int d = 0; d < x->info.ndims; ++d) (void)dtp_cv_dim(cv, x, d);
    enum { MASK_IS_BOOLEAN = 10 };
    dtp_cv_set(cv, 1,
               dtp_cv_fill(cv, cv->since < MASK_IS_BOOLEAN ? x->info.data_type : dnnl_tp_boolean,
                           x->info.ndims, x->info.dims, 1));
}

/* ---- Types ------------------------------------------------------------------------------------------------------ */

static void cast(cv_t *cv, dnnl_tp_data_type_t to) {
    if (!cv->status) dtp_cv_set(cv, 0, dtp_cv_typed(dtp_cv_last(cv), cv->in[0], to));
}

void dtp_onnx_cast(cv_t *cv) {
    const bool saturates = dtp_cv_int(cv, "saturate", 1) != 0; /* of float8 */
    (void)dtp_cv_word(cv, "round_mode", "up", "up");
    const int64_t to = dtp_cv_int(cv, "to", 0);
    const bool is_bf16 = to == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
    const dtp_narrow_t *narrow = to > 0 && to < INT16_MAX ? dtp_onnx_narrow(dtp_onnx_stored((int)to)) : NULL;
    if (narrow) {
        dtp_cv_set(cv, 0, dtp_cv_narrowed(cv, cv->in[0], narrow));
        return;
    }
    const dtp_float8_t *float8 = to > 0 && to < INT16_MAX ? dtp_onnx_float8(dtp_onnx_stored((int)to)) : NULL;
    if (float8) {
        dtp_cv_set(cv, 0, dtp_cv_float8(cv, cv->in[0], float8, saturates));
        return;
    }
    cast(cv, dtp_cv_type(cv, "to", 0));
    if (is_bf16 && !cv->status) dtp_cv_set(cv, 0, dtp_cv_rounded(cv, cv->out[0]));
}

void dtp_onnx_cast_like(cv_t *cv) {
    const bool saturates = dtp_cv_int(cv, "saturate", 1) != 0;
    (void)dtp_cv_word(cv, "round_mode", "up", "up");
    const dtp_narrow_t *narrow = dtp_onnx_narrow(cv->in[1]->stored);
    const dtp_float8_t *float8 = dtp_onnx_float8(cv->in[1]->stored);
    if (float8) dtp_cv_set(cv, 0, dtp_cv_float8(cv, cv->in[0], float8, saturates));
    else if (narrow) dtp_cv_set(cv, 0, dtp_cv_narrowed(cv, cv->in[0], narrow));
    else cast(cv, cv->in[1]->info.data_type);
}

/* Numbers as integers, which are integers of other types by their lowest bits. */
void dtp_onnx_bit_cast(cv_t *cv) {
    const int64_t to = dtp_cv_int(cv, "to", 0);
    const dtp_narrow_t *narrow = to > 0 && to < INT16_MAX ? dtp_onnx_narrow(dtp_onnx_stored((int)to)) : NULL;
    const dnnl_tp_data_type_t type = narrow ? narrow->as : dtp_cv_type(cv, "to", 0),
                              from = cv->in[0]->info.data_type;
    const bool is_float = from == dnnl_tp_f32 || from == dnnl_tp_f64,
               to_float = type == dnnl_tp_f32 || type == dnnl_tp_f64;
    const bool is_half = to == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
                         to == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16 ||
                         (is_float && narrow && narrow->bits != 32); /* which is carried as a float */
    if (is_half) dtp_cv_fail(cv, dnnl_tp_unimplemented, "the bits of floats of 16 bits are not known");
    if (cv->status) return;
    const int size = (int)dtp_onnx_type_size(type) * CHAR_BIT;
    const dtp_narrow_t whole = {NULL, size, type != dnnl_tp_u8, type == dnnl_tp_f32 ? dnnl_tp_s32 : type};
    val_t *x =
        is_float ? dtp_cv_bits(cv, cv->in[0], from == dnnl_tp_f32 ? dnnl_tp_s32 : dnnl_tp_s64) : cv->in[0];
    if (cv->status) return;
    if (narrow) x = dtp_cv_narrowed(cv, x, narrow);
    else if (type == dnnl_tp_boolean || from == dnnl_tp_boolean) x = dtp_cv_typed(cv, x, type);
    else if (size < 64 && x->info.data_type != whole.as) x = dtp_cv_narrowed(cv, x, &whole);
    dtp_cv_set(cv, 0, to_float ? dtp_cv_bits(cv, x, type) : x);
}

/* ---- Constants --------------------------------------------------------------------------------------------------- */

void dtp_onnx_constant(cv_t *cv) {
    int64_t n;
    val_t *x = NULL;
    if (dtp_cv_has(cv, "value")) {
        x = dtp_cv_tensor(cv, "value");
    } else if (dtp_cv_has(cv, "value_float")) {
        x = dtp_cv_scalar(cv, dnnl_tp_f32, (double)dtp_cv_float(cv, "value_float", 0.f));
    } else if (dtp_cv_has(cv, "value_int")) {
        const int64_t v = dtp_cv_int(cv, "value_int", 0);
        x = dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &v);
    } else if (dtp_cv_has(cv, "value_floats")) {
        const float *v = dtp_cv_attr_floats(cv, "value_floats", &n);
        x = dtp_cv_constant(cv, dnnl_tp_f32, 1, &n, v);
    } else if (dtp_cv_has(cv, "value_ints")) {
        const int64_t *v = dtp_cv_attr_ints(cv, "value_ints", &n);
        x = dtp_cv_list(cv, n, v);
    } else {
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its value is none of value, value_float, value_int, value_floats, value_ints");
    }
    dtp_cv_set(cv, 0, x);
}

void dtp_onnx_constant_of_shape(cv_t *cv) {
    int64_t n;
    const int64_t *dims = dtp_cv_ints(cv, 0, &n);
    const val_t *value = dtp_cv_tensor(cv, "value");
    if (value && dtp_val_elems(value) != 1)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its value has %lld elements",
                    (long long)dtp_val_elems(value));
    if (n > DNNL_TP_MAX_NDIMS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its shape has %lld dimensions", (long long)n);
    if (cv->status) return;
    void *to;
    val_t *x = dtp_cv_room(cv, value ? value->info.data_type : dnnl_tp_f32, (int)n, dims, &to);
    const size_t size = x ? dtp_onnx_type_size(x->info.data_type) : 0;
    for (int64_t i = 0; x && value && i < dtp_val_elems(x); ++i)
        memcpy((char *)to + (size_t)i * size, value->data, size);
    dtp_cv_set(cv, 0, x);
}

void dtp_onnx_range(cv_t *cv) {
    enum { START, LIMIT, DELTA, INPUTS };
    const double *v[INPUTS];
    int64_t n;
    const dnnl_tp_data_type_t type = cv->in[START]->info.data_type;
    for (int i = 0; i < INPUTS; ++i) {
        v[i] = dtp_cv_numbers(cv, i, &n);
        if (!cv->status && n != 1)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d has %lld elements", i, (long long)n);
    }
    if (!cv->status && *v[DELTA] == 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its delta is 0");
    if (cv->status) return;
    const bool is_int = type == dnnl_tp_s64 || type == dnnl_tp_s32;
    const int64_t *from = is_int ? dtp_cv_ints(cv, START, &n) : NULL,
                  *by = is_int ? dtp_cv_ints(cv, DELTA, &n) : NULL;
    if (cv->status) return;
    const int64_t *to_int = is_int ? dtp_cv_ints(cv, LIMIT, &n) : NULL;
    if (cv->status) return;
    double count = ceil((*v[LIMIT] - *v[START]) / *v[DELTA]);
    if (is_int) { /* doubles do not hold the difference of all */
        const __int128 d = by[0], range = (__int128)to_int[0] - from[0];
        count = (double)((range + d - (d > 0 ? 1 : -1)) / d);
    }
    if (!(count < 0x1p40)) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %g elements", count);
    if (cv->status) return;
    n = count > 0 ? (int64_t)count : 0;
    const dtp_growing_t *state = dtp_growing(cv->im);
    if (state && is_int && by[0] == 1 && from[0] == state->capacity && to_int[0] == state->total) {
        /* Positions of the new rows, which begin at the length that a run gives. */
        val_t *first = dtp_cv_typed(cv, dtp_cv_part(cv, state->lengths, 0, 0, 1), type);
        val_t *each = dtp_cv_typed(cv, dtp_cv_counted(cv, n, 0), type);
        dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, each, first));
        return;
    }
    void *to;
    val_t *x = dtp_cv_room(cv, type, 1, &n, &to);
    for (int64_t i = 0; x && i < n; ++i) {
        const double at = *v[START] + (double)i * *v[DELTA];
        const int64_t exact = is_int ? (int64_t)((uint64_t)from[0] + (uint64_t)i * (uint64_t)by[0]) : 0;
        switch (type) {
        case dnnl_tp_f32: ((float *)to)[i] = (float)at; break;
        case dnnl_tp_f64: ((double *)to)[i] = at; break;
        case dnnl_tp_s64: ((int64_t *)to)[i] = exact; break;
        case dnnl_tp_s32: ((int32_t *)to)[i] = (int32_t)exact; break;
        default: dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its type is %s", dnnl_tp_dt2str(type)); return;
        }
    }
    dtp_cv_set(cv, 0, x);
}

void dtp_onnx_eye_like(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int64_t k = dtp_cv_int(cv, "k", 0);
    const dnnl_tp_data_type_t type =
        dtp_cv_has(cv, "dtype") ? dtp_cv_type(cv, "dtype", 0) : x->info.data_type;
    if (x->info.ndims != 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", x->info.ndims);
    if (cv->status) return;
    const int64_t rows = dtp_cv_dim(cv, x, 0), cols = dtp_cv_dim(cv, x, 1);
    val_t *one = dtp_cv_scalar(cv, type, 1), *y = dtp_cv_fill(cv, type, 2, x->info.dims, 0);
    const size_t size = dtp_onnx_type_size(type);
    for (int64_t i = k < 0 && k > -rows ? -k
                     : k < 0            ? rows
                                        : 0;
         y && one && i < rows && k < cols && i + k < cols; ++i)
        memcpy((char *)(uintptr_t)y->data + (size_t)(i * cols + i + k) * size, one->data, size);
    dtp_cv_set(cv, 0, y);
}

/* ---- Shapes as tensors ------------------------------------------------------------------------------------------- */

void dtp_onnx_shape(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int64_t nd = x->info.ndims;
    int64_t b = dtp_cv_int(cv, "start", 0), e = dtp_cv_int(cv, "end", nd);
    b = b < -nd ? 0 : b < 0 ? b + nd : b > nd ? nd : b;
    e = e < -nd ? 0 : e < 0 ? e + nd : e > nd ? nd : e;
    if (e < b) e = b;
    bool known = true;
    for (int64_t d = b; d < e; ++d) known &= x->info.dims[d] != CV_RUNTIME;
    if (known) {
        dtp_cv_set(cv, 0, dtp_cv_list(cv, e - b, x->info.dims + b));
        return;
    }
    val_t *shape = dtp_cv_unary(b == 0 && e == nd ? dtp_cv_last(cv) : cv, dnnl_tp_op_shape_of, cv->in[0]);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_part(dtp_cv_last(cv), shape, 0, b, e - b));
}

void dtp_onnx_size(cv_t *cv) {
    const val_t *x = cv->in[0];
    for (int d = 0; d < x->info.ndims; ++d) (void)dtp_cv_dim(cv, x, d);
    const int64_t n = cv->status ? 0 : dtp_cv_product(x, 0, x->info.ndims);
    dtp_cv_set(cv, 0, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &n));
}

/* A triangle; zeros elsewhere. */
void dtp_onnx_trilu(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int nd = x->info.ndims;
    int64_t n, k = 0;
    const bool upper = dtp_cv_int(cv, "upper", 1) != 0;
    if (dtp_cv_given(cv, 1)) {
        const int64_t *p = dtp_cv_ints(cv, 1, &n);
        if (p && n == 1) k = *p;
    }
    if (nd < 2) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", nd);
    if (cv->status) return;
    const int64_t dims[2] = {dtp_cv_dim(cv, x, nd - 2), dtp_cv_dim(cv, x, nd - 1)};
    void *p;
    val_t *mask = dtp_cv_room(cv, dnnl_tp_boolean, 2, dims, &p);
    for (int64_t r = 0; mask && dims[1] && r < dims[0]; ++r) /* not endless rows of nothing */
        for (int64_t c = 0; c < dims[1]; ++c)
            ((uint8_t *)p)[r * dims[1] + c] = upper ? c - r >= k : c - r <= k;
    dtp_cv_set(cv, 0,
               dtp_cv_select(dtp_cv_last(cv), mask, cv->in[0], dtp_cv_scalar(cv, x->info.data_type, 0)));
}
