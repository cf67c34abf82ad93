/* Closures that wait for each other, and pools with a blocking crew to run them on. */
#ifndef TESTS_SUPPORT_BLOCKING_H
#define TESTS_SUPPORT_BLOCKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "dnnl_tp/dnnl_tp_graph.h"

#define OK(expr) CHECK_OK(expr)
enum { MAX_B = 4, TIMEOUT_S = 120, EACH_OTHER_RUNS = 5 };

/* ---- Pools ------------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    int w, b;
} place_t;

static inline void place_init(place_t *p, int w, int b) {
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = w, .blocking_threads = b};
    *p = (place_t){.w = w, .b = b};
    OK(dnnl_tp_threadpool_create(&p->pool, &o));
    OK(dnnl_tp_engine_create(&p->engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_attr_create(&p->attr, dnnl_tp_cpu));
    OK(dnnl_tp_stream_attr_set_builtin_threadpool(p->attr, p->pool));
}
static inline dnnl_tp_stream_t place_stream(place_t *p, bool async) {
    dnnl_tp_stream_t s;
    OK(dnnl_tp_stream_attr_set_async(p->attr, async));
    OK(dnnl_tp_stream_create_v2(&s, p->engine, dnnl_tp_stream_default_flags, p->attr));
    return s;
}
static inline dnnl_tp_executable_t place_compile(place_t *p, dnnl_tp_graph_t g, unsigned flags) {
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = p->attr, .flags = flags};
    OK(dnnl_tp_executable_compile(&e, g, p->engine, 0, NULL, &o));
    return e;
}
static inline dnnl_tp_threadpool_stats_t place_stats(place_t *p) {
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s};
    OK(dnnl_tp_threadpool_get_iface(p->pool, &iface));
    OK(dnnl_tp_threadpool_query(iface, &s));
    return s;
}
static inline void place_end(place_t *p) {
    dnnl_tp_threadpool_stats_t s = place_stats(p);
    assert_int_equal(s.blocked, 0);
    assert_int_equal(s.blocking_threads, p->b);
    assert_true(s.max_blocked <= p->b && s.max_running <= p->w && s.running <= p->w);
    dnnl_tp_stream_attr_destroy(p->attr);
    dnnl_tp_engine_destroy(p->engine);
    dnnl_tp_threadpool_destroy(p->pool);
}

/* ---- Closures ---------------------------------------------------------------------------------------- */

/* What closures of one graph share; a run's own words are in its input. */
typedef struct {
    _Atomic int computing, most; /* threads in closures that do not block */
    int w;
} shared_t;
typedef struct {
    _Atomic int64_t arrived, go, other;
} words_t; /* of a run */

#define ARGS                                                                                     \
    void *arg, const volatile int *should_stop, int nin, const dnnl_tp_host_arg_t *in, int nout, \
        const dnnl_tp_host_arg_t *out
#define USE_ARGS ((void)arg, (void)should_stop, (void)nin, (void)in, (void)nout, (void)out)

static inline dnnl_tp_status_t compute(ARGS) {
    shared_t *s = arg;
    USE_ARGS;
    int now = atomic_fetch_add(&s->computing, 1) + 1, most = atomic_load(&s->most);
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) continue;
    float sum = 1;
    for (int i = 0; i < nin; ++i)
        if (in[i].info->data_type == dnnl_tp_f32) sum += *(float *)in[i].data;
    for (volatile int i = 0; i < 2000; ++i) continue;
    *(float *)out[0].data = sum;
    atomic_fetch_sub(&s->computing, 1);
    return dnnl_tp_success;
}

/* The run's words; they come as s64. */
static inline words_t *words_of(const dnnl_tp_host_arg_t *in) {
    words_t *w;
    memcpy(&w, in->data, sizeof w);
    return w;
}

static inline dnnl_tp_status_t open_gate(ARGS) {
    dnnl_tp_status_t status = compute(arg, should_stop, nin, in, nout, out);
    atomic_store(&words_of(in)->go, 1);
    return status;
}

static inline bool wait_until(_Atomic int64_t *word, int64_t value, const volatile int *should_stop) {
    while (atomic_load(word) < value) {
        if (dnnl_tp_should_stop(should_stop)) return false;
        usleep(100);
    }
    return true;
}

typedef struct {
    int64_t all; /* closures that must have come */
} gate_t;
/* Waits for its fellows, and for a node that nobody here computes. */
static inline dnnl_tp_status_t wait_for_all(ARGS) {
    const gate_t *g = arg;
    words_t *w = words_of(in);
    USE_ARGS;
    atomic_fetch_add(&w->arrived, 1);
    *(float *)out[0].data = 10;
    if (!wait_until(&w->arrived, g->all, should_stop)) return dnnl_tp_success;
    (void)wait_until(&w->go, 1, should_stop);
    return dnnl_tp_success;
}

static const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};

/* b closures that wait for each other if `together`, and for the last of a chain of `chain` computing ones;
 * after each of them three more; the output is the sum. */
static inline dnnl_tp_graph_t waiting_graph(shared_t *s, gate_t *g, int b, int chain, bool together) {
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t x, v[2], sum = -1;
    g->all = together ? b : 1;
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_s64, 1, (dnnl_tp_dims_t){1}));
    for (int i = 0; i < b; ++i) {
        OK(dnnl_tp_graph_host(graph, wait_for_all, g, NULL, DNNL_TP_HOST_MAY_BLOCK, "wait", 1, &x, 1, &scalar,
                              &v[0]));
        for (int k = 0; k < 3; ++k)
            OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "after", 1, &v[0], 1, &scalar, &v[0]));
        v[1] = sum;
        OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "sum", sum < 0 ? 1 : 2, v, 1, &scalar, &sum));
    }
    OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "first", 0, NULL, 1, &scalar, &v[1]));
    for (int k = 0; k < chain; ++k)
        OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "chain", 1, &v[1], 1, &scalar, &v[1]));
    v[0] = x;
    OK(dnnl_tp_graph_host(graph, open_gate, s, NULL, 0, "gate", 2, v, 1, &scalar, &v[1]));
    v[0] = sum;
    OK(dnnl_tp_graph_host(graph, compute, s, NULL, 0, "end", 2, v, 1, &scalar, &sum));
    OK(dnnl_tp_graph_output(graph, sum, "y"));
    return graph;
}
static inline float waiting_result(int b, int chain) { return 14.f * b + (float)(chain + 2) + 1; }

static inline dnnl_tp_status_t run_words(dnnl_tp_executable_t e, dnnl_tp_stream_t stream, words_t *w,
                                         float *y, const dnnl_tp_run_opts_t *opts) {
    void *in[] = {&w}, *out[] = {y};
    return dnnl_tp_executable_run(e, stream, 1, in, 1, out, opts);
}

static inline dnnl_tp_status_t wait_other(ARGS) {
    words_t *w = words_of(in);
    USE_ARGS;
    atomic_fetch_add(&w->arrived, 1);
    if (!wait_until(&w->other, 1, should_stop)) return dnnl_tp_success;
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}
static inline dnnl_tp_status_t free_other(ARGS) {
    USE_ARGS;
    atomic_store(&words_of(in)->other, 1);
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}
static inline dnnl_tp_status_t nap(ARGS) {
    USE_ARGS;
    usleep(300);
    *(float *)out[0].data = nin && in[0].info->data_type == dnnl_tp_f32 ? *(float *)in[0].data + 1 : 1;
    return dnnl_tp_success;
}
/* n closures without successors but their sum. */
static inline dnnl_tp_graph_t plain_graph(dnnl_tp_host_fn_t fn, void *arg, unsigned flags, int n) {
    static shared_t nobody;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, v[8];
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_s64, 1, (dnnl_tp_dims_t){1}));
    for (int i = 0; i < n; ++i)
        OK(dnnl_tp_graph_host(g, fn, arg, NULL, flags, "closure", 1, &x, 1, &scalar, &v[i]));
    OK(dnnl_tp_graph_host(g, compute, &nobody, NULL, 0, "sum", n, v, 1, &scalar, &v[0]));
    OK(dnnl_tp_graph_output(g, v[0], "y"));
    return g;
}

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    words_t *words;
    const dnnl_tp_run_opts_t *opts;
    dnnl_tp_status_t status;
    char text[256];
    float y;
} one_t;
static inline void *one_run(void *arg) {
    one_t *o = arg;
    o->status = run_words(o->e, o->stream, o->words, &o->y, o->opts);
    snprintf(o->text, sizeof o->text, "%s", dnnl_tp_last_error());
    return NULL;
}

/* One thread, and the run that has it waits for another run: its ticket goes there. */

/* Builds on other runtimes refuse to make such a pool; that is all there is to test. */
static inline int without_blocking_threads(void) {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2, .blocking_threads = 1};
    return dnnl_tp_threadpool_create(&pool, &o) != dnnl_tp_unimplemented || pool;
}

#endif
