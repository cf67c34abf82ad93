/* Handles of graphs and their lifetime; derived constants. Building: build.c, region.c. */
#include "exec/graph/graph.h"

#include "common/primitive/engine.h"

#include <stdatomic.h>

/* ---- Derived constants ------------------------------------------------------------------------------- */

static unsigned bucket_of(const uint8_t *key, size_t size) {
    return (unsigned)(dtp_hash_bytes(key, size) >> 32) % DTP_DERIVED_BUCKETS;
}

const dtp_derived_t *dtp_derived_find(const dtp_graph_t *graph, const void *key, size_t size) {
    for (const dtp_derived_t *d = graph->derived[bucket_of(key, size)]; d; d = d->next)
        if (d->key_size == size && !memcmp(d->key, key, size)) return d;
    return NULL;
}

const dtp_derived_t *dtp_derived_add(dtp_graph_t *graph, const void *key, size_t size, const void *data) {
    dtp_derived_t *d = dtp_arena_alloc(&graph->derived_arena, sizeof *d + size);
    if (!d) return NULL;
    dtp_derived_t **bucket = &graph->derived[bucket_of(key, size)];
    d->id = ((int64_t)1 << 32) + graph->next_id++; /* beside the numbers of values */
    d->data = data;
    d->key_size = size;
    memcpy(d->key, key, size);
    d->next = *bucket;
    atomic_signal_fence(memory_order_release); /* a forked child may find the lock held: futex.h */
    *bucket = d;
    return d;
}

void *dtp_derived_alloc(dtp_graph_t *graph, size_t bytes) {
    struct dtp_blob *b = dtp_alloc(graph->base.obj.allocator, DTP_CACHE_LINE + bytes, DTP_CACHE_LINE);
    if (!b) {
        (void)dtp_no_memory(DTP_CACHE_LINE + bytes);
        return NULL;
    }
    b->next = graph->blobs;
    graph->blobs = b;
    return (char *)b + DTP_CACHE_LINE;
}

/* ---- Lifetime ---------------------------------------------------------------------------------------- */

static void graph_free(dtp_object_t *obj) {
    dtp_graph_t *g = ((struct dnnl_tp_graph *)obj)->root;
    if (!g) return;
    if (&g->base.obj != obj) {
        dtp_object_release(g);
        return;
    }
    for (int i = 0; i < g->nvalues; ++i) {
        const dtp_gconstant_t *c = g->values[i].constant;
        if (!c) continue;
        dtp_free(g->base.obj.allocator, c->owned);
        if (c->drop) c->drop(c->drop_arg);
    }
    for (int i = 0; i < g->nnodes; ++i)
        if (g->nodes[i].drop) g->nodes[i].drop(g->nodes[i].arg);
    for (struct dtp_blob *b = g->blobs, *next; b; b = next) {
        next = b->next;
        dtp_free(g->base.obj.allocator, b);
    }
    dtp_graph_drop_uploads(g);
    dtp_arena_free(&g->derived_arena);
    dtp_arena_free(&g->arena);
}

dnnl_tp_status_t dnnl_tp_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_engine_kind_t kind) {
    DTP_OUT(graph, NULL);
    DTP_REQUIRE(kind == dnnl_tp_cpu || kind == dnnl_tp_gpu, BAD_ENUM, "engine kind %d", (int)kind);
    if (!dtp_engine_vtbl(kind))
        DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "this build has no gpu engine"));
    dtp_graph_t *g = dtp_object_create(dtp_process_allocator(), sizeof *g, DTP_OBJ_GRAPH, graph_free);
    if (!g) DTP_RETURN(dtp_no_memory(sizeof *g));
    g->base.root = g;
    g->kind = kind;
    dtp_arena_init(&g->arena, g->base.obj.allocator);
    dtp_arena_init(&g->derived_arena, g->base.obj.allocator);
    dnnl_tp_status_t status =
        dtp_arena_grow(&g->arena, (void **)&g->regions, &g->cap_regions, 1, sizeof *g->regions);
    if (status != dnnl_tp_success) {
        dtp_object_release(g);
        DTP_RETURN(status);
    }
    g->regions[0] = (dtp_gregion_t){.kind = DTP_REGION_ROOT, .parent = -1, .name = ""};
    g->nregions = 1;
    *graph = &g->base;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_graph_push_region(dtp_graph_t *g, const dtp_gregion_t *region, dnnl_tp_graph_t *handle) {
    DTP_TRY(dtp_arena_grow(&g->arena, (void **)&g->regions, &g->cap_regions, g->nregions + 1,
                           sizeof *g->regions));
    struct dnnl_tp_graph *h = dtp_object_create(g->base.obj.allocator, sizeof *h, DTP_OBJ_GRAPH, graph_free);
    if (!h) return dnnl_tp_out_of_memory;
    h->root = dtp_object_retain(g);
    h->region = g->nregions;
    g->regions[g->nregions++] = *region;
    *handle = h;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_destroy(dnnl_tp_graph_t graph) { DTP_DESTROY(graph, DTP_OBJ_GRAPH); }

dnnl_tp_status_t dnnl_tp_graph_set_name(dnnl_tp_graph_t graph, const char *name) {
    DTP_TRY(dtp_graph_check_open(graph));
    DTP_REQUIRE(graph->region == 0, GRAPH_REGION, "a region or function has the name of its graph");
    const char *copy = name && *name ? dtp_arena_text(&graph->root->arena, name) : NULL;
    if (name && *name && !copy) DTP_RETURN(dnnl_tp_out_of_memory);
    graph->root->name = copy;
    return dnnl_tp_success;
}

/* ---- Values that shapes come from -------------------------------------------------------------------- */

static void mark(uint8_t *by_value, int n, const int32_t *values) {
    for (int i = 0; i < n; ++i)
        if (values[i] >= 0) by_value[values[i]] = 1;
}

/* Nodes stand in an order in which they may run: one pass from the end. */
void dtp_graph_find_shape_values(const dtp_graph_t *graph, uint8_t *by_value) {
    for (int i = graph->nnodes - 1; i >= 0; --i) {
        const dtp_gnode_t *n = &graph->nodes[i];
        bool is_marked = false;
        for (int k = 0; k < n->nout; ++k) is_marked |= by_value[n->out + k];
        if (n->row && (n->row->cls->flags & DTP_OP_SHAPE_INPUT)) mark(by_value, 1, n->in + 1);
        if (is_marked && n->row && n->row->cls->values) mark(by_value, n->nin, n->in);
        if (is_marked && n->kind == DTP_NODE_IF) {
            mark(by_value, 1, n->in);
            mark(by_value, 2 * n->nout, n->yield);
        }
    }
}
