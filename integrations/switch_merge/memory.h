/* Memory of one import, which is freed at its end as a whole; see import.h. */
#ifndef DTP_SWITCH_MERGE_MEMORY_H
#define DTP_SWITCH_MERGE_MEMORY_H

#include "dnnl_tp/dnnl_tp.h"

typedef struct {
    const dnnl_tp_allocator_t *allocator;
    struct dtp_v1_block *blocks; /* newest first */
} dtp_v1_memory_t;

void dtp_v1_memory_init(dtp_v1_memory_t *memory);
void dtp_v1_memory_free(dtp_v1_memory_t *memory);
/* Zeroed; NULL when out of memory (the last error says so). */
void *dtp_v1_alloc(dtp_v1_memory_t *memory, size_t size);
/* Makes room for `need` elements in an array of this memory, doubling; new elements are not initialised. */
dnnl_tp_status_t dtp_v1_grow(dtp_v1_memory_t *memory, void **array, int *capacity, int need, size_t size);

#endif
