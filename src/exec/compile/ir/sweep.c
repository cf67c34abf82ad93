/* Dead code: what outputs, host closures and targets need, through regions and around loops. */
#include "exec/compile/ir/ir.h"

/* ---- Effects ----------------------------------------------------------------------------------------- */

/* Effects of a region are those of the operator around it; calls look at functions, which may call each
 * other, so this goes on until nothing changes. */
void dtp_ir_find_effects(dtp_ir_t *ir) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < ir->nnodes; ++i) {
            dtp_ir_node_t *n = &ir->nodes[i];
            for (int s = 0; s < 2; ++s)
                if (n->sub[s] >= 0 && n->kind != DTP_NODE_OP) n->effects |= ir->regions[n->sub[s]].effects;
            bool *around = &ir->regions[n->region].effects;
            changed |= n->effects && !*around;
            *around |= n->effects;
        }
    }
}

/* ---- Sweep ------------------------------------------------------------------------------------------- */

static void use(dtp_ir_t *ir, int v, int region, bool keeps) {
    if (v < 0) return;
    ++ir->values[v].uses;
    ir->values[v].outputs += keeps || ir->values[v].region != region;
}

static void use_all(dtp_ir_t *ir, int n, const int *v, int region, bool keeps) {
    for (int i = 0; i < n; ++i) use(ir, v[i], region, keeps);
}

/* What a node that runs reads; marks its regions. True when a function became live that was passed already.
 */
static bool use_of_node(dtp_ir_t *ir, const dtp_ir_node_t *n) {
    bool changed = false;
    use_all(ir, n->nbefore, n->before, n->region, true);
    for (int k = 0; k < n->npost; ++k)
        if (n->post[k].is_binary) use(ir, n->post[k].value, n->region, false);
    switch (n->kind) {
    case DTP_NODE_OP:
    case DTP_NODE_HOST: use_all(ir, n->nin, n->in, n->region, false); break;
    case DTP_NODE_IF:
        use(ir, n->in[0], n->region, true);
        for (int b = 0; b < 2; ++b) {
            if (n->sub[b] >= 0) ir->regions[n->sub[b]].live = true;
            for (int i = 0; i < n->nout; ++i)
                if (ir->values[n->out[i]].uses) use(ir, n->yield[b * n->nout + i], n->region, true);
        }
        break;
    case DTP_NODE_WHILE:
        ir->regions[n->sub[0]].live = ir->regions[n->sub[1]].live = true;
        use(ir, n->cond_out, n->region, true);
        for (int i = 0; i < n->nin; ++i) {
            if (ir->values[n->out[i]].uses) n->live[i] = 1;
            if (!n->live[i]) continue;
            use(ir, n->in[i], n->region, true);
            use(ir, n->yield[i], n->region, true);
        }
        break;
    case DTP_NODE_CALL:
        use_all(ir, n->nin, n->in, n->region, true);
        changed = !ir->regions[n->sub[0]].live;
        ir->regions[n->sub[0]].live = true;
        break;
    }
    return changed;
}

static bool is_needed(const dtp_ir_t *ir, int i) {
    const dtp_ir_node_t *n = &ir->nodes[i];
    if (n->dead || !ir->regions[n->region].live) return false;
    bool needed = n->effects;
    for (int k = 0; k < n->nout; ++k)
        needed |= ir->values[n->out[k]].uses > 0 && ir->values[n->out[k]].node == i;
    return needed;
}

/* One pass from the end; true when it found a function or a variable that passed parts need. */
static bool pass(dtp_ir_t *ir) {
    bool changed = false;
    for (int i = 0; i < ir->nvalues && ir->counted; ++i) ir->values[i].uses = ir->values[i].outputs = 0;
    ir->counted = true;
    for (int r = 0; r < ir->nregions; ++r)
        if (ir->regions[r].kind != DTP_REGION_FUNCTION) ir->regions[r].live = r == 0;
    use_all(ir, ir->noutputs, ir->outputs, 0, true);
    for (int r = 0; r < ir->nregions; ++r)
        if (ir->regions[r].kind == DTP_REGION_FUNCTION && ir->regions[r].live)
            use_all(ir, ir->graph->regions[r].nout, ir->regions[r].out, r, true);
    for (int i = ir->nnodes - 1; i >= 0; --i) {
        const bool needed = is_needed(ir, i);
        if (needed) changed |= use_of_node(ir, &ir->nodes[i]);
        if (ir->simple) ir->nodes[i].dead = !needed; /* nothing will be found that needs it after all */
    }
    for (int i = 0; i < ir->nnodes && !ir->simple; ++i) {
        const dtp_ir_node_t *n = &ir->nodes[i];
        if (n->kind != DTP_NODE_WHILE || !is_needed(ir, i)) continue;
        for (int k = 0; k < n->nin; ++k) {
            bool read = ir->values[ir->regions[n->sub[0]].inputs[k]].uses > 0;
            changed |= read && !n->live[k];
            n->live[k] |= read;
        }
    }
    return changed;
}

void dtp_ir_sweep(dtp_ir_t *ir) {
    for (int r = 0; r < ir->nregions; ++r)
        if (ir->regions[r].kind == DTP_REGION_FUNCTION) ir->regions[r].live = false;
    for (int i = 0; i < ir->nnodes && !ir->simple; ++i)
        if (ir->nodes[i].kind == DTP_NODE_WHILE) memset(ir->nodes[i].live, 0, (size_t)ir->nodes[i].nin);
    while (pass(ir)) continue;
    for (int i = 0; i < ir->nnodes && !ir->simple; ++i) ir->nodes[i].dead = !is_needed(ir, i);
}

/* ---- Names for traces -------------------------------------------------------------------------------- */

void dtp_ir_fused(dtp_ir_t *ir, dtp_ir_node_t *into, const char *name, const char *kind) {
    dtp_ir_fused_t *f = dtp_arena_alloc(ir->arena, sizeof *f);
    if (!f) return;
    *f = (dtp_ir_fused_t){into->fused, name, kind};
    into->fused = f;
}

void dtp_ir_absorb(dtp_ir_t *ir, dtp_ir_node_t *into, const int *in, int nin) {
    for (int i = 0; i < nin; ++i) {
        const int producer = in[i] < 0 ? -1 : ir->values[in[i]].node;
        dtp_ir_node_t *p = producer < 0 ? NULL : &ir->nodes[producer];
        if (!p || !p->dead || p->absorbed || !p->row) continue;
        p->absorbed = true;
        dtp_ir_absorb(ir, into, p->in, p->nin);
        dtp_ir_fused(ir, into, p->name, p->row->name);
    }
}
