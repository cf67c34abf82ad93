/* Switch/Merge graphs without structure: hand-made and random ones against a sequential interpreter of tokens
 * that are alive or dead, for all predicates, on 1 to 4 threads: results, which operators ran and after which
 * others, and the name in the error where two inputs of a Merge are alive or an output is dead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "switch_merge/dnnl_tp_switch_merge.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/check.h"

#define OK CHECK_OK

enum { MAX_NODES = 100, MAX_IN = 6, NAME = 16, PREDS = 4, CHOICES = 1 << PREDS, MAX_T = 4, MAX_OUT = 5 };

static dnnl_tp_engine_t engine;
static dnnl_tp_threadpool_t pool[MAX_T + 1];
static dnnl_tp_stream_t stream[MAX_T + 1];
static dnnl_tp_stream_attr_t attr[MAX_T + 1];

static int setup(void **state) {
    (void)state;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int t = 1; t <= MAX_T; ++t) {
        OK(dnnl_tp_stream_attr_create(&attr[t], dnnl_tp_cpu));
        if (DNNL_TP_WITH_THREADPOOL) {
            dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = t};
            OK(dnnl_tp_threadpool_create(&pool[t], &o));
            OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr[t], pool[t]));
        }
        OK(dnnl_tp_stream_create_v2(&stream[t], engine, dnnl_tp_stream_in_order, attr[t]));
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int t = 1; t <= MAX_T; ++t) {
        dnnl_tp_stream_destroy(stream[t]);
        dnnl_tp_stream_attr_destroy(attr[t]);
        if (pool[t]) dnnl_tp_threadpool_destroy(pool[t]);
    }
    dnnl_tp_engine_destroy(engine);
    return 0;
}

/* ---- A graph and its interpreter --------------------------------------------------------------------- */

typedef struct {
    uint64_t bits[2];
} set_t;
static void add_to(set_t *a, const set_t *b) { a->bits[0] |= b->bits[0], a->bits[1] |= b->bits[1]; }

static char names_of[MAX_NODES][NAME];

/* All of one graph, for all choices of the predicates at once. */
static struct {
    int n;
    dnnl_tp_v1_node_t node[MAX_NODES];
    char in_text[MAX_NODES][MAX_IN][NAME];
    const char *in[MAX_NODES][MAX_IN];
    int32_t constant[MAX_NODES];
    uint32_t live[MAX_NODES][2],
        ran[MAX_NODES];        /* bit: choice; of outputs (no Switch: both the same), nodes */
    uint32_t crowd[MAX_NODES]; /* Merges: two live inputs */
    uint32_t bad;              /* choices with such a Merge */
    int32_t value[MAX_NODES][CHOICES];
    set_t behind[MAX_NODES][CHOICES]; /* closures that have run before what comes out of it */
    uint64_t hash[CHOICES];
    int choice; /* of the run */
    _Atomic uint64_t sum;
    _Atomic uint8_t done[MAX_NODES];
    _Atomic int early;
} g;

static int32_t mix(int number, int nin, const int32_t *in) {
    uint32_t x = (uint32_t)number * 2654435761u;
    for (int i = 0; i < nin; ++i) x = (x ^ (uint32_t)in[i]) * 0x9e3779b1u + 12345u, x ^= x >> 15;
    return (int32_t)(x >> 9 & 0xff);
}
static uint64_t trace(int number, int32_t result) {
    return ((uint64_t)(unsigned)number << 20 | (uint64_t)(unsigned)result) * 0x9e3779b97f4a7c15u;
}

static dnnl_tp_status_t closure(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)should_stop, (void)nout;
    int number = (int)(intptr_t)arg;
    int32_t x[MAX_IN];
    const set_t *before = &g.behind[number][g.choice];
    for (int i = 0; i < g.n; ++i)
        if (i != number && (before->bits[i / 64] >> (i % 64) & 1) && !atomic_load(&g.done[i]))
            g.early = number + 1;
    for (int i = 0; i < nin; ++i) memcpy(&x[i], in[i].data, sizeof *x);
    int32_t y = mix(number, nin, x);
    memcpy(out[0].data, &y, sizeof y);
    atomic_fetch_add(&g.sum, trace(number, y));
    atomic_store(&g.done[number], 1);
    return dnnl_tp_success;
}

typedef struct {
    int node, out;
} ref_t;

static const dnnl_tp_tensor_info_t scalar = {.ndims = 0, .data_type = dnnl_tp_s32};

/* Adds a node and interprets it; inputs: data, then control (by node). */
static int add(dnnl_tp_v1_kind_t kind, const char *name, int ndata, const ref_t *data, int ncontrol,
               const int *control) {
    int i = g.n++;
    dnnl_tp_v1_node_t *v = &g.node[i];
    memset(v, 0, sizeof *v);
    if (name) snprintf(names_of[i], NAME, "%s", name);
    else snprintf(names_of[i], NAME, "n%d", i);
    for (int k = 0; k < ndata + ncontrol; ++k) {
        if (k >= ndata) snprintf(g.in_text[i][k], NAME, "^%.12s", names_of[control[k - ndata]]);
        else if (data[k].out || k % 2)
            snprintf(g.in_text[i][k], NAME, "%.12s:%d", names_of[data[k].node], data[k].out & 1);
        else snprintf(g.in_text[i][k], NAME, "%s", names_of[data[k].node]);
        g.in[i][k] = g.in_text[i][k];
    }
    *v = (dnnl_tp_v1_node_t){
        .name = names_of[i], .kind = kind, .nin = ndata + ncontrol, .in = g.in[i], .info = scalar};
    if (kind == dnnl_tp_v1_constant) v->data = &g.constant[i];
    if (kind == dnnl_tp_v1_host)
        v->fn = closure, v->arg = (void *)(intptr_t)i, v->nout = 1, v->out_info = &scalar;
    g.live[i][0] = g.live[i][1] = g.ran[i] = g.crowd[i] = 0;
    for (unsigned c = 0; c < CHOICES; ++c) {
        int nlive = 0, which = 0;
        int32_t x[MAX_IN] = {0};
        set_t *behind = &g.behind[i][c];
        *behind = (set_t){{0, 0}};
        for (int k = 0; k < ndata; ++k) {
            bool is_live = g.live[data[k].node][data[k].out] >> c & 1;
            if (is_live) which = nlive++ ? which : k;
            x[k] = g.value[data[k].node][c];
        }
        bool alive = kind == dnnl_tp_v1_merge ? nlive > 0 : nlive == ndata;
        /* Where both sides are the same value, nobody waits for the predicate. */
        for (int k = 0; k < (kind == dnnl_tp_v1_switch ? 1 : ndata); ++k)
            if (kind != dnnl_tp_v1_merge || k == which) add_to(behind, &g.behind[data[k].node][c]);
        for (int k = 0; k < ncontrol; ++k) {
            bool is_live = g.ran[control[k]] >> c & 1;
            if (is_live) add_to(behind, &g.behind[control[k]][c]);
            else if (kind != dnnl_tp_v1_merge) alive = false;
        }
        g.value[i][c] = kind == dnnl_tp_v1_constant ? g.constant[i] : x[kind == dnnl_tp_v1_merge ? which : 0];
        if (!alive) continue;
        uint32_t bit = (uint32_t)1 << c;
        g.ran[i] |= bit;
        bool both = kind != dnnl_tp_v1_switch;
        if (both || !x[1]) g.live[i][0] |= bit;
        if (both || x[1]) g.live[i][1] |= bit;
        if (kind == dnnl_tp_v1_merge && nlive > 1) g.crowd[i] |= bit, g.bad |= bit;
        if (kind != dnnl_tp_v1_host) continue;
        g.value[i][c] = mix(i, ndata, x);
        g.hash[c] += trace(i, g.value[i][c]);
        behind->bits[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return i;
}

static void begin(void) {
    memset(&g, 0, sizeof g);
    for (int p = 0; p < PREDS; ++p) {
        char name[NAME];
        snprintf(name, NAME, "p%d", p);
        int i = add(dnnl_tp_v1_input, name, 0, NULL, 0, NULL);
        g.live[i][0] = g.live[i][1] = g.ran[i] = (1u << CHOICES) - 1;
        for (int c = 0; c < CHOICES; ++c) g.value[i][c] = c >> p & 1;
    }
}

/* ---- Running ----------------------------------------------------------------------------------------- */

static void run_choice(dnnl_tp_executable_t e, int t, int nout, const ref_t *out, const char *const *names,
                       const char *what) {
    int32_t x[PREDS], y[MAX_OUT];
    void *in[PREDS], *to[MAX_OUT];
    for (int p = 0; p < PREDS; ++p) x[p] = g.choice >> p & 1, in[p] = &x[p];
    for (int k = 0; k < nout; ++k) y[k] = -1, to[k] = &y[k];
    for (int i = 0; i < g.n; ++i) g.done[i] = 0;
    g.sum = 0;
    g.early = 0;
    dnnl_tp_status_t status = dnnl_tp_executable_run(e, stream[t], PREDS, in, nout, to, NULL);
    uint32_t bit = (uint32_t)1 << g.choice;
    bool wrong = (g.bad & bit) != 0;
    for (int k = 0; k < nout; ++k) wrong |= !(g.live[out[k].node][out[k].out] & bit);
    if (wrong) {
        bool named = false;
        char text[64];
        for (int i = 0; i < g.n; ++i) {
            snprintf(text, sizeof text, "'%.15s: two inputs of the Merge are alive'", names_of[i]);
            named |= (g.crowd[i] & bit) && strstr(dnnl_tp_last_error(), text);
        }
        for (int k = 0; k < nout; ++k) {
            snprintf(text, sizeof text, "'%.15s: the output is dead'", names[k]);
            named |= !(g.live[out[k].node][out[k].out] & bit) && strstr(dnnl_tp_last_error(), text);
        }
        if (status != dnnl_tp_invalid_graph || !named)
            fail_msg("%s, choice %d, %d threads: %s: %s", what, g.choice, t, dnnl_tp_status2str(status),
                     dnnl_tp_last_error());
        return;
    }
    if (status != dnnl_tp_success)
        fail_msg("%s, choice %d, %d threads: %s", what, g.choice, t, dnnl_tp_last_error());
    if (g.sum != g.hash[g.choice])
        fail_msg("%s, choice %d, %d threads: other operators ran", what, g.choice, t);
    if (g.early)
        fail_msg("%s, choice %d, %d threads: %s ran too early", what, g.choice, t, names_of[g.early - 1]);
    for (int k = 0; k < nout; ++k)
        if (y[k] != g.value[out[k].node][g.choice])
            fail_msg("%s, choice %d, %d threads: %s is %d, not %d", what, g.choice, t, names[k], (int)y[k],
                     (int)g.value[out[k].node][g.choice]);
}

/* Imports forwards or backwards (the inputs stay in front) and runs for all predicates; false: refused,
 * rightly. */
static bool check(const char *what, int nout, const ref_t *out, int turn) {
    dnnl_tp_v1_node_t nodes[MAX_NODES];
    char text[MAX_OUT][NAME];
    const char *names[MAX_OUT];
    for (int i = 0; i < g.n; ++i) nodes[i] = g.node[i < PREDS || turn % 2 == 0 ? i : PREDS + g.n - 1 - i];
    for (int k = 0; k < nout; ++k) {
        snprintf(text[k], NAME, "%.12s:%d", names_of[out[k].node],
                 g.node[out[k].node].kind == dnnl_tp_v1_switch ? out[k].out : 0);
        names[k] = text[k];
    }
    dnnl_tp_graph_t graph;
    dnnl_tp_status_t status = dnnl_tp_graph_import_v1(&graph, dnnl_tp_cpu, g.n, nodes, nout, names, 0, NULL);
    if (status != dnnl_tp_success) {
        for (int i = 0; i < g.n; ++i) { /* never one input alone */
            char merge[64];
            snprintf(merge, sizeof merge, "node '%.15s' (Merge): two of its inputs are alive", names_of[i]);
            if (strstr(dnnl_tp_last_error(), merge)) {
                assert_true(g.crowd[i] == g.ran[i]);
                return false;
            }
        }
        fail_msg("%s: %s", what, dnnl_tp_last_error());
    }
    /* Without pools of one's own there is one number of threads. */
    for (int k = 0; k < (DNNL_TP_WITH_THREADPOOL ? 2 : 1); ++k) {
        int t = 1 + (turn + 2 * k) % MAX_T;
        static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS, DNNL_TP_COMPILE_NO_FUSION};
        dnnl_tp_executable_t e;
        dnnl_tp_compile_opts_t o = {
            .struct_size = sizeof o, .stream_attr = attr[t], .flags = flags[(turn / 4 + k) % 3]};
        OK(dnnl_tp_executable_compile(&e, graph, engine, 0, NULL, &o));
        for (g.choice = 0; g.choice < CHOICES; ++g.choice) run_choice(e, t, nout, out, names, what);
        dnnl_tp_executable_destroy(e);
    }
    OK(dnnl_tp_graph_destroy(graph));
    return true;
}

/* ---- Made by hand ------------------------------------------------------------------------------------ */

#define REF(n, o) ((ref_t){n, o})
#define HOST(...)                                                                           \
    add(dnnl_tp_v1_host, NULL, (int)(sizeof((const ref_t[]){__VA_ARGS__}) / sizeof(ref_t)), \
        (const ref_t[]){__VA_ARGS__}, 0, NULL)
#define SWITCH(x, p) add(dnnl_tp_v1_switch, NULL, 2, (const ref_t[]){x, p}, 0, NULL)
#define MERGE(...)                                                                           \
    add(dnnl_tp_v1_merge, NULL, (int)(sizeof((const ref_t[]){__VA_ARGS__}) / sizeof(ref_t)), \
        (const ref_t[]){__VA_ARGS__}, 0, NULL)

static void test_by_hand(void **state) {
    (void)state;
    ref_t out[MAX_OUT];
    /* Outputs of one Switch in several Merges. */
    begin();
    int x = HOST(REF(0, 0), REF(1, 0), REF(2, 0)), s = SWITCH(REF(x, 0), REF(0, 0));
    int a = HOST(REF(s, 1)), b = HOST(REF(s, 0)), c = HOST(REF(s, 0), REF(b, 0));
    out[0] = REF(MERGE(REF(a, 0), REF(s, 0)), 0);
    out[1] = REF(MERGE(REF(b, 0), REF(s, 1)), 0);
    out[2] = REF(MERGE(REF(c, 0), REF(a, 0)), 0);
    out[3] = REF(HOST(out[0], out[1], out[2]), 0);
    assert_true(check("one Switch, three Merges", 4, out, 0));
    /* A Merge of three: p, not p and q, neither. */
    begin();
    x = HOST(REF(2, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    int s2 = SWITCH(REF(s, 0), REF(1, 0));
    a = HOST(REF(s, 1)), b = HOST(REF(s2, 1)), c = HOST(REF(s2, 0));
    out[0] = REF(MERGE(REF(a, 0), REF(b, 0), REF(c, 0)), 0);
    assert_true(check("a Merge of three", 1, out, 1));
    /* Not nested: a is alive with p, b with p and q; Merges of p's sides with q's in them. */
    begin();
    x = HOST(REF(2, 0), REF(3, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    s2 = SWITCH(REF(x, 0), REF(1, 0));
    int pq = SWITCH(REF(s, 1), REF(1, 0)), np_q = SWITCH(REF(s2, 1), REF(0, 0));
    a = HOST(REF(pq, 1)), b = HOST(REF(np_q, 0)), c = HOST(REF(s2, 0));
    int q = MERGE(REF(a, 0), REF(b, 0)); /* alive with q */
    int d = HOST(REF(q, 0), REF(s2, 1));
    out[0] = REF(MERGE(REF(d, 0), REF(c, 0)), 0);
    int e = MERGE(REF(pq, 0), REF(s, 0)); /* not p, or not q */
    out[1] = REF(MERGE(REF(e, 0), REF(a, 0)), 0);
    assert_true(check("crossed predicates", 2, out, 0));
    /* A branch that ends nowhere; one that needs both sides and never runs. */
    begin();
    x = HOST(REF(1, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    (void)HOST(REF(s, 1), REF(x, 0));
    (void)HOST(REF(s, 1), REF(s, 0));
    int dead_pred = SWITCH(REF(x, 0), REF(HOST(REF(s, 0)), 0)); /* on a predicate that may be dead */
    (void)HOST(REF(dead_pred, 0));
    out[0] = REF(HOST(REF(x, 0)), 0);
    assert_true(check("dead ends", 1, out, 1));
    /* Predicates that are computed behind Merges, and in branches. */
    begin();
    x = HOST(REF(1, 0), REF(2, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    a = HOST(REF(s, 1)), b = HOST(REF(s, 0));
    s2 = SWITCH(REF(a, 0), REF(1, 0));
    int s3 = SWITCH(REF(b, 0), REF(2, 0));
    int m = MERGE(REF(s2, 1), REF(s3, 1)), rest = MERGE(REF(s2, 0), REF(s3, 0));
    int s4 = SWITCH(REF(x, 0), REF(m, 0)); /* alive with m */
    c = HOST(REF(s4, 0)), d = HOST(REF(s4, 1));
    out[0] = REF(MERGE(REF(c, 0), REF(d, 0), REF(rest, 0)), 0);
    assert_true(check("predicates of Merges", 1, out, 0));
}

static void test_mistakes(void **state) {
    (void)state;
    ref_t out[MAX_OUT];
    /* Two live inputs when p and q. */
    begin();
    int x = HOST(REF(2, 0)), s = SWITCH(REF(x, 0), REF(0, 0)), s2 = SWITCH(REF(x, 0), REF(1, 0));
    int rest = SWITCH(REF(s, 0), REF(1, 0));
    out[0] = REF(MERGE(REF(s, 1), REF(s2, 1), REF(rest, 0)), 0);
    assert_true(g.bad != 0 && g.bad != (1u << CHOICES) - 1);
    assert_true(check("two live inputs", 1, out, 0));
    /* An output that is dead with not p. */
    begin();
    x = HOST(REF(2, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    out[0] = REF(s, 1);
    out[1] = REF(HOST(REF(s, 1)), 0);
    assert_true(check("a dead output", 2, out, 0));
    /* Always two; never alive. */
    begin();
    x = HOST(REF(2, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    out[0] = REF(MERGE(REF(s, 1), REF(HOST(REF(s, 1)), 0)), 0);
    assert_false(check("always two", 1, out, 0));
    begin();
    x = HOST(REF(2, 0));
    s = SWITCH(REF(x, 0), REF(0, 0));
    out[0] = REF(HOST(REF(s, 0), REF(s, 1)), 0);
    dnnl_tp_graph_t graph;
    const char *name = names_of[out[0].node];
    CHECK_STATUS(dnnl_tp_graph_import_v1(&graph, dnnl_tp_cpu, g.n, g.node, 1, &name, 0, NULL),
                 dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "is never alive"));
    assert_null(graph);
}

/* ---- Random ------------------------------------------------------------------------------------------ */

static ref_t any(test_rng_t *r) {
    for (;;) {
        int i = (int)(test_rand(r) % (uint64_t)g.n);
        if (test_rand(r) % 3 && i < g.n / 2) continue; /* rather the younger ones */
        if (g.node[i].kind == dnnl_tp_v1_no_op) continue;
        int out = g.node[i].kind == dnnl_tp_v1_switch ? (int)(test_rand(r) % 2) : 0;
        if (g.live[i][out] || test_rand(r) % 8 == 0) return REF(i, out);
    }
}

static void random_merge(test_rng_t *r) {
    ref_t in[MAX_IN];
    int n = 2 + (int)(test_rand(r) % 3 == 0) + (int)(test_rand(r) % 9 == 0), have = 0;
    bool careless = test_rand(r) % 50 == 0;
    uint32_t live = 0;
    for (int tries = 0; tries < 200 && have < n; ++tries) {
        ref_t x = any(r);
        uint32_t mask = g.live[x.node][x.out];
        if ((mask & live) && !careless) continue;
        live |= mask;
        in[have++] = x;
    }
    if (!have) return;
    int control = (int)(test_rand(r) % (uint64_t)g.n), ncontrol = test_rand(r) % 8 == 0;
    (void)add(dnnl_tp_v1_merge, NULL, have, in, ncontrol, &control);
}

static void random_graph(test_rng_t *r, int size) {
    begin();
    for (int k = 0; k < 2; ++k) (void)HOST(any(r));
    while (g.n < size) {
        ref_t in[3] = {any(r), any(r), any(r)};
        int control[2] = {(int)(test_rand(r) % (uint64_t)g.n), (int)(test_rand(r) % (uint64_t)g.n)};
        int ncontrol = test_rand(r) % 6 == 0 ? 1 + (int)(test_rand(r) % 2) : 0;
        switch (test_rand(r) % 12) {
        case 0:
        case 1:
        case 2: {
            /* Often the same predicate: then values meet again. */
            ref_t p = test_rand(r) % 4 ? REF((int)(test_rand(r) % PREDS), 0) : in[1];
            (void)add(dnnl_tp_v1_switch, NULL, 2, (const ref_t[]){in[0], p}, ncontrol, control);
            break;
        }
        case 3:
        case 4:
        case 5: random_merge(r); break;
        case 6: (void)add(dnnl_tp_v1_identity, NULL, 1, in, ncontrol, control); break;
        case 7:
            if (test_rand(r) % 2) {
                (void)add(dnnl_tp_v1_no_op, NULL, 0, NULL, 2, control);
            } else {
                g.constant[g.n] = (int32_t)(test_rand(r) % 3);
                (void)add(dnnl_tp_v1_constant, NULL, 0, NULL, 1, control);
            }
            break;
        default: (void)add(dnnl_tp_v1_host, NULL, 1 + (int)(test_rand(r) % 3), in, ncontrol, control);
        }
    }
}

static void test_random(void **state) {
    (void)state;
    /* OpenMP's threads wait for each other at every run of one thread. */
    enum { GRAPHS = DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_THREADPOOL ? 160 : 40 };
    int refused = 0, wrong = 0;
    for (uint64_t k = 0; k < GRAPHS; ++k) {
        test_rng_t r = test_rng(k + 1);
        random_graph(&r, 10 + (int)(k % 70));
        ref_t out[MAX_OUT];
        int nout = 0;
        bool all = k % 4 != 0; /* only outputs that are always alive */
        for (int tries = 0; tries < 300 && nout < MAX_OUT; ++tries) {
            ref_t x = any(&r);
            uint32_t live = g.live[x.node][x.out] | g.bad;
            bool twice = false;
            for (int o = 0; o < nout; ++o) twice |= out[o].node == x.node && out[o].out == x.out;
            if (!twice && g.live[x.node][x.out] && (!all || live == (1u << CHOICES) - 1)) out[nout++] = x;
        }
        char what[32];
        snprintf(what, sizeof what, "graph %d", (int)k);
        wrong += g.bad != 0;
        refused += !check(what, nout, out, (int)k);
    }
    print_message("%d graphs, %d with mistakes, %d refused\n", (int)GRAPHS, wrong, refused);
    assert_true(refused < GRAPHS / 4 && wrong >= refused && wrong < GRAPHS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_mistakes),
                                       cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
