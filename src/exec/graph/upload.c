/* Constants in the memory of engines that cannot read the host's: uploaded once for each device, kept with the graph.
 *
 * A constant is what its bytes are: the same bytes in the same layout are one copy, and a pointer whose memory holds
 * something else meanwhile does not find the old one. */
#include "exec/graph/graph.h"

#include "common/primitive/engine.h"

struct dtp_upload {
    struct dtp_upload *next;
    dnnl_tp_engine_t engine; /* retained: whose memory it is */
    uint64_t hash;
    size_t bytes;
    void *handle;
};

static dnnl_tp_status_t upload(dnnl_tp_engine_t engine, const void *data, size_t bytes, void **handle) {
    *handle = engine->v->alloc(engine, bytes, false);
    if (!*handle) return dnnl_tp_out_of_memory;
    void *mapped;
    dnnl_tp_status_t status = engine->v->map(engine, *handle, bytes, &mapped);
    if (status == dnnl_tp_success) {
        enum { TRIES = 3 }; /* of a driver that lacks memory: who fails keeps what is mapped */
        memcpy(mapped, data, bytes);
        status = dnnl_tp_runtime_error;
        for (int i = 0; i < TRIES && status; ++i) status = engine->v->unmap(engine, *handle, bytes, mapped);
    }
    if (status != dnnl_tp_success) engine->v->free(engine, *handle);
    return status;
}

dnnl_tp_status_t dtp_graph_upload(dtp_graph_t *graph, dnnl_tp_engine_t engine, const void *data, size_t bytes,
                                  void **handle) {
    const uint64_t hash = dtp_hash_bytes(data, bytes);
    for (struct dtp_upload *u = graph->uploads; u; u = u->next) {
#ifdef DTP_BREAK_UPLOAD_KEY
        if (u->engine->device != engine->device || u->bytes != bytes) continue;
#else
        if (u->engine->device != engine->device || u->bytes != bytes || u->hash != hash) continue;
#endif
        *handle = u->handle;
        return dnnl_tp_success;
    }
    struct dtp_upload *u = dtp_alloc(graph->base.obj.allocator, sizeof *u, DTP_CACHE_LINE);
    if (!u) return dtp_no_memory(sizeof *u);
    dnnl_tp_status_t status = upload(engine, data, bytes, &u->handle);
    if (status != dnnl_tp_success) {
        dtp_free(graph->base.obj.allocator, u);
        return status;
    }
    u->engine = dtp_object_retain(engine);
    u->hash = hash;
    u->bytes = bytes;
    u->next = graph->uploads;
    graph->uploads = u;
    *handle = u->handle;
    return dnnl_tp_success;
}

void dtp_graph_drop_uploads(dtp_graph_t *graph) {
    while (graph->uploads) {
        struct dtp_upload *u = graph->uploads;
        graph->uploads = u->next;
        u->engine->v->free(u->engine, u->handle);
        dtp_object_release(u->engine);
        dtp_free(graph->base.obj.allocator, u);
    }
}
