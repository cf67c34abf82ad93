/* A program's allocator that waits for another thread, which does the same as the one that
 * allocates: at whichever allocation, the library holds nothing that the other thread needs. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_session.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/watchdog.h"

/* After so many more allocations of this thread the next one stops; negative: none. */
static _Thread_local int stop_in = -1;
static _Atomic int stopped, go_on;

static void *alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    if (stop_in >= 0 && stop_in-- == 0) {
        atomic_store(&stopped, 1);
        while (!atomic_load(&go_on)) usleep(100);
    }
    void *p = NULL;
    return posix_memalign(&p, alignment, size) ? NULL : p;
}
static void release(void *ctx, void *p) {
    (void)ctx;
    free(p);
}

/* ---- What both do ------------------------------------------------------------------------------------ */

enum { N = 300, STREAMS = 20 }; /* more streams than notes of a wait for all have room at first */
static dnnl_tp_stream_t all[STREAMS];
static dnnl_tp_stream_t both; /* used by both at once */
static dnnl_tp_graph_t graph;

static void sessions(void) {
    const dnnl_tp_session_pool_t pool = {.num_threads = 2, .global_name = "test allocators"};
    const dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .npools = 1, .pools = &pool};
    dnnl_tp_session_t s;
    float x[N], y[N];
    for (int i = 0; i < N; ++i) x[i] = (float)(i - N / 2);
    CHECK_OK(dnnl_tp_session_create(&s, graph, test_engine, &o));
    CHECK_OK(dnnl_tp_session_run(s, 1, &(dnnl_tp_feed_t){"x", NULL, x}, 1, &(dnnl_tp_fetch_t){"y", y}, 0,
                                 NULL, NULL));
    for (int i = 0; i < N; ++i) assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    CHECK_OK(dnnl_tp_session_destroy(s));
}
static void primitives(void) {
    float x[N] = {0};
    dnnl_tp_primitive_t step = test_linear(test_engine, N, 1, 1);
    CHECK_OK(test_step(step, both, x));
    dnnl_tp_primitive_destroy(step);
    assert_true(x[N - 1] == 1);
}
static void waits(void) {
    CHECK_OK(dnnl_tp_sync_devices(-1));
    CHECK_OK(dnnl_tp_sync_engine(test_engine, -1));
}
static void streams(void) {
    float x[N] = {0};
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t s = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    dnnl_tp_primitive_t step = test_linear(test_engine, N, 1, 1);
    /* Nothing that is pending while this thread stops: the other one waits for all streams. */
    dnnl_tp_event_t gate = test_host_event();
    CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    CHECK_OK(dnnl_tp_stream_wait_event(s, gate));
    CHECK_OK(test_step(step, s, x));
    dnnl_tp_event_t event = test_record(s);
    CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
    assert_true(x[0] == 1);
    dnnl_tp_event_destroy(event);
    dnnl_tp_event_destroy(gate);
    dnnl_tp_primitive_destroy(step);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    dnnl_tp_threadpool_destroy(pool);
}

static void (*const what[])(void) = {sessions, primitives, waits, streams};
enum { KINDS = sizeof what / sizeof *what };

typedef struct {
    void (*fn)(void);
    int stop_in;
    _Atomic int ended;
} stopping_t;
static void *do_stopping(void *arg) {
    stopping_t *s = arg;
    stop_in = s->stop_in;
    s->fn();
    stop_in = -1;
    atomic_store(&s->ended, 1);
    return NULL;
}

static void at_any_allocation(void **state) {
    (void)state;
    int stops[KINDS] = {0};
    for (int k = 0; k < KINDS; ++k)
        for (bool more = true; more; ++stops[k]) {
            CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
            CHECK_OK(dnnl_tp_set_primitive_cache_capacity(100));
            stopping_t s = {.fn = what[k], .stop_in = stops[k]};
            pthread_t thread;
            atomic_store(&go_on, 0);
            atomic_store(&stopped, 0);
            watchdog(30, NULL);
            assert_int_equal(pthread_create(&thread, NULL, do_stopping, &s), 0);
            while (!atomic_load(&stopped) && !atomic_load(&s.ended)) sched_yield();
            for (int other = 0; other < KINDS; ++other) what[other](); /* hangs beside a lock */
            atomic_store(&go_on, 1);
            assert_int_equal(pthread_join(thread, NULL), 0);
            more = atomic_load(&stopped);
        }
    for (int k = 0; k < KINDS; ++k) {
        print_message("kind %d: %d allocations\n", k, stops[k] - 1);
        assert_true(stops[k] > 1);
    }
}

static int setup(void **state) {
    static const dnnl_tp_allocator_t allocator = {sizeof allocator, NULL, alloc, release};
    CHECK_OK(dnnl_tp_set_allocator(&allocator));
    if (test_engine_setup(state)) return -1;
    dnnl_tp_value_t v;
    CHECK_OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(graph, &v, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){N}));
    CHECK_OK(dnnl_tp_graph_op(graph, dnnl_tp_op_relu, "y", 1, &v, 0, NULL, 1, &v));
    for (int i = 0; i < STREAMS; ++i) {
        dnnl_tp_threadpool_t pool = test_pool(1);
        all[i] = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        dnnl_tp_threadpool_destroy(pool);
    }
    both = test_stream(test_engine, NULL, 0, 0);
    return 0;
}
static int teardown(void **state) {
    for (int i = 0; i < STREAMS; ++i) CHECK_OK(dnnl_tp_stream_destroy(all[i]));
    CHECK_OK(dnnl_tp_stream_destroy(both));
    dnnl_tp_graph_destroy(graph);
    if (test_engine_teardown(state)) return -1;
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    assert_int_equal(dtp_object_live(), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_any_allocation)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
