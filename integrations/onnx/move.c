/* The same elements elsewhere: shapes, orders, parts, joins. What is known when the graph is made stays known. */
#include "onnx/move.h"
#include "onnx/build.h"
#include "onnx/fold.h"
#include "onnx/growing.h"
#include "onnx/sized.h"

#include <string.h>

static dnnl_tp_op_attr_t s64_attr(int key, int n, const int64_t *values) {
    return (dnnl_tp_op_attr_t){key, dnnl_tp_op_attr_s64, n, values};
}

val_t *dtp_cv_reshape(cv_t *cv, val_t *x, int ndims, const int64_t *dims) {
    return dtp_cv_reshape_keeping(cv, x, ndims, dims, 0);
}

val_t *dtp_cv_reshape_as(cv_t *cv, val_t *x, const val_t *other) {
    if (cv->status) return NULL;
    return other->sizes ? dtp_cv_resized(cv, x, other->info.ndims, other->sizes)
                        : dtp_cv_reshape(cv, x, other->info.ndims, other->info.dims);
}

/* Of open sizes: those that are kept stay open; the others are guarded, because dims are made of their hints. */
static val_t *reshape_open(cv_t *cv, val_t *x, int ndims, const int64_t *dims, unsigned kept) {
    dtp_size_t to[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < x->info.ndims; ++d)
        if (!(kept >> d & 1)) (void)dtp_cv_dim(cv, x, d);
    for (int d = 0; d < ndims; ++d)
        to[d] = kept >> d & 1 ? dtp_cv_size(cv, x, d) : dtp_size_number(cv->im->sizes, dims[d]);
    if (!kept) dtp_cv_guard_sizes(cv, x);
    return dtp_cv_resized(cv, x, ndims, to);
}

val_t *dtp_cv_reshape_keeping(cv_t *cv, val_t *x, int ndims, const int64_t *dims, unsigned kept) {
    if (cv->status) return NULL;
    if (ndims > DNNL_TP_MAX_NDIMS) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "a result has %d dimensions, at most %d are allowed", ndims,
                    DNNL_TP_MAX_NDIMS);
        return NULL;
    }
    if (x->sizes) return reshape_open(cv, x, ndims, dims, kept);
    int64_t to[DNNL_TP_MAX_NDIMS] = {0};
    bool rest = false, copies = false, zero = false;
    dnnl_tp_tensor_info_t info = {.ndims = ndims, .data_type = x->info.data_type};
    for (int d = 0; d < ndims; ++d) zero |= dims[d] == 0;
    for (int d = 0; d < ndims; ++d) {
        info.dims[d] = to[d] = dims[d];
        if (dims[d] != CV_RUNTIME) continue;
        if (kept >> d & 1 && !zero) {
            to[d] = 0;
            copies = true;
        } else if (!rest && !zero) {
            to[d] = -1;
            rest = true;
        } else {
            dtp_cv_fail(cv, dnnl_tp_unimplemented,
                        "two dimensions of a shape are not known: give their sizes (dims of "
                        "dnnl_tp_onnx_graph_opts_t)");
            return NULL;
        }
    }
    const int64_t n = dtp_onnx_elems(&info);
    if (x->data) {
        if (n != dtp_val_elems(x)) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "a tensor of %lld elements cannot have a shape of %lld",
                        (long long)dtp_val_elems(x), (long long)n);
            return NULL;
        }
        val_t *v = dtp_cv_alloc(cv, sizeof *v);
        if (!v) return NULL;
        *v = *x;
        v->v = -1;
        v->info = info;
        return v;
    }
    const uint8_t special = copies;
    const dnnl_tp_op_attr_t attr[] = {s64_attr(dnnl_tp_op_attr_shape, ndims, to),
                                      {dnnl_tp_op_attr_special_zero, dnnl_tp_op_attr_bool, 1, &special}};
    return dtp_cv_op(cv, dnnl_tp_op_static_reshape, 1, &x, 2, attr);
}

val_t *dtp_cv_unsqueeze(cv_t *cv, val_t *x, int before, int after) {
    if (cv->status || (!before && !after)) return x;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    const int n = before + x->info.ndims + after;
    if (x->sizes) {
        dtp_size_t to[DNNL_TP_MAX_NDIMS];
        for (int d = 0; d < n && d < DNNL_TP_MAX_NDIMS; ++d)
            to[d] = d < before || d >= before + x->info.ndims ? dtp_size_number(cv->im->sizes, 1)
                                                              : x->sizes[d - before];
        return dtp_cv_resized(cv, x, n, to);
    }
    for (int d = 0; d < n && d < DNNL_TP_MAX_NDIMS; ++d)
        dims[d] = d < before || d >= before + x->info.ndims ? 1 : x->info.dims[d - before];
    return dtp_cv_reshape_keeping(cv, x, n, dims, before ? 0 : dtp_cv_leading(x->info.ndims));
}

val_t *dtp_cv_transpose(cv_t *cv, val_t *x, const int64_t *perm) {
    if (cv->status) return NULL;
    bool same = true;
    for (int d = 0; d < x->info.ndims; ++d) same &= perm[d] == d;
    if (same) return x;
    if (dtp_fold_wants(x)) return dtp_fold_transpose(cv, x, perm);
    const dnnl_tp_op_attr_t attr = s64_attr(dnnl_tp_op_attr_order, x->info.ndims, perm);
    return dtp_cv_op(cv, dnnl_tp_op_static_transpose, 1, &x, 1, &attr);
}

static val_t *take(cv_t *cv, val_t *x, int axis, val_t *ids) {
    if (cv->status) return NULL;
    if (dtp_fold_wants(x) && ids->data) return dtp_fold_take(cv, x, axis, ids);
    val_t *in[] = {x, ids};
    /* Rows of a table may take other operators in; of an open number of rows, positions may still be below 0. */
    if (axis == 0 && x->info.ndims == 2 && x->info.data_type == dnnl_tp_f32 && ids->data &&
        x->info.dims[0] != CV_RUNTIME)
        return dtp_cv_op(cv, dnnl_tp_op_gather, 2, in, 0, NULL);
    return dtp_cv_op_at(cv, dnnl_tp_op_take, 2, in, dnnl_tp_op_attr_axis, axis);
}

val_t *dtp_cv_part(cv_t *cv, val_t *x, int axis, int64_t begin, int64_t size) {
    if (cv->status) return NULL;
    const int64_t all = dtp_cv_dim(cv, x, axis), at = axis;
    if (cv->status) return NULL;
    const int64_t rest = all - begin - size, where[] = {axis, begin, size};
    const dtp_growing_t *state = dtp_growing(cv->im);
    if (state && x->data) dtp_growing_select(cv, where, sizeof where, begin == 0 && size == state->total);
    if (begin == 0 && size == all) return x;
    /* Elements of lists stay known while shapes are inferred if they are taken, not split. */
    enum { LIST = 64 };
    if (dtp_fold_wants(x) || (x->info.ndims == 1 && x->info.data_type == dnnl_tp_s64 && all <= LIST)) {
        void *p;
        val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 1, &size, &p);
        for (int64_t i = 0; ids && i < size; ++i) ((int64_t *)p)[i] = begin + i;
        return ids ? take(cv, x, axis, ids) : NULL;
    }
    enum { PARTS = 3 };
    int64_t sizes[PARTS];
    int n = 0, wanted;
    if (begin) sizes[n++] = begin;
    wanted = n;
    sizes[n++] = size;
    if (rest) sizes[n++] = rest;
    val_t *out[PARTS];
    const dnnl_tp_op_attr_t attr[] = {s64_attr(dnnl_tp_op_attr_axis, 1, &at),
                                      s64_attr(dnnl_tp_op_attr_sizes, n, sizes)};
    dtp_cv_ops(cv, dnnl_tp_op_split, 1, &x, 2, attr, n, out);
    return out[wanted];
}

val_t *dtp_cv_take(cv_t *cv, val_t *x, int axis, val_t *ids) {
    if (!cv->status && dtp_growing(cv->im) && x->data && ids->data)
        dtp_growing_select(cv, ids->data,
                           (size_t)dtp_val_elems(ids) * dtp_onnx_type_size(ids->info.data_type), false);
    return take(cv, x, axis, ids);
}

val_t *dtp_cv_concat(cv_t *cv, int axis, int n, val_t *const *x) {
    enum { MOST = 64 };
    const int64_t at = axis;
    const dnnl_tp_op_attr_t attr = s64_attr(dnnl_tp_op_attr_axis, 1, &at);
    bool known = true;
    for (int i = 0; i < n; ++i) known &= dtp_fold_wants(x[i]);
    if (cv->status) return NULL;
    if (known) return dtp_fold_concat(cv, axis, n, x);
    if (n == 1) return x[0];
    if (n <= MOST) return dtp_cv_op(cv, dnnl_tp_op_concat, n, x, 1, &attr);
    val_t **groups = dtp_cv_alloc(cv, sizeof *groups * (size_t)(n / MOST + 1));
    int k = 0;
    for (int i = 0; i < n && !cv->status; i += MOST)
        groups[k++] = dtp_cv_concat(cv, axis, n - i < MOST ? n - i : MOST, x + i);
    return cv->status ? NULL : dtp_cv_concat(cv, axis, k, groups);
}

val_t *dtp_cv_stack(cv_t *cv, int n, val_t *const *x, int axis) {
    val_t **parts = dtp_cv_alloc(cv, sizeof *parts * ((size_t)n + 1));
    int64_t dims[DNNL_TP_MAX_NDIMS];
    for (int i = 0; i < n && !cv->status; ++i) {
        if (x[i]->info.ndims >= DNNL_TP_MAX_NDIMS) {
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "a result has more than %d dimensions", DNNL_TP_MAX_NDIMS);
            return NULL;
        }
        for (int d = 0, k = 0; d <= x[i]->info.ndims; ++d) dims[d] = d == axis ? 1 : x[i]->info.dims[k++];
        parts[i] = dtp_cv_reshape_keeping(cv, x[i], x[i]->info.ndims + 1, dims, dtp_cv_leading(axis));
    }
    return cv->status ? NULL : dtp_cv_concat(cv, axis, n, parts);
}

val_t *dtp_cv_expand(cv_t *cv, val_t *x, int ndims, const int64_t *dims) {
    if (cv->status) return NULL;
    const int nx = x->info.ndims, n = nx > ndims ? nx : ndims;
    int64_t ones[DNNL_TP_MAX_NDIMS];
    bool grows = ndims > nx;
    if (n > DNNL_TP_MAX_NDIMS) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "the shape has %d dimensions, at most %d are allowed", n,
                    DNNL_TP_MAX_NDIMS);
        return NULL;
    }
    for (int d = 0; d < n; ++d) {
        const int64_t want = d < n - ndims ? 1 : dims[d - (n - ndims)];
        /* What is to grow has to be known, for it may be 1. */
        const int64_t have = d < n - nx  ? 1
                             : want == 1 ? x->info.dims[d - (n - nx)]
                                         : dtp_cv_dim(cv, x, d - (n - nx));
        ones[d] = have == 1 ? want : 1;
        grows |= have == 1 && want != 1;
        if (want < 0 || (have != want && have != 1 && want != 1))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "dimension %d: %lld cannot become %lld", d,
                        (long long)have, (long long)want);
    }
    if (cv->status || !grows) return x;
    /* A product with ones keeps every value, NaN and -0 included; of booleans it is "and". */
    return dtp_cv_binary(cv, dnnl_tp_op_multiply, x, dtp_cv_fill(cv, x->info.data_type, n, ones, 1));
}
