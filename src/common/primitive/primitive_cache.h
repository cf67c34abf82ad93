/* Process-wide cache of primitives: one primitive per key, also for concurrent misses; LRU. */
#ifndef DTP_COMMON_PRIMITIVE_PRIMITIVE_CACHE_H
#define DTP_COMMON_PRIMITIVE_PRIMITIVE_CACHE_H

#include "common/primitive/op_desc.h"

struct dnnl_tp_primitive;
struct dnnl_tp_engine;
struct dnnl_tp_primitive_desc;

/* The cached primitive for pd's key, retained, or a new one made by create(pd) and entered. *hit
 * tells which.
 */
dnnl_tp_status_t dtp_cache_get(struct dnnl_tp_primitive **primitive, const struct dnnl_tp_primitive_desc *pd,
                               dnnl_tp_status_t (*create)(struct dnnl_tp_primitive **primitive,
                                                          const struct dnnl_tp_primitive_desc *pd),
                               bool *hit);
/* Bytes that distinguish a primitive from others, in every process with this version of the
 * library; dtp_bytes_free() frees them. */
dnnl_tp_status_t dtp_cache_blob(dtp_bytes_t *blob, const struct dnnl_tp_primitive_desc *pd);
/* Drops the entries of an engine; NULL: all. */
void dtp_cache_purge(const struct dnnl_tp_engine *engine);

#endif
