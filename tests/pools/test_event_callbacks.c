/* Callbacks of events on every pool: what they may call, order, races with signals; chains of callbacks that
 * submit more, streams that never rest, priorities. Events on their own: test_events.c. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

enum { N = 3000, MS = 1000000 };

static dnnl_tp_primitive_t add;

typedef struct {
    _Atomic int calls, order;
    int seen[8];
    dnnl_tp_event_t event;
    dnnl_tp_stream_t stream;
    float *x;
    dnnl_tp_status_t status, query, wait_self, wait_stream, wait_gate, destroy_stream, sync, submit;
    int done;
    dnnl_tp_event_t gate;
} calls_t;

static void note_call(void *arg, dnnl_tp_status_t status) {
    calls_t *c = arg;
    c->status = status;
    atomic_fetch_add(&c->calls, 1);
}
static void everything_from_callback(void *arg, dnnl_tp_status_t status) {
    calls_t *c = arg;
    c->query = dnnl_tp_event_query(c->event, &c->done, NULL);
    c->wait_self = dnnl_tp_event_wait(c->event, -1, NULL);
    c->wait_gate = dnnl_tp_event_wait(c->gate, -1, NULL);
    c->wait_stream = dnnl_tp_stream_wait(c->stream);
    c->destroy_stream = dnnl_tp_stream_destroy(c->stream);
    c->sync = dnnl_tp_sync_devices(-1);
    c->submit = test_step(add, c->stream, c->x);
    dnnl_tp_event_destroy(c->event);
    note_call(arg, status);
}
static void callbacks_do_everything(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        calls_t c = {.stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0), .x = x};
        dnnl_tp_event_t start = test_host_event();
        c.gate = test_host_event();
        x[0] = 0;
        CHECK_OK(dnnl_tp_stream_wait_event(c.stream, start));
        CHECK_OK(test_step(add, c.stream, x));
        c.event = test_record(c.stream);
        dnnl_tp_event_t same = test_record(c.stream);
        CHECK_OK(dnnl_tp_event_on_complete(c.event, everything_from_callback, &c));
        assert_int_equal(atomic_load(&c.calls), 0);
        CHECK_OK(dnnl_tp_event_signal(start, dnnl_tp_success));
        CHECK_OK(dnnl_tp_event_wait(same, -1, NULL));
        CHECK_OK(dnnl_tp_stream_wait(c.stream)); /* after the callbacks, and what they submitted in time */
        assert_int_equal(atomic_load(&c.calls), 1);
        CHECK_OK(dnnl_tp_stream_wait(c.stream));
        assert_true(c.done == 1 && c.status == dnnl_tp_success && c.query == dnnl_tp_success);
        assert_int_equal(c.wait_self, dnnl_tp_success);
        assert_int_equal(c.wait_gate, dnnl_tp_would_deadlock);
        assert_int_equal(c.wait_stream, dnnl_tp_would_deadlock);
        assert_int_equal(c.destroy_stream, dnnl_tp_would_deadlock);
        assert_int_equal(c.sync, dnnl_tp_would_deadlock);
        assert_int_equal(c.submit, dnnl_tp_success);
        assert_true(x[0] == 2);
        dnnl_tp_event_destroy(same);
        dnnl_tp_event_destroy(start);
        dnnl_tp_event_destroy(c.gate);
        CHECK_OK(dnnl_tp_stream_destroy(c.stream));
        hostile_pool_destroy(pool);
    }
    free(x);
}

typedef struct {
    calls_t *calls;
    int index;
} ordered_t;
static void ordered_call(void *arg, dnnl_tp_status_t status) {
    ordered_t *o = arg;
    (void)status;
    o->calls->seen[atomic_fetch_add(&o->calls->order, 1)] = o->index;
}
static void callbacks_are_ordered(void **state) {
    (void)state;
    calls_t c = {.status = dnnl_tp_success};
    ordered_t o[8];
    dnnl_tp_event_t event = test_host_event();
    for (int i = 0; i < 8; ++i) {
        o[i] = (ordered_t){&c, i};
        if (i == 6) CHECK_OK(dnnl_tp_event_signal(event, dnnl_tp_success));
        CHECK_OK(dnnl_tp_event_on_complete(event, ordered_call, &o[i]));
    }
    for (int i = 0; i < 8; ++i) assert_int_equal(c.seen[i], i);
    dnnl_tp_event_destroy(event);
    /* Destroyed without a signal: callbacks run all the same. */
    event = test_host_event();
    CHECK_OK(dnnl_tp_event_on_complete(event, note_call, &c));
    dnnl_tp_event_destroy(event);
    assert_int_equal(atomic_load(&c.calls), 1);
    assert_int_equal(c.status, dnnl_tp_cancelled);
}

/* Threads add callbacks while others signal: each is called once, one signal wins. */
typedef struct {
    dnnl_tp_event_t event;
    _Atomic int *calls, *wins;
    pthread_barrier_t *barrier;
} race_t;
static void count_call(void *arg, dnnl_tp_status_t status) {
    (void)status;
    atomic_fetch_add((_Atomic int *)arg, 1);
}
enum { RACES = 400, ADDED = 5 };
static void *race_main(void *arg) {
    race_t *r = arg;
    for (int k = 0; k < RACES; ++k) {
        pthread_barrier_wait(r->barrier);
        for (int i = 0; i < ADDED; ++i) {
            if (dnnl_tp_event_on_complete(r->event, count_call, r->calls)) abort();
            if (i == k % ADDED && dnnl_tp_event_signal(r->event, dnnl_tp_success) == dnnl_tp_success)
                atomic_fetch_add(r->wins, 1);
        }
        if (dnnl_tp_event_wait(r->event, -1, NULL)) abort();
        pthread_barrier_wait(r->barrier);
    }
    return NULL;
}
static void signals_and_callbacks_race(void **state) {
    (void)state;
    enum { THREADS = 3 };
    _Atomic int calls = 0, wins = 0;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    race_t r = {.calls = &calls, .wins = &wins, .barrier = &barrier};
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_create(&thread[i], NULL, race_main, &r), 0);
    for (int k = 0; k < RACES; ++k) {
        r.event = test_host_event();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        assert_int_equal(atomic_load(&calls), THREADS * ADDED);
        assert_int_equal(atomic_load(&wins), 1);
        atomic_store(&calls, 0);
        atomic_store(&wins, 0);
        dnnl_tp_event_destroy(r.event);
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* Events, each signalled by a callback of the one before, or added to one that is done: no callback is called
 * inside another one, so a chain of any length takes no stack. */
enum { CHAIN = 100000 };
typedef struct {
    dnnl_tp_event_t *event, done;
    int calls, added, inside;
} chain_t;
static void chain_added(void *arg, dnnl_tp_status_t status) {
    chain_t *c = arg;
    if (status || c->inside++) abort();
    ++c->added;
    if (c->added < CHAIN && dnnl_tp_event_on_complete(c->done, chain_added, c)) abort();
    --c->inside;
}
static void chain_step(void *arg, dnnl_tp_status_t status) {
    chain_t *c = arg;
    if (status || c->inside++) abort();
    if (++c->calls < CHAIN && dnnl_tp_event_signal(c->event[c->calls], dnnl_tp_success)) abort();
    if (c->calls < CHAIN && !test_is_done(c->event[c->calls]))
        abort(); /* at once; its callback comes later */
    --c->inside;
}
static void callbacks_signal(void **state) {
    (void)state;
    chain_t c = {.event = malloc(CHAIN * sizeof(*c.event))};
    for (int i = 0; i < CHAIN; ++i) {
        c.event[i] = test_host_event();
        CHECK_OK(dnnl_tp_event_on_complete(c.event[i], chain_step, &c));
    }
    CHECK_OK(dnnl_tp_event_signal(c.event[0], dnnl_tp_success));
    assert_int_equal(c.calls, CHAIN);
    c.done = c.event[0];
    CHECK_OK(dnnl_tp_event_on_complete(c.done, chain_added, &c));
    assert_int_equal(c.added, CHAIN);
    for (int i = 0; i < CHAIN; ++i) dnnl_tp_event_destroy(c.event[i]);
    free(c.event);
}

/* A chain of callbacks, each of which submits the next item: nothing recurses, on any pool. */
typedef struct {
    dnnl_tp_stream_t stream[2];
    float *x;
    _Atomic int left;
    dnnl_tp_event_t finished;
} relay_t;
static void relay_step(void *arg, dnnl_tp_status_t status) {
    relay_t *r = arg;
    dnnl_tp_event_t event;
    int left = atomic_fetch_sub(&r->left, 1) - 1;
    if (status || left == 0) {
        if (dnnl_tp_event_signal(r->finished, status)) abort();
        return;
    }
    dnnl_tp_stream_t stream = r->stream[left % 2];
    if (test_step(add, stream, r->x) || dnnl_tp_stream_record_event(stream, &event)) abort();
    if (dnnl_tp_event_on_complete(event, relay_step, r)) abort();
    dnnl_tp_event_destroy(event);
}
static void callbacks_submit(void **state) {
    (void)state;
    enum { STEPS = 600 };
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED || kind == POOL_LATE) continue;
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        relay_t r = {.x = calloc(N, sizeof(float)), .finished = test_host_event()};
        for (int i = 0; i < 2; ++i) r.stream[i] = test_stream(test_engine, hostile_pool_iface(pool), 1, 0);
        atomic_store(&r.left, STEPS + 1);
        relay_step(&r, dnnl_tp_success);
        /* Waiters drive pools that cannot be called from their own jobs. */
        for (int round = 0; !test_is_done(r.finished) && round < 100000; ++round)
            for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_stream_wait(r.stream[i]));
        CHECK_OK(dnnl_tp_event_wait(r.finished, -1, NULL));
        assert_true(r.x[0] == STEPS && r.x[N - 1] == STEPS);
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_stream_destroy(r.stream[i]));
        dnnl_tp_event_destroy(r.finished);
        free(r.x);
        hostile_pool_destroy(pool);
    }
}

typedef struct {
    dnnl_tp_stream_t stream;
    float *x;
    _Atomic int stop, stopped;
} endless_t;
static void endless_step(void *arg, dnnl_tp_status_t status) {
    endless_t *e = arg;
    dnnl_tp_event_t event;
    if (status || atomic_load(&e->stop)) {
        atomic_store(&e->stopped, 1);
        return;
    }
    dnnl_tp_status_t s = test_step(add, e->stream, e->x);
    if (s == dnnl_tp_success) s = dnnl_tp_stream_record_event(e->stream, &event);
    if (s == dnnl_tp_success) s = dnnl_tp_event_on_complete(event, endless_step, e);
    if (s) abort();
    dnnl_tp_event_destroy(event);
}
/* A stream that gets new work forever: waits end, by their target or by their limit. */
static void waits_end_under_load(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        if (kind == POOL_STALLED) continue;
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        if (kind == POOL_REFUSE || kind == POOL_INLINE || (kind >= POOL_LOOP && kind < POOL_ASYNC_IN_ORDER) ||
            kind == POOL_ASYNC_REFUSE) {
            hostile_pool_destroy(pool); /* its submitter would work forever itself */
            continue;
        }
        endless_t e = {.stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0),
                       .x = calloc(N, sizeof(float))};
        endless_step(&e, dnnl_tp_success);
        for (int k = 0; k < 5; ++k) {
            dnnl_tp_status_t status = dnnl_tp_stream_wait_for(e.stream, MS);
            assert_true(status == dnnl_tp_success || status == dnnl_tp_timed_out);
            CHECK_OK(dnnl_tp_stream_wait(e.stream)); /* up to here, not forever */
            CHECK_OK(dnnl_tp_sync_devices(-1));
            CHECK_OK(dnnl_tp_sync_engine(test_engine, -1));
        }
        atomic_store(&e.stop, 1);
        while (!atomic_load(&e.stopped)) CHECK_OK(dnnl_tp_stream_wait(e.stream));
        CHECK_OK(dnnl_tp_stream_destroy(e.stream));
        free(e.x);
        hostile_pool_destroy(pool);
    }
}

/* Of streams that wait for a thread, the one with the higher priority is taken first. On pools whose only way
 * in is a loop no stream waits for a thread: who releases streams runs them, in the order of release. */
static void priority(void **state) {
    (void)state;
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) skip();
    float x[4] = {0}, y = 0;
    dnnl_tp_primitive_t small = test_linear(test_engine, 1, 1, 1);
    dnnl_tp_threadpool_t pool = test_pool(1);
    dnnl_tp_event_t gate = test_host_event(), blocker_runs;
    calls_t c = {.status = dnnl_tp_success};
    static const int priorities[] = {0, -5, 7, 0};
    ordered_t o[4];
    dnnl_tp_stream_t stream[4];
    /* Released by one event, from the callback of which the only thread cannot take anything. */
    for (int i = 0; i < 4; ++i) {
        stream[i] = test_stream(test_engine, test_pool_iface(pool), 1, priorities[i]);
        o[i] = (ordered_t){&c, i};
    }
    dnnl_tp_stream_t blocker = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    CHECK_OK(dnnl_tp_stream_wait_event(blocker, gate));
    CHECK_OK(test_step(small, blocker, &y));
    blocker_runs = test_record(blocker);
    for (int i = 0; i < 4; ++i) {
        CHECK_OK(dnnl_tp_stream_wait_event(stream[i], blocker_runs));
        CHECK_OK(test_step(small, stream[i], &x[i]));
        dnnl_tp_event_t event = test_record(stream[i]);
        CHECK_OK(dnnl_tp_event_on_complete(event, ordered_call, &o[i]));
        dnnl_tp_event_destroy(event);
    }
    CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    while (atomic_load(&c.order) < 4) usleep(100); /* the pool's thread alone: who waits helps */
    for (int i = 0; i < 4; ++i) CHECK_OK(dnnl_tp_stream_wait(stream[i]));
    static const int want[] = {2, 0, 3, 1};
    for (int i = 0; i < 4; ++i) assert_int_equal(c.seen[i], want[i]);
    for (int i = 0; i < 4; ++i) CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
    CHECK_OK(dnnl_tp_stream_destroy(blocker));
    dnnl_tp_event_destroy(blocker_runs);
    dnnl_tp_event_destroy(gate);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_primitive_destroy(small);
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

/* An event is destroyed while threads wait for it, by its own callback or by who signals another one; the waiting threads
 * come late, because a signal handler keeps them. */
enum { WAITING = 4 };
typedef struct {
    dnnl_tp_event_t event;
    _Atomic int came;
    dnnl_tp_status_t status, result;
} late_t;
static void *wait_late(void *arg) {
    late_t *l = arg;
    atomic_fetch_add(&l->came, 1);
    l->status = dnnl_tp_event_wait(l->event, -1, &l->result);
    return NULL;
}
static void keep(int number) {
    (void)number;
    usleep(60000);
}
static void destroy_own(void *arg, dnnl_tp_status_t status) {
    (void)status;
    dnnl_tp_event_destroy(*(dnnl_tp_event_t *)arg);
}

static void destroyed_while_awaited(void **state) {
    (void)state;
    enum { BY_OTHER, BY_CALLBACK, HOST_EVENT, WAYS };
    const struct sigaction slow = {.sa_handler = keep};
    struct sigaction before;
    sigaction(SIGUSR1, &slow, &before);
    for (int way = 0; way < WAYS; ++way) {
        watchdog(100, NULL);
        hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, 2);
        dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0);
        dnnl_tp_event_t gate = test_host_event(), event = gate;
        CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
        if (way != HOST_EVENT) event = test_record(stream);
        if (way == BY_CALLBACK) CHECK_OK(dnnl_tp_event_on_complete(event, destroy_own, &event));
        late_t late[WAITING];
        pthread_t thread[WAITING];
        for (int i = 0; i < WAITING; ++i) {
            late[i] = (late_t){.event = event, .status = dnnl_tp_runtime_error};
            assert_int_equal(pthread_create(&thread[i], NULL, wait_late, &late[i]), 0);
            while (!atomic_load(&late[i].came)) usleep(1000);
        }
        usleep(20000);
        for (int i = 0; i < WAITING; ++i) pthread_kill(thread[i], SIGUSR1);
        usleep(10000);
        if (way == BY_OTHER) CHECK_OK(dnnl_tp_event_destroy(event));
        if (way != HOST_EVENT) CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        CHECK_OK(dnnl_tp_event_destroy(gate));
        for (int i = 0; i < WAITING; ++i) {
            assert_int_equal(pthread_join(thread[i], NULL), 0);
            CHECK_OK(late[i].status);
            assert_int_equal(late[i].result, way == HOST_EVENT ? dnnl_tp_cancelled : dnnl_tp_success);
        }
        assert_int_equal(dnnl_tp_stream_wait(stream),
                         way == HOST_EVENT ? dnnl_tp_cancelled : dnnl_tp_success);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        hostile_pool_destroy(pool);
    }
    sigaction(SIGUSR1, &before, NULL);
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_do_everything),    cmocka_unit_test(callbacks_are_ordered),
        cmocka_unit_test(signals_and_callbacks_race), cmocka_unit_test(callbacks_submit),
        cmocka_unit_test(waits_end_under_load),       cmocka_unit_test(priority),
        cmocka_unit_test(callbacks_signal),           cmocka_unit_test(destroyed_while_awaited),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
