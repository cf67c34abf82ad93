/* Destroying everything while it is busy, from anywhere: inside closures, in the callback of a run's event, in
 * what is called when a graph's last user is gone, from other threads, in runs of sessions. Handles are
 * dropped at once and their objects go with the work; a stream or a session that would have to wait for
 * itself stays, with a status that says so. Made for builds with sanitizers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_session.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

enum { THREADS = 2, BESIDE = 3 };

/* Handles of one program, NULL where there is none. */
typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_graph_t graph;
    dnnl_tp_executable_t executable;
    dnnl_tp_cancel_t cancel;
    dnnl_tp_trace_t trace;
    dnnl_tp_stream_t stream;
    dnnl_tp_session_t session;
    dnnl_tp_callable_t callable;
    dnnl_tp_event_t event; /* of the run */
    _Atomic bool shared;   /* event is set */
    _Atomic int at_work, closures, dropped, destroyed, callbacks;
    bool destroy_in_closure, wait_for_stop;
    dnnl_tp_status_t of_stream, of_session, of_run;
} things_t;

/* Streams and sessions first: what refuses must not depend on the others. */
static void destroy_all(things_t *t) {
    if (atomic_exchange(&t->destroyed, 1)) return;
    if (t->stream && (t->of_stream = dnnl_tp_stream_destroy(t->stream)) == dnnl_tp_success) t->stream = NULL;
    if (t->session && (t->of_session = dnnl_tp_session_destroy(t->session)) == dnnl_tp_success)
        t->session = NULL;
    dnnl_tp_callable_destroy(t->callable);
    dnnl_tp_executable_destroy(t->executable);
    dnnl_tp_cancel_destroy(t->cancel);
    dnnl_tp_trace_destroy(t->trace);
    dnnl_tp_graph_destroy(t->graph);
    dnnl_tp_stream_attr_destroy(t->attr);
    dnnl_tp_threadpool_destroy(t->pool);
    dnnl_tp_engine_destroy(t->engine);
}
static void destroy_rest(things_t *t) {
    destroy_all(t);
    if (t->stream) CHECK_OK(dnnl_tp_stream_destroy(t->stream));
    if (t->session) CHECK_OK(dnnl_tp_session_destroy(t->session));
    t->stream = NULL;
    t->session = NULL;
}

static dnnl_tp_status_t closure(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    things_t *t = arg;
    (void)nin, (void)nout;
    atomic_fetch_add(&t->at_work, 1);
    if (t->destroy_in_closure) destroy_all(t);
    while (t->wait_for_stop && !dnnl_tp_should_stop(should_stop)) usleep(100);
    *(float *)out[0].data = *(const float *)in[0].data + 1;
    atomic_fetch_add(&t->closures, 1);
    return dnnl_tp_success;
}
static void dropped(void *arg) { atomic_fetch_add(&((things_t *)arg)->dropped, 1); }

/* y = sum of BESIDE closures, relu and one more closure. */
static void make_graph(things_t *t) {
    dnnl_tp_dims_t dims = {1};
    dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {1}, .data_type = dnnl_tp_f32};
    dnnl_tp_value_t x, v[BESIDE], sum;
    CHECK_OK(dnnl_tp_graph_create(&t->graph, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(t->graph, &x, "x", dnnl_tp_f32, 1, dims));
    for (int i = 0; i < BESIDE; ++i)
        CHECK_OK(dnnl_tp_graph_host(t->graph, closure, t, dropped, 0, "closure", 1, &x, 1, &info, &v[i]));
    sum = v[0];
    for (int i = 1; i < BESIDE; ++i) {
        dnnl_tp_value_t two[2] = {sum, v[i]};
        CHECK_OK(dnnl_tp_graph_op(t->graph, dnnl_tp_op_add, "add", 2, two, 0, NULL, 1, &sum));
    }
    CHECK_OK(dnnl_tp_graph_op(t->graph, dnnl_tp_op_relu, "relu", 1, &sum, 0, NULL, 1, &sum));
    CHECK_OK(dnnl_tp_graph_host(t->graph, closure, t, dropped, 0, "last", 1, &sum, 1, &info, &sum));
    CHECK_OK(dnnl_tp_graph_output(t->graph, sum, "y"));
}
static const float x_value = 2, y_value = BESIDE * 3 + 1;

static void make(things_t *t, bool with_pool, const dnnl_tp_threadpool_iface_t *host, int async,
                 unsigned flags) {
    *t = (things_t){.of_stream = dnnl_tp_runtime_error, .of_session = dnnl_tp_runtime_error};
    CHECK_OK(dnnl_tp_engine_create(&t->engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_attr_create(&t->attr, dnnl_tp_cpu));
    if (with_pool && !host && DNNL_TP_WITH_THREADPOOL) {
        t->pool = test_pool(THREADS);
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(t->attr, t->pool));
    } else {
        CHECK_OK(dnnl_tp_stream_attr_set_threadpool(t->attr, host));
    }
    CHECK_OK(dnnl_tp_stream_attr_set_async(t->attr, async));
    CHECK_OK(dnnl_tp_stream_create_v2(&t->stream, t->engine, 0, t->attr));
    make_graph(t);
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = t->attr, .flags = flags};
    CHECK_OK(dnnl_tp_executable_compile(&t->executable, t->graph, t->engine, 0, NULL, &o));
    CHECK_OK(dnnl_tp_cancel_create(&t->cancel));
    dnnl_tp_trace_opts_t to = {.struct_size = sizeof to};
    CHECK_OK(dnnl_tp_trace_create(&t->trace, &to));
}
/* Every second program is traced: traces keep executables. */
static dnnl_tp_run_opts_t run_opts(const things_t *t) {
    static int runs;
    return (dnnl_tp_run_opts_t){.struct_size = sizeof(dnnl_tp_run_opts_t),
                                .cancel = t->cancel,
                                .trace = runs++ % 2 ? t->trace : NULL};
}

/* Everything of this test is gone; hosts may begin helpers late. */
static void all_gone(int64_t live) {
    for (int i = 0; i < 20000 && dtp_object_live() != live; ++i) usleep(1000);
    assert_int_equal(dtp_object_live(), live);
}

/* ---- Inside closures --------------------------------------------------------------------------------- */

static void in_a_run(bool with_pool, hostile_pool_t *host, int async, unsigned flags) {
    int64_t live = dtp_object_live();
    things_t t;
    make(&t, with_pool, host ? hostile_pool_iface(host) : NULL, async, flags);
    t.destroy_in_closure = true;
    dnnl_tp_run_opts_t o = run_opts(&t);
    float x = x_value, y = 0;
    void *in[1] = {&x}, *out[1] = {&y};
    CHECK_OK(dnnl_tp_executable_run(t.executable, t.stream, 1, in, 1, out, &o));
    assert_true(y == y_value);
    assert_true(t.of_stream == dnnl_tp_would_deadlock || t.of_stream == dnnl_tp_invalid_arguments);
    destroy_rest(&t);
    assert_int_equal(atomic_load(&t.dropped), BESIDE + 1);
    all_gone(live);
}
static void in_closures(void **state) {
    (void)state;
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_CLUSTERS};
    for (int f = 0; f < 2; ++f) {
        in_a_run(false, NULL, 0, flags[f]);
        for (int async = 0; async < 2; ++async) {
            for (int i = 0; i < 4; ++i) in_a_run(true, NULL, async, flags[f]);
            for (int kind = f; DNNL_TP_WITH_THREADPOOL && kind < POOL_KINDS; kind += 2) {
                hostile_pool_t *host = hostile_pool_create((hostile_kind_t)kind, THREADS);
                in_a_run(true, host, async, flags[f]);
                hostile_pool_destroy(host);
            }
        }
    }
}

/* ---- Asynchronous runs ------------------------------------------------------------------------------- */

static void destroy_in_callback(void *arg, dnnl_tp_status_t status) {
    things_t *t = arg;
    while (!atomic_load(&t->shared)) usleep(50);
    t->of_run = status;
    destroy_all(t);
    dnnl_tp_event_destroy(t->event);
    atomic_fetch_add(&t->callbacks, 1);
}

static void in_an_async_run(hostile_pool_t *host, bool in_closure) {
    int64_t live = dtp_object_live();
    things_t t;
    make(&t, true, host ? hostile_pool_iface(host) : NULL, 1, DNNL_TP_COMPILE_NO_CLUSTERS);
    t.destroy_in_closure = in_closure;
    dnnl_tp_run_opts_t o = run_opts(&t);
    float x = x_value, y[2] = {0};
    void *in[1] = {&x}, *out[1] = {&y[0]}, *out1[1] = {&y[1]};
    dnnl_tp_executable_t e = t.executable;
    dnnl_tp_stream_t stream = t.stream; /* stays */
    dnnl_tp_event_t gate, second;
    CHECK_OK(dnnl_tp_event_create_host(&gate, t.engine));
    if (DNNL_TP_WITH_THREADPOOL) CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
    else CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    if (!DNNL_TP_WITH_THREADPOOL) in_closure = false, t.destroy_in_closure = false;
    CHECK_OK(dnnl_tp_executable_run_async(e, stream, 1, in, 1, out, &o, &t.event));
    CHECK_OK(dnnl_tp_executable_run_async(e, stream, 1, in, 1, out1, &o, &second));
    atomic_store(&t.shared, true);
    if (in_closure) dnnl_tp_event_destroy(t.event);
    else CHECK_OK(dnnl_tp_event_on_complete(t.event, destroy_in_callback, &t));
    if (DNNL_TP_WITH_THREADPOOL) CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    dnnl_tp_event_destroy(gate);
    CHECK_OK(dnnl_tp_event_wait(second, -1, NULL));
    while (!in_closure && !atomic_load(&t.callbacks)) usleep(50);
    dnnl_tp_event_destroy(second);
    assert_true(y[0] == y_value && y[1] == y_value);
    if (DNNL_TP_WITH_THREADPOOL) {
        assert_int_equal(t.of_stream, dnnl_tp_would_deadlock);
        CHECK_OK(dnnl_tp_stream_wait(stream));
    }
    destroy_rest(&t);
    assert_int_equal(atomic_load(&t.dropped), BESIDE + 1);
    all_gone(live);
}
static void in_asynchronous_runs(void **state) {
    (void)state;
    for (int in_closure = 0; in_closure < 2; ++in_closure) {
        for (int i = 0; i < 4; ++i) in_an_async_run(NULL, in_closure);
        for (int kind = 0; DNNL_TP_WITH_THREADPOOL && kind < POOL_KINDS; ++kind) {
            hostile_pool_t *host = hostile_pool_create((hostile_kind_t)kind, THREADS);
            in_an_async_run(host, in_closure);
            hostile_pool_destroy(host);
        }
    }
}

/* The graph's last user is a run; what is called then destroys another program, idle, on the same pool. */
static void drop_others(void *arg) {
    things_t *other = arg;
    destroy_all(other);
    atomic_fetch_add(&other->callbacks, 1);
}
static void in_drops(void **state) {
    (void)state;
    for (int i = 0; i < 8; ++i) {
        int64_t live = dtp_object_live();
        things_t t, other;
        make(&t, true, NULL, 1, 0);
        make(&other, true, t.pool ? test_pool_iface(t.pool) : NULL, 1, 0);
        dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {1}, .data_type = dnnl_tp_f32};
        dnnl_tp_graph_t g;
        dnnl_tp_value_t v;
        dnnl_tp_executable_t e;
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_f32, 1, info.dims));
        CHECK_OK(dnnl_tp_graph_host(g, closure, &t, NULL, 0, "closure", 1, &v, 1, &info, &v));
        CHECK_OK(dnnl_tp_graph_output(g, v, "y"));
        static const float weight = 1;
        CHECK_OK(dnnl_tp_graph_constant(g, &v, "w", dnnl_tp_f32, 1, info.dims, &weight,
                                        DNNL_TP_CONSTANT_BORROW, drop_others, &other));
        CHECK_OK(dnnl_tp_executable_compile(&e, g, t.engine, 0, NULL, NULL));
        dnnl_tp_graph_destroy(g);
        float x = x_value, y = 0;
        void *in[1] = {&x}, *out[1] = {&y};
        CHECK_OK(dnnl_tp_executable_run_async(e, t.stream, 1, in, 1, out, NULL, &t.event));
        dnnl_tp_executable_destroy(e);
        CHECK_OK(dnnl_tp_event_wait(t.event, -1, NULL));
        dnnl_tp_event_destroy(t.event);
        while (!atomic_load(&other.callbacks)) usleep(50);
        assert_int_equal(other.of_stream, dnnl_tp_success);
        destroy_rest(&other);
        destroy_rest(&t);
        all_gone(live);
    }
}

/* ---- Other threads ----------------------------------------------------------------------------------- */

typedef struct {
    things_t *t;
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    dnnl_tp_session_t session;
    dnnl_tp_callable_t callable;
    dnnl_tp_run_opts_t opts;
    bool alone; /* a session's run on this thread alone */
    dnnl_tp_status_t status;
} client_t;

static void *client_run(void *arg) {
    client_t *c = arg;
    float x = x_value, y = 0;
    void *in[1] = {&x}, *out[1] = {&y};
    const dnnl_tp_session_run_opts_t o = {.struct_size = sizeof o,
                                          .pool_index = c->alone ? DNNL_TP_SESSION_CALLER : 0};
    if (c->callable) {
        c->status = dnnl_tp_callable_run(c->callable, (const void *const *)in, out, &o);
    } else if (c->session) {
        dnnl_tp_feed_t feed = {"x", NULL, &x};
        dnnl_tp_fetch_t fetch = {"y", &y};
        c->status = dnnl_tp_session_run(c->session, 1, &feed, 1, &fetch, 0, NULL, &o);
    } else {
        c->status = dnnl_tp_executable_run(c->e, c->stream, 1, in, 1, out, &c->opts);
    }
    return NULL;
}

/* The executable and all else go while another thread's run waits to be cancelled. */
static void from_another_thread(void **state) {
    (void)state;
    for (int i = 0; i < 20; ++i) {
        int64_t live = dtp_object_live();
        things_t t;
        make(&t, i % 2, NULL, i / 2 % 2, i / 4 % 2 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0);
        t.wait_for_stop = true;
        client_t c = {.t = &t, .e = t.executable, .stream = t.stream, .opts = run_opts(&t)};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, client_run, &c), 0);
        while (!atomic_load(&t.at_work)) usleep(100);
        dnnl_tp_cancel_t cancel = t.cancel;
        t.cancel = NULL;
        destroy_all(&t);
        assert_int_equal(t.of_stream, dnnl_tp_invalid_arguments); /* another thread uses it */
        CHECK_OK(dnnl_tp_cancel_fire(cancel));
        dnnl_tp_cancel_destroy(cancel);
        pthread_join(thread, NULL);
        assert_int_equal(c.status, dnnl_tp_cancelled);
        destroy_rest(&t);
        assert_int_equal(atomic_load(&t.dropped), BESIDE + 1);
        all_gone(live);
    }
}

/* ---- Sessions ---------------------------------------------------------------------------------------- */

static void make_session(things_t *t, int own) {
    *t = (things_t){.of_session = dnnl_tp_runtime_error};
    CHECK_OK(dnnl_tp_engine_create(&t->engine, dnnl_tp_cpu, 0));
    make_graph(t);
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o,
                                .num_threads = DNNL_TP_WITH_THREADPOOL ? THREADS : 1,
                                .per_session_threads = own,
                                .max_executables = 1};
    CHECK_OK(dnnl_tp_session_create(&t->session, t->graph, t->engine, &o));
    dnnl_tp_feed_t feed = {"x", NULL, NULL};
    CHECK_OK(dnnl_tp_session_make_callable(&t->callable, t->session, 1, &feed, 1, (const char *const[]){"y"},
                                           0, NULL));
}

/* A session that is destroyed in a run of its own is closed, and stays; a callable goes at once. */
static void in_a_session(void **state) {
    (void)state;
    for (int i = 0; i < 20; ++i) {
        int64_t live = dtp_object_live();
        things_t t;
        make_session(&t, i / 2 % 2);
        t.destroy_in_closure = true;
        client_t c = {.session = t.session, .callable = i % 2 ? t.callable : NULL, .alone = i / 4 % 2};
        client_run(&c);
        assert_int_equal(c.status, dnnl_tp_cancelled);
        assert_int_equal(t.of_session, dnnl_tp_would_deadlock);
        destroy_rest(&t);
        assert_int_equal(atomic_load(&t.dropped), BESIDE + 1);
        all_gone(live);
    }
}

/* Only the callable, whose executable the cache has let go. */
static void a_callable_in_its_run(void **state) {
    (void)state;
    for (int i = 0; i < 10; ++i) {
        int64_t live = dtp_object_live();
        things_t t;
        make_session(&t, i % 2);
        float x = x_value, y = 0;
        dnnl_tp_feed_t feed = {"x", NULL, &x};
        dnnl_tp_fetch_t fetch = {"closure", &y};
        dnnl_tp_status_t refused = dnnl_tp_session_run(t.session, 1, &feed, 1, &fetch, 0, NULL, NULL);
        assert_int_equal(refused, dnnl_tp_invalid_arguments); /* several have this name */
        fetch.name = "relu";
        CHECK_OK(dnnl_tp_session_run(t.session, 1, &feed, 1, &fetch, 0, NULL, NULL));
        assert_true(y == y_value - 1);
        dnnl_tp_session_t session = t.session;
        t.session = NULL;
        t.destroy_in_closure = true;
        const void *in[1] = {&x};
        void *out[1] = {&y};
        CHECK_OK(dnnl_tp_callable_run(t.callable, in, out, NULL));
        assert_true(y == y_value);
        CHECK_OK(dnnl_tp_session_destroy(session));
        assert_int_equal(atomic_load(&t.dropped), BESIDE + 1);
        all_gone(live);
    }
}

/* Whoever destroys a session waits for its runs, and frees what they have just left. */
static void sessions_under_way(void **state) {
    (void)state;
    enum { CLIENTS = 3, ROUNDS = 30 };
    for (int i = 0; i < ROUNDS; ++i) {
        int64_t live = dtp_object_live();
        things_t t;
        make_session(&t, i % 8 == 0);
        t.wait_for_stop = i % 4 != 0; /* else they end as they like */
        client_t c[CLIENTS];
        pthread_t thread[CLIENTS];
        for (int k = 0; k < CLIENTS; ++k) {
            c[k] = (client_t){.session = t.session, .callable = (i + k) % 2 ? t.callable : NULL};
            assert_int_equal(pthread_create(&thread[k], NULL, client_run, &c[k]), 0);
        }
        /* A run takes a thread of the pool: not all of them need to have begun, so that some clients stand
         * before the door. */
        while (atomic_load(&t.at_work) < (t.wait_for_stop ? 1 : CLIENTS * (BESIDE + 1))) usleep(50);
        CHECK_OK(dnnl_tp_session_close(t.session));
        for (int k = 0; !t.wait_for_stop && k < CLIENTS; ++k)
            assert_int_equal(pthread_join(thread[k], NULL), 0);
        for (int k = 0; t.wait_for_stop && k < CLIENTS; ++k) {
            assert_int_equal(pthread_join(thread[k], NULL), 0);
            assert_int_equal(c[k].status, dnnl_tp_cancelled);
        }
        destroy_rest(&t);
        all_gone(live);
    }
}

static int done(void **state) {
    (void)state;
    watchdog(100, NULL);
    return 0;
}

int main(void) {
    watchdog(100, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(in_closures, done),
        cmocka_unit_test_teardown(in_asynchronous_runs, done),
        cmocka_unit_test_teardown(in_drops, done),
        cmocka_unit_test_teardown(from_another_thread, done),
        cmocka_unit_test_teardown(in_a_session, done),
        cmocka_unit_test_teardown(a_callable_in_its_run, done),
        cmocka_unit_test_teardown(sessions_under_way, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
