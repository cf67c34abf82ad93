/* What dnnl_tp_threadpool_query counts. */
#include "support/check.h"

#include <string.h>

#include "dnnl_tp/dnnl_tp_session.h"
#include "threading/streams/stream_attr.h"

static dnnl_tp_threadpool_stats_t query(const dnnl_tp_threadpool_iface_t *pool) {
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s}, older = s;
    older.struct_size = offsetof(dnnl_tp_threadpool_stats_t, blocking_threads);
    older.closures = 77;
    CHECK_OK(dnnl_tp_threadpool_query(pool, &older));
    assert_true(older.num_threads > 0 && older.closures == 77);
    CHECK_OK(dnnl_tp_threadpool_query(pool, &s));
    return s;
}

static void spin(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    (void)arg;
    volatile float sink = 0;
    for (int64_t i = begin; i < end; ++i)
        for (int k = 0; k < 20000; ++k) sink = sink * 0.5f + 1;
}
static void loops(void *arg, const dtp_parallel_t *par) {
    for (int i = 0; i < 50; ++i) dtp_parallel_for(par, 64, -20000, spin, arg);
}

static void counts_grow_with_the_work(void **state) {
    (void)state;
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2};
    const dnnl_tp_threadpool_iface_t *iface;
    if (dnnl_tp_threadpool_create(&pool, &o) == dnnl_tp_unimplemented) skip();
    CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
    dnnl_tp_threadpool_stats_t before = query(iface);
    assert_int_equal(before.num_threads, 2);
    assert_int_equal(before.runs, 0);

    dnnl_tp_stream_attr_t attr;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    dtp_pool_t *rec;
    CHECK_OK(dtp_pool_acquire(&rec, attr));
    for (int i = 0; i < 3; ++i) CHECK_OK(dtp_pool_run(rec, 2, true, loops, NULL));
    dnnl_tp_threadpool_stats_t after = query(iface);
    assert_int_equal(after.runs, 3);
    assert_true(after.loops + after.loops_alone >= 150);
    assert_true(after.max_running >= 1 && after.max_running <= 2);
    assert_true(after.running_ratio > 0 && after.running_ratio <= 1);
    assert_true(after.stolen == 0 || after.joins > 0);
    dtp_pool_release(rec);
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_threadpool_destroy(pool);
}

static int one_thread(void *ctx) { return (void)ctx, 1; }
static int inline_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    (void)ctx;
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}

static void strangers_are_refused(void **state) {
    (void)state;
    int ctx = 0;
    dnnl_tp_threadpool_iface_t mine = {
        .struct_size = sizeof mine, .ctx = &ctx, .get_num_threads = one_thread, .parallel_for = inline_for};
    dnnl_tp_threadpool_stats_t s = {.struct_size = sizeof s};
    dnnl_tp_status_t status = dnnl_tp_threadpool_query(&mine, &s);
    if (status == dnnl_tp_unimplemented) skip();
    assert_int_equal(status, dnnl_tp_invalid_arguments);
    s.struct_size = 1;
    CHECK_STATUS(dnnl_tp_threadpool_query(&mine, &s), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_threadpool_query(NULL, &s), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_threadpool_query(&mine, NULL), dnnl_tp_invalid_arguments);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_grow_with_the_work),
                                       cmocka_unit_test(strangers_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
