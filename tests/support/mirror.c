/* Double-precision mirror of graphs, see mirror.h. */
#include "support/mirror.h"
#include "support/mirror_spatial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/half.h"
#include "support/upload.h"

#define MUST(expr)                                                                               \
    do {                                                                                         \
        if ((expr) != dnnl_tp_success) {                                                         \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, dnnl_tp_last_error()); \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

typedef dnnl_tp_tensor_info_t info_t;

void mirror_init(mirror_t *m, uint64_t seed) {
    memset(m, 0, sizeof *m);
    m->seed = seed * 0x9e3779b97f4a7c15u + 1;
    m->bf16 = getenv("DNNL_TP_TEST_BF16") != NULL;
    MUST(dnnl_tp_graph_create(&m->graph, dnnl_tp_cpu));
    MUST(dnnl_tp_engine_create(&m->engine, test_engine_kind(), 0));
}

void mirror_free(mirror_t *m) {
    dnnl_tp_graph_destroy(m->graph);
    dnnl_tp_engine_destroy(m->engine);
    for (int i = 0; i < MIRROR_VALUES; ++i) {
        free(m->value[i].x);
        free(m->value[i].data);
    }
}

double mirror_random(mirror_t *m) {
    m->seed ^= m->seed << 13;
    m->seed ^= m->seed >> 7;
    m->seed ^= m->seed << 17;
    return (double)(m->seed >> 11) / 4503599627370496. - 1.;
}

static int64_t count(const info_t *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndims; ++d) n *= t->dims[d];
    return n;
}

static mirror_value_t *enter(mirror_t *m, int v, const info_t *t) {
    mirror_value_t *x = &m->value[v];
    if (v < 0 || v >= MIRROR_VALUES) abort();
    x->info = *t;
    x->n = count(t);
    x->x = calloc((size_t)x->n + 1, sizeof *x->x);
    return x;
}

static info_t shape(dnnl_tp_data_type_t dt, int ndims, const int64_t *dims) {
    info_t t = {.ndims = ndims, .data_type = dt};
    for (int d = 0; d < ndims; ++d) t.dims[d] = dims[d];
    return t;
}

static int new_input(mirror_t *m, const info_t *t) {
    dnnl_tp_value_t v;
    dnnl_tp_dims_t dims;
    for (int d = 0; d < t->ndims; ++d)
        dims[d] = m->runtime_dims && d < 1 ? DNNL_TP_RUNTIME_DIM_VAL : t->dims[d];
    MUST(dnnl_tp_graph_input(m->graph, &v, "in", t->data_type, t->ndims, dims));
    m->in[m->nin++] = v;
    return v;
}

static void fill(mirror_t *m, mirror_value_t *x, double scale) {
    float *f = malloc(sizeof *f * (size_t)(x->n + 1));
    for (int64_t i = 0; i < x->n; ++i) {
        f[i] = (float)(mirror_random(m) * scale);
        x->x[i] = (double)f[i];
    }
    x->data = f;
}

static int new_constant(mirror_t *m, const info_t *t, const float *f) {
    dnnl_tp_value_t v;
    MUST(dnnl_tp_graph_constant(m->graph, &v, "const", t->data_type, t->ndims, t->dims, f,
                                DNNL_TP_CONSTANT_COPY, NULL, NULL));
    return v;
}

/* x times the identity: exact, once x is rounded. */
static int behind_product(mirror_t *m, int x, int64_t n) {
    const int64_t dims[2] = {n, n};
    mirror_value_t *v = &m->value[x];
    for (int64_t i = 0; i < v->n; ++i) {
        float *f = (float *)v->data + i;
        *f = dtp_bf16_to_f32(dtp_f32_to_bf16(*f));
        v->x[i] = (double)*f;
    }
    float *f = calloc((size_t)(n * n), sizeof *f);
    for (int64_t i = 0; i < n; ++i) f[i * n + i] = 1.f;
    const info_t t = shape(dnnl_tp_f32, 2, dims);
    const int in[2] = {x, new_constant(m, &t, f)};
    v = enter(m, in[1], &t);
    for (int64_t i = 0; i < v->n; ++i) v->x[i] = (double)f[i];
    v->data = f;
    return mirror_op(m, dnnl_tp_op_matmul, "bf16", 2, in, 0, NULL);
}

int mirror_input(mirror_t *m, int ndims, const int64_t *dims) {
    enum { WIDEST = 64 };
    info_t t = shape(dnnl_tp_f32, ndims, dims);
    int v = new_input(m, &t);
    fill(m, enter(m, v, &t), 1.);
    const int64_t n = ndims > 1 ? dims[ndims - 1] : 0;
    return m->bf16 && n > 0 && n <= WIDEST ? behind_product(m, v, n) : v;
}

int mirror_ids(mirror_t *m, dnnl_tp_data_type_t dt, int ndims, const int64_t *dims, int64_t limit) {
    info_t t = shape(dt, ndims, dims);
    int v = new_input(m, &t);
    mirror_value_t *x = enter(m, v, &t);
    x->data = malloc(8 * (size_t)(x->n + 1));
    for (int64_t i = 0; i < x->n; ++i) {
        int64_t id = (int64_t)((mirror_random(m) + 1.) / 2. * (double)limit);
        if (id >= limit) id = limit - 1;
        x->x[i] = (double)id;
        if (dt == dnnl_tp_s32) ((int32_t *)x->data)[i] = (int32_t)id;
        else ((int64_t *)x->data)[i] = id;
    }
    return v;
}

int mirror_ints(mirror_t *m, int64_t n, const int32_t *data) {
    info_t t = shape(dnnl_tp_s32, 1, &n);
    int v = new_input(m, &t);
    mirror_value_t *x = enter(m, v, &t);
    x->data = malloc(4 * (size_t)(n + 1));
    memcpy(x->data, data, 4 * (size_t)n);
    for (int64_t i = 0; i < n; ++i) x->x[i] = data[i];
    return v;
}

int mirror_constant(mirror_t *m, int ndims, const int64_t *dims, double scale) {
    info_t t = shape(dnnl_tp_f32, ndims, dims);
    mirror_value_t tmp = {.n = count(&t)};
    tmp.x = calloc((size_t)tmp.n + 1, sizeof *tmp.x);
    fill(m, &tmp, scale);
    int v = new_constant(m, &t, tmp.data);
    tmp.info = t;
    m->value[v] = tmp;
    return v;
}

int mirror_scalar(mirror_t *m, double x) {
    info_t t = shape(dnnl_tp_f32, 0, NULL);
    float f = (float)x;
    int v = new_constant(m, &t, &f);
    enter(m, v, &t)->x[0] = (double)f;
    return v;
}

/* ---- Evaluation in double ---------------------------------------------------------------------------- */

typedef struct {
    int kind;
    const dnnl_tp_op_attr_t *attr;
    int nattr;
    int64_t before; /* elements of the results before this one */
} attrs_t;

static const dnnl_tp_op_attr_t *find(const attrs_t *a, int key) {
    for (int i = 0; i < a->nattr; ++i)
        if (a->attr[i].key == key) return &a->attr[i];
    return NULL;
}
static double attr_f(const attrs_t *a, int key, double otherwise) {
    const dnnl_tp_op_attr_t *x = find(a, key);
    return x ? (double)*(const float *)x->data : otherwise;
}
static int64_t attr_i(const attrs_t *a, int key, int64_t otherwise) {
    const dnnl_tp_op_attr_t *x = find(a, key);
    return x ? *(const int64_t *)x->data : otherwise;
}
static int attr_b(const attrs_t *a, int key, int otherwise) {
    const dnnl_tp_op_attr_t *x = find(a, key);
    return x ? *(const uint8_t *)x->data != 0 : otherwise;
}

static double unary(const attrs_t *a, double s) {
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
        const dnnl_tp_op_attr_t *mode = find(a, dnnl_tp_op_attr_mode);
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

static void matmul(const attrs_t *a, const mirror_value_t *x, const mirror_value_t *w,
                   const mirror_value_t *b, mirror_value_t *y) {
    int ta = attr_b(a, dnnl_tp_op_attr_transpose_a, 0), tb = attr_b(a, dnnl_tp_op_attr_transpose_b, 0);
    info_t xi = x->info, wi = w->info;
    if (xi.ndims == 1) xi = shape(dnnl_tp_f32, 2, (int64_t[]){1, xi.dims[0]}), ta = 0;
    if (wi.ndims == 1) wi = shape(dnnl_tp_f32, 2, (int64_t[]){wi.dims[0], 1}), tb = 0;
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
    for (int64_t o = 0; o < count(&bo); ++o) {
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

static void reduce(const attrs_t *a, const mirror_value_t *x, mirror_value_t *y) {
    const dnnl_tp_op_attr_t *axes = find(a, dnnl_tp_op_attr_axes);
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
static void attend(const attrs_t *a, const mirror_value_t *const *v, int64_t first, int64_t end,
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

static void sequences(const attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
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

static void normalise(const attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
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

static void evaluate(const attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
    const info_t *t = &v[0]->info, *o = &y->info;
    if (mirror_spatial(a->kind, a->nattr, a->attr, nin, v, y)) return;
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
        const int64_t *order = find(a, dnnl_tp_op_attr_order)->data;
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

/* The library infers the shape; a wrong one shows as a wrong count or a wrong position. With unknown input
 * dims the shape comes from a graph of its own with known ones. */
void mirror_op_n(mirror_t *m, dnnl_tp_op_kind_t kind, const char *name, int nin, const int *in, int nattr,
                 const dnnl_tp_op_attr_t *attr, int nout, int *out) {
    dnnl_tp_value_t ids[64], v[64];
    info_t t[64];
    const mirror_value_t *args[64] = {NULL};
    for (int i = 0; i < nin; ++i) {
        ids[i] = in[i];
        args[i] = in[i] < 0 ? NULL : &m->value[in[i]];
    }
    MUST(dnnl_tp_graph_op(m->graph, kind, name, nin, ids, nattr, attr, nout, v));
    for (int i = 0; i < nout; ++i) MUST(dnnl_tp_graph_value_info(m->graph, v[i], &t[i]));
    if (m->runtime_dims) {
        dnnl_tp_graph_t g;
        dnnl_tp_value_t known[64];
        MUST(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        for (int i = 0; i < nin; ++i)
            if (in[i] >= 0)
                MUST(dnnl_tp_graph_input(g, &ids[i], "in", args[i]->info.data_type, args[i]->info.ndims,
                                         args[i]->info.dims));
        MUST(dnnl_tp_graph_op(g, kind, name, nin, ids, nattr, attr, nout, known));
        for (int i = 0; i < nout; ++i) MUST(dnnl_tp_graph_value_info(g, known[i], &t[i]));
        dnnl_tp_graph_destroy(g);
    }
    attrs_t a = {kind, attr, nattr, 0};
    for (int i = 0; i < nout; ++i) {
        mirror_value_t *y = enter(m, v[i], &t[i]);
        evaluate(&a, nin, args, y);
        a.before += y->n;
        out[i] = v[i];
    }
}

int mirror_op(mirror_t *m, dnnl_tp_op_kind_t kind, const char *name, int nin, const int *in, int nattr,
              const dnnl_tp_op_attr_t *attr) {
    int out;
    mirror_op_n(m, kind, name, nin, in, nattr, attr, 1, &out);
    return out;
}

void mirror_output(mirror_t *m, int v) {
    MUST(dnnl_tp_graph_output(m->graph, v, "out"));
    m->out[m->nout++] = v;
}

/* ---- Shorthands -------------------------------------------------------------------------------------- */

dnnl_tp_op_attr_t mirror_s64(int key, int n, const int64_t *v) {
    return (dnnl_tp_op_attr_t){key, dnnl_tp_op_attr_s64, n, v};
}
dnnl_tp_op_attr_t mirror_f32(int key, const float *v) {
    return (dnnl_tp_op_attr_t){key, dnnl_tp_op_attr_f32, 1, v};
}
dnnl_tp_op_attr_t mirror_bool(int key, const uint8_t *v) {
    return (dnnl_tp_op_attr_t){key, dnnl_tp_op_attr_bool, 1, v};
}

int mirror_unary(mirror_t *m, dnnl_tp_op_kind_t kind, int x) {
    return mirror_op(m, kind, "unary", 1, &x, 0, NULL);
}
int mirror_binary(mirror_t *m, dnnl_tp_op_kind_t kind, int x, int y) {
    int in[2] = {x, y};
    return mirror_op(m, kind, "binary", 2, in, 0, NULL);
}

int mirror_linear(mirror_t *m, const char *name, int x, int64_t k, int64_t n, int transposed,
                  int bias_as_op) {
    int64_t wd[2] = {transposed ? n : k, transposed ? k : n};
    uint8_t yes = 1;
    dnnl_tp_op_attr_t t = mirror_bool(dnnl_tp_op_attr_transpose_b, &yes);
    int in[3] = {x, mirror_constant(m, 2, wd, 1. / sqrt((double)k)), mirror_constant(m, 1, &n, .5)};
    int y = mirror_op(m, dnnl_tp_op_matmul, name, bias_as_op ? 2 : 3, in, transposed, &t);
    return bias_as_op ? mirror_binary(m, bias_as_op == 1 ? dnnl_tp_op_add : dnnl_tp_op_bias_add, y, in[2])
                      : y;
}

int mirror_norm(mirror_t *m, const char *name, int x, int64_t n) {
    int in[3] = {x, mirror_constant(m, 1, &n, 1.), mirror_constant(m, 1, &n, 1.)};
    return mirror_op(m, dnnl_tp_op_layer_norm, name, 3, in, 0, NULL);
}

/* ---- Running ----------------------------------------------------------------------------------------- */

int mirror_run(mirror_t *m, dnnl_tp_threadpool_t pool, unsigned flags, float **outputs) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e;
    info_t shapes[MIRROR_IO];
    void *in[MIRROR_IO], *out[MIRROR_IO];
    MUST(dnnl_tp_stream_attr_create(&attr, test_engine_kind()));
    if (test_engine_is_far(m->engine)) {
        /* Pools are for CPUs. */
    } else if (pool) MUST(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    else MUST(dnnl_tp_stream_attr_set_threadpool(attr, NULL));
    MUST(dnnl_tp_stream_create_v2(&stream, m->engine, dnnl_tp_stream_default_flags, attr));
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attr, .flags = flags};
    if (m->bf16) opts.fpmath_mode = dnnl_tp_fpmath_mode_bf16;
    for (int i = 0; i < m->nin; ++i) {
        shapes[i] = m->value[m->in[i]].info;
        in[i] = m->value[m->in[i]].data;
    }
    for (int i = 0; i < m->nout; ++i) out[i] = outputs[i];
    dnnl_tp_status_t status = dnnl_tp_executable_compile(&e, m->graph, m->engine, m->nin, shapes, &opts);
    if (status == dnnl_tp_success) {
        for (int i = 0; i < 2 && status == dnnl_tp_success; ++i)
            status = test_run_graph(e, stream, m->nin, in, m->nout, out, NULL);
        dnnl_tp_executable_destroy(e);
    }
    if (status != dnnl_tp_success) fprintf(stderr, "mirror: %s\n", dnnl_tp_last_error());
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_stream_attr_destroy(attr);
    return status != dnnl_tp_success;
}

/* A few roundings of 2^-8 each, one after another. */
#define BF16_TOLERANCE .04

int mirror_check(mirror_t *m, dnnl_tp_threadpool_t pool, unsigned flags, double tolerance) {
    float *out[MIRROR_IO];
    if (m->bf16) tolerance = fmax(tolerance, BF16_TOLERANCE);
    for (int i = 0; i < m->nout; ++i) {
        const mirror_value_t *v = &m->value[m->out[i]];
        out[i] = malloc(sizeof(float) * (size_t)(v->n + 1));
        for (int64_t k = 0; k < v->n; ++k) out[i][k] = NAN;
    }
    int bad = mirror_run(m, pool, flags, out);
    for (int i = 0; i < m->nout; ++i) {
        const mirror_value_t *v = &m->value[m->out[i]];
        for (int64_t k = 0; k < v->n && !bad; ++k) {
            double got = (double)out[i][k], want = v->x[k];
            if (v->info.data_type == dnnl_tp_f32 && !(fabs(got - want) <= tolerance * (1 + fabs(want))) &&
                !(isnan(got) && isnan(want)) && got != want) {
                fprintf(stderr, "mirror: output %d at %lld is %.9g, reference %.9g\n", i, (long long)k, got,
                        want);
                ++bad;
            }
        }
        free(out[i]);
    }
    return bad;
}
