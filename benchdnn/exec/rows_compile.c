/* What building and compiling a graph of closures costs: processor time and memory, per node.
 *
 * Edges are orders (control dependencies between closures without data) or data (each closure reads the results
 * of those in front of it, 64 bytes each). Times are of the calling thread, so that other load does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec_bench.h"

static double thread_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* What stands in front of each node: in[at[i] .. at[i + 1]). */
typedef struct {
    int *at, *in;
    int most;
} inputs_t;

static inputs_t inputs_of(const eb_graph_t *g) {
    inputs_t p = {calloc((size_t)g->n + 2, sizeof *p.at), malloc(sizeof *p.in * (size_t)(g->nedges + 1)), 0};
    if (!p.at || !p.in) abort();
    for (int i = 0; i < g->nedges; ++i) ++p.at[g->edge[i][1] + 2];
    for (int i = 0; i < g->n; ++i) {
        if (p.at[i + 2] > p.most) p.most = p.at[i + 2];
        p.at[i + 2] += p.at[i + 1];
    }
    for (int i = 0; i < g->nedges; ++i) p.in[p.at[g->edge[i][1] + 1]++] = g->edge[i][0];
    return p;
}

enum { MOST_INPUTS = 64, ROUND_NODES = 200000, MOST_ROUNDS = 101, PHASES = 3 };

static dnnl_tp_graph_t build(const eb_graph_t *g, const inputs_t *p, bool data, dnnl_tp_value_t *value) {
    dnnl_tp_graph_t graph;
    const dnnl_tp_tensor_info_t out = {1, {data ? 16 : 0}, dnnl_tp_f32};
    EB_OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    for (int i = 0; i < g->n; ++i) {
        const int first = p->at[i], nin = data ? p->at[i + 1] - first : 0;
        dnnl_tp_value_t in[MOST_INPUTS];
        for (int k = 0; k < nin; ++k) in[k] = value[p->in[first + k]];
        EB_OK(dnnl_tp_graph_host(graph, eb_host_empty, NULL, NULL, 0, NULL, nin, in, 1, &out, &value[i]));
    }
    for (int i = 0; i < g->nedges && !data; ++i)
        EB_OK(dnnl_tp_graph_control_dependency(graph, value[g->edge[i][0]], value[g->edge[i][1]]));
    return graph;
}

/* One graph from nothing to nothing: times of its phases; bytes[0]: asked for by building, [1]: by compiling. */
static void once(const eb_graph_t *g, const inputs_t *p, bool data, int threads, dnnl_tp_value_t *value,
                 double ns[PHASES], double bytes[2]) {
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = eb_attr(threads)};
    dnnl_tp_executable_t exec;
    double t[PHASES + 1], b[3];
    eb_count_allocations(true);
    b[0] = (double)eb_allocated_bytes();
    t[0] = thread_ns();
    dnnl_tp_graph_t graph = build(g, p, data, value);
    t[1] = thread_ns();
    b[1] = (double)eb_allocated_bytes();
    EB_OK(dnnl_tp_executable_compile(&exec, graph, eb_engine(), 0, NULL, &opts));
    t[2] = thread_ns();
    b[2] = (double)eb_allocated_bytes();
    dnnl_tp_executable_destroy(exec);
    dnnl_tp_graph_destroy(graph);
    t[3] = thread_ns();
    eb_count_allocations(false);
    for (int i = 0; i < PHASES; ++i) ns[i] = t[i + 1] - t[i];
    for (int i = 0; i < 2; ++i) bytes[i] = b[i + 1] - b[i];
}

static void row(const char *name, const eb_graph_t *g, bool data, int threads) {
    static const char *const phases[PHASES] = {"build", "compile", "destroy"};
    static double v[PHASES][MOST_ROUNDS];
    inputs_t p = inputs_of(g);
    dnnl_tp_value_t *value = malloc(sizeof *value * (size_t)g->n);
    if (!value) abort();
    if (!data || p.most <= MOST_INPUTS) {
        int rounds = eb.check ? 1 : ROUND_NODES / g->n * eb.rounds;
        rounds = rounds < eb.rounds ? eb.rounds : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
        double ns[PHASES], bytes[2] = {0};
        char full[64];
        snprintf(full, sizeof full, "%s %s", name, data ? "data" : "orders");
        for (int r = 0; r < rounds; ++r) {
            once(g, &p, data, threads, value, ns, bytes);
            for (int k = 0; k < PHASES; ++k) v[k][r] = ns[k] / g->n;
        }
        printf("%-24s %-6s %7d %7d |", name, data ? "data" : "orders", threads, g->n);
        for (int k = 0; k < PHASES && !eb.check; ++k) {
            const double median = bd_median(v[k], rounds); /* sorts */
            printf(" %7.0f %7.0f |", v[k][0], median);
            eb_csv("compile", full, threads, 0, phases[k], "ns/node", median, v[k][0], v[k][rounds - 1], -1,
                   g->n);
        }
        if (!eb.check) printf(" %7.0f %7.0f", bytes[0] / g->n, bytes[1] / g->n);
        printf("\n");
        fflush(stdout);
    }
    free(value);
    free(p.at);
    free(p.in);
}

void eb_rows_compile(void) {
    static const struct {
        const char *name, *shape;
        int a, b, k; /* 0: the shape's own size */
    } rows[] = {{"chain/1024", "chain/1024", 0, 0, 0},
                {"chain/8192", "chain/8192", 0, 0, 0},
                {"fan/8192", "fan/8192", 0, 0, 0},
                {"layers/64x128/k1", "layers/64x128/k1", 0, 0, 0},
                {"layers/64x128/k3", "layers/64x128/k3", 0, 0, 0},
                {"layers/64x128/k8", "layers/64x128/k8", 0, 0, 0},
                {"tree/4096", "tree/4096", 0, 0, 0},
                {"diamonds/2048", "diamonds/2048", 0, 0, 0},
                {"wavefront/64x64", "wavefront/64x64", 0, 0, 0},
                {"lstm_like/5000", "lstm_like/5000", 0, 0, 0},
                {"inception_like/200", "inception_like/200", 0, 0, 0},
                {"const_identity/100x100", "const_identity/100x100", 0, 0, 0},
                {"bm_executor/16x1024", "bm_executor/16x1024", 0, 0, 0},
                {"bm_executor/32x8192", "bm_executor/32x8192", 0, 0, 0},
                {"chain/100000", "chain/8192", 100000, 0, 0},
                {"layers/128x782/k3", "layers/64x128/k3", 128, 782, 3}};
    if (!eb.check)
        printf("\nbuilding, compiling, destroying: ns of processor time per node, min and median; bytes per "
               "node\n"
               "%-24s %-6s %7s %7s | %15s | %15s | %15s | %7s %7s\n",
               "", "edges", "threads", "nodes", "build", "compile", "destroy", "build", "compile");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (!eb_wanted(eb.rows, rows[i].name)) continue;
        const eb_shape_t *shape = eb_shapes;
        while (strcmp(shape->name, rows[i].shape) != 0) ++shape;
        eb_graph_t g;
        if (rows[i].a && !eb.check) eb_graph_make_sized(&g, shape, rows[i].a, rows[i].b, rows[i].k);
        else eb_graph_make(&g, shape, eb.check);
        for (int t = 0; t < eb.nthreads; ++t)
            for (int data = 0; data < 2; ++data) row(rows[i].name, &g, data, eb.threads[t]);
        eb_graph_free(&g);
    }
}
