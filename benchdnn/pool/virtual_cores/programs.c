/* What clients run. Each program is made twice, in step: as a graph of the library, and as tasks in their
 * order for the simulation. */
#include <stdlib.h>
#include <string.h>

#include "exec/shapes.h"
#include "pool/virtual_cores/virtual_cores.h"

bool vc_hints = true;

/* ---- Building ---------------------------------------------------------------------------------------- */

typedef dnnl_tp_value_t val_t;
static const dnnl_tp_tensor_info_t number = {0, {0}, dnnl_tp_s32};
static const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
static const dnnl_tp_tensor_info_t pointer = {1, {sizeof(void *)}, dnnl_tp_u8};

typedef struct {
    vc_program_t *p;
    int32_t lo, hi;
    uint64_t state;
    val_t run; /* the value that says which run it is */
} make_t;

static int32_t random_ns(make_t *m) {
    m->state = m->state * 6364136223846793005ull + 1442695040888963407ull;
    return m->lo + (int32_t)((m->state >> 33) % (uint64_t)(m->hi - m->lo + 1));
}

static void *must(void *memory) {
    if (!memory) abort();
    return memory;
}

static make_t begin(int tasks, int nodes, int32_t lo, int32_t hi, bool graph) {
    enum { SEED = 1729 };
    make_t m = {.p = must(calloc(1, sizeof(vc_program_t))), .lo = lo, .hi = hi, .state = SEED};
    m.p->ns = must(calloc((size_t)tasks, sizeof *m.p->ns));
    m.p->nodes = must(calloc((size_t)nodes, sizeof *m.p->nodes));
    m.p->n = tasks;
    if (!graph) return m;
    VC_OK(dnnl_tp_graph_create(&m.p->graph, dnnl_tp_cpu));
    VC_OK(dnnl_tp_graph_input(m.p->graph, &m.run, NULL, pointer.data_type, pointer.ndims, pointer.dims));
    return m;
}

static void edge(make_t *m, int before, int after) {
    vc_program_t *p = m->p;
    if (p->n_edges == p->room) {
        p->room = p->room ? 2 * p->room : 1024;
        p->edge = must(realloc(p->edge, sizeof *p->edge * (size_t)p->room));
    }
    p->edge[p->n_edges][0] = before;
    p->edge[p->n_edges++][1] = after;
}

static vc_program_t *finish(make_t *m) {
    vc_program_t *p = m->p;
    p->first = must(calloc((size_t)p->n + 2, sizeof *p->first));
    p->to = must(calloc((size_t)p->n_edges + 1, sizeof *p->to));
    p->n_before = must(calloc((size_t)p->n, sizeof *p->n_before));
    for (int i = 0; i < p->n_edges; ++i) {
        ++p->first[p->edge[i][0] + 2];
        ++p->n_before[p->edge[i][1]];
    }
    for (int i = 0; i < p->n; ++i) p->first[i + 2] += p->first[i + 1];
    for (int i = 0; i < p->n_edges; ++i) p->to[p->first[p->edge[i][0] + 1]++] = p->edge[i][1];
    for (int i = 0; i < p->n; ++i) p->work_ns += p->ns[i];
    return p;
}

void vc_program_free(vc_program_t *p) {
    if (p->graph) dnnl_tp_graph_destroy(p->graph);
    free(p->edge);
    free(p->ns);
    free(p->first);
    free(p->to);
    free(p->n_before);
    free(p->nodes);
    free(p);
}

/* A closure in g that reads the number v (-1: none) and makes one (info: number), or nothing. */
static val_t host(make_t *m, dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, vc_node_t node, val_t run, val_t v,
                  const dnnl_tp_tensor_info_t *info, double ns) {
    val_t in[2] = {run, v}, out;
    vc_node_t *own = &m->p->nodes[m->p->n_nodes++];
    *own = node;
    own->program = m->p;
    VC_OK(dnnl_tp_graph_host(g, fn, own, NULL, 0, NULL, v < 0 ? 1 : 2, in, 1, info, &out));
    if (vc_hints) VC_OK(dnnl_tp_graph_host_cost(g, out, (int64_t)ns));
    return out;
}
static val_t add_to(make_t *m, dnnl_tp_graph_t g, val_t run, val_t v, int times, int add);
static val_t input(make_t *m, dnnl_tp_graph_t g) {
    val_t v;
    dnnl_tp_dims_t dims = {0};
    (void)m;
    VC_OK(dnnl_tp_graph_input(g, &v, NULL, dnnl_tp_s32, 0, dims));
    return v;
}
static val_t number_input(make_t *m, int32_t value) {
    m->p->number[m->p->n_numbers++] = value;
    return input(m, m->p->graph);
}
static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    VC_OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}

/* Arithmetic that takes no time: no task. */
static dnnl_tp_status_t arithmetic(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                   int nout, const dnnl_tp_host_arg_t *out) {
    const vc_node_t *node = arg;
    (void)stop, (void)nin, (void)nout;
    *(int32_t *)out[0].data = *(const int32_t *)in[1].data * node->stride + node->add;
    return dnnl_tp_success;
}
static dnnl_tp_status_t is_less(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                int nout, const dnnl_tp_host_arg_t *out) {
    const vc_node_t *node = arg;
    (void)stop, (void)nin, (void)nout;
    *(int32_t *)out[0].data = *(const int32_t *)in[1].data < node->add;
    return dnnl_tp_success;
}
enum { TINY_NS = 100 };
static val_t add_to(make_t *m, dnnl_tp_graph_t g, val_t run, val_t v, int times, int add) {
    return host(m, g, arithmetic, (vc_node_t){.stride = times, .add = add}, run, v, &number, TINY_NS);
}
static val_t less(make_t *m, dnnl_tp_graph_t g, val_t run, val_t v, int than) {
    return host(m, g, is_less, (vc_node_t){.add = than}, run, v, &number, TINY_NS);
}

/* ---- Plain graphs ------------------------------------------------------------------------------------ */

/* loop > 0: every third node is a loop of so many iterations. */
static vc_program_t *plain(const char *shape, int a, int b, int k, int loop, int32_t lo, int32_t hi) {
    enum { EVERY = 3, TOTAL_NS = 10000000 };
    eb_graph_t g;
    int s = 0;
    while (strncmp(eb_shapes[s].name, shape, strlen(shape)) != 0) ++s;
    eb_graph_make_sized(&g, &eb_shapes[s], a, b, k);
    const int with = loop ? (g.n + EVERY - 1) / EVERY : 0;
    make_t m = begin(g.n + with * (loop + 1), g.n, lo, hi, true);
    val_t *value = must(calloc((size_t)g.n, sizeof *value));
    int *head = must(calloc((size_t)g.n, sizeof *head)), *tail = must(calloc((size_t)g.n, sizeof *tail));
    for (int i = 0, t = 0; i < g.n; ++i) {
        const bool is_loop = loop && i % EVERY == 0;
        double ns = 0;
        head[i] = t;
        if (is_loop) {
            for (int j = 1; j <= loop; ++j) {
                ns += m.p->ns[t + j] = random_ns(&m);
                edge(&m, t, t + j);
                edge(&m, t + j, t + loop + 1);
            }
            tail[i] = t + loop + 1;
        } else {
            /* A shape with times of its own keeps their proportions: its largest becomes hi. */
            ns = m.p->ns[t] = random_ns(&m);
            if (g.ns) ns = m.p->ns[t] = g.ns[i] > lo ? hi : lo;
            tail[i] = t;
        }
        value[i] = host(&m, m.p->graph, vc_sleep_node, (vc_node_t){.task = t, .loop = is_loop ? loop : 0},
                        m.run, -1, &nothing, ns);
        t = tail[i] + 1;
    }
    for (int i = 0; i < g.nedges; ++i) {
        edge(&m, tail[g.edge[i][0]], head[g.edge[i][1]]);
        VC_OK(dnnl_tp_graph_control_dependency(m.p->graph, value[g.edge[i][0]], value[g.edge[i][1]]));
    }
    free(value);
    free(head);
    free(tail);
    eb_graph_free(&g);
    return finish(&m);
}

#define PLAIN(id, shape, a, b, k, loop)                             \
    static vc_program_t *make_##id(int w, int32_t lo, int32_t hi) { \
        (void)w;                                                    \
        return plain(shape, a, b, k, loop, lo, hi);                 \
    }
PLAIN(bm, "bm_executor", 2 * w, 16, 0, 0)
PLAIN(bm_deep, "bm_executor", w / 2 + 2, 40, 0, 0)
PLAIN(const_identity, "const_identity", w, 6, 0, 0)
PLAIN(chain, "chain", 24, 0, 0, 0)
PLAIN(fan, "fan", 8 * w, 0, 0, 0)
PLAIN(fan_even, "fan", w, 0, 0, 0)
PLAIN(layers1, "layers", 2 * w, 8, 1, 0)
PLAIN(layers3, "layers", 2 * w, 8, 3, 0)
PLAIN(layers8, "layers", 2 * w, 8, 8, 0)
PLAIN(tree, "tree", 8 * w, 0, 0, 0)
PLAIN(diamonds, "diamonds", 12, 0, 0, 0)
PLAIN(wavefront, "wavefront", w < 16 ? 4 * w : 2 * w, w < 16 ? 4 * w : w, 0, 0)
PLAIN(lstm, "lstm_like", 20 * w > 400 ? 400 : 20 * w, 0, 0, 0)
PLAIN(inception, "inception_like", 10, 0, 0, 0)
PLAIN(skewed, "skewed", 16, 12 * w, 0, 0)
PLAIN(fan_loops, "fan", 2 * w, 0, 0, w)
PLAIN(layers_loops, "layers", w / 2, 4, 2, w)
PLAIN(chain_loops, "chain", 12, 0, 0, 4 * w)
PLAIN(four, "fan", 4, 0, 0, 0)
PLAIN(pair, "layers", 2, 2, 1, 0)

/* ---- Control flow ------------------------------------------------------------------------------------ */

/* `wide` Ifs beside each other, each behind the other one `deep` times: a chain of 2 nodes, or one. */
static vc_program_t *ifs(int wide, int deep, int32_t lo, int32_t hi) {
    enum { YES = 2 };
    make_t m = begin(wide * deep * YES, wide * deep * (YES + 2), lo, hi, true);
    dnnl_tp_graph_t g = m.p->graph;
    val_t zero = number_input(&m, 0);
    int t = 0;
    m.p->n = 0;
    for (int i = 0; i < wide; ++i) {
        val_t v = zero;
        int last = -1;
        for (int d = 0; d < deep; ++d) {
            const bool taken = (i + d) % 2 == 0;
            val_t pred = less(&m, g, m.run, v, taken ? INT32_MAX : INT32_MIN + 1);
            dnnl_tp_graph_t arm[2] = {region(g), region(g)};
            val_t end[2];
            for (int a = 0; a < 2; ++a) {
                const bool runs = taken == (a == 0);
                end[a] = v;
                for (int k = 0; k < (a == 0 ? YES : 1); ++k) {
                    int32_t ns = random_ns(&m);
                    end[a] = host(&m, arm[a], vc_sleep_node, (vc_node_t){.task = runs ? t : 0}, m.run, end[a],
                                  &number, ns);
                    if (!runs) continue;
                    m.p->ns[t] = ns;
                    if (last >= 0) edge(&m, last, t);
                    last = t++;
                }
            }
            VC_OK(dnnl_tp_graph_if(g, NULL, pred, arm[0], arm[1], 1, &end[0], &end[1], &v));
            dnnl_tp_graph_destroy(arm[0]);
            dnnl_tp_graph_destroy(arm[1]);
        }
        VC_OK(dnnl_tp_graph_target(g, v));
    }
    m.p->n = t;
    return finish(&m);
}
static vc_program_t *make_if_wide(int w, int32_t lo, int32_t hi) { return ifs(2 * w, 4, lo, hi); }
static vc_program_t *make_if_chain(int w, int32_t lo, int32_t hi) {
    (void)w;
    return ifs(1, 10, lo, hi);
}

/* trips iterations of `vars` variables, each a node that sleeps. Iteration k reads what k - 1 made; its
 * condition reads the first variable; it begins when k - window is complete. */
static vc_program_t *loop_of(int trips, int vars, int window, int32_t lo, int32_t hi) {
    enum { MOST = 128 };
    make_t m = begin(trips * vars, vars + 1, lo, hi, true);
    dnnl_tp_graph_t g = m.p->graph, cond = region(g);
    val_t zero = number_input(&m, 0), init[MOST], in[MOST], next[MOST], out[MOST];
    if (vars > MOST) vars = MOST;
    for (int j = 0; j < vars; ++j) {
        init[j] = zero;
        in[j] = input(&m, cond);
    }
    val_t more = less(&m, cond, m.run, in[0], trips);
    dnnl_tp_graph_t body = region(cond);
    for (int j = 0; j < vars; ++j)
        next[j] = host(&m, body, vc_sleep_node, (vc_node_t){.task = j, .stride = vars, .add = 1}, m.run,
                       in[j], &number, (lo + hi) / 2);
    VC_OK(dnnl_tp_graph_while(g, NULL, cond, more, body, vars, init, in, next, window, out));
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(cond);
    m.p->n = trips * vars;
    for (int k = 0; k < trips; ++k)
        for (int j = 0; j < vars; ++j) {
            m.p->ns[k * vars + j] = random_ns(&m);
            if (k) edge(&m, (k - 1) * vars + j, k * vars + j);
            if (k && j) edge(&m, (k - 1) * vars, k * vars + j);
            for (int i = 0; k >= window && i < vars; ++i) edge(&m, (k - window) * vars + i, k * vars + j);
        }
    return finish(&m);
}
static vc_program_t *make_while_wide(int w, int32_t lo, int32_t hi) { return loop_of(8, 2 * w, 1, lo, hi); }
static vc_program_t *make_while_window(int w, int32_t lo, int32_t hi) {
    return loop_of(24, w / 2 + 1, 8, lo, hi);
}

/* trips iterations that hand on a number and sleep beside each other, as many as the window. Iteration k begins when all
 * up to k - window are complete. */
static vc_program_t *make_while_free(int w, int32_t lo, int32_t hi) {
    enum { TRIPS = 48, WINDOW = 8, NODES = 3 };
    (void)w;
    make_t m = begin(TRIPS, NODES, lo, hi, true);
    dnnl_tp_graph_t g = m.p->graph, cond = region(g);
    val_t zero = number_input(&m, 0), in = input(&m, cond), out;
    val_t more = less(&m, cond, m.run, in, TRIPS);
    dnnl_tp_graph_t body = region(cond);
    val_t next = add_to(&m, body, m.run, in, 1, 1);
    (void)host(&m, body, vc_sleep_node, (vc_node_t){.stride = 1}, m.run, in, &number, (lo + hi) / 2);
    VC_OK(dnnl_tp_graph_while(g, NULL, cond, more, body, 1, &zero, &in, &next, WINDOW, &out));
    VC_OK(dnnl_tp_graph_target(g, out));
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(cond);
    for (int k = 0; k < TRIPS; ++k) {
        m.p->ns[k] = random_ns(&m);
        for (int i = 0; i <= k - WINDOW; ++i) edge(&m, i, k);
    }
    return finish(&m);
}

/* f(n): a leaf sleeps; others call f(2n) and f(2n + 1), then sleep. */
static vc_program_t *make_calls(int w, int32_t lo, int32_t hi) {
    enum { NODES = 5 }; /* the test, two numbers, an inner end and a leaf */
    int leaves = 4 * w, t = 2 * leaves - 1;
    make_t m = begin(t, NODES, lo, hi, true);
    dnnl_tp_graph_t g = m.p->graph, f;
    const dnnl_tp_tensor_info_t types[2] = {pointer, number};
    val_t args[2], out, top = number_input(&m, 1);
    VC_OK(dnnl_tp_graph_create_function(&f, g, "tree", 2, types, args, 1, &number));
    dnnl_tp_graph_t deeper = region(f), leaf = region(f);
    const double ns = (lo + hi) / 2;
    const vc_node_t by_number = {.task = -1, .stride = 1};
    val_t inner = less(&m, f, args[0], args[1], leaves), both[2];
    for (int i = 0; i < 2; ++i) {
        val_t in[2] = {args[0], add_to(&m, deeper, args[0], args[1], 2, i)};
        VC_OK(dnnl_tp_graph_call(deeper, NULL, f, 2, in, 1, &both[i]));
    }
    val_t end = host(&m, deeper, vc_sleep_node, by_number, args[0], args[1], &number, ns);
    for (int i = 0; i < 2; ++i) VC_OK(dnnl_tp_graph_control_dependency(deeper, both[i], end));
    val_t tip = host(&m, leaf, vc_sleep_node, by_number, args[0], args[1], &number, ns), result;
    VC_OK(dnnl_tp_graph_if(f, NULL, inner, deeper, leaf, 1, &end, &tip, &result));
    VC_OK(dnnl_tp_graph_output(f, result, NULL));
    val_t in[2] = {m.run, top};
    VC_OK(dnnl_tp_graph_call(g, NULL, f, 2, in, 1, &out));
    VC_OK(dnnl_tp_graph_target(g, out));
    dnnl_tp_graph_destroy(deeper);
    dnnl_tp_graph_destroy(leaf);
    dnnl_tp_graph_destroy(f);
    m.p->n = t;
    for (int i = 1; i <= t; ++i) {
        m.p->ns[i - 1] = random_ns(&m);
        if (i > 1) edge(&m, i - 1, i / 2 - 1);
    }
    return finish(&m);
}

/* ---- Loops ------------------------------------------------------------------------------------------- */

static vc_program_t *make_loop(int w, int32_t lo, int32_t hi) {
    make_t m = begin(4 * w, 0, lo, hi, false);
    for (int i = 0; i < m.p->n; ++i) m.p->ns[i] = random_ns(&m);
    return finish(&m);
}

const vc_kind_t vc_kinds[] = {
    {"bm_executor/wide", make_bm},
    {"bm_executor/deep", make_bm_deep},
    {"const_identity", make_const_identity},
    {"chain", make_chain},
    {"fan/8W", make_fan},
    {"fan/W", make_fan_even},
    {"layers/k1", make_layers1},
    {"layers/k3", make_layers3},
    {"layers/k8", make_layers8},
    {"tree", make_tree},
    {"diamonds", make_diamonds},
    {"wavefront", make_wavefront},
    {"lstm_like", make_lstm},
    {"inception_like", make_inception},
    {"skewed", make_skewed},
    {"if/wide", make_if_wide},
    {"if/chain", make_if_chain},
    {"while/wide", make_while_wide},
    {"while/window8", make_while_window},
    {"while/free8", make_while_free},
    {"calls", make_calls},
    {"loops_in/fan", make_fan_loops},
    {"loops_in/layers", make_layers_loops},
    {"loops_in/chain", make_chain_loops},
    {"loop", make_loop},
    {"four", make_four},
    {"pair", make_pair},
};
const int vc_n_kinds = sizeof vc_kinds / sizeof *vc_kinds;

const vc_kind_t *vc_kind(const char *name) {
    for (int i = 0; i < vc_n_kinds; ++i)
        if (!strcmp(vc_kinds[i].name, name)) return &vc_kinds[i];
    for (int i = 0; i < vc_n_kinds; ++i)
        if (!strncmp(vc_kinds[i].name, name, strlen(name))) return &vc_kinds[i];
    fprintf(stderr, "virtual_cores: no program %s\n", name);
    exit(2);
}
