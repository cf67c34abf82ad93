/* Runs of graphs by several threads on one stream: beside each other on a synchronous one; on an
 * asynchronous one in their places among what other threads submit, whether they are items or
 * run on their callers. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/group_pool.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

/* cmocka's assertions are for the thread that runs the tests. */
static _Atomic int wrong;
static void note(const char *what, int line) {
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "line %d: %s; last error: %s\n", line, what, dnnl_tp_last_error());
}
#define MUST(cond) ((cond) ? (void)0 : note(#cond, __LINE__))
#define OK(expr) MUST((expr) == dnnl_tp_success)

enum { N = 4096, FEW = 64, MOST = 8 };

static dnnl_tp_primitive_t plus;
static dnnl_tp_executable_t layers; /* y = relu(relu(x) + x) + x ... */
enum { LAYERS = 6 };
static float one_layer(float x, float y) {
    y += x;
    return y > 0 ? y : 0;
}

static dnnl_tp_executable_t compile_layers(void) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t x, y;
    dnnl_tp_dims_t dims = {N};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, dims));
    y = x;
    for (int i = 0; i < LAYERS; ++i) {
        dnnl_tp_value_t in[2] = {y, x}, sum;
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, "add", 2, in, 0, NULL, 1, &sum));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &sum, 0, NULL, 1, &y));
    }
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    return e;
}
static dnnl_tp_executable_t compile_closure(dnnl_tp_host_fn_t fn, void *arg) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t v;
    dnnl_tp_dims_t dims = {FEW};
    dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {FEW}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_host(g, fn, arg, NULL, 0, "closure", 1, &v, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    return e;
}
static int setup(void **state) {
    if (test_engine_setup(state)) return -1;
    plus = test_linear(test_engine, FEW, 1, 1);
    layers = compile_layers();
    return 0;
}
static int teardown(void **state) {
    dnnl_tp_executable_destroy(layers);
    dnnl_tp_primitive_destroy(plus);
    return test_engine_teardown(state);
}

typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t e;
    int number, rounds;
    pthread_t thread;
    pthread_barrier_t *barrier;
} client_t;
static void run_clients(int n, const client_t *like, void *(*fn)(void *)) {
    client_t c[MOST];
    pthread_barrier_t barrier;
    atomic_store(&wrong, 0);
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; ++i) {
        c[i] = *like;
        c[i].number = i;
        c[i].barrier = &barrier;
        assert_int_equal(pthread_create(&c[i].thread, NULL, fn, &c[i]), 0);
    }
    for (int i = 0; i < n; ++i) pthread_join(c[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(atomic_load(&wrong), 0);
}

/* ---- Values ------------------------------------------------------------------------------------------ */

static void *run_layers(void *arg) {
    const client_t *c = arg;
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    pthread_barrier_wait(c->barrier);
    for (int k = 0; k < c->rounds; ++k) {
        void *in[1] = {x}, *out[1] = {y};
        for (int i = 0; i < N; ++i) {
            x[i] = (float)((i * 7 + k * 3 + c->number) % 201 - 100);
            y[i] = -1;
        }
        if ((k + c->number) % 2) {
            OK(dnnl_tp_executable_run(c->e, c->stream, 1, in, 1, out, NULL));
        } else {
            dnnl_tp_event_t event = NULL;
            OK(dnnl_tp_executable_run_async(c->e, c->stream, 1, in, 1, out, NULL, &event));
            if (k % 3) OK(dnnl_tp_event_wait(event, -1, NULL));
            else OK(dnnl_tp_stream_wait(c->stream));
            dnnl_tp_event_destroy(event);
        }
        int bad = 0;
        for (int i = 0; i < N; ++i) {
            float want = x[i];
            for (int l = 0; l < LAYERS; ++l) want = one_layer(x[i], want);
            bad += y[i] != want;
        }
        MUST(bad == 0);
    }
    free(x);
    free(y);
    return NULL;
}
static void runs_of_many_threads(void **state) {
    (void)state;
    for (int kind = -2; kind < POOL_KINDS; ++kind)
        for (int async = 0; async < 2; ++async) {
            if (kind == POOL_STALLED) continue;
            hostile_pool_t *host = kind >= 0 ? hostile_pool_create((hostile_kind_t)kind, 2) : NULL;
            dnnl_tp_threadpool_t pool = kind == -1 ? test_pool(3) : NULL;
            client_t like = {.e = layers, .rounds = kind < 0 ? 30 : 5};
            like.stream = test_stream(test_engine,
                                      host   ? hostile_pool_iface(host)
                                      : pool ? test_pool_iface(pool)
                                             : NULL,
                                      async, 0);
            for (int n = kind < 0 ? 2 : 4; n <= (kind < 0 ? MOST : 4); n *= 2)
                run_clients(n, &like, run_layers);
            CHECK_OK(dnnl_tp_stream_destroy(like.stream));
            if (pool) dnnl_tp_threadpool_destroy(pool);
            if (!host) continue;
            assert_int_equal(hostile_pool_complaints(host), 0);
            hostile_pool_destroy(host);
        }
}

/* Hosts that make a task group of each run. */
static void hosts_hear_of_every_run(void **state) {
    (void)state;
    enum { THREADS = 4, ROUNDS = 8 };
    for (int mode = 0; mode < GROUP_MODES; ++mode)
        for (int async = 0; async < 2; ++async) {
            group_pool_t *pool = group_pool_create((group_mode_t)mode, 2);
            client_t like = {.e = layers, .rounds = ROUNDS};
            like.stream = test_stream(test_engine, group_pool_iface(pool), async, 0);
            run_clients(THREADS, &like, run_layers);
            CHECK_OK(dnnl_tp_stream_destroy(like.stream));
            group_counts_t c = group_pool_counts(pool);
            assert_int_equal(c.begun, THREADS * ROUNDS);
            assert_true(c.ended == c.begun && c.done == c.begun && c.failed == 0 && c.complaints == 0);
            group_pool_destroy(pool);
        }
}

/* ---- Places ------------------------------------------------------------------------------------------ */

/* Everything on the stream adds 1 to the same numbers: items by a primitive, runs by a closure
 * that takes its time. */
static float sum[FEW];
static _Atomic int added;
static dnnl_tp_status_t add_slowly(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                   int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    const float old = sum[0];
    for (int i = 0; i < 20; ++i) sched_yield();
    for (int i = 0; i < FEW; ++i) sum[i] = old + 1;
    memcpy(out[0].data, in[0].data, FEW * sizeof(float));
    return dnnl_tp_success;
}
static void *add_in_all_ways(void *arg) {
    const client_t *c = arg;
    float x[FEW] = {0}, y[FEW];
    void *in[1] = {x}, *out[1] = {y};
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, sum}, {DNNL_TP_ARG_DST, sum}};
    pthread_barrier_wait(c->barrier);
    for (int k = 0; k < c->rounds; ++k) {
        switch ((k + c->number) % 4) {
        case 0: OK(dnnl_tp_executable_run(c->e, c->stream, 1, in, 1, out, NULL)); break;
        case 1: {
            dnnl_tp_event_t event = NULL;
            OK(dnnl_tp_executable_run_async(c->e, c->stream, 1, in, 1, out, NULL, &event));
            if (k % 8 < 4) OK(dnnl_tp_event_wait(event, -1, NULL));
            else OK(dnnl_tp_stream_wait(c->stream)); /* x and y are needed again */
            dnnl_tp_event_destroy(event);
            break;
        }
        default: OK(dnnl_tp_primitive_execute_handles(plus, c->stream, 2, args)); break;
        }
        atomic_fetch_add(&added, 1);
    }
    OK(dnnl_tp_stream_wait(c->stream));
    return NULL;
}
static void runs_and_items_exclude_each_other(void **state) {
    (void)state;
    dnnl_tp_executable_t e = compile_closure(add_slowly, NULL);
    for (int kind = -1; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        hostile_pool_t *host = kind >= 0 ? hostile_pool_create((hostile_kind_t)kind, 2) : NULL;
        dnnl_tp_threadpool_t pool = kind == -1 ? test_pool(2) : NULL;
        client_t like = {.e = e, .rounds = kind < 0 ? 200 : 24};
        like.stream = test_stream(test_engine, host ? hostile_pool_iface(host) : test_pool_iface(pool), 1, 0);
        for (int n = 2; n <= 4; ++n) {
            memset(sum, 0, sizeof sum);
            atomic_store(&added, 0);
            run_clients(n, &like, add_in_all_ways);
            assert_int_equal((int)sum[0], atomic_load(&added));
            assert_int_equal((int)sum[FEW - 1], atomic_load(&added));
        }
        CHECK_OK(dnnl_tp_stream_destroy(like.stream));
        if (host) hostile_pool_destroy(host);
        if (pool) dnnl_tp_threadpool_destroy(pool);
    }
    dnnl_tp_executable_destroy(e);
}

/* A closure hears that another thread has submitted, records, and what it submits itself comes
 * behind its run; it cannot wait for that. */
typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t outer;
    _Atomic int begun, submitted, closed;
    float x[FEW];
    bool async, nests;
    dnnl_tp_event_t event;
    dnnl_tp_status_t inner;
} places_t;
static dnnl_tp_status_t look(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    places_t *p = arg;
    (void)stop, (void)nin, (void)nout;
    memcpy(out[0].data, in[0].data, FEW * sizeof(float));
    if (p->nests) {
        p->nests = false;
        float x[FEW] = {0}, y[FEW];
        void *inner_in[1] = {x}, *inner_out[1] = {y};
        p->inner = dnnl_tp_executable_run(p->outer, p->stream, 1, inner_in, 1, inner_out, NULL);
        return dnnl_tp_success;
    }
    if (!p->async) return dnnl_tp_success; /* inside another run */
    atomic_store(&p->begun, 1);
    while (!atomic_load(&p->submitted)) sched_yield();
    OK(test_step(plus, p->stream, p->x));
    MUST(dnnl_tp_stream_wait(p->stream) == dnnl_tp_would_deadlock);
    MUST(!test_is_done(p->event));
    usleep(1000);
    MUST(p->x[0] == 0);
    atomic_store(&p->closed, 1);
    return dnnl_tp_success;
}
static void *submit_meanwhile(void *arg) {
    places_t *p = arg;
    while (!atomic_load(&p->begun)) sched_yield();
    OK(test_step(plus, p->stream, p->x));
    OK(dnnl_tp_stream_record_event(p->stream, &p->event));
    atomic_store(&p->submitted, 1);
    OK(dnnl_tp_stream_wait(p->stream));
    MUST(atomic_load(&p->closed));
    OK(dnnl_tp_event_wait(p->event, -1, NULL));
    return NULL;
}
static void what_comes_later_waits_for_the_run(void **state) {
    (void)state;
    for (int kind = -1; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        hostile_pool_t *host = kind >= 0 ? hostile_pool_create((hostile_kind_t)kind, 2) : NULL;
        dnnl_tp_threadpool_t pool = kind == -1 ? test_pool(1) : NULL;
        places_t p = {.async = true};
        dnnl_tp_executable_t e = compile_closure(look, &p);
        p.stream = test_stream(test_engine, host ? hostile_pool_iface(host) : test_pool_iface(pool), 1, 0);
        pthread_t thread;
        float x[FEW] = {0}, y[FEW];
        void *in[1] = {x}, *out[1] = {y};
        atomic_store(&wrong, 0);
        assert_int_equal(pthread_create(&thread, NULL, submit_meanwhile, &p), 0);
        CHECK_OK(dnnl_tp_executable_run(e, p.stream, 1, in, 1, out, NULL));
        CHECK_OK(dnnl_tp_stream_wait(p.stream));
        assert_true(p.x[0] == 2 && p.x[FEW - 1] == 2);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&wrong), 0);
        dnnl_tp_event_destroy(p.event);
        CHECK_OK(dnnl_tp_stream_destroy(p.stream));
        dnnl_tp_executable_destroy(e);
        if (host) hostile_pool_destroy(host);
        if (pool) dnnl_tp_threadpool_destroy(pool);
    }
}

/* A run inside a closure of a run, on the same stream: beside it on a synchronous one; behind
 * it, so never, on an asynchronous one, which goes on. */
static void runs_inside_runs(void **state) {
    (void)state;
    for (int with_pool = 0; with_pool < 2; ++with_pool)
        for (int async = 0; async <= with_pool; ++async) {
            dnnl_tp_threadpool_t pool = with_pool ? test_pool(2) : NULL;
            places_t p = {.nests = true, .inner = dnnl_tp_runtime_error};
            dnnl_tp_executable_t e = compile_closure(look, &p);
            p.outer = e;
            p.stream = test_stream(test_engine, pool ? test_pool_iface(pool) : NULL, async, 0);
            float x[FEW] = {0}, y[FEW];
            void *in[1] = {x}, *out[1] = {y};
            CHECK_OK(dnnl_tp_executable_run(e, p.stream, 1, in, 1, out, NULL));
            assert_int_equal(p.inner, async ? dnnl_tp_would_deadlock : dnnl_tp_success);
            CHECK_OK(test_step(plus, p.stream, x));
            CHECK_OK(dnnl_tp_stream_wait(p.stream));
            assert_true(x[0] == 1);
            CHECK_OK(dnnl_tp_executable_run(e, p.stream, 1, in, 1, out, NULL));
            assert_true(y[0] == 1);
            CHECK_OK(dnnl_tp_stream_destroy(p.stream));
            dnnl_tp_executable_destroy(e);
            if (pool) dnnl_tp_threadpool_destroy(pool);
        }
}

/* A stream that failed refuses runs until it is reset, also one that another thread has
 * submitted to. */
static void *run_on_a_failed_stream(void *arg) {
    const client_t *c = arg;
    float x[FEW] = {0}, y[FEW];
    void *in[1] = {x}, *out[1] = {y};
    dnnl_tp_event_t bad = test_host_event();
    pthread_barrier_wait(c->barrier);
    if (c->number == 0) {
        OK(dnnl_tp_stream_wait_event(c->stream, bad));
        OK(dnnl_tp_event_signal(bad, dnnl_tp_runtime_error));
    }
    pthread_barrier_wait(c->barrier);
    MUST(dnnl_tp_executable_run(c->e, c->stream, 1, in, 1, out, NULL) == dnnl_tp_runtime_error);
    OK(test_step(plus, c->stream, x));
    MUST(dnnl_tp_stream_wait(c->stream) == dnnl_tp_runtime_error && x[0] == 0);
    pthread_barrier_wait(c->barrier);
    if (c->number == 0) OK(dnnl_tp_stream_reset(c->stream));
    pthread_barrier_wait(c->barrier);
    OK(dnnl_tp_executable_run(c->e, c->stream, 1, in, 1, out, NULL));
    OK(test_step(plus, c->stream, x));
    OK(dnnl_tp_stream_wait(c->stream));
    MUST(x[0] == 1);
    dnnl_tp_event_destroy(bad);
    return NULL;
}
static void failed_streams_refuse_runs(void **state) {
    (void)state;
    dnnl_tp_executable_t e = compile_closure(add_slowly, NULL);
    dnnl_tp_threadpool_t pool = test_pool(2);
    for (int i = 0; i < 50; ++i) {
        client_t like = {.e = e};
        like.stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        run_clients(3, &like, run_on_a_failed_stream);
        CHECK_OK(dnnl_tp_stream_destroy(like.stream));
    }
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_executable_destroy(e);
}

int main(void) {
    watchdog(60, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_many_threads),
        cmocka_unit_test(hosts_hear_of_every_run),
        cmocka_unit_test(runs_and_items_exclude_each_other),
        cmocka_unit_test(what_comes_later_waits_for_the_run),
        cmocka_unit_test(runs_inside_runs),
        cmocka_unit_test(failed_streams_refuse_runs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
