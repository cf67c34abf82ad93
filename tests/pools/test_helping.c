/* Threads that wait help what they wait for, whatever thread it is: workers of a pool in tasks of the program, callers of
 * runs that come after items, owners of runs that rest. Every hang is seen by the watchdog. */
#include <pthread.h>
#include <sched.h>

#include "support/closures.h"
#include "support/hostile_pools.h"
#include "support/watchdog.h"

CLOSURE(nothing) {
    UNUSED;
    return dnnl_tp_success;
}

/* ---- Skipping does not wait -------------------------------------------------------------------------- */

static _Atomic int began, go_on;
CLOSURE(fails) {
    UNUSED;
    atomic_fetch_add(&began, 1);
    until(&go_on, 1);
    return dnnl_tp_fail(dnnl_tp_runtime_error, "on purpose");
}
static void *wait_for_failure(void *stream) {
    if (dnnl_tp_stream_wait(stream) != dnnl_tp_runtime_error) abort();
    return NULL;
}
/* The item behind the failed one would wait for an event that comes only after the wait. */
static void skip_rounds(const dnnl_tp_threadpool_iface_t *pool) {
    enum { ROUNDS = 100 };
    dnnl_tp_executable_t e = one_closure(fails, NULL, 0);
    for (int i = 0; i < ROUNDS; ++i) {
        dnnl_tp_stream_t a = test_stream(test_engine, pool, 1, 0), b = test_stream(test_engine, pool, 1, 0);
        dnnl_tp_event_t host = test_host_event(), run_event, event;
        pthread_t thread;
        atomic_store(&began, 0);
        atomic_store(&go_on, 0);
        CHECK_OK(dnnl_tp_stream_wait_event(b, host));
        event = test_record(b);
        run_event = run_async(e, a);
        CHECK_OK(dnnl_tp_stream_wait_event(a, event));
        until(&began, 1);
        assert_int_equal(pthread_create(&thread, NULL, wait_for_failure, a), 0);
        usleep(i % 4 * 100); /* it may sleep by now */
        atomic_store(&go_on, 1);
        pthread_join(thread, NULL);
        CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
        CHECK_OK(dnnl_tp_stream_destroy(b));
        CHECK_OK(dnnl_tp_stream_destroy(a));
        dnnl_tp_event_destroy(run_event);
        dnnl_tp_event_destroy(event);
        dnnl_tp_event_destroy(host);
    }
    dnnl_tp_executable_destroy(e);
}

/* ---- All workers of a pool wait in tasks of the program ---------------------------------------------- */

typedef enum { RUN_AFTER, REST, REST_FOR_SEVERAL, WAYS } way_t;
enum { EVENTS = 2 };
static struct {
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_executable_t item;
    way_t way;
    int workers;
    _Atomic int in, done;
} all;
CLOSURE(waits) {
    (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_host_wait_event(stop, *(dnnl_tp_event_t *)arg);
}
/* Its operators wait for one event each. */
static dnnl_tp_executable_t compile_waits(dnnl_tp_event_t *event, int n) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    dnnl_tp_executable_t e;
    const dnnl_tp_tensor_info_t none = {1, {0}, dnnl_tp_f32};
    if (dnnl_tp_graph_create(&g, dnnl_tp_cpu)) abort();
    for (int i = 0; i < n; ++i)
        if (dnnl_tp_graph_host(g, waits, &event[i], NULL, DNNL_TP_HOST_MAY_WAIT, "waits", 0, NULL, 1, &none,
                               &v))
            abort();
    if (dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL)) abort();
    dnnl_tp_graph_destroy(g);
    return e;
}
static void task(void *arg) {
    (void)arg;
    dnnl_tp_event_t event[EVENTS];
    dnnl_tp_stream_t s[EVENTS], sync = test_stream(test_engine, all.pool, 0, 0);
    dnnl_tp_executable_t e = compile_waits(event, all.way == REST ? 1 : EVENTS);
    for (int i = 0; i < EVENTS; ++i) s[i] = test_stream(test_engine, all.pool, 1, 0);
    atomic_fetch_add(&all.in, 1);
    while (atomic_load(&all.in) < all.workers) sched_yield();
    for (int i = 0; i < EVENTS; ++i) event[i] = run_async(all.item, s[i]);
    if (all.way == RUN_AFTER) run(all.item, s[0]);
    else run(e, sync);
    for (int i = 0; i < EVENTS; ++i) {
        dnnl_tp_event_destroy(event[i]);
        if (dnnl_tp_stream_destroy(s[i])) abort();
    }
    if (dnnl_tp_stream_destroy(sync)) abort();
    dnnl_tp_executable_destroy(e);
    atomic_fetch_add(&all.done, 1);
}
/* Nobody else can run the items. */
static void all_wait(const dnnl_tp_threadpool_iface_t *pool, int workers) {
    for (int way = 0; way < WAYS; ++way) {
        all.pool = pool;
        all.way = (way_t)way;
        all.workers = workers;
        atomic_store(&all.in, 0);
        atomic_store(&all.done, 0);
        all.item = one_closure(nothing, NULL, 0);
        for (int i = 0; i < workers; ++i) assert_int_equal(pool->schedule(pool->ctx, NULL, task, NULL), 0);
        until(&all.done, workers);
        dnnl_tp_executable_destroy(all.item);
    }
}

static void on_pools(void (*test)(const dnnl_tp_threadpool_iface_t *pool, int n)) {
    for (int n = 1; n <= 3; ++n) {
        watchdog(30, NULL);
        dnnl_tp_threadpool_t built_in = test_pool(n);
        test(test_pool_iface(built_in), n);
        dnnl_tp_threadpool_destroy(built_in);
        hostile_pool_t *host = hostile_pool_create(POOL_FIFO, n);
        test(hostile_pool_iface(host), n);
        hostile_pool_destroy(host);
    }
}
static void skip_on(const dnnl_tp_threadpool_iface_t *pool, int n) {
    if (n > 1) skip_rounds(pool);
}
static void skipping_does_not_wait(void **state) {
    (void)state;
    on_pools(skip_on);
}
static void all_workers_wait(void **state) {
    (void)state;
    on_pools(all_wait);
}

/* ---- A ticket that is offered to a wait whose time is over ------------------------------------------- */

static struct {
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_executable_t holds;
    dnnl_tp_event_t event;
    _Atomic int in_task, go_wait, waiting, done;
} late;
static void wait_in_task(void *arg) {
    (void)arg;
    atomic_store(&late.in_task, 1);
    until(&late.go_wait, 1);
    atomic_store(&late.waiting, 1);
    if (dnnl_tp_event_wait(late.event, -1, NULL)) abort();
    atomic_store(&late.done, 1);
}
CLOSURE(holds) {
    UNUSED;
    atomic_store(&began, 1);
    until(&go_on, 1);
    return dnnl_tp_success;
}
static void *hold_ticket(void *arg) {
    (void)arg;
    dnnl_tp_stream_t s = test_stream(test_engine, late.pool, 0, 0);
    run(late.holds, s);
    if (dnnl_tp_stream_destroy(s)) abort();
    return NULL;
}
static void offered_too_late(void **state) {
    (void)state;
    enum { ROUNDS = 150 };
    watchdog(60, NULL);
    dnnl_tp_threadpool_t pool = test_pool(1);
    late.pool = test_pool_iface(pool);
    late.holds = one_closure(holds, NULL, 0);
    dnnl_tp_executable_t item = one_closure(nothing, NULL, 0);
    for (int i = 0; i < ROUNDS; ++i) {
        atomic_store(&began, 0);
        atomic_store(&go_on, 0);
        atomic_store(&late.in_task, 0);
        atomic_store(&late.go_wait, 0);
        atomic_store(&late.waiting, 0);
        atomic_store(&late.done, 0);
        assert_int_equal(late.pool->schedule(late.pool->ctx, NULL, wait_in_task, NULL), 0);
        until(&late.in_task, 1);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, hold_ticket, NULL), 0);
        until(&began, 1);
        dnnl_tp_stream_t a = test_stream(test_engine, late.pool, 1, 100),
                         b = test_stream(test_engine, late.pool, 1, 0);
        dnnl_tp_event_t event = run_async(item, a);
        late.event = run_async(item, b);
        atomic_store(&late.go_wait, 1);
        until(&late.waiting, 1);
        usleep(200);
        atomic_store(&go_on, 1); /* seen after 50 us or more: about when the wait gives up */
        const dnnl_tp_status_t status = dnnl_tp_event_wait(event, 40000 + i * 1000, NULL);
        if (status != dnnl_tp_timed_out) CHECK_OK(status);
        until(&late.done, 1); /* without a look of this thread */
        pthread_join(thread, NULL);
        CHECK_OK(dnnl_tp_stream_destroy(a));
        CHECK_OK(dnnl_tp_stream_destroy(b));
        dnnl_tp_event_destroy(event);
        dnnl_tp_event_destroy(late.event);
    }
    dnnl_tp_executable_destroy(item);
    dnnl_tp_executable_destroy(late.holds);
    dnnl_tp_threadpool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipping_does_not_wait),
        cmocka_unit_test(all_workers_wait),
        cmocka_unit_test(offered_too_late),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
