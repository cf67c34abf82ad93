/* Resize and Upsample: the operator of graphs that interpolates; what it cannot do goes along one axis after another, where
 * each element is a weighted sum of a few elements of the input, whose positions and weights are known when the graph is
 * made. */
#include "onnx/ops/elems.h"
#include "onnx/ops/ops.h"

#include <math.h>

typedef enum {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    TF_CROP_AND_RESIZE
} coordinates_t;
typedef enum { NEAREST, LINEAR, CUBIC } filter_t;
typedef enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL } nearest_t;

typedef struct {
    filter_t mode;
    coordinates_t coordinates;
    nearest_t nearest;
    double cubic_a;
    bool antialias, excludes;
    bool extrapolates;
    double outside;
} resize_t;

enum { MOST_TAPS = 64 };

/* Which of the words an attribute is; 0 after a failure. */
static int word(cv_t *cv, const char *name, const char *const *words, int n) {
    for (int i = 0; i < n; ++i)
        if (dtp_cv_word(cv, name, words[0], words[i])) return i;
    dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' has a value that is not known", name);
    return 0;
}

/* ---- Positions and weights ------------------------------------------------------------------------------------- */

/* The scale is a ratio of two numbers: of two sizes it is exact, and so is a place that falls on an element or between two. */
typedef struct {
    int64_t in, out;
    double to, from, scale; /* scale = to / from */
    double begin, end;      /* of the part that is cropped, of 1 */
} axis_t;

/* Where element i comes from. */
static double position(const resize_t *r, const axis_t *a, int64_t i) {
    const double x = (double)i, in = (double)a->in, out = (double)a->out;
    const double length = a->from == in ? a->to : a->to * in / a->from;
    switch (r->coordinates) {
    case HALF_PIXEL_SYMMETRIC: return (x + .5 - out / 2) * a->from / a->to + (in - 1) / 2;
    case PYTORCH_HALF_PIXEL: return length > 1 ? (x + .5) * a->from / a->to - .5 : 0;
    case ALIGN_CORNERS: return length > 1 ? x * (in - 1) / (length - 1) : 0;
    case ASYMMETRIC: return x * a->from / a->to;
    case TF_HALF_PIXEL_FOR_NN: return (x + .5) * a->from / a->to;
    case TF_CROP_AND_RESIZE:
        return length > 1 ? a->begin * (in - 1) + x * (a->end - a->begin) * (in - 1) / (length - 1)
                          : (a->begin + a->end) * (in - 1) / 2;
    default: return (x + .5) * a->from / a->to - .5;
    }
}

static void set_scale(axis_t *a, double to, double from) {
    a->to = to;
    a->from = from;
    a->scale = to / from;
}

static double rounded(nearest_t how, double x) {
    const double low = floor(x), part = x - low;
    switch (how) {
    case FLOOR: return low;
    case CEIL: return ceil(x);
    case PREFER_CEIL: return part < .5 ? low : low + 1;
    default: return part <= .5 ? low : low + 1;
    }
}

/* Weight of an element at distance d. */
static double kernel(const resize_t *r, double d) {
    const double x = fabs(d), a = r->cubic_a;
    if (r->mode == LINEAR) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps of element i: at[k] may lie outside of the input; returns their number. */
static int taps(const resize_t *r, const axis_t *a, int64_t i, int64_t *at, double *weight) {
    const double x = position(r, a, i);
    if (r->mode == NEAREST) {
        at[0] = (int64_t)rounded(r->nearest, x);
        weight[0] = 1;
        return 1;
    }
    const double squeeze = r->antialias && a->scale < 1 ? a->scale : 1,
                 reach = (r->mode == LINEAR ? 1 : 2) / squeeze;
    const int64_t first = (int64_t)floor(x - reach) + 1, last = (int64_t)ceil(x + reach) - 1;
    int n = 0;
    double sum = 0;
    for (int64_t p = r->excludes && first < 0 ? 0 : first; p <= last && n < MOST_TAPS; ++p) {
        if (r->excludes && p >= a->in) break;
        at[n] = p;
        sum += weight[n++] = kernel(r, ((double)p - x) * squeeze);
    }
    for (int k = 0; k < n && (r->excludes || r->antialias) && sum != 0; ++k) weight[k] /= sum;
    return n;
}

static int64_t inside(int64_t p, int64_t n) { return p < 0 ? 0 : p >= n ? n - 1 : p; }

/* ---- One axis ---------------------------------------------------------------------------------------------------- */

/* Positions and weights of all elements, by tap; those that an element has no use for weigh nothing. */
typedef struct {
    int n;
    int64_t *at[MOST_TAPS];
    double *weight[MOST_TAPS];
} table_t;

static void fill_table(cv_t *cv, const resize_t *r, const axis_t *a, table_t *t) {
    const double last = position(r, a, a->out - 1), farthest = 0x1p50; /* between them lie all places */
    if (!(fabs(position(r, a, 0)) < farthest && fabs(last) < farthest && a->scale > 1 / farthest)) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its scale is %g, or its region lies too far outside",
                    a->scale);
        t->n = 0;
        return;
    }
    int64_t at[MOST_TAPS];
    double weight[MOST_TAPS];
    t->n = 0;
    for (int64_t i = 0; i < a->out && !cv->status; ++i) {
        const int n = taps(r, a, i, at, weight);
        if (n == MOST_TAPS) {
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "an element is made of more than %d", MOST_TAPS - 1);
            return;
        }
        for (; t->n < n && !cv->status; ++t->n) {
            void *p, *q; /* within max_bytes */
            (void)dtp_cv_room(cv, dnnl_tp_s64, 1, &a->out, &p);
            (void)dtp_cv_room(cv, dnnl_tp_f64, 1, &a->out, &q);
            t->at[t->n] = p;
            t->weight[t->n] = q;
        }
        for (int k = 0; k < n && !cv->status; ++k) {
            t->at[k][i] = inside(at[k], a->in);
            t->weight[k][i] = weight[k];
        }
    }
}

/* A vector under the shape of x along an axis. */
static val_t *along(cv_t *cv, const val_t *x, int axis, val_t *v) {
    return dtp_cv_unsqueeze(cv, v, 0, x->info.ndims - 1 - axis);
}

static val_t *resize_axis(cv_t *cv, const resize_t *r, val_t *x, int axis, const axis_t *a) {
    const dnnl_tp_data_type_t type = x->info.data_type;
    table_t t;
    val_t *sum = NULL;
    fill_table(cv, r, a, &t);
    for (int k = 0; k < t.n && !cv->status; ++k) {
        bool same = true, any = false, ones = true;
        void *p;
        val_t *ids = dtp_cv_constant(cv, dnnl_tp_s64, 1, &a->out, t.at[k]);
        val_t *w = dtp_cv_room(cv, type, 1, &a->out, &p);
        for (int64_t i = 0; w && i < a->out; ++i) {
            same &= t.at[k][i] == i;
            any |= t.weight[k][i] != 0;
            ones &= t.weight[k][i] == 1;
            if (type == dnnl_tp_f64) ((double *)p)[i] = t.weight[k][i];
            else if (type == dnnl_tp_f32) ((float *)p)[i] = (float)t.weight[k][i];
        }
        if (cv->status || !any) continue;
        val_t *part = same && a->in == a->out ? x : dtp_cv_take(cv, x, axis, ids);
        if (!ones) part = dtp_cv_binary(cv, dnnl_tp_op_multiply, part, along(cv, x, axis, w));
        sum = sum ? dtp_cv_binary(cv, dnnl_tp_op_add, sum, part) : part;
    }
    if (!r->extrapolates || cv->status) return sum;
    void *p;
    val_t *is_inside = dtp_cv_room(cv, dnnl_tp_boolean, 1, &a->out, &p);
    for (int64_t i = 0; is_inside && i < a->out; ++i) {
        const double at = position(r, a, i);
        ((uint8_t *)p)[i] = at >= 0 && at <= (double)(a->in - 1);
    }
    return dtp_cv_select(cv, along(cv, x, axis, is_inside), sum, dtp_cv_scalar(cv, type, r->outside));
}

/* The scale as a ratio of two integers; false: it is none. */
static bool ratio(const axis_t *a, int64_t *to, int64_t *from) {
    double up = a->to, down = a->from;
    enum { HALVINGS = 40 }; /* scales are of 24 bits */
    for (int i = 0; i < HALVINGS && (up != floor(up) || down != floor(down)); ++i) up *= 2, down *= 2;
    if (up != floor(up) || down != floor(down) || !(up >= 1 && down >= 1 && up <= 0x1p53 && down <= 0x1p53))
        return false;
    *to = (int64_t)up;
    *from = (int64_t)down;
    return true;
}

enum { SPACE = 2, MOST_SPACE = 3 };

/* The operator of graphs can do this. */
static bool is_plain(const resize_t *r, const val_t *x) {
    const int n = x->info.ndims - SPACE;
    return n >= 1 && n <= MOST_SPACE && x->info.data_type == dnnl_tp_f32 && r->mode != CUBIC &&
           !r->antialias && !r->excludes && !r->extrapolates;
}

/* Its attributes; sizes: NULL if they are an input. Returns their number. */
static int attrs_of(const resize_t *r, int n, const int64_t *to, const int64_t *from, const int64_t *sizes,
                    dnnl_tp_op_attr_t attr[2 * MOST_SPACE]) {
    static const char *const places[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};
    static const char *const filters[] = {"nearest", "linear"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    const char *words[] = {filters[r->mode], places[r->coordinates], roundings[r->nearest]};
    const int keys[] = {dnnl_tp_op_attr_mode, dnnl_tp_op_attr_coordinate_transformation_mode,
                        dnnl_tp_op_attr_nearest_mode};
    int k = 0;
    for (; k < MOST_SPACE; ++k)
        attr[k] = (dnnl_tp_op_attr_t){keys[k], dnnl_tp_op_attr_string, (int)strlen(words[k]), words[k]};
    if (to) {
        attr[k++] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_scale_to, dnnl_tp_op_attr_s64, n, to};
        attr[k++] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_scale_from, dnnl_tp_op_attr_s64, n, from};
    }
    if (sizes) attr[k++] = (dnnl_tp_op_attr_t){dnnl_tp_op_attr_sizes, dnnl_tp_op_attr_s64, n, sizes};
    return k;
}

/* The operator of graphs, if it does just this. */
static val_t *interpolate(cv_t *cv, const resize_t *r, const axis_t *axes) {
    val_t *x = cv->in[0];
    const int n = x->info.ndims - SPACE;
    int64_t sizes[MOST_SPACE], to[MOST_SPACE], from[MOST_SPACE];
    dnnl_tp_op_attr_t attr[2 * MOST_SPACE];
    if (!is_plain(r, x)) return NULL;
    for (int d = 0; d < x->info.ndims; ++d) {
        const axis_t *a = &axes[d];
        if (d < SPACE ? a->scale != 1 || a->in != a->out : a->in < 1 || a->out < 1) return NULL;
        if (d < SPACE) continue;
        sizes[d - SPACE] = a->out;
        if (!ratio(a, &to[d - SPACE], &from[d - SPACE])) return NULL;
    }
    return dtp_cv_op(dtp_cv_last(cv), dnnl_tp_op_interpolate, 1, &x, attrs_of(r, n, to, from, sizes, attr),
                     attr);
}

static void resize(cv_t *cv, const resize_t *r, const axis_t *axes) {
    val_t *x = cv->in[0];
    const int nd = x->info.ndims;
    const dnnl_tp_data_type_t type = x->info.data_type;
    /* Integers are mixed as numbers, and rounded. */
    const bool is_mixed = r->mode != NEAREST && type != dnnl_tp_f32 && type != dnnl_tp_f64;
    val_t *whole = cv->status ? NULL : interpolate(cv, r, axes);
    if (whole || cv->status) {
        dtp_cv_set(cv, 0, whole);
        return;
    }
    if (is_mixed) x = dtp_cv_typed(cv, x, dnnl_tp_f32);
    for (int d = 0; d < nd && !cv->status; ++d) {
        const axis_t *a = &axes[d];
        if (a->out < 0 || a->out > INT32_MAX || (a->in < 1 && a->out > 0) || !(a->scale > 0)) {
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "dimension %d of %lld cannot become %lld", d,
                        (long long)a->in, (long long)a->out);
            return;
        }
        if (a->out == 0) {
            int64_t none = 0;
            val_t *ids = dtp_cv_list(cv, 0, &none);
            x = dtp_cv_take(cv, x, d, ids);
        } else if (a->scale != 1 || a->in != a->out || r->coordinates == TF_CROP_AND_RESIZE) {
            x = resize_axis(cv, r, x, d, a);
        }
    }
    if (is_mixed) x = dtp_cv_typed(cv, dtp_cv_unary(cv, dnnl_tp_op_round, x), type);
    dtp_cv_set(cv, 0, x);
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

static void sizes_of(cv_t *cv, axis_t *axes) {
    const val_t *x = cv->in[0];
    for (int d = 0; d < x->info.ndims && !cv->status; ++d)
        axes[d] = (axis_t){
            .in = dtp_cv_dim(cv, x, d), .out = x->info.dims[d], .to = 1, .from = 1, .scale = 1, .end = 1};
}

static void take_scales(cv_t *cv, int n, const int *at, int64_t count, const double *scales, axis_t *axes) {
    if (!cv->status && count != n)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld scales for %d axes", (long long)count, n);
    for (int i = 0; i < n && !cv->status; ++i) {
        axis_t *a = &axes[at[i]];
        const double out = floor((double)a->in * scales[i]);
        if (!(scales[i] > 0 && out <= INT32_MAX))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a scale of %lld elements is %g", (long long)a->in,
                        scales[i]);
        else {
            set_scale(a, scales[i], 1);
            a->out = (int64_t)out;
        }
    }
}

/* All axes, for the older versions. */
static void every_axis(int nd, int *at) {
    for (int d = 0; d < nd; ++d) at[d] = d;
}

static const char *const modes[] = {"nearest", "linear", "cubic"};

static resize_t read_upsample(cv_t *cv) {
    static const char *const old[] = {"nearest", "linear", "bilinear"};
    resize_t r = {.coordinates = ASYMMETRIC, .nearest = FLOOR};
    r.mode = word(cv, "mode", old, sizeof old / sizeof *old) ? LINEAR : NEAREST;
    return r;
}

/* The scales of Upsample, an input or an attribute. */
static const double *scales_of(cv_t *cv, int64_t *n) {
    if (cv->nin > 1) return dtp_cv_numbers(cv, 1, n);
    const float *given = dtp_cv_attr_floats(cv, "scales", n);
    double *scales = dtp_cv_alloc(cv, (size_t)(*n > 0 ? *n : 0) * sizeof *scales + 1);
    for (int64_t i = 0; scales && i < *n; ++i) scales[i] = (double)given[i];
    return scales;
}

/* Upsample, and version 10 of Resize: scales, asymmetric, downwards. */
void dtp_onnx_upsample(cv_t *cv) {
    axis_t axes[DNNL_TP_MAX_NDIMS];
    int at[DNNL_TP_MAX_NDIMS];
    int64_t n;
    const resize_t r = read_upsample(cv);
    sizes_of(cv, axes);
    every_axis(cv->in[0]->info.ndims, at);
    const double *scales = scales_of(cv, &n);
    take_scales(cv, cv->in[0]->info.ndims, at, n, scales, axes);
    if (!cv->status) resize(cv, &r, axes);
}

/* Sizes that keep the ratio of the axes: by the smallest or the largest of the scales. */
static void keep_ratio(cv_t *cv, int policy, int n, const int *at, axis_t *axes) {
    if (n == 0) return;
    axis_t chosen = axes[at[0]];
    for (int i = 1; i < n; ++i)
        if (policy == 1 ? axes[at[i]].scale < chosen.scale : axes[at[i]].scale > chosen.scale)
            chosen = axes[at[i]];
    for (int i = 0; i < n && !cv->status; ++i) {
        axis_t *a = &axes[at[i]];
        set_scale(a, chosen.to, chosen.from);
        const double out = floor(chosen.to * (double)a->in / chosen.from + .5);
        if (!(out <= INT32_MAX)) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a size becomes %g", out);
        a->out = cv->status ? 0 : (int64_t)out;
    }
}

enum { ROI = 1, SCALES, SIZES };

/* at: the n axes that it names; *policy: how sizes keep the ratio, 0: they do not. */
static resize_t read_resize(cv_t *cv, int *n, int *at, int *policy) {
    enum { AXES_SINCE = 18 };
    static const char *const coordinates[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
    int64_t count;
    resize_t r = {.mode = (filter_t)word(cv, "mode", modes, sizeof modes / sizeof *modes)};
    r.coordinates = (coordinates_t)word(cv, "coordinate_transformation_mode", coordinates,
                                        sizeof coordinates / sizeof *coordinates);
    r.nearest = (nearest_t)word(cv, "nearest_mode", nearest, sizeof nearest / sizeof *nearest);
    r.cubic_a = (double)dtp_cv_float(cv, "cubic_coeff_a", -.75f);
    r.excludes = dtp_cv_int(cv, "exclude_outside", 0) != 0;
    r.outside = (double)dtp_cv_float(cv, "extrapolation_value", 0.f);
    r.extrapolates = r.coordinates == TF_CROP_AND_RESIZE;
    *n = cv->in[0]->info.ndims;
    *policy = 0;
    every_axis(*n, at);
    if (cv->since >= AXES_SINCE) {
        r.antialias = dtp_cv_int(cv, "antialias", 0) != 0;
        *policy = word(cv, "keep_aspect_ratio_policy", policies, sizeof policies / sizeof *policies);
        const int64_t *given = dtp_cv_attr_ints(cv, "axes", &count);
        if (!cv->status && count > *n)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld axes", (long long)count);
        if (count >= 0 && !cv->status) *n = (int)count;
        for (int i = 0; i < *n && count >= 0 && !cv->status; ++i)
            at[i] = dtp_cv_axis(cv, given[i], cv->in[0]->info.ndims);
    }
    return r;
}

void dtp_onnx_resize(cv_t *cv) {
    axis_t axes[DNNL_TP_MAX_NDIMS];
    int at[DNNL_TP_MAX_NDIMS], n, policy;
    int64_t count;
    const resize_t r = read_resize(cv, &n, at, &policy);
    sizes_of(cv, axes);
    if (r.extrapolates) {
        const double *roi = dtp_cv_numbers(cv, ROI, &count);
        if (!cv->status && count != 2 * n)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its region has %lld numbers for %d axes",
                        (long long)count, n);
        for (int i = 0; i < n && !cv->status; ++i) {
            axes[at[i]].begin = roi[i];
            axes[at[i]].end = roi[n + i];
        }
    }
    const bool has_sizes = dtp_cv_given(cv, SIZES);
    if (has_sizes) {
        const double *sizes = dtp_cv_numbers(cv, SIZES, &count);
        if (!cv->status && count != n)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld sizes for %d axes", (long long)count, n);
        for (int i = 0; i < n && !cv->status; ++i) {
            axis_t *a = &axes[at[i]];
            if (!(sizes[i] >= 0 && sizes[i] < 0x1p31))
                dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a size is %g", sizes[i]);
            a->out = cv->status ? 0 : (int64_t)sizes[i];
            if (a->in > 0) set_scale(a, sizes[i], (double)a->in);
        }
        if (policy && !cv->status) keep_ratio(cv, policy, n, at, axes);
    } else {
        const double *scales = dtp_cv_numbers(cv, SCALES, &count);
        take_scales(cv, n, at, count, scales, axes);
    }
    if (!cv->status) resize(cv, &r, axes);
}

/* ---- Open sizes ------------------------------------------------------------------------------------------------ */

/* Whether a size stays above 0, whatever the symbols: proven, or by a guard. */
static bool is_positive(cv_t *cv, dtp_size_t size) {
    return hint(cv, size) >= 1 && dtp_cv_size_is(cv, number(cv, 1), DTP_SIZE_AT_MOST, size);
}

bool dtp_onnx_resize_sized(cv_t *cv) {
    const bool is_old = cv->row->convert == dtp_onnx_upsample;
    const double far = 0x1p31;
    val_t *x = cv->in[0];
    const int nd = x->info.ndims, space = nd - SPACE;
    int at[DNNL_TP_MAX_NDIMS], n = nd, policy = 0;
    int64_t count = 0, up[DNNL_TP_MAX_NDIMS], down[DNNL_TP_MAX_NDIMS];
    dtp_size_t to[DNNL_TP_MAX_NDIMS];
    dnnl_tp_op_attr_t attr[2 * MOST_SPACE];
    if (is_old) every_axis(n, at);
    const resize_t r = is_old ? read_upsample(cv) : read_resize(cv, &n, at, &policy);
    const bool by_sizes = !is_old && dtp_cv_given(cv, SIZES);
    const val_t *scale_input = is_old ? (cv->nin > 1 ? cv->in[1] : NULL) : by_sizes ? NULL : cv->in[SCALES];
    if (cv->status || !is_plain(&r, x) || policy ||
        (scale_input && (!scale_input->data || scale_input->elems)))
        return cv->status;
    const dtp_size_t *sizes = by_sizes ? dtp_elems_of(cv, cv->in[SIZES], &count) : NULL;
    const double *scales = by_sizes ? NULL
                           : is_old ? scales_of(cv, &count)
                                    : dtp_cv_numbers(cv, SCALES, &count);
    if (cv->status || (!sizes && !scales) || count != n) return cv->status;
    for (int d = 0; d < nd; ++d) {
        to[d] = dtp_cv_size(cv, x, d);
        up[d] = down[d] = 1;
    }
    for (int i = 0; i < n; ++i) {
        const int d = at[i];
        if (sizes) to[d] = sizes[i];
        else {
            if (!(scales[i] > 0 && scales[i] < far && (double)x->info.dims[d] * scales[i] < far))
                return false;
            const axis_t a = {.to = scales[i], .from = 1};
            if (!ratio(&a, &up[d], &down[d])) return false;
            /* As the product in double is rounded down: it is exact. */
            to[d] = dtp_size_multiply(cv->im->sizes, to[d], number(cv, up[d]));
            to[d] = to[d] < 0 ? to[d] : dtp_size_divide(cv->im->sizes, to[d], number(cv, down[d]));
        }
        if (to[d] < 0) return false;
    }
    for (int d = 0; d < nd; ++d) {
        const dtp_size_t have = dtp_cv_size(cv, x, d);
        if (d < SPACE ? up[d] != down[d] || hint(cv, to[d]) != hint(cv, have) ||
                            !dtp_cv_size_is(cv, to[d], DTP_SIZE_EQUAL, have)
                      : !is_positive(cv, have) || !is_positive(cv, to[d]))
            return cv->status;
    }
    dtp_cv_set(cv, 0,
               dtp_cv_sized_op(dtp_cv_last(cv), dnnl_tp_op_interpolate, x,
                               dtp_cv_size_list(cv, space, to + SPACE),
                               attrs_of(&r, space, sizes ? NULL : up + SPACE, down + SPACE, NULL, attr), attr,
                               1, 0, nd, to));
    return true;
}
