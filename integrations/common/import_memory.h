/* Memory of one import, freed as a whole at its end. */
#ifndef DTP_IMPORT_MEMORY_H
#define DTP_IMPORT_MEMORY_H

#include "dnnl_tp/dnnl_tp.h"

typedef struct {
    const dnnl_tp_allocator_t *allocator;
    /* The newest block first. */
    struct dtp_import_block *blocks;
} dtp_import_memory_t;

void dtp_import_memory_init(dtp_import_memory_t *memory);
void dtp_import_memory_free(dtp_import_memory_t *memory);
/* Zeroed; NULL when out of memory (the last error says so). */
void *dtp_import_alloc(dtp_import_memory_t *memory, size_t size);
/* Makes room for `need` elements in an array of this memory by doubling it; new elements are not
 * initialised. */
dnnl_tp_status_t dtp_import_grow(dtp_import_memory_t *memory, void **array, int *capacity, int need,
                                 size_t size);

#endif
