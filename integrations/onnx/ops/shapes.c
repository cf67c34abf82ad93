/* Operators that give the same elements another shape or order. */
#include "onnx/ops/ops.h"

static int ndims_of(const cv_t *cv) { return cv->in[0]->info.ndims; }

/* ---- Shapes -------------------------------------------------------------------------------------------------- */

static void reshape_to(cv_t *cv, int64_t n, const int64_t *shape, bool allow_zero) {
    const val_t *x = cv->in[0];
    int64_t dims[DNNL_TP_MAX_NDIMS];
    if (n > DNNL_TP_MAX_NDIMS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its shape has %lld dimensions", (long long)n);
    if (cv->status) return;
    int rest = -1;
    unsigned kept = 0;
    int64_t product = 1;
    for (int d = 0; d < n; ++d) {
        int64_t v = shape[d];
        if (v == 0 && !allow_zero) {
            if (d >= x->info.ndims) {
                dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its shape copies dimension %d, the input has %d", d,
                            x->info.ndims);
                return;
            }
            v = x->info.dims[d];
            kept |= 1u << d;
        } else if (v == -1 && rest < 0) {
            rest = d;
            v = 1;
        }
        if (v < 0 && v != CV_RUNTIME) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its shape has the dimension %lld", (long long)v);
            return;
        }
        dims[d] = v;
        if (v == CV_RUNTIME || product == CV_RUNTIME) product = CV_RUNTIME;
        else if (__builtin_mul_overflow(product, v, &product)) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its shape is too large");
            return;
        }
    }
    const int64_t have = dtp_cv_product(x, 0, x->info.ndims);
    if (rest >= 0) {
        const bool known = have != CV_RUNTIME && product != CV_RUNTIME;
        if (known && (product == 0 || have % product)) {
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input of %lld elements cannot have its shape",
                        (long long)have);
            return;
        }
        dims[rest] = known ? have / product : CV_RUNTIME;
    }
    dtp_cv_set(cv, 0, dtp_cv_reshape_keeping(dtp_cv_last(cv), cv->in[0], (int)n, dims, kept));
}

void dtp_onnx_reshape(cv_t *cv) {
    const uint8_t special = !dtp_cv_int(cv, "allowzero", 0);
    if (!cv->in[1]->data && !cv->in[1]->input) {
        /* Computed from shapes, maybe: known when the graph is compiled. */
        const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_special_zero, dnnl_tp_op_attr_bool, 1, &special};
        dtp_cv_set(cv, 0, dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_reshape, 2, cv->in, 1, &attr));
        return;
    }
    int64_t n;
    const int64_t *shape = dtp_cv_ints(cv, 1, &n);
    if (shape) reshape_to(cv, n, shape, !special);
}

/* Version 1: the shape is an attribute. */
void dtp_onnx_reshape_1(cv_t *cv) {
    int64_t n;
    const int64_t *shape = dtp_cv_attr_ints(cv, "shape", &n);
    if (n < 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no shape");
    reshape_to(cv, n, shape, false);
}

void dtp_onnx_flatten(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int64_t axis = dtp_cv_int(cv, "axis", 1);
    const int nd = x->info.ndims, at = (int)(axis < 0 ? axis + nd : axis);
    if (axis < -nd || axis > nd)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "axis %lld is outside %d..%d", (long long)axis, -nd, nd);
    if (cv->status) return;
    const int64_t dims[2] = {dtp_cv_product(x, 0, at), dtp_cv_product(x, at, nd)};
    const unsigned kept = at == 1 ? dtp_cv_leading(1) : 0;
    dtp_cv_set(cv, 0, dtp_cv_reshape_keeping(dtp_cv_last(cv), cv->in[0], 2, dims, kept));
}

/* Marks the axes among nd; false on failure. */
static bool mark(cv_t *cv, int64_t n, const int64_t *axes, int nd, bool *at) {
    for (int d = 0; d < nd; ++d) at[d] = false;
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        const int d = dtp_cv_axis(cv, axes[i], nd);
        if (!cv->status && at[d]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "axis %d is given twice", d);
        at[d] = true;
    }
    return !cv->status;
}

static void squeeze(cv_t *cv, int64_t n, const int64_t *axes, bool is_given) {
    const val_t *x = cv->in[0];
    bool gone[DNNL_TP_MAX_NDIMS];
    int64_t dims[DNNL_TP_MAX_NDIMS];
    int k = 0, leading = 0; /* dimensions; those in front of the first one that goes */
    if (cv->status || !mark(cv, n, axes, x->info.ndims, gone)) return;
    for (int d = 0; d < x->info.ndims; ++d) {
        if (is_given ? gone[d] : dtp_cv_dim(cv, x, d) == 1) {
            if (dtp_cv_dim(cv, x, d) != 1)
                dtp_cv_fail(cv, dnnl_tp_invalid_shape, "dimension %d is %lld, not 1", d,
                            (long long)x->info.dims[d]);
        } else {
            if (k == d) ++leading;
            dims[k++] = x->info.dims[d];
        }
    }
    const unsigned kept = dtp_cv_leading(leading);
    dtp_cv_set(cv, 0, dtp_cv_reshape_keeping(dtp_cv_last(cv), cv->in[0], k, dims, kept));
}

static void unsqueeze(cv_t *cv, int64_t n, const int64_t *axes) {
    const val_t *x = cv->in[0];
    const int nd = x->info.ndims + (int)(n < DNNL_TP_MAX_NDIMS + 1 ? n : DNNL_TP_MAX_NDIMS + 1);
    bool is_new[DNNL_TP_MAX_NDIMS];
    int64_t dims[DNNL_TP_MAX_NDIMS];
    if (nd > DNNL_TP_MAX_NDIMS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its result has more than %d dimensions", DNNL_TP_MAX_NDIMS);
    if (cv->status || !mark(cv, n, axes, nd, is_new)) return;
    for (int d = 0, k = 0; d < nd; ++d) dims[d] = is_new[d] ? 1 : x->info.dims[k++];
    int leading = 0;
    while (leading < nd && !is_new[leading]) ++leading;
    const unsigned kept = dtp_cv_leading(leading);
    dtp_cv_set(cv, 0, dtp_cv_reshape_keeping(dtp_cv_last(cv), cv->in[0], nd, dims, kept));
}

void dtp_onnx_squeeze_1(cv_t *cv) {
    int64_t n;
    const int64_t *axes = dtp_cv_attr_ints(cv, "axes", &n);
    squeeze(cv, n, axes, n >= 0);
}
void dtp_onnx_squeeze(cv_t *cv) {
    int64_t n = 0;
    const int64_t *axes = dtp_cv_given(cv, 1) ? dtp_cv_ints(cv, 1, &n) : NULL;
    squeeze(cv, n, axes, dtp_cv_given(cv, 1));
}
void dtp_onnx_unsqueeze_1(cv_t *cv) {
    int64_t n;
    const int64_t *axes = dtp_cv_attr_ints(cv, "axes", &n);
    if (n < 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no axes");
    unsqueeze(cv, n, axes);
}
void dtp_onnx_unsqueeze(cv_t *cv) {
    int64_t n;
    const int64_t *axes = dtp_cv_ints(cv, 1, &n);
    unsqueeze(cv, n, axes);
}

/* ---- Orders ---------------------------------------------------------------------------------------------------- */

void dtp_onnx_transpose(cv_t *cv) {
    int64_t n, reverse[DNNL_TP_MAX_NDIMS];
    const int nd = ndims_of(cv);
    const int64_t *perm = dtp_cv_attr_ints(cv, "perm", &n);
    bool seen[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < nd; ++d) reverse[d] = nd - 1 - d;
    if (n < 0) perm = reverse;
    else if (n != nd)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op,
                    "its attribute 'perm' has %lld entries, the input %d dimensions", (long long)n, nd);
    else if (!mark(cv, n, perm, nd, seen)) return;
    for (int64_t i = 0; i < n && !cv->status; ++i)
        if (perm[i] < 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'perm' is negative");
    dtp_cv_set(cv, 0, dtp_cv_transpose(dtp_cv_last(cv), cv->in[0], perm));
}

/* Dimensions split, reordered, joined. */
static void through(cv_t *cv, int n, const int64_t *dims, const int64_t *perm, int nout, const int64_t *out) {
    val_t *x = dtp_cv_reshape(cv, cv->in[0], n, dims);
    x = dtp_cv_transpose(cv, x, perm);
    dtp_cv_set(cv, 0, dtp_cv_reshape(dtp_cv_last(cv), x, nout, out));
}

enum { N, C, H, W, IMAGE, BLOCKED = 6 };

static int64_t block_size(cv_t *cv) {
    const int64_t b = dtp_cv_int(cv, "blocksize", 0);
    if (ndims_of(cv) != IMAGE)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions, needed are 4", ndims_of(cv));
    if (b < 1 || b > INT32_MAX)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'blocksize' is %lld", (long long)b);
    int64_t product = 1;
    for (int d = C; d < IMAGE && !cv->status; ++d)
        if (__builtin_mul_overflow(dtp_cv_dim(cv, cv->in[0], d), b, &product) ||
            __builtin_mul_overflow(product, b, &product))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its blocks are too large");
    return b;
}

void dtp_onnx_depth_to_space(cv_t *cv) {
    static const int64_t dcr[BLOCKED] = {0, 3, 4, 1, 5, 2}, crd[BLOCKED] = {0, 1, 4, 2, 5, 3};
    const int64_t b = block_size(cv), *x = cv->in[0]->info.dims;
    const bool is_crd = dtp_cv_word(cv, "mode", "DCR", "CRD");
    if (!is_crd && !dtp_cv_word(cv, "mode", "DCR", "DCR"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'mode' is neither DCR nor CRD");
    if (!cv->status && x[C] % (b * b))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld channels in blocks of %lld", (long long)x[C],
                    (long long)(b * b));
    if (cv->status) return;
    const int64_t c = x[C] / (b * b), out[IMAGE] = {x[N], c, x[H] * b, x[W] * b};
    if (is_crd) through(cv, BLOCKED, (const int64_t[]){x[N], c, b, b, x[H], x[W]}, crd, IMAGE, out);
    else through(cv, BLOCKED, (const int64_t[]){x[N], b, b, c, x[H], x[W]}, dcr, IMAGE, out);
}

void dtp_onnx_space_to_depth(cv_t *cv) {
    static const int64_t dcr[BLOCKED] = {0, 3, 5, 1, 2, 4}, crd[BLOCKED] = {0, 1, 3, 5, 2, 4};
    enum { HAS_MODE = 28 };
    const bool is_crd = cv->since >= HAS_MODE && dtp_cv_word(cv, "mode", "DCR", "CRD");
    if (cv->since >= HAS_MODE && !is_crd && !dtp_cv_word(cv, "mode", "DCR", "DCR"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'mode' is neither DCR nor CRD");
    const int64_t b = block_size(cv), *x = cv->in[0]->info.dims;
    if (!cv->status && (x[H] % b || x[W] % b))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "%lld x %lld in blocks of %lld", (long long)x[H],
                    (long long)x[W], (long long)b);
    if (cv->status) return;
    const int64_t out[IMAGE] = {x[N], x[C] * b * b, x[H] / b, x[W] / b};
    through(cv, BLOCKED, (const int64_t[]){x[N], x[C], x[H] / b, b, x[W] / b, b}, is_crd ? crd : dcr, IMAGE,
            out);
}

/* ---- Several tensors ---------------------------------------------------------------------------------------------- */

void dtp_onnx_concat(cv_t *cv) {
    if (!dtp_cv_has(cv, "axis") && cv->since > 1) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no axis");
    const int axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 1), ndims_of(cv));
    for (int i = 0; i < cv->nin; ++i)
        if (!cv->in[i]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
    dtp_cv_set(cv, 0, dtp_cv_concat(dtp_cv_last(cv), axis, cv->nin, cv->in));
}

static void split(cv_t *cv, int64_t n, const int64_t *sizes) {
    val_t *x = cv->in[0];
    const int axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 0), x->info.ndims);
    const int64_t all = cv->status ? 0 : dtp_cv_dim(cv, x, axis),
                  parts = cv->node->n_output > 0 ? (int64_t)cv->node->n_output : 1;
    const int64_t each = (all + parts - 1) / parts;
    if (n >= 0 && n != parts)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld sizes for %lld outputs", (long long)n,
                    (long long)parts);
    int64_t at = 0;
    for (int i = 0; i < parts && !cv->status; ++i) {
        const int64_t left = all - at, size = n >= 0 ? sizes[i] : each < left ? each : left;
        if (size < 0 || size > left)
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "size %lld of output %d, there are %lld left",
                        (long long)size, i, (long long)left);
        if (dtp_cv_wanted(cv, i)) dtp_cv_set(cv, i, dtp_cv_part(cv, x, axis, at, size));
        at += size;
    }
    if (!cv->status && at != all)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape,
                    "its outputs have %lld elements along the axis, its input has %lld", (long long)at,
                    (long long)all);
}

void dtp_onnx_split_2(cv_t *cv) {
    int64_t n;
    const int64_t *sizes = dtp_cv_attr_ints(cv, "split", &n);
    split(cv, n, sizes);
}
void dtp_onnx_split(cv_t *cv) {
    int64_t n = -1;
    const int64_t *sizes = dtp_cv_given(cv, 1) ? dtp_cv_ints(cv, 1, &n) : NULL;
    const int64_t wanted = dtp_cv_int(cv, "num_outputs", (int64_t)cv->node->n_output);
    if (wanted != (int64_t)cv->node->n_output)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'num_outputs' is %lld", (long long)wanted);
    split(cv, n, sizes);
}

/* ---- Parts -------------------------------------------------------------------------------------------------------- */

/* begin, begin + step, ...: count elements of an axis. */
static val_t *steps(cv_t *cv, val_t *x, int axis, int64_t begin, int64_t step, int64_t count) {
    if (step == 1) return dtp_cv_part(cv, x, axis, begin, count);
    void *p;
    val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 1, &count, &p);
    for (int64_t i = 0; ids && i < count; ++i) ((int64_t *)p)[i] = begin + i * step;
    return ids ? dtp_cv_take(cv, x, axis, ids) : NULL;
}

static void slice(cv_t *cv, int64_t n, const int64_t *starts, const int64_t *ends, const int64_t *axes,
                  const int64_t *step) {
    val_t *x = cv->in[0];
    bool seen[DNNL_TP_MAX_NDIMS];
    if (!cv->status && axes && !mark(cv, n, axes, x->info.ndims, seen)) return;
    if (!cv->status && n > x->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has more starts than its input dimensions");
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        const int axis = dtp_cv_axis(cv, axes ? axes[i] : i, x->info.ndims);
        const int64_t by = step ? step[i] : 1;
        if (by == 0 || by == INT64_MIN) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "step %lld", (long long)by);
        if (cv->status) return;
        if (starts[i] == 0 && by == 1 && ends[i] == INT64_MAX) continue; /* all, whatever the size */
        const int64_t all = dtp_cv_dim(cv, x, axis), least = by > 0 ? 0 : -1, most = by > 0 ? all : all - 1;
        int64_t b = starts[i] < 0 ? starts[i] + all : starts[i], e = ends[i] < 0 ? ends[i] + all : ends[i];
        b = b > most ? most : b;
        b = b < 0 ? 0 : b; /* not -1: the standard moves a start onto the first element */
        e = e < least ? least : e > most ? most : e;
        const int64_t length = all == 0 ? 0 : by > 0 ? e - b : b - e, size = by > 0 ? by : -by;
        const int64_t count = length > 0 ? (length - 1) / size + 1 : 0;
        x = cv->status ? NULL : steps(cv, x, axis, count ? b : 0, count ? by : 1, count);
    }
    dtp_cv_set(cv, 0, x);
}

void dtp_onnx_slice_1(cv_t *cv) {
    int64_t n, ne, na;
    const int64_t *starts = dtp_cv_attr_ints(cv, "starts", &n), *ends = dtp_cv_attr_ints(cv, "ends", &ne);
    const int64_t *axes = dtp_cv_attr_ints(cv, "axes", &na);
    if (n < 0 || n != ne || (na >= 0 && na != n))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attributes have different lengths");
    slice(cv, n, starts, ends, na < 0 ? NULL : axes, NULL);
}

void dtp_onnx_slice(cv_t *cv) {
    enum { STARTS = 1, ENDS, AXES, STEPS };
    int64_t n, ne, na = -1, ns = -1;
    const int64_t *starts = dtp_cv_ints(cv, STARTS, &n), *ends = dtp_cv_ints(cv, ENDS, &ne);
    const int64_t *axes = dtp_cv_given(cv, AXES) ? dtp_cv_ints(cv, AXES, &na) : NULL;
    const int64_t *by = dtp_cv_given(cv, STEPS) ? dtp_cv_ints(cv, STEPS, &ns) : NULL;
    if (!cv->status && (n != ne || (na >= 0 && na != n) || (ns >= 0 && ns != n)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its inputs have different lengths");
    slice(cv, n, starts, ends, axes, by);
}

/* Positions below 0 count from the end. */
static val_t *from_the_end(cv_t *cv, val_t *ids, int64_t all) {
    if (cv->status) return NULL;
    const dnnl_tp_data_type_t type = ids->info.data_type;
    if (type != dnnl_tp_s64 && type != dnnl_tp_s32) {
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "its positions are no integers");
        return NULL;
    }
    if (ids->data) {
        void *p;
        val_t *v = dtp_cv_room(cv, dnnl_tp_s64, ids->info.ndims, ids->info.dims, &p);
        const int64_t n = v ? dtp_val_elems(v) : 0;
        for (int64_t i = 0; i < n; ++i) {
            const int64_t id =
                type == dnnl_tp_s64 ? ((const int64_t *)ids->data)[i] : ((const int32_t *)ids->data)[i];
            if (id < -all || id >= all) {
                dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "position %lld is outside %lld..%lld",
                            (long long)id, (long long)-all, (long long)all - 1);
                return NULL;
            }
            ((int64_t *)p)[i] = id < 0 ? id + all : id;
        }
        return v;
    }
    /* id - all * min(sign(id), 0) */
    val_t *sign = dtp_cv_unary(cv, dnnl_tp_op_sign, ids);
    sign = dtp_cv_binary(cv, dnnl_tp_op_minimum, sign, dtp_cv_scalar(cv, type, 0));
    sign = dtp_cv_binary(cv, dnnl_tp_op_multiply, sign, dtp_cv_scalar(cv, type, (double)all));
    return dtp_cv_binary(cv, dnnl_tp_op_subtract, ids, sign);
}

void dtp_onnx_gather(cv_t *cv) {
    val_t *x = cv->in[0];
    const int axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 0), x->info.ndims);
    if (cv->status) return;
    /* Rows of a table may take other operators in (embeddings): positions under 0 are counted before. */
    const bool is_table = axis == 0 && x->info.ndims == 2 && x->info.data_type == dnnl_tp_f32;
    val_t *in[] = {x, cv->in[1]};
    if (is_table && !in[1]->data && x->info.dims[0] != CV_RUNTIME) {
        in[1] = from_the_end(cv, in[1], x->info.dims[0]);
        dtp_cv_set(cv, 0, dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_gather, 2, in, 0, NULL));
        return;
    }
    if (in[1]->data && x->info.dims[axis] != CV_RUNTIME) in[1] = from_the_end(cv, in[1], x->info.dims[axis]);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_take(dtp_cv_last(cv), x, axis, in[1]));
}

/* Elements whose conditions are true; the conditions are known. */
/* Where the second input is known. */
void dtp_cv_compress(cv_t *cv) {
    int64_t n, count = 0, at = 0;
    const double *keep = dtp_cv_numbers(cv, 1, &n);
    val_t *x = cv->in[0];
    int axis = 0;
    if (dtp_cv_has(cv, "axis")) axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 0), x->info.ndims);
    else {
        const int64_t flat = dtp_cv_product(x, 0, x->info.ndims);
        x = dtp_cv_reshape(cv, x, 1, &flat);
    }
    const int64_t all = cv->status ? 0 : dtp_cv_dim(cv, x, axis);
    for (int64_t i = 0; keep && i < n && i < all; ++i) count += keep[i] != 0;
    void *p;
    val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 1, &count, &p);
    for (int64_t i = 0; ids && i < n && i < all; ++i)
        if (keep[i] != 0) ((int64_t *)p)[at++] = i;
    if (ids) dtp_cv_set(cv, 0, dtp_cv_take(dtp_cv_last(cv), x, axis, ids));
}
