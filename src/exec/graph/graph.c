/* Handles of graphs and their lifetime. Building: build.c, region.c. */
#include "exec/graph/graph.h"

#include "common/primitive/engine.h"

#include <stdatomic.h>

/* ---- Lifetime ---------------------------------------------------------------------------------------- */

static void graph_free(dtp_object_t *obj) {
    dtp_graph_t *g = ((struct dnnl_tp_graph *)obj)->root;
    if (!g) return;
    if (&g->base.obj != obj) {
        dtp_object_release(g);
        return;
    }
    if (g->store) dtp_store_leave(g->store, g);
    for (int i = 0; i < g->nvalues; ++i) {
        const dtp_gconstant_t *c = g->values[i].constant;
        if (!c) continue;
        dtp_store_let_go(g->store, c->source);
        if (c->drop) c->drop(c->drop_arg);
    }
    for (int i = 0; i < g->nnodes; ++i)
        if (g->nodes[i].drop) g->nodes[i].drop(g->nodes[i].arg);
    dtp_object_release(g->store);
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
    g->store = dtp_store_create(g->base.obj.allocator);
    dnnl_tp_status_t status =
        !g->store ? dnnl_tp_out_of_memory
                  : dtp_arena_grow(&g->arena, (void **)&g->regions, &g->cap_regions, 1, sizeof *g->regions);
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

dnnl_tp_status_t dnnl_tp_graph_share(dnnl_tp_graph_t graph, const_dnnl_tp_graph_t with) {
    DTP_TRY(dtp_graph_check_open(graph));
    DTP_REQUIRE_HANDLE(with, DTP_OBJ_GRAPH);
    dtp_graph_t *g = graph->root;
    DTP_REQUIRE(!g->nvalues, BAD_PARAM, "the graph has %d values; it shares from the begin or never",
                g->nvalues);
    dtp_store_t *own = g->store;
    g->store = dtp_object_retain(with->root->store);
    dtp_object_release(own);
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
        if (n->row && n->nin > 1 && (n->row->cls->flags & DTP_OP_SHAPE_INPUT)) mark(by_value, 1, n->in + 1);
        if (is_marked && n->row && n->row->cls->values) mark(by_value, n->nin, n->in);
        if (is_marked && n->kind == DTP_NODE_IF) {
            mark(by_value, 1, n->in);
            mark(by_value, 2 * n->nout, n->yield);
        }
    }
}
