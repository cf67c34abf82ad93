/* Runs as items of streams: on every pool, on hosts with task groups, cancelled, late, failed, and with only
 * one of the two kinds of parallelism. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/group_pool.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

/* ---- y = (relu(x) + 1) beside host closures that look where they are --------------------------------- */

enum { ROWS = 64, COLS = 512, N = ROWS * COLS, BRANCHES = 4 };

typedef struct {
    _Atomic(void *) cookie; /* per run: several runs would mix */
    _Atomic int calls, strange, running, most;
    int sleep_us, wait_for; /* wait until so many run at once, for a while */
    dnnl_tp_status_t answer;
    _Atomic int dropped, stopped;
} watch_t;

static dnnl_tp_status_t watch_fn(void *arg, const volatile int *should_stop, int nin,
                                 const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    watch_t *w = arg;
    (void)nin, (void)nout;
    if (group_pool_worker()) {
        void *mine = group_pool_current(), *none = NULL;
        if (!mine || (!atomic_compare_exchange_strong(&w->cookie, &none, mine) && none != mine))
            atomic_fetch_add(&w->strange, 1);
    }
    int now = atomic_fetch_add(&w->running, 1) + 1, most = atomic_load(&w->most);
    while (now > most && !atomic_compare_exchange_weak(&w->most, &most, now)) {
    }
    for (int i = 0; i < 1000 && atomic_load(&w->most) < w->wait_for; ++i) usleep(50);
    for (int us = 0; us < w->sleep_us; us += 100) {
        if (dnnl_tp_should_stop(should_stop)) {
            atomic_fetch_add(&w->stopped, 1);
            break;
        }
        usleep(100);
    }
    memcpy(out[0].data, in[0].data, N * sizeof(float));
    atomic_fetch_sub(&w->running, 1);
    atomic_fetch_add(&w->calls, 1);
    return w->answer;
}
static void watch_drop(void *arg) { atomic_fetch_add(&((watch_t *)arg)->dropped, 1); }

/* x -> relu -> BRANCHES closures beside each other -> their sum. */
static dnnl_tp_executable_t compile(watch_t *watch, dnnl_tp_stream_attr_t attr) {
    /* The compiler takes closures for cheap; here they are not. */
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_dims_t dims = {ROWS, COLS};
    dnnl_tp_value_t x, mid, branch[BRANCHES], sum;
    dnnl_tp_tensor_info_t info = {.ndims = 2, .dims = {ROWS, COLS}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &x, 0, NULL, 1, &mid));
    for (int i = 0; i < BRANCHES; ++i)
        CHECK_OK(
            dnnl_tp_graph_host(g, watch_fn, watch, watch_drop, 0, "watch", 1, &mid, 1, &info, &branch[i]));
    sum = branch[0];
    for (int i = 1; i < BRANCHES; ++i) {
        dnnl_tp_value_t in[2] = {sum, branch[i]};
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_add, "add", 2, in, 0, NULL, 1, &sum));
    }
    CHECK_OK(dnnl_tp_graph_output(g, sum, "y"));
    dnnl_tp_compile_opts_t opts = {
        .struct_size = sizeof(opts), .stream_attr = attr, .flags = DNNL_TP_COMPILE_NO_CLUSTERS};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &opts));
    dnnl_tp_graph_destroy(g);
    return e;
}

static float *ramp(void) {
    float *x = malloc(N * sizeof(*x));
    for (int i = 0; i < N; ++i) x[i] = (float)(i % 100 - 50);
    return x;
}
static void check_values(const float *y) {
    for (int i = 0; i < N; ++i) {
        float x = (float)(i % 100 - 50);
        if (y[i] != (x > 0 ? BRANCHES * x : 0)) fail_msg("y[%d] is %g", i, (double)y[i]);
    }
}

static dnnl_tp_stream_attr_t attr_of(const dnnl_tp_threadpool_iface_t *pool, unsigned parallelism) {
    dnnl_tp_stream_attr_t attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    CHECK_OK(dnnl_tp_stream_attr_set_async(attr, 1));
    CHECK_OK(dnnl_tp_stream_attr_set_parallelism(attr, parallelism));
    return attr;
}
enum { BOTH = DNNL_TP_PARALLELISM_INTER | DNNL_TP_PARALLELISM_INTRA };

static dnnl_tp_event_t run_async(dnnl_tp_executable_t e, dnnl_tp_stream_t stream, float *x, float *y,
                                 const dnnl_tp_run_opts_t *opts) {
    void *in[1] = {x}, *out[1] = {y};
    dnnl_tp_event_t event;
    CHECK_OK(dnnl_tp_executable_run_async(e, stream, 1, in, 1, out, opts, &event));
    in[0] = out[0] = NULL; /* were copied */
    return event;
}

/* ---- Tests ------------------------------------------------------------------------------------------- */

static void every_pool(void **state) {
    (void)state;
    float *x = ramp(), *y[3];
    for (int i = 0; i < 3; ++i) y[i] = malloc(N * sizeof(float));
    for (int kind = -1; kind < POOL_KINDS; ++kind)
        for (int async = 0; async < 2; ++async) {
            hostile_pool_t *pool = kind < 0 ? NULL : hostile_pool_create((hostile_kind_t)kind, 3);
            dnnl_tp_stream_attr_t attr = attr_of(pool ? hostile_pool_iface(pool) : NULL, BOTH);
            CHECK_OK(dnnl_tp_stream_attr_set_async(attr, async));
            dnnl_tp_stream_t stream;
            CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
            watch_t watch = {.answer = dnnl_tp_success};
            dnnl_tp_executable_t e = compile(&watch, attr);
            dnnl_tp_event_t event[3];
            for (int i = 0; i < 3; ++i) {
                memset(y[i], 0xff, N * sizeof(float));
                event[i] = run_async(e, stream, x, y[i], NULL);
            }
            dnnl_tp_executable_destroy(e); /* the runs keep it */
            for (int i = 0; i < 3; ++i) {
                int64_t begin, end;
                CHECK_OK(dnnl_tp_event_wait(event[i], -1, NULL));
                CHECK_OK(dnnl_tp_event_get_times(event[i], &begin, &end));
                assert_true(begin < end);
                check_values(y[i]);
                dnnl_tp_event_destroy(event[i]);
            }
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            assert_int_equal(atomic_load(&watch.calls), 3 * BRANCHES);
            assert_int_equal(atomic_load(&watch.dropped), BRANCHES);
            dnnl_tp_stream_attr_destroy(attr);
            if (!pool) continue;
            assert_int_equal(hostile_pool_complaints(pool), 0);
            hostile_pool_destroy(pool);
        }
    for (int i = 0; i < 3; ++i) free(y[i]);
    free(x);
}

/* The text of a failure is that of the thread on which the pool ran the graph. */
static void failures_on_every_pool(void **state) {
    (void)state;
    float *x = ramp(), *y = malloc(N * sizeof(float));
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 3);
        dnnl_tp_stream_attr_t attr = attr_of(hostile_pool_iface(pool), BOTH);
        dnnl_tp_stream_t stream;
        CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
        watch_t watch = {.answer = dnnl_tp_invalid_shape};
        dnnl_tp_executable_t e = compile(&watch, attr);
        for (int i = 0; i < 3; ++i) {
            dnnl_tp_event_t event = run_async(e, stream, x, y, NULL);
            CHECK_STATUS(dnnl_tp_event_wait(event, -1, NULL), dnnl_tp_invalid_shape);
            const char *text, *want = "'watch' (host) returned invalid_shape";
            CHECK_OK(dnnl_tp_event_get_error(event, &text));
            if (!strstr(text, want)) fail_msg("%s: '%s'", hostile_pool_name((hostile_kind_t)kind), text);
            dnnl_tp_event_destroy(event);
            CHECK_STATUS(dnnl_tp_stream_wait(stream), dnnl_tp_invalid_shape);
            assert_non_null(strstr(dnnl_tp_last_error(), want));
            CHECK_OK(dnnl_tp_stream_reset(stream));
        }
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        dnnl_tp_executable_destroy(e);
        dnnl_tp_stream_attr_destroy(attr);
        hostile_pool_destroy(pool);
    }
    free(y);
    free(x);
}

/* All closures of a run are in tasks of the run's cookie; run_end comes last, and its done ends the run. */
static void hosts_with_groups(void **state) {
    (void)state;
    float *x = ramp(), *y = malloc(N * sizeof(float));
    for (int mode = 0; mode < GROUP_MODES; ++mode)
        for (int workers = 1; workers <= 3; ++workers) {
            group_pool_t *pool = group_pool_create((group_mode_t)mode, workers);
            dnnl_tp_stream_attr_t attr = attr_of(group_pool_iface(pool), BOTH);
            dnnl_tp_stream_t stream;
            CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
            watch_t watch = {.answer = dnnl_tp_success, .sleep_us = 200};
            dnnl_tp_executable_t e = compile(&watch, attr);
            for (int k = 0; k < 6; ++k) {
                atomic_store(&watch.cookie, NULL);
                if (k % 3 == 2) { /* synchronous, on the same host */
                    void *in[1] = {x}, *out[1] = {y};
                    CHECK_OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL));
                } else {
                    dnnl_tp_event_t event = run_async(e, stream, x, y, NULL);
                    if (k % 3) usleep(500);
                    CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
                    dnnl_tp_event_destroy(event);
                }
                check_values(y);
            }
            assert_int_equal(atomic_load(&watch.strange), 0);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            group_counts_t c = group_pool_counts(pool);
            assert_true(c.begun == 6 && c.ended == 6 && c.done == 6 && c.complaints == 0);
            dnnl_tp_executable_destroy(e);
            dnnl_tp_stream_attr_destroy(attr);
            group_pool_destroy(pool);
        }
    free(x);
    free(y);
}

static void parallelism(void **state) {
    (void)state;
    float *x = ramp(), *y = malloc(N * sizeof(float));
    for (unsigned bits = 0; bits <= BOTH; ++bits)
        for (int async = 0; async < 2; ++async) {
            dnnl_tp_threadpool_t pool = test_pool(2);
            dnnl_tp_stream_attr_t attr = attr_of(test_pool_iface(pool), bits);
            CHECK_OK(dnnl_tp_stream_attr_set_async(attr, async));
            dnnl_tp_stream_t stream;
            CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
            const int threads = bits & DNNL_TP_PARALLELISM_INTER ? test_threads_that_come(2) : 1;
            watch_t watch = {.answer = dnnl_tp_success, .sleep_us = 300, .wait_for = threads};
            dnnl_tp_executable_t e = compile(&watch, attr);
            /* A helper that finds nothing leaves: where this thread waits for a CPU, that may be so for runs.
             */
            enum { RUNS = 3, MOST_RUNS = 100 };
            for (int k = 0; k < RUNS || (k < MOST_RUNS && atomic_load(&watch.most) < threads); ++k) {
                dnnl_tp_event_t event = run_async(e, stream, x, y, NULL);
                CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
                dnnl_tp_event_destroy(event);
                check_values(y);
            }
            assert_int_equal(atomic_load(&watch.most), threads);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            dnnl_tp_executable_destroy(e);
            dnnl_tp_stream_attr_destroy(attr);
            dnnl_tp_threadpool_destroy(pool);
        }
    free(x);
    free(y);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static void *open_gate(void *gate) {
    if (dnnl_tp_event_signal(gate, dnnl_tp_success)) abort();
    return NULL;
}

/* Tokens, deadlines and failures of a run reach its event, and poison the stream. */
static void runs_that_fail(void **state) {
    (void)state;
    float *x = ramp(), *y = malloc(N * sizeof(float));
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_attr_t attr = attr_of(test_pool_iface(pool), BOTH);
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
    watch_t slow = {.answer = dnnl_tp_success, .sleep_us = 20000000}, bad = {.answer = dnnl_tp_invalid_shape},
            good = {.answer = dnnl_tp_success};
    dnnl_tp_executable_t e_slow = compile(&slow, attr), e_bad = compile(&bad, attr),
                         e_good = compile(&good, attr);
    dnnl_tp_cancel_t cancel;
    CHECK_OK(dnnl_tp_cancel_create(&cancel));
    dnnl_tp_run_opts_t with_token = {.struct_size = sizeof(with_token), .cancel = cancel};
    /* From another thread: a pool without a queue runs what it gets before it answers. */
    dnnl_tp_event_t gate, event, behind;
    CHECK_OK(dnnl_tp_event_create_host(&gate, test_engine));
    CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
    event = run_async(e_slow, stream, x, y, &with_token);
    behind = run_async(e_good, stream, x, y, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_gate, gate), 0);
    while (!atomic_load(&slow.running)) usleep(100);
    CHECK_OK(dnnl_tp_cancel_fire(cancel));
    CHECK_STATUS(dnnl_tp_event_wait(event, -1, NULL), dnnl_tp_cancelled);
    CHECK_STATUS(dnnl_tp_event_wait(behind, -1, NULL), dnnl_tp_cancelled);
    assert_int_equal(atomic_load(&good.calls), 0);
    pthread_join(thread, NULL);
    dnnl_tp_event_destroy(gate);
    dnnl_tp_event_destroy(event);
    dnnl_tp_event_destroy(behind);
    dnnl_tp_cancel_destroy(cancel);
    CHECK_OK(dnnl_tp_stream_reset(stream));

    dnnl_tp_run_opts_t late = {.struct_size = sizeof(late), .deadline_ns = now_ns() + 5000000};
    slow.sleep_us = 4000; /* a closure is not interrupted by the clock; the next one does not begin */
    event = run_async(e_slow, stream, x, y, &late);
    CHECK_STATUS(dnnl_tp_event_wait(event, -1, NULL), dnnl_tp_deadline_exceeded);
    dnnl_tp_event_destroy(event);
    CHECK_STATUS(dnnl_tp_stream_wait(stream), dnnl_tp_deadline_exceeded);
    CHECK_OK(dnnl_tp_stream_reset(stream));

    const char *text;
    event = run_async(e_bad, stream, x, y, NULL);
    CHECK_STATUS(dnnl_tp_event_wait(event, -1, NULL), dnnl_tp_invalid_shape);
    CHECK_OK(dnnl_tp_event_get_error(event, &text));
    assert_non_null(strstr(text, "'watch' (host) returned invalid_shape"));
    dnnl_tp_event_destroy(event);
    CHECK_OK(dnnl_tp_stream_reset(stream));
    event = run_async(e_good, stream, x, y, NULL);
    CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
    check_values(y);
    dnnl_tp_event_destroy(event);

    void *in[1] = {x}, *out[1] = {y};
    CHECK_STATUS(dnnl_tp_executable_run_async(e_good, stream, 2, in, 1, out, NULL, &event),
                 dnnl_tp_invalid_arguments);
    assert_null(event);
    CHECK_STATUS(dnnl_tp_executable_run_async(e_good, stream, 1, in, 1, out, NULL, NULL),
                 dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_executable_run_async(e_good, NULL, 1, in, 1, out, NULL, &event),
                 dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_executable_run_async(NULL, stream, 1, in, 1, out, NULL, &event),
                 dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_executable_destroy(e_slow);
    dnnl_tp_executable_destroy(e_bad);
    dnnl_tp_executable_destroy(e_good);
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_threadpool_destroy(pool);
    free(x);
    free(y);
}

/* Of runs that wait for a thread, the one with the higher priority begins first. */
typedef struct {
    _Atomic int begun, go, n, seen[8];
} turns_t;
typedef struct {
    turns_t *turns;
    int number; /* < 0: keeps the thread until go */
} turn_t;
static dnnl_tp_status_t take_turn(void *arg, const volatile int *should_stop, int nin,
                                  const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    turn_t *t = arg;
    (void)should_stop, (void)nin, (void)in, (void)nout, (void)out;
    if (t->number >= 0) {
        atomic_store(&t->turns->seen[atomic_fetch_add(&t->turns->n, 1)], t->number);
    } else {
        atomic_store(&t->turns->begun, 1);
        while (!atomic_load(&t->turns->go)) usleep(100);
    }
    return dnnl_tp_success;
}
static void priorities(void **state) {
    (void)state;
    /* A runtime's pool runs what it gets before it answers: nothing waits there. */
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) skip();
    enum { RUNS = 5 };
    static const int priority[RUNS] = {0, 0, -5, 7, 0}, of_stream[RUNS] = {0, 0, 3, 0, 5};
    static const int want[RUNS - 1] = {3, 4, 1, 2};
    dnnl_tp_threadpool_t pool = test_pool(1);
    turns_t turns = {0};
    turn_t turn[RUNS];
    dnnl_tp_stream_t stream[RUNS];
    dnnl_tp_event_t event[RUNS];
    dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {0}, .data_type = dnnl_tp_f32};
    for (int i = 0; i < RUNS; ++i) {
        turn[i] = (turn_t){&turns, i ? i : -1};
        dnnl_tp_graph_t g;
        dnnl_tp_value_t v;
        dnnl_tp_executable_t e;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_host(g, take_turn, &turn[i], NULL, 0, "turn", 0, NULL, 1, &info, &v));
        CHECK_OK(dnnl_tp_graph_target(g, v));
        CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
        dnnl_tp_graph_destroy(g);
        stream[i] = test_stream(test_engine, test_pool_iface(pool), 1, of_stream[i]);
        dnnl_tp_run_opts_t opts = {.struct_size = sizeof(opts), .priority = priority[i]};
        CHECK_OK(dnnl_tp_executable_run_async(e, stream[i], 0, NULL, 0, NULL, &opts, &event[i]));
        dnnl_tp_executable_destroy(e);
        while (!i && !atomic_load(&turns.begun)) usleep(100);
    }
    atomic_store(&turns.go, 1);
    while (atomic_load(&turns.n) < RUNS - 1) usleep(100); /* the pool's thread alone: who waits helps */
    for (int i = 0; i < RUNS; ++i) CHECK_OK(dnnl_tp_event_wait(event[i], -1, NULL));
    for (int i = 0; i < RUNS - 1; ++i) assert_int_equal(atomic_load(&turns.seen[i]), want[i]);
    for (int i = 0; i < RUNS; ++i) {
        dnnl_tp_event_destroy(event[i]);
        CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
    }
    dnnl_tp_threadpool_destroy(pool);
}

/* Runs, primitives and events mixed on two streams; a closure that waits for its own stream is refused. */
static dnnl_tp_stream_t own_stream;
static dnnl_tp_status_t from_closure[4];
static dnnl_tp_status_t nosy(void *arg, const volatile int *should_stop, int nin,
                             const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)should_stop, (void)nin, (void)nout;
    from_closure[0] = dnnl_tp_stream_wait(own_stream);
    from_closure[1] = dnnl_tp_sync_devices(-1);
    from_closure[2] = dnnl_tp_event_wait(arg, -1, NULL);
    from_closure[3] = dnnl_tp_stream_destroy(own_stream);
    memcpy(out[0].data, in[0].data, 4 * sizeof(float));
    return dnnl_tp_success;
}
static void closures_cannot_wait(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool = test_pool(2);
    own_stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    dnnl_tp_event_t never, event;
    CHECK_OK(dnnl_tp_event_create_host(&never, test_engine));
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_dims_t dims = {4};
    dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32};
    dnnl_tp_value_t v;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_host(g, nosy, never, NULL, 0, "nosy", 1, &v, 1, &info, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    float x[4] = {1, 2, 3, 4}, y[4];
    for (int sync = 0; sync < 2; ++sync) {
        void *in[1] = {x}, *out[1] = {y};
        if (sync) {
            CHECK_OK(dnnl_tp_executable_run(e, own_stream, 1, in, 1, out, NULL));
            assert_int_equal(from_closure[0], dnnl_tp_success); /* nothing is queued */
            assert_int_not_equal(from_closure[3], dnnl_tp_success);
        } else {
            event = run_async(e, own_stream, x, y, NULL);
            CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
            dnnl_tp_event_destroy(event);
            CHECK_OK(dnnl_tp_stream_wait(own_stream));
            assert_int_equal(from_closure[0], dnnl_tp_would_deadlock);
            assert_int_not_equal(from_closure[3], dnnl_tp_success);
        }
        assert_int_equal(from_closure[1], dnnl_tp_would_deadlock);
        assert_int_equal(from_closure[2], dnnl_tp_would_deadlock);
        assert_true(y[3] == 4);
    }
    CHECK_OK(dnnl_tp_stream_destroy(own_stream));
    dnnl_tp_event_destroy(never);
    dnnl_tp_executable_destroy(e);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_threadpool_destroy(pool);
}

/* ---- Times ------------------------------------------------------------------------------------------- */

static void check_timing(const dnnl_tp_timing_t *t, int cold, int least, int most) {
    assert_true(t->cold_runs == cold && t->warm_runs >= least && t->warm_runs <= most);
    assert_true(0 < t->first_ns && t->first_ns <= t->cold_max_ns);
    assert_true(0 < t->min_ns && t->min_ns <= t->median_ns && t->median_ns <= t->p90_ns &&
                t->p90_ns <= t->max_ns);
    assert_true(t->min_ns <= t->mean_ns && t->mean_ns <= t->max_ns);
    assert_true(t->wall_ns >= t->mean_ns); /* in order: never faster than their sum */
}
static void timed_runs(void **state) {
    (void)state;
    float *x = ramp(), *y = malloc(N * sizeof(float));
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
    for (int kind = -1; kind < POOL_KINDS; ++kind)
        for (int async = 0; async < 2; ++async) {
            hostile_pool_t *pool = kind < 0 ? NULL : hostile_pool_create((hostile_kind_t)kind, 2);
            dnnl_tp_stream_attr_t attr = attr_of(pool ? hostile_pool_iface(pool) : NULL, BOTH);
            CHECK_OK(dnnl_tp_stream_attr_set_async(attr, async));
            dnnl_tp_stream_t stream;
            CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
            watch_t watch = {.answer = dnnl_tp_success};
            dnnl_tp_executable_t e = compile(&watch, attr);
            dnnl_tp_timed_run_opts_t opts = {.struct_size = sizeof(opts),
                                             .cold_runs = 2,
                                             .min_warm_runs = 11,
                                             .max_warm_runs = 50,
                                             .min_time_ns = 100000};
            dnnl_tp_timing_t t = {.struct_size = sizeof(t)};
            float *z = calloc(N, sizeof(*z));
            dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, z}, {DNNL_TP_ARG_DST, z}};
            CHECK_OK(dnnl_tp_primitive_timed_run(add, stream, 2, args, &opts, &t));
            check_timing(&t, 2, 11, 50);
            assert_true(z[0] == (float)(2 + t.warm_runs)); /* each run is real */
            void *in[1] = {x}, *out[1] = {y};
            CHECK_OK(dnnl_tp_executable_timed_run(e, stream, 1, in, 1, out, NULL, &opts, &t));
            check_timing(&t, 2, 11, 50);
            assert_int_equal(atomic_load(&watch.calls), BRANCHES * (2 + t.warm_runs));
            check_values(y);
            t.struct_size = 1;
            CHECK_STATUS(dnnl_tp_primitive_timed_run(add, stream, 2, args, &opts, &t),
                         dnnl_tp_invalid_arguments);
            t.struct_size = sizeof(t);
            opts.cold_runs = -1;
            CHECK_STATUS(dnnl_tp_primitive_timed_run(add, stream, 2, args, &opts, &t),
                         dnnl_tp_invalid_arguments);
            opts.cold_runs = 0;
            args[0].handle = NULL;
            CHECK_STATUS(dnnl_tp_primitive_timed_run(add, stream, 2, args, &opts, &t),
                         dnnl_tp_invalid_arguments);
            watch.answer = dnnl_tp_cancelled;
            CHECK_STATUS(dnnl_tp_executable_timed_run(e, stream, 1, in, 1, out, NULL, &opts, &t),
                         dnnl_tp_cancelled);
            free(z);
            dnnl_tp_executable_destroy(e);
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            dnnl_tp_stream_attr_destroy(attr);
            if (pool) hostile_pool_destroy(pool);
        }
    dnnl_tp_primitive_destroy(add);
    free(x);
    free(y);
}

/* Lines of executions tell when the execution began and how long it took, on whatever thread it ran. */
static double line_begin[8], line_ms[8];
static int lines;
static void take_line(void *arg, const char *line) {
    (void)arg;
    char kind[16];
    if (lines < 8 && sscanf(line, "dnnl_tp_verbose,v1,%lf,primitive,%4s", &line_begin[lines], kind) == 2 &&
        !strcmp(kind, "exec"))
        line_ms[lines++] = atof(strrchr(line, ',') + 1);
}
static void lines_carry_times(void **state) {
    (void)state;
    float *x = calloc(N, sizeof(*x));
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), 1, 0);
    dnnl_tp_primitive_t add = test_linear(test_engine, N, 1, 1);
    dnnl_tp_event_t event[4];
    CHECK_OK(dnnl_tp_set_verbose_callback(take_line, NULL));
    unsigned bits = atomic_exchange(&dtp_verbose_bits, DTP_VERBOSE_EXEC | DTP_VERBOSE_TIMESTAMP);
    for (int i = 0; i < 4; ++i) {
        CHECK_OK(test_step(add, stream, x));
        CHECK_OK(dnnl_tp_stream_record_event(stream, &event[i]));
    }
    CHECK_OK(dnnl_tp_stream_wait(stream));
    atomic_store(&dtp_verbose_bits, bits);
    CHECK_OK(dnnl_tp_set_verbose_callback(NULL, NULL));
    assert_int_equal(lines, 4);
    for (int i = 0; i < 4; ++i) {
        int64_t begin, end;
        CHECK_OK(dnnl_tp_event_get_times(event[i], &begin, &end));
        assert_true(line_begin[i] >= (double)begin / 1e6 - 0.001);
        assert_true(line_begin[i] + line_ms[i] * (1 - 1e-5) <= (double)end / 1e6 + 0.001); /* six digits */
        dnnl_tp_event_destroy(event[i]);
    }
    dnnl_tp_primitive_destroy(add);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_threadpool_destroy(pool);
    free(x);
}

int main(void) {
    if (!DNNL_TP_WITH_THREADPOOL) return 0; /* streams of a SEQ library are synchronous */
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pool),        cmocka_unit_test(failures_on_every_pool),
        cmocka_unit_test(hosts_with_groups), cmocka_unit_test(parallelism),
        cmocka_unit_test(runs_that_fail),    cmocka_unit_test(closures_cannot_wait),
        cmocka_unit_test(timed_runs),        cmocka_unit_test(lines_carry_times),
        cmocka_unit_test(priorities),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
