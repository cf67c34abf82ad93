/* Recording: what graphs, sessions and primitives leave in traces, many threads at once. Own records, full
 * traces, failures: test_trace_files.c; Chrome's format: chrome.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_session.h"
#include "support/regions.h"
#include "support/streams.h"
#include "support/traces.h"
#include "trace/read.h"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Graphs ------------------------------------------------------------------------------------------ */

static val_t host(dnnl_tp_graph_t g, dnnl_tp_host_fn_t fn, const char *name, int nin, const val_t *in) {
    dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_s32};
    val_t v;
    CHECK_OK(dnnl_tp_graph_host(g, fn, NULL, NULL, 0, name, nin, in, 1, &t, &v));
    return v;
}
static val_t input(dnnl_tp_graph_t g, const char *name) {
    static const dnnl_tp_dims_t none = {0};
    val_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, name, dnnl_tp_s32, 0, none));
    return v;
}

/* y = the first number from x on that is not less than limit, plus one; a relu beside it. */
static void loop_graph(dnnl_tp_graph_t g) {
    static const dnnl_tp_dims_t two = {2};
    val_t x = input(g, "x"), limit = input(g, "limit"), in[2], out, f, r;
    dnnl_tp_graph_t cond, body;
    CHECK_OK(dnnl_tp_graph_create_region(&cond, g));
    val_t v = input(cond, "v");
    in[0] = v, in[1] = limit;
    val_t go = host(cond, host_less, "less", 2, in);
    CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
    val_t next = host(body, host_inc, "next", 1, &v);
    CHECK_OK(dnnl_tp_graph_while(g, "loop", cond, go, body, 1, &x, &v, &next, 0, &out));
    out = host(g, host_inc, "last", 1, &out);
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    CHECK_OK(dnnl_tp_graph_input(g, &f, "f", dnnl_tp_f32, 1, two));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "re;lu", 1, &f, 0, NULL, 1, &r));
    CHECK_OK(dnnl_tp_graph_output(g, r, "r"));
    dnnl_tp_graph_destroy(cond);
    dnnl_tp_graph_destroy(body);
}
typedef struct {
    int32_t x, limit, y;
    float f[2], r[2];
    void *in[3], *out[2];
} args_t;
static void set_args(args_t *a, int32_t trips) {
    *a = (args_t){.x = 3, .limit = 3 + trips, .f = {-1, 2}};
    a->in[0] = &a->x, a->in[1] = &a->limit, a->in[2] = a->f;
    a->out[0] = &a->y, a->out[1] = a->r;
}

/* Rounds of the records of an operator: each once from 0 on. */
static void check_rounds(dnnl_tp_trace_t t, const char *name, int rounds) {
    dtp_trace_view_t view;
    CHECK_OK(dtp_trace_view_open(&view, t));
    int *seen = calloc((size_t)rounds, sizeof *seen);
    for (int64_t i = 0; i < view.n; ++i) {
        const dtp_trace_event_t *e = view.items[i].event;
        dtp_trace_names_t names;
        dtp_trace_names(t, e->source, e->index, &names);
        if (e->kind != dnnl_tp_trace_node) continue;
        if (strcmp(names.name, name)) continue;
        assert_in_range(e->round, 0, rounds - 1);
        ++seen[e->round];
    }
    for (int i = 0; i < rounds; ++i) assert_int_equal(seen[i], 1);
    free(seen);
    dtp_trace_view_close(&view);
}

static void test_graphs(void **state) {
    (void)state;
    enum { TRIPS = 7 };
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS};
    for (int k = 0; k < 4; ++k) {
        world_t w;
        world_init(&w, 1 + k / 2);
        loop_graph(w.g);
        dnnl_tp_executable_t e = world_compile(&w, flags[k % 2]);
        dnnl_tp_trace_t t = test_trace(0);
        args_t a;
        set_args(&a, TRIPS);
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .trace = t};
        CHECK_OK(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, &o));
        assert_int_equal(a.y, 3 + TRIPS + 1);
        check_rounds(t, "less", TRIPS + 1);
        check_rounds(t, "next", TRIPS);
        /* Twice more on the stream, which has the trace now; its own statistics beside it. */
        dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats};
        dnnl_tp_run_opts_t counted = {.struct_size = sizeof counted, .stats = &stats};
        CHECK_OK(dnnl_tp_stream_set_trace(w.stream, t, NULL));
        CHECK_OK(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, NULL));
        CHECK_OK(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, &counted));
        /* What is destroyed keeps its names. */
        dnnl_tp_executable_destroy(e);
        world_end(&w);
        assert_int_equal(stats.num_events, TRIPS + 1 + TRIPS + 2);
        dnnl_tp_trace_info_t info = test_trace_info(t);
        assert_int_equal(info.events, 3 * (stats.num_events + 1));
        assert_int_equal(info.dropped, 0);
        assert_true(info.threads >= 1 && info.threads <= 2);
        assert_int_equal(info.streams, 1);
        dnnl_tp_trace_stat_t s;
        assert_true(test_trace_find(t, dnnl_tp_trace_run, "graph 1", &s));
        assert_int_equal(s.count, 3);
        assert_true(s.wait_ns >= 0);
        assert_string_equal(s.graph, "");
        assert_true(test_trace_find(t, dnnl_tp_trace_node, "next", &s));
        assert_int_equal(s.count, 3 * TRIPS);
        assert_string_equal(s.op, "host");
        assert_string_equal(s.graph, "graph 1");
        assert_true(test_trace_find(t, dnnl_tp_trace_node, "last", &s));
        assert_int_equal(s.count, 3);
        assert_true(test_trace_find(t, dnnl_tp_trace_node, "re;lu", &s));
        assert_int_equal(s.count, 3);
        assert_true(*s.impl);
        dnnl_tp_trace_destroy(t);
    }
}

static void test_outcomes(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 1);
    loop_graph(w.g);
    dnnl_tp_executable_t e = world_compile(&w, 0);
    dnnl_tp_trace_t t = test_trace(0);
    args_t a;
    set_args(&a, 1 << 30);
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .trace = t, .deadline_ns = now_ns() + 3000000};
    CHECK_STATUS(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, &o), dnnl_tp_deadline_exceeded);
    set_args(&a, 0);
    o.deadline_ns = 0;
    CHECK_OK(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, &o));
    dtp_trace_view_t view;
    CHECK_OK(dtp_trace_view_open(&view, t));
    int runs[2] = {0};
    for (int64_t i = 0; i < view.n; ++i)
        if (view.items[i].event->kind == dnnl_tp_trace_run) {
            const dtp_trace_event_t *run = view.items[i].event;
            assert_in_range(run->run, 1, 2);
            ++runs[run->run - 1];
            assert_int_equal(run->status, run->run == 1 ? dnnl_tp_deadline_exceeded : dnnl_tp_success);
        }
    assert_true(runs[0] == 1 && runs[1] == 1);
    dtp_trace_view_close(&view);
    /* Options of older headers have no trace. */
    int64_t before = test_trace_info(t).events;
    o.struct_size = offsetof(dnnl_tp_run_opts_t, trace);
    CHECK_OK(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, &o));
    o.struct_size = offsetof(dnnl_tp_run_opts_t, deadline_ns);
    CHECK_OK(dnnl_tp_executable_run(e, w.stream, 3, a.in, 2, a.out, &o));
    assert_int_equal(test_trace_info(t).events, before);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
    dnnl_tp_trace_destroy(t);
}

static void test_session(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_engine_t engine;
    dnnl_tp_session_t s;
    dnnl_tp_trace_t t = test_trace(0);
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    loop_graph(g);
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .trace = t};
    CHECK_OK(dnnl_tp_session_create(&s, g, engine, &o));
    args_t a;
    set_args(&a, 2);
    dnnl_tp_feed_t feeds[2] = {{"x", NULL, &a.x}, {"limit", NULL, &a.limit}};
    dnnl_tp_fetch_t fetch = {"last", &a.y};
    CHECK_OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_trace_set_enabled(t, 0));
    CHECK_OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_trace_set_enabled(t, 1));
    CHECK_OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL));
    dnnl_tp_trace_stat_t stat;
    assert_true(test_trace_find(t, dnnl_tp_trace_node, "last", &stat));
    assert_int_equal(stat.count, 2);
    /* A run's own trace wins. */
    dnnl_tp_trace_t own = test_trace(0);
    dnnl_tp_run_opts_t r = {.struct_size = sizeof r, .trace = own};
    dnnl_tp_session_run_opts_t ro = {.struct_size = sizeof ro, .run = &r};
    CHECK_OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, &ro));
    assert_true(test_trace_find(own, dnnl_tp_trace_node, "last", &stat));
    assert_true(test_trace_find(t, dnnl_tp_trace_node, "last", &stat));
    assert_int_equal(stat.count, 2);
    dnnl_tp_trace_destroy(own);
    dnnl_tp_trace_destroy(t); /* the session still has it */
    CHECK_OK(dnnl_tp_session_run(s, 2, feeds, 1, &fetch, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_session_destroy(s));
    o.struct_size = offsetof(dnnl_tp_session_opts_t, trace);
    CHECK_OK(dnnl_tp_session_create(&s, g, engine, &o));
    CHECK_OK(dnnl_tp_session_destroy(s));
    dnnl_tp_graph_destroy(g);
    dnnl_tp_engine_destroy(engine);
}

/* ---- Primitives -------------------------------------------------------------------------------------- */

static void test_primitives(void **state) {
    (void)state;
    enum { STEPS = 40, N = 1 << 16 };
    int64_t live = dtp_object_live();
    for (int async = 0; async < 2; ++async) {
        if (async && !DNNL_TP_WITH_THREADPOOL) continue;
        dnnl_tp_engine_t engine;
        CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
        dnnl_tp_threadpool_t pool = DNNL_TP_WITH_THREADPOOL ? test_pool(2) : NULL;
        dnnl_tp_stream_t s = test_stream(engine, pool ? test_pool_iface(pool) : NULL, async, 0);
        dnnl_tp_primitive_t p = test_linear(engine, N, 1.f, 1.f);
        dnnl_tp_trace_t t = test_trace(0);
        float *x = calloc(N, sizeof *x);
        int64_t begin = now_ns();
        CHECK_OK(dnnl_tp_stream_set_trace(s, t, "the \"stream\""));
        for (int i = 0; i < STEPS; ++i) CHECK_OK(test_step(p, s, x));
        CHECK_OK(dnnl_tp_stream_set_trace(s, NULL, NULL)); /* work in flight is still recorded */
        for (int i = 0; i < STEPS; ++i) CHECK_OK(test_step(p, s, x));
        dnnl_tp_primitive_destroy(p);
        CHECK_OK(dnnl_tp_stream_wait(s));
        int64_t end = now_ns();
        assert_true(x[0] == 2 * STEPS);
        dnnl_tp_trace_stat_t stat;
        assert_true(test_trace_find(t, dnnl_tp_trace_primitive, "eltwise 65536:65536", &stat));
        assert_int_equal(stat.count, STEPS);
        assert_string_equal(stat.op, "eltwise");
        assert_true(*stat.impl);
        assert_true(stat.total_ns > 0 && stat.total_ns <= end - begin);
        assert_true(async || stat.wait_ns == 0);
        /* In order, one after another, inside what the program saw; help lies inside the work. */
        dtp_trace_view_t view;
        CHECK_OK(dtp_trace_view_open(&view, t));
        assert_int_equal(view.nstreams, 1);
        assert_string_equal(t->streams[1], "the \"stream\"");
        int64_t seen = 0;
        for (int64_t i = 0; i < view.n; ++i) {
            const dtp_trace_event_t *e = view.items[i].event;
            assert_true(e->begin_ns >= begin && e->end_ns <= end && e->begin_ns <= e->end_ns);
            if (e->kind == dnnl_tp_trace_primitive) {
                assert_int_equal(e->stream, 1);
                assert_int_equal(e->status, dnnl_tp_success);
                ++seen;
                continue;
            }
            assert_int_equal(e->kind, dnnl_tp_trace_help);
            int inside = 0;
            for (int64_t k = 0; k < view.n; ++k) {
                const dtp_trace_event_t *o = view.items[k].event;
                inside += o->kind == dnnl_tp_trace_primitive && o->begin_ns <= e->begin_ns &&
                          e->end_ns <= o->end_ns;
            }
            assert_true(inside >= 1);
        }
        assert_int_equal(seen, STEPS);
        dtp_trace_view_close(&view);
        dnnl_tp_stream_destroy(s);
        dnnl_tp_trace_destroy(t);
        if (pool) dnnl_tp_threadpool_destroy(pool);
        dnnl_tp_engine_destroy(engine);
        free(x);
    }
    assert_int_equal(dtp_object_live(), live);
}

/* The trace's and the primitive's handles go while work is in flight. */
static void test_handles_go(void **state) {
    (void)state;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    enum { STEPS = 200, N = 4096 };
    int64_t live = dtp_object_live();
    static float x[N];
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t s = test_stream(engine, test_pool_iface(pool), 1, 0);
    for (int round = 0; round < 5; ++round) {
        dnnl_tp_trace_t t = test_trace(64);
        dnnl_tp_primitive_t p = test_linear(engine, N, 1.f, (float)round);
        CHECK_OK(dnnl_tp_stream_set_trace(s, t, NULL));
        for (int i = 0; i < STEPS; ++i) CHECK_OK(test_step(p, s, x));
        dnnl_tp_trace_destroy(t);
        dnnl_tp_primitive_destroy(p);
    }
    CHECK_OK(dnnl_tp_stream_wait(s));
    dnnl_tp_stream_destroy(s);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_engine_destroy(engine);
    assert_int_equal(dtp_object_live(), live);
}

/* ---- Many threads ------------------------------------------------------------------------------------ */

enum { CALLERS = 8, RUNS = 25, TRIPS = 3 };
typedef struct {
    dnnl_tp_executable_t e;
    world_t *w;
    dnnl_tp_trace_t trace;
    dnnl_tp_primitive_t step;
    _Atomic int done;
} crowd_t;

static void *crowd_main(void *arg) {
    crowd_t *c = arg;
    float x[64] = {0};
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, c->w->engine, dnnl_tp_stream_default_flags, c->w->attr));
    CHECK_OK(dnnl_tp_stream_set_trace(stream, c->trace, NULL));
    for (int i = 0; i < RUNS; ++i) {
        args_t a;
        set_args(&a, TRIPS);
        int64_t begin = now_ns();
        CHECK_OK(dnnl_tp_executable_run(c->e, stream, 3, a.in, 2, a.out, NULL));
        CHECK_OK(test_step(c->step, stream, x));
        CHECK_OK(dnnl_tp_trace_record(c->trace, "round", begin, now_ns()));
    }
    dnnl_tp_stream_destroy(stream);
    atomic_fetch_add(&c->done, 1);
    return NULL;
}

static void test_crowd(void **state) {
    (void)state;
    for (int full = 0; full < 2; ++full) {
        world_t w;
        world_init(&w, 3);
        loop_graph(w.g);
        crowd_t c = {.w = &w, .trace = test_trace(full ? 1000 : 0)};
        c.e = world_compile(&w, full ? DNNL_TP_COMPILE_NO_CLUSTERS : 0);
        c.step = test_linear(w.engine, 64, 1.f, 1.f);
        pthread_t thread[CALLERS];
        for (int i = 0; i < CALLERS; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, crowd_main, &c), 0);
        /* A reader beside them sees what is complete. */
        int64_t last = 0;
        for (int i = 0; i < 20 && atomic_load(&c.done) < CALLERS; ++i) {
            int64_t events = test_trace_info(c.trace).events;
            assert_true(events >= last);
            last = events;
            dnnl_tp_trace_stat_t s;
            (void)test_trace_find(c.trace, dnnl_tp_trace_node, "next", &s);
            CHECK_OK(dnnl_tp_trace_write(c.trace, test_trace_path, i % 3));
            usleep(100);
        }
        for (int i = 0; i < CALLERS; ++i) pthread_join(thread[i], NULL);
        dnnl_tp_trace_info_t info = test_trace_info(c.trace);
        int64_t all = (int64_t)CALLERS * RUNS * (1 + (TRIPS + 1) + TRIPS + 2 + 1 + 1);
        assert_int_equal(info.events + info.dropped, all);
        assert_int_equal(info.streams, CALLERS);
        if (full) {
            enum { PIECE = 16, WRITERS = CALLERS + 3 }; /* each may leave one that is not filled */
            assert_in_range(info.events, 1000 - (WRITERS + 1) * PIECE, 1000);
        } else {
            assert_int_equal(info.dropped, 0);
            dnnl_tp_trace_stat_t s;
            assert_true(test_trace_find(c.trace, dnnl_tp_trace_node, "next", &s));
            assert_int_equal(s.count, CALLERS * RUNS * TRIPS);
            assert_true(test_trace_find(c.trace, dnnl_tp_trace_span, "round", &s));
            assert_int_equal(s.count, CALLERS * RUNS);
            assert_true(test_trace_find(c.trace, dnnl_tp_trace_primitive, "eltwise 64:64", &s));
            assert_int_equal(s.count, CALLERS * RUNS);
        }
        dnnl_tp_primitive_destroy(c.step);
        dnnl_tp_executable_destroy(c.e);
        world_end(&w);
        dnnl_tp_trace_destroy(c.trace);
    }
}

/* Names of graphs, in errors too; what was fused, shapes, amounts of work also where slices share it. */
static void test_names_and_work(void **state) {
    (void)state;
    enum { M = 512, K = 64, C = 96, RUNS = 3 };
    for (int threads = 1; threads <= 2; ++threads) {
        world_t w;
        world_init(&w, threads);
        static float weights[K * C], bias[C], x[M * K], y[M * C];
        val_t in[3], v;
        CHECK_OK(dnnl_tp_graph_set_name(w.g, "net"));
        CHECK_OK(dnnl_tp_graph_input(w.g, &in[0], "x", dnnl_tp_f32, 2, (dnnl_tp_dims_t){M, K}));
        CHECK_OK(dnnl_tp_graph_constant(w.g, &in[1], "w", dnnl_tp_f32, 2, (dnnl_tp_dims_t){K, C}, weights,
                                        DNNL_TP_CONSTANT_COPY, NULL, NULL));
        CHECK_OK(dnnl_tp_graph_constant(w.g, &in[2], "b", dnnl_tp_f32, 1, (dnnl_tp_dims_t){C}, bias,
                                        DNNL_TP_CONSTANT_COPY, NULL, NULL));
        CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_matmul, "dense", 2, in, 0, NULL, 1, &v));
        CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_add, "bias", 2, (val_t[]){v, in[2]}, 0, NULL, 1, &v));
        CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_relu, "clip", 1, &v, 0, NULL, 1, &v));
        CHECK_OK(dnnl_tp_graph_output(w.g, v, "y"));
        dnnl_tp_executable_t e = world_compile(&w, 0);
        CHECK_STATUS(dnnl_tp_graph_set_name(w.g, "late"), dnnl_tp_invalid_arguments);
        dnnl_tp_trace_t t = test_trace(0);
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .trace = t};
        void *ins[] = {x}, *outs[] = {y};
        for (int i = 0; i < RUNS; ++i) CHECK_OK(dnnl_tp_executable_run(e, w.stream, 1, ins, 1, outs, &o));
        dnnl_tp_trace_stat_t s;
        assert_true(test_trace_find(t, dnnl_tp_trace_node, "dense", &s));
        assert_string_equal(s.fused, "bias + clip");
        assert_string_equal(s.shape, "512x64:64x96:1x96:512x96");
        assert_string_equal(s.graph, "net 1");
        const double flops =
            RUNS * (2. * M * K * C + 8 * M * C); /* the product and clip; the bias is its own */
        assert_true(s.flops >= flops && s.flops < 1.01 * flops);
        assert_true(s.bytes >= 4. * RUNS * (M * K + K * C + M * C));
        /* A run that fails says for which graph. */
        CHECK_STATUS(dnnl_tp_executable_run(e, w.stream, 2, ins, 1, outs, NULL), dnnl_tp_invalid_arguments);
        assert_non_null(strstr(dnnl_tp_last_error(), "dnnl_tp_executable_run: graph 'net': "));
        CHECK_STATUS(dnnl_tp_trace_record(NULL, "x", 0, 1), dnnl_tp_invalid_arguments);
        assert_null(strstr(dnnl_tp_last_error(), "net"));
        dnnl_tp_executable_destroy(e);
        dnnl_tp_trace_destroy(t);
        world_end(&w);
    }
}

/* An operator waits from the end of what it reads on: here while the only thread does something else. */
static dnnl_tp_status_t slow(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    struct timespec t = {0, 3000000};
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout;
    nanosleep(&t, NULL);
    *(int32_t *)out[0].data = 1;
    return dnnl_tp_success;
}
static void test_waits(void **state) {
    (void)state;
    enum { SLOW_NS = 3000000 };
    world_t w;
    world_init(&w, 1);
    val_t x = input(w.g, "x"), first = host(w.g, slow, "first", 1, &x), others[2];
    others[0] = host(w.g, slow, "one", 1, &first);
    others[1] = host(w.g, slow, "two", 1, &first);
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_output(w.g, others[i], NULL));
    dnnl_tp_executable_t e = world_compile(&w, DNNL_TP_COMPILE_NO_CLUSTERS);
    dnnl_tp_trace_t t = test_trace(0);
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .trace = t};
    int32_t a = 1, y[2];
    void *in[] = {&a}, *out[] = {&y[0], &y[1]};
    CHECK_OK(dnnl_tp_executable_run(e, w.stream, 1, in, 2, out, &o));
    dnnl_tp_trace_stat_t s, one, two;
    assert_true(test_trace_find(t, dnnl_tp_trace_node, "first", &s));
    assert_int_equal(s.wait_ns, 0);
    assert_true(test_trace_find(t, dnnl_tp_trace_node, "one", &one));
    assert_true(test_trace_find(t, dnnl_tp_trace_node, "two", &two));
    /* One of the two had to wait for the other. */
    assert_true(dtp_max64(one.wait_ns, two.wait_ns) >= SLOW_NS);
    dnnl_tp_executable_destroy(e);
    dnnl_tp_trace_destroy(t);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs),         cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_session),        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_handles_go),     cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_names_and_work), cmocka_unit_test(test_waits)};
    return cmocka_run_group_tests(tests, test_trace_setup, test_trace_teardown);
}
