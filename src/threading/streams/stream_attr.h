/* Attributes of streams as engines and their streams use them (stream_attr.c); struct dnnl_tp_stream_attr stands in
 * common/primitive/engine.h. */
#ifndef DTP_THREADING_STREAMS_STREAM_ATTR_H
#define DTP_THREADING_STREAMS_STREAM_ATTR_H

#include "common/primitive/engine.h"
#include "threading/pools/pool.h"

/* Members of existing onto a zeroed attr, retaining what it retains. */
void dtp_stream_attr_assign(dtp_stream_attr_t *attr, const dtp_stream_attr_t *existing);
void dtp_stream_attr_drop(dtp_stream_attr_t *attr);
/* The runtime's own threads (builds with OMP or TBB) for resolved attributes that name no pool; else nothing.
 */
dnnl_tp_status_t dtp_stream_attr_default(dtp_stream_attr_t *attr);
/* Threads that a primitive made for this attribute may use: 0 = unset. */
int dtp_stream_attr_num_threads(const dtp_stream_attr_t *attr, uint64_t *flags);
/* The same for a run of a graph, which may also use them for operators beside each other. */
int dtp_stream_attr_run_threads(const dtp_stream_attr_t *attr, uint64_t *flags);
/* The record of the pool that attr names, retained. *pool = NULL and success for unset and sequential attributes. */
dnnl_tp_status_t dtp_pool_acquire(dtp_pool_t **pool, const dtp_stream_attr_t *attr);

#endif
