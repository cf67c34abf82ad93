/* Asynchronous runs when memory ends: whichever allocation fails, the call says so, nothing leaks, a host's run_end
 * comes as often as its run_begin, and the stream goes on. */
#include "support/check.h"

#include <stdatomic.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/group_pool.h"

static test_allocator_t failing;
enum { MOST = 100 };

static dnnl_tp_status_t one(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                            int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout;
    *(float *)out[0].data = 1;
    return dnnl_tp_success;
}

static dnnl_tp_executable_t compile(dnnl_tp_engine_t engine, const_dnnl_tp_stream_attr_t attr) {
    const dnnl_tp_tensor_info_t number = {.ndims = 0, .data_type = dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v;
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_host(g, one, NULL, NULL, 0, "one", 0, NULL, 1, &number, &v));
    CHECK_OK(dnnl_tp_graph_output(g, v, "y"));
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attr};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &opts));
    dnnl_tp_graph_destroy(g);
    return e;
}

/* The at-th allocation of a submission fails; false: there are not so many. */
static bool submission_fails(group_mode_t mode, int at) {
    group_pool_t *pool = group_pool_create(mode, 2);
    const dnnl_tp_threadpool_iface_t *iface = group_pool_iface(pool);
    int64_t before = atomic_load(&failing.live);
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, iface));
    CHECK_OK(dnnl_tp_stream_attr_set_async(attr, 1));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, attr));
    dnnl_tp_executable_t e = compile(engine, attr);
    float y = 0;
    void *out[1] = {&y};
    dnnl_tp_event_t event;
    atomic_store(&failing.fail_at, at);
    dnnl_tp_status_t status = dnnl_tp_executable_run_async(e, stream, 0, NULL, 1, out, NULL, &event);
    bool failed = status != dnnl_tp_success;
    /* What fails later than in the call is the run's affair. */
    if (!failed)
        failed = dnnl_tp_event_wait(event, -1, &status) != dnnl_tp_success || status != dnnl_tp_success;
    else assert_null(event);
    atomic_store(&failing.fail_at, -1);
    if (failed) assert_int_equal(status, dnnl_tp_out_of_memory);
    dnnl_tp_event_destroy(event);
    CHECK_OK(dnnl_tp_stream_reset(stream));
    CHECK_OK(dnnl_tp_executable_run_async(e, stream, 0, NULL, 1, out, NULL, &event));
    CHECK_OK(dnnl_tp_event_wait(event, -1, NULL));
    assert_true(y == 1);
    dnnl_tp_event_destroy(event);
    dnnl_tp_executable_destroy(e);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_engine_destroy(engine);
    CHECK_OK(dnnl_tp_threadpool_quiesce(iface, -1));
    group_counts_t c = group_pool_counts(pool);
    assert_int_equal(c.begun, c.ended);
    assert_int_equal(c.ended, c.done);
    assert_int_equal(c.complaints, 0);
    assert_true(test_becomes(&failing.live, before));
    group_pool_destroy(pool);
    return failed;
}

static void submissions_fail(void **state) {
    (void)state;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    for (int mode = 0; mode < GROUP_MODES; ++mode) {
        int at = 0;
        while (submission_fails((group_mode_t)mode, at)) assert_true(++at < MOST);
        assert_true(at >= 3); /* the run's block, the stream's, the event */
    }
}

int main(void) {
    test_allocator_init(&failing);
    if (dnnl_tp_set_allocator(&failing.iface) != dnnl_tp_success) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(submissions_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
