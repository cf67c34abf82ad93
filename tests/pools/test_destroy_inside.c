/* Streams and pools that end inside other work: by the callback of an event, on a thread that waits for the
 * very stream further up its stack; by callbacks on two threads that do so to each other; and pools whose last
 * users are on each other's threads. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/object.h"
#include "common/primitive/engine.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/parallel.h"

enum { N = 64 };
static dnnl_tp_primitive_t add;
static int setup(void **state) {
    if (test_engine_setup(state)) return -1;
    add = test_linear(test_engine, N, 1, 1);
    return 0;
}
static int teardown(void **state) {
    dnnl_tp_primitive_destroy(add);
    return test_engine_teardown(state);
}

/* ---- Streams ----------------------------------------------------------------------------------------- */

/* Destroys a stream or gives it another pool, once the stream's event is done. */
typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_event_t event;
    const dnnl_tp_threadpool_iface_t *swap;
    pthread_t thread;
    dnnl_tp_status_t status;
    _Atomic int *meet; /* callbacks that have begun wait for each other */
    _Atomic int called;
} end_t;

static void end_stream(void *arg, dnnl_tp_status_t status) {
    end_t *e = arg;
    int done = 0;
    (void)status;
    while (!done && dnnl_tp_event_query(e->event, &done, NULL) == dnnl_tp_success) sched_yield();
    if (e->meet) {
        atomic_fetch_sub(e->meet, 1);
        while (atomic_load(e->meet)) sched_yield();
    }
    e->thread = pthread_self();
    /* An event is done a moment before its stream is idle: until then one call answers would_deadlock, the other that it is busy. */
    bool early;
    do {
        e->status =
            e->swap ? dnnl_tp_stream_set_threadpool(e->stream, e->swap) : dnnl_tp_stream_destroy(e->stream);
        early = e->status == dnnl_tp_would_deadlock ||
                (e->swap && e->status != dnnl_tp_success && dtp_last_reason() == DTP_BUSY_STREAM);
    } while (early && sched_yield() == 0);
    atomic_fetch_add(&e->called, 1);
}

/* This thread waits for `far`, which waits for `near`, whose pool is stalled: it runs near's item itself, with
 * the callback behind it, in which far ends. */
static void below_who_waits(void **state) {
    (void)state;
    enum { BY_EVENT, BY_STREAM, SWAP, WAYS };
    for (int i = 0; i < 10 * WAYS; ++i) {
        int64_t live = dtp_object_live();
        float *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
        hostile_pool_t *stalled = hostile_pool_create(POOL_STALLED, 1),
                       *busy = hostile_pool_create(POOL_FIFO, 2), *third = hostile_pool_create(POOL_FIFO, 1);
        dnnl_tp_stream_t far = test_stream(test_engine, hostile_pool_iface(busy), 1, 0),
                         near = test_stream(test_engine, hostile_pool_iface(stalled), 1, 0);
        CHECK_OK(test_step(add, near, x));
        dnnl_tp_event_t first = test_record(near);
        CHECK_OK(dnnl_tp_stream_wait_event(far, first));
        CHECK_OK(test_step(add, far, y));
        end_t e = {.stream = far,
                   .event = test_record(far),
                   .swap = i % WAYS == SWAP ? hostile_pool_iface(third) : NULL,
                   .status = dnnl_tp_runtime_error};
        CHECK_OK(dnnl_tp_event_on_complete(first, end_stream, &e));
        if (i % WAYS == BY_STREAM) CHECK_OK(dnnl_tp_stream_wait(far));
        else CHECK_OK(dnnl_tp_event_wait(e.event, -1, NULL));
        while (!atomic_load(&e.called)) sched_yield();
        CHECK_OK(e.status);
        assert_true(pthread_equal(e.thread, pthread_self()));
        assert_true(x[0] == 1 && y[0] == 1);
        if (e.swap) {
            CHECK_OK(test_step(add, far, y));
            CHECK_OK(dnnl_tp_stream_destroy(far));
            assert_true(y[N - 1] == 2);
        }
        dnnl_tp_event_destroy(first);
        dnnl_tp_event_destroy(e.event);
        CHECK_OK(dnnl_tp_stream_destroy(near));
        assert_int_equal(dtp_object_live(), live);
        hostile_pool_destroy(stalled);
        hostile_pool_destroy(busy);
        hostile_pool_destroy(third);
        free(x);
        free(y);
    }
}

/* Two threads wait like that, each with a callback that ends what the other waits for. */
typedef struct {
    dnnl_tp_event_t event;
    dnnl_tp_status_t status;
} waiter_t;
static void *wait_for(void *arg) {
    waiter_t *w = arg;
    w->status = dnnl_tp_event_wait(w->event, -1, NULL);
    return NULL;
}
static void below_each_other(void **state) {
    (void)state;
    for (int i = 0; i < 10; ++i) {
        int64_t live = dtp_object_live();
        float *x = calloc(4 * N, sizeof *x);
        hostile_pool_t *stalled[2], *busy = hostile_pool_create(POOL_FIFO, 2);
        dnnl_tp_stream_t far[2], near[2];
        dnnl_tp_event_t first[2];
        waiter_t w[2];
        end_t e[2];
        pthread_t thread[2];
        _Atomic int meet = 2;
        for (int k = 0; k < 2; ++k) {
            stalled[k] = hostile_pool_create(POOL_STALLED, 1);
            far[k] = test_stream(test_engine, hostile_pool_iface(busy), 1, 0);
            near[k] = test_stream(test_engine, hostile_pool_iface(stalled[k]), 1, 0);
            CHECK_OK(test_step(add, near[k], x + 2 * k * N));
            first[k] = test_record(near[k]);
            CHECK_OK(dnnl_tp_stream_wait_event(far[k], first[k]));
            CHECK_OK(test_step(add, far[k], x + (2 * k + 1) * N));
            w[k] = (waiter_t){test_record(far[k]), dnnl_tp_runtime_error};
        }
        for (int k = 0; k < 2; ++k) {
            e[k] = (end_t){.stream = far[1 - k], .event = w[1 - k].event, .meet = &meet};
            CHECK_OK(dnnl_tp_event_on_complete(first[k], end_stream, &e[k]));
            assert_int_equal(pthread_create(&thread[k], NULL, wait_for, &w[k]), 0);
        }
        for (int k = 0; k < 2; ++k) pthread_join(thread[k], NULL);
        for (int k = 0; k < 2; ++k) {
            CHECK_OK(w[k].status);
            CHECK_OK(e[k].status);
            assert_true(pthread_equal(e[k].thread, thread[k]));
            dnnl_tp_event_destroy(first[k]);
            dnnl_tp_event_destroy(w[k].event);
            CHECK_OK(dnnl_tp_stream_destroy(near[k]));
            hostile_pool_destroy(stalled[k]);
        }
        assert_int_equal(dtp_object_live(), live);
        hostile_pool_destroy(busy);
        free(x);
    }
}

/* ---- Streams that are given away --------------------------------------------------------------------- */

/* A callback of the stream's own work, with work behind it, gives the stream away, and the engine,
 * which the stream alone has then: everything is done, in order, and then nothing is left of the
 * stream, its engine and its pool. */
typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_engine_t engine; /* its, or NULL */
    dnnl_tp_status_t destroy, give_away;
} given_t;
static void give_away(void *arg, dnnl_tp_status_t status) {
    given_t *g = arg;
    (void)status;
    g->destroy = dnnl_tp_stream_destroy(g->stream);
    if (g->destroy == dnnl_tp_would_deadlock) g->give_away = dnnl_tp_stream_give_away(g->stream);
    dnnl_tp_engine_destroy(g->engine);
}
static void soon_alive(int64_t live) { /* the thread that ended the last item has some steps left */
    for (int i = 0; i < 20000 && dtp_object_live() != live; ++i) usleep(100);
    assert_int_equal(dtp_object_live(), live);
}
/* by_event: this thread waits for an event behind the work; else for all streams. */
static void given_away_on(const dnnl_tp_threadpool_iface_t *pool, bool by_event, bool fails) {
    enum { BEHIND = 3 };
    const int64_t live = dtp_object_live();
    float *x = calloc(2 * N, sizeof *x), *y = x + N;
    given_t g = {.stream = NULL};
    CHECK_OK(dnnl_tp_engine_create(&g.engine, dnnl_tp_cpu, 0));
    dnnl_tp_primitive_t step = test_linear(g.engine, N, 1, 1);
    dnnl_tp_event_t gate = test_host_event(), last = NULL;
    g.stream = test_stream(g.engine, pool, 1, 0);
    CHECK_OK(dnnl_tp_stream_wait_event(g.stream, gate));
    CHECK_OK(test_step(step, g.stream, x));
    dnnl_tp_event_t event = test_record(g.stream);
    for (int i = 0; i < BEHIND; ++i) CHECK_OK(test_step(step, g.stream, y));
    if (by_event) last = test_record(g.stream);
    CHECK_OK(dnnl_tp_event_on_complete(event, give_away, &g));
    dnnl_tp_event_destroy(event);
    dnnl_tp_primitive_destroy(step);
    CHECK_OK(dnnl_tp_event_signal(gate, fails ? dnnl_tp_runtime_error : dnnl_tp_success));
    dnnl_tp_event_destroy(gate);
    if (by_event) {
        dnnl_tp_status_t result;
        CHECK_OK(dnnl_tp_event_wait(last, -1, &result));
        assert_int_equal(result, fails ? dnnl_tp_runtime_error : dnnl_tp_success);
        dnnl_tp_event_destroy(last);
    } else { /* which may have ended by now */
        const dnnl_tp_status_t status = dnnl_tp_sync_devices(-1);
        assert_true(status == dnnl_tp_success || (fails && status == dnnl_tp_runtime_error));
    }
    soon_alive(live);
    assert_int_equal(g.destroy, dnnl_tp_would_deadlock);
    CHECK_OK(g.give_away);
    if (fails) assert_true(x[0] == 0 && y[0] == 0);
    else assert_true(x[0] == 1 && x[N - 1] == 1 && y[0] == BEHIND && y[N - 1] == BEHIND);
    free(x);
}
static void given_away(void **state) {
    (void)state;
    enum { WAYS = 4, TIMES = 3 };
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    for (int kind = 0; kind < POOL_KINDS; ++kind)
        for (int i = 0; i < WAYS * TIMES; ++i) {
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
            dnnl_tp_threadpool_stats_t stats = {.struct_size = sizeof stats};
            watchdog(110, NULL);
            given_away_on(hostile_pool_iface(pool), i & 1, i & 2);
            hostile_pool_unstall(pool);
            CHECK_OK(dnnl_tp_threadpool_quiesce(hostile_pool_iface(pool), -1));
            CHECK_STATUS(dnnl_tp_threadpool_query(hostile_pool_iface(pool), &stats),
                         dnnl_tp_invalid_arguments); /* nothing uses it */
            hostile_pool_destroy(pool);
        }
    for (int i = 0; i < 2 * WAYS * TIMES; ++i) {
        dnnl_tp_threadpool_t pool = test_pool(1 + i / WAYS % 2);
        given_away_on(test_pool_iface(pool), i & 1, i & 2);
        dnnl_tp_threadpool_destroy(pool);
    }
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(1024));
}

/* An idle stream, a synchronous one, and one inside a run on it: its calls return, then it ends. */
static void give_in_run(void *arg, const dtp_parallel_t *par) {
    given_t *g = arg;
    (void)par;
    give_away(g, dnnl_tp_success);
}
/* The same on another thread of the run than its caller's, if the pool has one. */
typedef struct {
    given_t *given;
    pthread_t caller;
    _Atomic int begun;
    _Atomic bool given_away;
} elsewhere_t;
static void give_on_another(void *arg, int slot, int64_t begin, int64_t end) {
    elsewhere_t *e = arg;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&e->begun, 1);
        for (int k = 0; k < 5000 && atomic_load(&e->begun) < 2; ++k) usleep(100);
        if (pthread_equal(pthread_self(), e->caller) || atomic_exchange(&e->given_away, true)) continue;
        give_away(e->given, dnnl_tp_success);
    }
}
static void give_in_loop(void *arg, const dtp_parallel_t *par) {
    elsewhere_t e = {.given = arg, .caller = pthread_self()};
    dtp_parallel_for(par, 2, -1000000, give_on_another, &e);
    if (!atomic_load(&e.given_away)) give_away(e.given, dnnl_tp_success);
}
static void given_away_elsewhere(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool = test_pool(2);
    const int64_t live = dtp_object_live();
    CHECK_OK(dnnl_tp_stream_give_away(NULL));
    for (int way = 0; way < 4; ++way) {
        const int async = way % 2;
        float x[N] = {0};
        dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), async, 0);
        CHECK_OK(test_step(add, stream, x));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        CHECK_OK(dnnl_tp_stream_give_away(stream));
        soon_alive(live);
        given_t g = {.stream = test_stream(test_engine, test_pool_iface(pool), async, 0)};
        CHECK_OK(test_step(add, g.stream, x));
        CHECK_OK(g.stream->v->run(g.stream, 2, 0, NULL, way < 2 ? give_in_run : give_in_loop, &g));
        assert_int_equal(g.destroy, dnnl_tp_would_deadlock);
        CHECK_OK(g.give_away);
        soon_alive(live);
        /* Not from inside, with work in flight: this thread does not wait. */
        dnnl_tp_event_t gate = test_host_event();
        stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
        CHECK_OK(test_step(add, stream, x));
        dnnl_tp_event_t last = test_record(stream);
        CHECK_OK(dnnl_tp_stream_give_away(stream));
        assert_true(x[0] == 2);
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        CHECK_OK(dnnl_tp_event_wait(last, -1, NULL));
        assert_true(x[0] == 3);
        dnnl_tp_event_destroy(gate);
        dnnl_tp_event_destroy(last);
        soon_alive(live);
    }
    dnnl_tp_threadpool_destroy(pool);
}

/* ---- Pools ------------------------------------------------------------------------------------------- */

#if DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_THREADPOOL
/* The last user of a pool goes in a task, or in a callback, on a thread of another pool, and the other way
 * round at the same time. */
typedef struct {
    dnnl_tp_stream_attr_t attr; /* the last user of the other pool */
    _Atomic int *meet, *left;
} last_user_t;
static void drop_user(void *arg) {
    last_user_t *u = arg;
    atomic_fetch_sub(u->meet, 1);
    while (atomic_load(u->meet) > 0) sched_yield();
    dnnl_tp_stream_attr_destroy(u->attr);
    atomic_fetch_sub(u->left, 1);
}
static void drop_user_in_callback(void *arg, dnnl_tp_status_t status) {
    (void)status;
    drop_user(arg);
}
static void pools_end_each_other(void **state) {
    (void)state;
    for (int i = 0; i < 20; ++i) {
        int64_t live = dtp_object_live();
        _Atomic int meet = 2, left = 2;
        dnnl_tp_threadpool_t pool[2];
        dnnl_tp_threadpool_iface_t iface[2];
        last_user_t u[2];
        for (int k = 0; k < 2; ++k) {
            pool[k] = test_pool(1 + i % 2);
            iface[k] = *test_pool_iface(pool[k]);
        }
        for (int k = 0; k < 2; ++k) {
            u[k] = (last_user_t){.meet = &meet, .left = &left};
            CHECK_OK(dnnl_tp_stream_attr_create(&u[k].attr, dnnl_tp_cpu));
            CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(u[k].attr, pool[1 - k]));
        }
        if (i / 2 % 2) {
            dnnl_tp_stream_t stream[2];
            dnnl_tp_event_t event[2], gate = test_host_event();
            float *x = calloc(2 * N, sizeof *x);
            for (int k = 0; k < 2; ++k) {
                stream[k] = test_stream(test_engine, &iface[k], 1, 0);
                CHECK_OK(dnnl_tp_stream_wait_event(stream[k], gate));
                CHECK_OK(test_step(add, stream[k], x + k * N));
                event[k] = test_record(stream[k]);
                CHECK_OK(dnnl_tp_event_on_complete(event[k], drop_user_in_callback, &u[k]));
                dnnl_tp_threadpool_destroy(pool[k]);
            }
            CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
            while (atomic_load(&left)) usleep(100);
            for (int k = 0; k < 2; ++k) {
                CHECK_OK(dnnl_tp_stream_destroy(stream[k]));
                dnnl_tp_event_destroy(event[k]);
            }
            dnnl_tp_event_destroy(gate);
            free(x);
        } else {
            for (int k = 0; k < 2; ++k)
                assert_int_equal(iface[k].schedule(iface[k].ctx, NULL, drop_user, &u[k]), 0);
            for (int k = 0; k < 2; ++k) dnnl_tp_threadpool_destroy(pool[k]);
            while (atomic_load(&left)) usleep(100);
        }
        assert_int_equal(dtp_object_live(), live);
    }
}
#endif

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_who_waits),
        cmocka_unit_test(below_each_other),
        cmocka_unit_test(given_away),
        cmocka_unit_test(given_away_elsewhere),
#if DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_THREADPOOL
        cmocka_unit_test(pools_end_each_other),
#endif
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
