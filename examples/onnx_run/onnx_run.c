/* Runs an ONNX model: inputs from .npy files or generated, outputs as statistics and .npy files. doc/onnx.md. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npy.h"
#include "onnx/dnnl_tp_onnx.h"

static const char usage[] =
    "usage: onnx_run MODEL [options]\n"
    "  --input NAME=FILE.npy    an input; others are generated\n"
    "  --fix NAME=FILE.npy      an input whose value becomes part of the graph; shapes may come from it\n"
    "  --dim NAME=SIZE          a symbolic dimension\n"
    "  --batch SIZE             the first dimension of every input\n"
    "  --seed NUMBER            of generated inputs (1): numbers in -1..1, integers 0 and 1\n"
    "  --threads N              a pool of N threads (1: the calling thread)\n"
    "  --repeat N               runs, for the times (1)\n"
    "  --output NAME=FILE.npy   writes an output\n"
    "  --compare NAME=FILE.npy  prints how far an output is from a file\n";

enum { MAX = 64, TEXT = 256 };
typedef struct {
    const char *name, *path;
} named_t;
typedef struct {
    const char *model;
    named_t inputs[MAX], fixed[MAX], outputs[MAX], compared[MAX];
    dnnl_tp_onnx_dim_t dims[MAX];
    int ninputs, nfixed, noutputs, ncompared, ndims, threads, repeat;
    int64_t batch, seed;
} options_t;

static int fail(const char *what) {
    fprintf(stderr, "onnx_run: %s: %s\n", what, dnnl_tp_last_error());
    return 1;
}

static int number(const char *text, int64_t least, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !*end && !errno && *value >= least;
}

/* NAME=VALUE, cut in two. */
static int named(char *text, named_t *list, int *n) {
    char *equals = strchr(text, '=');
    if (!equals || *n == MAX) return 0;
    *equals = 0;
    list[(*n)++] = (named_t){text, equals + 1};
    return 1;
}

static int read_options(int argc, char **argv, options_t *o) {
    for (int i = 1; i < argc; ++i) {
        const char *key = argv[i];
        if (key[0] != '-') {
            if (o->model) return 0;
            o->model = key;
            continue;
        }
        if (++i == argc) return 0;
        char *value = argv[i];
        int64_t v;
        int ok = 0;
        named_t dim[1];
        int n = 0;
        if (!strcmp(key, "--input")) ok = named(value, o->inputs, &o->ninputs);
        else if (!strcmp(key, "--fix")) ok = named(value, o->fixed, &o->nfixed);
        else if (!strcmp(key, "--output")) ok = named(value, o->outputs, &o->noutputs);
        else if (!strcmp(key, "--compare")) ok = named(value, o->compared, &o->ncompared);
        else if (!strcmp(key, "--batch")) ok = number(value, 1, &o->batch);
        else if (!strcmp(key, "--seed")) ok = number(value, 0, &o->seed);
        else if (!strcmp(key, "--threads") && (ok = number(value, 1, &v) && v <= INT16_MAX))
            o->threads = (int)v;
        else if (!strcmp(key, "--repeat") && (ok = number(value, 1, &v) && v <= INT32_MAX))
            o->repeat = (int)v;
        else if (!strcmp(key, "--dim") &&
                 (ok = o->ndims < MAX && named(value, dim, &n) && number(dim->path, 0, &v)))
            o->dims[o->ndims++] = (dnnl_tp_onnx_dim_t){dim->name, v};
        if (!ok) return 0;
    }
    return o->model != NULL;
}

static const char *find(const named_t *list, int n, const char *name) {
    for (int i = 0; i < n; ++i)
        if (!strcmp(list[i].name, name)) return list[i].path;
    return NULL;
}

static const char *shape_text(const dnnl_tp_tensor_info_t *t, char *text) {
    int n = snprintf(text, TEXT, "%s[", dnnl_tp_dt2str(t->data_type));
    for (int d = 0; d < t->ndims && n < TEXT - 32; ++d)
        n += t->dims[d] == DNNL_TP_RUNTIME_DIM_VAL
                 ? snprintf(text + n, TEXT - (size_t)n, "%s?", d ? ", " : "")
                 : snprintf(text + n, TEXT - (size_t)n, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
    (void)snprintf(text + n, TEXT - (size_t)n, "]");
    return text;
}

/* xorshift64*: the same numbers on every machine. */
static void *generate(const dnnl_tp_tensor_info_t *t, uint64_t *state) {
    const size_t n = count_of(t), size = dnnl_tp_data_type_size(t->data_type);
    char *data = calloc(n + 1, size);
    for (size_t i = 0; data && i < n; ++i) {
        *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
        const uint32_t bits = (uint32_t)(*state * UINT64_C(0x2545f4914f6cdd1d) >> 40);
        if (t->data_type == dnnl_tp_f32) ((float *)(void *)data)[i] = (float)bits * 0x1p-23f - 1.f;
        else if (t->data_type == dnnl_tp_f64) ((double *)(void *)data)[i] = (double)bits * 0x1p-23 - 1.;
        else data[i * size] = (char)(bits & 1);
    }
    return data;
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int report(const options_t *o, const char *name, const dnnl_tp_tensor_info_t *t, const void *data) {
    char text[TEXT];
    const size_t n = count_of(t);
    double least = INFINITY, most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; ++i) {
        const double v = element(data, t->data_type, i);
        least = v < least ? v : least;
        most = v > most ? v : most;
        sum += v;
    }
    printf("output '%s': %s, least %g, mean %g, most %g\n", name, shape_text(t, text), least,
           n ? sum / (double)n : 0., most);
    const char *path = find(o->outputs, o->noutputs, name);
    if (path && npy_write(path, t, data)) {
        fprintf(stderr, "onnx_run: cannot write %s\n", path);
        return 1;
    }
    path = find(o->compared, o->ncompared, name);
    if (!path) return 0;
    const char *why;
    dnnl_tp_tensor_info_t other;
    void *want = npy_read(path, &other, &why);
    if (!want || count_of(&other) != n) {
        fprintf(stderr, "onnx_run: %s: %s\n", path, want ? "it has another number of elements" : why);
        free(want);
        return 1;
    }
    double worst = 0;
    for (size_t i = 0; i < n; ++i) {
        const double d = fabs(element(data, t->data_type, i) - element(want, other.data_type, i));
        if (!(d <= worst)) worst = d;
    }
    printf("output '%s': largest difference to %s: %g\n", name, path, worst);
    free(want);
    return 0;
}

typedef struct {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_graph_t graph;
    dnnl_tp_engine_t engine;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t exe;
    dnnl_tp_onnx_value_t values[MAX];
    dnnl_tp_value_t *inputs, outputs[MAX]; /* inputs: of the model, many of which may be weights */
    void *in[MAX], *out[MAX];
    int nin, nout, nvalues;
} run_t;

/* The inputs of the graph, with their shapes. */
static int inputs(run_t *r, const options_t *o, int n, dnnl_tp_tensor_info_t *shapes) {
    uint64_t state = (uint64_t)o->seed * 2 + 1;
    char text[TEXT], want[TEXT];
    for (int i = 0; i < n; ++i) {
        dnnl_tp_onnx_port_t port;
        if (r->inputs[i] < 0) continue;
        if (r->nin == MAX) {
            fprintf(stderr, "onnx_run: the model has more than %d inputs\n", MAX);
            return 1;
        }
        dnnl_tp_tensor_info_t *t = &shapes[r->nin];
        if (dnnl_tp_onnx_input(r->model, i, &port) || dnnl_tp_graph_value_info(r->graph, r->inputs[i], t))
            return fail("input");
        const char *path = find(o->inputs, o->ninputs, port.name),
                   *why = "its size is not known; give its size: --dim, --batch";
        if (path) {
            dnnl_tp_tensor_info_t got;
            r->in[r->nin] = npy_read(path, &got, &why);
            if (r->in[r->nin]) {
                int fits = got.ndims == t->ndims && got.data_type == t->data_type;
                for (int d = 0; fits && d < t->ndims; ++d)
                    fits = t->dims[d] == got.dims[d] || t->dims[d] == DNNL_TP_RUNTIME_DIM_VAL;
                if (!fits) {
                    fprintf(stderr, "onnx_run: %s: input '%s' is %s here, the model has %s\n", path,
                            port.name, shape_text(&got, text), shape_text(t, want));
                    ++r->nin;
                    return 1;
                }
                *t = got;
            }
        } else {
            int known = 1;
            for (int d = 0; d < t->ndims; ++d) known &= t->dims[d] != DNNL_TP_RUNTIME_DIM_VAL;
            if (known) {
                why = "there is not enough memory";
                r->in[r->nin] = generate(t, &state);
            }
        }
        if (!r->in[r->nin]) {
            fprintf(stderr, "onnx_run: input '%s': %s\n", port.name, why);
            return 1;
        }
        printf("input '%s': %s%s\n", port.name, shape_text(t, text), path ? "" : ", generated");
        ++r->nin;
    }
    return 0;
}

static int world(run_t *r, const options_t *o) {
    if (dnnl_tp_engine_create(&r->engine, dnnl_tp_cpu, 0) ||
        dnnl_tp_stream_attr_create(&r->attr, dnnl_tp_cpu))
        return fail("engine");
    if (o->threads > 1) {
        const dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = o->threads};
        if (dnnl_tp_threadpool_create(&r->pool, &opts) ||
            dnnl_tp_stream_attr_set_builtin_threadpool(r->attr, r->pool))
            return fail("pool");
    }
    if (dnnl_tp_stream_create_v2(&r->stream, r->engine, dnnl_tp_stream_default_flags, r->attr))
        return fail("stream");
    return 0;
}

static int import(run_t *r, const options_t *o, dnnl_tp_onnx_model_info_t *info) {
    for (int i = 0; i < o->nfixed; ++i) {
        const char *why;
        dnnl_tp_onnx_value_t *v = &r->values[i];
        v->name = o->fixed[i].name;
        v->data = npy_read(o->fixed[i].path, &v->info, &why);
        if (!v->data) {
            fprintf(stderr, "onnx_run: %s: %s\n", o->fixed[i].path, why);
            return 1;
        }
        ++r->nvalues;
    }
    if (dnnl_tp_onnx_open(&r->model, o->model, NULL) || dnnl_tp_onnx_query(r->model, info))
        return fail(o->model);
    if (info->outputs > MAX) {
        fprintf(stderr, "onnx_run: the model has more than %d outputs\n", MAX);
        return 1;
    }
    r->inputs = calloc((size_t)info->inputs + 1, sizeof *r->inputs);
    if (!r->inputs) return fail("memory");
    const dnnl_tp_onnx_graph_opts_t opts = {.struct_size = sizeof opts,
                                            .ndims = o->ndims,
                                            .dims = o->dims,
                                            .batch = o->batch,
                                            .nvalues = r->nvalues,
                                            .values = r->values,
                                            .inputs = r->inputs,
                                            .outputs = r->outputs};
    if (dnnl_tp_onnx_graph_create(&r->graph, r->model, &opts)) return fail(o->model);
    return 0;
}

static int run(run_t *r, const options_t *o) {
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    dnnl_tp_tensor_info_t shapes[MAX], t;
    const double begin = now();
    if (import(r, o, &info)) return 1;
    const double imported = now();
    if (inputs(r, o, info.inputs, shapes) || world(r, o)) return 1;
    const double compiling = now();
    const dnnl_tp_compile_opts_t compile = {.struct_size = sizeof compile, .stream_attr = r->attr};
    if (dnnl_tp_executable_compile(&r->exe, r->graph, r->engine, r->nin, shapes, &compile))
        return fail(o->model);
    printf("%d nodes, IR %lld, operators of version %lld; import %.2f ms, compilation %.2f ms\n", info.nodes,
           (long long)info.ir_version, (long long)info.opset, imported - begin, now() - compiling);
    for (int i = 0; i < info.outputs; ++i) {
        if (dnnl_tp_executable_query(r->exe, r->outputs[i], &t)) return fail("output");
        r->out[i] = malloc(count_of(&t) * dnnl_tp_data_type_size(t.data_type) + 1);
        ++r->nout;
        if (!r->out[i]) return fail("memory");
    }
    double *ms = malloc(sizeof *ms * (size_t)o->repeat);
    int status = ms == NULL;
    for (int i = 0; i < o->repeat && !status; ++i) {
        const double start = now();
        if (dnnl_tp_executable_run(r->exe, r->stream, r->nin, r->in, r->nout, r->out, NULL))
            status = fail("run");
        ms[i] = now() - start;
    }
    if (!status) {
        qsort(ms, (size_t)o->repeat, sizeof *ms, by_value);
        printf("%d runs on %d threads: least %.4f ms, median %.4f ms\n", o->repeat, o->threads, ms[0],
               ms[o->repeat / 2]);
    }
    free(ms);
    for (int i = 0; i < r->nout && !status; ++i) {
        dnnl_tp_onnx_port_t port;
        status = dnnl_tp_onnx_output(r->model, i, &port) ||
                 dnnl_tp_executable_query(r->exe, r->outputs[i], &t) || report(o, port.name, &t, r->out[i]);
    }
    return status;
}

int main(int argc, char **argv) {
    static options_t o = {.threads = 1, .repeat = 1, .seed = 1};
    static run_t r;
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    const int status = run(&r, &o);
    free(r.inputs);
    for (int i = 0; i < r.nin; ++i) free(r.in[i]);
    for (int i = 0; i < r.nout; ++i) free(r.out[i]);
    for (int i = 0; i < r.nvalues; ++i) free((void *)(uintptr_t)r.values[i].data);
    dnnl_tp_executable_destroy(r.exe);
    dnnl_tp_graph_destroy(r.graph);
    dnnl_tp_stream_destroy(r.stream);
    dnnl_tp_stream_attr_destroy(r.attr);
    dnnl_tp_threadpool_destroy(r.pool);
    dnnl_tp_engine_destroy(r.engine);
    dnnl_tp_onnx_close(r.model);
    return status;
}
