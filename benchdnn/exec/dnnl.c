/* What all rows need of dnnl_tp: engine, pools, streams, compiling; and the kernels. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec_bench.h"

void eb_kernel_empty(eb_node_t *n) { (void)n; }

void eb_kernel_spin(eb_node_t *n) {
    int64_t end = eb_ticks() + n->ticks;
    while (eb_ticks() < end)
        ;
}

int eb_order_errors;
void eb_kernel_check(eb_node_t *n) {
    int runs = n->runs + 1;
    for (int i = 0; i < n->nbefore; ++i)
        if (n->all[n->before[i]].runs != runs) __atomic_fetch_add(&eb_order_errors, 1, __ATOMIC_RELAXED);
    n->runs = runs;
}

void eb_must(dnnl_tp_status_t s, const char *what) {
    if (s == dnnl_tp_success) return;
    fprintf(stderr, "exec_bench: %s: %s (%s)\n", what, dnnl_tp_status2str(s), dnnl_tp_last_error());
    exit(1);
}

int eb_failures;
void eb_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    ++eb_failures;
}

enum { MAX_THREADS = 256 };
static dnnl_tp_engine_t engine;
static struct {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
} worlds[MAX_THREADS + 1];

dnnl_tp_engine_t eb_engine(void) {
    if (!engine) EB_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    return engine;
}

const_dnnl_tp_stream_attr_t eb_attr(int threads) {
    if (!worlds[threads].attr) {
        dnnl_tp_stream_attr_t attr;
        EB_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
        worlds[threads].attr = attr;
        if (threads > 1) {
            dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = threads};
            EB_OK(dnnl_tp_threadpool_create(&worlds[threads].pool, &o));
            EB_OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, worlds[threads].pool));
        } else EB_OK(dnnl_tp_stream_attr_set_threadpool(attr, NULL));
    }
    return worlds[threads].attr;
}

dnnl_tp_stream_t eb_new_stream(int threads) {
    dnnl_tp_stream_t s;
    EB_OK(dnnl_tp_stream_create_v2(&s, eb_engine(), dnnl_tp_stream_default_flags, eb_attr(threads)));
    return s;
}

dnnl_tp_stream_t eb_stream(int threads) {
    if (!worlds[threads].stream) worlds[threads].stream = eb_new_stream(threads);
    return worlds[threads].stream;
}

dnnl_tp_executable_t eb_compile(dnnl_tp_graph_t g, int threads, unsigned flags) {
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = eb_attr(threads), .flags = flags};
    EB_OK(dnnl_tp_executable_compile(&e, g, eb_engine(), 0, NULL, &o));
    dnnl_tp_graph_destroy(g);
    return e;
}

void eb_end(void) {
    for (int i = 0; i <= MAX_THREADS; ++i) {
        dnnl_tp_stream_destroy(worlds[i].stream);
        dnnl_tp_stream_attr_destroy(worlds[i].attr);
        dnnl_tp_threadpool_destroy(worlds[i].pool);
    }
    dnnl_tp_engine_destroy(engine);
}
