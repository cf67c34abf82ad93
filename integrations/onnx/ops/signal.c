/* Windows of signals and their transforms, which are products with matrices of cosines and sines. */
#include "onnx/ops/ops.h"

#include <math.h>

/* One integer that has to be known, in a range. */
static int64_t known_int(cv_t *cv, int input, int64_t least, int64_t most) {
    int64_t n;
    const int64_t *p = dtp_cv_ints(cv, input, &n);
    if (!cv->status && (n != 1 || *p < least || *p > most))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is not one integer in %lld..%lld", input,
                    (long long)least, (long long)most);
    return cv->status ? least : *p;
}

static const double turn = 6.283185307179586476925;

/* a - b cos(2 pi i / n) + c cos(4 pi i / n); kind: which of the windows. */
void dtp_onnx_window(cv_t *cv) {
    enum { MOST = 1 << 26 };
    static const double parts[][3] = {{.5, .5, 0}, {25. / 46, 21. / 46, 0}, {.42, .5, .08}};
    const double *w = parts[cv->row->kind];
    const bool periodic = dtp_cv_int(cv, "periodic", 1) != 0;
    const dnnl_tp_data_type_t type =
        dtp_cv_type(cv, "output_datatype", DTP_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    const int64_t size = known_int(cv, 0, 0, MOST);
    const double n = periodic ? (double)size : (double)(size - 1);
    void *p;
    val_t *v = dtp_cv_room(cv, dnnl_tp_f64, 1, &size, &p);
    for (int64_t i = 0; v && i < size; ++i) {
        const double at = n > 0 ? turn * (double)i / n : 0;
        ((double *)p)[i] = w[0] - w[1] * cos(at) + w[2] * cos(2 * at);
    }
    dtp_cv_set(cv, 0, dtp_cv_typed(cv, v, type));
}

/* {dft_length / 2 + 1, bins}: triangles whose corners lie apart evenly on the mel scale. */
void dtp_onnx_mel_weights(cv_t *cv) {
    enum { BINS, LENGTH, RATE, LOW, HIGH, MOST = 1 << 20 };
    const dnnl_tp_data_type_t type =
        dtp_cv_type(cv, "output_datatype", DTP_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    const int64_t bins = known_int(cv, BINS, 1, MOST), length = known_int(cv, LENGTH, 1, MOST),
                  rate = known_int(cv, RATE, 1, INT32_MAX);
    int64_t n;
    const double *low = dtp_cv_numbers(cv, LOW, &n), *high = dtp_cv_numbers(cv, HIGH, &n);
    if (cv->status || n < 1) return;
    const int64_t rows = length / 2 + 1, dims[2] = {rows, bins};
    const double first = 2595 * log10(1 + *low / 700), last = 2595 * log10(1 + *high / 700),
                 step = (last - first) / (double)(bins + 2);
    void *p;
    val_t *v = dtp_cv_room(cv, dnnl_tp_f64, 2, dims, &p);
    for (int64_t b = 0; v && b < bins; ++b) {
        double at[3]; /* spectrum bins of the corners */
        for (int k = 0; k < 3; ++k) {
            const double hertz = 700 * (pow(10, ((double)(b + k) * step + first) / 2595) - 1);
            at[k] = floor((double)(length + 1) * hertz / (double)rate);
        }
        for (int64_t r = 0; r < rows; ++r) {
            const double x = (double)r, up = at[1] - at[0], down = at[2] - at[1];
            double y = 0;
            if (up == 0 && x == at[1]) y = 1;
            else if (up > 0 && x >= at[0] && x <= at[1]) y = (x - at[0]) / up;
            if (down > 0 && x >= at[1] && x < at[2]) y = (at[2] - x) / down;
            ((double *)p)[r * bins + b] = y;
        }
    }
    dtp_cv_set(cv, 0, dtp_cv_typed(cv, v, type));
}

/* ---- Transforms ---------------------------------------------------------------------------------------------------- */

/* Cosines (part 0) or sines of -2 pi k i / n, {n, count}. */
static val_t *waves(cv_t *cv, dnnl_tp_data_type_t type, int64_t n, int64_t count, int part, bool inverse) {
    const int64_t dims[2] = {n, count};
    void *p;
    val_t *v = dtp_cv_room(cv, type, 2, dims, &p);
    for (int64_t i = 0; v && i < n; ++i)
        for (int64_t k = 0; k < count; ++k) {
            const double angle = turn * (double)((uint64_t)i * (uint64_t)k % (uint64_t)n) / (double)n;
            const double x =
                (part ? (inverse ? sin(angle) : -sin(angle)) : cos(angle)) / (inverse ? (double)n : 1);
            if (type == dnnl_tp_f64) ((double *)p)[i * count + k] = x;
            else ((float *)p)[i * count + k] = (float)x;
        }
    return v;
}

/* x w */
static val_t *product(cv_t *cv, val_t *x, val_t *w) {
    if (cv->status || x->info.ndims > 1) return cv->status ? NULL : dtp_cv_matmul(cv, x, w, false);
    const int64_t row[2] = {1, x->info.dims[0]};
    val_t *y = dtp_cv_matmul(cv, dtp_cv_reshape(cv, x, 2, row), w, false);
    return cv->status ? NULL : dtp_cv_reshape(cv, y, 1, w->info.dims + 1);
}

/* A transform of n = a b elements in two steps: element b i + j of rows {a, b} and bin c + a d. Y[c, j] is the sum over i of
 * exp(+-2 pi i c / a) x[i, j], Z[c, j] = exp(+-2 pi c j / n) Y[c, j], and the bin the sum over j of exp(+-2 pi j d / b) Z[c, j].
 * Y and Z have rows (c, part, turn): part 0 is real and 1 imaginary, turn 1 is times the imaginary unit, so that complex
 * products are products of rows. */
typedef struct {
    int64_t n, a, b, count, last; /* last: number of d */
    int64_t cost;                 /* multiplications of an element of x */
    int kinds;                    /* 2: x is complex, {2 a, b} */
    double sign;                  /* of the exponent */
    double scale;
} split_t;
enum { PARTS = 2, TURNS = 2 };

static double part_of(double angle, int part, int turns) {
    angle += turn / 4 * turns;
    return part ? sin(angle) : cos(angle);
}

typedef double wave_fn_t(const split_t *s, int64_t row, int64_t col);
static val_t *table(cv_t *cv, dnnl_tp_data_type_t type, const split_t *s, int64_t rows, int64_t cols,
                    wave_fn_t *fn) {
    const int64_t dims[2] = {rows, cols};
    void *p;
    val_t *v = dtp_cv_room(cv, type, 2, dims, &p);
    for (int64_t i = 0; v && i < rows * cols; ++i) {
        const double x = fn(s, i / cols, i % cols);
        if (type == dnnl_tp_f64) ((double *)p)[i] = x;
        else ((float *)p)[i] = (float)x;
    }
    return v;
}

/* Y of x; of rows with the other turn. */
static double first_wave(const split_t *s, int64_t row, int64_t col) {
    const int64_t c = row / (PARTS * TURNS), i = col % s->a;
    const double angle = s->sign * turn * (double)(c * i % s->a) / (double)s->a;
    return part_of(angle, row / TURNS % PARTS, (int)(row % TURNS + col / s->a));
}
static double other_wave(const split_t *s, int64_t row, int64_t col) { return first_wave(s, row ^ 1, col); }
/* What Y is multiplied with, and Y with the other turn. */
static double between(const split_t *s, int64_t row, int64_t col) {
    return cos(turn * (double)(row / (PARTS * TURNS) * col) / (double)s->n);
}
static double between_other(const split_t *s, int64_t row, int64_t col) {
    const double x = s->sign * sin(turn * (double)(row / (PARTS * TURNS) * col) / (double)s->n);
    return row % TURNS ? -x : x;
}
/* Bins of rows (turn, j). */
static double last_wave(const split_t *s, int64_t row, int64_t col) {
    const int64_t j = row % s->b;
    const double angle = turn * (double)(j * col % s->b) / (double)s->b;
    return s->scale * (row / s->b ? s->sign * sin(angle) : cos(angle));
}

/* The split with the least work, or a = 1: directly. */
static split_t split_of(int64_t n, int64_t count, int kinds, bool inverse) {
    enum { LEAST = 64 };
    /* Steps between products count, too: the products have to be half of those of a direct transform. */
    split_t best = {.n = n, .a = 1, .b = n, .count = count, .cost = kinds * count, .kinds = kinds};
    for (int64_t a = 2; n >= LEAST && a * a <= n; ++a) {
        const int64_t last = (count - 1) / a + 1, cost = 2 * PARTS * TURNS * a * kinds + PARTS * TURNS * last;
        if (n % a || cost >= best.cost) continue;
        best.cost = cost;
        best.a = a;
        best.b = n / a;
    }
    best.last = (count - 1) / best.a + 1;
    best.sign = inverse ? 1 : -1;
    best.scale = inverse ? 1 / (double)n : 1;
    return best;
}

/* x {rows, kinds a, b}: {rows, count, 2}. */
static val_t *in_steps(cv_t *cv, dnnl_tp_data_type_t type, const split_t *s, int64_t rows, val_t *x) {
    static const int64_t order[] = {0, 3, 1, 2};
    const int64_t parts = PARTS * TURNS * s->a, as_rows[] = {rows, PARTS * s->a, TURNS * s->b},
                  apart[] = {rows, s->a, PARTS, s->last}, bins[] = {rows, s->a * s->last, PARTS};
    val_t *y = dtp_cv_matmul(cv, table(cv, type, s, parts, s->kinds * s->a, first_wave), x, false);
    if (cv->status) return NULL;
    val_t *other = dtp_cv_matmul(cv, table(cv, type, s, parts, s->kinds * s->a, other_wave), x, false);
    if (cv->status) return NULL;
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, table(cv, type, s, parts, s->b, between));
    if (cv->status) return NULL;
    other = dtp_cv_binary(cv, dnnl_tp_op_multiply, other, table(cv, type, s, parts, s->b, between_other));
    y = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, y, other);
    if (cv->status) return NULL;
    y = dtp_cv_matmul(cv, dtp_cv_reshape(cv, y, 3, as_rows),
                      table(cv, type, s, TURNS * s->b, s->last, last_wave), false);
    if (cv->status) return NULL;
    y = dtp_cv_transpose(cv, dtp_cv_reshape(cv, y, 4, apart), order);
    y = cv->status ? NULL : dtp_cv_reshape(cv, y, 3, bins);
    return cv->status ? NULL : dtp_cv_part(cv, y, 1, 0, s->count);
}

/* x {..., n}, real[, imag]: {..., count, 2}. */
static val_t *transform(cv_t *cv, val_t *real, val_t *imag, int64_t count, bool inverse) {
    const int nd = real->info.ndims;
    const int64_t n = dtp_cv_dim(cv, real, nd - 1);
    const dnnl_tp_data_type_t type = real->info.data_type;
    enum { MOST = 1 << 14, MOST_DIRECT = 500 /* of f32, where rows are many */ };
    if (!cv->status && (n > MOST || (type != dnnl_tp_f32 && type != dnnl_tp_f64)))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its transform has %lld elements of %s", (long long)n,
                    dnnl_tp_dt2str(type));
    if (cv->status) return NULL;
    /* In double where that is small: sums that cancel lose what f32 has. */
    const int64_t rows = dtp_cv_product(real, 0, nd - 1);
    static const int64_t small = 1 << 22;
    const split_t split = split_of(n, count, imag ? 2 : 1, inverse);
    const bool is_small = rows != CV_RUNTIME && rows <= small / (n * split.cost + 1);
    const dnnl_tp_data_type_t in = is_small ? dnnl_tp_f64 : type;
    real = dtp_cv_typed(cv, real, in);
    if (imag) imag = dtp_cv_typed(cv, imag, in);
    if (rows != CV_RUNTIME && split.a > 1 && (is_small || n > MOST_DIRECT) && !cv->status) {
        const int64_t flat[] = {rows, split.a, split.b};
        int64_t dims[DNNL_TP_MAX_NDIMS];
        val_t *both[2] = {dtp_cv_reshape(cv, real, 3, flat), imag ? dtp_cv_reshape(cv, imag, 3, flat) : NULL};
        val_t *x = imag && !cv->status ? dtp_cv_concat(cv, 1, 2, both) : both[0];
        val_t *y = cv->status ? NULL : dtp_cv_typed(cv, in_steps(cv, in, &split, rows, x), type);
        for (int i = 0; i < nd - 1; ++i) dims[i] = real->info.dims[i];
        dims[nd - 1] = count;
        dims[nd] = 2;
        return cv->status ? NULL : dtp_cv_reshape(cv, y, nd + 1, dims);
    }
    val_t *c = waves(cv, in, n, count, 0, inverse), *s = waves(cv, in, n, count, 1, inverse);
    val_t *out[2] = {product(cv, real, c), product(cv, real, s)};
    if (imag) {
        out[0] = dtp_cv_binary(cv, dnnl_tp_op_subtract, out[0], product(cv, imag, s));
        out[1] = dtp_cv_binary(cv, dnnl_tp_op_add, out[1], product(cv, imag, c));
    }
    for (int i = 0; i < 2; ++i) out[i] = cv->status ? NULL : dtp_cv_typed(cv, out[i], type);
    return cv->status ? NULL : dtp_cv_stack(cv, 2, out, nd);
}

/* A tensor whose last dimension is 1 (real) or 2, along an axis of the others. */
/* The real signal of which parts {..., m} are the first half of the spectrum: {..., n, 1}. */
static val_t *real_signal(cv_t *cv, val_t *const part[2], int64_t m, int64_t n) {
    const dnnl_tp_data_type_t type = part[0]->info.data_type;
    val_t *sum = NULL;
    for (int i = 0; i < 2 && !cv->status; ++i) {
        void *p;
        const int64_t dims[2] = {m, n};
        val_t *w = dtp_cv_room(cv, dnnl_tp_f64, 2, dims, &p);
        for (int64_t k = 0; w && k < m; ++k)
            for (int64_t j = 0; j < n; ++j) {
                const double angle = turn * (double)((uint64_t)k * (uint64_t)j % (uint64_t)n) / (double)n;
                const double twice = k == 0 || 2 * k == n ? 1 : 2; /* the other half mirrors */
                ((double *)p)[k * n + j] = twice * (i ? -sin(angle) : cos(angle)) / (double)n;
            }
        val_t *y = product(cv, part[i], dtp_cv_typed(cv, w, type));
        sum = sum && !cv->status ? dtp_cv_binary(cv, dnnl_tp_op_add, sum, y) : y;
    }
    return dtp_cv_unsqueeze(cv, sum, 0, 1);
}

static void dft(cv_t *cv, int64_t wanted_axis) {
    val_t *x = cv->in[0], *part[2] = {NULL, NULL};
    const int nd = x->info.ndims;
    const bool inverse = dtp_cv_int(cv, "inverse", 0) != 0, onesided = dtp_cv_int(cv, "onesided", 0) != 0;
    const int64_t kinds = nd < 2 ? 0 : dtp_cv_dim(cv, x, nd - 1);
    if (!cv->status && (kinds < 1 || kinds > 2 || (onesided && (kinds == 2) != inverse)))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input ends with a dimension of %lld", (long long)kinds);
    const int axis = dtp_cv_axis(cv, wanted_axis, nd);
    if (!cv->status && axis == nd - 1) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its axis is the last one");
    if (cv->status) return;
    const bool to_real = onesided && inverse;
    int64_t size = dtp_cv_dim(cv, x, axis), length = to_real ? 2 * (size - 1) : size;
    if (dtp_cv_given(cv, 1)) length = known_int(cv, 1, 1, INT32_MAX);
    if (!cv->status && length < 1)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its length is %lld", (long long)length);
    if (cv->status) return;
    const int64_t wanted = to_real ? length / 2 + 1 : length;
    if (wanted < size) x = dtp_cv_part(cv, x, axis, 0, wanted);
    else if (wanted > size) x = dtp_cv_pad_axis(cv, x, axis, 0, wanted - size, 0);
    int64_t perm[DNNL_TP_MAX_NDIMS], back[DNNL_TP_MAX_NDIMS], dims[DNNL_TP_MAX_NDIMS];
    int k = 0;
    for (int d = 0; d < nd - 1; ++d)
        if (d != axis) perm[k++] = d;
    perm[k] = axis; /* of nd - 1 dimensions: the axis last */
    for (int64_t i = 0; i < kinds && !cv->status; ++i) {
        val_t *y = dtp_cv_part(cv, x, nd - 1, i, 1);
        for (int d = 0; d < nd - 1 && !cv->status; ++d) dims[d] = y->info.dims[d];
        y = dtp_cv_reshape(cv, y, nd - 1, dims);
        part[i] = cv->status ? NULL : dtp_cv_transpose(cv, y, perm);
    }
    if (cv->status) return;
    val_t *y = to_real ? real_signal(cv, part, wanted, length)
                       : transform(cv, part[0], part[1], onesided ? length / 2 + 1 : length, inverse);
    for (int d = 0; d < nd - 1; ++d) back[perm[d]] = d;
    back[nd - 1] = nd - 1;
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_transpose(cv, y, back));
}

void dtp_onnx_dft_17(cv_t *cv) { dft(cv, dtp_cv_int(cv, "axis", 1)); }
void dtp_onnx_dft(cv_t *cv) {
    enum { AXIS = 2 };
    int64_t n, axis = -2;
    if (dtp_cv_given(cv, AXIS)) {
        const int64_t *p = dtp_cv_ints(cv, AXIS, &n);
        if (p && n == 1) axis = *p;
    }
    dft(cv, axis);
}

/* Transforms of frames of a signal {B, L, 1 or 2}: {B, frames, bins, 2}. */
void dtp_onnx_stft(cv_t *cv) {
    enum { SIGNAL, STEP, WINDOW, LENGTH };
    val_t *x = cv->in[SIGNAL], *window = dtp_cv_given(cv, WINDOW) ? cv->in[WINDOW] : NULL,
          *part[2] = {NULL, NULL};
    const bool onesided = dtp_cv_int(cv, "onesided", 1) != 0;
    const int64_t step = known_int(cv, STEP, 1, INT32_MAX);
    if (x->info.ndims != 3 && x->info.ndims != 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its signal has %d dimensions", x->info.ndims);
    if (cv->status) return;
    const int64_t batch = dtp_cv_dim(cv, x, 0), all = dtp_cv_dim(cv, x, 1),
                  kinds = x->info.ndims == 3 ? dtp_cv_dim(cv, x, 2) : 1;
    int64_t length = all;
    if (dtp_cv_given(cv, LENGTH)) length = known_int(cv, LENGTH, 1, INT32_MAX);
    else if (window && window->info.ndims == 1) length = dtp_cv_dim(cv, window, 0);
    if (!cv->status && (length > all || length < 1 || kinds < 1 || kinds > 2 || (kinds == 2 && onesided)))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "frames of %lld in a signal of %lld x %lld", (long long)length,
                    (long long)all, (long long)kinds);
    if (cv->status) return;
    const int64_t frames = (all - length) / step + 1, at[2] = {frames, length}, flat[2] = {batch, all};
    void *p;
    val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 2, at, &p);
    for (int64_t i = 0; ids && i < frames * length; ++i) ((int64_t *)p)[i] = i / length * step + i % length;
    for (int64_t i = 0; i < kinds && !cv->status; ++i) {
        val_t *y = x->info.ndims == 3 ? dtp_cv_reshape(cv, dtp_cv_part(cv, x, 2, i, 1), 2, flat) : x;
        y = dtp_cv_take(cv, y, 1, ids); /* {B, frames, length} */
        if (window) y = dtp_cv_binary(cv, dnnl_tp_op_multiply, y, window);
        part[i] = y;
    }
    if (!cv->status)
        dtp_cv_set(cv, 0, transform(cv, part[0], part[1], onesided ? length / 2 + 1 : length, false));
}

/* ---- com.microsoft ------------------------------------------------------------------------------------------------- */

static void read_rfft(cv_t *cv) {
    static const struct {
        const char *name;
        int64_t value;
    } fixed[] = {{"onesided", 1}, {"normalized", 0}, {"signal_ndim", 1}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; ++i) {
        const int64_t value = dtp_cv_int(cv, fixed[i].name, fixed[i].value);
        if (!cv->status && value != fixed[i].value)
            dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' is %lld", fixed[i].name,
                        (long long)value);
    }
}

/* {..., n}: {..., n / 2 + 1, 2}. */
void dtp_onnx_ms_rfft(cv_t *cv) {
    val_t *x = cv->in[0];
    read_rfft(cv);
    if (!cv->status && x->info.ndims < 1)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has no dimensions");
    const int64_t n = cv->status ? 0 : dtp_cv_dim(cv, x, x->info.ndims - 1);
    if (!cv->status && n < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its signal is empty");
    dtp_cv_set(cv, 0, cv->status ? NULL : transform(cv, x, NULL, n / 2 + 1, false));
}

/* {..., m, 2}: {..., 2 (m - 1)}. */
void dtp_onnx_ms_irfft(cv_t *cv) {
    val_t *x = cv->in[0], *part[2] = {NULL, NULL};
    const int nd = x->info.ndims;
    read_rfft(cv);
    if (!cv->status && nd < 2) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions", nd);
    const int64_t m = cv->status ? 0 : dtp_cv_dim(cv, x, nd - 2),
                  parts = cv->status ? 0 : dtp_cv_dim(cv, x, nd - 1);
    enum { MOST = 1 << 13 };
    if (!cv->status && (m < 2 || m > MOST || parts != 2 || x->info.data_type != dnnl_tp_f32))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its spectrum has %lld elements of %lld parts", (long long)m,
                    (long long)parts);
    for (int i = 0; i < 2 && !cv->status; ++i)
        part[i] = dtp_cv_reshape(cv, dtp_cv_part(cv, x, nd - 1, i, 1), nd - 1, x->info.dims);
    val_t *y = cv->status ? NULL : real_signal(cv, part, m, 2 * (m - 1));
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_reshape(dtp_cv_last(cv), y, nd - 1, y->info.dims));
}
