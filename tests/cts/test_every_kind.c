/* What must hold for every kind of primitive alike: the same bits on every pool, planned for any number of
 * threads, executed on pools of any size, on two pools at once; and no harm when any allocation fails. Values
 * are checked by the kinds' own tests. */
#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/object.h"
#include "common/primitive/primitive_desc.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/hostile_pools.h"
#include "support/problems.h"

/* ---- Tests ------------------------------------------------------------------------------------------- */

#if DNNL_TP_WITH_THREADPOOL
static dnnl_tp_stream_t async_stream_on(dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    CHECK_OK(dnnl_tp_stream_attr_set_async(attr, 1));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return stream;
}

static void every_pool_gives_the_same_bits(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want, got;
        expected_of(engine, problem, &want);
        dnnl_tp_primitive_t p = primitive_for(engine, problem, 3);
        buffers_create(&got, p->pd);
        for (int k = 0; k < 2 * POOL_KINDS; ++k) {
            int kind = k / 2;
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
            dnnl_tp_stream_t stream = (k % 2 ? async_stream_on : stream_on)(engine, hostile_pool_iface(pool));
            clear_outputs(&got);
            for (int twice = 0; twice < 2; ++twice)
                CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
            hostile_pool_unstall(pool);
            CHECK_OK(dnnl_tp_stream_wait(stream));
            if (!same_outputs(&want, &got))
                fail_msg("%s on %s", problem_name(problem), hostile_pool_name((hostile_kind_t)kind));
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            hostile_pool_destroy(pool);
        }
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        buffers_destroy(&want);
        buffers_destroy(&got);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

/* While every thread of the pool is stalled: all submissions return, and nothing has run. Runs of graphs:
 * tests/pools/test_stalled_runs.c. */
static void submit_to_stalled(dnnl_tp_engine_t engine, int problem, dnnl_tp_primitive_t p,
                              hostile_kind_t kind, const buffers_t *want) {
#ifdef __SANITIZE_THREAD__
    enum { MANY = 20, SOME = 5 }; /* the work itself takes a hundred times as long */
#else
    enum { MANY = 1000, SOME = 50 };
#endif
    const int submissions = kind == POOL_STALLED ? MANY : SOME;
    buffers_t got;
    buffers_create(&got, p->pd);
    hostile_pool_t *pool = hostile_pool_create(kind, 2);
    dnnl_tp_stream_t stream = async_stream_on(engine, hostile_pool_iface(pool));
    hostile_pool_stall(pool);
    clear_outputs(&got);
    for (int k = 0; k < submissions; ++k)
        CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
    CHECK_STATUS(dnnl_tp_stream_wait_for(stream, 0), dnnl_tp_timed_out);
    for (int i = 0; i < got.n; ++i)
        if (got.output[i]) assert_int_equal(*(unsigned char *)got.arg[i].handle, 0xff);
    CHECK_OK(dnnl_tp_primitive_destroy(p)); /* the submissions keep it */
    hostile_pool_unstall(pool);
    CHECK_OK(dnnl_tp_stream_wait(stream));
    if (!same_outputs(want, &got)) fail_msg("%s on %s", problem_name(problem), hostile_pool_name(kind));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    hostile_pool_destroy(pool);
    buffers_destroy(&got);
}
static void submissions_return_while_all_is_stalled(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want;
        expected_of(engine, problem, &want);
        for (int k = 0; k < HOSTILE_STALLABLE; ++k)
            submit_to_stalled(engine, problem, primitive_for(engine, problem, 2), hostile_stallable[k],
                              &want);
        buffers_destroy(&want);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

static void plans_run_on_pools_of_any_size(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 7};
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int m = 0; m < 4; ++m) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = counts[m]};
        dnnl_tp_threadpool_t pool;
        const dnnl_tp_threadpool_iface_t *iface;
        CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
        CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
        dnnl_tp_stream_t stream = stream_on(engine, iface);
        for (int problem = 0; problem < PROBLEMS; ++problem) {
            buffers_t want, got;
            expected_of(engine, problem, &want);
            for (int n = 0; n < 4; ++n) {
                dnnl_tp_primitive_t p = primitive_for(engine, problem, counts[n]);
                buffers_create(&got, p->pd);
                clear_outputs(&got);
                CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
                if (!same_outputs(&want, &got))
                    fail_msg("%s for %d threads on %d", problem_name(problem), counts[n], counts[m]);
                buffers_destroy(&got);
                CHECK_OK(dnnl_tp_primitive_destroy(p));
            }
            buffers_destroy(&want);
        }
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_primitive_t primitive;
    const buffers_t *want;
    int bad;
} caller_t;

static void *execute_often(void *arg) {
    caller_t *c = arg;
    buffers_t got;
    buffers_create(&got, c->primitive->pd);
    hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, 2);
    dnnl_tp_stream_t stream = stream_on(c->engine, hostile_pool_iface(pool));
    for (int i = 0; i < 20; ++i) {
        clear_outputs(&got);
        if (dnnl_tp_primitive_execute_handles(c->primitive, stream, got.n, got.arg)) ++c->bad;
        if (!same_outputs(c->want, &got)) ++c->bad;
    }
    if (dnnl_tp_stream_destroy(stream)) ++c->bad;
    hostile_pool_destroy(pool);
    buffers_destroy(&got);
    return NULL;
}

static void one_primitive_runs_on_two_pools_at_once(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want;
        expected_of(engine, problem, &want);
        dnnl_tp_primitive_t p = primitive_for(engine, problem, 2);
        pthread_t thread[2];
        caller_t caller[2] = {{engine, p, &want, 0}, {engine, p, &want, 0}};
        for (int i = 0; i < 2; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, execute_often, &caller[i]), 0);
        for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
        assert_int_equal(caller[0].bad + caller[1].bad, 0);
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        buffers_destroy(&want);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}
#endif

static dnnl_tp_status_t whole_life(int problem, buffers_t *b) {
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_stream_t stream = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t p = NULL;
    dnnl_tp_status_t s = dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
    if (!s) s = dnnl_tp_stream_create(&stream, engine, 0);
    if (!s) s = problem_make(&pd, engine, problem, NULL);
    if (!s) s = dnnl_tp_primitive_create(&p, pd);
    if (!s) s = dnnl_tp_primitive_execute_handles(p, stream, b->n, b->arg);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return s;
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    test_allocator_t a;
    test_allocator_init(&a);
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        dnnl_tp_engine_t engine;
        buffers_t want, got;
        CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
        expected_of(engine, problem, &want);
        dnnl_tp_primitive_t p = primitive_for(engine, problem, 1);
        buffers_create(&got, p->pd);
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_engine_destroy(engine));
        CHECK_OK(dnnl_tp_set_allocator(&a.iface));
        for (int n = 0;; ++n) {
            assert_true(n < 1000);
            clear_outputs(&got);
            atomic_store(&a.fail_at, n);
            dnnl_tp_status_t status = whole_life(problem, &got);
            bool failed = atomic_exchange(&a.fail_at, -1) < 0;
            assert_int_equal(dtp_object_live(), 0);
            assert_true(test_becomes(&a.live, 0));
            if (!failed) {
                assert_int_equal(status, dnnl_tp_success);
                assert_true(same_outputs(&want, &got));
                break;
            }
            assert_int_equal(status, dnnl_tp_out_of_memory);
            for (int i = 0; i < got.n; ++i) /* outputs untouched */
                for (size_t k = 0; got.output[i] && k < got.bytes[i]; ++k)
                    assert_int_equal(((unsigned char *)got.arg[i].handle)[k], 0xff);
        }
        CHECK_OK(dnnl_tp_set_allocator(NULL));
        buffers_destroy(&want);
        buffers_destroy(&got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if DNNL_TP_WITH_THREADPOOL
        cmocka_unit_test(every_pool_gives_the_same_bits),
        cmocka_unit_test(submissions_return_while_all_is_stalled),
        cmocka_unit_test(plans_run_on_pools_of_any_size),
        cmocka_unit_test(one_primitive_runs_on_two_pools_at_once),
#endif
        cmocka_unit_test(every_failing_allocation_is_survived)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
