/* Adapter for the threads of OpenMP; C or C++, compiled with the compiler's OpenMP flag. Form P:
 * OpenMP has loops and accepts no tasks from outside. Inside a parallel region of the host, the
 * library's loops stay on their caller. OpenMP keeps one team for each thread that opens regions:
 * call the library from one thread, or accept as many teams. Next: doc/howto/adapt_pool.md. */
#ifndef DNNL_TP_OPENMP_H
#define DNNL_TP_OPENMP_H

#include <omp.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"

static inline int dnnl_tp_openmp_num_threads(void *ctx) {
    (void)ctx;
    return omp_get_max_threads();
}
static inline int dnnl_tp_openmp_in_parallel(void *ctx) {
    (void)ctx;
    return omp_in_parallel();
}
/* Always the whole team: some OpenMP libraries end and start threads when the size of a team
 * changes. */
static inline int dnnl_tp_openmp_parallel_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    (void)ctx;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}
/* Two callers at the same time would be two teams that compute at the same time. */
static inline uint64_t dnnl_tp_openmp_flags(void *ctx) {
    (void)ctx;
    return DNNL_TP_THREADPOOL_CALLER_WORKS | DNNL_TP_THREADPOOL_SINGLE_CALLER;
}

/* ctx identifies the pool (equal ctx and equal functions = one pool): pass the address of any
 * object that lives as long as the pool. */
static inline dnnl_tp_threadpool_iface_t dnnl_tp_openmp_iface(void *ctx) {
    dnnl_tp_threadpool_iface_t iface;
    memset(&iface, 0, sizeof iface);
    iface.struct_size = sizeof iface;
    iface.ctx = ctx;
    iface.get_num_threads = dnnl_tp_openmp_num_threads;
    iface.get_in_parallel = dnnl_tp_openmp_in_parallel;
    iface.parallel_for = dnnl_tp_openmp_parallel_for;
    iface.get_flags = dnnl_tp_openmp_flags;
    return iface;
}

#endif
