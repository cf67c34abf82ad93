/* See streams.h. */
#include "support/streams.h"

#include "support/check.h"

dnnl_tp_engine_t test_engine;
int test_engine_setup(void **state) {
    (void)state;
    return dnnl_tp_engine_create(&test_engine, dnnl_tp_cpu, 0) == dnnl_tp_success ? 0 : -1;
}
int test_engine_teardown(void **state) {
    (void)state;
    dnnl_tp_engine_destroy(test_engine);
    return 0;
}

dnnl_tp_primitive_t test_linear(dnnl_tp_engine_t engine, int64_t n, float alpha, float beta) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_dims_t dims = {n};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_eltwise_linear, md, md, alpha, beta, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
    return primitive;
}

dnnl_tp_stream_t test_stream(dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool, int async,
                             int priority) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    CHECK_OK(dnnl_tp_stream_attr_set_async(attr, async));
    CHECK_OK(dnnl_tp_stream_attr_set_priority(attr, priority));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_in_order, attr));
    dnnl_tp_stream_attr_destroy(attr);
    return stream;
}

dnnl_tp_status_t test_step(dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream, float *x) {
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, x}};
    return dnnl_tp_primitive_execute_handles(primitive, stream, 2, args);
}

dnnl_tp_event_t test_record(dnnl_tp_stream_t stream) {
    dnnl_tp_event_t event;
    CHECK_OK(dnnl_tp_stream_record_event(stream, &event));
    return event;
}

dnnl_tp_event_t test_host_event(void) {
    dnnl_tp_event_t event;
    CHECK_OK(dnnl_tp_event_create_host(&event, test_engine));
    return event;
}

int test_is_done(dnnl_tp_event_t event) {
    int done;
    CHECK_OK(dnnl_tp_event_query(event, &done, NULL));
    return done;
}

dnnl_tp_threadpool_t test_pool(int n) {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof(opts), .num_threads = n};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    return pool;
}

const dnnl_tp_threadpool_iface_t *test_pool_iface(dnnl_tp_threadpool_t pool) {
    const dnnl_tp_threadpool_iface_t *iface;
    CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
    return iface;
}

int test_threads_that_come(int n) {
    int cpus = n;
    if (DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_TBB)
        CHECK_OK(dnnl_tp_threadpool_interop_get_max_concurrency(&cpus));
    return cpus < n ? cpus : n;
}
