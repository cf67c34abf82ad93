/* Sessions: names, feeding and fetching anything, the cache, pools by index and by name, closing. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "support/check.h"

#define OK CHECK_OK
#define REFUSED(expr, expected, text)                                    \
    do {                                                                 \
        assert_int_equal((expr), (expected));                            \
        if (!strstr(dnnl_tp_last_error(), text))                         \
            fail_msg("'%s' is not in '%s'", text, dnnl_tp_last_error()); \
    } while (0)

enum { POOL_THREADS = DNNL_TP_WITH_THREADPOOL ? 2 : 1 };
static test_allocator_t allocator;

/* x, y -> sum = x + y -> twice = relu(sum) + relu(sum); `count` counts its runs; two = host with two results
 */
typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_graph_t graph;
    _Atomic int counted, waiting;
} world_t;

static dnnl_tp_status_t count(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                              int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)in, (void)nout;
    *(float *)out[0].data = (float)(1 + atomic_fetch_add((_Atomic int *)arg, 1));
    return dnnl_tp_success;
}
static dnnl_tp_status_t two(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                            int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    ((float *)out[0].data)[0] = ((const float *)in[0].data)[0] + 10;
    ((float *)out[1].data)[0] = ((const float *)in[0].data)[0] + 20;
    return dnnl_tp_success;
}
static dnnl_tp_status_t sleepy(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                               int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout;
    usleep(40000);
    *(float *)out[0].data = -1;
    return dnnl_tp_success;
}
/* Until the run is stopped. */
static dnnl_tp_status_t wait_for_stop(void *arg, const volatile int *stop, int nin,
                                      const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)nin, (void)in, (void)nout, (void)out;
    atomic_fetch_add((_Atomic int *)arg, 1);
    while (!dnnl_tp_should_stop(stop)) usleep(100);
    return dnnl_tp_success;
}

static void world_init(world_t *w) {
    memset(w, 0, sizeof *w);
    OK(dnnl_tp_engine_create(&w->engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_graph_create(&w->graph, dnnl_tp_cpu));
    dnnl_tp_value_t x, y, sum, relu, twice, t[2];
    dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};
    dnnl_tp_tensor_info_t pair[2] = {scalar, scalar};
    OK(dnnl_tp_graph_input(w->graph, &x, "x", dnnl_tp_f32, 1, (dnnl_tp_dims_t){DNNL_TP_RUNTIME_DIM_VAL}));
    OK(dnnl_tp_graph_input(w->graph, &y, "y", dnnl_tp_f32, 1, (dnnl_tp_dims_t){DNNL_TP_RUNTIME_DIM_VAL}));
    OK(dnnl_tp_graph_op(w->graph, dnnl_tp_op_add, "sum", 2, (dnnl_tp_value_t[]){x, y}, 0, NULL, 1, &sum));
    OK(dnnl_tp_graph_op(w->graph, dnnl_tp_op_relu, "relu", 1, &sum, 0, NULL, 1, &relu));
    OK(dnnl_tp_graph_op(w->graph, dnnl_tp_op_add, "twice", 2, (dnnl_tp_value_t[]){relu, relu}, 0, NULL, 1,
                        &twice));
    dnnl_tp_value_t s, c, block;
    OK(dnnl_tp_graph_input(w->graph, &s, "s", dnnl_tp_f32, 0, NULL));
    OK(dnnl_tp_graph_host(w->graph, two, NULL, NULL, 0, "two", 1, &s, 2, pair, t));
    OK(dnnl_tp_graph_host(w->graph, count, &w->counted, NULL, 0, "count", 0, NULL, 1, &scalar, &c));
    OK(dnnl_tp_graph_host(w->graph, wait_for_stop, &w->waiting, NULL, 0, "block", 0, NULL, 1, &scalar,
                          &block));
    dnnl_tp_value_t same, late;
    OK(dnnl_tp_graph_host(w->graph, sleepy, NULL, NULL, 0, "sleepy", 0, NULL, 1, &scalar, &late));
    OK(dnnl_tp_graph_op(w->graph, dnnl_tp_op_abs, "late", 1, &late, 0, NULL, 1, &late));
    OK(dnnl_tp_graph_op(w->graph, dnnl_tp_op_abs, "same", 1, &t[0], 0, NULL, 1, &same));
    OK(dnnl_tp_graph_op(w->graph, dnnl_tp_op_exp, "same", 1, &t[0], 0, NULL, 1, &same));
    OK(dnnl_tp_graph_output(w->graph, twice, "result"));
}
static void world_end(world_t *w) {
    dnnl_tp_graph_destroy(w->graph);
    dnnl_tp_engine_destroy(w->engine);
}
static dnnl_tp_session_t session(world_t *w, int threads) {
    dnnl_tp_session_t s;
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o,
                                .per_session_threads = 1,
                                .num_threads = DNNL_TP_WITH_THREADPOOL ? threads : 1};
    OK(dnnl_tp_session_create(&s, w->graph, w->engine, &o));
    return s;
}
static dnnl_tp_tensor_info_t vec(int64_t n) {
    return (dnnl_tp_tensor_info_t){.ndims = 1, .dims = {n}, .data_type = dnnl_tp_f32};
}
static dnnl_tp_session_stats_t stats_of(dnnl_tp_session_t s) {
    dnnl_tp_session_stats_t st = {.struct_size = sizeof st};
    OK(dnnl_tp_session_query(s, &st));
    return st;
}

static void anything_can_be_fed_and_fetched(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s = session(&w, 2);
    float x[3] = {1, -5, 3}, y[3] = {1, 1, 1}, r[3], m[3], again[3];
    dnnl_tp_tensor_info_t i3 = vec(3);
    dnnl_tp_feed_t feeds[] = {{"x", &i3, x}, {"y", &i3, y}};
    dnnl_tp_fetch_t fetches[] = {{"result", r}, {"sum", m}, {"twice:0", again}};
    OK(dnnl_tp_session_run(s, 2, feeds, 3, fetches, 0, NULL, NULL));
    for (int i = 0; i < 3; ++i) {
        assert_true(m[i] == x[i] + y[i]);
        assert_true(r[i] == (m[i] > 0 ? 2 * m[i] : 0));
        assert_true(again[i] == r[i]);
    }
    assert_int_equal(w.counted, 0); /* nobody asked for it */
    /* The middle is given: its inputs are not needed. */
    dnnl_tp_feed_t middle[] = {{"relu", &i3, x}};
    OK(dnnl_tp_session_run(s, 1, middle, 1, fetches, 0, NULL, NULL));
    for (int i = 0; i < 3; ++i) assert_true(r[i] == 2 * x[i]);
    /* What is given can be asked for. */
    dnnl_tp_fetch_t itself[] = {{"relu", r}};
    OK(dnnl_tp_session_run(s, 1, middle, 1, itself, 0, NULL, NULL));
    assert_memory_equal(r, x, sizeof x);
    /* Targets run; results by number. */
    OK(dnnl_tp_session_run(s, 0, NULL, 0, NULL, 1, (const char *const[]){"count"}, NULL));
    assert_int_equal(w.counted, 1);
    float one = 1, b;
    OK(dnnl_tp_session_run(s, 1, &(dnnl_tp_feed_t){"s", NULL, &one}, 1, &(dnnl_tp_fetch_t){"two:1", &b}, 0,
                           NULL, NULL));
    assert_true(b == 21);
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

static void names_are_checked(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s = session(&w, 1);
    float x[2] = {0}, r[2];
    dnnl_tp_tensor_info_t i2 = vec(2), i3 = vec(3);
    dnnl_tp_feed_t xy[] = {{"x", &i2, x}, {"y", &i2, x}}, xx[] = {{"x", &i2, x}, {"x:0", &i2, x}};
    dnnl_tp_feed_t bad[] = {{"x", &i2, x}, {"y", &i3, x}};
    dnnl_tp_fetch_t result = {"result", r}, unknown = {"nobody", r}, ninth = {"sum:9", r}, both = {"same", r};
    dnnl_tp_fetch_t nothing = {"result", NULL};
    dnnl_tp_status_t no = dnnl_tp_invalid_arguments;
    REFUSED(dnnl_tp_session_run(s, 2, xy, 1, &unknown, 0, NULL, NULL), no, "'nobody'");
    REFUSED(dnnl_tp_session_run(s, 2, xy, 1, &ninth, 0, NULL, NULL), no, "1 results");
    REFUSED(dnnl_tp_session_run(s, 2, xy, 1, &both, 0, NULL, NULL), no, "several");
    REFUSED(dnnl_tp_session_run(s, 2, xy, 1, &nothing, 0, NULL, NULL), no, "NULL");
    REFUSED(dnnl_tp_session_run(s, 2, xx, 1, &result, 0, NULL, NULL), no, "twice");
    REFUSED(dnnl_tp_session_run(s, 2, xy, 0, NULL, 0, NULL, NULL), no, "nothing");
    REFUSED(dnnl_tp_session_run(s, 1, xy, 1, &result, 0, NULL, NULL), no, "input 'y' is needed and not fed");
    REFUSED(dnnl_tp_session_run(s, 2, bad, 1, &result, 0, NULL, NULL), dnnl_tp_invalid_shape, "sum");
    REFUSED(dnnl_tp_session_run(s, 0, NULL, 0, NULL, 1, (const char *const[]){"none"}, NULL), no, "'none'");
    /* The session is as good as before. */
    OK(dnnl_tp_session_run(s, 2, xy, 1, &result, 0, NULL, NULL));
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

static void one_executable_serves_all_orders(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s = session(&w, 2);
    float x[2] = {1, 2}, y[2] = {3, 4}, r[2], m[2];
    dnnl_tp_tensor_info_t i2 = vec(2), i1 = vec(1);
    dnnl_tp_feed_t f[] = {{"x", &i2, x}, {"y", &i2, y}}, g[] = {{"y", &i2, y}, {"x", &i2, x}};
    dnnl_tp_fetch_t p[] = {{"result", r}, {"sum", m}}, q[] = {{"sum", m}, {"twice", r}};
    OK(dnnl_tp_session_run(s, 2, f, 2, p, 0, NULL, NULL));
    OK(dnnl_tp_session_run(s, 2, g, 2, q, 0, NULL, NULL));
    assert_true(m[0] == 4 && m[1] == 6 && r[0] == 8);
    assert_int_equal(stats_of(s).compilations, 1);
    dnnl_tp_feed_t other[] = {{"x", &i1, x}, {"y", &i1, y}};
    OK(dnnl_tp_session_run(s, 2, other, 2, q, 0, NULL, NULL));
    OK(dnnl_tp_session_run(s, 2, f, 1, q, 0, NULL, NULL));
    dnnl_tp_session_stats_t st = stats_of(s);
    assert_int_equal(st.compilations, 3);
    assert_int_equal(st.executables, 3);
    assert_int_equal(st.runs, 4);
    /* Hits allocate nothing. */
    int64_t before = allocator.total;
    for (int i = 0; i < 100; ++i)
        OK(dnnl_tp_session_run(s, 2, i % 2 ? f : g, 2, i % 3 ? p : q, 0, NULL, NULL));
    assert_int_equal(allocator.total, before);
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

static void the_least_recently_used_goes(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s;
    dnnl_tp_session_opts_t o = {
        .struct_size = sizeof o, .per_session_threads = 1, .num_threads = 1, .max_executables = 2};
    OK(dnnl_tp_session_create(&s, w.graph, w.engine, &o));
    float x[4] = {1, 1, 1, 1}, r[4];
    for (int i = 0; i < 12; ++i) {
        dnnl_tp_tensor_info_t info = vec(i % 2 ? 1 : 1 + i % 4); /* 1, 1, 3, 1 */
        OK(dnnl_tp_session_run(s, 1, &(dnnl_tp_feed_t){"relu", &info, x}, 1, &(dnnl_tp_fetch_t){"twice", r},
                               0, NULL, NULL));
    }
    assert_int_equal(stats_of(s).compilations, 2);
    dnnl_tp_tensor_info_t four = vec(4), three = vec(3), one = vec(1);
    dnnl_tp_fetch_t twice = {"twice", r};
    OK(dnnl_tp_session_run(s, 1, &(dnnl_tp_feed_t){"relu", &four, x}, 1, &twice, 0, NULL, NULL));
    dnnl_tp_session_stats_t st = stats_of(s);
    assert_int_equal(st.evictions, 1);
    assert_int_equal(st.executables, 2);
    OK(dnnl_tp_session_run(s, 1, &(dnnl_tp_feed_t){"relu", &one, x}, 1, &twice, 0, NULL, NULL));
    assert_int_equal(stats_of(s).compilations, 3); /* it was used later than the one of three */
    OK(dnnl_tp_session_run(s, 1, &(dnnl_tp_feed_t){"relu", &three, x}, 1, &twice, 0, NULL, NULL));
    assert_int_equal(stats_of(s).compilations, 4);
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

static void pools_are_chosen_by_index(void **state) {
    (void)state;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s;
    dnnl_tp_session_pool_t pools[] = {{.num_threads = 1}, {.num_threads = 2, .global_name = "test shared"}};
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .npools = 2, .pools = pools};
    OK(dnnl_tp_session_create(&s, w.graph, w.engine, &o));
    float c;
    dnnl_tp_fetch_t fetch = {"count", &c};
    for (int index = -1; index < 2; ++index) {
        dnnl_tp_session_run_opts_t run = {.struct_size = sizeof run, .pool_index = index};
        OK(dnnl_tp_session_run(s, 0, NULL, 1, &fetch, 0, NULL, &run));
    }
    assert_int_equal(stats_of(s).compilations, 2); /* for one thread and for two */
    dnnl_tp_session_run_opts_t low = {.struct_size = sizeof low, .pool_index = -2};
    dnnl_tp_session_run_opts_t high = {.struct_size = sizeof high, .pool_index = 2};
    REFUSED(dnnl_tp_session_run(s, 0, NULL, 1, &fetch, 0, NULL, &low), dnnl_tp_invalid_arguments,
            "-2, not -1..1");
    REFUSED(dnnl_tp_session_run(s, 0, NULL, 1, &fetch, 0, NULL, &high), dnnl_tp_invalid_arguments,
            "2, not -1..1");
    const dnnl_tp_threadpool_iface_t *mine, *shared, *theirs;
    OK(dnnl_tp_session_get_pool(s, 0, &mine));
    OK(dnnl_tp_session_get_pool(s, 1, &shared));
    assert_ptr_not_equal(mine, shared);
    assert_int_equal(dnnl_tp_session_get_pool(s, -1, &theirs), dnnl_tp_invalid_arguments);

    dnnl_tp_session_t t = NULL;
    pools[1].num_threads = 3;
    REFUSED(dnnl_tp_session_create(&t, w.graph, w.engine, &o), dnnl_tp_invalid_arguments,
            "'test shared' has 2 threads, wanted are 3");
    assert_null(t);
    pools[1].num_threads = 2;
    OK(dnnl_tp_session_create(&t, w.graph, w.engine, &o));
    OK(dnnl_tp_session_get_pool(t, 1, &theirs));
    assert_ptr_equal(shared, theirs);
    OK(dnnl_tp_session_destroy(s));
    dnnl_tp_session_run_opts_t second = {.struct_size = sizeof second, .pool_index = 1};
    OK(dnnl_tp_session_run(t, 0, NULL, 1, &fetch, 0, NULL, &second));
    OK(dnnl_tp_session_destroy(t));
    pools[1].num_threads = 3; /* nobody holds it any more */
    OK(dnnl_tp_session_create(&t, w.graph, w.engine, &o));
    OK(dnnl_tp_session_destroy(t));
    world_end(&w);
}

static void a_timeout_ends_a_run(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s;
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o,
                                .per_session_threads = 1,
                                .num_threads = POOL_THREADS,
                                .timeout_ns = 20000000};
    OK(dnnl_tp_session_create(&s, w.graph, w.engine, &o));
    float c;
    dnnl_tp_fetch_t late = {"late", &c}, counted = {"count", &c};
    dnnl_tp_session_run_opts_t forever = {.struct_size = sizeof forever, .timeout_ns = -1};
    assert_int_equal(dnnl_tp_session_run(s, 0, NULL, 1, &late, 0, NULL, NULL), dnnl_tp_deadline_exceeded);
    OK(dnnl_tp_session_run(s, 0, NULL, 1, &late, 0, NULL, &forever));
    forever.timeout_ns = INT64_MAX; /* beyond the range of the clock */
    OK(dnnl_tp_session_run(s, 0, NULL, 1, &late, 0, NULL, &forever));
    /* The same session goes on; a token of the run works beside the session's. */
    dnnl_tp_cancel_t cancel;
    OK(dnnl_tp_cancel_create(&cancel));
    OK(dnnl_tp_cancel_fire(cancel));
    dnnl_tp_run_opts_t run = {.struct_size = sizeof run, .cancel = cancel};
    dnnl_tp_session_run_opts_t with = {.struct_size = sizeof with, .run = &run};
    assert_int_equal(dnnl_tp_session_run(s, 0, NULL, 1, &counted, 0, NULL, &with), dnnl_tp_cancelled);
    dnnl_tp_cancel_destroy(cancel);
    /* What is short is in time, unless this thread waited too long for a CPU. */
    dnnl_tp_status_t status = dnnl_tp_deadline_exceeded;
    for (int i = 0; i < 100 && status == dnnl_tp_deadline_exceeded; ++i)
        status = dnnl_tp_session_run(s, 0, NULL, 1, &counted, 0, NULL, NULL);
    OK(status);
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

typedef struct {
    dnnl_tp_session_t session;
    const char *fetch;
    dnnl_tp_status_t status;
} client_t;
static void *client(void *arg) {
    client_t *c = arg;
    float value;
    c->status =
        dnnl_tp_session_run(c->session, 0, NULL, 1, &(dnnl_tp_fetch_t){c->fetch, &value}, 0, NULL, NULL);
    return NULL;
}

static void closing_ends_what_runs(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s = session(&w, 2);
    enum { CLIENTS = 2 };
    pthread_t thread[CLIENTS];
    client_t c[CLIENTS];
    for (int i = 0; i < CLIENTS; ++i) {
        c[i] = (client_t){s, "block", dnnl_tp_success};
        assert_int_equal(pthread_create(&thread[i], NULL, client, &c[i]), 0);
    }
    while (atomic_load(&w.waiting) < CLIENTS) usleep(100);
    OK(dnnl_tp_session_close(s));
    for (int i = 0; i < CLIENTS; ++i) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].status, dnnl_tp_cancelled);
    }
    float value;
    dnnl_tp_fetch_t fetch = {"count", &value};
    REFUSED(dnnl_tp_session_run(s, 0, NULL, 1, &fetch, 0, NULL, NULL), dnnl_tp_cancelled, "closed");
    OK(dnnl_tp_session_close(s));
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

static void callables_need_no_names(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s = session(&w, 2);
    dnnl_tp_tensor_info_t i2 = vec(2), got;
    dnnl_tp_feed_t f[] = {{"y", &i2, NULL}, {"x", &i2, NULL}};
    dnnl_tp_callable_t call;
    OK(dnnl_tp_session_make_callable(&call, s, 2, f, 3, (const char *const[]){"sum", "result", "sum"}, 0,
                                     NULL));
    OK(dnnl_tp_callable_query(call, 1, &got));
    assert_int_equal(got.dims[0], 2);
    assert_int_equal(dnnl_tp_callable_query(call, 3, &got), dnnl_tp_invalid_arguments);
    float x[2] = {1, -2}, y[2] = {3, 1}, sum[2], result[2], again[2];
    for (int index = -1; index < 1; ++index) {
        dnnl_tp_session_run_opts_t o = {.struct_size = sizeof o, .pool_index = index};
        memset(again, 0, sizeof again);
        OK(dnnl_tp_callable_run(call, (const void *const[]){y, x}, (void *const[]){sum, result, again}, &o));
        assert_true(sum[0] == 4 && sum[1] == -1 && result[0] == 8 && result[1] == 0);
        assert_memory_equal(sum, again, sizeof sum);
    }
    OK(dnnl_tp_session_close(s));
    assert_int_equal(
        dnnl_tp_callable_run(call, (const void *const[]){y, x}, (void *const[]){sum, result, again}, NULL),
        dnnl_tp_cancelled);
    OK(dnnl_tp_session_destroy(s));
    OK(dnnl_tp_callable_destroy(call));
    world_end(&w);
}

/* For every n: the n-th allocation fails, the call says so, nothing leaks, the session stays usable. */
static void memory_may_end_anywhere(void **state) {
    (void)state;
    assert_true(test_becomes(&allocator.live, 0)); /* pools of the tests before */
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s = NULL;
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .num_threads = 1};
    dnnl_tp_status_t status = dnnl_tp_out_of_memory;
    for (int64_t n = 0; status != dnnl_tp_success; ++n) {
        int64_t live = allocator.live;
        allocator.fail_at = n;
        status = dnnl_tp_session_create(&s, w.graph, w.engine, &o);
        allocator.fail_at = -1;
        if (status == dnnl_tp_success) break;
        assert_int_equal(status, dnnl_tp_out_of_memory);
        assert_null(s);
        assert_int_equal(allocator.live, live);
    }
    float x[2] = {1, 2}, r[2];
    dnnl_tp_tensor_info_t i2 = vec(2);
    dnnl_tp_feed_t feed = {"relu", &i2, x};
    dnnl_tp_fetch_t fetch = {"twice", r};
    status = dnnl_tp_out_of_memory;
    for (int64_t n = 0; status != dnnl_tp_success; ++n) {
        allocator.fail_at = n;
        status = dnnl_tp_session_run(s, 1, &feed, 1, &fetch, 0, NULL, NULL);
        allocator.fail_at = -1;
        if (status != dnnl_tp_success) assert_int_equal(status, dnnl_tp_out_of_memory);
    }
    assert_true(r[0] == 2 && r[1] == 4);
    assert_int_equal(stats_of(s).executables, 1);
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

typedef struct {
    dnnl_tp_session_t session;
    int seed, failures;
} storm_t;
static void *storm(void *arg) {
    storm_t *t = arg;
    float x[8], r[8];
    for (int i = 0; i < 400; ++i) {
        int n = 1 + (i * 7 + t->seed) % 8;
        dnnl_tp_tensor_info_t info = vec(n);
        for (int k = 0; k < n; ++k) x[k] = (float)(i + k + t->seed);
        dnnl_tp_status_t status = dnnl_tp_session_run(t->session, 1, &(dnnl_tp_feed_t){"relu", &info, x}, 1,
                                                      &(dnnl_tp_fetch_t){"twice", r}, 0, NULL, NULL);
        for (int k = 0; k < n; ++k) t->failures += status != dnnl_tp_success || r[k] != 2 * x[k];
    }
    return NULL;
}

static void many_threads_share_a_small_cache(void **state) {
    (void)state;
    world_t w;
    world_init(&w);
    dnnl_tp_session_t s;
    dnnl_tp_session_opts_t o = {
        .struct_size = sizeof o, .per_session_threads = 1, .num_threads = POOL_THREADS, .max_executables = 3};
    OK(dnnl_tp_session_create(&s, w.graph, w.engine, &o));
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    storm_t t[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        t[i] = (storm_t){s, i, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, storm, &t[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(thread[i], NULL);
        assert_int_equal(t[i].failures, 0);
    }
    assert_true(stats_of(s).executables <= 3);
    OK(dnnl_tp_session_destroy(s));
    world_end(&w);
}

/* However many names a run has, it takes little stack: sessions run inside closures of other
 * sessions, and on threads with small stacks. */
static const char *stack_top;
static long depth;
static dnnl_tp_status_t note_depth(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                   int nout, const dnnl_tp_host_arg_t *out) {
    const char here = 0, *volatile at = &here;
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout;
    depth = (long)(stack_top - at);
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}
static void names_take_no_stack(void **state) {
    (void)state;
    enum { MOST = 1000, MOST_STACK = 24 << 10 };
    static char name[2][MOST][16];
    static float in[MOST], out[MOST + 1];
    static dnnl_tp_feed_t feed[MOST];
    static dnnl_tp_fetch_t fetch[MOST + 1];
    static const char *fetched[MOST + 1], *target[MOST];
    static const void *ins[MOST];
    static void *outs[MOST + 1];
    const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};
    dnnl_tp_engine_t engine;
    dnnl_tp_graph_t g;
    dnnl_tp_session_t s;
    dnnl_tp_value_t v;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < MOST; ++i) {
        snprintf(name[0][i], sizeof name[0][i], "i%d", i);
        snprintf(name[1][i], sizeof name[1][i], "o%d", i);
        OK(dnnl_tp_graph_input(g, &v, name[0][i], dnnl_tp_f32, 0, NULL));
        OK(dnnl_tp_graph_op(g, dnnl_tp_op_abs, name[1][i], 1, &v, 0, NULL, 1, &v));
        feed[i] = (dnnl_tp_feed_t){name[0][i], NULL, &in[i]};
        fetch[i] = (dnnl_tp_fetch_t){name[1][i], &out[i]};
        fetched[i] = target[i] = name[1][i];
    }
    OK(dnnl_tp_graph_host(g, note_depth, NULL, NULL, 0, "depth", 0, NULL, 1, &scalar, &v));
    const dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .per_session_threads = 1, .num_threads = 1};
    OK(dnnl_tp_session_create(&s, g, engine, &o));
    const dnnl_tp_session_run_opts_t here = {.struct_size = sizeof here,
                                             .pool_index = DNNL_TP_SESSION_CALLER};
    for (int n = 1; n <= MOST; n *= 10) {
        fetch[n] = (dnnl_tp_fetch_t){"depth", &out[n]};
        fetched[n] = "depth";
        dnnl_tp_callable_t c;
        OK(dnnl_tp_session_make_callable(&c, s, n, feed, n + 1, fetched, n, target));
        for (int round = 0; round < 3; ++round) {
            int64_t before = allocator.total;
            for (int by_names = 0; by_names < 2; ++by_names) {
                const char top = 0;
                for (int i = 0; i <= n; ++i) outs[i] = &out[i], out[i] = -1;
                for (int i = 0; i < n; ++i) ins[i] = &in[i], in[i] = (float)(-i - round);
                stack_top = &top;
                depth = 0;
                if (by_names) OK(dnnl_tp_session_run(s, n, feed, n + 1, fetch, n, target, &here));
                else OK(dnnl_tp_callable_run(c, ins, outs, &here));
                for (int i = 0; i < n; ++i) assert_true(out[i] == (float)(i + round));
                assert_true(out[n] == 1);
                assert_in_range(depth, 1, MOST_STACK);
            }
            if (round) assert_int_equal(allocator.total, before);
        }
        OK(dnnl_tp_callable_destroy(c));
        fetch[n] = (dnnl_tp_fetch_t){name[1][n < MOST ? n : 0], &out[n]};
        fetched[n] = name[1][n < MOST ? n : 0];
    }
    OK(dnnl_tp_session_destroy(s));
    dnnl_tp_graph_destroy(g);
    dnnl_tp_engine_destroy(engine);
}

int main(void) {
    test_allocator_init(&allocator);
    if (dnnl_tp_set_allocator(&allocator.iface)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_can_be_fed_and_fetched),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(one_executable_serves_all_orders),
        cmocka_unit_test(the_least_recently_used_goes),
        cmocka_unit_test(pools_are_chosen_by_index),
        cmocka_unit_test(a_timeout_ends_a_run),
        cmocka_unit_test(closing_ends_what_runs),
        cmocka_unit_test(callables_need_no_names),
        cmocka_unit_test(many_threads_share_a_small_cache),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(names_take_no_stack),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : !test_becomes(&allocator.live, 0);
}
