/* Elements of an image at places that a grid of coordinates names (GridSample) or that stand in regions (RoiAlign), and grids of
 * affine maps. */
#include "onnx/ops/ops.h"

enum { MOST = 3, CUBIC_TAPS = 4, CHANNELS = 1, SPACE = 2, PLACES_OF_BINS = 4 };
typedef enum { NEAREST, LINEAR, CUBIC } filter_t;
typedef enum { ZEROS, BORDER, REFLECTION } padding_t;

static val_t *number(cv_t *cv, const val_t *x, double value) {
    return dtp_cv_scalar(cv, x->info.data_type, value);
}
static val_t *with(cv_t *cv, int kind, val_t *x, double value) {
    return cv->status ? NULL : dtp_cv_binary(cv, kind, x, number(cv, x, value));
}

/* Weights of the taps from 1 before the place to 2 behind; t: {.., 1} in 0..1. */
static val_t *cubic_weight(cv_t *cv, val_t *t, int tap) {
    static const double a = -.75;
    /* Distance of the tap, and the polynomial of Keys for that side of 1. */
    val_t *d =
        cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_abs, with(cv, dnnl_tp_op_subtract, t, tap - 1));
    const bool is_near = tap == 1 || tap == 2;
    const double c3 = is_near ? a + 2 : a, c2 = is_near ? -(a + 3) : -5 * a, c1 = is_near ? 0 : 8 * a,
                 c0 = is_near ? 1 : -4 * a;
    val_t *y = with(cv, dnnl_tp_op_add, with(cv, dnnl_tp_op_multiply, d, c3), c2);
    y = cv->status ? NULL : with(cv, dnnl_tp_op_add, dtp_cv_binary(cv, dnnl_tp_op_multiply, y, d), c1);
    return cv->status ? NULL : with(cv, dnnl_tp_op_add, dtp_cv_binary(cv, dnnl_tp_op_multiply, y, d), c0);
}

/* The element of an axis of n that stands at whole numbers i; *inside: whether there is one. */
static val_t *place(cv_t *cv, val_t *i, int64_t n, padding_t padding, bool align, val_t **inside) {
    const double last = (double)(n - 1);
    *inside = NULL;
    if (padding == ZEROS) {
        val_t *low = with(cv, dnnl_tp_op_greater_equal, i, 0),
              *high = with(cv, dnnl_tp_op_less_equal, i, last);
        *inside = dtp_cv_binary(cv, dnnl_tp_op_logical_and, low, high);
    } else if (padding == REFLECTION) {
        const double least = align ? 0 : -.5, range = align ? last : (double)n;
        if (range > 0) {
            val_t *at = with(cv, dnnl_tp_op_modulo, with(cv, dnnl_tp_op_subtract, i, least), 2 * range);
            val_t *back =
                cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_subtract, number(cv, at, 2 * range), at);
            i = with(cv, dnnl_tp_op_add, dtp_cv_binary(cv, dnnl_tp_op_minimum, at, back), least);
        }
    }
    return with(cv, dnnl_tp_op_minimum, with(cv, dnnl_tp_op_maximum, i, 0), last);
}

typedef struct {
    int n;
    padding_t padding;
    bool align;
    int64_t size[MOST];
    val_t *image;                    /* {N, space, C} */
    val_t *shift;                    /* s64, added to elements of the first axis; NULL: nothing */
    val_t *scale;                    /* {N, out, 1}, of what is read; NULL: 1 */
    val_t *base[MOST];               /* whole numbers {N, out, 1} by axis */
    val_t *weight[MOST][CUBIC_TAPS]; /* {N, out, 1}; NULL: 1 */
    int first, taps;                 /* of every axis: first .. first + taps - 1 from the base */
} sampler_t;

/* What one tap of each axis brings. */
static val_t *tap_of(cv_t *cv, const sampler_t *s, const int *tap) {
    val_t *ids[MOST], *w = NULL, *seen = NULL;
    for (int d = 0; d < s->n && !cv->status; ++d) {
        val_t *inside, *at = with(cv, dnnl_tp_op_add, s->base[d], s->first + tap[d]);
        ids[d] = dtp_cv_typed(cv, place(cv, at, s->size[d], s->padding, s->align, &inside), dnnl_tp_s64);
        if (d == 0 && s->shift) ids[d] = dtp_cv_binary(cv, dnnl_tp_op_add, ids[d], s->shift);
        if (inside) seen = seen ? dtp_cv_binary(cv, dnnl_tp_op_logical_and, seen, inside) : inside;
        val_t *x = s->weight[d][tap[d]];
        if (x) w = w ? dtp_cv_binary(cv, dnnl_tp_op_multiply, w, x) : x;
    }
    if (cv->status) return NULL;
    const int last = ids[0]->info.ndims - 1;
    val_t *in[] = {s->image, s->n == 1 ? ids[0] : dtp_cv_concat(cv, last, s->n, ids)};
    val_t *y = dtp_cv_op_at(cv, dnnl_tp_op_gather_nd, 2, in, dnnl_tp_op_attr_batch_dims, 1); /* {N, out, C} */
    if (seen && !cv->status) y = dtp_cv_select(cv, seen, y, number(cv, y, 0));
    return w ? dtp_cv_binary(cv, dnnl_tp_op_multiply, y, w) : y;
}

/* The weights of both neighbours of places along an axis. */
static void between(cv_t *cv, sampler_t *s, int d, val_t *at) {
    s->base[d] = dtp_cv_unary(cv, dnnl_tp_op_floor, at);
    val_t *t = dtp_cv_binary(cv, dnnl_tp_op_subtract, at, s->base[d]);
    s->weight[d][0] = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_subtract, number(cv, t, 1), t);
    s->weight[d][1] = t;
}

static bool next_tap(const sampler_t *s, int *tap) {
    int d = s->n - 1;
    for (; d >= 0 && ++tap[d] == s->taps; --d) tap[d] = 0;
    return d >= 0;
}

static bool is_known(const val_t *x) { return dtp_cv_product(x, 0, x->info.ndims) != CV_RUNTIME; }

/* What all taps bring, added: rows of the image, by number, times their weights. first: dimensions in front of N whose
 * elements are added, too; the others are {N, out}, and `last` dimensions of one element. The base places and weights of
 * the axes may be broadcast. NULL: sizes are not known, or the type is another one. */
static val_t *sum_taps(cv_t *cv, const sampler_t *s, int first, int last) {
    enum { MOST_TAPS = 64 };
    val_t *ids[MOST_TAPS], *weights[MOST_TAPS];
    int tap[MOST] = {0}, n = 0, most = 1;
    if (cv->status || s->image->info.data_type != dnnl_tp_f32) return NULL;
    for (int d = 0; d < s->n; ++d) {
        most *= s->taps;
        if (!is_known(s->base[d]) || s->image->info.dims[1 + d] == CV_RUNTIME) return NULL;
    }
    if (most > MOST_TAPS || s->image->info.dims[0] == CV_RUNTIME || (s->shift && !is_known(s->shift)))
        return NULL;
    val_t *row[MOST][CUBIC_TAPS],
        *share[MOST][CUBIC_TAPS]; /* of an axis: numbers in the image, and weights */
    for (int d = 0; d < s->n; ++d)
        for (int t = 0; t < s->taps && !cv->status; ++t) {
            val_t *inside, *at = with(cv, dnnl_tp_op_add, s->base[d], s->first + t), *w = s->weight[d][t];
            at = dtp_cv_typed(cv, place(cv, at, s->size[d], s->padding, s->align, &inside), dnnl_tp_s64);
            if (d == 0 && s->shift) at = dtp_cv_binary(cv, dnnl_tp_op_add, at, s->shift);
            for (int inner = d + 1; inner < s->n; ++inner)
                at = with(cv, dnnl_tp_op_multiply, at, (double)s->size[inner]);
            if (inside) {
                inside = dtp_cv_typed(cv, inside, dnnl_tp_f32);
                w = w ? dtp_cv_binary(cv, dnnl_tp_op_multiply, w, inside) : inside;
            }
            if (d == 0 && s->scale) w = w ? dtp_cv_binary(cv, dnnl_tp_op_multiply, w, s->scale) : s->scale;
            row[d][t] = at;
            share[d][t] = w;
        }
    if (cv->status) return NULL;
    do {
        val_t *id = row[0][tap[0]], *w = share[0][tap[0]];
        for (int d = 1; d < s->n; ++d) {
            val_t *x = share[d][tap[d]];
            id = dtp_cv_binary(cv, dnnl_tp_op_add, id, row[d][tap[d]]);
            if (x) w = w ? dtp_cv_binary(cv, dnnl_tp_op_multiply, w, x) : x;
        }
        if (cv->status) return NULL;
        ids[n] = id;
        weights[n++] = w ? w : dtp_cv_fill(cv, dnnl_tp_f32, id->info.ndims, id->info.dims, 1);
    } while (next_tap(s, tap) && !cv->status);
    val_t *in[] = {s->image, dtp_cv_stack(cv, n, ids, 0), dtp_cv_stack(cv, n, weights, 0)};
    if (cv->status) return NULL;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    const int nd = in[1]->info.ndims, out = nd - 1 - first - last;
    dims[0] = dtp_cv_product(in[1], 0, 1 + first);
    for (int d = 0; d < out; ++d) dims[1 + d] = in[1]->info.dims[1 + first + d];
    in[1] = dtp_cv_reshape(cv, in[1], 1 + out, dims);
    in[2] = dtp_cv_reshape(cv, in[2], 1 + out, dims);
    const val_t *image = s->image;
    const int64_t flat[] = {image->info.dims[0], dtp_cv_product(image, 1, 1 + s->n),
                            image->info.dims[1 + s->n]};
    in[0] = dtp_cv_reshape(cv, in[0], 3, flat);
    return cv->status ? NULL : dtp_cv_op(cv, dnnl_tp_op_gather_sum, 3, in, 0, NULL);
}

/* What all taps bring, joined by an operator: {N, out, C}. */
static val_t *all_taps(cv_t *cv, const sampler_t *s, int joined_by) {
    val_t *sum = joined_by == dnnl_tp_op_add ? sum_taps(cv, s, 0, 1) : NULL;
    if (sum || cv->status) return sum;
    int tap[MOST] = {0};
    val_t *all = NULL;
    do {
        val_t *part = tap_of(cv, s, tap);
        all = all ? dtp_cv_binary(cv, joined_by, all, part) : part;
    } while (next_tap(s, tap) && !cv->status);
    return s->scale && !cv->status ? dtp_cv_binary(cv, dnnl_tp_op_multiply, all, s->scale) : all;
}

val_t *dtp_cv_between(cv_t *cv, val_t *image, int n, const int64_t *size, val_t *const *at, val_t *shift,
                      val_t *scale, int joined_by) {
    sampler_t s = {.n = n, .taps = 2, .padding = ZEROS, .image = image, .shift = shift, .scale = scale};
    for (int d = 0; d < n && !cv->status; ++d) {
        s.size[d] = size[d];
        between(cv, &s, d, at[d]);
    }
    return all_taps(cv, &s, joined_by);
}

void dtp_onnx_grid_sample(cv_t *cv) {
    val_t *x = cv->in[0], *grid = cv->in[1];
    sampler_t s = {.n = x->info.ndims - SPACE, .align = dtp_cv_int(cv, "align_corners", 0) != 0, .taps = 1};
    const char *standard = cv->since < 20 ? "bilinear" : "linear", *outside = "zeros";
    const filter_t filter =
        dtp_cv_word(cv, "mode", standard, "nearest")                                                 ? NEAREST
        : dtp_cv_word(cv, "mode", standard, "cubic") || dtp_cv_word(cv, "mode", standard, "bicubic") ? CUBIC
                                                                                                     : LINEAR;
    if (filter == LINEAR && !dtp_cv_word(cv, "mode", standard, "linear") &&
        !dtp_cv_word(cv, "mode", standard, "bilinear"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'mode' is not known");
    s.padding = dtp_cv_word(cv, "padding_mode", outside, "border")       ? BORDER
                : dtp_cv_word(cv, "padding_mode", outside, "reflection") ? REFLECTION
                                                                         : ZEROS;
    if (s.padding == ZEROS && !dtp_cv_word(cv, "padding_mode", outside, "zeros"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'padding_mode' is not known");
    if (!cv->status && (s.n < 1 || s.n > MOST || grid->info.ndims != x->info.ndims ||
                        x->info.data_type != grid->info.data_type))
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its input has %d dimensions, its grid %d, or their types differ", x->info.ndims,
                    grid->info.ndims);
    int64_t perm[DNNL_TP_MAX_NDIMS] = {0}, back[DNNL_TP_MAX_NDIMS] = {0, x->info.ndims - 1};
    for (int d = 0; d < s.n && !cv->status; ++d) {
        s.size[d] = dtp_cv_dim(cv, x, SPACE + d);
        perm[1 + d] = SPACE + d;
        back[SPACE + d] = 1 + d;
        if (!cv->status && s.size[d] < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its image has no elements");
    }
    if (cv->status) return;
    perm[1 + s.n] = CHANNELS;
    s.image = dtp_cv_transpose(cv, x, perm);
    for (int d = 0; d < s.n && !cv->status; ++d) {
        /* Coordinates stand in the reverse order of the dimensions. */
        val_t *at = dtp_cv_part(cv, grid, grid->info.ndims - 1, s.n - 1 - d, 1);
        const double n = (double)s.size[d];
        at = with(cv, dnnl_tp_op_add, at, 1);
        at = s.align ? with(cv, dnnl_tp_op_multiply, at, (n - 1) / 2)
                     : with(cv, dnnl_tp_op_divide,
                            with(cv, dnnl_tp_op_subtract, with(cv, dnnl_tp_op_multiply, at, n), 1), 2);
        if (cv->status) return;
        if (filter == NEAREST) {
            s.base[d] = dtp_cv_unary(cv, dnnl_tp_op_round, at);
            continue;
        }
        between(cv, &s, d, at);
        val_t *t = s.weight[d][1];
        for (int k = 0; k < CUBIC_TAPS && filter == CUBIC; ++k) s.weight[d][k] = cubic_weight(cv, t, k);
    }
    s.taps = filter == NEAREST ? 1 : filter == LINEAR ? 2 : CUBIC_TAPS;
    s.first = filter == CUBIC ? -1 : 0;
    val_t *sum = all_taps(cv, &s, dnnl_tp_op_add);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_transpose(cv, sum, back));
}

/* theta {N, n, n + 1} times the coordinates of an image of the given size. */
void dtp_onnx_affine_grid(cv_t *cv) {
    int64_t n;
    val_t *theta = cv->in[0];
    const int64_t *size = dtp_cv_ints(cv, 1, &n);
    const bool align = dtp_cv_int(cv, "align_corners", 0) != 0;
    const int space = (int)(n < SPACE + MOST ? n : SPACE + MOST) - SPACE;
    if (!cv->status && (space < 1 || n > SPACE + MOST || theta->info.ndims != 3))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its size has %lld entries, its maps %d dimensions",
                    (long long)n, theta->info.ndims);
    int64_t places = 1, dims[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < space && !cv->status; ++d)
        if (size[SPACE + d] < 1 || __builtin_mul_overflow(places, size[SPACE + d], &places) ||
            places > INT32_MAX)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its size is out of range");
    if (cv->status) return;
    const int64_t matrix[2] = {places, space + 1};
    void *p;
    val_t *v = dtp_cv_room(cv, dnnl_tp_f64, 2, matrix, &p);
    for (int64_t i = 0; v && i < places; ++i) {
        int64_t rest = i;
        double *row = (double *)p + i * (space + 1);
        row[space] = 1;
        for (int d = space - 1; d >= 0; --d) {
            const int64_t all = size[SPACE + d];
            const double at = (double)(rest % all), many = (double)all;
            rest /= all;
            row[space - 1 - d] = align ? (all > 1 ? 2 * at / (many - 1) - 1 : -1) : (2 * at + 1) / many - 1;
        }
    }
    val_t *y =
        dtp_cv_matmul(cv, dtp_cv_typed(cv, v, theta->info.data_type), theta, true); /* {N, places, n} */
    if (cv->status) return;
    dims[0] = y->info.dims[0];
    for (int d = 0; d < space; ++d) dims[1 + d] = size[SPACE + d];
    dims[1 + space] = space;
    dtp_cv_set(cv, 0, dtp_cv_reshape(dtp_cv_last(cv), y, SPACE + space, dims));
}

/* Coordinates of samples along an axis of regions {R, 4}: {R, n}; *inside: whether there is an image. */
static val_t *samples(cv_t *cv, val_t *rois, int axis, int64_t size, int64_t bins, int64_t ratio, bool half,
                      val_t **inside) {
    enum { END = 2 };
    const float scale = dtp_cv_float(cv, "spatial_scale", 1.f);
    const dnnl_tp_data_type_t type = rois->info.data_type;
    val_t *edge[2];
    for (int i = 0; i < 2; ++i) { /* columns: x, y, x, y */
        edge[i] = dtp_cv_part(cv, rois, 1, (i ? END : 0) + 1 - axis, 1);
        edge[i] = with(cv, dnnl_tp_op_multiply, edge[i], (double)scale);
        if (half) edge[i] = with(cv, dnnl_tp_op_subtract, edge[i], .5);
    }
    val_t *range = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_subtract, edge[1], edge[0]);
    if (!half) range = with(cv, dnnl_tp_op_maximum, range, 1);
    val_t *at = cv->status ? NULL : dtp_cv_typed(cv, dtp_cv_counted(cv, bins * ratio, 0), type);
    at = with(cv, dnnl_tp_op_divide, with(cv, dnnl_tp_op_add, at, .5), (double)(bins * ratio));
    at = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_multiply, range, at);
    at = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, edge[0], at);
    val_t *low = with(cv, dnnl_tp_op_greater_equal, at, -1),
          *high = with(cv, dnnl_tp_op_less_equal, at, (double)size);
    *inside = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_logical_and, low, high);
    return with(cv, dnnl_tp_op_minimum, with(cv, dnnl_tp_op_maximum, at, 0), (double)(size - 1));
}

/* The mean of all samples as one sum of rows, {1, R, rows, columns, C}; NULL as sum_taps. at, inside: {R, n} by axis. */
static val_t *mean_of_bins(cv_t *cv, val_t *image, val_t *const *at, val_t *const *inside, val_t *shift,
                           const int64_t *size, const int64_t *out, int64_t ratio) {
    static const int64_t samples_first[] = {2, 0, 1};
    sampler_t s = {.n = 2, .taps = 2, .padding = BORDER, .image = image};
    const int64_t regions = at[0]->info.dims[0];
    if (cv->status || regions == CV_RUNTIME) return NULL;
    s.shift = dtp_cv_reshape(cv, shift, 2 + PLACES_OF_BINS, (const int64_t[]){1, 1, 1, regions, 1, 1});
    for (int d = 0; d < 2 && !cv->status; ++d) {
        /* Samples {rows, columns}, N, R, bins {rows, columns} */
        const int64_t apart[] = {regions, out[d], ratio},
                      dims[] = {d ? 1 : ratio, d ? ratio : 1, 1, regions, d ? 1 : out[d], d ? out[d] : 1};
        val_t *part[] = {at[d], inside[d]};
        for (int i = 0; i < 2; ++i) {
            part[i] = dtp_cv_transpose(cv, dtp_cv_reshape(cv, part[i], 3, apart), samples_first);
            part[i] = dtp_cv_reshape(cv, part[i], 2 + PLACES_OF_BINS, dims);
        }
        if (cv->status) return NULL;
        s.size[d] = size[d];
        between(cv, &s, d, part[0]);
        for (int k = 0; k < 2 && !cv->status; ++k)
            s.weight[d][k] =
                dtp_cv_select(cv, part[1], with(cv, dnnl_tp_op_divide, s.weight[d][k], (double)ratio),
                              number(cv, part[0], 0));
    }
    return sum_taps(cv, &s, 2, 0);
}

/* Bins of regions: the mean, or the largest weighted element, of ratio x ratio samples each. */
void dtp_onnx_roi_align(cv_t *cv) {
    enum { X, ROIS, IMAGES, PLANES = 4, EDGES = 4, BINS = 6, HEIGHT = 2, COORDINATES = 16 };
    static const int64_t channels_last[] = {0, 2, 3, 1}, channels_first[] = {0, 3, 1, 2}, in_bin[] = {2, 4};
    val_t *x = cv->in[X], *rois = cv->in[ROIS], *seen[2], *at[2];
    const int64_t ratio = dtp_cv_int(cv, "sampling_ratio", 0),
                  out[2] = {dtp_cv_int(cv, "output_height", 1), dtp_cv_int(cv, "output_width", 1)};
    static const char name[] = "coordinate_transformation_mode";
    const bool half = cv->since >= COORDINATES && dtp_cv_word(cv, name, "half_pixel", "half_pixel"),
               is_max = dtp_cv_word(cv, "mode", "avg", "max");
    if (!half && cv->since >= COORDINATES && !dtp_cv_word(cv, name, "half_pixel", "output_half_pixel"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' is not known", name);
    if (!is_max && !dtp_cv_word(cv, "mode", "avg", "avg"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'mode' is not known");
    if (ratio < 1)
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its number of samples depends on regions: its attribute 'sampling_ratio' is %lld",
                    (long long)ratio);
    if (x->info.ndims != PLANES || rois->info.ndims != 2 || cv->in[IMAGES]->info.ndims != 1 ||
        rois->info.data_type != x->info.data_type)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape,
                    "its inputs have %d, %d and %d dimensions, needed are 4, 2 and 1, or their types differ",
                    x->info.ndims, rois->info.ndims, cv->in[IMAGES]->info.ndims);
    for (int d = 0; d < 2 && !cv->status; ++d)
        if (out[d] < 1 || ratio > INT16_MAX || out[d] > INT16_MAX)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld bins of %lld samples", (long long)out[d],
                        (long long)ratio);
    if (dtp_cv_dim(cv, rois, 1) != EDGES)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its regions have no 4 edges");
    if (cv->status) return;
    const int64_t size[2] = {dtp_cv_dim(cv, x, HEIGHT), dtp_cv_dim(cv, x, HEIGHT + 1)},
                  c = dtp_cv_dim(cv, x, CHANNELS);
    const int64_t regions = rois->info.dims[0], rows = dtp_cv_product(x, 0, 1);
    if (size[0] < 1 || size[1] < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its image has no elements");
    if (cv->status) return;
    for (int d = 0; d < 2; ++d) at[d] = samples(cv, rois, d, size[d], out[d], ratio, half, &seen[d]);
    /* All images are one, of as many rows as they have together. */
    val_t *image = dtp_cv_transpose(cv, x, channels_last);
    int64_t all = CV_RUNTIME;
    if (rows != CV_RUNTIME && __builtin_mul_overflow(rows, size[0], &all))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its image is too large");
    image = dtp_cv_reshape(cv, image, PLANES, (const int64_t[]){1, all, size[1], c});
    val_t *shift = dtp_cv_reshape(cv, dtp_cv_typed(cv, cv->in[IMAGES], dnnl_tp_s64), SPACE + MOST,
                                  (const int64_t[]){1, cv->in[IMAGES]->info.dims[0], 1, 1, 1});
    shift = with(cv, dnnl_tp_op_multiply, shift, (double)size[0]);
    val_t *means = is_max || cv->status ? NULL : mean_of_bins(cv, image, at, seen, shift, size, out, ratio);
    if (means || cv->status) {
        means = dtp_cv_reshape(cv, means, PLANES, (const int64_t[]){regions, out[0], out[1], c});
        dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_transpose(dtp_cv_last(cv), means, channels_first));
        return;
    }
    for (int d = 0; d < 2; ++d) {
        const int64_t n = out[d] * ratio, dims[] = {1, regions, d ? 1 : n, d ? n : 1, 1};
        at[d] = dtp_cv_reshape(cv, at[d], SPACE + MOST, dims);
        seen[d] = dtp_cv_reshape(cv, seen[d], SPACE + MOST, dims);
    }
    if (cv->status) return;
    val_t *inside = dtp_cv_binary(cv, dnnl_tp_op_logical_and, seen[0], seen[1]);
    val_t *none[2] = {with(cv, dnnl_tp_op_multiply, at[0], 0), with(cv, dnnl_tp_op_multiply, at[1], 0)};
    for (int d = 0; d < 2 && !cv->status; ++d) at[d] = dtp_cv_binary(cv, dnnl_tp_op_add, at[d], none[1 - d]);
    val_t *y = cv->status ? NULL
                          : dtp_cv_between(cv, image, 2, size, at, shift, NULL,
                                           is_max ? dnnl_tp_op_maximum : dnnl_tp_op_add);
    if (cv->status) return;
    y = dtp_cv_select(cv, inside, y, number(cv, y, 0)); /* {1, R, rows, columns, C} */
    y = dtp_cv_reshape(cv, y, BINS, (const int64_t[]){regions, out[0], ratio, out[1], ratio, c});
    y = dtp_cv_reduce(cv, is_max ? dnnl_tp_op_reduce_max : dnnl_tp_op_reduce_mean, y, 2, in_bin, false);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_transpose(dtp_cv_last(cv), y, channels_first));
}
