/* Pools that several users share by name: one for each name in the process, which lives while it
 * has a user. */
#ifndef DTP_THREADING_POOLS_NAMED_POOL_H
#define DTP_THREADING_POOLS_NAMED_POOL_H

#include "common/base/base.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

typedef struct dtp_named_pool dtp_named_pool_t;

/* The built-in pool of this name ("" is a name, too), made at the first request; NULL: a pool that
 * is not shared. num_threads 0 = threads of the process. Blocks while another thread makes the
 * pool. Thread-safe. Errors: invalid_arguments when it exists with another size or fewer
 * blocking_threads; those of dnnl_tp_threadpool_create. */
dnnl_tp_status_t dtp_named_pool_open(dtp_named_pool_t **pool, const char *name, int num_threads,
                                     int blocking_threads);
void dtp_named_pool_close(dtp_named_pool_t *pool); /* NULL is allowed */
dnnl_tp_threadpool_t dtp_named_pool_handle(const dtp_named_pool_t *pool);
int dtp_named_pool_num_threads(const dtp_named_pool_t *pool);
/* In the child of a fork the parent's pools have no threads: a request for a name there makes a new
 * pool. */
void dtp_named_pools_forked(void);

#endif
