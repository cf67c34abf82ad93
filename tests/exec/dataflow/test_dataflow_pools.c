/* Dataflow programs on every pool of support/hostile_pools.h and on the built-in one: right results, no hang, no
 * late call into freed memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/dataflow_program.h"
#include "support/hostile_pools.h"
#include "threading/streams/stream_attr.h"

enum { PROGRAMS = 12, RUNS = 6 };

typedef struct {
    dataflow_program_t *program;
    const char *wrong;
    int64_t failing;
} job_t;
static void body(void *arg, const dtp_parallel_t *par) {
    job_t *j = arg;
    if (j->failing) j->wrong = dataflow_program_run_failing(j->program, par, j->failing, false);
    else j->wrong = dataflow_program_run(j->program, par);
}
static dnnl_tp_status_t run_resting(dtp_pool_t *pool, int threads, unsigned flags, int priority, job_t *j) {
    return dtp_pool_run_share(pool, threads, flags, priority, dataflow_program_share(j->program), body, j);
}

static uint64_t run_programs(dtp_pool_t *pool, int threads, const char *name, int programs) {
    uint64_t stolen = 0;
    for (int i = 0; i < programs; ++i) {
        dataflow_program_opts_t o = {.seed = (unsigned)(7000 + i),
                                     .budget = 60 + 10 * i,
                                     .depth = 3,
                                     .calls = i % 3 == 1,
                                     .effects = i % 4 == 2,
                                     .costly = i % 2 ? 10 : 0,
                                     .pending = i % 3 ? 0 : 20,
                                     .rests = true,
                                     .ns = 4000,
                                     .flags = i % 2 ? DTP_DATAFLOW_LEARN : 0,
                                     .spin = 100,
                                     .max_threads = threads};
        job_t j = {.program = dataflow_program_create(&o)};
        for (int r = 0; r < RUNS; ++r) {
            j.failing = r == 3 ? 1 + i * 7 % dataflow_program_ops(j.program) : 0;
            assert_int_equal(run_resting(pool, threads, r % 2 ? DTP_RUN_ADMITTED : 0, 0, &j),
                             dnnl_tp_success);
            if (j.wrong) fail_msg("%s, program %d, run %d: %s", name, i, r, j.wrong);
            stolen += dataflow_program_result(j.program)->stolen;
        }
        dataflow_program_destroy(j.program);
    }
    return stolen;
}

static void test_hostile(void **state) {
    (void)state;
    for (int kind = 0; kind < POOL_KINDS; ++kind) {
        for (int n = 1; n <= 3; n += 2) {
            hostile_pool_t *host = hostile_pool_create((hostile_kind_t)kind, n);
            dnnl_tp_stream_attr_t attr = NULL;
            dtp_pool_t *pool = NULL;
            assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
            assert_int_equal(dnnl_tp_stream_attr_set_threadpool(attr, hostile_pool_iface(host)),
                             dnnl_tp_success);
            assert_int_equal(dtp_pool_acquire(&pool, attr), dnnl_tp_success);
            dnnl_tp_stream_attr_destroy(attr);
            uint64_t stolen = run_programs(pool, 4, hostile_pool_name((hostile_kind_t)kind), PROGRAMS);
            print_message("%-24s %d workers: %llu tasks changed hands\n",
                          hostile_pool_name((hostile_kind_t)kind), n, (unsigned long long)stolen);
            assert_int_equal(hostile_pool_complaints(host), 0);
            hostile_pool_unstall(host);
            dtp_pool_release(pool);
            hostile_pool_destroy(host);
        }
    }
}

static void test_builtin(void **state) {
    (void)state;
    for (int t = 2; t <= 8; ++t) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = t};
        dnnl_tp_threadpool_t tp = NULL;
        dnnl_tp_stream_attr_t attr = NULL;
        dtp_pool_t *pool = NULL;
        assert_int_equal(dnnl_tp_threadpool_create(&tp, &opts), dnnl_tp_success);
        assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
        assert_int_equal(dnnl_tp_stream_attr_set_builtin_threadpool(attr, tp), dnnl_tp_success);
        assert_int_equal(dtp_pool_acquire(&pool, attr), dnnl_tp_success);
        dnnl_tp_stream_attr_destroy(attr);
        uint64_t stolen = run_programs(pool, t, "built-in", 3 * PROGRAMS);
        print_message("built-in pool of %d: %llu tasks changed hands\n", t, (unsigned long long)stolen);
        dtp_pool_release(pool);
        dnnl_tp_threadpool_destroy(tp);
    }
}

/* ---- The blocking crew ------------------------------------------------------------------------------- */

enum { CLIENTS = 3, BLOCKING_PROGRAMS = 3, BLOCKING_RUNS = 4 };
typedef struct {
    dtp_pool_t *pool;
    int threads, client;
    const char *wrong;
} client_t;
static void *blocking_client(void *arg) {
    client_t *c = arg;
    for (int i = 0; i < BLOCKING_PROGRAMS && !c->wrong; ++i) {
        dataflow_program_opts_t o = {.seed = (unsigned)(9000 + 100 * c->client + i),
                                     .budget = 60 + 20 * i,
                                     .depth = 3,
                                     .calls = i % 3 == 1,
                                     .effects = i % 4 == 2,
                                     .costly = i % 2 ? 10 : 0,
                                     .blocking = 2 + 3 * i,
                                     .pending = c->client % 2 ? 10 : 0,
                                     .rests = true,
                                     .ns = 4000,
                                     .flags = i % 2 ? DTP_DATAFLOW_LEARN : 0,
                                     .spin = 100,
                                     .max_threads = c->threads};
        job_t j = {.program = dataflow_program_create(&o)};
        for (int r = 0; r < BLOCKING_RUNS && !j.wrong; ++r) {
            j.failing = r == 2 ? 1 + i * 7 % dataflow_program_ops(j.program) : 0;
            if (run_resting(c->pool, c->threads, r % 3 ? DTP_RUN_ADMITTED : 0, r % 2, &j))
                j.wrong = "refused";
        }
        c->wrong = j.wrong;
        dataflow_program_destroy(j.program);
    }
    return NULL;
}

static void test_blocking(void **state) {
    (void)state;
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) skip();
    for (int w = 1; w <= 3; ++w)
        for (int b = 1; b <= 3; b += 2) {
            dnnl_tp_threadpool_opts_t opts = {
                .struct_size = sizeof opts, .num_threads = w, .blocking_threads = b};
            dnnl_tp_threadpool_t tp = NULL;
            dnnl_tp_stream_attr_t attr = NULL;
            dtp_pool_t *pool = NULL;
            assert_int_equal(dnnl_tp_threadpool_create(&tp, &opts), dnnl_tp_success);
            assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
            assert_int_equal(dnnl_tp_stream_attr_set_builtin_threadpool(attr, tp), dnnl_tp_success);
            assert_int_equal(dtp_pool_acquire(&pool, attr), dnnl_tp_success);
            dnnl_tp_stream_attr_destroy(attr);
            client_t client[CLIENTS];
            pthread_t thread[CLIENTS];
            for (int i = 0; i < CLIENTS; ++i) {
                client[i] = (client_t){.pool = pool, .threads = w, .client = i};
                if (pthread_create(&thread[i], NULL, blocking_client, &client[i])) abort();
            }
            for (int i = 0; i < CLIENTS; ++i) {
                pthread_join(thread[i], NULL);
                if (client[i].wrong) fail_msg("%d + %d threads, client %d: %s", w, b, i, client[i].wrong);
            }
            const dnnl_tp_threadpool_iface_t *iface;
            dnnl_tp_threadpool_stats_t stats = {.struct_size = sizeof stats};
            assert_int_equal(dnnl_tp_threadpool_get_iface(tp, &iface), dnnl_tp_success);
            assert_int_equal(dnnl_tp_threadpool_query(iface, &stats), dnnl_tp_success);
            assert_true(stats.closures > 0 && stats.blocked == 0 && stats.blocking_threads == b);
            assert_in_range(stats.max_blocked, 1, b);
            assert_true(stats.max_running <= w && stats.running <= w);
            print_message("%d + %d threads: %llu closures on the crew\n", w, b,
                          (unsigned long long)stats.closures);
            dtp_pool_release(pool);
            dnnl_tp_threadpool_destroy(tp);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocking),
        cmocka_unit_test(test_builtin),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
