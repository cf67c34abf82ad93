/* Runs: refusals, failures inside, host closures, traces, budgets, operators beside each other, many callers
 * at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "common/base/with.h"
#include "exec/run/executable.h"
#include "support/mirror.h"
#include "support/streams.h"
#include "support/world.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)

/* A gather and a sum: index errors carry the operator's name and leave everything usable. */
static void test_index(void **state) {
    (void)state;
    for (unsigned flags = 0; flags < 2; ++flags) {
        world_t w;
        world_init(&w, 2);
        dnnl_tp_dims_t table = {4, 2}, ids = {3};
        static const float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        dnnl_tp_value_t in[2], out;
        OK(dnnl_tp_graph_constant(w.g, &in[0], "table", dnnl_tp_f32, 2, table, data, DNNL_TP_CONSTANT_BORROW,
                                  NULL, NULL));
        OK(dnnl_tp_graph_input(w.g, &in[1], "ids", dnnl_tp_s32, 1, ids));
        OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_gather, "lookup", 2, in, 0, NULL, 1, &out));
        OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_relu, "relu", 1, &out, 0, NULL, 1, &out));
        OK(dnnl_tp_graph_output(w.g, out, "y"));
        dnnl_tp_executable_t e = world_compile(&w, flags);
        int32_t good[3] = {3, 0, 1}, bad[3] = {3, 4, 1};
        float y[6];
        void *pin[1] = {bad}, *pout[1] = {y};
        assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL), dnnl_tp_runtime_error);
        assert_int_equal(dtp_last_reason(), DTP_GRAPH_INDEX);
        assert_non_null(strstr(dnnl_tp_last_error(), "lookup"));
        pin[0] = good;
        OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL));
        assert_true(y[0] == 6.f && y[5] == 3.f);
        dnnl_tp_executable_destroy(e);
        world_end(&w);
    }
}

static void test_refusals(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL, 3};
    dnnl_tp_value_t x, y;
    OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 2, any));
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_exp, "e", 1, &x, 0, NULL, 1, &y));
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_abs, "a", 1, &y, 0, NULL, 1, &y));
    OK(dnnl_tp_graph_output(w.g, y, "y"));
    dnnl_tp_executable_t e;
    dnnl_tp_tensor_info_t s = {.ndims = 2, .dims = {1000, 3}, .data_type = dnnl_tp_f32}, bad = s;
    bad.dims[1] = 4;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o};
#define FAILS(expr, status, why)                        \
    do {                                                \
        assert_int_equal((expr), dnnl_tp_##status);     \
        assert_int_equal(dtp_last_reason(), DTP_##why); \
    } while (0)
#define REFUSED(expr, why) FAILS(expr, invalid_arguments, why)
    FAILS(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, NULL), invalid_shape, GRAPH_RUNTIME_SHAPE);
    REFUSED(dnnl_tp_executable_compile(&e, w.g, w.engine, 2, &s, NULL), BAD_COUNT);
    FAILS(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &bad, NULL), invalid_shape, GRAPH_SHAPE);
    assert_non_null(strstr(dnnl_tp_last_error(), "'x'"));
    REFUSED(dnnl_tp_executable_compile(&e, NULL, w.engine, 1, &s, NULL), BAD_HANDLE);
    REFUSED(dnnl_tp_executable_compile(&e, w.g, NULL, 1, &s, NULL), BAD_HANDLE);
    REFUSED(dnnl_tp_executable_compile(NULL, w.g, w.engine, 1, &s, NULL), NULL_ARG);
    o.struct_size = 3;
    REFUSED(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &s, &o), BAD_STRUCT_SIZE);
    o.struct_size = sizeof o;
    o.flags = 8;
    REFUSED(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &s, &o), BAD_FLAGS);
    o.flags = 0;
    o.reserved_runs = -1;
    REFUSED(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &s, &o), BAD_COUNT);
    o.reserved_runs = 2;
    o.deterministic = 1;
    o.memory_budget = 100;
    o.flags = DNNL_TP_COMPILE_NO_FUSION;
    assert_int_equal(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &s, &o), dnnl_tp_out_of_memory);
    assert_int_equal(dtp_last_reason(), DTP_GRAPH_BUDGET);
    assert_null(e);
    o.memory_budget = 1 << 20;
    OK(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &s, &o));
    dnnl_tp_tensor_info_t info;
    OK(dnnl_tp_executable_query(e, y, &info));
    assert_true(info.dims[0] == 1000 && info.dims[1] == 3);
    REFUSED(dnnl_tp_executable_query(e, 55, &info), GRAPH_BAD_VALUE);
    REFUSED(dnnl_tp_executable_reserve(e, 0), BAD_COUNT);
    OK(dnnl_tp_executable_reserve(e, 3));
    float *data = calloc(6000, sizeof *data);
    void *pin[1] = {data}, *pout[1] = {data + 3000}, *none[1] = {NULL};
    dnnl_tp_run_opts_t r = {.struct_size = 1};
    REFUSED(dnnl_tp_executable_run(NULL, w.stream, 1, pin, 1, pout, NULL), BAD_HANDLE);
    REFUSED(dnnl_tp_executable_run(e, NULL, 1, pin, 1, pout, NULL), BAD_HANDLE);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 2, pin, 1, pout, NULL), BAD_COUNT);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, pin, 0, pout, NULL), BAD_COUNT);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, NULL, 1, pout, NULL), NULL_ARG);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, none, 1, pout, NULL), NULL_ARG);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, none, NULL), NULL_ARG);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &r), BAD_STRUCT_SIZE);
    r.struct_size = sizeof r;
    r.flags = 1;
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &r), BAD_FLAGS);
    REFUSED(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pin, NULL), ALIAS);
    OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL));
    assert_true(data[5999] == 1.f);
    free(data);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

/* A chain of operators, none fused: any two neighbours hold their results at once, more is never needed. */
static void test_memory(void **state) {
    (void)state;
    enum { LENGTH = 6, N = 4096 };
    world_t w;
    world_init(&w, 1);
    dnnl_tp_value_t y;
    OK(dnnl_tp_graph_input(w.g, &y, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){N}));
    for (int i = 0; i < LENGTH; ++i)
        OK(dnnl_tp_graph_op(w.g, i % 2 ? dnnl_tp_op_abs : dnnl_tp_op_exp, "e", 1, &y, 0, NULL, 1, &y));
    OK(dnnl_tp_graph_output(w.g, y, "y"));
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .flags = DNNL_TP_COMPILE_NO_FUSION};
    dnnl_tp_executable_t e;
    OK(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, &o));
    dnnl_tp_executable_memory_t m = {.struct_size = 1};
    REFUSED(dnnl_tp_executable_memory(e, &m), BAD_STRUCT_SIZE);
    REFUSED(dnnl_tp_executable_memory(e, NULL), NULL_ARG);
    m.struct_size = sizeof m;
    OK(dnnl_tp_executable_memory(e, &m));
    const size_t one = N * sizeof(float);
    assert_true(m.sum >= (LENGTH - 1) * one && m.sum < LENGTH * one);
    if (!e->zones) /* between red zones nothing shares memory */
        assert_true(m.peak < 3 * one);
    assert_true(m.least >= one && m.least < 3 * one);
    assert_true(m.peak >= m.least && m.run >= m.peak);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

/* ---- Sequence offsets -------------------------------------------------------------------------------- */

static void test_offsets(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 2);
    dnnl_tp_dims_t d = {6, 4}, n = {4};
    dnnl_tp_value_t x, off, y;
    int64_t heads = 2;
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads};
    OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 2, d));
    OK(dnnl_tp_graph_input(w.g, &off, "off", dnnl_tp_s32, 1, n));
    dnnl_tp_value_t in[5] = {x, x, x, -1, off}, pool[3] = {0, -1, off};
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_attention, "att", 5, in, 1, &attr, 1, &y));
    pool[0] = y;
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_pool_normalize, "pool", 3, pool, 0, NULL, 1, &y));
    OK(dnnl_tp_graph_output(w.g, y, "y"));
    static const int32_t bad[][4] = {{1, 2, 3, 6}, {0, 3, 2, 6}, {0, 2, 3, 7}, {0, -1, 2, 6}, {0, 6, 7, 6}};
    static const int32_t good[][4] = {{0, 2, 3, 6}, {0, 0, 0, 0}, {0, 6, 6, 6}, {0, 1, 2, 3}};
    float data[24], out[12];
    for (int i = 0; i < 24; ++i) data[i] = (float)(i % 5);
    for (unsigned flags = 0; flags < 2; ++flags) {
        dnnl_tp_executable_t e = world_compile(&w, flags);
        void *pin[2] = {data, NULL}, *pout[1] = {out};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
            pin[1] = (void *)(uintptr_t)bad[i];
            assert_int_equal(dnnl_tp_executable_run(e, w.stream, 2, pin, 1, pout, NULL),
                             dnnl_tp_invalid_arguments);
            assert_int_equal(dtp_last_reason(), DTP_GRAPH_INDEX);
            assert_non_null(strstr(dnnl_tp_last_error(), "att"));
        }
        for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
            pin[1] = (void *)(uintptr_t)good[i];
            OK(dnnl_tp_executable_run(e, w.stream, 2, pin, 1, pout, NULL));
        }
        dnnl_tp_executable_destroy(e);
    }
    world_end(&w);
}

/* ---- Host closures and operators beside each other --------------------------------------------------- */

typedef struct {
    _Atomic int calls;
    int fail;
    double micros; /* busy time */
} closure_t;

static void busy(double micros) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3 < micros);
}

/* out = sum of all inputs + 1 */
static dnnl_tp_status_t sum_plus_one(void *arg, const volatile int *should_stop, int nin,
                                     const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    closure_t *c = arg;
    (void)should_stop;
    float s = 1.f;
    for (int i = 0; i < nin; ++i) s += *(const float *)in[i].data;
    for (int i = 0; i < nout; ++i) *(float *)out[i].data = s;
    atomic_fetch_add(&c->calls, 1);
    if (c->micros > 0) busy(c->micros);
    return c->fail ? dnnl_tp_runtime_error : dnnl_tp_success;
}

enum { DAG_NODES = 120 };

static void test_dag(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 7};
    const dnnl_tp_tensor_info_t scalar = {.ndims = 0, .data_type = dnnl_tp_f32};
    for (unsigned seed = 1; seed < 9; ++seed)
        for (size_t t = 0; t < 4; ++t) {
            world_t w;
            world_init(&w, counts[t]);
            closure_t c = {.micros = seed & 1 ? 3. : 0.};
            dnnl_tp_value_t v[DAG_NODES + 1], in[3];
            double want[DAG_NODES + 1], total = 0.;
            unsigned r = seed;
            OK(dnnl_tp_graph_input(w.g, &v[0], "x", dnnl_tp_f32, 0, NULL));
            want[0] = .5;
            for (int i = 1; i <= DAG_NODES; ++i) {
                int n = 1 + (int)(r % 3);
                want[i] = 1.;
                for (int k = 0; k < n; ++k) {
                    r = r * 1103515245u + 12345u;
                    int back = 1 + (int)((r >> 16) % 12), from = i - back < 0 ? 0 : i - back;
                    in[k] = v[from];
                    want[i] += want[from];
                }
                while (want[i] > 1e5) want[i] = -1.; /* keep sums exact: such nodes start anew below */
                if (want[i] < 0) {
                    n = 0;
                    want[i] = 1.;
                }
                OK(dnnl_tp_graph_host(w.g, sum_plus_one, &c, NULL, 0, "node", n, in, 1, &scalar, &v[i]));
                if (i % 10 == 0) {
                    OK(dnnl_tp_graph_output(w.g, v[i], "y"));
                    total += want[i];
                }
            }
            dnnl_tp_executable_t e = world_compile(&w, 0);
            if (w.pool && counts[t] > 1) assert_true(e->by_counters);
            float x = .5f, y[DAG_NODES / 10];
            void *pin[1] = {&x}, *pout[DAG_NODES / 10];
            for (int i = 0; i < DAG_NODES / 10; ++i) pout[i] = &y[i];
            for (int k = 0; k < 20; ++k) {
                memset(y, 0, sizeof y);
                OK(dnnl_tp_executable_run(e, w.stream, 1, pin, DAG_NODES / 10, pout, NULL));
                double got = 0.;
                for (int i = 0; i < DAG_NODES / 10; ++i) got += (double)y[i];
                assert_true(got == total);
                assert_int_equal(atomic_exchange(&c.calls, 0), DAG_NODES);
            }
            c.fail = 1;
            assert_int_equal(dnnl_tp_executable_run(e, w.stream, 1, pin, DAG_NODES / 10, pout, NULL),
                             dnnl_tp_runtime_error);
            assert_int_equal(dtp_last_reason(), DTP_GRAPH_HOST_FAILED);
            assert_non_null(strstr(dnnl_tp_last_error(), "node"));
            c.fail = 0;
            OK(dnnl_tp_executable_run(e, w.stream, 1, pin, DAG_NODES / 10, pout, NULL));
            dnnl_tp_executable_destroy(e);
            world_end(&w);
        }
}

/* Deterministic: closures in the order of the graph, on any number of threads. */
static _Atomic int order_at;
static dnnl_tp_status_t note_order(void *arg, const volatile int *should_stop, int nin,
                                   const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)should_stop, (void)nin, (void)in, (void)nout;
    *(float *)out[0].data = 0.f;
    return atomic_fetch_add(&order_at, 1) == (int)(intptr_t)arg ? dnnl_tp_success : dnnl_tp_runtime_error;
}

static void test_deterministic(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 3);
    const dnnl_tp_tensor_info_t scalar = {.ndims = 0, .data_type = dnnl_tp_f32};
    float y[20];
    void *pout[20];
    for (int i = 0; i < 20; ++i) {
        dnnl_tp_value_t v;
        OK(dnnl_tp_graph_host(w.g, note_order, (void *)(intptr_t)i, NULL, 0, "n", 0, NULL, 1, &scalar, &v));
        OK(dnnl_tp_graph_output(w.g, v, "y"));
        pout[i] = &y[i];
    }
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w.attr, .deterministic = 1};
    OK(dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, &o));
    for (int k = 0; k < 50; ++k) {
        atomic_store(&order_at, 0);
        OK(dnnl_tp_executable_run(e, w.stream, 0, NULL, 20, pout, NULL));
    }
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

/* ---- Traces, fusion, concurrency --------------------------------------------------------------------- */

static mirror_t *mlp(void) {
    mirror_t *m = malloc(sizeof *m);
    mirror_init(m, 3);
    int64_t dims[2] = {300, 48};
    int x = mirror_input(m, 2, dims);
    int y = mirror_linear(m, "up", x, 48, 96, 1, 1);
    y = mirror_binary(m, dnnl_tp_op_multiply, mirror_unary(m, dnnl_tp_op_gelu, y), mirror_scalar(m, .5));
    y = mirror_binary(m, dnnl_tp_op_add, x, mirror_linear(m, "down", y, 96, 48, 0, 0));
    mirror_output(m, mirror_norm(m, "norm", y, 48));
    return m;
}

static void test_fusion_and_trace(void **state) {
    (void)state;
    mirror_t *m = mlp();
    assert_int_equal(mirror_check(m, NULL, 0, 2e-6), 0);
    world_t w;
    world_init(&w, 2);
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w.attr};
    OK(dnnl_tp_executable_compile(&e, m->graph, m->engine, 0, NULL, &o));
    assert_int_equal(e->nsteps, 3 + 1); /* up with bias, gelu and scale; down with residual; norm; the end */
    assert_int_equal(e->nslice_groups, DTP_WITH_SLICES);
    dnnl_tp_trace_event_t events[64];
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats, .events = events, .max_events = 64};
    dnnl_tp_run_opts_t r = {.struct_size = sizeof r, .stats = &stats};
    float *y = malloc(sizeof *y * 300 * 48);
    void *pin[1] = {m->value[m->in[0]].data}, *pout[1] = {y};
    OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &r));
    assert_true(stats.num_events >= 3 && stats.num_events <= 64);
    assert_true(stats.num_participants >= 1 && stats.num_participants <= 2);
    for (int i = 0; i < stats.num_events; ++i) {
        assert_non_null(events[i].name);
        assert_true(events[i].end_ns >= events[i].begin_ns && events[i].thread < 2);
    }
    stats.max_events = 1;
    OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, &r));
    assert_true(stats.num_events >= 3);
    free(y);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
    mirror_free(m);
    free(m);
}

enum { CALLERS = 8, RUNS = 40 };
typedef struct {
    dnnl_tp_executable_t e;
    world_t *w;
    void *in;
    const float *want;
    int bad;
} caller_t;

static void *caller(void *arg) {
    caller_t *c = arg;
    dnnl_tp_stream_t stream;
    float *y = malloc(sizeof *y * 300 * 48);
    if (dnnl_tp_stream_create_v2(&stream, c->w->engine, dnnl_tp_stream_default_flags, c->w->attr)) c->bad = 1;
    void *pin[1] = {c->in}, *pout[1] = {y};
    for (int i = 0; i < RUNS && !c->bad; ++i) {
        memset(y, 0, sizeof *y * 300 * 48);
        if (dnnl_tp_executable_run(c->e, stream, 1, pin, 1, pout, NULL)) c->bad = 2;
        if (memcmp(y, c->want, sizeof *y * 300 * 48)) c->bad = 3;
    }
    dnnl_tp_stream_destroy(stream);
    free(y);
    return NULL;
}

static void test_callers(void **state) {
    (void)state;
    mirror_t *m = mlp();
    for (int threads = 1; threads <= 8; threads *= 2) {
        world_t w;
        world_init(&w, threads);
        dnnl_tp_executable_t e;
        dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w.attr};
        OK(dnnl_tp_executable_compile(&e, m->graph, m->engine, 0, NULL, &o));
        float *y = malloc(sizeof *y * 300 * 48);
        void *pin[1] = {m->value[m->in[0]].data}, *pout[1] = {y};
        OK(dnnl_tp_executable_run(e, w.stream, 1, pin, 1, pout, NULL));
        caller_t c[CALLERS];
        pthread_t t[CALLERS];
        for (int i = 0; i < CALLERS; ++i) {
            c[i] = (caller_t){e, &w, pin[0], y, 0};
            assert_int_equal(pthread_create(&t[i], NULL, caller, &c[i]), 0);
        }
        for (int i = 0; i < CALLERS; ++i) pthread_join(t[i], NULL);
        for (int i = 0; i < CALLERS; ++i) assert_int_equal(c[i].bad, 0);
        free(y);
        dnnl_tp_executable_destroy(e);
        world_end(&w);
    }
    mirror_free(m);
    free(m);
}

/* The time is printed, not asserted. */
static void test_new_shape(void **state) {
    (void)state;
    world_t w;
    world_init(&w, 1);
    dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL, 256}, wd = {256, 256};
    float *data = calloc(256 * 256, sizeof *data);
    dnnl_tp_value_t in[2], x;
    OK(dnnl_tp_graph_input(w.g, &x, "x", dnnl_tp_f32, 2, any));
    OK(dnnl_tp_graph_constant(w.g, &in[1], "w", dnnl_tp_f32, 2, wd, data, DNNL_TP_CONSTANT_BORROW, NULL,
                              NULL));
    for (int i = 0; i < 40; ++i) {
        in[0] = x;
        OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_matmul, "mm", 2, in, 0, NULL, 1, &x));
        OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_relu, "relu", 1, &x, 0, NULL, 1, &x));
    }
    OK(dnnl_tp_graph_output(w.g, x, "y"));
    double best = 1e9;
    for (int i = 0; i < 8; ++i) {
        dnnl_tp_tensor_info_t s = {.ndims = 2, .dims = {64 + i, 256}, .data_type = dnnl_tp_f32};
        dnnl_tp_executable_t e;
        double t = dtp_now_ms();
        OK(dnnl_tp_executable_compile(&e, w.g, w.engine, 1, &s, NULL));
        t = dtp_now_ms() - t;
        if (i > 0 && t < best) best = t;
        dnnl_tp_executable_destroy(e);
    }
    print_message("a new shape of 80 operators compiles in %.3f ms\n", best);
    free(data);
    world_end(&w);
}

/* Statistics without room for events count the helpers of a loop, too. */
static void test_participants(void **state) {
    enum {
        N = 512,
        ATTEMPTS = 400
    }; /* some milliseconds each: worth waking a thread, however slow that is */
    (void)state;
    world_t w;
    world_init(&w, 2);
    dnnl_tp_value_t v;
    OK(dnnl_tp_graph_input(w.g, &v, "x", dnnl_tp_f32, 2, (dnnl_tp_dims_t){N, N}));
    OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_matmul, "square", 2, (dnnl_tp_value_t[]){v, v}, 0, NULL, 1, &v));
    OK(dnnl_tp_graph_output(w.g, v, "y"));
    dnnl_tp_executable_t e = world_compile(&w, 0);
    float *x = calloc(N * N, sizeof *x), *y = calloc(N * N, sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    void *in[1] = {x}, *out[1] = {y};
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    const int most = w.pool ? test_threads_that_come(2) : 1;
    int seen = 0;
    for (int i = 0; i < ATTEMPTS && seen < most; ++i) {
        OK(dnnl_tp_executable_run(e, w.stream, 1, in, 1, out, &o));
        assert_int_equal(stats.num_events, 1);
        assert_in_range(stats.num_participants, 1, most);
        if (stats.num_participants > seen) seen = stats.num_participants;
    }
    assert_int_equal(seen, most);
    o.max_threads = 1;
    OK(dnnl_tp_executable_run(e, w.stream, 1, in, 1, out, &o));
    assert_int_equal(stats.num_participants, 1);
    free(x);
    free(y);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_index),
        cmocka_unit_test(test_offsets),          cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_fusion_and_trace), cmocka_unit_test(test_participants),
        cmocka_unit_test(test_callers),          cmocka_unit_test(test_dag),
        cmocka_unit_test(test_new_shape),        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
