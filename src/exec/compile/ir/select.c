/* Which nodes a selection of feeds, fetches and targets needs. See compile.h. */
#include "exec/compile/ir/ir.h"

typedef struct {
    const dtp_graph_t *graph;
    const int *feed_of; /* by value: position among the feeds, -1 */
    uint8_t *node, *region;
} select_t;

static dnnl_tp_status_t need(select_t *s, int32_t v) {
    if (v < 0 || s->feed_of[v] >= 0) return dnnl_tp_success;
    const dtp_gvalue_t *value = &s->graph->values[v];
    if (value->node >= 0) s->node[value->node] = 1;
    DTP_REQUIRE(value->node >= 0 || value->input < 0 || value->region != 0, GRAPH_BAD_VALUE,
                "input '%s' is needed and not fed", value->name);
    return dnnl_tp_success;
}

static dnnl_tp_status_t need_all(select_t *s, int n, const int32_t *values) {
    for (int i = 0; i < n; ++i) DTP_TRY(need(s, values[i]));
    return dnnl_tp_success;
}

/* A node stands behind all that it reads and behind the nodes of its regions: one pass from the end. */
static dnnl_tp_status_t walk(select_t *s) {
    const dtp_graph_t *g = s->graph;
    for (int r = 1; r < g->nregions; ++r)
        s->region[r] = g->regions[r].kind == DTP_REGION_FUNCTION; /* read constants only: no harm */
    for (int i = g->nnodes - 1; i >= 0; --i) {
        const dtp_gnode_t *n = &g->nodes[i];
        if (s->region[n->region]) s->node[i] = 1;
        if (!s->node[i]) continue;
        DTP_TRY(need_all(s, n->nin, n->in));
        DTP_TRY(need_all(s, n->nbefore, n->before));
        if (n->kind == DTP_NODE_IF) DTP_TRY(need_all(s, 2 * n->nout, n->yield));
        if (n->kind == DTP_NODE_WHILE) DTP_TRY(need_all(s, 1 + n->nin, n->yield));
        for (int k = 0; k < 2 && (n->kind == DTP_NODE_IF || n->kind == DTP_NODE_WHILE); ++k)
            if (n->sub[k] >= 0) s->region[n->sub[k]] = 1;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_ir_select(dtp_ir_t *ir, const dtp_selection_t *selection) {
    const dtp_graph_t *g = ir->graph;
    int *feed_of = dtp_arena_alloc(ir->arena, sizeof *feed_of * (size_t)(g->nvalues + 1));
    select_t s = {.graph = g, .feed_of = feed_of};
    s.node = dtp_arena_alloc(ir->arena, (size_t)g->nnodes + 1);
    s.region = dtp_arena_alloc(ir->arena, (size_t)g->nregions + 1);
    if (!feed_of || !s.node || !s.region) return dnnl_tp_out_of_memory;
    for (int i = 0; i < g->nvalues; ++i) feed_of[i] = -1;
    for (int i = 0; i < selection->nfeeds; ++i) feed_of[selection->feeds[i]] = i;
    DTP_TRY(need_all(&s, selection->nfetches, selection->fetches));
    DTP_TRY(need_all(&s, selection->ntargets, selection->targets));
    DTP_TRY(walk(&s));
    ir->selection = selection;
    ir->needed = s.node;
    ir->feed_of = feed_of;
    return dnnl_tp_success;
}
