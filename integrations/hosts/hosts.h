/* Programs with their own thread pools, behind one interface, for tests, benchmarks and the
 * sentence encoder. Each uses its adapter exactly as a program would. The list has the hosts that
 * CMake found. */
#ifndef INTEGRATIONS_HOSTS_H
#define INTEGRATIONS_HOSTS_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*host_range_t)(void *arg, int64_t begin, int64_t end);

typedef struct {
    const char *name;
    /* A pool on which so many threads may compute at the same time, callers of the library
     * included. NULL on failure. */
    void *(*create)(int threads);
    const dnnl_tp_threadpool_iface_t *(*iface)(void *pool);
    /* Runs fn(arg) count times on the pool's own threads, as many at a time as it can; returns when
     * all calls have returned. */
    void (*call_in)(void *pool, int count, void (*fn)(void *), void *arg);
    /* The loop that a program without this library would write: calls body with ranges that cover
     * 0..n, as the pool's own loops split it. ns_each: cost of an iteration. */
    void (*loop)(void *pool, int64_t n, double ns_each, host_range_t body, void *arg);
    /* Call it after all objects of the library that use the pool are destroyed. */
    void (*destroy)(void *pool);
} host_t;

/* NULL-terminated. */
extern const host_t *const hosts[];
const host_t *host_by_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
