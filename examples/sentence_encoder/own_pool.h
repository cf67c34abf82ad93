/* A thread pool as a program might have one already, offered to dnnl_tp. Copy own_pool.c and adapt it. */
#ifndef SE_OWN_POOL_H
#define SE_OWN_POOL_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

typedef struct se_own_pool se_own_pool_t;

/* Starts `threads` threads (1..256). NULL on failure. */
se_own_pool_t *se_own_pool_create(int threads);
/* What the library needs to know of it; lives as long as the pool. */
const dnnl_tp_threadpool_iface_t *se_own_pool_iface(const se_own_pool_t *pool);
/* Ends the threads after the tasks that are queued. Destroy streams and engines that use the pool, and call
 * dnnl_tp_threadpool_quiesce(), before. */
void se_own_pool_destroy(se_own_pool_t *pool);

#endif
