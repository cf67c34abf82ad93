/* 1,000 runs of a graph are submitted while every thread of the pool is stalled: all submissions return, nothing
 * has run, and all of it runs afterwards. Primitives: tests/cts/test_every_kind.c. */
#include <stdatomic.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/watchdog.h"

enum { RUNS = 1000, N = 4096 };
static _Atomic int calls;

static dnnl_tp_status_t count(void *arg, const volatile int *should_stop, int nin,
                              const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)should_stop, (void)nin, (void)nout;
    atomic_fetch_add(&calls, 1);
    memcpy(out[0].data, in[0].data, N * sizeof(float));
    return dnnl_tp_success;
}

/* y = relu(x), and the same through a closure beside it. */
static dnnl_tp_executable_t compile(dnnl_tp_stream_attr_t attr) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t x, y, z;
    const dnnl_tp_dims_t dims = {N};
    const dnnl_tp_tensor_info_t info = {.ndims = 1, .dims = {N}, .data_type = dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 1, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_relu, "relu", 1, &x, 0, NULL, 1, &y));
    CHECK_OK(dnnl_tp_graph_host(g, count, NULL, NULL, 0, "count", 1, &x, 1, &info, &z));
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    CHECK_OK(dnnl_tp_graph_output(g, z, "z"));
    dnnl_tp_compile_opts_t opts = {
        .struct_size = sizeof opts, .stream_attr = attr, .flags = DNNL_TP_COMPILE_NO_CLUSTERS};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, &opts));
    dnnl_tp_graph_destroy(g);
    return e;
}

static void test_submissions_return(void **state) {
    (void)state;
    static float x[N], y[N], z[N];
    for (int i = 0; i < N; ++i) x[i] = (float)(i % 100 - 50);
    for (int k = 0; k < HOSTILE_STALLABLE; ++k) {
        watchdog(60, NULL);
        hostile_pool_t *pool = hostile_pool_create(hostile_stallable[k], 2);
        dnnl_tp_stream_attr_t attr;
        dnnl_tp_stream_t stream;
        CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, hostile_pool_iface(pool)));
        CHECK_OK(dnnl_tp_stream_attr_set_async(attr, 1));
        CHECK_OK(dnnl_tp_stream_create_v2(&stream, test_engine, 0, attr));
        dnnl_tp_executable_t e = compile(attr);
        hostile_pool_stall(pool);
        atomic_store(&calls, 0);
        memset(y, 0xff, sizeof y);
        memset(z, 0xff, sizeof z);
        for (int i = 0; i < RUNS; ++i) {
            dnnl_tp_event_t event;
            CHECK_OK(
                dnnl_tp_executable_run_async(e, stream, 1, (void *[]){x}, 2, (void *[]){y, z}, NULL, &event));
            dnnl_tp_event_destroy(event);
        }
        dnnl_tp_executable_destroy(e); /* the runs keep it */
        CHECK_STATUS(dnnl_tp_stream_wait_for(stream, 0), dnnl_tp_timed_out);
        assert_int_equal(atomic_load(&calls), 0);
        hostile_pool_unstall(pool);
        CHECK_OK(dnnl_tp_stream_wait(stream));
        assert_int_equal(atomic_load(&calls), RUNS);
        for (int i = 0; i < N; ++i) assert_true(y[i] == (x[i] > 0 ? x[i] : 0) && z[i] == x[i]);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        dnnl_tp_stream_attr_destroy(attr);
        hostile_pool_destroy(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_submissions_return)};
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
