/* Double-precision mirror of graphs, see mirror.h. What operators compute: mirror_evaluate.c. */
#include "support/mirror.h"
#include "support/mirror_evaluate.h"

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

static mirror_value_t *enter(mirror_t *m, int v, const info_t *t) {
    mirror_value_t *x = &m->value[v];
    if (v < 0 || v >= MIRROR_VALUES) abort();
    x->info = *t;
    x->n = mirror_count(t);
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
    mirror_value_t tmp = {.n = mirror_count(&t)};
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

/* ---- Operators --------------------------------------------------------------------------------------- */

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
    mirror_attrs_t a = {kind, nattr, attr, 0};
    for (int i = 0; i < nout; ++i) {
        mirror_value_t *y = enter(m, v[i], &t[i]);
        mirror_evaluate(&a, nin, args, y);
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
