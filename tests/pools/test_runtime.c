/* What a stream without a pool runs on, by the runtime of the build: its caller, or the threads of OpenMP or
 * oneTBB, of which two are seen computing at once. */
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/problems.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/streams/stream_attr.h"
#include "threading/pools/runtime.h"

static dnnl_tp_pool_kind_t kind_of(dnnl_tp_stream_t stream) {
    const_dnnl_tp_stream_attr_t attr;
    dnnl_tp_pool_kind_t kind;
    CHECK_OK(dnnl_tp_stream_get_attr(stream, &attr));
    CHECK_OK(dnnl_tp_stream_attr_get_pool_kind(attr, &kind));
    return kind;
}

static void kind_is_told(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, 0));
    assert_int_equal(kind_of(stream), DTP_RUNTIME_POOL ? dnnl_tp_pool_kind_runtime : dnnl_tp_pool_kind_unset);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    stream = stream_on(engine, NULL);
    assert_int_equal(kind_of(stream), dnnl_tp_pool_kind_sequential);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    const dnnl_tp_version_t *version = dnnl_tp_version();
    assert_int_equal(version->cpu_runtime, DNNL_TP_CPU_RUNTIME);
}

static void same_bits_without_a_pool(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, 0));
    for (int problem = 0; problem < PROBLEMS; ++problem)
        for (int threads = 1; threads <= 3; threads += 2) {
            buffers_t want, got;
            expected_of(engine, problem, &want);
            dnnl_tp_primitive_t p = primitive_for(engine, problem, threads);
            const_dnnl_tp_primitive_desc_t pd;
            CHECK_OK(dnnl_tp_primitive_get_primitive_desc(p, &pd));
            buffers_create(&got, pd);
            clear_outputs(&got);
            CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
            CHECK_OK(dnnl_tp_stream_wait(stream));
            if (!same_outputs(&want, &got)) fail_msg("%s", problem_name(problem));
            CHECK_OK(dnnl_tp_primitive_destroy(p));
            buffers_destroy(&want);
            buffers_destroy(&got);
        }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

/* Every range lasts until two threads have been seen. */
typedef struct {
    pthread_t owner;
    _Atomic int by_owner, by_others, meeting;
} seen_t;
static void meet(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot, (void)begin, (void)end;
    seen_t *seen = arg;
    atomic_fetch_add(pthread_equal(pthread_self(), seen->owner) ? &seen->by_owner : &seen->by_others, 1);
    for (int i = 0; i < 20000 && !(atomic_load(&seen->by_owner) && atomic_load(&seen->by_others)); ++i)
        usleep(100);
    if (atomic_load(&seen->by_owner) && atomic_load(&seen->by_others)) atomic_fetch_add(&seen->meeting, 1);
}

static void two_threads_compute(void **state) {
    (void)state;
    if (!DTP_RUNTIME_POOL || test_threads_that_come(2) < 2) skip();
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = 2};
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    CHECK_OK(dtp_pool_acquire(&rec, attr));
    assert_int_equal(dtp_pool_num_threads(rec), 2);
    seen_t seen = {.owner = pthread_self()};
    dtp_parallel_t par = {.pool = rec, .num_threads = 2};
    dtp_parallel_for(&par, 8, -100000, meet, &seen);
    assert_true(atomic_load(&seen.by_owner) > 0 && atomic_load(&seen.by_others) > 0);
    assert_true(atomic_load(&seen.meeting) > 0);
    dtp_pool_release(rec);
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    CHECK_OK(dnnl_tp_threadpool_destroy(pool));
}

int main(void) {
    watchdog(110, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kind_is_told),
        cmocka_unit_test(same_bits_without_a_pool),
        cmocka_unit_test(two_threads_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
