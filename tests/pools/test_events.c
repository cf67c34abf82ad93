/* Events on every pool: record, order between streams, host events, poison and reset, life. Callbacks:
 * test_event_callbacks.c. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/streams/event.h"

enum { N = 3000, MS = 1000000 };

static dnnl_tp_primitive_t add, twice;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* ---- Record and wait --------------------------------------------------------------------------------- */

static void recorded_events(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    for (int kind = 0; kind < POOL_KINDS; ++kind)
        for (int async = 0; async < 2; ++async) {
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 3);
            dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), async, 0);
            enum { STEPS = 20 };
            dnnl_tp_event_t event[STEPS + 1], empty = test_record(stream);
            assert_true(test_is_done(empty));
            for (int i = 0; i < N; ++i) x[i] = 0;
            int64_t before = now_ns();
            for (int k = 0; k < STEPS; ++k) {
                CHECK_OK(test_step(add, stream, x));
                event[k] = test_record(stream);
            }
            event[STEPS] = test_record(stream); /* two of one item */
            for (int k = STEPS; k >= 0; --k) {
                dnnl_tp_status_t result = dnnl_tp_runtime_error;
                CHECK_OK(dnnl_tp_event_wait(event[k], -1, &result));
                assert_int_equal(result, dnnl_tp_success);
                assert_true(x[0] == STEPS && x[N - 1] == STEPS);
            }
            int64_t last = before;
            for (int k = 0; k <= STEPS; ++k) {
                int64_t begin, end;
                CHECK_OK(dnnl_tp_event_get_times(event[k], &begin, &end));
                assert_true((k == STEPS || begin >= last) && end >= begin && end <= now_ns());
                last = end;
                const char *text;
                CHECK_OK(dnnl_tp_event_get_error(event[k], &text));
                assert_string_equal(text, "");
            }
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            assert_int_equal(hostile_pool_complaints(pool), 0);
            hostile_pool_destroy(pool);
            for (int k = 0; k <= STEPS; ++k) { /* events outlive stream and pool */
                assert_true(test_is_done(event[k]));
                dnnl_tp_event_destroy(event[k]);
            }
            dnnl_tp_event_destroy(empty);
        }
    free(x);
}

/* Two streams hand one tensor to and fro; on one pool, or on two of different kinds. */
static void ping_pong_on(hostile_kind_t first, hostile_kind_t second, bool by_query) {
    enum { ROUNDS = 30 };
    hostile_pool_t *pool[2] = {hostile_pool_create(first, 2), NULL};
    if (second != POOL_KINDS) pool[1] = hostile_pool_create(second, 2);
    dnnl_tp_stream_t stream[2];
    for (int i = 0; i < 2; ++i)
        stream[i] = test_stream(test_engine, hostile_pool_iface(pool[pool[1] ? i : 0]), 1, 0);
    float *x = calloc(N, sizeof(*x));
    float want = 0;
    dnnl_tp_event_t event = NULL;
    for (int k = 0; k < ROUNDS; ++k) {
        if (event) CHECK_OK(dnnl_tp_stream_wait_event(stream[k % 2], event));
        dnnl_tp_event_destroy(event);
        CHECK_OK(test_step(k % 2 ? twice : add, stream[k % 2], x));
        want = k % 2 ? 2 * want : want + 1;
        event = test_record(stream[k % 2]);
    }
    if (by_query)
        while (!test_is_done(event)) usleep(10);
    else CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
    for (int i = 0; i < N; ++i) assert_true(x[i] == want);
    dnnl_tp_event_destroy(event);
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
        if (pool[i]) assert_int_equal(hostile_pool_complaints(pool[i]), 0);
    }
    for (int i = 0; i < 2; ++i)
        if (pool[i]) hostile_pool_destroy(pool[i]);
    free(x);
}
static void ping_pong(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        ping_pong_on((hostile_kind_t)kind, POOL_KINDS, false);
        ping_pong_on((hostile_kind_t)kind, POOL_FIFO, false);
        ping_pong_on(POOL_ASYNC_ONE, (hostile_kind_t)kind, false);
        ping_pong_on(POOL_REFUSE, (hostile_kind_t)kind, false);
        if (kind == POOL_STALLED) continue; /* asking does not work for a pool that took the work */
        ping_pong_on((hostile_kind_t)kind, POOL_KINDS, true);
        ping_pong_on((hostile_kind_t)kind, POOL_ASYNC_UNORDERED, true);
        ping_pong_on((hostile_kind_t)kind, POOL_REFUSE, true);
    }
}

static void *signal_soon(void *event) {
    usleep(3000);
    CHECK_OK(dnnl_tp_event_signal(event, dnnl_tp_success));
    return NULL;
}
static void host_events(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0);
        dnnl_tp_event_t gate = test_host_event();
        x[0] = 0;
        CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t after = test_record(stream);
        CHECK_STATUS(dnnl_tp_stream_wait_for(stream, MS), dnnl_tp_timed_out);
        CHECK_STATUS(dnnl_tp_event_wait(after, MS, NULL), dnnl_tp_timed_out);
        CHECK_STATUS(dnnl_tp_event_wait(gate, MS, NULL), dnnl_tp_timed_out);
        assert_true(!test_is_done(after) && x[0] == 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, signal_soon, gate), 0);
        if (kind % 2) CHECK_OK(dnnl_tp_stream_wait(stream));
        else CHECK_OK(dnnl_tp_event_wait(after, -1, NULL));
        assert_true(x[0] == 1);
        pthread_join(thread, NULL);
        CHECK_STATUS(dnnl_tp_event_signal(gate, dnnl_tp_success), dnnl_tp_invalid_arguments);
        CHECK_STATUS(dnnl_tp_event_signal(after, dnnl_tp_success), dnnl_tp_invalid_arguments);
        dnnl_tp_event_destroy(gate);
        dnnl_tp_event_destroy(after);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        hostile_pool_destroy(pool);
    }
    free(x);
}

/* A synchronous stream waits in the call. */
static void synchronous_streams(void **state) {
    (void)state;
    dnnl_tp_stream_t stream = test_stream(test_engine, NULL, 0, 0);
    dnnl_tp_event_t gate = test_host_event(), bad = test_host_event();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, signal_soon, gate), 0);
    CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
    assert_true(test_is_done(gate));
    pthread_join(thread, NULL);
    CHECK_OK(dnnl_tp_event_signal(bad, dnnl_tp_cancelled));
    CHECK_STATUS(dnnl_tp_stream_wait_event(stream, bad), dnnl_tp_cancelled);
    int idle;
    dnnl_tp_status_t result;
    CHECK_OK(dnnl_tp_stream_query(stream, &idle, &result));
    assert_true(idle && result == dnnl_tp_success);
    CHECK_OK(dnnl_tp_stream_reset(stream));
    CHECK_OK(dnnl_tp_stream_wait_for(stream, 0));
    dnnl_tp_event_destroy(gate);
    dnnl_tp_event_destroy(bad);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

/* ---- Poison and reset -------------------------------------------------------------------------------- */

static void poison_and_reset(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x)), *y = calloc(N, sizeof(*y));
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        const dnnl_tp_threadpool_iface_t *iface = hostile_pool_iface(pool);
        dnnl_tp_stream_t stream = test_stream(test_engine, iface, 1, 0),
                         other = test_stream(test_engine, iface, 1, 0);
        dnnl_tp_event_t bad = test_host_event(), never = test_host_event();
        x[0] = y[0] = 0;
        CHECK_OK(dnnl_tp_stream_wait_event(stream, bad));
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t first = test_record(stream);
        /* Behind a failure nothing is waited for, not even an event that never comes. */
        CHECK_OK(dnnl_tp_stream_wait_event(stream, never));
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t second = test_record(stream);
        /* A stream that depends on it fails with the same status. */
        CHECK_OK(test_step(add, other, y));
        CHECK_OK(dnnl_tp_stream_wait_event(other, second));
        CHECK_OK(test_step(add, other, y));
        dnnl_tp_event_t third = test_record(other);
        CHECK_OK(dnnl_tp_event_signal(bad, dnnl_tp_runtime_error));
        CHECK_STATUS(dnnl_tp_stream_wait(other), dnnl_tp_runtime_error);
        CHECK_STATUS(dnnl_tp_stream_wait(stream), dnnl_tp_runtime_error);
        CHECK_STATUS(dnnl_tp_event_wait(first, -1, NULL), dnnl_tp_runtime_error);
        CHECK_STATUS(dnnl_tp_event_wait(second, -1, NULL), dnnl_tp_runtime_error);
        CHECK_STATUS(dnnl_tp_event_wait(third, -1, NULL), dnnl_tp_runtime_error);
        const char *text;
        CHECK_OK(dnnl_tp_event_get_error(third, &text));
        assert_string_equal(text, "skipped because of an earlier failure: signalled with runtime_error");
        assert_true(x[0] == 0 && y[0] == 1);
        CHECK_STATUS(dnnl_tp_sync_engine(test_engine, -1), dnnl_tp_runtime_error);
        CHECK_STATUS(dnnl_tp_sync_devices(-1), dnnl_tp_runtime_error);
        int idle;
        dnnl_tp_status_t result;
        CHECK_OK(dnnl_tp_stream_query(stream, &idle, &result));
        assert_true(idle && result == dnnl_tp_runtime_error);
        /* What comes before the reset stays skipped, what comes after it runs. */
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t skipped = test_record(stream);
        CHECK_OK(dnnl_tp_stream_reset(stream));
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t runs = test_record(stream);
        CHECK_OK(dnnl_tp_stream_wait(stream));
        CHECK_STATUS(dnnl_tp_event_wait(skipped, -1, NULL), dnnl_tp_runtime_error);
        CHECK_OK(dnnl_tp_event_wait(runs, -1, NULL));
        assert_true(x[0] == 1);
        CHECK_OK(dnnl_tp_stream_reset(other));
        dnnl_tp_event_t clean = test_record(other); /* nothing since the reset */
        CHECK_OK(dnnl_tp_event_wait(clean, -1, NULL));
        CHECK_OK(dnnl_tp_sync_devices(-1));
        /* The late event finds nothing to start; the blocks work on. */
        for (int k = 0; k < 4; ++k) CHECK_OK(test_step(add, stream, x));
        CHECK_OK(dnnl_tp_event_signal(never, dnnl_tp_success));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        assert_true(x[0] == 5);
        dnnl_tp_event_t all[] = {bad, never, first, second, third, skipped, runs, clean};
        for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i) dnnl_tp_event_destroy(all[i]);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        CHECK_OK(dnnl_tp_stream_destroy(other));
        hostile_pool_destroy(pool);
    }
    free(x);
    free(y);
}

static int nodes_of(dnnl_tp_event_t event) {
    int n = 0;
    for (const dtp_callback_t *node = (const dtp_callback_t *)atomic_load(&event->callbacks); node;
         node = node->next)
        ++n;
    return n;
}
/* Streams that live on, and streams that come and go, skip their waits for an event that comes at the very end. */
static void skipped_waits(void **state) {
    (void)state;
    enum { STREAMS = 3, CYCLES = 10000, LIFE = 100 };
    float x[STREAMS][64] = {{0}}; /* a stream's own: they run beside each other */
    dnnl_tp_primitive_t small = test_linear(test_engine, 64, 1, 1);
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t stream[STREAMS];
    dnnl_tp_event_t never = test_host_event(), bad = test_host_event();
    CHECK_OK(dnnl_tp_event_signal(bad, dnnl_tp_runtime_error));
    for (int i = 0; i < STREAMS; ++i) stream[i] = test_stream(test_engine, test_pool_iface(pool), 1, i);
    for (int k = 0; k < CYCLES; ++k) {
        for (int i = 0; i < STREAMS; ++i) {
            CHECK_OK(dnnl_tp_stream_wait_event(stream[i], bad));
            CHECK_OK(dnnl_tp_stream_wait_event(stream[i], never));
            CHECK_OK(dnnl_tp_stream_wait_event(stream[i], never));
            CHECK_OK(test_step(small, stream[i], x[i]));
        }
        for (int i = 0; i < STREAMS; ++i) {
            CHECK_STATUS(dnnl_tp_stream_wait(stream[i]), dnnl_tp_runtime_error);
            CHECK_OK(dnnl_tp_stream_reset(stream[i]));
        }
        assert_true(nodes_of(never) <= 2 * STREAMS); /* as many as waited at one time */
        if (k % LIFE) continue;
        CHECK_OK(dnnl_tp_stream_destroy(stream[0]));
        stream[0] = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    }
    for (int i = 0; i < STREAMS; ++i) assert_true(x[i][0] == 0);
    for (int i = 0; i < STREAMS; ++i) {
        CHECK_OK(dnnl_tp_stream_wait_event(stream[i], never));
        CHECK_OK(test_step(small, stream[i], x[i]));
        CHECK_STATUS(dnnl_tp_stream_wait_for(stream[i], MS), dnnl_tp_timed_out);
        if (i)
            CHECK_OK(
                dnnl_tp_stream_wait_event(stream[i], bad)); /* its wait is not skipped, what follows is */
    }
    CHECK_OK(dnnl_tp_event_signal(never, dnnl_tp_success));
    for (int i = 0; i < STREAMS; ++i) {
        CHECK_STATUS(dnnl_tp_stream_wait(stream[i]), i ? dnnl_tp_runtime_error : dnnl_tp_success);
        CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
    }
    for (int i = 0; i < STREAMS; ++i) assert_true(x[i][0] == 1 && x[i][63] == 1);
    dnnl_tp_event_destroy(never);
    dnnl_tp_event_destroy(bad);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_primitive_destroy(small);
}

/* The event comes at any time: at its skipped wait, at the reset, at the wait after it. */
static void *signal_all(void *arg) {
    dnnl_tp_event_t _Atomic *gate = arg;
    for (int k = 0; k < N; ++k) {
        dnnl_tp_event_t event;
        while ((event = atomic_load(gate)) == NULL) sched_yield();
        for (volatile int i = 0; i < k * 7919 % 65536; ++i) continue;
        CHECK_OK(dnnl_tp_event_signal(event, dnnl_tp_success));
        atomic_store(gate, NULL);
    }
    return NULL;
}
static void waits_again(void **state) {
    (void)state;
    float x[64] = {0};
    dnnl_tp_primitive_t small = test_linear(test_engine, 64, 1, 1);
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    dnnl_tp_event_t bad = test_host_event();
    dnnl_tp_event_t _Atomic gate = NULL;
    pthread_t thread;
    CHECK_OK(dnnl_tp_event_signal(bad, dnnl_tp_runtime_error));
    assert_int_equal(pthread_create(&thread, NULL, signal_all, (void *)&gate), 0);
    for (int k = 0; k < N; ++k) {
        dnnl_tp_event_t event = test_host_event();
        CHECK_OK(dnnl_tp_stream_wait_event(stream, bad));
        CHECK_OK(dnnl_tp_stream_wait_event(stream, event));
        atomic_store(&gate, event);
        CHECK_STATUS(dnnl_tp_stream_wait(stream), dnnl_tp_runtime_error);
        CHECK_OK(dnnl_tp_stream_reset(stream));
        CHECK_OK(dnnl_tp_stream_wait_event(stream, event));
        CHECK_OK(test_step(small, stream, x));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        assert_true(x[0] == (float)(k + 1));
        while (atomic_load(&gate)) sched_yield();
        dnnl_tp_event_destroy(event);
    }
    pthread_join(thread, NULL);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_event_destroy(bad);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_primitive_destroy(small);
}

/* ---- Waiting under load ------------------------------------------------------------------------------ */

/* All W workers of a pool create streams on it, submit and wait at once. */
typedef struct {
    const dnnl_tp_threadpool_iface_t *iface;
    _Atomic int left, bad;
} call_in_t;
static void call_in(void *arg) {
    call_in_t *c = arg;
    dnnl_tp_stream_t stream[2];
    float x[64] = {0};
    dnnl_tp_event_t event = NULL;
    for (int i = 0; i < 2; ++i) stream[i] = test_stream(test_engine, c->iface, 1, i);
    dnnl_tp_primitive_t small = test_linear(test_engine, 64, 1, 1);
    for (int k = 0; k < 6; ++k) {
        if (event && dnnl_tp_stream_wait_event(stream[k % 2], event)) abort();
        dnnl_tp_event_destroy(event);
        if (test_step(small, stream[k % 2], x) || dnnl_tp_stream_record_event(stream[k % 2], &event)) abort();
    }
    if (dnnl_tp_event_wait(event, -1, NULL)) abort();
    dnnl_tp_event_destroy(event);
    for (int i = 0; i < 2; ++i)
        if (dnnl_tp_stream_wait(stream[i]) || dnnl_tp_stream_destroy(stream[i])) abort();
    if (x[0] != 6 || x[63] != 6) atomic_fetch_add(&c->bad, 1);
    dnnl_tp_primitive_destroy(small);
    atomic_fetch_sub(&c->left, 1);
}
static void call_in_job(void *arg, int i, int n) {
    (void)i, (void)n;
    call_in(arg);
}
/* As many calls as two for each thread, by the form that the pool has. */
static void all_call_in(const dnnl_tp_threadpool_iface_t *iface, int w) {
    call_in_t c = {.iface = iface};
    for (int i = 0; i < 2 * w && iface->schedule; ++i) {
        atomic_fetch_add(&c.left, 1);
        if (iface->schedule(iface->ctx, NULL, call_in, &c)) atomic_fetch_sub(&c.left, 1);
    }
    if (!iface->schedule) {
        atomic_store(&c.left, 2 * w);
        assert_int_equal(iface->parallel_for(iface->ctx, 2 * w, call_in_job, &c), 0);
    }
    while (atomic_load(&c.left) > 0) usleep(100);
    assert_int_equal(atomic_load(&c.bad), 0);
    CHECK_OK(dnnl_tp_threadpool_quiesce(iface, -1));
}
static void all_workers_wait(void **state) {
    (void)state;
    static const hostile_kind_t kinds[] = {POOL_FIFO, POOL_LIFO,           POOL_LATE,       POOL_RUNS,
                                           POOL_LOOP, POOL_ASYNC_SCHEDULE, POOL_REFUSE_SOME};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); ++k)
        for (int w = 1; w <= 8; ++w) {
            hostile_pool_t *pool = hostile_pool_create(kinds[k], w);
            all_call_in(hostile_pool_iface(pool), w);
            hostile_pool_destroy(pool);
        }
    for (int w = 1; w <= 8; ++w) {
        dnnl_tp_threadpool_t pool = test_pool(w);
        all_call_in(test_pool_iface(pool), w);
        dnnl_tp_threadpool_destroy(pool);
    }
}

/* ---- Life -------------------------------------------------------------------------------------------- */

typedef struct {
    _Atomic int calls;
    dnnl_tp_status_t status;
} note_t;
static void note_call(void *arg, dnnl_tp_status_t status) {
    note_t *note = arg;
    note->status = status;
    atomic_fetch_add(&note->calls, 1);
}
static void *destroy_stream(void *stream) { return (void *)(intptr_t)dnnl_tp_stream_destroy(stream); }

/* Events go before, streams go while busy, from another thread. */
static void destroy_while_busy(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
        dnnl_tp_stream_t stream = test_stream(test_engine, hostile_pool_iface(pool), 1, 0);
        dnnl_tp_event_t gate = test_host_event();
        note_t c = {.status = dnnl_tp_runtime_error};
        x[0] = 0;
        CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t event = test_record(stream);
        CHECK_OK(dnnl_tp_event_on_complete(event, note_call, &c));
        dnnl_tp_event_destroy(event); /* pending, with a callback */
        for (int k = 0; k < 20; ++k) {
            CHECK_OK(test_step(add, stream, x));
            dnnl_tp_event_destroy(test_record(stream));
        }
        event = test_record(stream);
        pthread_t thread;
        void *result;
        assert_int_equal(pthread_create(&thread, NULL, destroy_stream, stream), 0);
        usleep(1000);
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        CHECK_OK(dnnl_tp_event_wait(event, -1, NULL)); /* while the stream goes */
        pthread_join(thread, &result);
        assert_null(result);
        assert_true(x[0] == 21);
        assert_int_equal(atomic_load(&c.calls), 1);
        assert_int_equal(c.status, dnnl_tp_success);
        dnnl_tp_event_destroy(event);
        dnnl_tp_event_destroy(gate);
        hostile_pool_destroy(pool);
    }
    free(x);
}

static void fork_with_pending_events(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    dnnl_tp_event_t gate = test_host_event(), done = test_record(stream);
    CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
    CHECK_OK(test_step(add, stream, x));
    dnnl_tp_event_t pending = test_record(stream), none;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(100);
        int is, idle;
        bool ok = dnnl_tp_event_wait(done, -1, NULL) == dnnl_tp_success;
        ok &= dnnl_tp_event_wait(pending, -1, NULL) == dnnl_tp_poisoned;
        ok &= dnnl_tp_event_query(pending, &is, NULL) == dnnl_tp_poisoned;
        ok &= dnnl_tp_stream_wait(stream) == dnnl_tp_poisoned;
        ok &= dnnl_tp_stream_query(stream, &idle, NULL) == dnnl_tp_poisoned;
        ok &= dnnl_tp_stream_record_event(stream, &none) == dnnl_tp_poisoned && !none;
        ok &= dnnl_tp_stream_wait_event(stream, done) == dnnl_tp_poisoned;
        ok &= dnnl_tp_sync_devices(-1) == dnnl_tp_success; /* the child's own streams: none */
        /* The gate, too: signalled here, the parent's work would run here and there. */
        ok &= dnnl_tp_event_signal(gate, dnnl_tp_success) == dnnl_tp_poisoned;
        ok &= dnnl_tp_event_wait(gate, -1, NULL) == dnnl_tp_poisoned;
        ok &= dnnl_tp_event_query(gate, &is, NULL) == dnnl_tp_poisoned;
        ok &= dnnl_tp_event_on_complete(gate, note_call, NULL) == dnnl_tp_poisoned;
        ok &= dnnl_tp_event_on_complete(pending, note_call, NULL) == dnnl_tp_poisoned;
        ok &= test_step(add, stream, x) == dnnl_tp_poisoned;
        ok &= dnnl_tp_host_wait_event(NULL, pending) == dnnl_tp_poisoned;
        /* A stream of the child refuses to wait for them, and goes on; on the parent's pool, on its caller. */
        float *own = calloc(N, sizeof(*own));
        dnnl_tp_stream_t young = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        ok &= dnnl_tp_stream_wait_event(young, pending) == dnnl_tp_poisoned;
        ok &= dnnl_tp_stream_wait_event(young, gate) == dnnl_tp_poisoned;
        ok &= dnnl_tp_stream_wait_event(young, done) == dnnl_tp_success;
        ok &= test_step(add, young, own) == dnnl_tp_success;
        ok &= dnnl_tp_stream_wait(young) == dnnl_tp_success && own[N - 1] == 1;
        ok &= dnnl_tp_stream_destroy(young) == dnnl_tp_success;
        dnnl_tp_event_destroy(gate);
        ok &= x[0] == 0;
        ok &= dnnl_tp_stream_destroy(stream) == dnnl_tp_success;
        ok &= dnnl_tp_event_destroy(pending) == dnnl_tp_success;
        dnnl_tp_event_destroy(done);
        dnnl_tp_threadpool_destroy(pool);
        /* What was in flight stays in the child: no thread there will end it, and no leak check shall look.
         */
        syscall(SYS_exit_group, ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(!test_is_done(pending));
    CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    CHECK_OK(dnnl_tp_event_wait(pending, -1, NULL));
    dnnl_tp_event_destroy(pending);
    dnnl_tp_event_destroy(done);
    dnnl_tp_event_destroy(gate);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_threadpool_destroy(pool);
    free(x);
}

static void refusals(void **state) {
    (void)state;
    dnnl_tp_stream_t stream = test_stream(test_engine, NULL, 0, 0);
    dnnl_tp_event_t event = test_host_event(), none = event;
    int64_t begin, end;
    const char *text;
    int done;
    CHECK_STATUS(dnnl_tp_stream_record_event(NULL, &none), dnnl_tp_invalid_arguments);
    assert_null(none);
    CHECK_STATUS(dnnl_tp_stream_record_event(stream, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_wait_event(stream, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_wait_event(NULL, event), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_create_host(&none, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_query(event, NULL, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_query(NULL, &done, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_on_complete(event, NULL, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_get_times(event, &begin, &end), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_get_error(event, &text), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_event_signal(event, (dnnl_tp_status_t)-1), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_query(stream, NULL, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_sync_engine(NULL, 0), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_sync_memory(NULL, 0), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_event_destroy(NULL));
    CHECK_OK(dnnl_tp_event_destroy(event));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

static int setup(void **state) {
    if (test_engine_setup(state)) return -1;
    add = test_linear(test_engine, N, 1, 1);
    twice = test_linear(test_engine, N, 2, 0);
    return 0;
}
static int teardown(void **state) {
    dnnl_tp_primitive_destroy(add);
    dnnl_tp_primitive_destroy(twice);
    return test_engine_teardown(state);
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_events),    cmocka_unit_test(ping_pong),
        cmocka_unit_test(host_events),        cmocka_unit_test(synchronous_streams),
        cmocka_unit_test(poison_and_reset),   cmocka_unit_test(skipped_waits),
        cmocka_unit_test(waits_again),        cmocka_unit_test(all_workers_wait),
        cmocka_unit_test(destroy_while_busy), cmocka_unit_test(fork_with_pending_events),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
