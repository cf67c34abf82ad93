/* Published work for which no thread of the pool comes: threads that wait for another stream of the
 * pool, or ask, look after it, because what they wait for may depend on it; within their limit, and
 * by priority. A hang is seen by the watchdog. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "support/closures.h"
#include "support/hostile_pools.h"
#include "support/watchdog.h"

enum { US = 1000, MS = 1000000 };
static hostile_kind_t kind_now;
static void tell_kind(void) { fprintf(stderr, "a hang on %s\n", hostile_pool_name(kind_now)); }
static const hostile_kind_t lonely[] = {POOL_REFUSE, POOL_INLINE, POOL_LOOP_SERIAL, POOL_LOOP,
                                        POOL_ASYNC_REFUSE};

static const dnnl_tp_threadpool_iface_t *pool_now;
static dnnl_tp_executable_t holds, naps, nothing;
static _Atomic int inside, go;
CLOSURE(hold) {
    UNUSED;
    atomic_store(&inside, 1);
    until(&go, 1);
    return dnnl_tp_success;
}
CLOSURE(nap) {
    UNUSED;
    usleep(5000);
    return dnnl_tp_success;
}
CLOSURE(do_nothing) {
    UNUSED;
    return dnnl_tp_success;
}
static dnnl_tp_stream_t stream(int async, int priority) {
    return test_stream(test_engine, pool_now, async, priority);
}
static void *hold_ticket(void *arg) {
    (void)arg;
    dnnl_tp_stream_t s = stream(0, 0);
    run(holds, s);
    if (dnnl_tp_stream_destroy(s)) abort();
    return NULL;
}
static pthread_t begin_hold(void) {
    pthread_t thread;
    atomic_store(&inside, 0);
    atomic_store(&go, 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_ticket, NULL), 0);
    until(&inside, 1);
    return thread;
}
static void signal_event(void *event, dnnl_tp_status_t status) {
    if (dnnl_tp_event_signal(event, status)) abort();
}
static void submit_with_call(dnnl_tp_executable_t e, dnnl_tp_stream_t s, dnnl_tp_event_fn_t fn, void *arg) {
    dnnl_tp_event_t event = run_async(e, s);
    if (dnnl_tp_event_on_complete(event, fn, arg)) abort();
    dnnl_tp_event_destroy(event);
}

/* ---- What a wait leaves is looked after by the next one ----------------------------------------------- */

typedef enum { WAIT, WAIT_FOR_EVENT, WAIT_BEFORE, SYNC, QUERY, DESTROY, WAYS } way_t;
static void *wait_for_stream(void *s) {
    if (dnnl_tp_stream_wait(s)) abort();
    return NULL;
}
/* Stream a needs the second item of stream b, which a wait that gives up leaves behind. */
static void left_by_a_wait(way_t way) {
    pthread_t holder = begin_hold(), early;
    dnnl_tp_stream_t a = stream(1, 0), b = stream(1, 0);
    dnnl_tp_event_t host = test_host_event(), event;
    CHECK_OK(dnnl_tp_stream_wait_event(a, host));
    event = test_record(a);
    dnnl_tp_event_destroy(run_async(naps, b));
    submit_with_call(nothing, b, signal_event, host);
    if (way == WAIT_BEFORE) assert_int_equal(pthread_create(&early, NULL, wait_for_stream, a), 0);
    atomic_store(&go, 1);
    usleep(500);
    const dnnl_tp_status_t status =
        dnnl_tp_stream_wait_for(b, 2 * MS);            /* has run the first one, and is late */
    if (status != dnnl_tp_timed_out) CHECK_OK(status); /* or the holder has run both */
    pthread_join(holder, NULL);
    int done = 0;
    switch (way) {
    case WAIT: CHECK_OK(dnnl_tp_stream_wait(a)); break;
    case WAIT_FOR_EVENT: CHECK_OK(dnnl_tp_event_wait(event, -1, NULL)); break;
    case WAIT_BEFORE: pthread_join(early, NULL); break;
    case SYNC: CHECK_OK(dnnl_tp_sync_devices(-1)); break;
    case QUERY:
        while (!done) CHECK_OK(dnnl_tp_stream_query(a, &done, NULL));
        break;
    default: break;
    }
    CHECK_OK(dnnl_tp_stream_destroy(a));
    CHECK_OK(dnnl_tp_stream_destroy(b));
    dnnl_tp_event_destroy(event);
    dnnl_tp_event_destroy(host);
}
static void on_lonely_pools(void (*test)(void)) {
    for (unsigned k = 0; k < sizeof lonely / sizeof *lonely; ++k) {
        kind_now = lonely[k];
        watchdog(20, tell_kind);
        hostile_pool_t *pool = hostile_pool_create(kind_now, 1);
        pool_now = hostile_pool_iface(pool);
        test();
        hostile_pool_destroy(pool);
    }
}
static void all_ways(void) {
    enum { ROUNDS = 3 };
    for (int i = 0; i < ROUNDS; ++i)
        for (int way = 0; way < WAYS; ++way) left_by_a_wait((way_t)way);
}
static void waits_and_queries_look(void **state) {
    (void)state;
    on_lonely_pools(all_ways);
}

/* ---- A wait ends, also while others go on ------------------------------------------------------------- */

static struct {
    dnnl_tp_stream_t stream;
    _Atomic int stop, stopped, fed;
} feeds;
/* Each item submits the next one. */
static void feed(void *arg, dnnl_tp_status_t status) {
    (void)arg;
    if (status) abort();
    if (atomic_load(&feeds.stop)) {
        atomic_store(&feeds.stopped, 1);
        return;
    }
    atomic_fetch_add(&feeds.fed, 1);
    submit_with_call(nothing, feeds.stream, feed, NULL);
}
static void wait_beside(void) {
    enum { WAITS = 6 };
    for (int i = 0; i < WAITS; ++i) {
        atomic_store(&feeds.stop, 0);
        atomic_store(&feeds.stopped, 0);
        pthread_t holder = begin_hold();
        dnnl_tp_stream_t s = stream(1, 1);
        feeds.stream = stream(1, 0);
        dnnl_tp_event_t event = run_async(naps, s);
        CHECK_OK(dnnl_tp_event_on_complete(event, feed, NULL)); /* on the thread that waits, or the holder */
        const int limited = i % 2;
        atomic_store(&feeds.stop, i < 2); /* warm up */
        atomic_store(&go, 1);
        const dnnl_tp_status_t status = i < 4 ? dnnl_tp_stream_wait_for(s, limited ? 2 * MS : -1)
                                              : dnnl_tp_event_wait(event, limited ? 2 * MS : -1, NULL);
        if (status != dnnl_tp_timed_out) CHECK_OK(status);
        atomic_store(&feeds.stop, 1); /* it would go on for ever */
        pthread_join(holder, NULL);
        while (!atomic_load(&feeds.stopped)) {
            CHECK_OK(dnnl_tp_stream_wait(s));
            CHECK_OK(dnnl_tp_stream_wait(feeds.stream));
        }
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_stream_destroy(feeds.stream));
        dnnl_tp_event_destroy(event);
    }
}
static void waits_end(void **state) {
    (void)state;
    on_lonely_pools(wait_beside);
}

/* ---- A refusal inside a closure ----------------------------------------------------------------------- */

static struct {
    const dnnl_tp_threadpool_iface_t *host;
    _Atomic int refusals;
    dnnl_tp_stream_t stream;
    sem_t done;
} once;
static int refuse_some(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    (void)ctx;
    if (atomic_fetch_sub(&once.refusals, 1) > 0) return 1;
    return once.host->schedule(once.host->ctx, run, fn, arg);
}
static void post(void *arg, dnnl_tp_status_t status) {
    if (status) abort();
    sem_post(arg);
}
CLOSURE(submit_and_wait) {
    UNUSED;
    atomic_store(&once.refusals, *(int *)arg);
    submit_with_call(nothing, once.stream, post, &once.done);
    while (sem_wait(&once.done)) continue;
    atomic_store(&once.refusals, 0);
    return dnnl_tp_success;
}
/* The closure waits for work for which the pool refused a thread. Another thread asks for, or waits
 * for, a stream that does not depend on it as far as anybody can know. */
static void refused_inside(void **state) {
    (void)state;
    enum { W = 2, ROUNDS = 12 };
    kind_now = POOL_FIFO;
    watchdog(30, tell_kind);
    hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, W);
    once.host = hostile_pool_iface(pool);
    dnnl_tp_threadpool_iface_t iface = *once.host;
    iface.schedule = refuse_some;
    pool_now = &iface;
    sem_init(&once.done, 0, 0);
    int refusals;
    dnnl_tp_executable_t e = one_closure(submit_and_wait, &refusals, DNNL_TP_HOST_MAY_BLOCK);
    for (int i = 0; i < ROUNDS; ++i) {
        refusals = 1 + i / 2 % 3;
        dnnl_tp_stream_t s = stream(1, 0), asked = stream(1, 0);
        once.stream = stream(1, 0);
        dnnl_tp_event_t host = test_host_event(), event;
        pthread_t thread;
        CHECK_OK(dnnl_tp_stream_wait_event(asked, host));
        if (i % 2) {
            assert_int_equal(pthread_create(&thread, NULL, wait_for_stream, asked), 0);
            usleep(2000);
        }
        event = run_async(e, s);
        int idle = 0, done = 0;
        while (!done) {
            usleep(100);
            if (!(i % 2)) CHECK_OK(dnnl_tp_stream_query(asked, &idle, NULL));
            done = test_is_done(event);
        }
        CHECK_OK(dnnl_tp_event_signal(host, dnnl_tp_success));
        if (i % 2) pthread_join(thread, NULL);
        dnnl_tp_event_destroy(event);
        dnnl_tp_event_destroy(host);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_stream_destroy(asked));
        CHECK_OK(dnnl_tp_stream_destroy(once.stream));
    }
    dnnl_tp_executable_destroy(e);
    sem_destroy(&once.done);
    hostile_pool_destroy(pool);
}

/* ---- All workers of a pool are in tasks of the program ------------------------------------------------ */

enum { WAITS, POLLS_STREAM, POLLS_EVENT, AWAY_WAYS };
static struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_event_t event; /* behind its item */
    _Atomic int began, ended, way, workers;
} away;
static void wait_or_poll(void *arg) {
    (void)arg;
    const int way = atomic_load(&away.way);
    if (atomic_fetch_add(&away.began, 1) + 1 < atomic_load(&away.workers) && way == WAITS) usleep(1000);
    int done = 0;
    if (way == WAITS && dnnl_tp_stream_wait(away.stream)) abort();
    while (!done)
        if (way == POLLS_EVENT ? dnnl_tp_event_query(away.event, &done, NULL)
                               : dnnl_tp_stream_query(away.stream, &done, NULL))
            abort();
    atomic_fetch_add(&away.ended, 1);
}
/* Each worker needs the item of a stream for which nobody waits. before: it is published when the
 * tasks begin. */
static void workers_away(int workers, int way, int before) {
    dnnl_tp_threadpool_t pool = test_pool(workers);
    pool_now = test_pool_iface(pool);
    away.stream = stream(1, 0);
    dnnl_tp_stream_t other = stream(1, 0);
    dnnl_tp_event_t host = test_host_event();
    CHECK_OK(dnnl_tp_stream_wait_event(away.stream, host));
    away.event = test_record(away.stream);
    atomic_store(&away.began, 0);
    atomic_store(&away.ended, 0);
    atomic_store(&away.way, way);
    atomic_store(&away.workers, workers);
    for (int i = 0; i < workers; ++i)
        assert_int_equal(pool_now->schedule(pool_now->ctx, NULL, wait_or_poll, NULL), 0);
    if (!before) {
        until(&away.began, workers);
        usleep(3000); /* they sleep */
    }
    submit_with_call(nothing, other, signal_event, host);
    until(&away.ended, workers);
    dnnl_tp_event_destroy(away.event);
    CHECK_OK(dnnl_tp_stream_destroy(away.stream));
    CHECK_OK(dnnl_tp_stream_destroy(other));
    dnnl_tp_event_destroy(host);
    dnnl_tp_threadpool_destroy(pool);
}
static void all_workers_are_away(void **state) {
    (void)state;
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL)
        skip(); /* whose workers tell when they are in tasks */
    enum { ROUNDS = 12, MOST = 3 };
    watchdog(30, NULL);
    for (int i = 0; i < ROUNDS; ++i)
        for (int n = 1; n <= MOST; ++n) workers_away(n, i % AWAY_WAYS, i / AWAY_WAYS % 2);
    workers_away(64, 0, 0);
    workers_away(64, 0, 1);
}

/* ---- Priority ----------------------------------------------------------------------------------------- */

static struct {
    dnnl_tp_executable_t low, high;
    _Atomic int lows, before, after;
} ranks;
CLOSURE(run_low) {
    UNUSED;
    usleep(1000);
    atomic_fetch_add(&ranks.lows, 1);
    return dnnl_tp_success;
}
CLOSURE(run_high) {
    UNUSED;
    atomic_store(&ranks.after, atomic_load(&ranks.lows));
    return dnnl_tp_success;
}
static hostile_pool_t *stalled;
static void *submit_high(void *s) {
    until(&ranks.lows, 3);
    if (stalled) hostile_pool_unstall(stalled);
    atomic_store(&ranks.before, atomic_load(&ranks.lows));
    dnnl_tp_event_destroy(run_async(ranks.high, s));
    return NULL;
}
/* A thread that waits for the items of a low priority has the only ticket when the item of a high
 * one comes. */
static void helper_gives_way(void) {
    enum { ITEMS = 150, MAY_BE_BEHIND = 40 }; /* of a processor that is busy */
    dnnl_tp_stream_t low = stream(1, -100), high = stream(1, 100);
    pthread_t thread;
    ranks.low = one_closure(run_low, NULL, 0);
    ranks.high = one_closure(run_high, NULL, 0);
    atomic_store(&ranks.lows, 0);
    pthread_t holder = begin_hold();
    for (int i = 0; i < ITEMS; ++i) dnnl_tp_event_destroy(run_async(ranks.low, low));
    assert_int_equal(pthread_create(&thread, NULL, submit_high, high), 0);
    if (stalled) hostile_pool_stall(stalled);
    atomic_store(&go, 1);
    CHECK_OK(dnnl_tp_stream_wait(low));
    CHECK_OK(dnnl_tp_stream_wait(high));
    pthread_join(thread, NULL);
    pthread_join(holder, NULL);
    assert_true(atomic_load(&ranks.after) - atomic_load(&ranks.before) < MAY_BE_BEHIND);
    CHECK_OK(dnnl_tp_stream_destroy(low));
    CHECK_OK(dnnl_tp_stream_destroy(high));
    dnnl_tp_executable_destroy(ranks.low);
    dnnl_tp_executable_destroy(ranks.high);
}
static void helpers_give_way(void **state) {
    (void)state;
    stalled = NULL;
    on_lonely_pools(helper_gives_way);
    watchdog(20, NULL);
    stalled = hostile_pool_create(POOL_FIFO, 1);
    pool_now = hostile_pool_iface(stalled);
    helper_gives_way();
    hostile_pool_destroy(stalled);
    stalled = NULL;
    dnnl_tp_threadpool_t pool = test_pool(1);
    pool_now = test_pool_iface(pool);
    helper_gives_way();
    dnnl_tp_threadpool_destroy(pool);
}

/* ---- Many threads ------------------------------------------------------------------------------------- */

enum { STREAMS = 40, ITEMS = 5, WAITERS = 4 };
static struct {
    dnnl_tp_stream_t stream[STREAMS];
    dnnl_tp_executable_t sleeps;
    _Atomic int ran;
} many;
CLOSURE(sleep_a_little) {
    UNUSED;
    usleep(200);
    atomic_fetch_add(&many.ran, 1);
    return dnnl_tp_success;
}
static void *wait_in_slices(void *arg) {
    const int first = (int)(intptr_t)arg;
    for (int i = 0; i < STREAMS; ++i) {
        dnnl_tp_stream_t s = many.stream[(first * 7 + i) % STREAMS];
        dnnl_tp_status_t status;
        while ((status = dnnl_tp_stream_wait_for(s, 300 * US)) == dnnl_tp_timed_out) continue;
        if (status) abort();
    }
    return NULL;
}
/* Streams that wait for each other, threads that give up and come back. */
static void many_streams(void) {
    pthread_t thread[WAITERS];
    atomic_store(&many.ran, 0);
    for (int i = 0; i < STREAMS; ++i) many.stream[i] = stream(1, i % 3 - 1);
    for (int k = 0; k < ITEMS; ++k)
        for (int i = 0; i < STREAMS; ++i) {
            if (i % 4) {
                dnnl_tp_event_t event = test_record(many.stream[i - 1]);
                CHECK_OK(dnnl_tp_stream_wait_event(many.stream[i], event));
                dnnl_tp_event_destroy(event);
            }
            dnnl_tp_event_destroy(run_async(many.sleeps, many.stream[i]));
            if (k == 0 && i == STREAMS - 1)
                for (intptr_t t = 0; t < WAITERS; ++t)
                    assert_int_equal(pthread_create(&thread[t], NULL, wait_in_slices, (void *)t), 0);
        }
    for (int t = 0; t < WAITERS; ++t) pthread_join(thread[t], NULL);
    for (int i = 0; i < STREAMS; ++i) CHECK_OK(dnnl_tp_stream_destroy(many.stream[i]));
    assert_int_equal(atomic_load(&many.ran), STREAMS * ITEMS);
}
static void many_threads(void **state) {
    (void)state;
    static const hostile_kind_t kinds[] = {POOL_FIFO,          POOL_REFUSE_SOME, POOL_REFUSE,
                                           POOL_SINGLE_CALLER, POOL_LOOP,        POOL_ASYNC_UNORDERED,
                                           POOL_LIES_ONE,      POOL_SINGLE,      POOL_RUNS};
    many.sleeps = one_closure(sleep_a_little, NULL, 0);
    for (int n = 4; n <= 64; n *= 4) {
        for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
            kind_now = kinds[k];
            watchdog(30, tell_kind);
            hostile_pool_t *host = hostile_pool_create(kind_now, n);
            pool_now = hostile_pool_iface(host);
            many_streams();
            hostile_pool_destroy(host);
        }
        dnnl_tp_threadpool_t pool = test_pool(n);
        pool_now = test_pool_iface(pool);
        many_streams();
        dnnl_tp_threadpool_destroy(pool);
    }
    dnnl_tp_executable_destroy(many.sleeps);
}

static int setup(void **state) {
    if (test_engine_setup(state)) return -1;
    holds = one_closure(hold, NULL, 0);
    naps = one_closure(nap, NULL, 0);
    nothing = one_closure(do_nothing, NULL, 0);
    return 0;
}
static int teardown(void **state) {
    dnnl_tp_executable_destroy(holds);
    dnnl_tp_executable_destroy(naps);
    dnnl_tp_executable_destroy(nothing);
    return test_engine_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_and_queries_look), cmocka_unit_test(waits_end),
        cmocka_unit_test(refused_inside),         cmocka_unit_test(all_workers_are_away),
        cmocka_unit_test(helpers_give_way),       cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
