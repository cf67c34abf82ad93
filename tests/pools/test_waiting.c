/* What threads that wait cost: while one closure sleeps, everything else of the process waits for it in some way
 * and uses next to no CPU time. Idle pools: tests/integrations/budget.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_event.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/watchdog.h"
#include "support/world.h"
#include "threading/pools/record.h"
#include "threading/streams/stream_attr.h"

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
static int attempts;
static void begin(void) {
    watchdog(60, NULL);
    ++attempts;
    atomic_store(&asleep, 0);
    atomic_store(&ended, 0);
    cpu_before = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    wall_before = ms_of(CLOCK_MONOTONIC);
}
/* Did it use little? The last attempt has to: a hypervisor may count what it takes away as ours. */
static bool end(const char *what) {
    enum { ATTEMPTS = 4 };
    const double used = ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_before,
                 wall = ms_of(CLOCK_MONOTONIC) - wall_before;
    print_message("%-50s %6.3f ms of CPU time in %.0f ms\n", what, used, wall);
    assert_true(atomic_load(&ended) > 0);
    const bool little = used <= MOST * wall;
    if (!little && attempts == ATTEMPTS) fail_msg("%s: %g ms", what, used);
    if (little) attempts = 0;
    return little;
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
    for (int way = 0; way < WAYS;) {
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
        way += end(names[way]);
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
        for (int clients = 1; clients <= CLIENTS;) {
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
            if (end(what)) clients += CLIENTS - 1;
        }
        dnnl_tp_executable_destroy(e);
        world_end(&w);
    }
}

/* ---- For work in the only loop of a host ------------------------------------------------------------- */

static void sleep_in_run(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    sleep_here();
}
static void test_helpers_of_loops(void **state) {
    (void)state;
    for (int threads = 2; threads <= 16;) {
        hostile_pool_t *host = hostile_pool_create(POOL_LOOP, threads);
        dnnl_tp_stream_attr_t attr;
        dtp_pool_t *rec;
        char what[64];
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, hostile_pool_iface(host)));
        CHECK_OK(dtp_pool_acquire(&rec, attr));
        begin();
        CHECK_OK(dtp_pool_run(rec, threads, true, sleep_in_run, NULL));
        snprintf(what, sizeof what, "%d helpers of a run in the host's loop", threads - 1);
        if (end(what)) threads *= 2;
        dtp_pool_release(rec);
        dnnl_tp_stream_attr_destroy(attr);
        hostile_pool_destroy(host);
    }
}

/* ---- For a host that takes its time in schedule ------------------------------------------------------ */

static struct {
    pthread_t thread[2];
    int calls;
    dnnl_tp_task_fn_t fn[2];
    void *arg[2];
} slow;
static int slow_num_threads(void *ctx) {
    (void)ctx;
    return 1;
}
static void *slow_thread(void *arg) {
    const int i = *(int *)arg;
    slow.fn[i](slow.arg[i]);
    return NULL;
}
/* The task runs at once, on a thread of its own; the call returns when all is long over. */
static int slow_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    static int index[] = {0, 1};
    (void)ctx, (void)run;
    const int i = slow.calls++;
    assert_true(i < 2);
    slow.fn[i] = fn;
    slow.arg[i] = arg;
    pthread_create(&slow.thread[i], NULL, slow_thread, &index[i]);
    sleep_here();
    return 0;
}
static int begin_slow_run(void *ctx, uint64_t id, void **run) {
    (void)ctx, (void)id;
    *run = &slow;
    return 0;
}
static void end_slow_run(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *arg) {
    (void)ctx, (void)run, (void)status, (void)may_block;
    done(arg);
}
static dtp_pool_t *slow_rec;
static _Atomic int first_runs, both_run;
static void slow_run(void *arg, const dtp_parallel_t *par) {
    (void)arg, (void)par;
    atomic_store(&first_runs, 1);
    while (!dtp_adm_waiting(atomic_load(&slow_rec->adm)) && !atomic_load(&both_run)) usleep(1000);
    atomic_store(&both_run, 1); /* the second one does not wait */
}
static void *slow_client(void *arg) {
    *(dnnl_tp_status_t *)arg = dtp_pool_run(slow_rec, 1, true, slow_run, NULL);
    return NULL;
}
/* One run waits for the ticket of the other, whose end asks the host to run it: so it is done soon, but its end
 * waits until the host's call is over. */
static bool slow_schedule_is_waited_for(void) {
    const dnnl_tp_threadpool_iface_t iface = {.struct_size = sizeof iface,
                                              .ctx = &slow,
                                              .get_num_threads = slow_num_threads,
                                              .schedule = slow_schedule,
                                              .run_begin = begin_slow_run,
                                              .run_end = end_slow_run};
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_status_t status[2];
    pthread_t thread[2];
    slow.calls = 0;
    atomic_store(&first_runs, 0);
    atomic_store(&both_run, 0);
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, &iface));
    CHECK_OK(dtp_pool_acquire(&slow_rec, attr));
    begin();
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_create(&thread[i], NULL, slow_client, &status[i]), 0);
        while (!atomic_load(&first_runs)) usleep(1000);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(thread[i], NULL);
        assert_int_equal(status[i], dnnl_tp_success);
    }
    for (int i = 0; i < slow.calls; ++i) pthread_join(slow.thread[i], NULL);
    assert_int_equal(slow.calls, 1);
    const bool little = end("a host that takes its time in schedule");
    dtp_pool_release(slow_rec);
    dnnl_tp_stream_attr_destroy(attr);
    return little;
}
static void test_slow_schedule(void **state) {
    (void)state;
    while (!slow_schedule_is_waited_for()) continue;
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
    const dtp_parallel_t par = {.pool = rec, .num_threads = 2};
    do {
        begin();
        dtp_parallel_for(&par, 2, -ns_each, chunk, NULL);
    } while (!end("the last chunk of a loop"));
    dtp_pool_release(rec);
    world_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_async), cmocka_unit_test(test_runs),
                                       cmocka_unit_test(test_slow_schedule),
                                       cmocka_unit_test(test_helpers_of_loops), cmocka_unit_test(test_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
