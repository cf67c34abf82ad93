/* A run that has not begun ends with its deadline, its tokens and its session, wherever it waits: for a ticket, for
 * earlier items of its stream, on a thread of the blocking crew. So does one that has begun and waits for the ticket
 * that it lent while a closure blocked. What they wait for goes on until the run has ended: a wait that is blind
 * hangs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/base/futex.h"
#include "threading/pools/runtime.h"

enum { N = 4, MS = 1000000 };
typedef struct {
    _Atomic int inside, go, ran;
} gate_t;

static dnnl_tp_status_t hold(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    gate_t *g = arg;
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    atomic_store(&g->inside, 1);
    while (!atomic_load(&g->go)) usleep(100);
    return dnnl_tp_success;
}
static dnnl_tp_status_t count(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                              int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    atomic_fetch_add(&((gate_t *)arg)->ran, 1);
    return dnnl_tp_success;
}
static dnnl_tp_graph_t graph_of(dnnl_tp_host_fn_t fn, void *arg) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, y;
    dnnl_tp_dims_t dims = {N};
    const dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {N}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_host(g, fn, arg, NULL, 0, "host", 1, &x, 1, &info, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    return g;
}
/* The graph is consumed. */
static dnnl_tp_executable_t compile_graph(const dnnl_tp_threadpool_iface_t *pool, dnnl_tp_graph_t g) {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    const dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &o));
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_graph_destroy(g);
    return e;
}
static dnnl_tp_executable_t compile(const dnnl_tp_threadpool_iface_t *pool, dnnl_tp_host_fn_t fn, void *arg) {
    return compile_graph(pool, graph_of(fn, arg));
}
static dnnl_tp_status_t run(dnnl_tp_executable_t e, dnnl_tp_stream_t stream, const dnnl_tp_run_opts_t *o) {
    float x[N] = {0}, y[N];
    void *in[] = {x}, *out[] = {y};
    return dnnl_tp_executable_run(e, stream, 1, in, 1, out, o);
}

typedef struct {
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_executable_t holds;
} holder_t;
static void *run_holds(void *arg) {
    holder_t *h = arg;
    dnnl_tp_stream_t stream = test_stream(test_engine, h->pool, 0, 0);
    CHECK_OK(run(h->holds, stream, NULL));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    return NULL;
}
static void *fire(void *token) {
    usleep(20000); /* the run waits by then, or ends at once */
    CHECK_OK(dnnl_tp_cancel_fire(token));
    return NULL;
}

/* Once by a deadline, once by a token that another thread fires. */
static void ends_soon(dnnl_tp_executable_t quick, dnnl_tp_stream_t stream) {
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .deadline_ns = dtp_now_ns() + 20 * (int64_t)MS};
    CHECK_STATUS(run(quick, stream, &o), dnnl_tp_deadline_exceeded);
    pthread_t thread;
    o.deadline_ns = 0;
    CHECK_OK(dnnl_tp_cancel_create(&o.cancel));
    assert_int_equal(pthread_create(&thread, NULL, fire, o.cancel), 0);
    CHECK_STATUS(run(quick, stream, &o), dnnl_tp_cancelled);
    pthread_join(thread, NULL);
    dnnl_tp_cancel_destroy(o.cancel);
}

static void wait_for_a_ticket(const dnnl_tp_threadpool_iface_t *pool) {
    gate_t gate = {0};
    holder_t holder = {pool, compile(pool, hold, &gate)};
    dnnl_tp_executable_t quick = compile(pool, count, &gate);
    dnnl_tp_stream_t stream = test_stream(test_engine, pool, 0, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_holds, &holder), 0);
    while (!atomic_load(&gate.inside)) usleep(100);
    ends_soon(quick, stream);
    assert_int_equal(atomic_load(&gate.ran), 0);
    atomic_store(&gate.go, 1);
    CHECK_OK(run(quick, stream, NULL)); /* a ticket is there for others */
    assert_int_equal(atomic_load(&gate.ran), 1);
    pthread_join(thread, NULL);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_executable_destroy(quick);
    dnnl_tp_executable_destroy(holder.holds);
}
static void tickets(void **state) {
    (void)state;
    static const hostile_kind_t kinds[] = {POOL_FIFO, POOL_REFUSE, POOL_RUNS, POOL_LOOP,
                                           POOL_ASYNC_UNORDERED};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        watchdog(100, NULL);
        hostile_pool_t *pool = hostile_pool_create(kinds[k], 1);
        wait_for_a_ticket(hostile_pool_iface(pool));
        hostile_pool_destroy(pool);
    }
    dnnl_tp_threadpool_t own = test_pool(1);
    wait_for_a_ticket(test_pool_iface(own));
    dnnl_tp_threadpool_destroy(own);
}

static void earlier_items(void **state) {
    (void)state;
    watchdog(100, NULL);
    dnnl_tp_threadpool_t own = test_pool(2);
    hostile_pool_t *host = hostile_pool_create(POOL_FIFO, 2);
    const dnnl_tp_threadpool_iface_t *pools[] = {hostile_pool_iface(host), test_pool_iface(own)};
    /* Where the thread that submits runs the item that holds the stream, nobody is left to wait behind it. That is so
     * on a part of OpenMP's threads, a pool with parallel_for, and where oneTBB grants one thread (doc/streams.md,
     * "Pools"). */
    for (int k = 0; k < (DTP_OWN_THREADS ? 2 : 1); ++k) {
        gate_t gate = {0};
        dnnl_tp_executable_t holds = compile(pools[k], hold, &gate), quick = compile(pools[k], count, &gate);
        dnnl_tp_stream_t stream = test_stream(test_engine, pools[k], 1, 0);
        float x[N] = {0}, y[N];
        void *in[] = {x}, *out[] = {y};
        dnnl_tp_event_t event;
        CHECK_OK(dnnl_tp_executable_run_async(holds, stream, 1, in, 1, out, NULL, &event));
        while (!atomic_load(&gate.inside)) usleep(100); /* else this thread might run it */
        ends_soon(quick, stream);
        assert_int_equal(atomic_load(&gate.ran), 0);
        atomic_store(&gate.go, 1);
        CHECK_OK(run(quick, stream, NULL));
        assert_int_equal(atomic_load(&gate.ran), 1);
        dnnl_tp_event_destroy(event);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        dnnl_tp_executable_destroy(holds);
        dnnl_tp_executable_destroy(quick);
    }
    dnnl_tp_threadpool_destroy(own);
    hostile_pool_destroy(host);
}

/* ---- Closures that block ----------------------------------------------------------------------------- */

/* A closure that blocks, and what comes after it. */
static dnnl_tp_executable_t compile_blocking(const dnnl_tp_threadpool_iface_t *pool, gate_t *gate) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, y;
    dnnl_tp_dims_t dims = {N};
    const dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {N}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_host(g, hold, gate, NULL, DNNL_TP_HOST_MAY_BLOCK, "blocks", 1, &x, 1, &info, &y));
    CHECK_OK(dnnl_tp_graph_host(g, count, gate, NULL, 0, "after", 1, &y, 1, &info, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    return compile_graph(pool, g);
}

/* A run of an asynchronous stream (event) or of a thread, which a deadline or a token ends. */
typedef struct {
    dnnl_tp_executable_t exec;
    dnnl_tp_stream_t stream;
    dnnl_tp_run_opts_t opts;
    float x[N], y[N];
    dnnl_tp_event_t event;
    pthread_t thread;
    _Atomic int returned;
    dnnl_tp_status_t status;
} ending_t;
static void *run_ending(void *arg) {
    ending_t *r = arg;
    r->status = run(r->exec, r->stream, &r->opts);
    atomic_store(&r->returned, 1);
    return NULL;
}
static void ending_begin(ending_t *r, dnnl_tp_executable_t exec, dnnl_tp_stream_t stream, bool async,
                         bool late) {
    *r = (ending_t){.exec = exec, .stream = stream, .opts.struct_size = sizeof r->opts};
    if (late) r->opts.deadline_ns = dtp_now_ns() + 200 * (int64_t)MS;
    else CHECK_OK(dnnl_tp_cancel_create(&r->opts.cancel));
    void *in[] = {r->x}, *out[] = {r->y};
    if (async) CHECK_OK(dnnl_tp_executable_run_async(exec, stream, 1, in, 1, out, &r->opts, &r->event));
    else assert_int_equal(pthread_create(&r->thread, NULL, run_ending, r), 0);
}
static void ending_check(ending_t *r) {
    if (r->opts.cancel) {
        usleep(20000); /* it waits by then, or ends at once */
        CHECK_OK(dnnl_tp_cancel_fire(r->opts.cancel));
    }
    if (r->event) CHECK_OK(dnnl_tp_event_wait(r->event, -1, &r->status));
    else pthread_join(r->thread, NULL);
    assert_int_equal(r->status, r->opts.cancel ? dnnl_tp_cancelled : dnnl_tp_deadline_exceeded);
    dnnl_tp_event_destroy(r->event);
    dnnl_tp_cancel_destroy(r->opts.cancel);
    CHECK_OK(dnnl_tp_stream_destroy(r->stream));
    dnnl_tp_executable_destroy(r->exec);
}

static bool somebody_runs(const dnnl_tp_threadpool_iface_t *pool) {
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s};
    CHECK_OK(dnnl_tp_threadpool_query(pool, &s));
    return s.running != 0;
}
/* The only ticket goes from a run whose closure blocks to one that holds it. A second run, of a stream, waits on
 * the crew's thread for runs; behind the first one there, if that is of a stream too. */
static void lend_a_ticket(const dnnl_tp_threadpool_iface_t *pool, bool async, bool late) {
    gate_t gate = {0}, other = {0}, before = {0}, busy = {0};
    dnnl_tp_stream_t stream = test_stream(test_engine, pool, 1, 0);
    ending_t lends, waits;
    ending_begin(&lends, compile_blocking(pool, &gate), test_stream(test_engine, pool, async, 0), async,
                 late);
    while (!atomic_load(&gate.inside) && !(lends.event ? test_is_done(lends.event) : lends.returned))
        usleep(100);
    /* The turn of the second run is with the crew when the worker that ran the item before it has let go. */
    dnnl_tp_executable_t first = compile(pool, hold, &before);
    float x[N] = {0}, y[N];
    void *in[] = {x}, *out[] = {y};
    dnnl_tp_event_t event;
    CHECK_OK(dnnl_tp_executable_run_async(first, stream, 1, in, 1, out, NULL, &event));
    while (!atomic_load(&before.inside)) usleep(100);
    ending_begin(&waits, compile_blocking(pool, &other), stream, true, late);
    atomic_store(&before.go, 1);
    while (!test_is_done(event) || somebody_runs(pool)) usleep(100);
    dnnl_tp_event_destroy(event);

    holder_t holder = {pool, compile(pool, hold, &busy)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_holds, &holder), 0);
    while (!atomic_load(&busy.inside)) usleep(100);
    atomic_store(&gate.go, 1);
    atomic_store(&other.go, 1);
    ending_check(&lends);
    ending_check(&waits);
    assert_true(!atomic_load(&gate.ran) && !atomic_load(&other.ran)); /* what comes after the closures */
    atomic_store(&busy.go, 1);
    pthread_join(thread, NULL);
    dnnl_tp_stream_t last = test_stream(test_engine, pool, 0, 0);
    CHECK_OK(run(first, last, NULL)); /* a ticket is there for others */
    CHECK_OK(dnnl_tp_stream_destroy(last));
    dnnl_tp_executable_destroy(first);
    dnnl_tp_executable_destroy(holder.holds);
}
static void lent_tickets(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; ++kind) { /* bit 0: of a stream; bit 1: a deadline */
        watchdog(100, NULL);
        dnnl_tp_threadpool_t pool;
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 1, .blocking_threads = 1};
        if (dnnl_tp_threadpool_create(&pool, &o) == dnnl_tp_unimplemented) skip(); /* other runtimes */
        lend_a_ticket(test_pool_iface(pool), kind & 1, kind & 2);
        dnnl_tp_threadpool_destroy(pool);
    }
}

/* ---- Sessions ---------------------------------------------------------------------------------------- */

/* Two sessions share a pool of one thread: the run of the second never begins. */
typedef struct {
    dnnl_tp_session_t session;
    dnnl_tp_status_t status;
    _Atomic int returned;
} client_t;
static void *session_client(void *arg) {
    client_t *c = arg;
    float x[N] = {0}, y[N];
    dnnl_tp_feed_t feed = {"x", NULL, x};
    dnnl_tp_fetch_t fetch = {"y", y};
    c->status = dnnl_tp_session_run(c->session, 1, &feed, 1, &fetch, 0, NULL, NULL);
    atomic_store(&c->returned, 1);
    return NULL;
}
static void closing(void **state) {
    (void)state;
    watchdog(100, NULL);
    gate_t gate = {0};
    client_t c[2] = {{0}};
    pthread_t thread[2];
    static const dnnl_tp_session_pool_t shared = {.num_threads = 1, .global_name = "waiting_ends"};
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .npools = 1, .pools = &shared};
    for (int i = 0; i < 2; ++i) {
        dnnl_tp_graph_t g = graph_of(i ? count : hold, &gate);
        CHECK_OK(dnnl_tp_session_create(&c[i].session, g, test_engine, &o));
        dnnl_tp_graph_destroy(g);
        assert_int_equal(pthread_create(&thread[i], NULL, session_client, &c[i]), 0);
        while (!atomic_load(&gate.inside)) usleep(100);
    }
    usleep(20000); /* the second one waits by then, or is refused */
    CHECK_OK(dnnl_tp_session_close(c[1].session));
    pthread_join(thread[1], NULL);
    assert_int_equal(c[1].status, dnnl_tp_cancelled);
    assert_false(atomic_load(&c[0].returned));
    atomic_store(&gate.go, 1);
    pthread_join(thread[0], NULL);
    assert_int_equal(c[0].status, dnnl_tp_success);
    assert_int_equal(atomic_load(&gate.ran), 0);
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_session_destroy(c[i].session));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tickets),
        cmocka_unit_test(earlier_items),
        cmocka_unit_test(lent_tickets),
        cmocka_unit_test(closing),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
