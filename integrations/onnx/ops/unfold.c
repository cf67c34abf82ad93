/* Positions of windows: images of columns, what pooling left out; determinants. */
#include "onnx/ops/ops.h"

enum { SPACE = 2, MOST = 3 };

/* x in a row, each element added to the one of `size` whose number `at` has. */
static val_t *scattered(cv_t *cv, int64_t rows, int64_t cols, val_t *at, val_t *x, const char *reduction) {
    const int64_t dims[2] = {rows, cols};
    if (cv->status) return NULL;
    val_t *in[] = {dtp_cv_fill(cv, x->info.data_type, cols < 0 ? 1 : 2, dims, 0), at, x};
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_reduction, dnnl_tp_op_attr_string, (int)strlen(reduction),
                                    reduction};
    return dtp_cv_op(cv, dnnl_tp_op_scatter_nd, 3, in, 1, &attr);
}

static bool list_of(cv_t *cv, const char *name, int n, int64_t standard, int64_t *to) {
    int64_t count;
    const int64_t *list = dtp_cv_attr_ints(cv, name, &count);
    if (!cv->status && count >= 0 && count != n)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld entries, needed are %d", name,
                    (long long)count, n);
    for (int d = 0; d < n && !cv->status; ++d) {
        to[d] = count < 0 ? standard : list[d];
        if (to[d] < 0 || to[d] > INT32_MAX)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld", name, (long long)to[d]);
    }
    return !cv->status;
}

/* Columns {N, C kernel, windows} are added where their windows lie in an image. */
void dtp_onnx_col_to_im(cv_t *cv) {
    enum { X, IMAGE, BLOCK };
    int64_t n, nb, pads[2 * MOST], strides[MOST], dilations[MOST], count[MOST], windows = 1, volume = 1,
                                                                                places = 1, area = 1;
    const int64_t *image = dtp_cv_ints(cv, IMAGE, &n), *block = dtp_cv_ints(cv, BLOCK, &nb);
    val_t *x = cv->in[X];
    if (!cv->status && (n < 1 || n > MOST || nb != n || x->info.ndims != 3))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has %lld spatial dimensions and %d of columns",
                    (long long)n, x->info.ndims);
    if (cv->status || !list_of(cv, "pads", 2 * (int)n, 0, pads) ||
        !list_of(cv, "strides", (int)n, 1, strides) || !list_of(cv, "dilations", (int)n, 1, dilations))
        return;
    for (int64_t d = 0; d < n && !cv->status; ++d) {
        if (image[d] < 1 || image[d] > INT32_MAX || block[d] < 1 || block[d] > INT32_MAX || strides[d] < 1)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its sizes or strides are not above 0");
        else
            count[d] =
                (image[d] + pads[d] + pads[n + d] - dilations[d] * (block[d] - 1) - 1) / strides[d] + 1;
        if (!cv->status && (count[d] < 1 || __builtin_mul_overflow(windows, count[d], &windows) ||
                            __builtin_mul_overflow(volume, block[d], &volume) ||
                            __builtin_mul_overflow(area, image[d], &area) ||
                            __builtin_mul_overflow(windows, volume, &places) || area == INT64_MAX))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its windows do not fit");
    }
    const int64_t batch = cv->status ? 0 : dtp_cv_dim(cv, x, 0), rows = cv->status ? 0 : dtp_cv_dim(cv, x, 1);
    if (!cv->status && (rows % volume || dtp_cv_dim(cv, x, 2) != windows))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its columns are not those of %lld windows of %lld elements",
                    (long long)windows, (long long)volume);
    if (cv->status) return;
    void *p;
    val_t *at = dtp_cv_room(cv, dnnl_tp_s64, 2, (const int64_t[2]){places, 1}, &p);
    for (int64_t k = 0; at && k < volume; ++k)
        for (int64_t w = 0; w < windows; ++w) {
            int64_t to = 0, kk = k, ww = w, factor = 1;
            for (int64_t d = n - 1; d >= 0; --d) {
                const int64_t i = ww % count[d] * strides[d] - pads[d] + kk % block[d] * dilations[d];
                if (i < 0 || i >= image[d])
                    to = INT64_MIN; /* in the padding: to the element behind the image */
                else if (to >= 0) to += i * factor;
                factor *= image[d];
                kk /= block[d];
                ww /= count[d];
            }
            ((int64_t *)p)[k * windows + w] = to < 0 ? area : to;
        }
    const int64_t planes = batch * (rows / volume), flat[2] = {planes, places};
    static const int64_t swap[] = {1, 0};
    val_t *y = dtp_cv_transpose(cv, dtp_cv_reshape(cv, x, 2, flat), swap);
    y = scattered(cv, area + 1, planes, at, y, "add");
    y = cv->status ? NULL : dtp_cv_transpose(cv, dtp_cv_part(cv, y, 0, 0, area), swap);
    int64_t dims[SPACE + MOST] = {batch, rows / volume};
    for (int64_t d = 0; d < n; ++d) dims[SPACE + d] = image[d];
    dtp_cv_set(cv, 0, dtp_cv_reshape(dtp_cv_last(cv), y, SPACE + (int)n, dims));
}

/* Elements go where indices of the whole result say, zeros stand elsewhere. */
void dtp_onnx_max_unpool(cv_t *cv) {
    enum { X, INDICES, SHAPE };
    val_t *x = cv->in[X];
    const int nd = x->info.ndims, n = nd - SPACE;
    int64_t kernel[MOST], strides[MOST], pads[2 * MOST], dims[SPACE + MOST], total = 1, count;
    if (n < 1 || n > MOST) dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input has %d dimensions", nd);
    if (cv->status || !list_of(cv, "kernel_shape", n, 1, kernel) || !list_of(cv, "strides", n, 1, strides) ||
        !list_of(cv, "pads", 2 * n, 0, pads))
        return;
    for (int d = 0; d < nd && !cv->status; ++d) {
        dims[d] = dtp_cv_dim(cv, x, d);
        if (d >= SPACE) {
            const int s = d - SPACE;
            if (__builtin_mul_overflow(dims[d] - 1, strides[s], &dims[d]) || dims[d] > INT64_MAX / 2)
                dims[d] = -1;
            else dims[d] += kernel[s] - pads[s] - pads[n + s];
        }
        if (!cv->status && (dims[d] < 0 || __builtin_mul_overflow(total, dims[d], &total)))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "dimension %d of its result does not fit", d);
    }
    const int64_t elems = cv->status ? 0 : dtp_cv_product(x, 0, nd);
    val_t *at =
        dtp_cv_reshape(cv, dtp_cv_typed(cv, cv->in[INDICES], dnnl_tp_s64), 2, (const int64_t[2]){elems, 1});
    val_t *y = scattered(cv, total, -1, at, dtp_cv_reshape(cv, x, 1, &elems), "none");
    y = dtp_cv_reshape(cv, y, nd, dims);
    if (dtp_cv_given(cv, SHAPE)) {
        const int64_t *shape = dtp_cv_ints(cv, SHAPE, &count);
        if (!cv->status && count != nd)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its shape has %lld entries", (long long)count);
        for (int d = 0; d < nd && !cv->status; ++d) {
            if (shape[d] < dims[d])
                dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "dimension %d of its shape is %lld, needed is %lld",
                            d, (long long)shape[d], (long long)dims[d]);
            else if (shape[d] > dims[d]) y = dtp_cv_pad_axis(cv, y, d, 0, shape[d] - dims[d], 0);
        }
    }
    dtp_cv_set(cv, 0, y);
}

/* By minors: each of the first rows, for every set of as many columns. */
void dtp_onnx_det(cv_t *cv) {
    enum { MOST_ROWS = 6, SETS = 1 << MOST_ROWS };
    val_t *x = cv->in[0], *minor[SETS] = {NULL};
    const int nd = x->info.ndims;
    if (nd < 2) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", nd);
    if (cv->status) return;
    const int64_t n = dtp_cv_dim(cv, x, nd - 1);
    if (!cv->status && (n < 1 || n != dtp_cv_dim(cv, x, nd - 2) || n > MOST_ROWS))
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its matrices have %lld columns; 1 to %d, and as many rows, are "
                    "implemented",
                    (long long)n, MOST_ROWS);
    if (cv->status) return;
    val_t *cell[MOST_ROWS][MOST_ROWS];
    for (int r = 0; r < n && !cv->status; ++r) {
        val_t *row = dtp_cv_part(cv, x, nd - 2, r, 1);
        for (int c = 0; c < n && !cv->status; ++c)
            cell[r][c] = dtp_cv_reshape(cv, dtp_cv_part(cv, row, nd - 1, c, 1), nd - 2, x->info.dims);
    }
    for (unsigned set = 1; set < 1U << n && !cv->status; ++set) {
        const int row = __builtin_popcount(set) - 1;
        for (int c = 0; c < n && !cv->status; ++c) {
            if (!(set >> c & 1)) continue;
            val_t *rest = minor[set & ~(1U << c)];
            val_t *term = rest ? dtp_cv_binary(cv, dnnl_tp_op_multiply, cell[row][c], rest) : cell[row][c];
            const bool negative = __builtin_popcount(set >> (c + 1)) & 1;
            if (!minor[set] && !negative) minor[set] = term;
            else if (!minor[set])
                minor[set] =
                    dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_scalar(cv, x->info.data_type, 0), term);
            else
                minor[set] =
                    dtp_cv_binary(cv, negative ? dnnl_tp_op_subtract : dnnl_tp_op_add, minor[set], term);
        }
    }
    dtp_cv_set(cv, 0, cv->status ? NULL : minor[(1U << n) - 1]);
}
