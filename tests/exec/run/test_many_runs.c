/* Any number of runs of one executable at once: run objects are as many as runs, each run has
 * its own, threads take and give them back without a lock, and where there is no memory one run
 * fails and the next one goes well. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/object.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/watchdog.h"

static dnnl_tp_status_t double_it(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                  int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    *(float *)out[0].data = 2 * *(const float *)in[0].data;
    return dnnl_tp_success;
}
/* in: an event, then a number. */
static dnnl_tp_status_t wait_and_double(void *arg, const volatile int *stop, int nin,
                                        const dnnl_tp_host_arg_t *in, int nout,
                                        const dnnl_tp_host_arg_t *out) {
    dnnl_tp_event_t event;
    (void)arg, (void)nin, (void)nout;
    memcpy(&event, in[0].data, sizeof event);
    *(float *)out[0].data = 2 * *(const float *)in[1].data;
    return dnnl_tp_host_wait_event(stop, event);
}

static dnnl_tp_executable_t compile(bool waits) {
    const dnnl_tp_tensor_info_t scalar = {.data_type = dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v[2], y;
    dnnl_tp_executable_t e;
    int n = 0;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    if (waits)
        CHECK_OK(dnnl_tp_graph_input(g, &v[n++], "event", dnnl_tp_u8, 1,
                                     (dnnl_tp_dims_t){sizeof(dnnl_tp_event_t)}));
    CHECK_OK(dnnl_tp_graph_input(g, &v[n++], "x", dnnl_tp_f32, 0, NULL));
    CHECK_OK(dnnl_tp_graph_host(g, waits ? wait_and_double : double_it, NULL, NULL,
                                waits ? DNNL_TP_HOST_MAY_WAIT : 0, "double", n, v, 1, &scalar, &y));
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    dnnl_tp_graph_destroy(g);
    return e;
}

/* ---- Run objects ----------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 3000, ROUNDS = 12 };
typedef struct {
    dtp_exec_t *exec;
    pthread_barrier_t *barrier;
    dtp_run_t *run[EACH];
    unsigned seed;
    int bad;
} taker_t;
static void *take_and_give(void *arg) {
    taker_t *t = arg;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < EACH; ++i) {
            if (dtp_run_take(t->exec, &t->run[i]) != dnnl_tp_success) abort();
            /* Nobody else has it: TSan sees a second writer. */
            t->run[i]->bases[DTP_BASE_ARGS] = t;
        }
        if (round == 0) pthread_barrier_wait(t->barrier); /* all at once */
        for (int i = EACH - 1; i >= 0; --i) {             /* in some order */
            t->seed = t->seed * 1664525 + 1013904223;
            const int other = (int)(t->seed >> 8) % (i + 1);
            dtp_run_t *run = t->run[other];
            t->run[other] = t->run[i];
            t->bad += run->bases[DTP_BASE_ARGS] != t;
            dtp_run_give(t->exec, run);
        }
    }
    return NULL;
}
static void run_objects(void **state) {
    (void)state;
    static taker_t t[THREADS];
    pthread_t thread[THREADS];
    pthread_barrier_t barrier;
    const int64_t live = dtp_object_live();
    dnnl_tp_executable_t e = compile(false);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; ++i) {
        t[i] = (taker_t){.exec = e, .barrier = &barrier, .seed = (unsigned)i};
        assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, &t[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(thread[i], NULL);
        assert_int_equal(t[i].bad, 0);
    }
    pthread_barrier_destroy(&barrier);
    /* As many as were taken at once, no more; each number leads to its own. */
    const uint32_t n = atomic_load(&e->runs.count);
    assert_in_range(n, THREADS * EACH, THREADS * EACH + 1);
    for (uint32_t i = 0; i < n; ++i) assert_int_equal(((dtp_run_t *)dtp_table_get(&e->runs, i))->index, i);
    dnnl_tp_executable_destroy(e);
    assert_int_equal(dtp_object_live(), live);
}

/* The numbers at which a block begins or ends. */
static void places(void **state) {
    (void)state;
    uint32_t number = 0;
    for (int k = 0; k < DTP_TABLE_BLOCKS; ++k) {
        const uint32_t size = (uint32_t)DTP_TABLE_BLOCK << k;
        for (uint32_t at = 0; at < size; at += at + 1 < size && at > 2 && size - at > 4 ? size - at - 2 : 1) {
            uint32_t got;
            assert_int_equal(dtp_table_block(number + at, &got), k);
            assert_int_equal(got, at);
        }
        number += size;
    }
    uint32_t at;
    assert_true(dtp_table_block(number, &at) >= DTP_TABLE_BLOCKS);
    assert_true(dtp_table_block(UINT32_MAX, &at) >= DTP_TABLE_BLOCKS);
}

/* ---- Without memory -------------------------------------------------------------------------- */

static _Atomic int64_t fail_at = -1;
static void *failing_alloc(void *ctx, size_t size, size_t alignment) {
    void *p = NULL;
    (void)ctx;
    if (atomic_load(&fail_at) >= 0 && atomic_fetch_sub(&fail_at, 1) == 0) return NULL;
    return posix_memalign(&p, alignment, size) ? NULL : p;
}
static void failing_free(void *ctx, void *p) {
    (void)ctx;
    free(p);
}
static void no_memory(void **state) {
    (void)state;
    const dnnl_tp_allocator_t allocator = {sizeof allocator, NULL, failing_alloc, failing_free};
    enum { RUNS = 200 };
    static dtp_run_t *run[RUNS];
    int refused = 0;
    CHECK_OK(dnnl_tp_engine_destroy(test_engine));
    CHECK_OK(dnnl_tp_set_allocator(&allocator));
    CHECK_OK(dnnl_tp_engine_create(&test_engine, dnnl_tp_cpu, 0));
    dnnl_tp_executable_t e = compile(false);
    for (int i = 0; i < RUNS; ++i)
        for (int n = 0;; ++n) {
            atomic_store(&fail_at, n);
            const dnnl_tp_status_t status = dtp_run_take(e, &run[i]);
            atomic_store(&fail_at, -1);
            if (status == dnnl_tp_success) break;
            assert_int_equal(status, dnnl_tp_out_of_memory);
            ++refused;
        }
    assert_true(refused > RUNS); /* blocks of the table, too */
    for (int i = 0; i < RUNS; ++i) dtp_run_give(e, run[i]);
    dnnl_tp_executable_destroy(e);
    CHECK_OK(dnnl_tp_engine_destroy(test_engine));
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    CHECK_OK(dnnl_tp_engine_create(&test_engine, dnnl_tp_cpu, 0));
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* So many rest at once, each on a stream of its own, until one event ends them all. */
static void runs_at_once(void **state) {
    (void)state;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    enum { RUNS = 2500 };
    static dnnl_tp_stream_t stream[RUNS];
    static dnnl_tp_event_t done[RUNS];
    static float in[RUNS], out[RUNS];
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_executable_t e = compile(true);
    dnnl_tp_event_t go = test_host_event();
    for (int i = 0; i < RUNS; ++i) {
        in[i] = (float)i;
        out[i] = -1;
        stream[i] = test_stream(test_engine, test_pool_iface(pool), 1, 0);
        CHECK_OK(dnnl_tp_executable_run_async(e, stream[i], 2, (void *[]){&go, &in[i]}, 1,
                                              (void *[]){&out[i]}, NULL, &done[i]));
    }
    while (atomic_load(&e->runs.count) < RUNS) sched_yield();
    CHECK_OK(dnnl_tp_event_signal(go, dnnl_tp_success));
    for (int i = 0; i < RUNS; ++i) {
        dnnl_tp_status_t result;
        CHECK_OK(dnnl_tp_event_wait(done[i], -1, &result));
        CHECK_OK(result);
        assert_true(out[i] == (float)(2 * i));
        dnnl_tp_event_destroy(done[i]);
        CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
    }
    dnnl_tp_event_destroy(go);
    dnnl_tp_executable_destroy(e);
    dnnl_tp_threadpool_destroy(pool);
}

int main(void) {
    watchdog(60, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(run_objects),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(runs_at_once),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
