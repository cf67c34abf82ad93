/* Constants in the memory of engines that cannot read the host's: uploaded once for each device, kept with the graph.
 *
 * A constant is what its bytes are: the same bytes in the same layout are one copy, and a pointer whose memory holds
 * something else meanwhile does not find the old one. */
#include "exec/graph/graph.h"

#include "common/primitive/engine.h"
#include "threading/base/futex.h"

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
    const dnnl_tp_status_t status = engine->v->write(engine, *handle, data, bytes);
    if (status != dnnl_tp_success) engine->v->free(engine, *handle);
    return status;
}

static struct dtp_upload *find_locked(dtp_graph_t *graph, const struct dtp_upload *like) {
    struct dtp_upload *u = graph->uploads;
#ifdef DTP_BREAK_UPLOAD_KEY
    while (u && (u->engine->device != like->engine->device || u->bytes != like->bytes)) u = u->next;
#else
    while (u &&
           (u->engine->device != like->engine->device || u->bytes != like->bytes || u->hash != like->hash))
        u = u->next;
#endif
    return u;
}

static dnnl_tp_status_t make(dtp_graph_t *graph, const struct dtp_upload *like, const void *data,
                             struct dtp_upload **made) {
    struct dtp_upload *u = dtp_alloc(graph->base.obj.allocator, sizeof *u, DTP_CACHE_LINE);
    if (!u) return dtp_no_memory(sizeof *u);
    *u = *like;
    const dnnl_tp_status_t status = upload(u->engine, data, u->bytes, &u->handle);
    if (status != dnnl_tp_success) {
        dtp_free(graph->base.obj.allocator, u);
        return status;
    }
    u->engine = dtp_object_retain(u->engine);
    *made = u;
    return status;
}

static void drop(dtp_graph_t *graph, struct dtp_upload *u) {
    u->engine->v->free(u->engine, u->handle);
    dtp_object_release(u->engine);
    dtp_free(graph->base.obj.allocator, u);
}

/* Without the lock while it allocates: a program's allocator may serve that. Another thread's upload, made meanwhile, wins. */
dnnl_tp_status_t dtp_graph_upload(dtp_graph_t *graph, dnnl_tp_engine_t engine, const void *data, size_t bytes,
                                  void **handle) {
    const struct dtp_upload like = {.engine = engine, .hash = dtp_hash_bytes(data, bytes), .bytes = bytes};
    struct dtp_upload *made = NULL;
    dtp_lock(&graph->lock);
    struct dtp_upload *u = find_locked(graph, &like);
    dtp_unlock(&graph->lock);
    if (!u) {
        DTP_TRY(make(graph, &like, data, &made));
        dtp_lock(&graph->lock);
        u = find_locked(graph, &like);
        if (!u) {
            made->next = graph->uploads;
            graph->uploads = u = made;
        }
        dtp_unlock(&graph->lock);
    }
    if (made && u != made) drop(graph, made);
    *handle = u->handle;
    return dnnl_tp_success;
}

void dtp_graph_drop_uploads(dtp_graph_t *graph) {
    for (struct dtp_upload *u; (u = graph->uploads) != NULL;) {
        graph->uploads = u->next;
        drop(graph, u);
    }
}
