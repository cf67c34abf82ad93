/* A host that takes calls and makes none of them until the end: more are not given to it than the record can keep
 * account of. Loops and runs that find no room do without helpers, and who waits for a ticket takes it itself. Calls
 * that come after all that find nothing to do, and then there is room again. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "support/check.h"
#include "support/watchdog.h"
#include "threading/pools/record.h"
#include "threading/streams/stream_attr.h"

enum {
    W = 4,
    ROOM = 4 * DTP_HOST_CALLS,
    LOOPS = 3,
    ITERATIONS = 64,
    EACH_NS = 100000,
    CLIENTS = 8,
    RUNS = 100
};

typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
} call_t;
static call_t calls[ROOM];
static _Atomic int n_calls;

static int num_threads(void *ctx) {
    (void)ctx;
    return W;
}
static int keep(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    (void)ctx, (void)run;
    const int i = atomic_fetch_add(&n_calls, 1);
    if (i >= ROOM) return 1;
    calls[i] = (call_t){fn, arg};
    return 0;
}
static const dnnl_tp_threadpool_iface_t iface = {
    .struct_size = sizeof iface, .get_num_threads = num_threads, .schedule = keep};

static void count(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    atomic_fetch_add((_Atomic int64_t *)arg, end - begin);
}
static void body(void *arg, const dtp_parallel_t *par) {
    for (int i = 0; i < LOOPS; ++i) {
        _Atomic int64_t n = 0;
        dtp_parallel_for(par, ITERATIONS, -EACH_NS, count, (void *)&n);
        if (atomic_load(&n) != ITERATIONS) return;
    }
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static _Atomic int done;
static void *client(void *rec) {
    for (int i = 0; i < RUNS; ++i)
        if (dtp_pool_run(rec, W, true, body, (void *)&done)) break;
    return NULL;
}

static void no_room_for_more(void **state) {
    (void)state;
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    watchdog(100, NULL);
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, &iface));
    CHECK_OK(dtp_pool_acquire(&rec, attr));
    for (int i = 0; i < DTP_HOST_CALLS; ++i) CHECK_OK(dtp_pool_run(rec, W, true, body, (void *)&done));
    assert_int_equal(atomic_load(&n_calls), DTP_HOST_CALLS);
    assert_int_equal(atomic_load(&done), DTP_HOST_CALLS);

    /* Twice as many clients as tickets. */
    pthread_t thread[CLIENTS];
    for (int i = 0; i < CLIENTS; ++i) assert_int_equal(pthread_create(&thread[i], NULL, client, rec), 0);
    for (int i = 0; i < CLIENTS; ++i) pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&n_calls), DTP_HOST_CALLS);
    assert_int_equal(atomic_load(&done), DTP_HOST_CALLS + CLIENTS * RUNS);
    assert_int_equal(dnnl_tp_threadpool_quiesce(&iface, 1000000), dnnl_tp_timed_out);

    for (int i = 0; i < DTP_HOST_CALLS; ++i) calls[i].fn(calls[i].arg);
    CHECK_OK(dnnl_tp_threadpool_quiesce(&iface, -1));
    CHECK_OK(dtp_pool_run(rec, W, true, body, (void *)&done));
    assert_true(atomic_load(&n_calls) > DTP_HOST_CALLS);
    for (int i = DTP_HOST_CALLS; i < atomic_load(&n_calls); ++i) calls[i].fn(calls[i].arg);
    CHECK_OK(dnnl_tp_threadpool_quiesce(&iface, -1));
    dtp_pool_release(rec);
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_room_for_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
