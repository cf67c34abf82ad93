/* Asynchronous runs that are cancelled or late while they wait for a ticket end without it, and the
 * items behind them are skipped; and who waits for a run that is late and computes on sleeps. */
#include <pthread.h>
#include <time.h>

#include "support/closures.h"
#include "support/hostile_pools.h"
#include "support/watchdog.h"

enum { MS = 1000000 };
static int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* ---- All tickets are held ---------------------------------------------------------------------------- */

static struct {
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_executable_t holds, counts;
    pthread_t thread;
    _Atomic int in, go, ran, called;
} held;
CLOSURE(hold) {
    UNUSED;
    atomic_store(&held.in, 1);
    until(&held.go, 1);
    return dnnl_tp_success;
}
CLOSURE(count) {
    UNUSED;
    atomic_fetch_add(&held.ran, 1);
    return dnnl_tp_success;
}
static void note_call(void *arg, dnnl_tp_status_t status) {
    if (status != *(dnnl_tp_status_t *)arg) abort();
    atomic_fetch_add(&held.called, 1);
}
static void *hold_ticket(void *arg) {
    (void)arg;
    dnnl_tp_stream_t s = test_stream(test_engine, held.pool, 0, 0);
    run(held.holds, s);
    if (dnnl_tp_stream_destroy(s)) abort();
    return NULL;
}
static void begin_hold(void) {
    atomic_store(&held.in, 0);
    atomic_store(&held.go, 0);
    atomic_store(&held.ran, 0);
    atomic_store(&held.called, 0);
    assert_int_equal(pthread_create(&held.thread, NULL, hold_ticket, NULL), 0);
    until(&held.in, 1);
}
static void end_hold(void) {
    atomic_store(&held.go, 1);
    pthread_join(held.thread, NULL);
}
static void cancel_fires(const dnnl_tp_run_opts_t *opts) { CHECK_OK(dnnl_tp_cancel_fire(opts->cancel)); }

/* The run, an item behind it that is skipped, and, after a reset, one that runs. before: the run is
 * over when it is submitted. Nobody waits: the token alone ends it. */
static void cancelled(int before) {
    dnnl_tp_status_t expected = dnnl_tp_cancelled;
    dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts};
    CHECK_OK(dnnl_tp_cancel_create(&opts.cancel));
    dnnl_tp_stream_t s = test_stream(test_engine, held.pool, 1, 0);
    begin_hold();
    if (before) cancel_fires(&opts);
    dnnl_tp_event_t first = run_async_with(held.counts, s, &opts), second = run_async(held.counts, s);
    CHECK_OK(dnnl_tp_event_on_complete(first, note_call, &expected));
    CHECK_OK(dnnl_tp_event_on_complete(second, note_call, &expected));
    if (!before) cancel_fires(&opts);
    until(&held.called, before ? 1 : 2); /* while the ticket is held */
    if (!before) assert_int_equal(dnnl_tp_stream_wait(s), dnnl_tp_cancelled);
    CHECK_OK(dnnl_tp_stream_reset(s));
    dnnl_tp_event_t third = run_async(held.counts, s);
    assert_int_equal(atomic_load(&held.ran), 0);
    end_hold();
    CHECK_OK(dnnl_tp_event_wait(third, -1, NULL));
    assert_int_equal(atomic_load(&held.ran), 1);
    assert_int_equal(atomic_load(&held.called), 2);
    dnnl_tp_event_destroy(first);
    dnnl_tp_event_destroy(second);
    dnnl_tp_event_destroy(third);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    dnnl_tp_cancel_destroy(opts.cancel);
}
/* Several streams, whose runs have one token, and wait for each other. */
static void many_cancelled(void) {
    enum { STREAMS = 50 };
    dnnl_tp_status_t expected = dnnl_tp_cancelled;
    dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts};
    dnnl_tp_stream_t s[STREAMS];
    CHECK_OK(dnnl_tp_cancel_create(&opts.cancel));
    begin_hold();
    for (int i = 0; i < STREAMS; ++i) {
        s[i] = test_stream(test_engine, held.pool, 1, 0);
        if (i % 3) { /* its turn comes when the run before has ended */
            dnnl_tp_event_t before = test_record(s[i - 1]);
            CHECK_OK(dnnl_tp_stream_wait_event(s[i], before));
            dnnl_tp_event_destroy(before);
        }
        dnnl_tp_event_t event = run_async_with(held.counts, s[i], &opts);
        CHECK_OK(dnnl_tp_event_on_complete(event, note_call, &expected));
        dnnl_tp_event_destroy(event);
    }
    cancel_fires(&opts);
    until(&held.called, STREAMS);
    end_hold();
    for (int i = 0; i < STREAMS; ++i) {
        assert_int_equal(dnnl_tp_stream_wait(s[i]), dnnl_tp_cancelled);
        CHECK_OK(dnnl_tp_stream_destroy(s[i]));
    }
    assert_int_equal(atomic_load(&held.ran), 0);
    dnnl_tp_cancel_destroy(opts.cancel);
}
static void late(void) {
    dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts};
    dnnl_tp_stream_t s = test_stream(test_engine, held.pool, 1, 0);
    dnnl_tp_status_t result;
    begin_hold();
    opts.deadline_ns = clock_ns(CLOCK_MONOTONIC) + 5 * MS;
    dnnl_tp_event_t event = run_async_with(held.counts, s, &opts);
    CHECK_OK(dnnl_tp_event_wait(event, -1, &result)); /* while the ticket is held */
    assert_int_equal(result, dnnl_tp_deadline_exceeded);
    assert_int_equal(dnnl_tp_stream_wait(s), dnnl_tp_deadline_exceeded);
    end_hold();
    assert_int_equal(atomic_load(&held.ran), 0);
    dnnl_tp_event_destroy(event);
    CHECK_OK(dnnl_tp_stream_destroy(s));
}
static void *give_ticket(void *arg) {
    usleep((unsigned)(uintptr_t)arg);
    atomic_store(&held.go, 1);
    return NULL;
}
/* The ticket comes, and the run begins, at about the moment at which the token is fired. */
static void at_any_moment(void) {
    enum { ROUNDS = 60 };
    dnnl_tp_stream_t s = test_stream(test_engine, held.pool, 1, 0);
    for (int i = 0; i < ROUNDS; ++i) {
        dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts};
        dnnl_tp_status_t result;
        pthread_t giver;
        CHECK_OK(dnnl_tp_cancel_create(&opts.cancel));
        begin_hold();
        dnnl_tp_event_t event = run_async_with(held.counts, s, &opts);
        assert_int_equal(pthread_create(&giver, NULL, give_ticket, (void *)(uintptr_t)(i % 20 * 5)), 0);
        usleep(60);
        cancel_fires(&opts);
        CHECK_OK(dnnl_tp_event_wait(event, -1, &result));
        assert_true(result == dnnl_tp_cancelled || (result == dnnl_tp_success && atomic_load(&held.ran)));
        CHECK_OK(dnnl_tp_stream_reset(s));
        pthread_join(giver, NULL);
        end_hold();
        dnnl_tp_event_destroy(event);
        dnnl_tp_cancel_destroy(opts.cancel);
    }
    CHECK_OK(dnnl_tp_stream_destroy(s));
}
static void without_a_ticket_on(const dnnl_tp_threadpool_iface_t *pool) {
    watchdog(30, NULL);
    held.pool = pool;
    cancelled(0);
    cancelled(1);
    many_cancelled();
    late();
    at_any_moment();
}
static void without_a_ticket(void **state) {
    (void)state;
    held.holds = one_closure(hold, NULL, 0);
    held.counts = one_closure(count, NULL, 0);
    dnnl_tp_threadpool_t pool = test_pool(1);
    without_a_ticket_on(test_pool_iface(pool));
    dnnl_tp_threadpool_destroy(pool);
    static const hostile_kind_t kinds[] = {POOL_FIFO, POOL_RUNS, POOL_REFUSE, POOL_LOOP_SERIAL,
                                           POOL_ASYNC_ONE};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        hostile_pool_t *host = hostile_pool_create(kinds[k], 1);
        without_a_ticket_on(hostile_pool_iface(host));
        assert_int_equal(hostile_pool_complaints(host), 0);
        hostile_pool_destroy(host);
    }
    dnnl_tp_executable_destroy(held.holds);
    dnnl_tp_executable_destroy(held.counts);
}

/* ---- A run that is late computes on ------------------------------------------------------------------ */

static dnnl_tp_event_t awaited;
static int works_ms;
CLOSURE(waits) {
    (void)arg, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_host_wait_event(stop, awaited);
}
CLOSURE(works) {
    UNUSED;
    usleep((unsigned)works_ms * 1000);
    return dnnl_tp_success;
}
/* Two closures, one behind the other: the run rests for the first, and cannot end before the second
 * has. */
static void sleeps(unsigned flags) {
    enum { DEADLINE_MS = 30, WORKS_MS = 400, CPU_MS = 100 };
    const dnnl_tp_threadpool_opts_t pool_opts = {
        .struct_size = sizeof pool_opts, .num_threads = 2, .blocking_threads = flags ? 1 : 0};
    const dnnl_tp_tensor_info_t info = {1, {1}, dnnl_tp_f32};
    dnnl_tp_threadpool_t pool;
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t v, w;
    float y;
    void *out[] = {&y};
    if (flags && DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) return; /* no blocking threads */
    watchdog(30, NULL);
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &pool_opts));
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_host(g, waits, NULL, NULL, DNNL_TP_HOST_MAY_WAIT, "waits", 0, NULL, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_host(g, works, NULL, NULL, flags, "works", 1, &v, 1, &info, &w));
    CHECK_OK(dnnl_tp_graph_output(g, w, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    dnnl_tp_stream_t s = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    awaited = test_host_event();
    works_ms = WORKS_MS;
    dnnl_tp_event_t event;
    const dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts,
                                     .deadline_ns = clock_ns(CLOCK_MONOTONIC) + DEADLINE_MS * MS};
    CHECK_OK(dnnl_tp_executable_run_async(e, s, 0, NULL, 1, out, &opts, &event));
    usleep(5000);
    CHECK_OK(dnnl_tp_event_signal(awaited, dnnl_tp_success));
    const int64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const dnnl_tp_status_t status = dnnl_tp_stream_wait(s);
    assert_true(status == dnnl_tp_deadline_exceeded);
    assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin < (int64_t)CPU_MS * MS);
    dnnl_tp_event_destroy(event);
    dnnl_tp_event_destroy(awaited);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    dnnl_tp_executable_destroy(e);
    dnnl_tp_threadpool_destroy(pool);
}
static void who_waits_for_it_sleeps(void **state) {
    (void)state;
    sleeps(0);
    sleeps(DNNL_TP_HOST_MAY_BLOCK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_ticket),
        cmocka_unit_test(who_waits_for_it_sleeps),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
