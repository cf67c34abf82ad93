/* Programs with a pool of their own, behind one interface: for tests, benches and the sentence encoder. Each
 * of them uses its adapter exactly as a program would. Which exist depends on what CMake found. */
#ifndef INTEGRATIONS_HOSTS_H
#define INTEGRATIONS_HOSTS_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*host_range_t)(void *arg, int64_t begin, int64_t end);

typedef struct {
    const char *name;
    /* A pool on which so many threads may compute at once, callers of the library included. NULL on failure.
     */
    void *(*create)(int threads);
    const dnnl_tp_threadpool_iface_t *(*iface)(void *pool);
    /* Runs fn(arg) count times on the pool's own threads, as many at once as it can; returns when all have
     * returned. */
    void (*call_in)(void *pool, int count, void (*fn)(void *), void *arg);
    /* Ranges that cover 0..n, as the pool's own means for loops cut them; ns_each: what one iteration costs.
     * The loop that a program without this library would write. */
    void (*loop)(void *pool, int64_t n, double ns_each, host_range_t body, void *arg);
    /* After everything of the library that uses the pool is gone. */
    void (*destroy)(void *pool);
} host_t;

/* NULL-terminated. */
extern const host_t *const hosts[];
const host_t *host_by_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
