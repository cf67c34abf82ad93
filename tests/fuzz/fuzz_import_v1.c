/* Fuzzer of the import of Switch/Merge graphs. The input is read as choices that make a list of nodes: a program of
 * conditions and loops, then damaged in a few places, or nodes at random. What is refused must be refused with
 * the name of a node, and nothing may be left behind, also when memory ends anywhere; what is accepted must
 * run as the interpreter of tokens says (v1_tokens.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "v1_tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern int fuzz_accepted; /* by the import, of all inputs so far */
int fuzz_accepted;

#define REQUIRE(cond, ...)                                   \
    do {                                                     \
        if (!(cond)) {                                       \
            fprintf(stderr, "fuzz_import_v1: " __VA_ARGS__); \
            fprintf(stderr, "\n");                           \
            print();                                         \
            abort();                                         \
        }                                                    \
    } while (0)

static v1_program_t p;
static const dnnl_tp_tensor_info_t scalar = {.ndims = 0, .data_type = dnnl_tp_s32};

static void print(void) {
    for (int i = 0; i < p.n; ++i) {
        const v1_item_t *v = &p.item[i];
        fprintf(stderr, "%2d '%s' kind %d fn %d number %d frame %d const %d:", i, v->name, (int)v->kind,
                (int)v->fn, (int)v->number, v->frame, v->is_constant);
        for (int k = 0; k < v->ndata + v->ncontrol; ++k)
            fprintf(stderr, " %s%d:%d", k < v->ndata ? "" : "^", v->in[k].node, v->in[k].out);
        fprintf(stderr, "\n");
    }
    for (int k = 0; k < p.nout; ++k) fprintf(stderr, "out %d:%d\n", p.out[k].node, p.out[k].out);
    fprintf(stderr, "error: %s\n", dnnl_tp_last_error());
}

/* ---- Choices ----------------------------------------------------------------------------------------- */

static const uint8_t *at, *end;
static int take(int n) { return at < end ? *at++ % n : 0; }

/* ---- Programs ---------------------------------------------------------------------------------------- */

enum { VALUES = 8, MOST = 40 }; /* MOST: what begins later adds at most as much again */
typedef struct {
    int n;
    v1_ref_t v[VALUES];
} values_t;
static v1_ref_t pick(const values_t *x) { return x->v[take(x->n)]; }
static void keep(values_t *x, v1_ref_t v) {
    if (x->n < VALUES) x->v[x->n++] = v;
    else x->v[take(VALUES)] = v;
}

static int add(dnnl_tp_v1_kind_t kind) {
    if (p.n == V1_NODES) abort();
    v1_item_t *v = &p.item[p.n];
    *v = (v1_item_t){.kind = kind};
    snprintf(v->name, V1_NAME, "n%d", p.n);
    return p.n++;
}
static void data(int node, v1_ref_t from) { p.item[node].in[p.item[node].ndata++] = from; }
static v1_ref_t one(dnnl_tp_v1_kind_t kind, v1_ref_t from) {
    int i = add(kind);
    data(i, from);
    return (v1_ref_t){i, 0};
}
static v1_ref_t two(dnnl_tp_v1_kind_t kind, v1_ref_t a, v1_ref_t b) {
    v1_ref_t r = one(kind, a);
    data(r.node, b);
    return r;
}
static v1_ref_t closure_of(v1_fn_t fn, int32_t number, v1_ref_t from) {
    v1_ref_t r = one(dnnl_tp_v1_host, from);
    p.item[r.node].fn = fn;
    p.item[r.node].number = number;
    return r;
}
static v1_ref_t enter(v1_ref_t from, int frame, int is_constant) {
    v1_ref_t r = one(dnnl_tp_v1_enter, from);
    p.item[r.node].frame = frame;
    p.item[r.node].is_constant = is_constant;
    p.item[r.node].window = take(4);
    return r;
}

static int frames;
static void block(values_t *x, int depth);

static void condition(values_t *x, int depth) {
    v1_ref_t pred = take(2) ? closure_of(V1_BIT, 0, pick(x)) : (v1_ref_t){take(V1_INPUTS), 0};
    if (pred.node < V1_INPUTS && depth > 0) pred = closure_of(V1_BIT, 0, pick(x)); /* maybe inside a loop */
    v1_ref_t s = two(dnnl_tp_v1_switch, pick(x), pred);
    values_t side[2];
    for (int yes = 0; yes < 2; ++yes) {
        side[yes] = (values_t){1, {{s.node, yes}}};
        if (take(2)) {
            v1_ref_t more = two(dnnl_tp_v1_switch, pick(x), pred);
            keep(&side[yes], (v1_ref_t){more.node, yes});
        }
        block(&side[yes], depth + 1);
    }
    for (int k = 1 + take(2); k > 0; --k) keep(x, two(dnnl_tp_v1_merge, pick(&side[0]), pick(&side[1])));
}

/* A counter and up to two more variables; the test reads the counter. */
static void loop(values_t *x, int depth) {
    enum { VARS = 3 };
    int frame = frames++, n = 1 + take(VARS), zero = add(dnnl_tp_v1_constant);
    v1_ref_t var[VARS], out[VARS] = {{0, 0}};
    values_t in = {0}, body = {0};
    for (int i = 0; i < n; ++i) {
        v1_ref_t first = enter(i ? pick(x) : (v1_ref_t){zero, 0}, frame, 0);
        var[i] = two(dnnl_tp_v1_merge, first, first); /* the NextIteration is not there yet */
        keep(&in, var[i]);
    }
    if (take(2)) keep(&in, enter(pick(x), frame, 1));
    v1_ref_t test = one(dnnl_tp_v1_loop_cond, closure_of(V1_LESS, take(4), var[0]));
    if (take(3) == 0) keep(&in, closure_of(V1_MIX, 0, pick(&in))); /* in each test */
    for (int i = 0; i < n; ++i) {
        out[i] = two(dnnl_tp_v1_switch, var[i], test);
        keep(&body, (v1_ref_t){out[i].node, 1});
    }
    v1_ref_t count = closure_of(V1_INC, 0, (v1_ref_t){out[0].node, 1});
    block(&body, depth + 1);
    for (int i = 0; i < n; ++i) {
        v1_ref_t next = one(dnnl_tp_v1_next_iteration, i ? pick(&body) : count);
        p.item[var[i].node].in[1] = next;
    }
    for (int i = 0; i < n; ++i) keep(x, one(dnnl_tp_v1_exit, out[i]));
}

static void block(values_t *x, int depth) {
    for (int steps = 1 + take(3); steps > 0 && p.n < MOST; --steps) {
        v1_ref_t v;
        switch (take(depth < 3 ? 8 : 4)) {
        case 0:
        case 1: v = closure_of(V1_MIX, 0, pick(x)); break;
        case 2:
            v = closure_of(V1_MIX, 0, pick(x));
            data(v.node, pick(x));
            break;
        case 3: v = one(dnnl_tp_v1_identity, pick(x)); break;
        case 4:
        case 5: condition(x, depth); continue;
        default:
            if (frames < V1_FRAMES) loop(x, depth);
            continue;
        }
        if (take(4) == 0) { /* after another one */
            v1_item_t *i = &p.item[v.node];
            i->in[i->ndata + i->ncontrol++] = pick(x);
        }
        keep(x, v);
    }
}

static v1_ref_t any_ref(void) {
    int i = take(p.n + 1);
    if (i == p.n) return (v1_ref_t){take(8) ? i - 1 : -1, 0};
    return (v1_ref_t){i, take(4) == 0};
}

static void damage(void) {
    v1_item_t *v = &p.item[take(p.n)];
    int all = v->ndata + v->ncontrol;
    switch (take(12)) {
    case 0:
    case 1:
    case 2:
        if (all) v->in[take(all)] = any_ref();
        break;
    case 3: v->kind = (dnnl_tp_v1_kind_t)take(dnnl_tp_v1_loop_cond + 2); break;
    case 4:
        if (all < V1_IN) v->in[v->ndata + v->ncontrol++] = any_ref();
        break;
    case 5:
        if (v->ncontrol) --v->ncontrol;
        else if (v->ndata) --v->ndata;
        break;
    case 6: memcpy(v->name, p.item[take(p.n)].name, V1_NAME); break;
    case 7: v->frame = take(V1_FRAMES + 1) - 1; break;
    case 8: v->is_constant = !v->is_constant; break;
    case 9:
        if (v->ndata == 2) {
            v1_ref_t x = v->in[0];
            v->in[0] = v->in[1];
            v->in[1] = x;
        }
        break;
    case 10:
        if (v->ncontrol == 0 && v->ndata < V1_IN) data((int)(v - p.item), any_ref());
        break;
    default: v->name[take(3)] = (char)take(256); break;
    }
}

static void random_nodes(void) {
    int n = 1 + take(MOST);
    for (int i = 0; i < n; ++i) add((dnnl_tp_v1_kind_t)take(dnnl_tp_v1_loop_cond + 1));
    for (int i = V1_INPUTS; i < p.n; ++i) {
        static const int want[] = {0, 0, 1, -1, 1, 0, 2, -1, 1, 1, 1, 1};
        v1_item_t *v = &p.item[i];
        int k = want[v->kind] >= 0 && take(16) ? want[v->kind] : take(4);
        v->fn = (v1_fn_t)take(V1_FNS);
        v->number = take(4);
        v->frame = take(V1_FRAMES);
        while (k-- > 0) v->in[v->ndata++] = any_ref();
        if (take(4) == 0) v->in[v->ndata + v->ncontrol++] = any_ref();
    }
}

/* ---- The import -------------------------------------------------------------------------------------- */

static uint64_t trace_sum;
static int drops;
static void dropped(void *arg) {
    (void)arg;
    ++drops;
}
static dnnl_tp_status_t closure(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    int node = (int)(intptr_t)arg;
    int32_t x[V1_IN] = {0};
    (void)should_stop, (void)nout;
    for (int i = 0; i < nin; ++i) memcpy(&x[i], in[i].data, sizeof *x);
    int32_t y = v1_compute(&p.item[node], node, nin, x);
    memcpy(out[0].data, &y, sizeof y);
    __atomic_fetch_add(&trace_sum, v1_trace(node, y), __ATOMIC_RELAXED);
    return dnnl_tp_success;
}

static struct { long live, until; /* blocks; allocations until one fails, < 0: none */ } memory = {0, -1};
static void *counted_alloc(void *ctx, size_t size, size_t alignment) {
    void *block = NULL;
    (void)ctx;
    if (memory.until >= 0 && memory.until-- == 0) return NULL;
    if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size)) return NULL;
    __atomic_fetch_add(&memory.live, 1, __ATOMIC_RELAXED);
    return block;
}
static void counted_free(void *ctx, void *block) {
    (void)ctx;
    if (block) __atomic_fetch_sub(&memory.live, 1, __ATOMIC_RELAXED);
    free(block);
}

static dnnl_tp_v1_node_t nodes[V1_NODES];
static char in_text[V1_NODES][V1_IN][V1_NAME + 8], out_text[V1_OUT][V1_NAME + 8];
static const char *in[V1_NODES][V1_IN], *out[V1_OUT];

static void write_ref(char *text, v1_ref_t x, bool is_control) {
    const char *name = x.node < 0 ? "gone" : p.item[x.node].name;
    if (x.out && !is_control) snprintf(text, V1_NAME + 8, "%s:%d", name, x.out);
    else snprintf(text, V1_NAME + 8, "%s%s", is_control ? "^" : "", name);
}

static void write_nodes(void) {
    static const char *const frame_names[] = {"f", "g", "h"};
    static const dnnl_tp_op_kind_t ops[] = {dnnl_tp_op_add, dnnl_tp_op_relu, dnnl_tp_op_matmul,
                                            (dnnl_tp_op_kind_t)77777};
    for (int i = 0; i < p.n; ++i) {
        v1_item_t *v = &p.item[i];
        for (int k = 0; k < v->ndata + v->ncontrol; ++k) {
            write_ref(in_text[i][k], v->in[k], k >= v->ndata);
            in[i][k] = in_text[i][k];
        }
        nodes[i] = (dnnl_tp_v1_node_t){.name = v->name,
                                       .kind = v->kind,
                                       .nin = v->ndata + v->ncontrol,
                                       .in = in[i],
                                       .op = ops[v->number & 3],
                                       .fn = closure,
                                       .arg = (void *)(intptr_t)i,
                                       .drop = dropped,
                                       .nout = 1,
                                       .out_info = &scalar,
                                       .info = scalar,
                                       .data = &v->number,
                                       .frame = v->frame < 0 ? NULL : frame_names[v->frame],
                                       .is_constant = v->is_constant,
                                       .parallel_iterations = v->window};
    }
    for (int k = 0; k < p.nout; ++k) {
        write_ref(out_text[k], p.out[k], false);
        out[k] = out_text[k];
    }
}
static dnnl_tp_status_t import(dnnl_tp_graph_t *graph) {
    const char *target = p.item[p.n - 1].name;
    drops = 0;
    return dnnl_tp_graph_import_v1(graph, dnnl_tp_cpu, p.n, nodes, p.nout, out, p.n % 2, &target);
}

static int closures(void) {
    int n = 0;
    for (int i = 0; i < p.n; ++i) n += p.item[i].kind == dnnl_tp_v1_host;
    return n;
}

/* The text of a refusal has the name of a node or of an output in quotes. */
static bool names_a_node(void) {
    char quoted[V1_NAME + 16];
    const char *text = dnnl_tp_last_error();
    for (int i = 0; i < p.n; ++i) {
        snprintf(quoted, sizeof quoted, "'%s'", p.item[i].name);
        if (strstr(text, quoted)) return true;
    }
    for (int k = 0; k < p.nout; ++k) {
        snprintf(quoted, sizeof quoted, "'%s'", out_text[k]);
        if (strstr(text, quoted)) return true;
    }
    return strstr(text, "has no name") != NULL; /* with its number */
}

/* ---- Running ----------------------------------------------------------------------------------------- */

static dnnl_tp_engine_t engine;
static dnnl_tp_stream_attr_t attr[2];
static dnnl_tp_stream_t stream[2]; /* the calling thread alone; a pool */

static void check_run(dnnl_tp_executable_t e, int where, const int32_t *x) {
    static v1_result_t want; /* not small */
    v1_interpret(&p, x, &want);
    if (want.unsure) return;
    int32_t y[V1_OUT] = {0}, given[V1_NODES];
    void *arg[V1_NODES], *to[V1_OUT];
    int nin = 0;
    for (int i = 0; i < p.n; ++i)
        if (p.item[i].kind == dnnl_tp_v1_input)
            given[nin] = x[(unsigned)p.item[i].number % V1_INPUTS], arg[nin] = &given[nin], ++nin;
    for (int k = 0; k < p.nout; ++k) to[k] = &y[k];
    trace_sum = 0;
    dnnl_tp_status_t status = dnnl_tp_executable_run(e, stream[where], nin, arg, p.nout, to, NULL);
    bool bad = want.crowd;
    for (int k = 0; k < p.nout; ++k) bad |= want.dead[k];
    if (bad) {
        REQUIRE(status == dnnl_tp_invalid_graph, "a run that must fail: %s", dnnl_tp_status2str(status));
        REQUIRE(names_a_node() || strchr(dnnl_tp_last_error(), ':'), "no name");
        return;
    }
    REQUIRE(status == dnnl_tp_success, "a run: %s", dnnl_tp_status2str(status));
    for (int k = 0; k < p.nout; ++k)
        REQUIRE(y[k] == want.out[k], "inputs %d %d %d: output %d is %d, not %d", (int)x[0], (int)x[1],
                (int)x[2], k, (int)y[k], (int)want.out[k]);
    REQUIRE(trace_sum == want.trace, "inputs %d %d %d: other closures ran", (int)x[0], (int)x[1], (int)x[2]);
}

static void check_runs(dnnl_tp_graph_t graph, unsigned how) {
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS, DNNL_TP_COMPILE_NO_FUSION, 0};
    for (int i = 0; i < p.n; ++i)
        if (p.item[i].kind == dnnl_tp_v1_op) return; /* its shapes are known, but not what it makes */
    if (p.nout == 0) return;                         /* maybe nothing to compute */
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {
        .struct_size = sizeof o, .stream_attr = attr[how & 1], .flags = flags[how >> 1 & 3]};
    dnnl_tp_status_t status = dnnl_tp_executable_compile(&e, graph, engine, 0, NULL, &o);
    REQUIRE(status == dnnl_tp_success, "compilation: %s", dnnl_tp_status2str(status));
    for (int32_t choice = 0; choice < 4; ++choice)
        check_run(e, (int)(how & 1), (const int32_t[]){choice & 1, choice >> 1, 5});
    dnnl_tp_executable_destroy(e);
}

static void set_up(void) {
    static const dnnl_tp_allocator_t counted = {
        .struct_size = sizeof counted, .alloc = counted_alloc, .free = counted_free};
    bool ok = dnnl_tp_set_allocator(&counted) == dnnl_tp_success &&
              dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0) == dnnl_tp_success;
    for (int i = 0; i < 2; ++i) {
        ok = ok && dnnl_tp_stream_attr_create(&attr[i], dnnl_tp_cpu) == dnnl_tp_success;
        if (i && DNNL_TP_WITH_THREADPOOL) {
            dnnl_tp_threadpool_t pool;
            dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2};
            ok = ok && dnnl_tp_threadpool_create(&pool, &o) == dnnl_tp_success &&
                 dnnl_tp_stream_attr_set_builtin_threadpool(attr[i], pool) == dnnl_tp_success &&
                 dnnl_tp_threadpool_destroy(pool) == dnnl_tp_success;
        } else {
            ok = ok && dnnl_tp_stream_attr_set_threadpool(attr[i], NULL) == dnnl_tp_success;
        }
        ok = ok && dnnl_tp_stream_create_v2(&stream[i], engine, 0, attr[i]) == dnnl_tp_success;
    }
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    enum { MOST_ALLOCATIONS = 2000 };
    if (!engine) set_up();
    at = bytes;
    end = bytes + size;
    unsigned how = (unsigned)take(256);
    memset(&p, 0, sizeof p);
    frames = 0;
    for (int i = 0; i < V1_INPUTS; ++i) p.item[add(dnnl_tp_v1_input)].number = i;
    if (how >> 3 & 3) {
        values_t x = {V1_INPUTS, {{0, 0}, {1, 0}, {2, 0}}};
        block(&x, 0);
        p.nout = 1 + take(V1_OUT);
        for (int k = 0; k < p.nout; ++k) p.out[k] = pick(&x);
        for (int n = take(4); n > 0; --n) damage();
    } else {
        random_nodes();
        p.nout = take(V1_OUT);
        for (int k = 0; k < p.nout; ++k) p.out[k] = any_ref();
    }
    write_nodes();
    const int owned = closures();
    long live = memory.live;
    dnnl_tp_graph_t graph;
    for (long n = how >> 5 ? MOST_ALLOCATIONS : 0; n < MOST_ALLOCATIONS; ++n) {
        memory.until = n;
        dnnl_tp_status_t status = import(&graph);
        memory.until = -1;
        if (status != dnnl_tp_out_of_memory) { /* there was enough */
            dnnl_tp_graph_destroy(graph);
            break;
        }
        REQUIRE(!graph && drops == owned && memory.live == live, "memory ends at allocation %ld", n);
    }
    dnnl_tp_status_t status = import(&graph);
    if (status == dnnl_tp_success) {
        ++fuzz_accepted;
        REQUIRE(graph && drops == 0, "accepted");
        check_runs(graph, how);
        dnnl_tp_graph_destroy(graph);
    } else {
        REQUIRE(!graph, "refused, and a graph");
        REQUIRE(names_a_node(), "refused without a name: %s", dnnl_tp_status2str(status));
    }
    REQUIRE(drops == owned, "%d of %d closures were dropped", drops, owned);
    REQUIRE(memory.live == live, "%ld blocks are left", memory.live - live);
    return 0;
}
