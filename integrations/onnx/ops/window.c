/* Windows that slide over the spatial dimensions: convolutions, pooling, local response normalization. */
#include "onnx/ops/ops.h"
#include "onnx/sized.h"

#include <math.h>

enum { CHANNELS = 1, SPACE = 2, MOST = 3 }; /* dimensions of x: {N, C, space} */

/* The attributes that windows have in common. */
typedef struct {
    int n; /* spatial dimensions */
    int64_t kernel[MOST], strides[MOST], dilations[MOST], begin[MOST], end[MOST];
    const char *auto_pad; /* word of the graph's operators */
} window_t;

static void read_list(cv_t *cv, const char *name, int n, int64_t standard, int64_t *to) {
    int64_t count;
    const int64_t *list = dtp_cv_attr_ints(cv, name, &count);
    if (!cv->status && count >= 0 && count != n)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op,
                    "its attribute '%s' has %lld entries for %d spatial dimensions", name, (long long)count,
                    n);
    for (int d = 0; d < n; ++d) to[d] = cv->status || count < 0 ? standard : list[d];
}

/* kernel: by dimension, if the attribute is not given; NULL: it has to be. */
static bool read_window(cv_t *cv, const int64_t *kernel, window_t *w) {
    static const char *const words[][2] = {{"NOTSET", "none"},
                                           {"", "none"},
                                           {"SAME_UPPER", "same_upper"},
                                           {"SAME_LOWER", "same_lower"},
                                           {"VALID", "valid"}};
    const int n = w->n = cv->in[0]->info.ndims - SPACE;
    int64_t count, pads[2 * MOST];
    if (n < 1 || n > MOST) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input has %d dimensions; 3 to 5 are implemented",
                    n + SPACE);
        return false;
    }
    (void)dtp_cv_attr_ints(cv, "kernel_shape", &count);
    if (count < 0 && !kernel) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no attribute 'kernel_shape'");
    read_list(cv, "kernel_shape", n, 1, w->kernel);
    for (int d = 0; d < n && kernel; ++d) {
        if (count >= 0 && kernel[d] != CV_RUNTIME && w->kernel[d] != kernel[d])
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its attribute 'kernel_shape' is not that of its weights");
        w->kernel[d] = kernel[d];
    }
    read_list(cv, "strides", n, 1, w->strides);
    read_list(cv, "dilations", n, 1, w->dilations);
    const int64_t *given = dtp_cv_attr_ints(cv, "pads", &count);
    if (!cv->status && count >= 0 && count != 2 * n)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld pads for %d spatial dimensions",
                    (long long)count, n);
    for (int i = 0; i < 2 * n; ++i) pads[i] = cv->status || count < 0 ? 0 : given[i];
    memcpy(w->begin, pads, sizeof *pads * (size_t)n);
    memcpy(w->end, pads + n, sizeof *pads * (size_t)n);
    w->auto_pad = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words && !w->auto_pad; ++i)
        if (dtp_cv_word(cv, "auto_pad", "NOTSET", words[i][0])) w->auto_pad = words[i][1];
    if (!w->auto_pad) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'auto_pad' is not known");
    return !cv->status;
}

enum { WINDOW_ATTRS = 5 };
static void window_attrs(const window_t *w, dnnl_tp_op_attr_t *attr) {
    const dnnl_tp_op_attr_t all[WINDOW_ATTRS] = {
        {dnnl_tp_op_attr_strides, dnnl_tp_op_attr_s64, w->n, w->strides},
        {dnnl_tp_op_attr_dilations, dnnl_tp_op_attr_s64, w->n, w->dilations},
        {dnnl_tp_op_attr_pads_begin, dnnl_tp_op_attr_s64, w->n, w->begin},
        {dnnl_tp_op_attr_pads_end, dnnl_tp_op_attr_s64, w->n, w->end},
        {dnnl_tp_op_attr_auto_pad, dnnl_tp_op_attr_string, (int)strlen(w->auto_pad), w->auto_pad}};
    memcpy(attr, all, sizeof all);
}

/* ---- Convolutions -------------------------------------------------------------------------------------------- */

static val_t *convolution(cv_t *cv, const window_t *w, int nin, val_t *const *in, int64_t groups) {
    dnnl_tp_op_attr_t attr[WINDOW_ATTRS + 1];
    window_attrs(w, attr);
    attr[WINDOW_ATTRS] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_groups, dnnl_tp_op_attr_s64, 1, &groups};
    return dtp_cv_op(cv, dnnl_tp_op_convolution, nin, in, WINDOW_ATTRS + 1, attr);
}

/* A dimension in which image and window have one element is none: rows of one element would be computed apart. */
static val_t *in_one_dimension(cv_t *cv, const window_t *w, int nin, val_t *const *in, int64_t groups) {
    enum { FLAT = SPACE + 1 };
    window_t line = *w;
    line.n = 1;
    val_t *flat[] = {dtp_cv_reshape(cv, in[0], FLAT, in[0]->info.dims),
                     dtp_cv_reshape(cv, in[1], FLAT, in[1]->info.dims), nin > 2 ? in[2] : NULL};
    val_t *y = cv->status ? NULL : convolution(cv, &line, nin, flat, groups);
    return y ? dtp_cv_unsqueeze(cv, y, 0, 1) : NULL;
}

val_t *dtp_cv_convolution(cv_t *cv, int nin, val_t *const *in, int64_t groups) {
    enum { WIDTH = SPACE + 1 };
    window_t w;
    if (cv->status || !read_window(cv, in[1]->info.dims + SPACE, &w)) return NULL;
    const bool is_line =
        w.n == 2 && in[0]->info.dims[WIDTH] == 1 && w.kernel[1] == 1 && !w.begin[1] && !w.end[1];
    return is_line ? in_one_dimension(cv, &w, nin, in, groups) : convolution(cv, &w, nin, in, groups);
}

void dtp_onnx_conv(cv_t *cv) {
    const int64_t groups = dtp_cv_int(cv, "group", 1);
    if (cv->in[1]->info.ndims != cv->in[0]->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions, its weights %d",
                    cv->in[0]->info.ndims, cv->in[1]->info.ndims);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_convolution(dtp_cv_last(cv), cv->nin, cv->in, groups));
}

/* {images, places, rows, columns} as {images, rows, columns, places, 1}. */
static val_t *by_window(cv_t *cv, val_t *x, int64_t images, int64_t places, const int64_t *out) {
    enum { RANK = 4 };
    static const int64_t order[] = {0, 2, 3, 1};
    x = dtp_cv_reshape(cv, x, RANK, (const int64_t[]){images, places, out[0], out[1]});
    x = cv->status ? NULL : dtp_cv_transpose(cv, x, order);
    return cv->status ? NULL : dtp_cv_unsqueeze(cv, x, 0, 1);
}

/* A product of what stands where each place of a window points to, beside its own place, with the weights: rows are
 * windows. */
void dtp_onnx_deform_conv(cv_t *cv) {
    enum { X, W, OFFSET, BIAS, MASK, PLANES = 4 };
    static const int64_t image_order[] = {0, 2, 3, 1}, parts_order[] = {0, 2, 3, 1, 4},
                         groups_order[] = {0, 3, 1, 2, 4}, weights_order[] = {0, 3, 2, 1},
                         last_order[] = {0, 1, 3, 2};
    val_t *x = cv->in[X], *weights = cv->in[W], *offset = cv->in[OFFSET], *at[2];
    const int64_t groups = dtp_cv_int(cv, "group", 1), parts = dtp_cv_int(cv, "offset_group", 1);
    window_t w;
    if (x->info.ndims != PLANES || weights->info.ndims != PLANES || offset->info.ndims != PLANES)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its inputs have %d, %d and %d dimensions; 4 are implemented",
                    x->info.ndims, weights->info.ndims, offset->info.ndims);
    if (cv->status || !read_window(cv, weights->info.dims + SPACE, &w)) return;
    const int64_t c = dtp_cv_dim(cv, x, 1), o = dtp_cv_dim(cv, weights, 0),
                  depth = dtp_cv_dim(cv, weights, 1), size[] = {dtp_cv_dim(cv, x, 2), dtp_cv_dim(cv, x, 3)},
                  out[] = {dtp_cv_dim(cv, offset, 2), dtp_cv_dim(cv, offset, 3)},
                  offsets = dtp_cv_dim(cv, offset, 1), most = INT32_MAX;
    for (int d = 0; d < 2; ++d) (void)dtp_cv_dim(cv, weights, SPACE + d);
    const int64_t places = cv->status ? 0 : dtp_cv_product(weights, SPACE, PLANES);
    if (!cv->status && (c > most || o > most || size[0] > most || size[1] > most || out[0] > most ||
                        out[1] > most || places < 1 || places > INT16_MAX))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its sizes are out of range");
    if (!cv->status && (groups < 1 || parts < 1 || groups > c || parts > c || c % groups || c % parts ||
                        o % groups || depth != c / groups || offsets != parts * places * 2))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its channels, groups or offsets do not fit");
    for (int d = 0; d < 2 && !cv->status; ++d) {
        const double pads = (double)w.begin[d] + (double)w.end[d],
                     range = (double)w.dilations[d] * (double)(w.kernel[d] - 1) + 1;
        if (w.strides[d] < 1 || w.dilations[d] < 1 ||
            floor(((double)size[d] + pads - range) / (double)w.strides[d]) + 1 != (double)out[d])
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its windows are not as many as its offsets");
    }
    int64_t images = parts > 1 ? dtp_cv_dim(cv, x, 0) : x->info.dims[0];
    if (!cv->status && images != CV_RUNTIME && __builtin_mul_overflow(images, parts, &images))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its groups are too many");
    if (cv->status) return;
    offset = dtp_cv_reshape(cv, offset, PLANES + 1, (const int64_t[]){images, places, 2, out[0], out[1]});
    for (int d = 0; d < 2 && !cv->status; ++d) {
        const int64_t dims[] = {d ? 1 : out[0], d ? out[1] : 1, places, 1};
        void *p;
        val_t *own = dtp_cv_room(cv, dnnl_tp_f64, PLANES, dims, &p);
        for (int64_t i = 0; own && i < places * out[d]; ++i) {
            const int64_t k = d ? i % places % w.kernel[1] : i % places / w.kernel[1];
            ((double *)p)[i] = (double)(i / places) * (double)w.strides[d] - (double)w.begin[d] +
                               (double)k * (double)w.dilations[d];
        }
        at[d] = by_window(cv, dtp_cv_part(cv, offset, 2, d, 1), images, places, out);
        if (!cv->status)
            at[d] = dtp_cv_binary(cv, dnnl_tp_op_add, at[d], dtp_cv_typed(cv, own, at[d]->info.data_type));
    }
    val_t *image = dtp_cv_reshape(cv, x, PLANES, (const int64_t[]){images, c / parts, size[0], size[1]});
    image = dtp_cv_transpose(cv, image, image_order);
    val_t *mask = dtp_cv_given(cv, MASK) ? by_window(cv, cv->in[MASK], images, places, out) : NULL;
    val_t *y = cv->status ? NULL : dtp_cv_between(cv, image, 2, size, at, NULL, mask, dnnl_tp_op_add);
    const int64_t n = x->info.dims[0], windows = out[0] * out[1];
    if (parts > 1) {
        y = dtp_cv_reshape(cv, y, PLANES + 1, (const int64_t[]){n, parts, windows, places, c / parts});
        y = cv->status ? NULL : dtp_cv_transpose(cv, y, parts_order);
    }
    if (groups > 1) {
        y = dtp_cv_reshape(cv, y, PLANES + 1, (const int64_t[]){n, windows, places, groups, depth});
        y = cv->status ? NULL : dtp_cv_transpose(cv, y, groups_order);
    }
    y = dtp_cv_reshape(cv, y, PLANES, (const int64_t[]){n, groups, windows, places * depth});
    weights = dtp_cv_reshape(cv, weights, PLANES, (const int64_t[]){groups, o / groups, depth, places});
    weights = cv->status ? NULL : dtp_cv_transpose(cv, weights, weights_order);
    weights = dtp_cv_reshape(cv, weights, 3, (const int64_t[]){groups, places * depth, o / groups});
    y = cv->status ? NULL : dtp_cv_matmul(cv, y, weights, false);
    if (dtp_cv_given(cv, BIAS) && !cv->status)
        y = dtp_cv_binary(cv, dnnl_tp_op_add, y,
                          dtp_cv_reshape(cv, cv->in[BIAS], 3, (const int64_t[]){groups, 1, o / groups}));
    y = cv->status ? NULL : dtp_cv_transpose(cv, y, last_order);
    dtp_cv_set(cv, 0, dtp_cv_reshape(dtp_cv_last(cv), y, PLANES, (const int64_t[]){n, o, out[0], out[1]}));
}

/* Weights {C, O / groups, kernel} as {O, C / groups, kernel}. */
static val_t *with_outputs_first(cv_t *cv, val_t *w, int n, int64_t groups) {
    enum { FIRST = 3 };
    const int64_t ic = dtp_cv_dim(cv, w, 0), oc = dtp_cv_dim(cv, w, 1);
    int64_t dims[DNNL_TP_MAX_NDIMS], perm[DNNL_TP_MAX_NDIMS] = {0, 2, 1};
    if (cv->status) return NULL;
    if (groups < 1 || ic % groups) {
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld groups", (long long)groups);
        return NULL;
    }
    dims[0] = groups, dims[1] = ic / groups, dims[2] = oc;
    for (int d = 0; d < n; ++d) {
        dims[FIRST + d] = dtp_cv_dim(cv, w, SPACE + d);
        perm[FIRST + d] = FIRST + d;
    }
    w = dtp_cv_transpose(cv, dtp_cv_reshape(cv, w, FIRST + n, dims), perm);
    memmove(dims + SPACE, dims + FIRST, sizeof *dims * (size_t)n);
    dims[1] = ic / groups;
    dims[0] = groups * oc;
    return dtp_cv_reshape(cv, w, SPACE + n, dims);
}

/* Pads below zero, and more elements at the end than the operator of graphs adds, are zeros around x: so many of its places that
 * the result is long enough, and what is too long is a pad. */
static val_t *lengthened(cv_t *cv, val_t *x, window_t *w, int64_t *more) {
    for (int d = 0; d < w->n && !cv->status; ++d) {
        const int64_t s = w->strides[d], at_end = more[d] < s ? more[d] : 0,
                      end = w->end[d] - more[d] + at_end;
        const int64_t before = w->begin[d] < 0 ? (s - 1 - w->begin[d]) / s : 0,
                      after = end < 0 ? (s - 1 - end) / s : 0;
        if (before || after) {
            dtp_cv_guard_sizes(cv, x);
            x = dtp_cv_pad_axis(cv, x, SPACE + d, before, after, 0);
        }
        w->begin[d] += before * s;
        w->end[d] = end + after * s;
        more[d] = at_end;
    }
    return x;
}

/* Pads of dimension d that make the result `wanted` long; CV_RUNTIME: stride times as long as x, which no length decides. */
static void split_pads(cv_t *cv, window_t *w, int d, int64_t more, int64_t wanted) {
    const int64_t limit = INT32_MAX, s = w->strides[d], range = w->dilations[d] * (w->kernel[d] - 1) + 1;
    int64_t all = range + more - s;
    if (wanted != CV_RUNTIME) {
        const int64_t in = dtp_cv_dim(cv, cv->in[0], SPACE + d);
        if (wanted < 0 || wanted > limit || in > limit)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'output_shape' is out of range");
        if (cv->status) return;
        all += s * in - wanted;
    }
    const int64_t half = all > 0 ? all / 2 : 0;
    w->begin[d] = all <= 0 ? 0 : !strcmp(w->auto_pad, "same_upper") ? half : all - half;
    w->end[d] = all - w->begin[d];
}

void dtp_onnx_conv_transpose(cv_t *cv) {
    window_t w;
    val_t *x = cv->in[0], *weights = cv->in[1];
    int64_t count, more[MOST], groups = dtp_cv_int(cv, "group", 1);
    if (weights->info.ndims != x->info.ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions, its weights %d", x->info.ndims,
                    weights->info.ndims);
    if (cv->status || !read_window(cv, weights->info.dims + SPACE, &w)) return;
    read_list(cv, "output_padding", w.n, 0, more);
    const int64_t *shape = dtp_cv_attr_ints(cv, "output_shape", &count);
    if (!cv->status && count >= 0 && count != w.n && count != w.n + SPACE)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'output_shape' has %lld entries",
                    (long long)count);
    const bool is_same = !cv->status && !strncmp(w.auto_pad, "same", strlen("same"));
    for (int d = 0; d < w.n && !cv->status; ++d) {
        const int64_t limit = INT32_MAX, k = w.kernel[d] = dtp_cv_dim(cv, weights, SPACE + d);
        if (!cv->status &&
            (w.strides[d] < 1 || w.dilations[d] < 1 || w.strides[d] > limit || w.dilations[d] > limit ||
             k < 1 || k > limit || more[d] < 0 || more[d] > limit || w.begin[d] < -limit ||
             w.begin[d] > limit || w.end[d] < -limit || w.end[d] > limit))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its window, strides or pads are out of range");
        if (!cv->status && (count >= 0 || is_same))
            split_pads(cv, &w, d, more[d], count >= 0 ? shape[count - w.n + d] : CV_RUNTIME);
    }
    w.auto_pad = "none";
    val_t *in[] = {cv->status ? NULL : lengthened(cv, x, &w, more),
                   cv->status ? NULL : with_outputs_first(cv, weights, w.n, groups),
                   dtp_cv_given(cv, 2) ? cv->in[2] : NULL};
    if (cv->status) return;
    dnnl_tp_op_attr_t attr[WINDOW_ATTRS + 2];
    window_attrs(&w, attr);
    attr[WINDOW_ATTRS] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_groups, dnnl_tp_op_attr_s64, 1, &groups};
    attr[WINDOW_ATTRS + 1] =
        (dnnl_tp_op_attr_t){dnnl_tp_op_attr_output_padding, dnnl_tp_op_attr_s64, w.n, more};
    dtp_cv_set(
        cv, 0,
        dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_conv_transpose, in[2] ? 3 : 2, in, WINDOW_ATTRS + 2, attr));
}

/* ---- Pooling --------------------------------------------------------------------------------------------------- */

static val_t *pool(cv_t *cv, int kind, val_t *x, const window_t *w, bool is_ceil, bool counts_pad) {
    dnnl_tp_op_attr_t attr[WINDOW_ATTRS + 3];
    const char *rounding = is_ceil ? "ceil" : "floor";
    const uint8_t exclude = !counts_pad;
    int n = WINDOW_ATTRS;
    window_attrs(w, attr);
    attr[n++] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_kernel, dnnl_tp_op_attr_s64, w->n, w->kernel};
    attr[n++] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_rounding_type, dnnl_tp_op_attr_string,
                                    (int)strlen(rounding), rounding};
    if (kind == dnnl_tp_op_avg_pool)
        attr[n++] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_exclude_pad, dnnl_tp_op_attr_bool, 1, &exclude};
    return dtp_cv_op(cv, kind, 1, &x, n, attr);
}

/* For each place of a window and each window, the element of the image there: by rows in *at, -1 outside; in *named as indices
 * count them. {places, windows} each; out: sizes of the result. */
static bool window_places(cv_t *cv, const val_t *x, const int64_t *out, const window_t *w, bool by_columns,
                          val_t **at, val_t **named) {
    int64_t dims[2] = {1, 1}, begin[MOST];
    void *p[2];
    for (int d = 0; d < w->n; ++d) {
        const int64_t in = x->info.dims[SPACE + d], range = w->dilations[d] * (w->kernel[d] - 1) + 1;
        int64_t pad = (out[d] - 1) * w->strides[d] + range - in;
        if (pad < 0 || !strcmp(w->auto_pad, "valid")) pad = 0;
        begin[d] =
            !strcmp(w->auto_pad, "none") ? w->begin[d] : (pad + !strcmp(w->auto_pad, "same_lower")) / 2;
        if (__builtin_mul_overflow(dims[0], w->kernel[d], &dims[0]) ||
            __builtin_mul_overflow(dims[1], out[d], &dims[1]))
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its windows are too many");
    }
    if (cv->status) return false;
    *at = dtp_cv_room(cv, dnnl_tp_s64, 2, dims, &p[0]);
    *named = dtp_cv_room(cv, dnnl_tp_s64, 2, dims, &p[1]);
    for (int64_t i = 0; !cv->status && i < dims[0] * dims[1]; ++i) {
        int64_t window = i % dims[1], place = i / dims[1], row = 0, rows = 1, index[MOST];
        bool inside = true;
        for (int d = w->n - 1; d >= 0; --d) {
            const int64_t in = x->info.dims[SPACE + d];
            index[d] = window % out[d] * w->strides[d] + place % w->kernel[d] * w->dilations[d] - begin[d];
            window /= out[d];
            place /= w->kernel[d];
            inside &= index[d] >= 0 && index[d] < in;
            row += index[d] * rows;
            rows *= in;
        }
        int64_t column = 0, columns = 1;
        for (int d = 0; d < w->n; ++d) {
            column += index[d] * columns;
            columns *= x->info.dims[SPACE + d];
        }
        ((int64_t *)p[0])[i] = inside ? row : -1;
        ((int64_t *)p[1])[i] = by_columns ? column : row;
    }
    return !cv->status;
}

/* Where the largest elements of windows stand in x: {N, C, out}. */
static val_t *largest_places(cv_t *cv, val_t *x, const val_t *y, const window_t *w, bool by_columns) {
    const int nd = x->info.ndims;
    val_t *at, *named;
    for (int d = 0; d < nd && !cv->status; ++d) (void)dtp_cv_dim(cv, x, d), (void)dtp_cv_dim(cv, y, d);
    const int64_t space = dtp_cv_product(x, SPACE, nd), images = dtp_cv_product(x, 0, SPACE), line = 2,
                  flat[2] = {images, space}, axis = 1, one = 1;
    const int64_t all = dtp_cv_product(y, SPACE, nd);
    if (cv->status || !window_places(cv, x, y->info.dims + SPACE, w, by_columns, &at, &named)) return NULL;
    const int64_t count = at->info.dims[0] * all;
    val_t *zero = dtp_cv_scalar(cv, dnnl_tp_s64, 0);
    val_t *inside = dtp_cv_binary(cv, dnnl_tp_op_greater_equal, at, zero);
    val_t *values = dtp_cv_take(cv, dtp_cv_reshape(cv, x, (int)line, flat), 1,
                                dtp_cv_binary(cv, dnnl_tp_op_maximum, at, zero)); /* {N C, places, windows} */
    values = dtp_cv_select(cv, inside, values, dtp_cv_scalar(cv, x->info.data_type, -INFINITY));
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis},
                                      {dnnl_tp_op_attr_k, dnnl_tp_op_attr_s64, 1, &one}};
    val_t *best = dtp_cv_op(cv, dnnl_tp_op_top_k, 1, &values, 2, attr);
    best = dtp_cv_reshape(cv, best, 2, (const int64_t[]){images, all});
    best = dtp_cv_binary(cv, dnnl_tp_op_multiply, best, dtp_cv_scalar(cv, dnnl_tp_s64, (double)all));
    best = dtp_cv_binary(cv, dnnl_tp_op_add, best, dtp_cv_counted(cv, all, 0));
    best = dtp_cv_take(cv, dtp_cv_reshape(cv, named, 1, &count), 0, best);
    val_t *image = dtp_cv_binary(cv, dnnl_tp_op_multiply, dtp_cv_counted(cv, images, 1),
                                 dtp_cv_scalar(cv, dnnl_tp_s64, (double)space));
    return dtp_cv_reshape(cv, dtp_cv_binary(cv, dnnl_tp_op_add, best, image), nd, y->info.dims);
}

void dtp_onnx_max_pool(cv_t *cv) {
    window_t w;
    const bool is_ceil = dtp_cv_int(cv, "ceil_mode", 0) != 0,
               by_columns = dtp_cv_int(cv, "storage_order", 0) != 0;
    if (!read_window(cv, NULL, &w)) return;
    /* Small integers are numbers, too. */
    const dnnl_tp_data_type_t type = cv->in[0]->info.data_type;
    const bool is_small = type == dnnl_tp_s8 || type == dnnl_tp_u8;
    val_t *x = is_small ? dtp_cv_typed(cv, cv->in[0], dnnl_tp_f32) : cv->in[0];
    val_t *y = pool(is_small ? cv : dtp_cv_last(cv), dnnl_tp_op_max_pool, x, &w, is_ceil, false);
    dtp_cv_set(cv, 0, is_small ? dtp_cv_typed(dtp_cv_last(cv), y, type) : y);
    if (dtp_cv_wanted(cv, 1) && !cv->status) dtp_cv_set(cv, 1, largest_places(cv, x, y, &w, by_columns));
}

void dtp_onnx_average_pool(cv_t *cv) {
    window_t w;
    const bool is_ceil = dtp_cv_int(cv, "ceil_mode", 0) != 0,
               counts = dtp_cv_int(cv, "count_include_pad", 0) != 0;
    if (read_window(cv, NULL, &w))
        dtp_cv_set(cv, 0, pool(dtp_cv_last(cv), dnnl_tp_op_avg_pool, cv->in[0], &w, is_ceil, counts));
}

/* Attributes are f32, which is too short for f64. */
static val_t *to_power(cv_t *cv, val_t *x, double power) {
    if (cv->status || x->info.data_type != dnnl_tp_f64)
        return dtp_cv_unary_with(cv, dnnl_tp_op_pow, x, dnnl_tp_op_attr_beta, (float)power, -1, 0);
    return dtp_cv_binary(cv, dnnl_tp_op_power, x, dtp_cv_scalar(cv, dnnl_tp_f64, power));
}

/* (sum |x|^p)^(1/p), from the mean. */
void dtp_onnx_lp_pool(cv_t *cv) {
    window_t w;
    const int64_t p = dtp_cv_int(cv, "p", 2);
    if (dtp_cv_int(cv, "ceil_mode", 0))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its number of windows is rounded up");
    if (!read_window(cv, NULL, &w)) return;
    double volume = 1;
    for (int d = 0; d < w.n; ++d) volume *= (double)w.kernel[d];
    const dnnl_tp_data_type_t type = cv->in[0]->info.data_type;
    val_t *x = dtp_cv_unary(cv, dnnl_tp_op_abs, cv->in[0]);
    x = to_power(cv, x, (double)p);
    x = pool(cv, dnnl_tp_op_avg_pool, x, &w, false, true);
    x = dtp_cv_binary(cv, dnnl_tp_op_multiply, x, dtp_cv_scalar(cv, type, volume));
    dtp_cv_set(cv, 0, to_power(dtp_cv_last(cv), x, 1 / (double)p));
}

/* One window over everything behind the channels; where a size is not known yet, or there are no windows, a reduction. */
void dtp_onnx_global_pool(cv_t *cv) {
    const val_t *x = cv->in[0];
    int64_t axes[DNNL_TP_MAX_NDIMS];
    window_t w = {.n = x->info.ndims - SPACE, .auto_pad = "none"};
    if (w.n < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", x->info.ndims);
    if (cv->status) return;
    bool fits = w.n <= MOST && x->info.data_type == dnnl_tp_f32;
    int64_t volume = 1;
    for (int d = 0; d < w.n; ++d) axes[d] = d + SPACE;
    for (int d = 0; d < w.n && fits; ++d) {
        w.kernel[d] = x->info.dims[SPACE + d];
        w.strides[d] = w.dilations[d] = 1;
        fits =
            w.kernel[d] > 0 && !__builtin_mul_overflow(volume, w.kernel[d], &volume) && volume <= INT32_MAX;
    }
    const bool is_max = cv->row->kind == dnnl_tp_op_reduce_max;
    dtp_cv_set(cv, 0,
               fits ? pool(dtp_cv_last(cv), is_max ? dnnl_tp_op_max_pool : dnnl_tp_op_avg_pool, cv->in[0], &w,
                           false, false)
                    : dtp_cv_reduce(dtp_cv_last(cv), cv->row->kind, cv->in[0], w.n, axes, true));
}

void dtp_onnx_global_lp_pool(cv_t *cv) {
    int64_t axes[DNNL_TP_MAX_NDIMS];
    const int n = cv->in[0]->info.ndims - SPACE;
    const int64_t p = dtp_cv_int(cv, "p", 2);
    if (n < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", n + SPACE);
    if (p != 1 && p != 2) dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute 'p' is %lld", (long long)p);
    for (int d = 0; d < n; ++d) axes[d] = d + SPACE;
    if (!cv->status)
        dtp_cv_set(cv, 0,
                   dtp_cv_reduce(dtp_cv_last(cv), p == 1 ? dnnl_tp_op_reduce_l1 : dnnl_tp_op_reduce_l2,
                                 cv->in[0], n, axes, true));
}

/* ---- Local response normalization ------------------------------------------------------------------------------- */

/* x / (bias + alpha mean x^2)^beta, where the mean is that of `size` neighbouring channels. The operator of graphs takes as many on
 * both sides; otherwise: a pooling window over them. */
void dtp_onnx_lrn(cv_t *cv) {
    val_t *x = cv->in[0];
    const float alpha = dtp_cv_float(cv, "alpha", 1e-4f), beta = dtp_cv_float(cv, "beta", .75f),
                bias = dtp_cv_float(cv, "bias", 1.f);
    const int64_t size = dtp_cv_int(cv, "size", 0);
    const int nd = x->info.ndims;
    if (size < 1 || size > INT32_MAX)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'size' is %lld", (long long)size);
    if (nd < 2) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", nd);
    if (cv->status) return;
    const dnnl_tp_data_type_t type = x->info.data_type;
    if (type == dnnl_tp_f32 && size % 2 == 1 && nd <= SPACE + MOST) {
        const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_size, dnnl_tp_op_attr_s64, 1, &size},
                                          {dnnl_tp_op_attr_alpha, dnnl_tp_op_attr_f32, 1, &alpha},
                                          {dnnl_tp_op_attr_beta, dnnl_tp_op_attr_f32, 1, &beta},
                                          {dnnl_tp_op_attr_bias, dnnl_tp_op_attr_f32, 1, &bias}};
        dtp_cv_set(cv, 0,
                   dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_local_response_norm, 1, &x,
                             (int)(sizeof attr / sizeof *attr), attr));
        return;
    }
    enum { PLANES = 4 };
    const int64_t planes[PLANES] = {x->info.dims[0], 1, x->info.dims[CHANNELS], dtp_cv_product(x, SPACE, nd)};
    const window_t w = {.n = 2,
                        .kernel = {size, 1},
                        .strides = {1, 1},
                        .dilations = {1, 1},
                        .begin = {(size - 1) / 2, 0},
                        .end = {size / 2, 0},
                        .auto_pad = "none"};
    val_t *m = dtp_cv_reshape(cv, dtp_cv_unary(cv, dnnl_tp_op_square, x), PLANES, planes);
    m = cv->status ? NULL : pool(cv, dnnl_tp_op_avg_pool, m, &w, false, true);
    m = dtp_cv_reshape(cv, m, nd, x->info.dims);
    m = dtp_cv_binary(cv, dnnl_tp_op_multiply, m, dtp_cv_scalar(cv, type, (double)alpha));
    m = dtp_cv_binary(cv, dnnl_tp_op_add, m, dtp_cv_scalar(cv, type, (double)bias));
    m = dtp_cv_unary_with(cv, dnnl_tp_op_pow, m, dnnl_tp_op_attr_beta, -beta, -1, 0);
    dtp_cv_set(cv, 0, dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_multiply, x, m));
}
