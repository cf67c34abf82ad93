/* GridSample: elements of an image at places that a grid of coordinates names, and grids of affine maps. */
#include "onnx/ops/ops.h"

enum { MOST = 3, CUBIC_TAPS = 4, CHANNELS = 1, SPACE = 2 };
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

void dtp_onnx_grid_sample(cv_t *cv) {
    val_t *x = cv->in[0], *grid = cv->in[1];
    sampler_t s = {.n = x->info.ndims - SPACE, .align = dtp_cv_int(cv, "align_corners", 0) != 0, .taps = 1};
    const char *standard = cv->row->since < 20 ? "bilinear" : "linear", *outside = "zeros";
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
        s.base[d] = dtp_cv_unary(cv, dnnl_tp_op_floor, at);
        val_t *t = dtp_cv_binary(cv, dnnl_tp_op_subtract, at, s.base[d]);
        if (filter == LINEAR) {
            s.weight[d][0] = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_subtract, number(cv, t, 1), t);
            s.weight[d][1] = t;
        } else {
            for (int k = 0; k < CUBIC_TAPS; ++k) s.weight[d][k] = cubic_weight(cv, t, k);
        }
    }
    s.taps = filter == NEAREST ? 1 : filter == LINEAR ? 2 : CUBIC_TAPS;
    s.first = filter == CUBIC ? -1 : 0;
    int tap[MOST] = {0}, d = 0;
    val_t *sum = NULL;
    while (d >= 0 && !cv->status) {
        val_t *part = tap_of(cv, &s, tap);
        sum = sum ? dtp_cv_binary(cv, dnnl_tp_op_add, sum, part) : part;
        for (d = s.n - 1; d >= 0 && ++tap[d] == s.taps; --d) tap[d] = 0;
    }
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
