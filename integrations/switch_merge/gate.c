/* Import of acyclic Switch/Merge graphs without structure: Ifs of what is alive together; see
 * live.h.
 *
 * Operators and closures with one liveness form groups, each an If on it; a group stands behind all that its
 * nodes need (its level), so of one liveness there may be several. Inputs, constants and Merges stand in the
 * graph itself. What a group makes for others is a result of its If, anything when it did not run: who reads
 * it then is not alive either. A Merge chooses by the liveness of its inputs. What cannot be excluded
 * beforehand, two live inputs of a Merge or an output that is dead, is an If around a closure that fails. */
#include <stdio.h>
#include <stdlib.h>

#include "switch_merge/live.h"

typedef struct {
    int level, home, at; /* at: in the order of the nodes */
} item_t;

typedef struct {
    dtp_v1_t *t;
    dtp_live_t live;
    int *level;       /* per node */
    int *gate_level;  /* per choice: 1 + where it can be computed */
    int32_t *gate;    /* per choice: a value of the graph, 0 or 1; -1: none yet */
    uint8_t **wanted; /* per node: outputs that others need */
    item_t *items;
    int nitems;
} gates_t;

static bool is_gated(const dtp_v1_node_t *node) {
    return node->v1->kind == dnnl_tp_v1_op || node->v1->kind == dnnl_tp_v1_host;
}
/* What a node's group is alive with. */
static int home(const gates_t *g, int i) {
    return is_gated(&g->t->nodes[i]) ? g->live.node[i] : DTP_LIVE_ALWAYS;
}
static bool stands_for_others(dnnl_tp_v1_kind_t kind) {
    return kind == dnnl_tp_v1_identity || kind == dnnl_tp_v1_switch || kind == dnnl_tp_v1_no_op;
}

/* ---- What needs what --------------------------------------------------------------------------------- */

typedef void (*need_fn_t)(gates_t *g, int later, dtp_v1_tensor_t from);
typedef struct {
    gates_t *g;
    int later;
    need_fn_t fn;
} need_t;
static dnnl_tp_status_t need(void *arg, int maker) {
    const need_t *n = arg;
    n->fn(n->g, n->later, (dtp_v1_tensor_t){maker, 0});
    return dnnl_tp_success;
}

/* All that node i waits for: makers of its data, what these and it are ordered behind. */
static void need_all(gates_t *g, int i, need_fn_t fn) {
    const dtp_v1_node_t *node = &g->t->nodes[i];
    (void)dtp_v1_each_before(g->t, i, true, need, &(need_t){g, i, fn}); /* cannot fail: need does not */
    for (int k = 0; k < node->ndata; ++k)
        if (node->in[k].node >= 0) fn(g, i, dtp_v1_origin(g->t, node->in[k], true));
}

static void raise(gates_t *g, int later, dtp_v1_tensor_t from) {
    int level = g->level[from.node] + (home(g, from.node) != home(g, later));
    if (level > g->level[later]) g->level[later] = level;
}

static void want(gates_t *g, int later, dtp_v1_tensor_t from) {
    bool inside =
        later >= 0 && home(g, from.node) == home(g, later) && g->level[from.node] == g->level[later];
    if (!inside && g->wanted[from.node]) g->wanted[from.node][from.out] = 1;
}

/* From this level on a liveness can be computed in the graph. */
static int gate_level(gates_t *g, int f) {
    if (f < 2) return 0;
    if (g->gate_level[f]) return g->gate_level[f] - 1;
    const struct dtp_live_choice *c = &g->live.choices[f];
    int maker = g->live.vars[c->var].node, level = g->level[maker] + (home(g, maker) != DTP_LIVE_ALWAYS);
    level = dtp_v1_max(level, dtp_v1_max(gate_level(g, c->yes), gate_level(g, c->no)));
    g->gate_level[f] = level + 1;
    return level;
}

static int by_level(const void *a, const void *b) {
    const item_t *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    bool x_first = x->home == DTP_LIVE_ALWAYS, y_first = y->home == DTP_LIVE_ALWAYS;
    if (x_first != y_first) return x_first ? -1 : 1;
    return x->home != y->home ? x->home < y->home ? -1 : 1 : x->at - y->at;
}

static dnnl_tp_status_t arrange(gates_t *g, int nout, const dtp_v1_tensor_t *out) {
    dtp_v1_t *t = g->t;
    size_t n = (size_t)t->n, choices = (size_t)g->live.nchoices;
    g->level = dtp_import_alloc(&t->memory, sizeof *g->level * n);
    g->wanted = dtp_import_alloc(&t->memory, sizeof *g->wanted * n);
    g->items = dtp_import_alloc(&t->memory, sizeof *g->items * n);
    g->gate_level = dtp_import_alloc(&t->memory, sizeof *g->gate_level * choices);
    if (!g->level || !g->wanted || !g->items || !g->gate_level) return dnnl_tp_out_of_memory;
    for (int at = 0; at < t->n; ++at) {
        int i = t->order[at];
        const dtp_v1_node_t *node = &t->nodes[i];
        if (stands_for_others(node->v1->kind)) continue;
        need_all(g, i, raise);
        int level = gate_level(g, home(g, i));
        for (int k = 0; node->v1->kind == dnnl_tp_v1_merge && k < node->ndata; ++k)
            level = dtp_v1_max(level, gate_level(g, dtp_live_of(&g->live, node->in[k])));
        if (level > g->level[i]) g->level[i] = level;
        g->items[g->nitems++] = (item_t){g->level[i], home(g, i), at};
        if (home(g, i) == DTP_LIVE_ALWAYS) continue;
        g->wanted[i] = dtp_import_alloc(&t->memory, (size_t)dtp_v1_nout(node->v1));
        if (!g->wanted[i]) return dnnl_tp_out_of_memory;
    }
    for (int k = 0; k < g->nitems; ++k) need_all(g, t->order[g->items[k].at], want);
    for (int k = 0; k < g->live.nvars; ++k) want(g, -1, g->live.vars[k]);
    for (int k = 0; k < nout; ++k) want(g, -1, dtp_v1_origin(t, out[k], true));
    qsort(g->items, (size_t)g->nitems, sizeof *g->items, by_level);
    return dnnl_tp_success;
}

/* ---- Building ---------------------------------------------------------------------------------------- */

static dnnl_tp_status_t gate_value(gates_t *g, int f, int32_t *value) {
    *value = g->gate[f];
    if (*value >= 0) return dnnl_tp_success;
    static const uint8_t data[2] = {0, 1};
    const dnnl_tp_dims_t none = {0};
    if (f < 2) {
        TRY(dnnl_tp_graph_constant(g->t->graph, value, NULL, dnnl_tp_u8, 0, none, &data[f],
                                   DNNL_TP_CONSTANT_COPY, NULL, NULL));
    } else {
        const struct dtp_live_choice *c = &g->live.choices[f];
        dtp_v1_tensor_t var = g->live.vars[c->var];
        int32_t yes, no;
        TRY(gate_value(g, c->yes, &yes));
        TRY(gate_value(g, c->no, &no));
        TRY(dnnl_tp_graph_if(g->t->graph, g->t->nodes[var.node].v1->name, dtp_v1_value(g->t, var), NULL, NULL,
                             1, &yes, &no, value));
        TRY(dtp_v1_made(g->t, 1, value));
    }
    g->gate[f] = *value;
    return dnnl_tp_success;
}

/* An If on f; region NULL: nothing to do. others: results when f is false, NULL: none. */
static dnnl_tp_status_t add_if(gates_t *g, int f, const char *name, dnnl_tp_graph_t region, int n,
                               const int32_t *values, const int32_t *others, int32_t *out) {
    dtp_v1_t *t = g->t;
    const struct dtp_live_choice *c = f < 2 ? NULL : &g->live.choices[f];
    bool plain = c && c->yes < 2 && c->no < 2, turned = plain && c->no; /* a predicate or its negation */
    int32_t pred, *none = NULL;
    if (plain) pred = dtp_v1_value(t, g->live.vars[c->var]);
    else TRY(gate_value(g, f, &pred));
    if (!others) {
        others = none = dtp_import_alloc(&t->memory, sizeof *none * (size_t)n);
        if (!none) return dnnl_tp_out_of_memory;
        for (int i = 0; i < n; ++i) none[i] = -1;
    }
    TRY(dnnl_tp_graph_if(t->graph, name, pred, turned ? NULL : region, turned ? region : NULL, n,
                         turned ? others : values, turned ? values : others, out));
    return dtp_v1_made(t, n, out);
}

/* The nodes of items from .. to - 1, of one group. */
static dnnl_tp_status_t fill(gates_t *g, dnnl_tp_graph_t region, int from, int to) {
    dtp_v1_t *t = g->t;
    int n = 0;
    for (int k = from; k < to; ++k) {
        int i = t->order[g->items[k].at];
        TRY(dtp_v1_emit_node(t, region, i));
        for (int o = 0; o < dtp_v1_nout(t->nodes[i].v1); ++o) n += g->wanted[i][o];
    }
    int32_t *values = dtp_import_alloc(&t->memory, sizeof *values * 2 * (size_t)n);
    if (!values) return dnnl_tp_out_of_memory;
    int32_t *out = values + n;
    n = 0;
    for (int k = from; k < to; ++k) {
        int i = t->order[g->items[k].at];
        for (int o = 0; o < dtp_v1_nout(t->nodes[i].v1); ++o)
            if (g->wanted[i][o]) values[n++] = t->nodes[i].values[o];
    }
    int first = t->order[g->items[from].at];
    TRY(add_if(g, g->items[from].home, t->nodes[first].v1->name, region, n, values, NULL, out));
    n = 0;
    for (int k = from; k < to; ++k) {
        int i = t->order[g->items[k].at];
        for (int o = 0; o < dtp_v1_nout(t->nodes[i].v1); ++o)
            t->nodes[i].values[o] = g->wanted[i][o] ? out[n++] : -1;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_merge(gates_t *g, int i) {
    dtp_v1_t *t = g->t;
    dtp_v1_node_t *node = &t->nodes[i];
    node->values = dtp_import_alloc(&t->memory, sizeof *node->values);
    if (!node->values) return dnnl_tp_out_of_memory;
    int last = node->ndata - 1;
    int32_t result = last > 0 ? dtp_v1_value(t, node->in[last]) : -1;
    for (int k = last > 0 ? last - 1 : 0; k >= 0; --k) {
        int32_t value = dtp_v1_value(t, node->in[k]), other = result;
        TRY(add_if(g, dtp_live_of(&g->live, node->in[k]), node->v1->name, NULL, 1, &value, &other, &result));
    }
    node->values[0] = result;
    return dtp_v1_order(t, t->graph, result, i);
}

/* ---- Mistakes that show in a run only ---------------------------------------------------------------- */

static dnnl_tp_status_t fail(void *arg, const volatile int *should_stop, int nin,
                             const dnnl_tp_host_arg_t *in, int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)nin, (void)in, (void)nout, (void)out, (void)should_stop;
    return dnnl_tp_invalid_graph;
}

/* A run fails when f is true. */
static dnnl_tp_status_t fail_if(gates_t *g, int f, const char *name, const char *what) {
    dtp_v1_t *t = g->t;
    size_t room = strlen(name) + strlen(what) + 3;
    char *text = dtp_import_alloc(&t->memory, room);
    if (!text) return dnnl_tp_out_of_memory;
    snprintf(text, room, "%s: %s", name, what);
    dnnl_tp_graph_t region;
    TRY(dnnl_tp_graph_create_region(&region, t->graph));
    dnnl_tp_status_t status = dnnl_tp_graph_host(region, fail, NULL, NULL, 0, text, 0, NULL, 0, NULL, NULL);
    if (status == dnnl_tp_success) status = add_if(g, f, text, region, 0, NULL, NULL, NULL);
    dnnl_tp_graph_destroy(region);
    return status;
}

/* ---- The whole --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t emit(gates_t *g) {
    dtp_v1_t *t = g->t;
    for (int k = 0, end; k < g->nitems; k = end) {
        const item_t *x = &g->items[k];
        int i = t->order[x->at];
        end = k + 1;
        if (x->home == DTP_LIVE_ALWAYS) {
            TRY(t->nodes[i].v1->kind == dnnl_tp_v1_merge ? emit_merge(g, i)
                                                         : dtp_v1_emit_node(t, t->graph, i));
            continue;
        }
        while (end < g->nitems && g->items[end].level == x->level && g->items[end].home == x->home) ++end;
        dnnl_tp_graph_t region;
        TRY(dnnl_tp_graph_create_region(&region, t->graph));
        dnnl_tp_status_t status = fill(g, region, k, end);
        dnnl_tp_graph_destroy(region);
        TRY(status);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_v1_emit_gated(dtp_v1_t *t, int nout, const dtp_v1_tensor_t *out,
                                   const char *const *names) {
    gates_t g = {.t = t};
    TRY(dtp_live_find(&g.live, t));
    int *dead = dtp_import_alloc(&t->memory, sizeof *dead * (size_t)nout);
    if (!dead) return dnnl_tp_out_of_memory;
    for (int k = 0; k < nout; ++k) {
        TRY(dtp_live_dead(&g.live, out[k], &dead[k]));
        if (dead[k] == DTP_LIVE_ALWAYS)
            return dtp_v1_refuse(t, out[k].node, "output '%.100s' is never alive", names[k]);
    }
    TRY(arrange(&g, nout, out));
    g.gate = dtp_import_alloc(&t->memory, sizeof *g.gate * (size_t)g.live.nchoices);
    if (!g.gate) return dnnl_tp_out_of_memory;
    for (int f = 0; f < g.live.nchoices; ++f) g.gate[f] = -1;
    t->building = t->gated = true;
    TRY(emit(&g));
    for (int i = 0; i < t->n; ++i)
        if (g.live.crowd[i] != DTP_LIVE_NEVER)
            TRY(fail_if(&g, g.live.crowd[i], t->nodes[i].v1->name, "two inputs of the Merge are alive"));
    for (int k = 0; k < nout; ++k)
        if (dead[k] != DTP_LIVE_NEVER) TRY(fail_if(&g, dead[k], names[k], "the output is dead"));
    return dnnl_tp_success;
}
