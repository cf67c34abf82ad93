/* Constants in the memory of engines that cannot read the host's: uploaded once for each device and
 * kept in the store.
 *
 * A constant is what its bytes are: the same bytes are one copy, and a pointer whose memory
 * holds something else meanwhile does not find the old one. */
#include "exec/graph/graph.h"

#include "common/primitive/engine.h"

typedef struct {
    int64_t tag;
    uint64_t device, hash, bytes;
} upload_key_t;
enum { UPLOAD_TAG = 3 }; /* beside those of fold.c and packing.c */

/* The entry's data is the handle; the block keeps the engine whose memory it is. */
static void drop(dtp_block_t *block) {
    dnnl_tp_engine_t engine = block->arg;
    for (const dtp_derived_t *d = block->entries; d; d = d->next_of_block)
        engine->v->free(engine, (void *)(uintptr_t)d->data);
    dtp_object_release(engine);
}

/* A block that the store does not know yet. */
static dnnl_tp_status_t make(dtp_graph_t *graph, dnnl_tp_engine_t engine, const void *data, size_t bytes,
                             const upload_key_t *key, dtp_block_t **made) {
    dtp_block_t *block = dtp_block_create(graph->store, 0);
    if (!block) return dnnl_tp_out_of_memory;
    void *to = engine->v->alloc(engine, bytes, false);
    dnnl_tp_status_t status = to ? engine->v->write(engine, to, data, bytes) : dnnl_tp_out_of_memory;
    if (status == dnnl_tp_success && !dtp_block_put(graph->store, block, key, sizeof *key, to, false))
        status = dnnl_tp_out_of_memory;
    if (status != dnnl_tp_success) {
        if (to) engine->v->free(engine, to);
        dtp_block_free(graph->store, block);
        return status;
    }
    block->arg = dtp_object_retain(engine);
    block->drop = drop;
    *made = block;
    return status;
}

dnnl_tp_status_t dtp_graph_upload(dtp_graph_t *graph, dnnl_tp_engine_t engine, const void *data, size_t bytes,
                                  const void **handle) {
    upload_key_t key = {UPLOAD_TAG, engine->device, dtp_hash_bytes(data, bytes), bytes};
#ifdef DTP_BREAK_UPLOAD_KEY
    key.hash = 0;
#endif
    for (;;) {
        dtp_derived_t *found;
        dtp_block_t *block = NULL;
        bool added;
        DTP_TRY(dtp_store_find(graph->store, graph, &key, sizeof key, &found));
        if (found) {
            *handle = found->data;
            return dnnl_tp_success;
        }
        DTP_TRY(make(graph, engine, data, bytes, &key, &block));
        DTP_TRY(dtp_store_add(graph->store, graph, block, &added)); /* the next round finds it */
    }
}
