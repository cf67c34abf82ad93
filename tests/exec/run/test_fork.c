/* Forks of a process with pools, graphs and sessions, while other threads of it compile, run, and make and
 * end sessions on a shared pool: in the child everything that nobody used at that moment goes on without
 * threads of the parent, and new things can be made. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "exec/run/cancel.h"
#include "exec/session/session.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "trace/trace.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { BUSY = 0 }; /* their allocators take locks that a forked child inherits */
#else
enum { BUSY = 2 };
#endif
enum { N = 4096, FORKS = 8, THREADS = DNNL_TP_WITH_THREADPOOL ? 2 : 1 };

/* y = relu(x * x + w): an eltwise primitive with a cache entry for each w. */
static dnnl_tp_graph_t make_graph(float w) {
    dnnl_tp_graph_t g;
    dnnl_tp_dims_t dims = {N};
    dnnl_tp_value_t x, c, y;
    if (dnnl_tp_graph_create(&g, dnnl_tp_cpu) || dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, dims) ||
        dnnl_tp_graph_constant(g, &c, "w", dnnl_tp_f32, 0, dims, &w, DNNL_TP_CONSTANT_COPY, NULL, NULL) ||
        dnnl_tp_graph_op(g, dnnl_tp_op_square, "square", 1, &x, 0, NULL, 1, &y) ||
        dnnl_tp_graph_op(g, dnnl_tp_op_add, "add", 2, (dnnl_tp_value_t[]){y, c}, 0, NULL, 1, &y) ||
        dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &y, 0, NULL, 1, &y) ||
        dnnl_tp_graph_output(g, y, "y"))
        return NULL;
    return g;
}
static bool session_works(dnnl_tp_session_t s, float *x, float *y, float want) {
    dnnl_tp_feed_t feed = {"x", NULL, x};
    dnnl_tp_fetch_t fetch = {"y", y};
    memset(y, 0, N * sizeof *y);
    return dnnl_tp_session_run(s, 1, &feed, 1, &fetch, 0, NULL, NULL) == dnnl_tp_success && y[0] == want &&
           y[N - 1] == want;
}
/* Makes a graph and a session on a pool that busy threads share, made anew whenever the last of them ends. */
static bool new_session_works(dnnl_tp_engine_t engine, float w) {
    float *x = malloc(2 * N * sizeof *x);
    for (int i = 0; i < N; ++i) x[i] = 2;
    dnnl_tp_graph_t g = make_graph(w);
    dnnl_tp_session_t s = NULL;
    const dnnl_tp_session_pool_t pool = {.num_threads = THREADS, .global_name = "busy"};
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o, .npools = 1, .pools = &pool};
    bool ok = g && dnnl_tp_session_create(&s, g, engine, &o) == dnnl_tp_success &&
              session_works(s, x, x + N, 4 + w);
    ok &= dnnl_tp_session_destroy(s) == dnnl_tp_success;
    dnnl_tp_graph_destroy(g);
    free(x);
    return ok;
}

typedef struct {
    dnnl_tp_engine_t engine;
    _Atomic int *stop, *rounds;
    bool ok;
} busy_t;
static void *busy(void *arg) {
    busy_t *b = arg;
    while (!atomic_load(b->stop))
        b->ok &= new_session_works(b->engine, (float)atomic_fetch_add(b->rounds, 1));
    return NULL;
}

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_session_t session;
    dnnl_tp_executable_t executable;
    dnnl_tp_stream_t sync, async;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_threadpool_t pool;
    float *x, *y;
} things_t;

static bool runs(things_t *t, dnnl_tp_stream_t stream) {
    void *in[1] = {t->x}, *out[1] = {t->y};
    memset(t->y, 0, N * sizeof *t->y);
    return dnnl_tp_executable_run(t->executable, stream, 1, in, 1, out, NULL) == dnnl_tp_success &&
           t->y[0] == 4.5f && t->y[N - 1] == 4.5f;
}
static bool everything_works(things_t *t, bool in_child, int number) {
    void *in[1] = {t->x}, *out[1] = {t->y};
    dnnl_tp_event_t event;
    bool ok = runs(t, t->sync) && session_works(t->session, t->x, t->y, 4.5f);
    dnnl_tp_status_t want = in_child && DNNL_TP_WITH_THREADPOOL ? dnnl_tp_poisoned : dnnl_tp_success;
    ok &= dnnl_tp_executable_run_async(t->executable, t->async, 1, in, 1, out, NULL, &event) == want;
    if (!in_child) ok &= dnnl_tp_event_wait(event, -1, NULL) == dnnl_tp_success;
    ok &= dnnl_tp_event_destroy(event) == dnnl_tp_success;
#ifdef __SANITIZE_THREAD__ /* it allows no thread in the child */
    if (in_child) return ok;
#endif
    /* A runtime that was used before the fork may not start threads in the child. */
    if (in_child && DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) return ok;
    /* Also what was being made at the fork. */
    for (int i = -BUSY; i <= 0; ++i) ok &= new_session_works(t->engine, (float)(number + i));
    return ok;
}

static void forks(void **state) {
    (void)state;
    things_t t = {.x = malloc(N * sizeof(float)), .y = malloc(N * sizeof(float))};
    for (int i = 0; i < N; ++i) t.x[i] = 2;
    CHECK_OK(dnnl_tp_engine_create(&t.engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_attr_create(&t.attr, dnnl_tp_cpu));
    if (DNNL_TP_WITH_THREADPOOL) {
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2};
        if (DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_THREADPOOL) o.blocking_threads = 1;
        CHECK_OK(dnnl_tp_threadpool_create(&t.pool, &o));
        CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(t.attr, t.pool));
    }
    CHECK_OK(dnnl_tp_stream_create_v2(&t.sync, t.engine, 0, t.attr));
    CHECK_OK(dnnl_tp_stream_attr_set_async(t.attr, 1));
    CHECK_OK(dnnl_tp_stream_create_v2(&t.async, t.engine, 0, t.attr));
    dnnl_tp_graph_t g = make_graph(0.5f);
    assert_non_null(g);
    CHECK_OK(dnnl_tp_executable_compile(&t.executable, g, t.engine, 0, NULL, NULL));
    dnnl_tp_session_opts_t so = {.struct_size = sizeof so, .num_threads = THREADS};
    CHECK_OK(dnnl_tp_session_create(&t.session, g, t.engine, &so));
    dnnl_tp_graph_destroy(g);
    assert_true(everything_works(&t, false, 0));

    _Atomic int stop = 0, rounds = 0;
    busy_t b[BUSY + 1];
    pthread_t thread[BUSY + 1];
    for (int i = 0; i < BUSY; ++i) {
        b[i] = (busy_t){t.engine, &stop, &rounds, true};
        assert_int_equal(pthread_create(&thread[i], NULL, busy, &b[i]), 0);
    }
    for (int i = 0; i < FORKS; ++i) {
        int now = atomic_load(&rounds);
        while (BUSY && atomic_load(&rounds) < now + 1 + i % 3) usleep(50 + 37 * i);
        watchdog(100, NULL);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(100);
            bool ok = everything_works(&t, true, atomic_load(&rounds));
            ok &= dnnl_tp_session_destroy(t.session) == dnnl_tp_success;
            ok &= dnnl_tp_stream_destroy(t.sync) == dnnl_tp_success;
            ok &= dnnl_tp_stream_destroy(t.async) == dnnl_tp_success;
            ok &= dnnl_tp_executable_destroy(t.executable) == dnnl_tp_success;
            ok &= dnnl_tp_stream_attr_destroy(t.attr) == dnnl_tp_success;
            ok &= dnnl_tp_threadpool_destroy(t.pool) == dnnl_tp_success;
            /* Other threads' things stay in the child, and no leak check shall look. */
            syscall(SYS_exit_group, ok ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status) fail_msg("fork %d: the child's status is 0x%x", i, (unsigned)status);
        assert_true(everything_works(&t, false, i));
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < BUSY; ++i) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(b[i].ok);
    }
    CHECK_OK(dnnl_tp_session_destroy(t.session));
    CHECK_OK(dnnl_tp_stream_destroy(t.sync));
    CHECK_OK(dnnl_tp_stream_destroy(t.async));
    dnnl_tp_executable_destroy(t.executable);
    dnnl_tp_stream_attr_destroy(t.attr);
    dnnl_tp_threadpool_destroy(t.pool);
    dnnl_tp_engine_destroy(t.engine);
    free(t.x);
    free(t.y);
}

/* A fork while another thread holds the locks of what the child uses: of the graph and the blocks that two
 * sessions share, of one of these sessions, of a trace and of a token. */
static void held_locks(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    dnnl_tp_session_t s[2];
    dnnl_tp_trace_t trace;
    dnnl_tp_cancel_t token;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_trace_create(&trace, NULL));
    CHECK_OK(dnnl_tp_cancel_create(&token));
    dnnl_tp_graph_t g = make_graph(0.25f);
    dtp_graph_t *graph = g->root;
    dnnl_tp_session_opts_t so = {.struct_size = sizeof so, .num_threads = 1, .trace = trace};
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_session_create(&s[i], g, engine, &so));
    float *x = malloc(2 * N * sizeof *x);
    for (int i = 0; i < N; ++i) x[i] = 2;
    assert_true(session_works(s[0], x, x + N, 4.25f));
    dtp_lock_t *locks[] = {&graph->store->lock, &graph->store->run_memory.lock,
                           &s[0]->lock,         &s[0]->pools->lock,
                           &trace->lock,        &token->lock};
    enum { LOCKS = sizeof locks / sizeof *locks };
    for (int i = 0; i < LOCKS; ++i) dtp_lock(locks[i]);
    watchdog(100, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        bool ok = true;
        for (int i = 0; i < 2; ++i) ok &= session_works(s[i], x, x + N, 4.25f);
        ok &= dnnl_tp_cancel_fire(token) == dnnl_tp_success;
        for (int i = 0; i < 2; ++i) ok &= dnnl_tp_session_destroy(s[i]) == dnnl_tp_success;
        ok &= dnnl_tp_graph_destroy(g) == dnnl_tp_success;
        ok &= dnnl_tp_trace_destroy(trace) == dnnl_tp_success;
        syscall(SYS_exit_group, ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < LOCKS; ++i) dtp_unlock(locks[i]);
    if (status) fail_msg("the child's status is 0x%x", (unsigned)status);
    for (int i = 0; i < 2; ++i) {
        assert_true(session_works(s[i], x, x + N, 4.25f));
        CHECK_OK(dnnl_tp_session_destroy(s[i]));
    }
    dnnl_tp_graph_destroy(g);
    dnnl_tp_trace_destroy(trace);
    dnnl_tp_cancel_destroy(token);
    dnnl_tp_engine_destroy(engine);
    free(x);
}

/* A fork while another thread is inside a run of a session, and in a callback that has submitted: the child uses, closes
 * and destroys the session; nothing of the parent's stream runs there, also when its own work ends. */
static _Atomic int began, go;
static pid_t parent;
static _Atomic int in_child;
static dnnl_tp_status_t hold(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)nin, (void)in, (void)nout, (void)out;
    atomic_store(&began, 1);
    while (!atomic_load(&go) && !dnnl_tp_should_stop(stop)) usleep(500);
    return dnnl_tp_success;
}
static void *run_hold(void *session) {
    float out;
    dnnl_tp_fetch_t f = {"holds", &out};
    return (void *)(intptr_t)dnnl_tp_session_run(session, 0, NULL, 1, &f, 0, NULL, NULL);
}
static dnnl_tp_status_t note_process(void *arg, const volatile int *stop, int nin,
                                     const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    if (arg && getpid() != parent) atomic_fetch_add(&in_child, 1);
    return dnnl_tp_success;
}
static dnnl_tp_graph_t closures(void *arg) {
    const dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {1}, .data_type = dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t holds, notes;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_host(g, hold, NULL, NULL, 0, "holds", 0, NULL, 1, &info, &holds));
    CHECK_OK(dnnl_tp_graph_host(g, note_process, arg, NULL, 0, "notes", 0, NULL, 1, &info, &notes));
    CHECK_OK(dnnl_tp_graph_output(g, holds, NULL));
    CHECK_OK(dnnl_tp_graph_output(g, notes, NULL));
    return g;
}

static void inside_a_session(void **state) {
    (void)state;
    watchdog(100, NULL);
    parent = getpid();
    atomic_store(&began, 0);
    atomic_store(&go, 0);
    dnnl_tp_engine_t engine;
    dnnl_tp_session_t s;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    dnnl_tp_graph_t g = closures(NULL);
    dnnl_tp_session_opts_t so = {.struct_size = sizeof so, .per_session_threads = 1, .num_threads = THREADS};
    CHECK_OK(dnnl_tp_session_create(&s, g, engine, &so));
    dnnl_tp_graph_destroy(g);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_hold, s), 0);
    while (!atomic_load(&began)) usleep(500);
    float out;
    dnnl_tp_fetch_t f = {"notes", &out};
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        dnnl_tp_session_stats_t stats = {.struct_size = sizeof stats};
        bool ok = dnnl_tp_session_run(s, 0, NULL, 1, &f, 0, NULL, NULL) == dnnl_tp_success;
        ok &= dnnl_tp_session_query(s, &stats) == dnnl_tp_success && stats.active == 0;
        ok &= dnnl_tp_session_close(s) == dnnl_tp_success;
        ok &= dnnl_tp_session_run(s, 0, NULL, 1, &f, 0, NULL, NULL) == dnnl_tp_cancelled;
        ok &= dnnl_tp_session_destroy(s) == dnnl_tp_success;
        syscall(SYS_exit_group, ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status) fail_msg("the child's status is 0x%x", (unsigned)status);
    dnnl_tp_session_stats_t stats = {.struct_size = sizeof stats};
    CHECK_OK(dnnl_tp_session_query(s, &stats));
    assert_int_equal(stats.active, 1);
    atomic_store(&go, 1);
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    CHECK_OK(dnnl_tp_session_run(s, 0, NULL, 1, &f, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_session_destroy(s));
    dnnl_tp_engine_destroy(engine);
}

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_executable_t executable;
    dnnl_tp_stream_t stream, own;
    dnnl_tp_event_t runs[2];
    int status;
    bool returns; /* the child leaves the callback as the parent does */
    float out[2];
} inside_t;
static void submit_and_fork(void *arg, dnnl_tp_status_t ignored) {
    (void)ignored;
    inside_t *t = arg;
    void *out[] = {&t->out[0], &t->out[1]};
    CHECK_OK(dnnl_tp_executable_run_async(t->executable, t->stream, 0, NULL, 2, out, NULL, &t->runs[1]));
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        /* The end of own work looks at what this thread has promised to serve: nothing. */
        atomic_store(&go, 1);
        bool ok = dnnl_tp_executable_run(t->executable, t->own, 0, NULL, 2, out, NULL) == dnnl_tp_success;
        ok &= atomic_load(&in_child) == 1;
        ok &= dnnl_tp_event_wait(t->runs[1], -1, NULL) == dnnl_tp_poisoned;
        if (!ok || !t->returns) syscall(SYS_exit_group, ok ? 0 : 1);
        return;
    }
    assert_int_equal(waitpid(pid, &t->status, 0), pid);
}

static void inside_a_callback(void **state) {
    (void)state;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    parent = getpid();
    for (int returns = 0; returns < 2; ++returns) {
        watchdog(100, NULL);
        atomic_store(&go, 1);
        dnnl_tp_event_t gate;
        inside_t t = {.returns = returns};
        CHECK_OK(dnnl_tp_engine_create(&t.engine, dnnl_tp_cpu, 0));
        dnnl_tp_graph_t g = closures(&t);
        CHECK_OK(dnnl_tp_executable_compile(&t.executable, g, t.engine, 0, NULL, NULL));
        dnnl_tp_graph_destroy(g);
        /* A loop on its caller's thread: who submits serves the stream, here after the callback. */
        hostile_pool_t *pool = hostile_pool_create(POOL_LOOP_SERIAL, 2);
        t.stream = test_stream(t.engine, hostile_pool_iface(pool), 1, 0);
        CHECK_OK(dnnl_tp_stream_create(&t.own, t.engine, 0));
        CHECK_OK(dnnl_tp_event_create_host(&gate, t.engine));
        CHECK_OK(dnnl_tp_event_on_complete(gate, submit_and_fork, &t));
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        if (getpid() != parent) syscall(SYS_exit_group, atomic_load(&in_child) == 1 ? 0 : 1);
        CHECK_OK(dnnl_tp_stream_wait(t.stream));
        if (t.status) fail_msg("the child's status is 0x%x", (unsigned)t.status);
        CHECK_OK(dnnl_tp_event_destroy(t.runs[1]));
        CHECK_OK(dnnl_tp_event_destroy(gate));
        CHECK_OK(dnnl_tp_stream_destroy(t.stream));
        CHECK_OK(dnnl_tp_stream_destroy(t.own));
        CHECK_OK(dnnl_tp_executable_destroy(t.executable));
        hostile_pool_destroy(pool);
        dnnl_tp_engine_destroy(t.engine);
    }
}

int main(void) {
    watchdog(100, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(forks), cmocka_unit_test(held_locks),
                                       cmocka_unit_test(inside_a_session),
                                       cmocka_unit_test(inside_a_callback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
