/* Attributes of streams, for engines and their streams (stream_attr.c). common/primitive/engine.h
 * declares struct dnnl_tp_stream_attr. */
#ifndef DTP_THREADING_STREAMS_STREAM_ATTR_H
#define DTP_THREADING_STREAMS_STREAM_ATTR_H

#include "common/primitive/engine.h"
#include "threading/pools/pool.h"

/* Copies the members of existing to a zeroed attr, and retains the objects that they name. */
void dtp_stream_attr_assign(dtp_stream_attr_t *attr, const dtp_stream_attr_t *existing);
void dtp_stream_attr_drop(dtp_stream_attr_t *attr);
/* In builds with OMP or TBB: gives resolved attributes that name no pool the runtime's threads. */
dnnl_tp_status_t dtp_stream_attr_default(dtp_stream_attr_t *attr);
/* Number of threads that a primitive for this attribute may use; 0: unset. */
int dtp_stream_attr_num_threads(const dtp_stream_attr_t *attr, uint64_t *flags);
/* The same for a run of a graph, which may also use them for operators side by side. */
int dtp_stream_attr_run_threads(const dtp_stream_attr_t *attr, uint64_t *flags);
/* Gives the record of the pool that attr names, retained; for unset and sequential attributes *pool
 * is NULL, with success. */
dnnl_tp_status_t dtp_pool_acquire(dtp_pool_t **pool, const dtp_stream_attr_t *attr);

#endif
