/* Items that nobody comes for: submitted while runs hold all tickets, or inside a closure, on pools that send a
 * thread, refuse, call back inline or have only loops. Nobody waits or asks here: who let go of a ticket, or of
 * its outermost work, takes them over. And any number of streams that wait for a thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

enum { N = 16, W = 2 };
static dnnl_tp_primitive_t add;
static hostile_kind_t kind_now;
static void tell_kind(void) { fprintf(stderr, "%s\n", hostile_pool_name(kind_now)); }

typedef struct {
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_executable_t holds, submits; /* y = closure(x) */
    dnnl_tp_stream_t stream;             /* asynchronous */
    _Atomic int inside, go, called;
    float x[N];
} world_t;

static void note_call(void *arg, dnnl_tp_status_t status) {
    if (status) abort();
    atomic_fetch_add(&((world_t *)arg)->called, 1);
}
static void submit(world_t *w) {
    dnnl_tp_event_t event;
    if (test_step(add, w->stream, w->x) || dnnl_tp_stream_record_event(w->stream, &event)) abort();
    if (dnnl_tp_event_on_complete(event, note_call, w)) abort();
    dnnl_tp_event_destroy(event);
}
static dnnl_tp_status_t hold(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    world_t *w = arg;
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    atomic_fetch_add(&w->inside, 1);
    while (!atomic_load(&w->go)) usleep(100);
    return dnnl_tp_success;
}
static dnnl_tp_status_t submit_inside(void *arg, const volatile int *stop, int nin,
                                      const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    submit(arg);
    return dnnl_tp_success;
}
static dnnl_tp_executable_t compile(world_t *w, dnnl_tp_host_fn_t fn) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t x, y;
    dnnl_tp_dims_t dims = {N};
    dnnl_tp_stream_attr_t attr;
    const dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {N}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, w->pool));
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_host(g, fn, w, NULL, 0, "host", 1, &x, 1, &info, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    const dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &o));
    dnnl_tp_graph_destroy(g);
    dnnl_tp_stream_attr_destroy(attr);
    return e;
}
static void run(world_t *w, dnnl_tp_executable_t e) {
    float x[N] = {0}, y[N];
    void *in[] = {x}, *out[] = {y};
    dnnl_tp_stream_t stream = test_stream(test_engine, w->pool, 0, 0);
    CHECK_OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}
static void *run_holds(void *w) {
    run(w, ((world_t *)w)->holds);
    return NULL;
}
static void until(const _Atomic int *count, int n) {
    while (atomic_load(count) < n) usleep(100); /* a hang is the watchdog's */
}

/* On pools of n threads. */
static void on_all_pools(int n, void (*test)(world_t *w)) {
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        kind_now = (hostile_kind_t)kind;
        watchdog(100, tell_kind);
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, n);
        world_t w = {.pool = hostile_pool_iface(pool)};
        w.holds = compile(&w, hold);
        w.submits = compile(&w, submit_inside);
        w.stream = test_stream(test_engine, w.pool, 1, 0);
        test(&w);
        CHECK_OK(dnnl_tp_stream_destroy(w.stream));
        dnnl_tp_executable_destroy(w.holds);
        dnnl_tp_executable_destroy(w.submits);
        assert_true(w.x[0] == (float)atomic_load(&w.called));
        hostile_pool_destroy(pool);
    }
}

static void hold_all_tickets(world_t *w) {
    pthread_t thread[W];
    for (int i = 0; i < W; ++i) assert_int_equal(pthread_create(&thread[i], NULL, run_holds, w), 0);
    until(&w->inside, 1); /* the other one, too, unless the pool says that it has one thread */
    for (int i = 0; i < 20 && atomic_load(&w->inside) < W; ++i) usleep(500);
    submit(w);
    atomic_store(&w->go, 1);
    until(&w->called, 1);
    for (int i = 0; i < W; ++i) pthread_join(thread[i], NULL);
}
static void left_to_runs(void **state) {
    (void)state;
    on_all_pools(W, hold_all_tickets);
}

static void submit_in_closure(world_t *w) {
    for (int i = 0; i < 3; ++i) {
        run(w, w->submits);
        until(&w->called, 2 * i + 1);
        submit(w); /* what was left once is no obstacle later */
        until(&w->called, 2 * i + 2);
    }
}
static void left_inside(void **state) {
    (void)state;
    for (int n = 1; n <= W; ++n) on_all_pools(n, submit_in_closure);
}

/* Waits that give up at about the moment at which a ticket comes free: one look is enough then. */
static void left_by_a_wait(void **state) {
    (void)state;
    enum { ROUNDS = 150, US = 1000 };
    static const hostile_kind_t kinds[] = {POOL_REFUSE, POOL_INLINE, POOL_LOOP, POOL_ASYNC_REFUSE};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        kind_now = kinds[k];
        watchdog(100, tell_kind);
        hostile_pool_t *pool = hostile_pool_create(kinds[k], 1);
        world_t w = {.pool = hostile_pool_iface(pool)};
        w.holds = compile(&w, hold);
        w.stream = test_stream(test_engine, w.pool, 1, 0);
        for (int i = 0; i < ROUNDS; ++i) {
            pthread_t thread;
            atomic_store(&w.inside, 0);
            atomic_store(&w.go, 0);
            assert_int_equal(pthread_create(&thread, NULL, run_holds, &w), 0);
            until(&w.inside, 1);
            submit(&w);
            atomic_store(&w.go, 1); /* seen after 100 us at most */
            const dnnl_tp_status_t status = dnnl_tp_stream_wait_for(w.stream, (i % 40) * 10 * US);
            pthread_join(thread, NULL);
            int idle = 0;
            if (status == dnnl_tp_timed_out) CHECK_OK(dnnl_tp_stream_query(w.stream, &idle, NULL));
            else CHECK_OK(status);
            assert_int_equal(atomic_load(&w.called), i + 1);
        }
        CHECK_OK(dnnl_tp_stream_destroy(w.stream));
        dnnl_tp_executable_destroy(w.holds);
        hostile_pool_destroy(pool);
    }
}

/* More streams wait for a thread than a 16-bit counter holds, at several priorities. */
static void any_number_of_streams(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    enum { STREAMS = 4000 };
#else
    enum { STREAMS = 66000 };
#endif
    watchdog(100, NULL);
    hostile_pool_t *pool = hostile_pool_create(POOL_STALLED, W);
    world_t w = {.pool = hostile_pool_iface(pool)};
    dnnl_tp_stream_t *stream = malloc(STREAMS * sizeof *stream);
    float *x = calloc(STREAMS, sizeof *x);
    dnnl_tp_primitive_t one = test_linear(test_engine, 1, 1, 1);
    for (int i = 0; i < STREAMS; ++i) {
        dnnl_tp_event_t event;
        stream[i] = test_stream(test_engine, w.pool, 1, i % 7 - 3);
        CHECK_OK(test_step(one, stream[i], &x[i]));
        event = test_record(stream[i]);
        CHECK_OK(dnnl_tp_event_on_complete(event, note_call, &w));
        dnnl_tp_event_destroy(event);
    }
    assert_int_equal(atomic_load(&w.called), 0);
    hostile_pool_unstall(pool);
    until(&w.called, STREAMS);
    for (int i = 0; i < STREAMS; ++i) {
        CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
        assert_true(x[i] == 1);
    }
    dnnl_tp_primitive_destroy(one);
    free(stream);
    free(x);
    hostile_pool_destroy(pool);
}

static int setup(void **state) {
    if (test_engine_setup(state)) return -1;
    add = test_linear(test_engine, N, 1, 1);
    return 0;
}
static int teardown(void **state) {
    dnnl_tp_primitive_destroy(add);
    return test_engine_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_to_runs),
        cmocka_unit_test(left_inside),
        cmocka_unit_test(left_by_a_wait),
        cmocka_unit_test(any_number_of_streams),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
