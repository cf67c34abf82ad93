/* Runs on hosts that make a task group of every run: everything of a run goes through the host's schedule
 * with its cookie, nothing is scheduled after its end, and it is complete when the host says so. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/primitive/engine.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/group_pool.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/pools/pool.h"

/* ---- A run that looks where its pieces execute ------------------------------------------------------- */

enum { LOOPS = 4, PIECES = 24, HEAVY = -20000 };
typedef struct {
    _Atomic(void *) cookie; /* of the first piece that a worker executed */
    _Atomic int pieces, strange, ends, skips;
    dnnl_tp_status_t status;
} run_t;

static void look_around(run_t *r) {
    if (!group_pool_worker()) return; /* the caller, or a thread that waits */
    void *mine = group_pool_current(), *none = NULL;
    if (!mine) atomic_fetch_add(&r->strange, 1);
    else if (!atomic_compare_exchange_strong(&r->cookie, &none, mine) && none != mine)
        atomic_fetch_add(&r->strange, 1);
}
static void piece(void *arg, int slot, int64_t begin, int64_t end) {
    run_t *r = arg;
    (void)slot;
    look_around(r);
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&r->pieces, 1);
        usleep(5);
    }
}
static void run_body(void *arg, const dtp_parallel_t *par) {
    look_around(arg);
    for (int l = 0; l < LOOPS; ++l) dtp_parallel_for(par, PIECES, HEAVY, piece, arg);
}
static dnnl_tp_status_t run_ended(void *arg, bool skipped) {
    run_t *r = arg;
    atomic_fetch_add(&r->ends, 1);
    if (skipped) atomic_fetch_add(&r->skips, 1);
    return r->status == dnnl_tp_success ? r->status
                                        : dtp_fail(r->status, DTP_GRAPH_HOST_FAILED, "on purpose");
}

static dnnl_tp_event_t submit(dnnl_tp_stream_t stream, run_t *r) {
    dtp_stream_run_t run = {.num_threads = 4, .fn = run_body, .end = run_ended, .arg = r};
    dnnl_tp_event_t event;
    CHECK_OK(stream->v->submit_run(stream, &run, &event));
    return event;
}

static void check_run(run_t *r) {
    assert_int_equal(atomic_load(&r->pieces), LOOPS * PIECES);
    assert_int_equal(atomic_load(&r->strange), 0);
    assert_int_equal(atomic_load(&r->ends), 1);
}

/* ---- Tests ------------------------------------------------------------------------------------------- */

static void asynchronous_runs(void **state) {
    (void)state;
    enum { RUNS = 8, STREAMS = 3 };
    for (int mode = 0; mode < GROUP_MODES; ++mode)
        for (int workers = 1; workers <= 4; ++workers) {
            group_pool_t *pool = group_pool_create((group_mode_t)mode, workers);
            dnnl_tp_primitive_t add = test_linear(test_engine, 5000, 1, 1);
            dnnl_tp_stream_t stream[STREAMS];
            float *x[STREAMS];
            static run_t run[STREAMS][RUNS];
            dnnl_tp_event_t event[STREAMS][RUNS];
            for (int s = 0; s < STREAMS; ++s) {
                stream[s] = test_stream(test_engine, group_pool_iface(pool), 1, 0);
                x[s] = calloc(5000, sizeof(float));
            }
            for (int k = 0; k < RUNS; ++k)
                for (int s = 0; s < STREAMS; ++s) {
                    run[s][k] = (run_t){.status = dnnl_tp_success};
                    if (k % 2) CHECK_OK(test_step(add, stream[s], x[s])); /* runs and primitives mixed */
                    event[s][k] = submit(stream[s], &run[s][k]);
                    if (s) CHECK_OK(dnnl_tp_stream_wait_event(stream[s - 1], event[s][k]));
                }
            for (int s = 0; s < STREAMS; ++s)
                for (int k = 0; k < RUNS; ++k) {
                    int64_t begin, end;
                    CHECK_OK(dnnl_tp_event_wait(event[s][k], -1, NULL));
                    CHECK_OK(dnnl_tp_event_get_times(event[s][k], &begin, &end));
                    assert_true(end > begin);
                    check_run(&run[s][k]);
                    dnnl_tp_event_destroy(event[s][k]);
                }
            for (int s = 0; s < STREAMS; ++s) {
                CHECK_OK(dnnl_tp_stream_wait(stream[s]));
                assert_true(x[s][0] == RUNS / 2 && x[s][4999] == RUNS / 2);
                CHECK_OK(dnnl_tp_stream_destroy(stream[s]));
                free(x[s]);
            }
            group_counts_t c = group_pool_counts(pool);
            assert_true(c.begun == RUNS * STREAMS && c.ended == c.begun && c.done == c.begun &&
                        c.failed == 0);
            assert_int_equal(c.complaints, 0);
            assert_true(c.tasks > 0);
            dnnl_tp_primitive_destroy(add);
            CHECK_OK(dnnl_tp_threadpool_quiesce(group_pool_iface(pool), -1));
            group_pool_destroy(pool);
        }
}

/* The run is over for the stream when the host said done, not before. */
static void completion_comes_after_done(void **state) {
    (void)state;
    group_pool_t *pool = group_pool_create(GROUP_DELAYED, 2);
    dnnl_tp_stream_t stream = test_stream(test_engine, group_pool_iface(pool), 1, 0);
    for (int k = 0; k < 5; ++k) {
        run_t run = {.status = dnnl_tp_success}, next = {.status = dnnl_tp_success};
        group_pool_hold(pool, 1);
        dnnl_tp_event_t event = submit(stream, &run), second = submit(stream, &next);
        while (group_pool_counts(pool).ended < 2 * k + 1) usleep(50);
        usleep(1000); /* nothing may begin, however long it takes */
        assert_true(atomic_load(&next.pieces) == 0 && !test_is_done(event));
        assert_int_equal(group_pool_counts(pool).done, 2 * k);
        group_pool_hold(pool, 0);
        CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
        assert_true(group_pool_counts(pool).done >= 2 * k + 1);
        CHECK_OK(dnnl_tp_event_wait(second, -1, NULL));
        check_run(&run);
        check_run(&next);
        dnnl_tp_event_destroy(event);
        dnnl_tp_event_destroy(second);
    }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    assert_int_equal(group_pool_counts(pool).complaints, 0);
    group_pool_destroy(pool);
}

/* A failed run poisons; runs behind it are skipped, and the host hears of their end all the same. */
static void failed_and_skipped_runs_end(void **state) {
    (void)state;
    for (int mode = 0; mode < GROUP_MODES; ++mode) {
        group_pool_t *pool = group_pool_create((group_mode_t)mode, 2);
        dnnl_tp_stream_t stream = test_stream(test_engine, group_pool_iface(pool), 1, 0);
        run_t bad = {.status = dnnl_tp_invalid_shape}, skipped = {.status = dnnl_tp_success},
              good = {.status = dnnl_tp_success};
        dnnl_tp_event_t event[] = {submit(stream, &bad), submit(stream, &skipped)};
        CHECK_STATUS(dnnl_tp_stream_wait(stream), dnnl_tp_invalid_shape);
        for (int i = 0; i < 2; ++i) {
            const char *text;
            CHECK_STATUS(dnnl_tp_event_wait(event[i], -1, NULL), dnnl_tp_invalid_shape);
            CHECK_OK(dnnl_tp_event_get_error(event[i], &text));
            assert_string_equal(text,
                                i ? "skipped because of an earlier failure: a host closure failed: on purpose"
                                  : "a host closure failed: on purpose");
            dnnl_tp_event_destroy(event[i]);
        }
        check_run(&bad);
        assert_true(atomic_load(&skipped.pieces) == 0 && atomic_load(&skipped.skips) == 1);
        CHECK_OK(dnnl_tp_stream_reset(stream));
        dnnl_tp_event_t after = submit(stream, &good);
        CHECK_OK(dnnl_tp_event_wait(after, -1, NULL));
        check_run(&good);
        dnnl_tp_event_destroy(after);
        /* run_begin refuses: nothing is submitted. */
        group_pool_refuse_run(pool);
        dtp_stream_run_t run = {.num_threads = 4, .fn = run_body, .end = run_ended, .arg = &good};
        CHECK_STATUS(stream->v->submit_run(stream, &run, &after), dnnl_tp_runtime_error);
        assert_null(after);
        assert_int_equal(atomic_load(&good.ends), 1);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        group_counts_t c = group_pool_counts(pool);
        assert_true(c.begun == 3 && c.ended == 3 && c.done == 3 && c.failed == 2 && c.complaints == 0);
        group_pool_destroy(pool);
    }
}

/* Synchronous runs from more threads than tickets, while streams run as well. */
typedef struct {
    dtp_pool_t *rec;
    _Atomic int bad;
} clients_t;
static void *client(void *arg) {
    clients_t *c = arg;
    for (int k = 0; k < 10; ++k) {
        run_t run = {.status = dnnl_tp_success};
        if (dtp_pool_run(c->rec, 4, true, run_body, &run)) abort();
        if (atomic_load(&run.pieces) != LOOPS * PIECES || atomic_load(&run.strange))
            atomic_fetch_add(&c->bad, 1);
    }
    return NULL;
}
static void many_clients(void **state) {
    (void)state;
    enum { CLIENTS = 4, RUNS = 20 };
    for (int mode = 0; mode < GROUP_MODES; ++mode)
        for (int workers = 1; workers <= 3; ++workers) {
            group_pool_t *pool = group_pool_create((group_mode_t)mode, workers);
            dnnl_tp_stream_t stream = test_stream(test_engine, group_pool_iface(pool), 1, 0);
            clients_t c = {.rec = stream->attr->pool};
            pthread_t thread[CLIENTS];
            static run_t run[RUNS];
            dnnl_tp_event_t event[RUNS];
            for (int i = 0; i < CLIENTS; ++i)
                assert_int_equal(pthread_create(&thread[i], NULL, client, &c), 0);
            for (int k = 0; k < RUNS; ++k) {
                run[k] = (run_t){.status = dnnl_tp_success};
                event[k] = submit(stream, &run[k]);
            }
            for (int i = 0; i < CLIENTS; ++i) pthread_join(thread[i], NULL);
            assert_int_equal(atomic_load(&c.bad), 0);
            for (int k = 0; k < RUNS; ++k) {
                CHECK_OK(dnnl_tp_event_wait(event[k], -1, NULL));
                check_run(&run[k]);
                dnnl_tp_event_destroy(event[k]);
            }
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            group_counts_t counts = group_pool_counts(pool);
            assert_true(counts.begun == RUNS + CLIENTS * 10 && counts.ended == counts.begun);
            assert_int_equal(counts.complaints, 0);
            group_pool_destroy(pool);
        }
}

/* Inside schedule, with the cookie of a run, the host calls the program, which cancels that run: it
 * ends at once, but the host hears of the end when schedule has returned. */
typedef struct {
    dnnl_tp_cancel_t token;
    dnnl_tp_task_fn_t fn; /* the task that was accepted */
    void *arg;
    int inside, begun, ended, ended_inside, tasks;
    bool accepts, later;
    dnnl_tp_task_fn_t done;
    void *done_arg;
} canceller_t;
static int two_threads(void *ctx) {
    (void)ctx;
    return 2;
}
static int cancel_in_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    canceller_t *c = ctx;
    assert_ptr_equal(run, c);
    ++c->inside;
    ++c->tasks;
    CHECK_OK(dnnl_tp_cancel_fire(c->token));
    if (c->accepts) {
        c->fn = fn;
        c->arg = arg;
    }
    --c->inside;
    return !c->accepts;
}
static int begin_cancelled(void *ctx, uint64_t id, void **run) {
    canceller_t *c = ctx;
    (void)id;
    *run = c;
    ++c->begun;
    return 0;
}
static void end_cancelled(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done,
                          void *arg) {
    canceller_t *c = ctx;
    assert_ptr_equal(run, c);
    assert_true(status == dnnl_tp_cancelled && !may_block);
    ++c->ended;
    c->ended_inside += c->inside;
    if (!c->later) {
        done(arg);
        return;
    }
    c->done = done;
    c->done_arg = arg;
}
static dnnl_tp_status_t one(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                            int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout;
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}
static void cancelled_inside_schedule(void **state) {
    (void)state;
    const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_host(g, one, NULL, NULL, 0, "one", 0, NULL, 1, &scalar, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "out"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    for (int i = 0; i < 8; ++i) {
        canceller_t c = {.accepts = i & 1, .later = i & 2};
        const dnnl_tp_threadpool_iface_t pool = {.struct_size = sizeof pool,
                                                 .ctx = &c,
                                                 .get_num_threads = two_threads,
                                                 .schedule = cancel_in_schedule,
                                                 .run_begin = begin_cancelled,
                                                 .run_end = end_cancelled};
        CHECK_OK(dnnl_tp_cancel_create(&c.token));
        dnnl_tp_stream_t stream = test_stream(test_engine, &pool, 1, 0);
        const dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts, .cancel = c.token};
        dnnl_tp_event_t event;
        dnnl_tp_status_t result;
        float out = 0;
        CHECK_OK(dnnl_tp_executable_run_async(e, stream, 0, NULL, 1, (void *[]){&out}, &opts, &event));
        assert_true(c.begun == 1 && c.ended == 1 && c.ended_inside == 0 && c.tasks >= 1);
        assert_int_equal(test_is_done(event), !c.later);
        if (c.later) c.done(c.done_arg);
        if (c.fn) c.fn(c.arg); /* late: there is nothing to do */
        CHECK_OK(dnnl_tp_event_wait(event, -1, &result));
        assert_int_equal(result, dnnl_tp_cancelled);
        assert_true(out == 0);
        dnnl_tp_event_destroy(event);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        CHECK_OK(dnnl_tp_threadpool_quiesce(&pool, -1));
        dnnl_tp_cancel_destroy(c.token);
    }
    dnnl_tp_executable_destroy(e);
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asynchronous_runs),           cmocka_unit_test(completion_comes_after_done),
        cmocka_unit_test(failed_and_skipped_runs_end), cmocka_unit_test(many_clients),
        cmocka_unit_test(cancelled_inside_schedule),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
