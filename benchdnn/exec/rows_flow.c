/* Control flow: If, While, functions. Every node is a host closure that adds one to a number, so each run's
 * results tell how many ran; predicates and trip counts are inputs of the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_bench.h"

typedef dnnl_tp_value_t val_t;
enum { GROUP = 25 }; /* inputs of a closure */
static const dnnl_tp_tensor_info_t number = {0, {0}, dnnl_tp_s32};

#define IN(i) (*(const int32_t *)in[i].data)
#define OUT(i) (*(int32_t *)out[i].data)
#define HOST(name, ...)                                                                                      \
    static dnnl_tp_status_t name(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in, \
                                 int nout, const dnnl_tp_host_arg_t *out) {                                  \
        (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;                                   \
        __VA_ARGS__;                                                                                         \
        return dnnl_tp_success;                                                                              \
    }
HOST(inc, OUT(0) = IN(0) + 1)
HOST(less, OUT(0) = IN(0) < IN(1))
HOST(hand_on, OUT(0) = IN(0))
HOST(sub1, OUT(0) = IN(0) - 1)
HOST(sub2, OUT(0) = IN(0) - 2)
HOST(add, OUT(0) = IN(0) + IN(1))
HOST(less2, OUT(0) = IN(0) < 2)
HOST(odd, OUT(0) = IN(0) & 1)
HOST(bit, OUT(0) = IN(0) >> (int)(intptr_t)arg & 1)
HOST(total, int32_t s = 0; for (int i = 0; i < nin; ++i) s += IN(i); OUT(0) = s)
HOST(keep, int32_t s = 0; for (int i = 1; i < nin; ++i) s |= IN(i); OUT(0) = IN(0) + (s < 0))
static eb_node_t slow_node;
HOST(slow_inc, eb_kernel_spin(&slow_node); OUT(0) = IN(0) + 1)

/* ---- Building ---------------------------------------------------------------------------------------- */

static dnnl_tp_graph_t new_graph(void) {
    dnnl_tp_graph_t g;
    EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    return g;
}
static dnnl_tp_graph_t new_region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    EB_OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}
static val_t input(dnnl_tp_graph_t g) {
    val_t v;
    dnnl_tp_dims_t dims = {0};
    EB_OK(dnnl_tp_graph_input(g, &v, NULL, dnnl_tp_s32, 0, dims));
    return v;
}
static val_t host(dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, intptr_t arg, int nin, const val_t *in) {
    val_t v;
    EB_OK(dnnl_tp_graph_host(g, fn, (void *)arg, NULL, 0, NULL, nin, in, 1, &number, &v));
    return v;
}
static val_t host1(dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, val_t a) { return host(g, fn, 0, 1, &a); }
static val_t host2(dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, val_t a, val_t b) {
    return host(g, fn, 0, 2, (val_t[]){a, b});
}
static val_t chain(dnnl_tp_graph_t g, val_t v, int n) {
    for (; n > 0; --n) v = host1(g, inc, v);
    return v;
}
/* Closes two regions with an If of one result. */
static val_t choose(dnnl_tp_graph_t g, val_t pred, dnnl_tp_graph_t yes, val_t a, dnnl_tp_graph_t no,
                    val_t b) {
    val_t v;
    EB_OK(dnnl_tp_graph_if(g, NULL, pred, yes, no, 1, &a, &b, &v));
    dnnl_tp_graph_destroy(yes);
    dnnl_tp_graph_destroy(no);
    return v;
}
/* If pred: m nodes in a chain, else one. */
static val_t if_chain(dnnl_tp_graph_t g, val_t pred, val_t v, int m) {
    dnnl_tp_graph_t yes = new_region(g), no = new_region(g);
    val_t a = chain(yes, v, m), b = chain(no, v, 1);
    return choose(g, pred, yes, a, no, b);
}
/* The sum of n values, in groups that one closure can take. */
static val_t sum(dnnl_tp_graph_t g, val_t *v, int n) {
    while (n > 1) {
        int m = 0;
        for (int i = 0; i < n; i += GROUP) v[m++] = host(g, total, 0, n - i < GROUP ? n - i : GROUP, v + i);
        n = m;
    }
    return v[0];
}
static void output(dnnl_tp_graph_t g, val_t v) { EB_OK(dnnl_tp_graph_output(g, v, NULL)); }

/* ---- One row: the same program without and with clusters --------------------------------------------- */

enum { MOST = 5000 };
typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    int nin, nout;
    void *in[MOST], *out[MOST];
    int32_t in_data[MOST], out_data[MOST];
} program_t;

static void program_run(void *arg) {
    program_t *p = arg;
    dnnl_tp_status_t s = dnnl_tp_executable_run(p->e, p->stream, p->nin, p->in, p->nout, p->out, NULL);
    if (s != dnnl_tp_success) eb_must(s, "run");
}
static program_t *program_new(dnnl_tp_graph_t g, int threads, unsigned flags, int nin, const int32_t *in,
                              int nout) {
    program_t *p = calloc(1, sizeof *p);
    p->e = eb_compile(g, threads, flags);
    p->stream = eb_stream(threads);
    p->nin = nin;
    p->nout = nout;
    for (int i = 0; i < nin; ++i) {
        p->in_data[i] = in[i];
        p->in[i] = &p->in_data[i];
    }
    for (int i = 0; i < nout; ++i) p->out[i] = &p->out_data[i];
    return p;
}
static void program_check(program_t *p, const char *name, int32_t want) {
    memset(p->out_data, 0xff, sizeof p->out_data);
    program_run(p);
    for (int i = 0; i < p->nout; ++i)
        if (p->out_data[i] != want)
            eb_fail("%s: result %d is %d instead of %d\n", name, i, p->out_data[i], want);
}
static void program_free(program_t *p) {
    dnnl_tp_executable_destroy(p->e);
    free(p);
}

static const unsigned flags_of[] = {DNNL_TP_COMPILE_NO_CLUSTERS, 0};
static const char *const side_names[] = {"dnnl_tp/plain", "dnnl_tp"};
enum { SIDES = 2, CHECKED_RUNS = 20 };

typedef dnnl_tp_graph_t make_t(int a, int b, int c);
typedef struct {
    const char *name;
    make_t *make;
    int a, b, c;
    int nout;
    int32_t want;     /* every result */
    double count;     /* what one figure is per */
    double ns[SIDES]; /* out: of a run */
} row_t;

/* Builds, checks and measures rows beside each other, so that they may be compared. */
static void rows(row_t *r, int n, int threads, const char *unit, int nin, const int32_t *in) {
    enum { TOGETHER = 3 };
    program_t *p[TOGETHER * SIDES];
    eb_case_t c[TOGETHER * SIDES];
    if (!eb_wanted(eb.rows, r->name)) return;
    for (int i = 0; i < n * SIDES; ++i) {
        const row_t *own = &r[i / SIDES];
        p[i] =
            program_new(own->make(own->a, own->b, own->c), threads, flags_of[i % SIDES], nin, in, own->nout);
        c[i] = (eb_case_t){.run = program_run, .arg = p[i]};
        for (int k = 0; k < (eb.check ? CHECKED_RUNS : 1); ++k) program_check(p[i], own->name, own->want);
    }
    if (!eb.check) eb_measure(c, n * SIDES);
    for (int i = 0; i < n; ++i) {
        if (eb.check) {
            printf("%-36s %d threads: %g %s\n", r[i].name, threads, r[i].count, unit);
            continue;
        }
        printf("%-36s |", r[i].name);
        for (int s = 0; s < SIDES; ++s) {
            const eb_case_t *own = &c[i * SIDES + s];
            double count = r[i].count;
            r[i].ns[s] = own->ns;
            printf(" %13.1f", own->ns / count);
            eb_csv("flow", r[i].name, threads, 0, side_names[s], unit, own->ns / count, own->lo / count,
                   own->hi / count, own->allocs, count);
        }
        printf(" | %s, %.0f %.0f allocations\n", unit, c[i * SIDES].allocs, c[i * SIDES + 1].allocs);
    }
    for (int i = 0; i < n * SIDES; ++i) program_free(p[i]);
    fflush(stdout);
}
static void simple(const char *name, make_t *make, int a, int b, int c, int nin, const int32_t *in, int nout,
                   int threads, const char *unit, double count, int32_t want) {
    row_t r = {
        .name = name, .make = make, .a = a, .b = b, .c = c, .nout = nout, .want = want, .count = count};
    rows(&r, 1, threads, unit, nin, in);
}

/* ---- Programs ---------------------------------------------------------------------------------------- */

/* Inputs: predicate, x. */
static dnnl_tp_graph_t make_cond(int m, int ifs, int unused) {
    (void)unused;
    dnnl_tp_graph_t g = new_graph();
    val_t pred = input(g), v = input(g);
    for (int i = 0; i < ifs; ++i) v = if_chain(g, pred, v, m);
    output(g, v);
    return g;
}
static dnnl_tp_graph_t make_cond_wide(int m, int ifs, int unused) {
    (void)unused;
    dnnl_tp_graph_t g = new_graph();
    val_t pred = input(g), x = input(g), v[MOST];
    for (int i = 0; i < ifs; ++i) v[i] = if_chain(g, pred, x, m);
    output(g, sum(g, v, ifs));
    return g;
}
/* One If; its first branch has `chains` chains of 100 nodes that all read x. */
static dnnl_tp_graph_t make_cond_dead(int chains, int length, int with_if) {
    dnnl_tp_graph_t g = new_graph();
    val_t pred = input(g), x = chain(g, input(g), 1);
    if (with_if) {
        dnnl_tp_graph_t yes = new_region(g), no = new_region(g);
        val_t *v = malloc(sizeof *v * (size_t)chains);
        for (int i = 0; i < chains; ++i) v[i] = chain(yes, x, length);
        val_t a = sum(yes, v, chains), b = chain(no, x, 1);
        free(v);
        x = choose(g, pred, yes, a, no, b);
    } else x = chain(g, x, 1); /* as the branch that runs */
    output(g, chain(g, x, 1));
    return g;
}
/* 16 ways: four levels of Ifs on the bits of a selector. */
static val_t case_level(dnnl_tp_graph_t g, const val_t *bits, val_t x, int level) {
    if (level == 0) return chain(g, x, 1);
    dnnl_tp_graph_t yes = new_region(g), no = new_region(g);
    val_t a = case_level(yes, bits, x, level - 1), b = case_level(no, bits, x, level - 1);
    return choose(g, bits[level - 1], yes, a, no, b);
}
static dnnl_tp_graph_t make_case(int levels, int times, int unused) {
    (void)unused;
    dnnl_tp_graph_t g = new_graph();
    val_t selector = input(g), x = input(g), bits[8];
    for (int i = 0; i < levels; ++i) bits[i] = host(g, bit, i, 1, &selector);
    for (int k = 0; k < times; ++k) x = case_level(g, bits, x, levels);
    output(g, x);
    return g;
}

/* Inputs: trips, x. Variables: a counter that starts at x = 0, and vars - 1 others. What the body does with one:
 * a node; an If for the second; or, after a value moved somewhere else, a node there and the way back. */
enum { WHILE_NODE, WHILE_IF, WHILE_TRANSFER };
static dnnl_tp_graph_t make_while(int vars, int window, int kind) {
    dnnl_tp_graph_t g = new_graph();
    val_t trips = input(g), x = input(g), init[MOST], in[MOST], body_out[MOST], out[MOST];
    dnnl_tp_graph_t cond = new_region(g);
    for (int i = 0; i < vars; ++i) {
        init[i] = x;
        in[i] = input(cond);
    }
    val_t more = host2(cond, less, in[0], trips);
    dnnl_tp_graph_t body = new_region(cond);
    for (int i = 0; i < vars; ++i) {
        if (kind == WHILE_TRANSFER)
            body_out[i] = host1(body, hand_on, chain(body, host1(body, hand_on, in[i]), 1));
        else if (kind == WHILE_IF && i == 1) body_out[i] = if_chain(body, host1(body, odd, in[0]), in[i], 1);
        else body_out[i] = chain(body, in[i], 1);
    }
    EB_OK(dnnl_tp_graph_while(g, NULL, cond, more, body, vars, init, in, body_out, window, out));
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(cond);
    for (int i = 0; i < vars; ++i) output(g, out[i]);
    return g;
}
/* Inputs: trips of both loops, x = 0. Result: trips squared. */
static dnnl_tp_graph_t make_nested(int window, int b, int c) {
    (void)b, (void)c;
    dnnl_tp_graph_t g = new_graph();
    val_t trips = input(g), x = input(g);
    dnnl_tp_graph_t cond = new_region(g);
    val_t in[2] = {input(cond), input(cond)}, more = host2(cond, less, in[0], trips);
    dnnl_tp_graph_t body = new_region(cond), inner_cond = new_region(body);
    val_t inner_in[2] = {input(inner_cond), input(inner_cond)},
          inner_more = host2(inner_cond, less, inner_in[0], trips);
    dnnl_tp_graph_t inner = new_region(inner_cond);
    val_t inner_out[2] = {chain(inner, inner_in[0], 1), chain(inner, inner_in[1], 1)}, done[2], out[2];
    EB_OK(dnnl_tp_graph_while(body, NULL, inner_cond, inner_more, inner, 2, (val_t[]){x, in[1]}, inner_in,
                              inner_out, window, done));
    val_t body_out[2] = {chain(body, in[0], 1), done[1]};
    EB_OK(dnnl_tp_graph_while(g, NULL, cond, more, body, 2, (val_t[]){x, x}, in, body_out, window, out));
    dnnl_tp_graph_destroy(inner);
    dnnl_tp_graph_destroy(inner_cond);
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(cond);
    output(g, out[1]);
    return g;
}
/* The body reads k values from around the loop. */
static dnnl_tp_graph_t make_invariants(int k, int window, int c) {
    (void)c;
    dnnl_tp_graph_t g = new_graph();
    val_t trips = input(g), x = input(g), args[MOST], out;
    for (int i = 1; i <= k; ++i) args[i] = chain(g, x, 1);
    dnnl_tp_graph_t cond = new_region(g);
    val_t v = input(cond), more = host2(cond, less, v, trips);
    dnnl_tp_graph_t body = new_region(cond);
    val_t next = chain(body, v, 1);
    for (int i = 0; i < k; i += GROUP) {
        args[i] = next; /* stands in front of the invariants i + 1 and following */
        next = host(body, keep, 0, 1 + (k - i < GROUP ? k - i : GROUP), args + i);
    }
    EB_OK(dnnl_tp_graph_while(g, NULL, cond, more, body, 1, &x, &v, &next, window, &out));
    dnnl_tp_graph_destroy(body);
    dnnl_tp_graph_destroy(cond);
    output(g, out);
    return g;
}
static dnnl_tp_graph_t make_fib(int a, int b, int c) {
    (void)a, (void)b, (void)c;
    dnnl_tp_graph_t g = new_graph(), fib;
    val_t n = input(g), arg, out;
    EB_OK(dnnl_tp_graph_create_function(&fib, g, "fib", 1, &number, &arg, 1, &number));
    dnnl_tp_graph_t yes = new_region(fib), no = new_region(fib);
    val_t small = host1(fib, less2, arg), part[2], of[2] = {host1(no, sub1, arg), host1(no, sub2, arg)};
    for (int i = 0; i < 2; ++i) EB_OK(dnnl_tp_graph_call(no, NULL, fib, 1, &of[i], 1, &part[i]));
    output(fib, choose(fib, small, yes, arg, no, host2(no, add, part[0], part[1])));
    EB_OK(dnnl_tp_graph_call(g, NULL, fib, 1, &n, 1, &out));
    dnnl_tp_graph_destroy(fib);
    output(g, out);
    return g;
}
/* A branch makes one result at once and another slowly; a slow node waits for the first only. */
static dnnl_tp_graph_t make_early(int a, int b, int c) {
    (void)a, (void)b, (void)c;
    dnnl_tp_graph_t g = new_graph();
    val_t pred = input(g), x = input(g), out[2];
    dnnl_tp_graph_t yes = new_region(g), no = new_region(g);
    val_t y[2] = {chain(yes, x, 1), chain(yes, host1(yes, slow_inc, x), 1)};
    val_t n[2] = {chain(no, x, 1), chain(no, x, 1)};
    EB_OK(dnnl_tp_graph_if(g, NULL, pred, yes, no, 2, y, n, out));
    dnnl_tp_graph_destroy(yes);
    dnnl_tp_graph_destroy(no);
    output(g, host1(g, slow_inc, out[0]));
    output(g, out[1]);
    return g;
}

/* A plain graph of about 10,000 nodes; one If somewhere in it. Inputs: predicate, x. */
static dnnl_tp_graph_t make_with_if(int with_if, int b, int c) {
    (void)b, (void)c;
    const eb_shape_t *shape = &eb_shapes[0];
    eb_graph_t e;
    eb_graph_make(&e, shape, eb.check);
    dnnl_tp_graph_t g = new_graph();
    val_t pred = input(g), x = input(g), *v = malloc(sizeof *v * (size_t)e.n);
    const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
    static eb_node_t node;
    for (int i = 0; i < e.n; ++i)
        EB_OK(dnnl_tp_graph_host(g, eb_host_empty, &node, NULL, 0, NULL, 0, NULL, 1, &nothing, &v[i]));
    for (int i = 0; i < e.nedges; ++i)
        EB_OK(dnnl_tp_graph_control_dependency(g, v[e.edge[i][0]], v[e.edge[i][1]]));
    x = chain(g, x, 1);
    EB_OK(dnnl_tp_graph_control_dependency(g, v[0], x));
    x = with_if ? if_chain(g, pred, x, 2) : chain(g, x, 1);
    output(g, chain(g, x, 1));
    free(v);
    eb_graph_free(&e);
    return g;
}

/* ---- Tables ------------------------------------------------------------------------------------------ */

static void conditions(int threads) {
    char name[64];
    const int ifs = eb.check ? 4 : 64, lengths[] = {1, 10, 100, 1000};
    for (int i = 0; i < 4; ++i)
        for (int taken = 1; taken >= 0; --taken) {
            int m = eb.check ? 1 + 3 * i : lengths[i];
            snprintf(name, sizeof name, "cond/%d/%s", lengths[i], taken ? "taken" : "skipped");
            simple(name, make_cond, m, ifs, 0, 2, (int32_t[]){taken, 0}, 1, threads, "ns/If", ifs,
                   ifs * (taken ? m : 1));
        }
    for (int taken = 1; taken >= 0; --taken) {
        snprintf(name, sizeof name, "cond_wide/10/%s", taken ? "taken" : "skipped");
        simple(name, make_cond_wide, 10, ifs, 0, 2, (int32_t[]){taken, 0}, 1, threads, "ns/If", ifs,
               ifs * (taken ? 10 : 1));
    }
    simple("case/16", make_case, 4, ifs, 0, 2, (int32_t[]){9, 0}, 1, threads, "ns/case", ifs, ifs);

    enum { CHAINS = 1000, LENGTH = 100 };
    const int chains = eb.check ? 5 : CHAINS, length = eb.check ? 2 : LENGTH;
    row_t r[] = {{"cond_dead/without_if", make_cond_dead, 0, 0, 0, 1, 3, 1, {0}},
                 {"cond_dead/1", make_cond_dead, 1, 1, 1, 1, 3, 1, {0}},
                 {"cond_dead/100000", make_cond_dead, chains, length, 1, 1, 3, 1, {0}}};
    rows(r, 3, threads, "ns/run", 2, (int32_t[]){0, 0});
    if (!eb.check && eb_wanted(eb.rows, r->name))
        for (int s = 0; s < SIDES; ++s) {
            printf("    %s: the If costs %.0f ns with a branch of 1 node, %.0f ns with one of %d\n",
                   side_names[s], r[1].ns[s] - r->ns[s], r[2].ns[s] - r->ns[s], CHAINS * LENGTH);
            for (int i = 1; i < 3; ++i)
                eb_csv("flow", i == 1 ? "cond_dead_if/1" : "cond_dead_if/100000", threads, 0, side_names[s],
                       "ns/If", r[i].ns[s] - r->ns[s], 0, 0, 0, 1);
        }
}

static void loops(int threads) {
    char name[64];
    static const int trips[] = {0, 1, 10, 100, 1000}, vars[] = {1, 2, 10, 100}, windows[] = {1, 4, 20};
    for (int v = 0; v < 4; ++v)
        for (int t = 0; t < 5; ++t)
            for (int w = 0; w < 3; ++w) {
                int n = eb.check && trips[t] > 10 ? trips[t] / 10 : trips[t];
                if (w && (trips[t] < 1000 || vars[v] == 2)) continue; /* windows matter in long loops */
                snprintf(name, sizeof name, "while/%dx%d/window%d", trips[t], vars[v], windows[w]);
                simple(name, make_while, vars[v], windows[w], 0, 2, (int32_t[]){n, 0}, vars[v], threads,
                       n ? "ns/iteration" : "ns/run", n ? n : 1, n);
            }
    const int n = eb.check ? 20 : 1000, side = eb.check ? 4 : 32, depth = eb.check ? 8 : 20;
    for (int v = 100; v <= 5000; v += 4900) {
        const int nvars = eb.check ? v / 50 : v, few = eb.check ? 3 : 10;
        snprintf(name, sizeof name, "while_transfer/%d", v);
        simple(name, make_while, nvars, 1, WHILE_TRANSFER, 2, (int32_t[]){few, 0}, nvars, threads,
               "ns/iteration", few, few);
    }
    simple("while_with_cond/1000", make_while, 2, 1, WHILE_IF, 2, (int32_t[]){n, 0}, 2, threads,
           "ns/iteration", n, n);
    for (int w = 0; w < 2; ++w) {
        snprintf(name, sizeof name, "nested_while/32x32/window%d", windows[w]);
        simple(name, make_nested, windows[w], 0, 0, 2, (int32_t[]){side, 0}, 1, threads, "ns/iteration",
               side * side, side * side);
    }
    for (int k = 0; k <= 100; k += 100) {
        snprintf(name, sizeof name, "invariants/%d", k);
        simple(name, make_invariants, k, 1, 0, 2, (int32_t[]){n, 0}, 1, threads, "ns/iteration", n, n);
    }
    int a = 0, b = 1, calls = 1, before = 1; /* calls(n) = 1 + calls(n-1) + calls(n-2) */
    for (int i = 1; i <= depth; ++i) {
        int next = a + b, all = i == 1 ? 1 : 1 + calls + before;
        a = b, b = next;
        before = calls, calls = all;
    }
    simple("fib/20", make_fib, 0, 0, 0, 1, (int32_t[]){depth}, 1, threads, "ns/call", calls, a);
}

void eb_rows_flow(void) {
    enum { SLOW_NS = 100000 };
    slow_node.ticks = eb_ticks_of_ns(eb.check ? 1000 : SLOW_NS);
    for (int t = 0; t < eb.nthreads; ++t) {
        int threads = eb.threads[t];
        if (!eb.check) {
            printf("\ncontrol flow, %d thread(s)\n%-36s |", threads, "");
            for (int s = 0; s < SIDES; ++s) printf(" %13s", side_names[s]);
            printf("\n");
        }
        conditions(threads);
        loops(threads);
        simple("early_output", make_early, 0, 0, 0, 2, (int32_t[]){1, 0}, 2, threads, "ns/run", 1, 2);
        row_t r[] = {{"one_if/without", make_with_if, 0, 0, 0, 1, 3, 1, {0}},
                     {"one_if/with", make_with_if, 1, 0, 0, 1, 3, 1, {0}}};
        rows(r, 2, threads, "ns/run", 2, (int32_t[]){0, 0});
        if (!eb.check && eb_wanted(eb.rows, r->name))
            for (int s = 0; s < SIDES; ++s) {
                printf("    %s: one If costs %+.2f %% of a run of that graph\n", side_names[s],
                       100 * (r[1].ns[s] / r->ns[s] - 1));
                eb_csv("flow", "one_if/cost", threads, 0, side_names[s], "%",
                       100 * (r[1].ns[s] / r->ns[s] - 1), 0, 0, 0, 1);
            }
    }
}
