/* Does one thing N times, so that a tool which counts instructions can tell what one of them takes: the difference of two
 * runs with other N, by what N differ (benchdnn/api/instructions). Nothing is timed here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_graph.h"

#define OK(call)                                                                                   \
    do {                                                                                           \
        dnnl_tp_status_t st_ = (call);                                                             \
        if (st_ != dnnl_tp_success) {                                                              \
            fprintf(stderr, "%s: %s: %s\n", #call, dnnl_tp_status2str(st_), dnnl_tp_last_error()); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { SIDE = 2, IN_LAYER = 128, SOURCES = 3 };

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_memory_t memory[3];
    float values[3][SIDE * SIDE];
} world_t;

static void open_world(world_t *w) {
    static const dnnl_tp_dims_t dims = {SIDE, SIDE};
    memset(w, 0, sizeof *w);
    OK(dnnl_tp_engine_create(&w->engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_create(&w->stream, w->engine, dnnl_tp_stream_default_flags));
    OK(dnnl_tp_memory_desc_create_with_tag(&w->md, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    OK(dnnl_tp_matmul_primitive_desc_create(&w->pd, w->engine, w->md, w->md, NULL, w->md, NULL));
    OK(dnnl_tp_primitive_create(&w->primitive, w->pd));
    for (int i = 0; i < 3; ++i) OK(dnnl_tp_memory_create(&w->memory[i], w->md, w->engine, w->values[i]));
}
static void close_world(world_t *w) {
    for (int i = 0; i < 3; ++i) dnnl_tp_memory_destroy(w->memory[i]);
    dnnl_tp_primitive_destroy(w->primitive);
    dnnl_tp_primitive_desc_destroy(w->pd);
    dnnl_tp_memory_desc_destroy(w->md);
    OK(dnnl_tp_stream_destroy(w->stream));
    dnnl_tp_engine_destroy(w->engine);
}

/* ---- what can be done N times ------------------------------------------------------------------------- */

static void execute(world_t *w, long n) {
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, w->memory[0]},
                                       {DNNL_TP_ARG_WEIGHTS, w->memory[1]},
                                       {DNNL_TP_ARG_DST, w->memory[2]}};
    for (long i = 0; i < n; ++i) OK(dnnl_tp_primitive_execute(w->primitive, w->stream, 3, args));
}

static void execute_handles(world_t *w, long n) {
    const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, w->values[0]},
                                          {DNNL_TP_ARG_WEIGHTS, w->values[1]},
                                          {DNNL_TP_ARG_DST, w->values[2]}};
    for (long i = 0; i < n; ++i) OK(dnnl_tp_primitive_execute_handles(w->primitive, w->stream, 3, args));
}

/* Descriptor and primitive, where the cache has it. */
static void create(world_t *w, long n) {
    for (long i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        dnnl_tp_primitive_t primitive;
        OK(dnnl_tp_matmul_primitive_desc_create(&pd, w->engine, w->md, w->md, NULL, w->md, NULL));
        OK(dnnl_tp_primitive_create(&primitive, pd));
        dnnl_tp_primitive_destroy(primitive);
        dnnl_tp_primitive_desc_destroy(pd);
    }
}

static dnnl_tp_status_t nothing(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_success;
}
/* n closures, in layers of 128 with three inputs each. */
static dnnl_tp_graph_t closures(long n) {
    static const dnnl_tp_tensor_info_t none = {.ndims = 1, .dims = {0}, .data_type = dnnl_tp_s32};
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t layer[2][IN_LAYER];
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    for (long i = 0; i < n; ++i) {
        const dnnl_tp_value_t *before = layer[i / IN_LAYER & 1];
        dnnl_tp_value_t in[SOURCES];
        int nin = i < IN_LAYER ? 0 : SOURCES;
        for (int k = 0; k < nin; ++k) in[k] = before[(i + k) % IN_LAYER];
        OK(dnnl_tp_graph_host(graph, nothing, NULL, NULL, 0, "closure", nin, in, 1, &none,
                              &layer[1 - (i / IN_LAYER & 1)][i % IN_LAYER]));
    }
    return graph;
}
static void build(world_t *w, long n) {
    (void)w;
    dnnl_tp_graph_destroy(closures(n));
}
static void build_and_compile(world_t *w, long n) {
    dnnl_tp_graph_t graph = closures(n);
    dnnl_tp_executable_t executable;
    OK(dnnl_tp_executable_compile(&executable, graph, w->engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(graph);
    dnnl_tp_executable_destroy(executable);
}

/* ---- A sentence encoder ------------------------------------------------------------------------------ */

enum { WIDTH = 384, INNER = 1536, LAYERS = 6, WORDS = 512, ABSENT = -1 };
typedef struct {
    dnnl_tp_graph_t graph;
    float *weights; /* of all operators */
} encoder_t;

static dnnl_tp_value_t weight(const encoder_t *e, int ndims, int64_t rows, int64_t cols) {
    const dnnl_tp_dims_t dims = {rows, cols};
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_constant(e->graph, &v, "weight", dnnl_tp_f32, ndims, dims, e->weights,
                              DNNL_TP_CONSTANT_BORROW, NULL, NULL));
    return v;
}
static dnnl_tp_value_t op(const encoder_t *e, dnnl_tp_op_kind_t kind, int nin, const dnnl_tp_value_t *in,
                          const dnnl_tp_op_attr_t *attr) {
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_op(e->graph, kind, "operator", nin, in, attr ? 1 : 0, attr, 1, &v));
    return v;
}
static dnnl_tp_value_t linear(const encoder_t *e, dnnl_tp_value_t x, int64_t from, int64_t to) {
    static const uint8_t yes = 1;
    const dnnl_tp_op_attr_t transposed = {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &yes};
    const dnnl_tp_value_t in[] = {x, weight(e, 2, to, from), weight(e, 1, to, 0)};
    return op(e, dnnl_tp_op_matmul, 3, in, &transposed);
}
static dnnl_tp_value_t norm(const encoder_t *e, dnnl_tp_value_t x, dnnl_tp_value_t y) {
    const dnnl_tp_value_t both[] = {x, y};
    const dnnl_tp_value_t in[] = {op(e, dnnl_tp_op_add, 2, both, NULL), weight(e, 1, WIDTH, 0),
                                  weight(e, 1, WIDTH, 0)};
    return op(e, dnnl_tp_op_layer_norm, 3, in, NULL);
}
static dnnl_tp_value_t look_up(const encoder_t *e, dnnl_tp_value_t ids) {
    const dnnl_tp_value_t in[] = {weight(e, 2, WORDS, WIDTH), ids};
    return op(e, dnnl_tp_op_gather, 2, in, NULL);
}
static void open_encoder(encoder_t *e) {
    static const int64_t heads = 12;
    static const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads};
    static const dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL};
    dnnl_tp_value_t ids, positions, offsets;
    e->weights = calloc((size_t)WIDTH * INNER, sizeof *e->weights);
    if (!e->weights) exit(1);
    OK(dnnl_tp_graph_create(&e->graph, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(e->graph, &ids, "ids", dnnl_tp_s32, 1, any));
    OK(dnnl_tp_graph_input(e->graph, &positions, "positions", dnnl_tp_s32, 1, any));
    OK(dnnl_tp_graph_input(e->graph, &offsets, "offsets", dnnl_tp_s32, 1, any));
    dnnl_tp_value_t x = norm(e, look_up(e, ids), look_up(e, positions));
    for (int i = 0; i < LAYERS; ++i) {
        const dnnl_tp_value_t in[] = {linear(e, x, WIDTH, WIDTH), linear(e, x, WIDTH, WIDTH),
                                      linear(e, x, WIDTH, WIDTH), ABSENT, offsets};
        dnnl_tp_value_t y = linear(e, op(e, dnnl_tp_op_attention, 5, in, &attr), WIDTH, WIDTH);
        x = norm(e, y, x);
        y = linear(e, x, WIDTH, INNER);
        y = linear(e, op(e, dnnl_tp_op_gelu, 1, &y, NULL), INNER, WIDTH);
        x = norm(e, y, x);
    }
    const dnnl_tp_value_t pool[] = {x, ABSENT, offsets};
    OK(dnnl_tp_graph_output(e->graph, op(e, dnnl_tp_op_pool_normalize, 3, pool, NULL), "embeddings"));
}
/* Executables for n shapes, of `different` ones in turn. */
static void compile_encoder(world_t *w, long n, long different) {
    enum { LEAST = 8 };
    encoder_t e;
    open_encoder(&e);
    for (long i = 0; i < n; ++i) {
        dnnl_tp_tensor_info_t shape[3] = {{.ndims = 1, .data_type = dnnl_tp_s32}};
        shape[2] = shape[1] = shape[0];
        shape[0].dims[0] = shape[1].dims[0] = LEAST + i % different;
        shape[2].dims[0] = 2;
        dnnl_tp_executable_t executable;
        OK(dnnl_tp_executable_compile(&executable, e.graph, w->engine, 3, shape, NULL));
        dnnl_tp_executable_destroy(executable);
    }
    dnnl_tp_graph_destroy(e.graph);
    free(e.weights);
}
static void compile_new(world_t *w, long n) { compile_encoder(w, n, n); }
static void compile_known(world_t *w, long n) { compile_encoder(w, n, 1); }

/* ---- Runs of graphs, on the calling thread ------------------------------------------------------------ */

static const dnnl_tp_tensor_info_t number = {.ndims = 0, .data_type = dnnl_tp_s32};

static dnnl_tp_value_t closure(dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, dnnl_tp_value_t in) {
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_host(g, fn, NULL, NULL, 0, "closure", 1, &in, 1, &number, &v));
    return v;
}
static dnnl_tp_status_t count_down(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                   int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    *(int32_t *)out[0].data = *(const int32_t *)in[0].data - 1;
    return dnnl_tp_success;
}
/* Compiles graph, whose output is y, runs it n times on `first`, and destroys all. */
static void run_graph(world_t *w, dnnl_tp_graph_t graph, dnnl_tp_value_t y, unsigned flags, long n,
                      int32_t first) {
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .flags = flags};
    dnnl_tp_executable_t executable;
    int32_t result;
    void *in[1] = {&first}, *out[1] = {&result};
    OK(dnnl_tp_graph_output(graph, y, "y"));
    OK(dnnl_tp_executable_compile(&executable, graph, w->engine, 0, NULL, &opts));
    for (long i = 0; i < n; ++i) OK(dnnl_tp_executable_run(executable, w->stream, 1, in, 1, out, NULL));
    dnnl_tp_executable_destroy(executable);
    dnnl_tp_graph_destroy(graph);
}
static dnnl_tp_graph_t graph_of_number(dnnl_tp_value_t *x) {
    dnnl_tp_graph_t graph;
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(graph, x, "x", dnnl_tp_s32, 0, NULL));
    return graph;
}

/* One closure. */
static void run(world_t *w, long n) {
    dnnl_tp_value_t x;
    dnnl_tp_graph_t graph = graph_of_number(&x);
    run_graph(w, graph, closure(graph, nothing, x), 0, n, 0);
}
/* A chain of n closures, run once: one after another, and each a node of the dataflow engine. */
static void chain(world_t *w, long n, unsigned flags) {
    dnnl_tp_value_t x;
    dnnl_tp_graph_t graph = graph_of_number(&x);
    for (long i = 0; i < IN_LAYER; ++i) x = closure(graph, nothing, x);
    run_graph(w, graph, x, flags, n / IN_LAYER, 0);
}
static void run_closures(world_t *w, long n) { chain(w, n, 0); }
static void run_nodes(world_t *w, long n) { chain(w, n, DNNL_TP_COMPILE_NO_CLUSTERS); }
/* An If with a closure in each branch. */
static void run_if(world_t *w, long n) {
    dnnl_tp_value_t x, y;
    dnnl_tp_graph_t graph = graph_of_number(&x), branch[2];
    for (int b = 0; b < 2; ++b) OK(dnnl_tp_graph_create_region(&branch[b], graph));
    dnnl_tp_value_t a = closure(branch[0], nothing, x), b = closure(branch[1], nothing, x);
    OK(dnnl_tp_graph_if(graph, "if", x, branch[0], branch[1], 1, &a, &b, &y));
    for (int k = 0; k < 2; ++k) dnnl_tp_graph_destroy(branch[k]);
    run_graph(w, graph, y, 0, n, 1);
}
/* n iterations of a loop with one closure. */
static void iterate(world_t *w, long n, unsigned flags) {
    dnnl_tp_value_t x, left, next, y;
    dnnl_tp_graph_t graph = graph_of_number(&x), cond, body;
    OK(dnnl_tp_graph_create_region(&cond, graph));
    OK(dnnl_tp_graph_input(cond, &left, "left", dnnl_tp_s32, 0, NULL));
    OK(dnnl_tp_graph_create_region(&body, cond));
    next = closure(body, count_down, left);
    OK(dnnl_tp_graph_while(graph, "while", cond, left, body, 1, &x, &left, &next, 1, &y));
    dnnl_tp_graph_destroy(cond);
    dnnl_tp_graph_destroy(body);
    run_graph(w, graph, y, flags, 1, (int32_t)n);
}
static void run_while(world_t *w, long n) { iterate(w, n, 0); }
static void run_while_nodes(world_t *w, long n) { iterate(w, n, DNNL_TP_COMPILE_NO_CLUSTERS); }

static const struct {
    const char *name;
    void (*run)(world_t *, long n);
} calls[] = {{"execute", execute},
             {"execute_handles", execute_handles},
             {"create", create},
             {"build", build},
             {"build_and_compile", build_and_compile},
             {"compile_new", compile_new},
             {"compile_known", compile_known},
             {"run", run},
             {"run_closures", run_closures},
             {"run_nodes", run_nodes},
             {"run_if", run_if},
             {"run_while", run_while},
             {"run_while_nodes", run_while_nodes}};
enum { N_CALLS = sizeof calls / sizeof *calls };

/* Without arguments: the names, and each once, to see that it works. */
int main(int argc, char **argv) {
    world_t w;
    open_world(&w);
    int i = 0;
    if (argc == 1)
        for (; i < N_CALLS; ++i) {
            calls[i].run(&w, 2 * IN_LAYER);
            puts(calls[i].name);
        }
    else if (argc == 3) {
        while (i < N_CALLS && strcmp(calls[i].name, argv[1])) ++i;
        if (i < N_CALLS) calls[i].run(&w, atol(argv[2]));
    }
    close_world(&w);
    if (argc == 1 || (argc == 3 && i < N_CALLS)) return 0;
    fprintf(stderr, "usage: api_calls [NAME N]\n");
    return 2;
}
