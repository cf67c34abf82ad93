/* Writes the plan of a packed region (flow_word.h). */
#include "exec/flow_build.h"
#include "exec/flow_word.h"

static uint32_t packed_kind(const dtp_ftok_t *k) {
    switch (k->kind) {
    case DTP_FT_SWITCH: return DTP_FP_SWITCH;
    case DTP_FT_MERGE: return DTP_FP_MERGE;
    case DTP_FT_WHILE: return DTP_FP_WHILE;
    case DTP_FT_CALL: return DTP_FP_CALL;
    default: return k->kind == DTP_FT_NODE && !(k->flags & DTP_FLOW_NOP) ? DTP_FP_OP : DTP_FP_PAD;
    }
}

/* Must the target wait for this edge? A MERGE does not wait for its data. */
static bool is_guaranteed(const dtp_fdep_t *d) { return d->input == 0; }

dnnl_tp_status_t dtp_flow_emit_packed(dtp_fb_t *b, dtp_arena_t *arena, const dtp_flow_region_t *regions,
                                      dtp_flow_region_t *r, const int32_t *list, int n) {
    /* Dependencies by the token that has the node. */
    int npairs = 0;
    dtp_fdep_t *pair = dtp_fb_alloc(b, (size_t)b->ndep, sizeof *pair);
    if (!pair) return dnnl_tp_out_of_memory;
    uint32_t ncallees = 0, nchoices = 0, roots = 0;
    for (int i = 0; i < b->ndep; ++i) {
        int32_t from = b->dep[i].earlier;
        if (&regions[b->blk[b->tok[from].block].region] != r) continue;
        if (b->tok[from].kind == DTP_FT_PORT) from = b->tok[from].a;
        pair[npairs++] = (dtp_fdep_t){i, from, 0};
    }
    dtp_fcsr_t out;
    if (!dtp_fb_csr(b, &out, b->ntok, pair, npairs, false)) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) {
        dtp_ftok_t *k = &b->tok[list[i]];
        k->id = (uint32_t)i;
        r->n_rings += k->kind == DTP_FT_WHILE;
        ncallees += k->kind == DTP_FT_CALL;
        nchoices += k->kind == DTP_FT_SWITCH;
        r->ns += k->ns;
        roots += k->pending == 0;
    }
    dtp_flow_node_t *nodes = dtp_arena_alloc(arena, ((size_t)n + 1) * sizeof *nodes);
    uint32_t *edges = dtp_arena_alloc(arena, (2 * (size_t)npairs + roots + 1) * sizeof *edges);
    uint64_t *init = dtp_arena_alloc(arena, ((size_t)n + 1) * sizeof *init);
    dtp_flow_blk_t *block = dtp_arena_alloc(arena, sizeof *block);
    dtp_flow_choice_t *choices = dtp_arena_alloc(arena, ((size_t)nchoices + 1) * sizeof *choices);
    dtp_flow_ring_t *rings = dtp_arena_alloc(arena, ((size_t)r->n_rings + 1) * sizeof *rings);
    dtp_flow_callee_t *callees = dtp_arena_alloc(arena, ((size_t)ncallees + 1) * sizeof *callees);
    if (!nodes || !edges || !init || !block || !choices || !rings || !callees) return dnnl_tp_out_of_memory;
    *block = (dtp_flow_blk_t){.counted = (uint32_t)(sizeof *init * (size_t)n),
                              .done = 1,
                              .up = DTP_FLOW_NONE,
                              .end = DTP_FLOW_NONE};
    uint32_t nedges = 0, nring = 0, ncallee = 0, nchoice = 0;
    for (int i = 0; i < n; ++i) {
        const dtp_ftok_t *k = &b->tok[list[i]];
        dtp_flow_node_t *node = &nodes[i];
        uint32_t inputs = k->kind == DTP_FT_MERGE ? (uint32_t)k->a : 0;
        *node = (dtp_flow_node_t){
            .edge = nedges, .index = k->index, .bits = DTP_FK_PACKED, .sink = DTP_FLOW_NONE};
        node->bits |= packed_kind(k) << DTP_FN_PACKED_SHIFT | inputs << DTP_FN_INPUTS_SHIFT;
        if (k->kind == DTP_FT_NODE || k->kind == DTP_FT_MERGE)
            node->bits |= (uint32_t)(k->flags & (DTP_FLOW_COSTLY | DTP_FLOW_WIDE | DTP_FLOW_MAY_BLOCK |
                                                 DTP_FLOW_NEVER_DEAD))
                          << DTP_FN_FLAGS;
        init[i] = k->pending - inputs; /* MERGE: control inputs */
        if (k->kind == DTP_FT_WHILE) {
            node->index = nring;
            rings[nring++] = dtp_fb_ring(b, regions, k);
        } else if (k->kind == DTP_FT_CALL) {
            node->index = ncallee;
            callees[ncallee++] = (dtp_flow_callee_t){&regions[b->blk[k->a].region], k->index};
        } else if (k->kind == DTP_FT_SWITCH) {
            node->index = nchoice;
            choices[nchoice++] = (dtp_flow_choice_t){.pred = b->ifs[k->a].pred};
        }
        bool kept = false; /* does anything that must wait for it keep the instance alive? */
        for (int pass = 0; pass < 2; ++pass) {
            for (int x = out.at[list[i]]; x < out.at[list[i] + 1]; ++x) {
                const dtp_fdep_t *d = &b->dep[out.to[x]];
                const dtp_ftok_t *from = &b->tok[d->earlier];
                if (is_guaranteed(d) != (pass == 1)) continue;
                kept |= pass == 1;
                edges[nedges++] = b->tok[d->later].id;
                edges[nedges] = (uint32_t)d->input;
                if (b->tok[d->later].kind == DTP_FT_MERGE) edges[nedges] |= DTP_FE_TO_MERGE;
                if (from->kind == DTP_FT_PORT) edges[nedges] |= (uint32_t)(from->b + 1) << DTP_FE_PORT_SHIFT;
                ++nedges;
            }
        }
        if (!kept) {
            node->sink = 0;
            ++block->done;
        }
    }
    nodes[n].edge = nedges;
    block->entry = nedges;
    for (int i = 0; i < n; ++i)
        if (b->tok[list[i]].pending == 0) edges[nedges++] = (uint32_t)i;
    block->n_entry = nedges - block->entry;
    r->packed = true;
    r->nodes = nodes;
    r->edges = edges;
    r->init = (const uint8_t *)init;
    r->blocks = block;
    r->choices = choices;
    r->rings = rings;
    r->callees = callees;
    r->done_at = sizeof(dtp_flow_slab_t);
    r->count_at = dtp_round_up_size(r->done_at + sizeof(uint32_t), sizeof(uint64_t));
    r->link_at = r->count_at + sizeof(uint64_t) * (size_t)n;
    return dtp_fb_layout(r, rings);
}
