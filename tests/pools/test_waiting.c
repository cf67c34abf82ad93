/* What threads that wait cost: while one closure sleeps, everything else of the process waits for it in some way
 * and uses next to no CPU time. Idle pools: tests/integrations/budget.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_event.h"
#include "support/check.h"
#include "support/watchdog.h"
#include "support/world.h"
#include "threading/pool.h"

enum { SLEEP_MS = 300 };
static const double MOST = 0.1; /* of a CPU, sanitizers included; who spins takes a whole one */

static double ms_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Closures that sleep, and one that does nothing. */
static _Atomic int asleep, ended;
static void sleep_here(void) {
    atomic_fetch_add(&asleep, 1);
    usleep(SLEEP_MS * 1000);
    atomic_fetch_add(&ended, 1);
}
static dnnl_tp_status_t sleeper(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)should_stop, (void)nin, (void)in, (void)nout, (void)out;
    sleep_here();
    return dnnl_tp_success;
}
static dnnl_tp_status_t nothing(void *arg, const volatile int *should_stop, int nin,
                                const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)should_stop, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_success;
}

/* A sleeper, and beside it closures that others may run meanwhile. */
static dnnl_tp_executable_t compile(world_t *w, int beside) {
    dnnl_tp_value_t v;
    const dnnl_tp_tensor_info_t none = {1, {0}, dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_host(w->g, sleeper, NULL, NULL, 0, "sleeper", 0, NULL, 1, &none, &v));
    for (int i = 0; i < beside; ++i)
        CHECK_OK(dnnl_tp_graph_host(w->g, nothing, NULL, NULL, 0, "nothing", 0, NULL, 1, &none, &v));
    return world_compile(w, DNNL_TP_COMPILE_NO_CLUSTERS);
}

static double cpu_before, wall_before;
static void begin(void) {
    watchdog(60, NULL);
    atomic_store(&asleep, 0);
    atomic_store(&ended, 0);
    cpu_before = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    wall_before = ms_of(CLOCK_MONOTONIC);
}
static void end(const char *what) {
    const double used = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_before,
                 wall = ms_of(CLOCK_MONOTONIC) - wall_before;
    print_message("%-50s %6.3f ms of CPU time in %.0f ms\n", what, used, wall);
    assert_true(atomic_load(&ended) > 0);
    if (used > MOST * wall) fail_msg("%s: %g ms", what, used);
}
static void until_asleep(int count) {
    while (atomic_load(&asleep) < count) usleep(1000);
}

/* ---- For asynchronous work --------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_event_t event;
    dnnl_tp_status_t status;
} waiter_t;
static void *wait_here(void *arg) {
    waiter_t *w = arg;
    w->status = dnnl_tp_event_wait(w->event, -1, NULL);
    return NULL;
}

static void test_async(void **state) {
    (void)state;
    enum { STREAM, LIMITED, EVENT, ENGINE, DEVICES, QUIESCE, WAYS };
    static const char *const names[WAYS] = {"stream_wait", "stream_wait_for", "event_wait",
                                            "sync_engine", "sync_devices",    "threadpool_quiesce"};
    const int64_t limit_ns = INT64_C(60000000000);
    world_t w;
    world_init(&w, 2);
    dnnl_tp_executable_t e = compile(&w, 2);
    dnnl_tp_stream_t stream;
    const dnnl_tp_threadpool_iface_t *iface;
    CHECK_OK(dnnl_tp_threadpool_get_iface(w.pool, &iface));
    CHECK_OK(dnnl_tp_stream_attr_set_async(w.attr, 1));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, w.engine, dnnl_tp_stream_default_flags, w.attr));
    for (int way = 0; way < WAYS; ++way) {
        waiter_t other = {0};
        pthread_t thread;
        begin();
        CHECK_OK(dnnl_tp_executable_run_async(e, stream, 0, NULL, 0, NULL, NULL, &other.event));
        until_asleep(1);
        assert_int_equal(pthread_create(&thread, NULL, wait_here, &other), 0);
        switch (way) {
        case STREAM: CHECK_OK(dnnl_tp_stream_wait(stream)); break;
        case LIMITED: CHECK_OK(dnnl_tp_stream_wait_for(stream, limit_ns)); break;
        case EVENT: CHECK_OK(dnnl_tp_event_wait(other.event, limit_ns, NULL)); break;
        case ENGINE: CHECK_OK(dnnl_tp_sync_engine(w.engine, -1)); break;
        case DEVICES: CHECK_OK(dnnl_tp_sync_devices(limit_ns)); break;
        default: CHECK_OK(dnnl_tp_threadpool_quiesce(iface, -1)); break;
        }
        pthread_join(thread, NULL);
        assert_int_equal(other.status, dnnl_tp_success);
        end(names[way]);
        dnnl_tp_event_destroy(other.event);
    }
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
}

/* ---- For the rest of a run, for a ticket ------------------------------------------------------------- */

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    dnnl_tp_status_t status;
} client_t;
static void *run_here(void *arg) {
    client_t *c = arg;
    c->status = dnnl_tp_executable_run(c->e, c->stream, 0, NULL, 0, NULL, NULL);
    return NULL;
}

static void test_runs(void **state) {
    (void)state;
    enum { CLIENTS = 4 };
    for (int threads = 1; threads <= 4; ++threads) {
        world_t w;
        client_t client[CLIENTS];
        pthread_t thread[CLIENTS];
        char what[64];
        world_init(&w, threads);
        dnnl_tp_executable_t e = compile(&w, 2 * threads);
        for (int clients = 1; clients <= CLIENTS; clients += CLIENTS - 1) {
            begin();
            for (int i = 0; i < clients; ++i) {
                client[i].e = e;
                CHECK_OK(dnnl_tp_stream_create_v2(&client[i].stream, w.engine, dnnl_tp_stream_default_flags,
                                                  w.attr));
                assert_int_equal(pthread_create(&thread[i], NULL, run_here, &client[i]), 0);
            }
            for (int i = 0; i < clients; ++i) {
                pthread_join(thread[i], NULL);
                assert_int_equal(client[i].status, dnnl_tp_success);
                dnnl_tp_stream_destroy(client[i].stream);
            }
            assert_int_equal(atomic_load(&ended), clients);
            snprintf(what, sizeof what, "%d runs at once on a pool of %d", clients, threads);
            end(what);
        }
        dnnl_tp_executable_destroy(e);
        world_end(&w);
    }
}

/* ---- For the last chunk of a loop -------------------------------------------------------------------- */

static void chunk(void *arg, int slot, int64_t from, int64_t to) {
    (void)arg, (void)slot, (void)to;
    if (from == 1) sleep_here();
    else /* a helper takes the other one, if there comes one */
        for (int i = 0; i < 2000 && !atomic_load(&asleep); ++i) usleep(1000);
}
static void test_loop(void **state) {
    (void)state;
    const int64_t ns_each = 10000000; /* long enough for a helper to be called */
    world_t w;
    dtp_pool_t *rec;
    world_init(&w, 2);
    CHECK_OK(dtp_pool_acquire(&rec, w.attr));
    const dtp_parallel_t par = {rec, 2, NULL};
    begin();
    dtp_parallel_for(&par, 2, -ns_each, chunk, NULL);
    end("the last chunk of a loop");
    dtp_pool_release(rec);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_async), cmocka_unit_test(test_runs),
                                       cmocka_unit_test(test_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
