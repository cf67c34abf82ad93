/* Random numbers. A node becomes a host closure of the graph, which draws with Philox4x32-10 (Salmon,
 * Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): block b of a node's
 * r-th run is a function of the seed, r and b alone. So the numbers depend neither on threads nor on
 * the order of nodes. The model counts the runs of each node. */
#include "onnx/ops/ops.h"

#include <math.h>

enum { WORDS = 4 /* of a block */ };

typedef struct {
    dnnl_tp_onnx_model_t model; /* which holds the counter */
    dtp_onnx_counter_t *counter;
    uint64_t seed;
    bool is_normal;
    double a, b; /* ends of the range; or mean and scale */
} source_t;

/* One run of a closure. */
typedef struct {
    const source_t *source;
    uint64_t run;
    int64_t n, each; /* numbers; of a block */
    bool is_f64;
    void *to;
} draw_t;

static void philox(uint64_t seed, uint64_t run, uint64_t block, uint32_t x[WORDS]) {
    enum { ROUNDS = 10 };
    static const uint64_t multiply[] = {0xD2511F53u, 0xCD9E8D57u};
    static const uint32_t step[] = {0x9E3779B9u, 0xBB67AE85u};
    uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    x[0] = (uint32_t)block;
    x[1] = (uint32_t)(block >> 32);
    x[2] = (uint32_t)run;
    x[3] = (uint32_t)(run >> 32);
    for (int i = 0; i < ROUNDS; ++i) {
        const uint64_t p = multiply[0] * x[0], q = multiply[1] * x[2];
        x[0] = (uint32_t)(q >> 32) ^ x[1] ^ key[0];
        x[1] = (uint32_t)q;
        x[2] = (uint32_t)(p >> 32) ^ x[3] ^ key[1];
        x[3] = (uint32_t)p;
        key[0] += step[0];
        key[1] += step[1];
    }
}

/* Number i of a block, from 0 on and below 1: 24 bits for f32, 53 for f64. */
static double fraction(const uint32_t *x, int64_t i, bool is_f64) {
    if (!is_f64) return (double)(x[i] >> 8) * 0x1p-24;
    return (double)(((uint64_t)x[2 * i] << 32 | x[2 * i + 1]) >> 11) * 0x1p-53;
}

/* Two numbers of the normal distribution (Box and Muller); the first one has 32 bits for f32, so that it is never 0. */
static void normal_pair(const uint32_t *x, bool is_f64, double y[2]) {
    const double pi = 3.14159265358979323846;
    const double u = is_f64 ? fraction(x, 0, true) + 0x1p-54 : ((double)x[0] + .5) * 0x1p-32,
                 angle = 2 * pi * (is_f64 ? fraction(x, 1, true) : (double)x[1] * 0x1p-32);
    const double radius = sqrt(-2 * log(u));
    y[0] = radius * cos(angle);
    y[1] = radius * sin(angle);
}

/* The ends of the range are not rounded to the upper one. */
static double in_range(const source_t *s, double u, bool is_f64) {
    double x = s->a + u * (s->b - s->a);
    if (!is_f64) x = (double)(float)x;
    if (x < s->b || s->b <= s->a) return x;
    return is_f64 ? nextafter(s->b, s->a) : (double)nextafterf((float)s->b, (float)s->a);
}

static void draw_blocks(void *arg, int64_t begin, int64_t end) {
    const draw_t *d = arg;
    const source_t *s = d->source;
    for (int64_t b = begin; b < end; ++b) {
        uint32_t x[WORDS];
        double y[WORDS];
        philox(s->seed, d->run, (uint64_t)b, x);
        for (int64_t i = 0; i < d->each; i += s->is_normal ? 2 : 1) {
            if (!s->is_normal) {
                y[i] = in_range(s, fraction(x, i, d->is_f64), d->is_f64);
                continue;
            }
            normal_pair(x + i, d->is_f64, y + i);
            for (int k = 0; k < 2; ++k) y[i + k] = s->a + s->b * y[i + k];
        }
        for (int64_t i = 0, at = b * d->each; i < d->each && at < d->n; ++i, ++at) {
            if (d->is_f64) ((double *)d->to)[at] = y[i];
            else ((float *)d->to)[at] = (float)y[i];
        }
    }
}

static dnnl_tp_status_t draw(void *arg, const volatile int *should_stop, int nin,
                             const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    const source_t *s = arg;
    const bool is_f64 = out[0].info->data_type == dnnl_tp_f64;
    draw_t d = {.source = s,
                .run = atomic_fetch_add_explicit(&s->counter->runs, 1, memory_order_relaxed),
                .n = dtp_onnx_elems(out[0].info),
                .each = is_f64 ? WORDS / 2 : WORDS,
                .is_f64 = is_f64,
                .to = out[0].data};
    (void)nin, (void)in, (void)nout;
    enum { UNIFORM_NS = 15, NORMAL_NS = 90 }; /* of a block */
    return dnnl_tp_host_parallel_for(should_stop, (d.n + d.each - 1) / d.each,
                                     s->is_normal ? NORMAL_NS : UNIFORM_NS, draw_blocks, &d);
}

static void drop_source(void *arg) {
    source_t *s = arg;
    dtp_onnx_model_unref(s->model);
    dtp_onnx_allocator.free(NULL, s);
}

static uint64_t mixed(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static bool is_main(const cv_t *cv) { return !cv->scope->parent && !cv->scope->call; }

/* What tells this conversion of the node from all others of the model: its name, and in bodies and functions, whose names return,
 * its place. */
static uint64_t place_of(const cv_t *cv) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const char *c = dtp_cv_result(cv); *c; ++c) hash = (hash ^ (uint8_t)*c) * 0x100000001B3u;
    return is_main(cv) ? hash : mixed(hash ^ (uint64_t)cv->im->nodes_left);
}

/* A tensor of random numbers of f32 or f64. Nodes of the main graph with equal seeds draw equal numbers; seed NULL: none. */
static val_t *drawn(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims, const uint64_t *seed,
                    bool is_normal, double a, double b) {
    dnnl_tp_tensor_info_t info = {.ndims = ndims, .data_type = type};
    const uint64_t place = place_of(cv);
    if (!cv->status && type != dnnl_tp_f32 && type != dnnl_tp_f64)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it draws numbers of type %s", dnnl_tp_dt2str(type));
    for (int d = 0; d < ndims && !cv->status; ++d) {
        info.dims[d] = dims[d];
        if (dims[d] < 0)
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "it has a dimension of %lld", (long long)dims[d]);
    }
    if (!cv->status && dtp_onnx_elems(&info) < 0)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its result is too large");
    if (cv->status) return NULL;
    source_t *s = dtp_onnx_allocator.alloc(NULL, sizeof *s);
    dtp_onnx_counter_t *counter = dtp_onnx_counter(cv->im->model, place);
    if (!s || !counter) {
        if (s) dtp_onnx_allocator.free(NULL, s);
        dtp_cv_fail(cv, dnnl_tp_out_of_memory, "out of memory");
        return NULL;
    }
    *s = (source_t){.model = cv->im->model,
                    .counter = counter,
                    .seed = !seed         ? mixed(place ^ mixed(cv->im->model->seed))
                            : is_main(cv) ? *seed
                                          : *seed ^ mixed(place),
                    .is_normal = is_normal,
                    .a = a,
                    .b = b};
    dtp_onnx_model_ref(s->model);
    dnnl_tp_value_t v;
    char name[DTP_ONNX_NAME];
    dtp_cv_pass_on(cv, dnnl_tp_graph_host(cv->im->graph, draw, s, drop_source, 0,
                                          dtp_onnx_plain(dtp_cv_result(cv), name), 0, NULL, 1, &info, &v));
    return cv->status ? NULL : dtp_cv_made(cv, v);
}

val_t *dtp_cv_uniform(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims,
                      const uint64_t *seed) {
    return drawn(cv, type, ndims, dims, seed, false, 0, 1);
}

/* The bits of the attribute; NULL: there is none. */
static const uint64_t *seed_of(cv_t *cv, uint64_t *room) {
    const bool is_there = dtp_cv_has(cv, "seed");
    const float seed = dtp_cv_float(cv, "seed", 0.f);
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    *room = bits;
    return is_there ? room : NULL;
}

/* The kind of the row: whether the distribution is normal. */
static void of_attributes(cv_t *cv, dnnl_tp_data_type_t type, int ndims, const int64_t *dims) {
    const bool is_normal = cv->row->kind;
    const float a = is_normal ? dtp_cv_float(cv, "mean", 0.f) : dtp_cv_float(cv, "low", 0.f),
                b = is_normal ? dtp_cv_float(cv, "scale", 1.f) : dtp_cv_float(cv, "high", 1.f);
    uint64_t room;
    const uint64_t *seed = seed_of(cv, &room);
    if (!cv->status) dtp_cv_set(cv, 0, drawn(cv, type, ndims, dims, seed, is_normal, (double)a, (double)b));
}

void dtp_onnx_random(cv_t *cv) {
    int64_t n;
    const int64_t *dims = dtp_cv_attr_ints(cv, "shape", &n);
    const dnnl_tp_data_type_t type = dtp_cv_type(cv, "dtype", DTP_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    if (!cv->status && (n < 0 || n > DNNL_TP_MAX_NDIMS))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'shape' has %lld elements", (long long)n);
    if (!cv->status) of_attributes(cv, type, (int)n, dims);
}

/* The type of the attribute, or that of x. */
static dnnl_tp_data_type_t type_like(cv_t *cv, const val_t *x) {
    return dtp_cv_has(cv, "dtype") ? dtp_cv_type(cv, "dtype", 0) : x->info.data_type;
}
static bool has_sizes(cv_t *cv, const val_t *x) {
    for (int d = 0; d < x->info.ndims; ++d) (void)dtp_cv_dim(cv, x, d);
    return !cv->status;
}

void dtp_onnx_random_like(cv_t *cv) {
    const val_t *x = cv->in[0];
    const dnnl_tp_data_type_t type = type_like(cv, x);
    if (has_sizes(cv, x)) of_attributes(cv, type, x->info.ndims, x->info.dims);
}

void dtp_onnx_bernoulli(cv_t *cv) {
    val_t *x = cv->in[0];
    const dnnl_tp_data_type_t type = type_like(cv, x);
    uint64_t room;
    const uint64_t *seed = seed_of(cv, &room);
    if (!has_sizes(cv, x)) return;
    val_t *u = dtp_cv_uniform(cv, x->info.data_type, x->info.ndims, x->info.dims, seed);
    u = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_less, u, x);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_typed(dtp_cv_last(cv), u, type));
}

/* How many sums of the first probabilities are at most a random part of the sum of all. */
void dtp_onnx_multinomial(cv_t *cv) {
    val_t *x = cv->in[0];
    const int64_t samples = dtp_cv_int(cv, "sample_size", 1), axis = 1;
    const dnnl_tp_data_type_t type = dtp_cv_type(cv, "dtype", DTP_ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
    uint64_t room;
    const uint64_t *seed = seed_of(cv, &room);
    if (x->info.ndims != 2)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input has %d dimensions, needed are 2", x->info.ndims);
    if (cv->status || !has_sizes(cv, x)) return;
    const int64_t rows = x->info.dims[0], classes = x->info.dims[1], dims[] = {rows, samples, 1};
    const int64_t before[] = {rows, 1, classes}, after[] = {rows, samples}, last = 2;
    if (classes < 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "it has no classes");
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    val_t *u = dtp_cv_uniform(cv, dnnl_tp_f64, 3, dims, seed), *p = dtp_cv_typed(cv, x, dnnl_tp_f64);
    p = cv->status ? NULL : dtp_cv_op(cv, dnnl_tp_op_softmax, 1, &p, 1, &attr);
    p = cv->status ? NULL : dtp_cv_op(cv, dnnl_tp_op_cumsum, 1, &p, 1, &attr);
    p = cv->status ? NULL : dtp_cv_reshape(cv, p, 3, before);
    val_t *all = cv->status ? NULL : dtp_cv_part(cv, p, (int)last, classes - 1, 1);
    /* A little less, so that no rounding reaches the sum of all. */
    u = dtp_cv_binary(cv, dnnl_tp_op_multiply, u, dtp_cv_scalar(cv, dnnl_tp_f64, 1 - 0x1p-40));
    u = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_multiply, u, all);
    u = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_less_equal, p, u);
    u = cv->status ? NULL : dtp_cv_typed(cv, u, dnnl_tp_s64);
    u = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, u, 1, &last, false);
    u = cv->status ? NULL : dtp_cv_reshape(cv, u, 2, after);
    dtp_cv_set(cv, 0, cv->status ? NULL : dtp_cv_typed(dtp_cv_last(cv), u, type));
}
