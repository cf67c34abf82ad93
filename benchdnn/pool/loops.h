/* Loops of the library on somebody's pool, beside the loops that the pool's own users write: work from 1 us
 * to 10 ms of one thread, in 64 iterations. Columns: the loop on one thread, the host's own loop, a loop of
 * the library called from outside runs, a loop inside a run (whose helpers stay between loops); ratios above
 * 1 mean that the library is faster than the host's loop. Medians of alternating blocks. Prints only. */
#ifndef BENCHDNN_POOL_LOOPS_H
#define BENCHDNN_POOL_LOOPS_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

typedef struct {
    const char *name;
    void *pool;
    const dnnl_tp_threadpool_iface_t *iface;
    /* Ranges that cover 0..n, as the host cuts them; ns_each: what one iteration costs. */
    void (*loop)(void *pool, int64_t n, double ns_each, void (*body)(void *arg, int64_t begin, int64_t end),
                 void *arg);
} loops_host_t;

/* One table; ms for each cell. Fails when the library refuses the pool. */
dnnl_tp_status_t loops_table(const loops_host_t *host, int threads, int ms);

#endif
