/* A program on OpenMP. */
#include "hosts/hosts.h"
#include "openmp/dnnl_tp_openmp.h"

#include <stdlib.h>

typedef struct {
    dnnl_tp_threadpool_iface_t iface;
} openmp_host_t;

static void *create(int threads) {
    openmp_host_t *host = malloc(sizeof *host);
    if (!host) return NULL;
    omp_set_num_threads(threads);
    host->iface = dnnl_tp_openmp_iface(host);
    return host;
}
static const dnnl_tp_threadpool_iface_t *iface(void *pool) { return &((openmp_host_t *)pool)->iface; }
static void call_in(void *pool, int count, void (*fn)(void *), void *arg) {
    (void)pool;
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < count; ++i) fn(arg);
}
static void loop(void *pool, int64_t n, double ns_each, host_range_t body, void *arg) {
    (void)pool, (void)ns_each;
#pragma omp parallel
    {
        int64_t parts = omp_get_num_threads(), i = omp_get_thread_num();
        int64_t begin = n * i / parts, end = n * (i + 1) / parts;
        if (begin < end) body(arg, begin, end);
    }
}
static void destroy(void *pool) { free(pool); }

const host_t host_openmp = {"openmp", create, iface, call_in, loop, destroy};
