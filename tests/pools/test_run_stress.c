/* Runs on every kind of hostile pool, and on the built-in one, with 1, 2 and 4 threads: synchronous
 * and asynchronous, beside each other and behind each other, inside each other, cancelled, late and
 * failed, with streams that come and go. Every result is right or says why there is none, what is
 * behind a failure is skipped, nothing hangs and nothing is left.
 *
 * test_run_stress [seconds [seed]]: so long in all; every kind of pool has its part. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"

static double seconds = 3;
static uint64_t first_seed = 1;

/* ---- What runs ------------------------------------------------------------------------------- */

/* Of one run: x, and what its closures do. */
typedef enum { PLAIN, FAILS, NESTS, SUBMITS, SLEEPS, DOES } does_t;
typedef struct {
    float x;
    does_t does;
    float inner; /* result of a run inside the run, or submitted by it */
} task_t;

static dnnl_tp_executable_t outer, inner, waiter;
static dnnl_tp_stream_t inside, side; /* streams that closures use: synchronous, asynchronous */
static _Atomic int side_runs;

#define ARGS                                                                              \
    void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in, int nout, \
        const dnnl_tp_host_arg_t *out
#define USE_ARGS (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out

/* Of a run that a closure has submitted, until it is complete. */
typedef struct {
    task_t task, *at;
} submitted_t;
static void submitted_ends(void *arg, dnnl_tp_status_t status) {
    submitted_t *s = arg;
    if (status == dnnl_tp_success && s->task.inner != s->task.x / 2) abort();
    free(s);
}

static task_t *task_of(const dnnl_tp_host_arg_t *in) {
    task_t *t;
    memcpy(&t, in[0].data, sizeof t);
    return t;
}
static dnnl_tp_status_t half(ARGS) { /* a run inside a closure: y = x / 2 */
    USE_ARGS;
    *(float *)out[0].data = task_of(in)->x / 2;
    return dnnl_tp_success;
}
static dnnl_tp_status_t twice(ARGS) { /* y = 2 x */
    USE_ARGS;
    task_t *t = task_of(in);
    void *pin[] = {&t}, *pout[] = {&t->inner};
    float y = 2 * t->x;
    *(float *)out[0].data = y;
    switch (t->does) {
    case FAILS: return dnnl_tp_invalid_shape;
    case NESTS: {
        const dnnl_tp_status_t status = dnnl_tp_executable_run(inner, inside, 1, pin, 1, pout, NULL);
        if (status == dnnl_tp_success && t->inner != t->x / 2) abort();
        /* Cancelled with the outer one; on asynchronous pools it would have to wait for others. */
        return status == dnnl_tp_would_deadlock ? dnnl_tp_success : status;
    }
    case SUBMITS: {
        dnnl_tp_event_t event;
        submitted_t *s = malloc(sizeof *s);
        if (!s) abort();
        s->task = *t;
        s->at = &s->task;
        CHECK_OK(dnnl_tp_executable_run_async(inner, side, 1, (void *[]){&s->at}, 1,
                                              (void *[]){&s->task.inner}, NULL, &event));
        CHECK_OK(dnnl_tp_event_on_complete(event, submitted_ends, s));
        atomic_fetch_add(&side_runs, 1);
        dnnl_tp_event_destroy(event);
        return dnnl_tp_success;
    }
    case SLEEPS: usleep(200); return dnnl_tp_success;
    default: return dnnl_tp_success;
    }
}
static dnnl_tp_status_t one_more(ARGS) { /* y = x + 1 */
    USE_ARGS;
    *(float *)out[0].data = task_of(in)->x + 1;
    return dnnl_tp_success;
}
/* Waits for the event of another run; y = x. */
static dnnl_tp_status_t wait_for_event(ARGS) {
    USE_ARGS;
    dnnl_tp_event_t event;
    *(float *)out[0].data = task_of(in)->x;
    memcpy(&event, in[1].data, sizeof event);
    return dnnl_tp_host_wait_event(stop, event);
}

static dnnl_tp_executable_t compile(int kind) {
    const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[2], v[2], y;
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &in[0], "task", dnnl_tp_u8, 1, (dnnl_tp_dims_t){sizeof(void *)}));
    if (kind == 0) {
        CHECK_OK(dnnl_tp_graph_host(g, twice, NULL, NULL, 0, "twice", 1, in, 1, &scalar, &v[0]));
        CHECK_OK(dnnl_tp_graph_host(g, one_more, NULL, NULL, 0, "one_more", 1, in, 1, &scalar, &v[1]));
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, "sum", 2, v, 0, NULL, 1, &y));
    } else if (kind == 1) {
        CHECK_OK(dnnl_tp_graph_host(g, half, NULL, NULL, 0, "half", 1, in, 1, &scalar, &y));
    } else {
        CHECK_OK(dnnl_tp_graph_input(g, &in[1], "event", dnnl_tp_u8, 1, (dnnl_tp_dims_t){sizeof(void *)}));
        CHECK_OK(dnnl_tp_graph_host(g, wait_for_event, NULL, NULL, DNNL_TP_HOST_MAY_WAIT, "waits", 2, in, 1,
                                    &scalar, &y));
    }
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    return e;
}

/* ---- Clients --------------------------------------------------------------------------------- */

enum { CLIENTS = 3, STREAMS = 2, MOST = 10 };
typedef struct {
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_stream_t sync, async[STREAMS];
    uint64_t seed;
    int64_t until_ns, runs;
    char wrong[160];
} client_t;

static unsigned below(client_t *c, unsigned n) {
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(c->seed >> 33) % n;
}
static bool say(client_t *c, const char *what, int status, double got, double want) {
    if (!*c->wrong)
        snprintf(c->wrong, sizeof c->wrong, "%s: status %d, got %g, want %g", what, status, got, want);
    return false;
}

/* What ends a run early: nothing, a failure, a token, a deadline. */
typedef enum { NO_END, BY_FAILURE, BY_TOKEN, BY_DEADLINE, ENDS } end_t;
static dnnl_tp_status_t status_of(end_t end) {
    static const dnnl_tp_status_t status[] = {dnnl_tp_success, dnnl_tp_invalid_shape, dnnl_tp_cancelled,
                                              dnnl_tp_deadline_exceeded};
    return status[end];
}
/* The run may have been faster than its token or its deadline; a failure comes always. */
static bool may_be(end_t end, dnnl_tp_status_t status) {
    return status == status_of(end) || (end != BY_FAILURE && status == dnnl_tp_success);
}
static task_t random_task(client_t *c, end_t end) {
    task_t t = {.x = (float)below(c, 1000), .does = end == BY_FAILURE ? FAILS : (does_t)below(c, DOES)};
    if (end != BY_FAILURE && t.does == FAILS) t.does = PLAIN;
    return t;
}
static dnnl_tp_run_opts_t opts_of(client_t *c, end_t end, dnnl_tp_cancel_t token) {
    return (dnnl_tp_run_opts_t){.struct_size = sizeof(dnnl_tp_run_opts_t),
                                .priority = (int)below(c, 3) - 1,
                                .cancel = end == BY_TOKEN ? token : NULL,
                                .deadline_ns = end == BY_DEADLINE ? dtp_now_ns() + below(c, 400000) : 0};
}
static bool is_right(client_t *c, const task_t *t, float y) {
    return y == 3 * t->x + 1 || say(c, "value", 0, (double)y, 3 * (double)t->x + 1);
}

static bool synchronous(client_t *c) {
    const end_t end = (end_t)below(c, ENDS);
    dnnl_tp_cancel_t token;
    CHECK_OK(dnnl_tp_cancel_create(&token));
    if (below(c, 2)) CHECK_OK(dnnl_tp_cancel_fire(token)); /* before it begins */
    task_t t = random_task(c, end), *at = &t;
    float y = -1;
    const dnnl_tp_run_opts_t o = opts_of(c, end, token);
    dnnl_tp_stream_t s = below(c, 3) ? c->sync : c->async[below(c, STREAMS)];
    const dnnl_tp_status_t status =
        dnnl_tp_executable_run(outer, s, 1, (void *[]){&at}, 1, (void *[]){&y}, &o);
    dnnl_tp_cancel_destroy(token);
    ++c->runs;
    if (!may_be(end, status)) return say(c, "synchronous", (int)status, end, 0);
    return status != dnnl_tp_success || is_right(c, &t, y);
}

static void count(void *arg, dnnl_tp_status_t status) {
    (void)status;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

/* Some runs on one stream; one of them may end early, and what is behind it is skipped then.
 * Some wait for events of runs on the other stream. */
static bool asynchronous(client_t *c) {
    const end_t end = (end_t)below(c, ENDS);
    const int n = 1 + (int)below(c, MOST), ends = (int)below(c, (unsigned)n);
    const int on = (int)below(c, STREAMS);
    const bool fires_late = below(c, 2), waits = below(c, 2);
    dnnl_tp_stream_t s = c->async[on];
    dnnl_tp_event_t event[MOST], other = NULL;
    dnnl_tp_cancel_t token;
    task_t task[MOST], *at[MOST], first = {.x = 5}, *first_at = &first;
    float y[MOST], other_y = 0;
    _Atomic int called = 0;
    bool ok = true;
    CHECK_OK(dnnl_tp_cancel_create(&token));
    if (!fires_late) CHECK_OK(dnnl_tp_cancel_fire(token));
    if (waits)
        CHECK_OK(dnnl_tp_executable_run_async(outer, c->async[!on], 1, (void *[]){&first_at}, 1,
                                              (void *[]){&other_y}, NULL, &other));
    for (int i = 0; i < n; ++i) {
        const end_t mine = i == ends ? end : NO_END;
        const bool by_event = waits && mine != BY_FAILURE && below(c, 3) == 0;
        const dnnl_tp_run_opts_t o = opts_of(c, mine, token);
        task[i] = random_task(c, mine);
        at[i] = &task[i];
        y[i] = -1;
        if (by_event) task[i].does = DOES; /* y = x */
        if (waits && below(c, 4) == 0) CHECK_OK(dnnl_tp_stream_wait_event(s, other));
        CHECK_OK(dnnl_tp_executable_run_async(by_event ? waiter : outer, s, by_event ? 2 : 1,
                                              (void *[]){&at[i], &other}, 1, (void *[]){&y[i]}, &o,
                                              &event[i]));
        CHECK_OK(dnnl_tp_event_on_complete(event[i], count, &called));
    }
    if (below(c, 2)) usleep(below(c, 300));
    if (fires_late) CHECK_OK(dnnl_tp_cancel_fire(token));
    /* In one of several ways, until all is done. */
    const unsigned way = below(c, 4);
    int idle = 0;
    dnnl_tp_status_t waited = dnnl_tp_timed_out;
    while (way == 0 && !idle) CHECK_OK(dnnl_tp_stream_query(s, &idle, NULL));
    while (way == 1 && !idle) {
        (void)!dnnl_tp_stream_wait_for(s, (int64_t)below(c, 200000));
        CHECK_OK(dnnl_tp_stream_query(s, &idle, NULL));
    }
    if (way == 2) waited = dnnl_tp_stream_wait(s);
    dnnl_tp_status_t ended = dnnl_tp_success;
    for (int i = 0; i < n && ok; ++i) {
        dnnl_tp_status_t result;
        CHECK_OK(dnnl_tp_event_wait(event[i], -1, &result));
        const bool behind = i > ends;
        if (i == ends) {
            ended = result;
            if (!may_be(end, result)) ok = say(c, "asynchronous", (int)result, end, i);
        } else if (result != (behind ? ended : dnnl_tp_success)) {
            ok = say(c, behind ? "behind" : "before", (int)result, ended, i);
        }
        if (ok && result == dnnl_tp_success)
            ok = task[i].does == DOES ? y[i] == task[i].x : is_right(c, &task[i], y[i]);
    }
    if (way == 2 && waited != ended) ok = say(c, "stream_wait", (int)waited, ended, 0);
    for (int i = 0; i < n; ++i) dnnl_tp_event_destroy(event[i]);
    if (other) {
        CHECK_OK(dnnl_tp_event_wait(other, -1, NULL));
        ok = ok && is_right(c, &first, other_y);
        dnnl_tp_event_destroy(other);
    }
    /* An event is done before its callbacks have returned, the stream is idle after that. */
    (void)!dnnl_tp_stream_wait(s);
    if (atomic_load(&called) != n) ok = say(c, "callbacks", 0, called, n);
    CHECK_OK(dnnl_tp_stream_reset(s));
    dnnl_tp_cancel_destroy(token);
    c->runs += n;
    return ok;
}

static void *client(void *arg) {
    client_t *c = arg;
    for (int k = 0; !*c->wrong && (k < 4 || dtp_now_ns() < c->until_ns); ++k) {
        if (below(c, 3) ? !asynchronous(c) : !synchronous(c)) say(c, "a run", 0, 0, 0);
        if (below(c, 16) == 0) { /* a stream goes, with work in flight or without */
            dnnl_tp_stream_t *s = &c->async[below(c, STREAMS)];
            if (below(c, 2)) CHECK_OK(dnnl_tp_stream_destroy(*s));
            else CHECK_OK(dnnl_tp_stream_give_away(*s));
            *s = test_stream(test_engine, c->pool, 1, (int)below(c, 3));
        }
    }
    return NULL;
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static int64_t all_runs;
static const char *now_on;
static int now_threads;
static void bark(void) {
    printf("a hang on pool %s, %d threads, seed %llu\n", now_on, now_threads, (unsigned long long)first_seed);
}

static void stress(const dnnl_tp_threadpool_iface_t *pool, const char *name, int threads, uint64_t seed,
                   int64_t ns) {
    client_t c[CLIENTS];
    pthread_t thread[CLIENTS];
    const int64_t live = dtp_object_live();
    now_on = name;
    now_threads = threads;
    watchdog(60 + (int)(ns / 1000000000), bark);
    inside = test_stream(test_engine, pool, 0, 0);
    side = test_stream(test_engine, pool, 1, 0);
    for (int i = 0; i < CLIENTS; ++i) {
        c[i] = (client_t){.pool = pool, .seed = seed * CLIENTS + (uint64_t)i, .until_ns = dtp_now_ns() + ns};
        c[i].sync = test_stream(test_engine, pool, 0, 0);
        for (int k = 0; k < STREAMS; ++k) c[i].async[k] = test_stream(test_engine, pool, 1, k);
        assert_int_equal(pthread_create(&thread[i], NULL, client, &c[i]), 0);
    }
    for (int i = 0; i < CLIENTS; ++i) {
        pthread_join(thread[i], NULL);
        if (*c[i].wrong)
            fail_msg("pool %s, %d threads, seed %llu: %s", name, threads, (unsigned long long)seed,
                     c[i].wrong);
        all_runs += c[i].runs;
        CHECK_OK(dnnl_tp_stream_destroy(c[i].sync));
        for (int k = 0; k < STREAMS; ++k) CHECK_OK(dnnl_tp_stream_destroy(c[i].async[k]));
    }
    CHECK_OK(dnnl_tp_stream_wait(side));
    CHECK_OK(dnnl_tp_stream_destroy(side));
    CHECK_OK(dnnl_tp_stream_destroy(inside));
    for (int i = 0; i < 20000 && dtp_object_live() != live; ++i) usleep(100);
    assert_int_equal(dtp_object_live(), live);
}

static void all_pools(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 4};
    enum { COUNTS = sizeof threads / sizeof *threads };
    const int64_t each = (int64_t)(seconds * 1e9) / ((POOL_KINDS + 1) * COUNTS);
    outer = compile(0);
    inner = compile(1);
    waiter = compile(2);
    uint64_t seed = first_seed;
    for (int w = 0; w < COUNTS; ++w)
        for (int kind = 0; kind <= POOL_KINDS; ++kind, ++seed) {
            if (kind == POOL_KINDS) {
                dnnl_tp_threadpool_t pool = test_pool(threads[w]);
                stress(test_pool_iface(pool), "builtin", threads[w], seed, each);
                dnnl_tp_threadpool_destroy(pool);
                continue;
            }
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, threads[w]);
            hostile_pool_unstall(pool); /* what a pool accepts it calls */
            stress(hostile_pool_iface(pool), hostile_pool_name((hostile_kind_t)kind), threads[w], seed, each);
            CHECK_OK(dnnl_tp_threadpool_quiesce(hostile_pool_iface(pool), -1));
            assert_int_equal(hostile_pool_complaints(pool), 0);
            hostile_pool_destroy(pool);
        }
    dnnl_tp_executable_destroy(outer);
    dnnl_tp_executable_destroy(inner);
    dnnl_tp_executable_destroy(waiter);
    print_message("%lld runs of clients, %d of closures\n", (long long)all_runs, atomic_load(&side_runs));
}

int main(int argc, char **argv) {
    if (argc > 1) seconds = atof(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pools)};
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
