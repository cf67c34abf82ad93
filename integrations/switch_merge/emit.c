/* Import of Switch/Merge graphs: finds which nodes form one If, and builds the graph; see import.h.
 *
 * A node inside of k conditions has k slots, one for each level; slots of nodes that hang together inside of
 * the same side of a condition are united, a Merge unites its two sides, a frame all that is in it. Each
 * class of slots is one If. Ifs and loops are items like nodes; every item stands in a block (the graph, a
 * side of an If, test or body of a loop), and one sort orders all items against their neighbours in the same
 * block. */
#include "switch_merge/import.h"

typedef struct {
    int compound, part; /* -1: the graph */
} block_t;

typedef struct {
    bool loop;
    block_t place;
    int frame;               /* loop */
    int pair;                /* If: context of a side */
    int nmerges, cap_merges; /* If: its results */
    int *merges;
    int some; /* a node in it, for messages */
} compound_t;

typedef struct {
    dtp_v1_t *t;
    int nslots;
    int *united;      /* parent of each slot */
    int *compound_of; /* of roots, -1 */
    compound_t *compounds;
    int ncompounds, cap_compounds;
    block_t *place; /* of nodes */
    int *items;     /* in order; compounds behind the nodes: t->n + number */
    int *first;     /* of each block, see block_number */
} emit_t;

/* ---- Which nodes belong together --------------------------------------------------------------------- */

static int find(const emit_t *e, int slot) {
    while (e->united[slot] != slot) slot = e->united[slot] = e->united[e->united[slot]];
    return slot;
}
static void unite(const emit_t *e, int a, int b, int levels) {
    for (int k = 0; k < levels; ++k) {
        int x = find(e, a + k), y = find(e, b + k);
        if (x != y) e->united[x < y ? y : x] = x < y ? x : y;
    }
}

/* Conditions that two places are both in. */
static int common_sides(const dtp_v1_t *t, int a, int b) {
    while (a != b) {
        bool deeper = t->contexts[a].depth >= t->contexts[b].depth;
        if (deeper) a = t->contexts[a].parent;
        else b = t->contexts[b].parent;
    }
    return t->contexts[a].sides;
}
static int sides_of(const dtp_v1_t *t, int context) { return t->contexts[context].sides; }

static void unite_frame(const emit_t *e, int node, int context, int frame) {
    const dtp_v1_frame_t *f = &e->t->frames[frame];
    unite(e, e->t->nodes[node].slot, f->slot, common_sides(e->t, context, f->base));
}

static dnnl_tp_status_t unite_all(emit_t *e) {
    dtp_v1_t *t = e->t;
    for (int i = 0; i < t->n; ++i) {
        t->nodes[i].slot = e->nslots;
        e->nslots += sides_of(t, t->nodes[i].context) + (t->nodes[i].pair >= 0);
    }
    for (int f = 0; f < t->nframes; ++f) {
        t->frames[f].slot = e->nslots;
        e->nslots += sides_of(t, t->frames[f].base);
    }
    e->united = dtp_import_alloc(&t->memory, sizeof *e->united * (size_t)e->nslots);
    e->compound_of = dtp_import_alloc(&t->memory, sizeof *e->compound_of * (size_t)e->nslots);
    if (!e->united || !e->compound_of) return dnnl_tp_out_of_memory;
    for (int s = 0; s < e->nslots; ++s) e->united[s] = s, e->compound_of[s] = -1;
    for (int i = 0; i < t->n; ++i) {
        const dtp_v1_node_t *node = &t->nodes[i];
        for (int k = 0; k < node->ndata + node->ncontrol; ++k) {
            if (node->in[k].node < 0) continue;
            const dtp_v1_node_t *from = &t->nodes[node->in[k].node];
            unite(e, from->slot, node->slot, common_sides(t, from->context, node->context));
            if (node->pair < 0 || k >= node->ndata) continue;
            /* A side that computes something is one If with the Merge; one that is a Switch has no slot. */
            int side = dtp_v1_alive(t, node->in[k]), level = sides_of(t, side);
            if (common_sides(t, side, from->context) == level)
                unite(e, from->slot + level - 1, node->slot + level - 1, 1);
        }
        if (node->v1->kind == dnnl_tp_v1_enter || node->v1->kind == dnnl_tp_v1_exit)
            unite_frame(e, i, node->context, node->frame);
        for (int c = node->context; c > 0; c = t->contexts[c].parent)
            if (t->contexts[c].kind == DTP_V1_TEST) unite_frame(e, i, node->context, t->contexts[c].frame);
    }
    return dnnl_tp_success;
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

/* The block of a context, for who has its slots from `slot` on. Makes the Ifs around it. */
static dnnl_tp_status_t locate(emit_t *e, int slot, int context, int node, block_t *block) {
    const dtp_v1_context_t *c = &e->t->contexts[context];
    *block = (block_t){-1, 0};
    if (c->kind == DTP_V1_ROOT) return dnnl_tp_success;
    if (c->kind != DTP_V1_SIDE) {
        *block = (block_t){c->frame, c->kind == DTP_V1_BODY}; /* loops are the first compounds */
        return dnnl_tp_success;
    }
    int root = find(e, slot + c->sides - 1);
    if (e->compound_of[root] < 0) {
        compound_t x = {.pair = context, .some = node};
        TRY(locate(e, slot, c->parent, node, &x.place));
        TRY(dtp_import_grow(&e->t->memory, (void **)&e->compounds, &e->cap_compounds, e->ncompounds + 1,
                            sizeof *e->compounds));
        e->compounds[e->ncompounds] = x;
        e->compound_of[root] = e->ncompounds++;
    }
    *block = (block_t){e->compound_of[root], c->side};
    return dnnl_tp_success;
}

static dnnl_tp_status_t locate_all(emit_t *e) {
    dtp_v1_t *t = e->t;
    TRY(dtp_import_grow(&t->memory, (void **)&e->compounds, &e->cap_compounds, t->nframes + 1,
                        sizeof *e->compounds));
    for (int f = 0; f < t->nframes; ++f)
        e->compounds[e->ncompounds++] =
            (compound_t){.loop = true, .frame = f, .pair = -1, .some = t->frames[f].loop_cond};
    for (int f = 0; f < t->nframes; ++f) {
        block_t place;
        TRY(locate(e, t->frames[f].slot, t->frames[f].base, t->frames[f].loop_cond, &place));
        e->compounds[f].place = place;
    }
    e->place = dtp_import_alloc(&t->memory, sizeof *e->place * (size_t)t->n);
    if (!e->place) return dnnl_tp_out_of_memory;
    for (int i = 0; i < t->n; ++i) {
        const dtp_v1_node_t *node = &t->nodes[i];
        TRY(locate(e, node->slot, node->context, i, &e->place[i]));
        if (node->pair < 0) continue;
        block_t side;
        TRY(locate(e, node->slot, node->pair, i, &side));
        compound_t *x = &e->compounds[side.compound];
        TRY(dtp_import_grow(&t->memory, (void **)&x->merges, &x->cap_merges, x->nmerges + 1,
                            sizeof *x->merges));
        x->merges[x->nmerges++] = i;
    }
    return dnnl_tp_success;
}

/* What stands for a node among its neighbours: itself, or the If or loop whose result it is. */
static int item_of(const emit_t *e, int node, block_t *place) {
    const dtp_v1_node_t *x = &e->t->nodes[node];
    int compound = -1;
    if (x->pair >= 0) compound = e->compound_of[find(e, x->slot + sides_of(e->t, x->pair) - 1)];
    if (x->v1->kind == dnnl_tp_v1_exit) compound = x->frame;
    *place = compound < 0 ? e->place[node] : e->compounds[compound].place;
    return compound < 0 ? node : e->t->n + compound;
}

static int depth_of(const emit_t *e, block_t b) {
    int depth = 0;
    for (; b.compound >= 0; b = e->compounds[b.compound].place) ++depth;
    return depth;
}

/* The two neighbours in one block that an edge orders; false: it orders nothing there. *own: it reads the
 * result of the very If or loop that it stands in. */
static bool neighbours(const emit_t *e, int from, int to, int *a, int *b, bool *own) {
    block_t pa, pb;
    *a = item_of(e, from, &pa);
    *b = item_of(e, to, &pb);
    const int result = *a, reader = *b;
    int da = depth_of(e, pa), db = depth_of(e, pb);
    while (pa.compound != pb.compound || pa.part != pb.part) {
        if (da >= db) *a = e->t->n + pa.compound, pa = e->compounds[pa.compound].place, --da;
        else *b = e->t->n + pb.compound, pb = e->compounds[pb.compound].place, --db;
    }
    *own = *a == *b && *a == result && *b != reader;
    return *a != *b;
}

static int block_number(block_t b) { return b.compound < 0 ? 0 : 1 + 2 * b.compound + b.part; }

/* Sorts all items, then deals them out to their blocks. */
static dnnl_tp_status_t sort(emit_t *e) {
    dtp_v1_t *t = e->t;
    int total = t->n + e->ncompounds, blocks = 1 + 2 * e->ncompounds, edges = 0, a, b;
    for (int i = 0; i < t->n; ++i) edges += t->nodes[i].ndata + t->nodes[i].ncontrol;
    int *left = dtp_import_alloc(&t->memory, sizeof *left * (size_t)total);
    int *first = dtp_import_alloc(&t->memory, sizeof *first * (size_t)(total + 2));
    int *to = dtp_import_alloc(&t->memory, sizeof *to * (size_t)edges);
    int *queue = dtp_import_alloc(&t->memory, sizeof *queue * (size_t)total);
    e->items = dtp_import_alloc(&t->memory, sizeof *e->items * (size_t)total);
    e->first = dtp_import_alloc(&t->memory, sizeof *e->first * (size_t)(blocks + 2));
    if (!left || !first || !to || !queue || !e->items || !e->first) return dnnl_tp_out_of_memory;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < t->n; ++i) {
            const dtp_v1_node_t *node = &t->nodes[i];
            for (int k = 0; k < node->ndata + node->ncontrol; ++k) {
                int from = node->in[k].node;
                bool own = false;
                if (from < 0 || from == node->next || !neighbours(e, from, i, &a, &b, &own)) {
                    if (own) return dtp_v1_refuse(t, i, "it needs a result of the condition it stands in");
                    continue;
                }
                if (pass == 0) ++first[a + 2];
                else ++left[b], to[first[a + 1]++] = b;
            }
        }
        for (int i = 0; pass == 0 && i < total; ++i) first[i + 2] += first[i + 1];
    }
    int head = 0, tail = 0;
    for (int i = 0; i < total; ++i)
        if (left[i] == 0) queue[tail++] = i;
    while (head < tail) {
        int i = queue[head++];
        for (int k = first[i]; k < first[i + 1]; ++k)
            if (--left[to[k]] == 0) queue[tail++] = to[k];
    }
    for (int i = 0; i < total && tail < total; ++i)
        if (left[i] && i >= t->n)
            return dtp_v1_refuse(t, e->compounds[i - t->n].some,
                                 "conditions on one predicate need each other's results");
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < total; ++i) {
            int item = queue[i];
            int at = block_number(item < t->n ? e->place[item] : e->compounds[item - t->n].place);
            if (pass == 0) ++e->first[at + 2];
            else e->items[e->first[at + 1]++] = item;
        }
        for (int k = 0; pass == 0 && k < blocks; ++k) e->first[k + 2] += e->first[k + 1];
    }
    return dnnl_tp_success;
}

/* ---- Values and orderings ---------------------------------------------------------------------------- */

int32_t dtp_v1_value(const dtp_v1_t *t, dtp_v1_tensor_t x) {
    for (;;) {
        const dtp_v1_node_t *node = &t->nodes[x.node];
        switch (node->v1->kind) {
        case dnnl_tp_v1_identity:
        case dnnl_tp_v1_switch:
        case dnnl_tp_v1_enter:
        case dnnl_tp_v1_next_iteration:
        case dnnl_tp_v1_loop_cond: x = node->in[0]; break;
        case dnnl_tp_v1_exit: {
            dtp_v1_tensor_t from = dtp_v1_origin(t, node->in[0], false);
            dtp_v1_tensor_t var = dtp_v1_origin(t, t->nodes[from.node].in[0], false);
            return t->nodes[var.node].result;
        }
        default: return node->values[x.out];
        }
    }
}

/* fn for what node `from` stands for, unless it was seen. */
static dnnl_tp_status_t makers(dtp_v1_t *t, int from, dtp_v1_maker_fn_t fn, void *arg) {
    int top = 0;
    for (;;) {
        if (from >= 0 && t->mark[from] != t->marks) {
            const dtp_v1_node_t *node = &t->nodes[from];
            t->mark[from] = t->marks;
            switch (node->v1->kind) {
            case dnnl_tp_v1_op:
            case dnnl_tp_v1_host:
            case dnnl_tp_v1_merge:
            case dnnl_tp_v1_exit: TRY(fn(arg, from)); break;
            default: t->path[top++] = (dtp_v1_step_t){from, 0};
            }
        }
        for (; top; --top) { /* the next input of the innermost node that has one */
            const dtp_v1_node_t *node = &t->nodes[t->path[top - 1].node];
            if (t->path[top - 1].next < node->ndata + node->ncontrol) break;
        }
        if (!top) return dnnl_tp_success;
        dtp_v1_step_t *step = &t->path[top - 1];
        from = t->nodes[step->node].in[step->next++].node;
    }
}

static dnnl_tp_status_t makers_of_control(dtp_v1_t *t, const dtp_v1_node_t *node, dtp_v1_maker_fn_t fn,
                                          void *arg) {
    for (int k = 0; k < node->ncontrol; ++k) TRY(makers(t, node->in[node->ndata + k].node, fn, arg));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_v1_each_before(dtp_v1_t *t, int i, bool with_data, dtp_v1_maker_fn_t fn, void *arg) {
    const dtp_v1_node_t *node = &t->nodes[i];
    ++t->marks;
    TRY(makers_of_control(t, node, fn, arg));
    for (int k = 0; with_data && k < node->ndata; ++k)
        for (int from = node->in[k].node; from >= 0;) {
            const dtp_v1_node_t *x = &t->nodes[from];
            bool passes = x->v1->kind == dnnl_tp_v1_identity || x->v1->kind == dnnl_tp_v1_switch;
            if (!passes && x->v1->kind != dnnl_tp_v1_constant) break;
            TRY(makers_of_control(t, x, fn, arg));
            from = passes ? x->in[0].node : -1;
        }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_v1_made(dtp_v1_t *t, int n, const int32_t *values) {
    ++t->makers;
    for (int i = 0; i < n; ++i) {
        const int had = t->cap_maker;
        if (values[i] < 0) continue;
        TRY(dtp_import_grow(&t->memory, (void **)&t->maker, &t->cap_maker, values[i] + 1, sizeof *t->maker));
        memset(t->maker + had, 0, sizeof *t->maker * (size_t)(t->cap_maker - had));
        t->maker[values[i]] = t->makers;
    }
    return dnnl_tp_success;
}
static int maker_of(const dtp_v1_t *t, int32_t value) {
    return value >= 0 && value < t->cap_maker ? t->maker[value] : 0;
}

typedef struct {
    dtp_v1_t *t;
    dnnl_tp_graph_t region;
    int32_t after;
} order_t;
static dnnl_tp_status_t order(void *arg, int from) {
    const order_t *o = arg;
    const dtp_v1_node_t *node = &o->t->nodes[from];
    if (node->enter >= 0) return dnnl_tp_success;
    if (node->v1->kind == dnnl_tp_v1_host && node->v1->nout == 0)
        return dtp_v1_refuse(o->t, from,
                             "something waits for it; give it a result, which may be without elements");
    int32_t before = dtp_v1_value(o->t, (dtp_v1_tensor_t){from, 0});
    const int maker = maker_of(o->t, before);
    if (maker == 0 || maker == maker_of(o->t, o->after)) return dnnl_tp_success; /* results of one If */
    return dnnl_tp_graph_control_dependency(o->region, before, o->after);
}

dnnl_tp_status_t dtp_v1_order(dtp_v1_t *t, dnnl_tp_graph_t region, int32_t after, int i) {
    const dtp_v1_node_t *node = &t->nodes[i];
    /* A Merge of an If or a loop waits inside for what its data goes through. */
    bool with_data = t->gated || node->v1->kind != dnnl_tp_v1_merge;
    TRY(dtp_v1_each_before(t, i, with_data, order, &(order_t){t, region, after}));
    return node->target ? dnnl_tp_graph_target(region, after) : dnnl_tp_success;
}

/* ---- Building ---------------------------------------------------------------------------------------- */

static dnnl_tp_status_t emit_block(emit_t *e, dnnl_tp_graph_t region, block_t block);

dnnl_tp_status_t dtp_v1_emit_node(dtp_v1_t *t, dnnl_tp_graph_t region, int i) {
    dtp_v1_node_t *node = &t->nodes[i];
    const dnnl_tp_v1_node_t *v = node->v1;
    if (v->kind > dnnl_tp_v1_host) return dnnl_tp_success; /* stands for another value */
    int nout = dtp_v1_nout(v);
    node->values = dtp_import_alloc(&t->memory, sizeof *node->values * (size_t)nout);
    int32_t *in = dtp_import_alloc(&t->memory, sizeof *in * (size_t)node->ndata);
    if (!node->values || !in) return dnnl_tp_out_of_memory;
    for (int k = 0; k < node->ndata; ++k) in[k] = node->in[k].node < 0 ? -1 : dtp_v1_value(t, node->in[k]);
    switch (v->kind) {
    case dnnl_tp_v1_input:
        return dnnl_tp_graph_input(region, node->values, v->name, v->info.data_type, v->info.ndims,
                                   v->info.dims);
    case dnnl_tp_v1_constant:
        return dnnl_tp_graph_constant(region, node->values, v->name, v->info.data_type, v->info.ndims,
                                      v->info.dims, v->data, DNNL_TP_CONSTANT_COPY, NULL, NULL);
    case dnnl_tp_v1_op:
        TRY(dnnl_tp_graph_op(region, v->op, v->name, node->ndata, in, v->nattr, v->attr, 1, node->values));
        break;
    default:
        node->taken = true; /* drop is called even if this fails */
        TRY(dnnl_tp_graph_host(region, v->fn, v->arg, v->drop, v->flags, v->name, node->ndata, in, nout,
                               v->out_info, node->values));
    }
    TRY(dtp_v1_made(t, nout, node->values));
    if (nout > 0) return dtp_v1_order(t, region, node->values[0], i);
    if (node->ncontrol)
        return dtp_v1_refuse(t, i, "it waits for something; give it a result, which may be without elements");
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_if(emit_t *e, dnnl_tp_graph_t around, int number, dnnl_tp_graph_t region[2]) {
    dtp_v1_t *t = e->t;
    const compound_t *x = &e->compounds[number];
    int n = x->nmerges;
    int32_t *yield = dtp_import_alloc(&t->memory, sizeof *yield * 3 * (size_t)n);
    if (!yield) return dnnl_tp_out_of_memory;
    int32_t *out = yield + 2 * n;
    for (int side = 1; side >= 0; --side) {
        TRY(dnnl_tp_graph_create_region(&region[side], around));
        TRY(emit_block(e, region[side], (block_t){number, side}));
        for (int i = 0; i < n; ++i) yield[side * n + i] = dtp_v1_value(t, t->nodes[x->merges[i]].side[side]);
    }
    TRY(dnnl_tp_graph_if(around, t->nodes[n ? x->merges[0] : x->some].v1->name,
                         dtp_v1_value(t, t->contexts[x->pair].pred), region[1], region[0], n, yield + n,
                         yield, out));
    TRY(dtp_v1_made(t, n, out));
    for (int i = 0; i < n; ++i) t->nodes[x->merges[i]].values = out + i;
    for (int i = 0; i < n; ++i) TRY(dtp_v1_order(t, around, out[i], x->merges[i]));
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_loop(emit_t *e, dnnl_tp_graph_t around, int number, dnnl_tp_graph_t region[2]) {
    dtp_v1_t *t = e->t;
    const dtp_v1_frame_t *f = &t->frames[number];
    int n = f->nvars;
    int32_t *init = dtp_import_alloc(&t->memory, sizeof *init * 4 * (size_t)n);
    if (!init) return dnnl_tp_out_of_memory;
    int32_t *var = init + n, *next = var + n, *out = next + n;
    TRY(dnnl_tp_graph_create_region(&region[0], around));
    for (int i = 0; i < n; ++i) {
        dtp_v1_node_t *merge = &t->nodes[f->vars[i]];
        dnnl_tp_tensor_info_t info;
        init[i] = dtp_v1_value(t, (dtp_v1_tensor_t){merge->enter, 0});
        TRY(dnnl_tp_graph_value_info(t->graph, init[i], &info));
        TRY(dnnl_tp_graph_input(region[0], &var[i], merge->v1->name, info.data_type, info.ndims, info.dims));
        merge->values = &var[i];
    }
    TRY(emit_block(e, region[0], (block_t){number, 0}));
    int32_t test = dtp_v1_value(t, (dtp_v1_tensor_t){f->loop_cond, 0});
    TRY(dnnl_tp_graph_create_region(&region[1], region[0]));
    TRY(emit_block(e, region[1], (block_t){number, 1}));
    for (int i = 0; i < n; ++i) next[i] = dtp_v1_value(t, (dtp_v1_tensor_t){t->nodes[f->vars[i]].next, 0});
    TRY(dnnl_tp_graph_while(around, f->name, region[0], test, region[1], n, init, var, next, f->window, out));
    TRY(dtp_v1_made(t, n, out));
    for (int i = 0; i < n; ++i) {
        t->nodes[f->vars[i]].result = out[i];
        if (t->nodes[f->vars[i]].target) TRY(dnnl_tp_graph_target(around, out[i]));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_block(emit_t *e, dnnl_tp_graph_t region, block_t block) {
    int number = block_number(block);
    for (int k = e->first[number]; k < e->first[number + 1]; ++k) {
        int item = e->items[k], compound = item - e->t->n;
        if (compound < 0) {
            TRY(dtp_v1_emit_node(e->t, region, item));
            continue;
        }
        dnnl_tp_graph_t inner[2] = {NULL, NULL};
        dnnl_tp_status_t status = e->compounds[compound].loop ? emit_loop(e, region, compound, inner)
                                                              : emit_if(e, region, compound, inner);
        dnnl_tp_graph_destroy(inner[1]);
        dnnl_tp_graph_destroy(inner[0]);
        TRY(status);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_v1_emit(dtp_v1_t *t) {
    emit_t e = {.t = t};
    TRY(unite_all(&e));
    TRY(locate_all(&e));
    TRY(sort(&e));
    t->building = true;
    return emit_block(&e, t->graph, (block_t){-1, 0});
}
