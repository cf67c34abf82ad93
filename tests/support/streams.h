/* A stream on a pool and a primitive that counts: what tests of streams need. */
#ifndef TESTS_SUPPORT_STREAMS_H
#define TESTS_SUPPORT_STREAMS_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

/* Fixtures of a group of tests: its engine. */
extern dnnl_tp_engine_t test_engine;
int test_engine_setup(void **state);
int test_engine_teardown(void **state);

/* x = alpha x + beta over n elements, in place. */
dnnl_tp_primitive_t test_linear(dnnl_tp_engine_t engine, int64_t n, float alpha, float beta);
dnnl_tp_stream_t test_stream(dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool, int async,
                             int priority);
dnnl_tp_status_t test_step(dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream, float *x);
dnnl_tp_event_t test_record(dnnl_tp_stream_t stream);
dnnl_tp_event_t test_host_event(void); /* of test_engine */
int test_is_done(dnnl_tp_event_t event);
/* A built-in pool of n threads. */
dnnl_tp_threadpool_t test_pool(int n);
const dnnl_tp_threadpool_iface_t *test_pool_iface(dnnl_tp_threadpool_t pool);
/* How many threads of a pool of n, its caller among them, ever come: oneTBB has no more than CPUs. */
int test_threads_that_come(int n);

#endif
