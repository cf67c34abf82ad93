/* Times the dataflow engine alone: ns per node of graphs whose nodes do nothing (or spin), per If, per iteration.
 * dataflow_bench [threads [kernel ns [substring of a name [flags of dtp_dataflow_build]]]]. The public interface and
 * the peers are measured by benchdnn/exec. */
#include <dnnl_tp/dnnl_tp_threadpool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/dataflow/dataflow.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"

typedef struct {
    int n, nedges, room;
    int (*edge)[2];
} graph_t;

static uint64_t rng = 88172645463325252ull;
static unsigned rnd(void) {
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(rng >> 33);
}
static void edge(graph_t *g, int a, int b) {
    if (g->nedges == g->room) {
        g->room = g->room ? 2 * g->room : 1024;
        g->edge = realloc(g->edge, sizeof *g->edge * (size_t)g->room);
    }
    g->edge[g->nedges][0] = a;
    g->edge[g->nedges++][1] = b;
}

static void bm_executor(graph_t *g, int width, int depth) {
    rng = 1729;
    int *ready = malloc(sizeof *ready * (size_t)width * (size_t)(depth + 1));
    int n = 0;
    for (unsigned r = 1 + rnd() % (unsigned)width; r > 0; --r) ready[n++] = g->n++;
    for (int i = 0; i < depth; ++i) {
        for (int k = n - 1; k > 0; --k) {
            int j = (int)(rnd() % (unsigned)(k + 1)), t = ready[k];
            ready[k] = ready[j];
            ready[j] = t;
        }
        int join = g->n++;
        for (unsigned r = 1 + rnd() % (unsigned)n; r > 0; --r) edge(g, ready[--n], join);
        for (unsigned r = 1 + rnd() % (unsigned)width; r > 0; --r) {
            edge(g, join, g->n);
            ready[n++] = g->n++;
        }
    }
    free(ready);
}
static void chain(graph_t *g, int n, int unused) {
    (void)unused;
    for (int i = 0; i < n; ++i, ++g->n)
        if (i) edge(g, i - 1, i);
}
static void fan(graph_t *g, int n, int unused) {
    (void)unused;
    g->n = n + 2;
    for (int i = 0; i < n; ++i) {
        edge(g, n, i);
        edge(g, i, n + 1);
    }
}
/* In-degree k: one producer out of each k-th of the layer before. */
static void layers(graph_t *g, int w, int d, int k) {
    for (int l = 0; l < d; ++l)
        for (int i = 0; i < w; ++i, ++g->n)
            for (int j = 0; l && j < k; ++j)
                edge(g, (l - 1) * w + j * (w / k) + (int)(rnd() % (unsigned)(w / k)), g->n);
}
static void layers1(graph_t *g, int w, int d) { layers(g, w, d, 1); }
static void layers3(graph_t *g, int w, int d) { layers(g, w, d, 3); }
static void layers8(graph_t *g, int w, int d) { layers(g, w, d, 8); }
static void tree(graph_t *g, int n, int unused) {
    (void)unused;
    int *v = malloc(sizeof *v * (size_t)n), k = n;
    g->n = n + 1;
    for (int i = 0; i < n; ++i) edge(g, n, v[i] = i);
    while (k > 1) {
        int x = (int)(rnd() % (unsigned)k), a = v[x];
        v[x] = v[--k];
        x = (int)(rnd() % (unsigned)k);
        edge(g, a, g->n);
        edge(g, v[x], g->n);
        v[x] = g->n++;
    }
    free(v);
}
static void diamonds(graph_t *g, int n, int unused) {
    (void)unused;
    g->n = 1;
    for (int i = 0; i < n; ++i, g->n += 3) {
        edge(g, g->n - 1, g->n);
        edge(g, g->n - 1, g->n + 1);
        edge(g, g->n, g->n + 2);
        edge(g, g->n + 1, g->n + 2);
    }
}
static void wavefront(graph_t *g, int w, int h) {
    g->n = w * h;
    for (int i = 0; i < h; ++i)
        for (int j = 0; j < w; ++j) {
            if (i) edge(g, (i - 1) * w + j, i * w + j);
            if (j) edge(g, i * w + j - 1, i * w + j);
        }
}
static void const_identity(graph_t *g, int w, int o) {
    for (int i = 0; i < w; ++i) {
        int c = g->n++;
        for (int k = 0; k < o; ++k) edge(g, c, g->n++);
    }
}
static void lstm(graph_t *g, int n, int unused) {
    (void)unused;
    g->n = n;
    for (int i = 1; i < n; ++i) {
        unsigned k = rnd() % 100 == 0 ? 4 + rnd() % 20 : 1 + rnd() % 3;
        for (unsigned j = 0; j < k && j < (unsigned)i; ++j)
            edge(g, i - 1 - (int)(rnd() % (unsigned)(i < 40 ? i : 40)), i);
    }
}

static int kernel_ns;
/* A chain of long nodes beside many of 1 us; index = ns. */
static void bench_skewed(int links, int link_ns, int others);
static dnnl_tp_status_t empty(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                              const dtp_dataflow_where_t *where) {
    (void)ctx, (void)instance, (void)index, (void)where;
    return dnnl_tp_success;
}
static int64_t kernel_ticks;
static dnnl_tp_status_t spin(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                             const dtp_dataflow_where_t *where) {
    (void)ctx, (void)instance, (void)index, (void)where;
    int64_t until = dtp_ticks() + kernel_ticks;
    while (dtp_ticks() < until)
        ;
    return dnnl_tp_success;
}
/* Loop bodies: index = kind: 0 nothing, 1 test of a countdown at data[0], 2 countdown. */
static dnnl_tp_status_t loop_exec(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                  const dtp_dataflow_where_t *where) {
    int64_t *left = ctx;
    (void)where;
    if (index == 1) *(char *)instance->up->data = *left > 0;
    if (index == 2) --*left;
    return dnnl_tp_success;
}

typedef struct {
    const dtp_dataflow_plan_t *plan;
    dtp_dataflow_state_t *state;
    dtp_dataflow_args_t args;
    dtp_dataflow_result_t result;
    int64_t trips, left;
} job_t;
static void run_body(void *arg, const dtp_parallel_t *par) {
    job_t *j = arg;
    j->args.par = par;
    j->left = j->trips;
    if (dtp_dataflow_run(j->plan, j->state, &j->args, &j->result) != dnnl_tp_success) abort();
}

static int threads = 1;
static unsigned build_flags;
static dtp_pool_t *pool;
static double best_of(job_t *j) {
    int64_t best = INT64_MAX, until = dtp_now_ns() + 300000000;
    for (int i = 0; i < 5 || dtp_now_ns() < until; ++i) {
        int64_t t0 = dtp_now_ns();
        if (pool) (void)!dtp_pool_run(pool, threads, true, run_body, j);
        else {
            dtp_parallel_t alone = {.num_threads = 1};
            run_body(j, &alone);
        }
        int64_t t = dtp_now_ns() - t0;
        if (t < best) best = t;
    }
    return (double)best;
}

static void make(job_t *j, dtp_dataflow_builder_t *b, dtp_arena_t *arena, void **memory, char *data) {
    dtp_arena_init(arena, NULL);
    if (dtp_dataflow_build(b, build_flags, arena, &j->plan) != dnnl_tp_success) {
        fprintf(stderr, "%s\n", dnnl_tp_last_error());
        abort();
    }
    dtp_dataflow_builder_destroy(b);
    *memory = dtp_zalloc(NULL, dtp_dataflow_state_bytes(j->plan, threads), DTP_NO_SHARE);
    j->state = dtp_dataflow_state_init(j->plan, threads, *memory, data);
}

static bool with_if; /* an If beside the graph: does it slow the rest? */
static void bench_graph(const char *name, const graph_t *g) {
    dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(NULL);
    for (int i = 0; i < g->n; ++i) dtp_dataflow_node(b, 0, (uint32_t)i, 0, kernel_ns);
    if (with_if) {
        dtp_dataflow_ref_t ref = {0};
        dtp_dataflow_if_t f = dtp_dataflow_if(b, 0, &ref);
        dtp_dataflow_after(b, f.token, 0);
        dtp_dataflow_token_t side[2];
        for (int i = 0; i < 2; ++i) side[i] = dtp_dataflow_node(b, f.branch[i], 0, 0, 0);
        dtp_dataflow_token_t out = dtp_dataflow_if_out(b, f.token, side[0], side[1]);
        dtp_dataflow_after(b, dtp_dataflow_node(b, 0, 0, 0, 0), out);
    }
    for (int i = 0; i < g->nedges; ++i) dtp_dataflow_after(b, g->edge[i][1], g->edge[i][0]);
    job_t j = {0};
    dtp_arena_t arena;
    void *memory;
    char data[64];
    int64_t t0 = dtp_now_ns();
    make(&j, b, &arena, &memory, data);
    double build = (double)(dtp_now_ns() - t0);
    j.args.exec = kernel_ns ? spin : empty;
    double ns = best_of(&j);
    printf("%-24s %7d nodes %8d edges: %7.2f ns/node", name, g->n, g->nedges, ns / g->n);
    if (kernel_ns) printf("  %5.1f %% of ideal", 100. * kernel_ns * g->n / threads / ns);
    printf("  (build %.0f ns/node; shared %llu stolen %llu invited %llu parked %llu)\n", build / g->n,
           (unsigned long long)j.result.shared, (unsigned long long)j.result.stolen,
           (unsigned long long)j.result.invited, (unsigned long long)j.result.parked);
    fflush(stdout);
    dtp_arena_free(&arena);
    dtp_free(NULL, memory);
}

static dnnl_tp_status_t spin_index(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                   const dtp_dataflow_where_t *where) {
    (void)ctx, (void)instance, (void)where;
    int64_t until = dtp_ticks() + dtp_ticks_of_ns(index);
    while (dtp_ticks() < until)
        ;
    return dnnl_tp_success;
}
static void bench_skewed(int links, int link_ns, int others) {
    dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(NULL);
    unsigned flags = link_ns > 20000 ? DTP_DATAFLOW_COSTLY : 0;
    for (int i = 0; i < others; ++i) dtp_dataflow_node(b, 0, 1000, 0, 1000);
    dtp_dataflow_token_t last = -1;
    for (int i = 0; i < links; ++i) {
        dtp_dataflow_token_t t = dtp_dataflow_node(b, 0, (uint32_t)link_ns, flags, link_ns);
        if (last >= 0) dtp_dataflow_after(b, t, last);
        last = t;
    }
    job_t j = {0};
    dtp_arena_t arena;
    void *memory;
    char data[64];
    make(&j, b, &arena, &memory, data);
    j.args.exec = spin_index;
    double ns = best_of(&j), chain_ns = (double)links * link_ns,
           work_ns = (chain_ns + others * 1e3) / threads;
    printf("skewed: %d x %d ns beside %d x 1 us: %.3f ms, %.1f %% above the bound (stolen %llu)\n", links,
           link_ns, others, ns / 1e6, 100. * ns / (chain_ns > work_ns ? chain_ns : work_ns) - 100.,
           (unsigned long long)j.result.stolen);
    fflush(stdout);
    dtp_arena_free(&arena);
    dtp_free(NULL, memory);
}

static void bench_if(int m, bool taken) {
    enum { IFS = 64 };
    dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(NULL);
    dtp_dataflow_token_t pred = dtp_dataflow_node(b, 0, 0, 0, 0), prev = pred;
    dtp_dataflow_ref_t ref = {0};
    for (int k = 0; k < IFS; ++k) {
        dtp_dataflow_if_t f = dtp_dataflow_if(b, 0, &ref);
        dtp_dataflow_after(b, f.token, pred);
        dtp_dataflow_token_t q[2];
        for (int s = 0; s < 2; ++s)
            for (int i = 0; i < (s ? m : 1); ++i) {
                dtp_dataflow_token_t t = dtp_dataflow_node(b, f.branch[s], 0, 0, 0);
                dtp_dataflow_after(b, t, i ? q[s] : prev);
                q[s] = t;
            }
        prev = dtp_dataflow_if_out(b, f.token, q[0], q[1]);
    }
    dtp_dataflow_token_t last = dtp_dataflow_node(b, 0, 0, 0, 0);
    dtp_dataflow_after(b, last, prev);
    job_t j = {0};
    dtp_arena_t arena;
    void *memory;
    char data[64] = {taken};
    make(&j, b, &arena, &memory, data);
    j.args.exec = empty;
    printf("64 Ifs in series, branch of %6d %s: %8.1f ns per If\n", m, taken ? "taken  " : "skipped",
           best_of(&j) / IFS);
    fflush(stdout);
    dtp_arena_free(&arena);
    dtp_free(NULL, memory);
}

/* body: one node per variable; the condition reads variable 0. */
static void bench_while(int trips, int vars, int window) {
    dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(NULL);
    dtp_dataflow_token_t start = dtp_dataflow_node(b, 0, 0, 0, 0);
    dtp_dataflow_loop_t l = {
        .nvars = vars, .window = window, .exit_index = 0, .test = {.level = 1}, .data_offset = 0};
    dtp_dataflow_while_t w = dtp_dataflow_while(b, 0, &l);
    dtp_dataflow_after(b, w.token, start);
    dtp_dataflow_token_t t = dtp_dataflow_node(b, w.cond, 1, 0, 0);
    dtp_dataflow_after(b, t, w.first_var);
    dtp_dataflow_after(b, w.test, t);
    for (int v = 0; v < vars; ++v) {
        t = dtp_dataflow_node(b, w.body, v ? 0 : 2, 0, 0);
        dtp_dataflow_after(b, t, w.first_var + v);
        dtp_dataflow_next(b, w.token, v, t);
    }
    job_t j = {.trips = trips};
    dtp_arena_t arena;
    void *memory;
    char data[64];
    make(&j, b, &arena, &memory, data);
    j.args.exec = loop_exec;
    j.args.ctx = &j.left;
    double ns = best_of(&j);
    printf("While %5d iterations, %4d variables, window %2d: %9.0f ns, %8.1f ns per iteration\n", trips, vars,
           window, ns, ns / trips);
    fflush(stdout);
    dtp_arena_free(&arena);
    dtp_free(NULL, memory);
}

int main(int argc, char **argv) {
    if (argc > 1) threads = atoi(argv[1]);
    if (argc > 2) kernel_ns = atoi(argv[2]);
    if (argc > 4) build_flags = (unsigned)atoi(argv[4]);
    const char *filter = argc > 3 ? argv[3] : "";
    dnnl_tp_threadpool_t tp = NULL;
    dtp_ticks_init();
    kernel_ticks = dtp_ticks_of_ns(kernel_ns);
    if (threads > 1) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
        dnnl_tp_stream_attr_t attr = NULL;
        if (dnnl_tp_threadpool_create(&tp, &opts) || dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu) ||
            dnnl_tp_stream_attr_set_builtin_threadpool(attr, tp) || dtp_pool_acquire(&pool, attr))
            abort();
    }
    static const struct {
        const char *name;
        void (*make)(graph_t *, int, int);
        int a, b;
    } shapes[] = {{"bm_executor/16x1024", bm_executor, 16, 1024},
                  {"bm_executor/32x8192", bm_executor, 32, 8192},
                  {"bm_executor/1024x16", bm_executor, 1024, 16},
                  {"bm_executor/8192x32", bm_executor, 8192, 32},
                  {"bm_executor/1024x1024", bm_executor, 1024, 1024},
                  {"chain/1", chain, 1, 0},
                  {"chain/8", chain, 8, 0},
                  {"chain/64", chain, 64, 0},
                  {"chain/1024", chain, 1024, 0},
                  {"chain/8192", chain, 8192, 0},
                  {"fan/8", fan, 8, 0},
                  {"fan/64", fan, 64, 0},
                  {"fan/1024", fan, 1024, 0},
                  {"fan/8192", fan, 8192, 0},
                  {"layers/64x128/k1", layers1, 64, 128},
                  {"layers/64x128/k3", layers3, 64, 128},
                  {"layers/64x128/k8", layers8, 64, 128},
                  {"layers/256x32/k3", layers3, 256, 32},
                  {"layers/256x32/k8", layers8, 256, 32},
                  {"tree/4096", tree, 4096, 0},
                  {"diamonds/2048", diamonds, 2048, 0},
                  {"wavefront/64x64", wavefront, 64, 64},
                  {"const_identity/1x100", const_identity, 1, 100},
                  {"const_identity/100x1", const_identity, 100, 1},
                  {"const_identity/100x100", const_identity, 100, 100},
                  {"lstm/5000", lstm, 5000, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        if (!strstr(shapes[i].name, filter)) continue;
        if (kernel_ns && !strcmp(shapes[i].name, "bm_executor/1024x1024")) continue;
        graph_t g = {0};
        rng = 7;
        shapes[i].make(&g, shapes[i].a, shapes[i].b);
        bench_graph(shapes[i].name, &g);
        free(g.edge);
    }
    if (strstr("one_if", filter) && !kernel_ns) {
        graph_t g = {0};
        bm_executor(&g, 16, 1024);
        for (int i = 0; i < 6; ++i) {
            with_if = i % 2;
            bench_graph(with_if ? "one_if/16x1024 with" : "one_if/16x1024 without", &g);
        }
        with_if = false;
        free(g.edge);
    }
    if (strstr("skewed", filter)) {
        bench_skewed(1, 10000000, 10000);
        bench_skewed(100, 100000, 10000);
        bench_skewed(10000, 1000, 10000);
        bench_skewed(100, 50000, 10000);
    }
    if (strstr("if", filter) && !kernel_ns) {
        static const int m[] = {1, 10, 100, 1000, 10000};
        for (int i = 0; i < 5; ++i)
            for (int taken = 0; taken < 2; ++taken)
                if (m[i] < 10000 || !taken) bench_if(m[i], taken);
    }
    if (strstr("while", filter) && !kernel_ns) {
        bench_while(1, 1, 1);
        static const int v[] = {1, 10, 100}, win[] = {1, 4, 20};
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) bench_while(1000, v[i], win[k]);
    }
    return 0;
}
