/* Double-precision loops of operators, see mirror_evaluate.h; those on images: mirror_spatial.c. */
#include "support/mirror_evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef dnnl_tp_tensor_info_t info_t;

int64_t mirror_count(const info_t *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndims; ++d) n *= t->dims[d];
    return n;
}

const dnnl_tp_op_attr_t *mirror_find(const mirror_attrs_t *a, int key) {
    for (int i = 0; i < a->nattr; ++i)
        if (a->attr[i].key == key) return &a->attr[i];
    return NULL;
}
static double attr_f(const mirror_attrs_t *a, int key, double otherwise) {
    const dnnl_tp_op_attr_t *x = mirror_find(a, key);
    return x ? (double)*(const float *)x->data : otherwise;
}
static int64_t attr_i(const mirror_attrs_t *a, int key, int64_t otherwise) {
    const dnnl_tp_op_attr_t *x = mirror_find(a, key);
    return x ? *(const int64_t *)x->data : otherwise;
}
static int attr_b(const mirror_attrs_t *a, int key, int otherwise) {
    const dnnl_tp_op_attr_t *x = mirror_find(a, key);
    return x ? *(const uint8_t *)x->data != 0 : otherwise;
}

static double unary(const mirror_attrs_t *a, double s) {
    double alpha = attr_f(a, dnnl_tp_op_attr_alpha, 0), beta = attr_f(a, dnnl_tp_op_attr_beta, 1);
    switch (a->kind) {
    case dnnl_tp_op_abs: return fabs(s);
    case dnnl_tp_op_clamp:
        return fmin(fmax(s, attr_f(a, dnnl_tp_op_attr_min, 0)), attr_f(a, dnnl_tp_op_attr_max, 0));
    case dnnl_tp_op_elu: return s > 0 ? s : alpha * expm1(s);
    case dnnl_tp_op_exp: return exp(s);
    case dnnl_tp_op_hard_swish: return s * fmin(fmax(s / 6 + .5, 0), 1);
    case dnnl_tp_op_leaky_relu: return s > 0 ? s : alpha * s;
    case dnnl_tp_op_log: return log(s);
    case dnnl_tp_op_mish: return s * tanh(log1p(exp(s)));
    case dnnl_tp_op_reciprocal: return 1 / s;
    case dnnl_tp_op_relu: return s > 0 ? s : 0;
    case dnnl_tp_op_round: return nearbyint(s);
    case dnnl_tp_op_sigmoid: return 1 / (1 + exp(-s));
    case dnnl_tp_op_softplus: return log1p(exp(beta * s)) / beta;
    case dnnl_tp_op_sqrt: return sqrt(s);
    case dnnl_tp_op_square: return s * s;
    case dnnl_tp_op_tanh: return tanh(s);
    case dnnl_tp_op_hard_sigmoid: return fmin(fmax(alpha * s + beta, 0), 1);
    case dnnl_tp_op_pow: return pow(s, beta);
    case dnnl_tp_op_erf: return erf(s);
    case dnnl_tp_op_swish: return s / (1 + exp(-attr_f(a, dnnl_tp_op_attr_alpha, 1) * s));
    case dnnl_tp_op_hard_tanh:
        return fmin(fmax(s, attr_f(a, dnnl_tp_op_attr_min, -1)), attr_f(a, dnnl_tp_op_attr_max, 1));
    case dnnl_tp_op_gelu: {
        const dnnl_tp_op_attr_t *mode = mirror_find(a, dnnl_tp_op_attr_mode);
        if (mode && mode->count == 9) return s / 2 * (1 + tanh(sqrt(2 / M_PI) * (s + .044715 * s * s * s)));
        return s / 2 * erfc(-s / M_SQRT2);
    }
    default: abort();
    }
}

static double binary(int kind, double x, double y) {
    switch (kind) {
    case dnnl_tp_op_bias_add:
    case dnnl_tp_op_add: return x + y;
    case dnnl_tp_op_multiply: return x * y;
    case dnnl_tp_op_subtract: return x - y;
    case dnnl_tp_op_divide: return x / y;
    case dnnl_tp_op_maximum: return fmax(x, y);
    case dnnl_tp_op_minimum: return fmin(x, y);
    case dnnl_tp_op_squared_difference: return (x - y) * (x - y);
    default: abort();
    }
}

/* Row-major position i of out, as a position of t under broadcasting (aligned at the end). */
static int64_t broadcast_at(const info_t *out, const info_t *t, int64_t i) {
    int64_t at = 0, step = 1;
    for (int d = out->ndims - 1, k = t->ndims - 1; k >= 0; --d, --k) {
        int64_t pos = i % out->dims[d];
        i /= out->dims[d];
        if (t->dims[k] != 1) at += pos * step;
        step *= t->dims[k];
    }
    return at;
}

static void matmul(const mirror_attrs_t *a, const mirror_value_t *x, const mirror_value_t *w,
                   const mirror_value_t *b, mirror_value_t *y) {
    int ta = attr_b(a, dnnl_tp_op_attr_transpose_a, 0), tb = attr_b(a, dnnl_tp_op_attr_transpose_b, 0);
    info_t xi = x->info, wi = w->info;
    if (xi.ndims == 1) xi = (info_t){.ndims = 2, .dims = {1, xi.dims[0]}}, ta = 0;
    if (wi.ndims == 1) wi = (info_t){.ndims = 2, .dims = {wi.dims[0], 1}}, tb = 0;
    int64_t k = xi.dims[xi.ndims - (ta ? 2 : 1)], m = xi.dims[xi.ndims - (ta ? 1 : 2)];
    int64_t n = wi.dims[wi.ndims - (tb ? 2 : 1)];
    info_t bx = xi, bw = wi, bo = {.ndims = (xi.ndims > wi.ndims ? xi.ndims : wi.ndims) - 2};
    bx.ndims -= 2;
    bw.ndims -= 2;
    for (int d = 0; d < bo.ndims; ++d) {
        int dx = d - (bo.ndims - bx.ndims), dw = d - (bo.ndims - bw.ndims);
        int64_t p = dx < 0 ? 1 : bx.dims[dx], q = dw < 0 ? 1 : bw.dims[dw];
        bo.dims[d] = p == 1 ? q : p;
    }
    for (int64_t o = 0; o < mirror_count(&bo); ++o) {
        const double *px = x->x + broadcast_at(&bo, &bx, o) * m * k,
                     *pw = w->x + broadcast_at(&bo, &bw, o) * k * n;
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                double s = b ? b->x[j] : 0;
                for (int64_t l = 0; l < k; ++l)
                    s += px[ta ? l * m + i : i * k + l] * pw[tb ? j * k + l : l * n + j];
                y->x[(o * m + i) * n + j] = s;
            }
    }
}

static void softmax_row(double *x, int64_t n, int64_t step, int is_log) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) most = fmax(most, x[i * step]);
    for (int64_t i = 0; i < n; ++i) sum += exp(x[i * step] - most);
    for (int64_t i = 0; i < n; ++i)
        x[i * step] = is_log ? x[i * step] - most - log(sum) : exp(x[i * step] - most) / sum;
}

static void reduce(const mirror_attrs_t *a, const mirror_value_t *x, mirror_value_t *y) {
    const dnnl_tp_op_attr_t *axes = mirror_find(a, dnnl_tp_op_attr_axes);
    int gone[DNNL_TP_MAX_NDIMS] = {0};
    int64_t over = 1;
    for (int i = 0; i < (axes ? axes->count : x->info.ndims); ++i) {
        int64_t d = axes ? ((const int64_t *)axes->data)[i] : i;
        gone[d < 0 ? d + x->info.ndims : d] = 1;
    }
    for (int64_t i = 0; i < y->n; ++i)
        y->x[i] = a->kind == dnnl_tp_op_reduce_max   ? -INFINITY
                  : a->kind == dnnl_tp_op_reduce_min ? INFINITY
                                                     : a->kind == dnnl_tp_op_reduce_prod;
    for (int d = 0; d < x->info.ndims; ++d)
        if (gone[d]) over *= x->info.dims[d];
    for (int64_t i = 0; i < x->n; ++i) {
        int64_t rest = i, at = 0, step = 1;
        for (int d = x->info.ndims - 1; d >= 0; --d) {
            if (!gone[d]) at += rest % x->info.dims[d] * step, step *= x->info.dims[d];
            rest /= x->info.dims[d];
        }
        double v = x->x[i], *o = &y->x[at];
        switch (a->kind) {
        case dnnl_tp_op_reduce_max: *o = fmax(*o, v); break;
        case dnnl_tp_op_reduce_min: *o = fmin(*o, v); break;
        case dnnl_tp_op_reduce_prod: *o *= v; break;
        case dnnl_tp_op_reduce_l1: *o += fabs(v); break;
        case dnnl_tp_op_reduce_l2: *o += v * v; break;
        default: *o += v;
        }
    }
    for (int64_t i = 0; i < y->n; ++i) {
        if (a->kind == dnnl_tp_op_reduce_mean) y->x[i] /= (double)over;
        if (a->kind == dnnl_tp_op_reduce_l2) y->x[i] = sqrt(y->x[i]);
    }
}

/* One sequence of rows [first, end); mask may be NULL. */
static void attend(const mirror_attrs_t *a, const mirror_value_t *const *v, int64_t first, int64_t end,
                   const double *mask, double *y) {
    int64_t heads = attr_i(a, dnnl_tp_op_attr_heads, 1), width = v[0]->info.dims[v[0]->info.ndims - 1],
            d = width / heads;
    double scale = attr_f(a, dnnl_tp_op_attr_scale, (double)(1.f / sqrtf((float)d))),
           *p = malloc(sizeof *p * (size_t)(end - first + 1));
    for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = first; i < end; ++i) {
            for (int64_t j = first; j < end; ++j) {
                double s = 0;
                for (int64_t c = 0; c < d; ++c)
                    s += v[0]->x[i * width + h * d + c] * v[1]->x[j * width + h * d + c];
                p[j - first] = s * scale + (mask ? mask[j - first] : 0);
            }
            softmax_row(p, end - first, 1, 0);
            for (int64_t c = 0; c < d; ++c) {
                double s = 0;
                for (int64_t j = first; j < end; ++j) s += p[j - first] * v[2]->x[j * width + h * d + c];
                y[i * width + h * d + c] = s;
            }
        }
    free(p);
}

static void sequences(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
    int is_pool = a->kind == dnnl_tp_op_pool_normalize;
    const info_t *t = &v[0]->info;
    const mirror_value_t *mask = nin > (is_pool ? 1 : 3) ? v[is_pool ? 1 : 3] : NULL;
    const mirror_value_t *offsets = nin > (is_pool ? 2 : 4) ? v[is_pool ? 2 : 4] : NULL;
    int64_t n = t->ndims == 3 ? t->dims[0] : offsets ? offsets->n - 1 : 1, width = t->dims[t->ndims - 1];
    int64_t length = t->dims[t->ndims - 2];
    for (int64_t s = 0; s < n; ++s) {
        int64_t first = offsets ? (int64_t)offsets->x[s] : s * length,
                end = offsets ? (int64_t)offsets->x[s + 1] : first + length;
        const double *row = mask ? mask->x + s * length : NULL;
        if (!is_pool) {
            attend(a, v, first, end, row, y->x);
            continue;
        }
        double total = 0, norm = 0, *o = y->x + s * width;
        for (int64_t i = first; i < end; ++i) {
            double w = row ? row[i - first] : 1;
            total += w;
            for (int64_t c = 0; c < width; ++c) o[c] += w * v[0]->x[i * width + c];
        }
        for (int64_t c = 0; c < width; ++c) o[c] = total != 0 ? o[c] / total : 0, norm += o[c] * o[c];
        norm = fmax(sqrt(norm), attr_f(a, dnnl_tp_op_attr_epsilon, 1e-12));
        for (int64_t c = 0; c < width; ++c) o[c] /= norm;
    }
}

static void normalise(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
    const info_t *t = &v[0]->info;
    int64_t begin = attr_i(a, dnnl_tp_op_attr_begin_norm_axis, -1), n = 1;
    int rms = a->kind == dnnl_tp_op_rms_norm;
    for (int64_t d = begin < 0 ? begin + t->ndims : begin; d < t->ndims; ++d) n *= t->dims[d];
    for (int64_t r = 0; r < y->n / n; ++r) {
        const double *x = v[0]->x + r * n;
        double mean = 0, var = 0;
        for (int64_t i = 0; i < n; ++i) mean += rms ? 0 : x[i] / (double)n;
        for (int64_t i = 0; i < n; ++i) var += (x[i] - mean) * (x[i] - mean) / (double)n;
        for (int64_t i = 0; i < n; ++i)
            y->x[r * n + i] = (x[i] - mean) / sqrt(var + attr_f(a, dnnl_tp_op_attr_epsilon, 1e-5)) *
                                  (nin > 1 ? v[1]->x[i] : 1) +
                              (nin > 2 ? v[2]->x[i] : 0);
    }
}

void mirror_evaluate(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
    const info_t *t = &v[0]->info, *o = &y->info;
    if (mirror_spatial(a, nin, v, y)) return;
    switch (a->kind) {
    case dnnl_tp_op_static_reshape: memcpy(y->x, v[0]->x, sizeof *y->x * (size_t)y->n); return;
    case dnnl_tp_op_matmul: matmul(a, v[0], v[1], nin > 2 ? v[2] : NULL, y); return;
    case dnnl_tp_op_attention:
    case dnnl_tp_op_pool_normalize: sequences(a, nin, v, y); return;
    case dnnl_tp_op_layer_norm:
    case dnnl_tp_op_rms_norm: normalise(a, nin, v, y); return;
    case dnnl_tp_op_gather: {
        int64_t w = t->dims[1];
        for (int64_t i = 0; i < y->n; ++i) y->x[i] = v[0]->x[(int64_t)v[1]->x[i / w] * w + i % w];
        return;
    }
    case dnnl_tp_op_softmax:
    case dnnl_tp_op_log_softmax: {
        int64_t axis = attr_i(a, dnnl_tp_op_attr_axis, -1), step = 1;
        if (axis < 0) axis += t->ndims;
        for (int64_t d = axis + 1; d < t->ndims; ++d) step *= t->dims[d];
        memcpy(y->x, v[0]->x, sizeof *y->x * (size_t)y->n);
        for (int64_t i = 0; i < y->n; ++i)
            if (i / step % t->dims[axis] == 0)
                softmax_row(y->x + i, t->dims[axis], step, a->kind == dnnl_tp_op_log_softmax);
        return;
    }
    case dnnl_tp_op_static_transpose: {
        const int64_t *order = mirror_find(a, dnnl_tp_op_attr_order)->data;
        for (int64_t i = 0; i < y->n; ++i) {
            int64_t rest = i, at = 0;
            for (int d = o->ndims - 1; d >= 0; --d) {
                int64_t from = order[d] < 0 ? order[d] + o->ndims : order[d], step = 1;
                for (int64_t k = from + 1; k < t->ndims; ++k) step *= t->dims[k];
                at += rest % o->dims[d] * step;
                rest /= o->dims[d];
            }
            y->x[i] = v[0]->x[at];
        }
        return;
    }
    case dnnl_tp_op_concat: {
        int64_t axis = attr_i(a, dnnl_tp_op_attr_axis, 0), inner = 1, at = 0;
        if (axis < 0) axis += o->ndims;
        for (int64_t d = axis + 1; d < o->ndims; ++d) inner *= o->dims[d];
        for (int i = 0; i < nin; ++i) {
            int64_t run = v[i]->info.dims[axis] * inner;
            for (int64_t r = 0; run && r < v[i]->n / run; ++r)
                memcpy(y->x + r * o->dims[axis] * inner + at, v[i]->x + r * run, sizeof *y->x * (size_t)run);
            at += run;
        }
        return;
    }
    case dnnl_tp_op_split: {
        int64_t axis = attr_i(a, dnnl_tp_op_attr_axis, 0), inner = 1;
        if (axis < 0) axis += t->ndims;
        for (int64_t d = axis + 1; d < t->ndims; ++d) inner *= t->dims[d];
        const int64_t run = o->dims[axis] * inner, whole = t->dims[axis] * inner,
                      outer = whole ? v[0]->n / whole : 0;
        for (int64_t r = 0; r < outer; ++r)
            memcpy(y->x + r * run, v[0]->x + r * whole + a->before / outer, sizeof *y->x * (size_t)run);
        return;
    }
    default: break;
    }
    if (a->kind >= dnnl_tp_op_reduce_l1 && a->kind <= dnnl_tp_op_reduce_sum) reduce(a, v[0], y);
    else if (nin == 1)
        for (int64_t i = 0; i < y->n; ++i) y->x[i] = unary(a, v[0]->x[i]);
    else
        for (int64_t i = 0; i < y->n; ++i)
            y->x[i] =
                binary(a->kind, v[0]->x[broadcast_at(o, t, i)], v[1]->x[broadcast_at(o, &v[1]->info, i)]);
}
