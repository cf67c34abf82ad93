/* Graphs of one closure without tensors: what tests of runs and streams run. */
#ifndef TESTS_SUPPORT_CLOSURES_H
#define TESTS_SUPPORT_CLOSURES_H

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "support/check.h"
#include "support/streams.h"

#define CLOSURE(name)                                                                                        \
    static dnnl_tp_status_t name(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in, \
                                 int nout, const dnnl_tp_host_arg_t *out)
#define UNUSED (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out

static inline dnnl_tp_executable_t one_closure(dnnl_tp_host_fn_t fn, void *arg, unsigned flags) {
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t v;
    const dnnl_tp_tensor_info_t none = {1, {0}, dnnl_tp_f32};
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_host(g, fn, arg, NULL, flags, "closure", 0, NULL, 1, &none, &v));
    CHECK_OK(dnnl_tp_executable_compile(&e, g, test_engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return e;
}
/* These abort where cmocka could not jump: on threads other than the test's. */
static inline void run(dnnl_tp_executable_t e, dnnl_tp_stream_t s) {
    if (dnnl_tp_executable_run(e, s, 0, NULL, 0, NULL, NULL)) abort();
}
static inline dnnl_tp_event_t run_async_with(dnnl_tp_executable_t e, dnnl_tp_stream_t s,
                                             const dnnl_tp_run_opts_t *opts) {
    dnnl_tp_event_t event;
    if (dnnl_tp_executable_run_async(e, s, 0, NULL, 0, NULL, opts, &event)) abort();
    return event;
}
static inline dnnl_tp_event_t run_async(dnnl_tp_executable_t e, dnnl_tp_stream_t s) {
    return run_async_with(e, s, NULL);
}
/* A hang is the watchdog's. */
static inline void until(const _Atomic int *count, int n) {
    while (atomic_load(count) < n) usleep(50);
}

#endif
