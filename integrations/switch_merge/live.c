/* When nodes of Switch/Merge graphs are alive, see live.h. */
#include "switch_merge/live.h"

enum { MAX_CHOICES = 1 << 18, MAX_VARS = 4096, MEMO = 1 << 12, TABLE = 64 };

/* ---- Boolean functions ------------------------------------------------------------------------------- */

static unsigned hash(int a, int b, int c) {
    uint64_t x = (uint64_t)(unsigned)a * 0x9e3779b97f4a7c15u ^ (uint64_t)(unsigned)b * 0xc2b2ae3d27d4eb4fu ^
                 (uint64_t)(unsigned)c * 0x165667b19e3779f9u;
    return (unsigned)((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 32);
}

static void enter(dtp_live_t *l, int number) {
    const struct dtp_live_choice *c = &l->choices[number];
    unsigned at = hash(c->var, c->yes, c->no);
    while (l->table[at %= (unsigned)l->table_size]) ++at;
    l->table[at] = number + 1;
}

/* The number of "if var then yes else no"; -1: too many, or no memory (last error). */
static int choice(dtp_live_t *l, int var, int yes, int no) {
    if (yes == no) return yes;
    for (unsigned at = hash(var, yes, no); l->table[at %= (unsigned)l->table_size]; ++at) {
        const struct dtp_live_choice *c = &l->choices[l->table[at] - 1];
        if (c->var == var && c->yes == yes && c->no == no) return l->table[at] - 1;
    }
    if (dtp_import_grow(&l->t->memory, (void **)&l->choices, &l->cap_choices, l->nchoices + 1,
                        sizeof *l->choices) != dnnl_tp_success)
        return -1;
    if (l->nchoices * 2 >= l->table_size) {
        l->table_size *= 4;
        l->table = dtp_import_alloc(&l->t->memory, sizeof *l->table * (size_t)l->table_size);
        if (!l->table) return -1;
        for (int i = 2; i < l->nchoices; ++i) enter(l, i);
    }
    l->choices[l->nchoices] = (struct dtp_live_choice){var, yes, no};
    enter(l, l->nchoices);
    return l->nchoices++;
}

static int var_at_top(const dtp_live_t *l, int f) { return f < 2 ? MAX_VARS : l->choices[f].var; }
static int side(const dtp_live_t *l, int f, int var, bool yes) {
    if (var_at_top(l, f) != var) return f;
    return yes ? l->choices[f].yes : l->choices[f].no;
}

/* If f then g else h. Negative arguments and results: failure. */
static int ite(dtp_live_t *l, int f, int g, int h) {
    if (f < 0 || g < 0 || h < 0 || l->nchoices > MAX_CHOICES) return -1;
    if (f < 2) return f ? g : h;
    if (g == h) return g;
    if (g == 1 && h == 0) return f;
    struct dtp_live_memo *m = &l->memo[hash(f, g, h) % MEMO];
    if (m->f == f && m->g == g && m->h == h) return m->result;
    const int vars[3] = {var_at_top(l, f), var_at_top(l, g), var_at_top(l, h)};
    int var = vars[0];
    for (int k = 1; k < 3; ++k) var = vars[k] < var ? vars[k] : var;
    int yes = ite(l, side(l, f, var, true), side(l, g, var, true), side(l, h, var, true));
    int no = ite(l, side(l, f, var, false), side(l, g, var, false), side(l, h, var, false));
    int result = yes < 0 || no < 0 ? -1 : choice(l, var, yes, no);
    if (result >= 0) *m = (struct dtp_live_memo){f, g, h, result};
    return result;
}

static int both(dtp_live_t *l, int f, int g) { return ite(l, f, g, DTP_LIVE_NEVER); }
static int either(dtp_live_t *l, int f, int g) { return ite(l, f, DTP_LIVE_ALWAYS, g); }

/* ---- Nodes ------------------------------------------------------------------------------------------- */

/* The function "the predicate x is true". */
static int predicate(dtp_live_t *l, dtp_v1_tensor_t x) {
    x = dtp_v1_origin(l->t, x, true);
    int *known = x.out < 2 ? &l->var_of[2 * x.node + x.out] : NULL, var = known ? *known - 1 : -1;
    for (int k = 0; !known && k < l->nvars; ++k)
        if (l->vars[k].node == x.node && l->vars[k].out == x.out) var = k;
    if (var < 0) {
        if (l->nvars == MAX_VARS || dtp_import_grow(&l->t->memory, (void **)&l->vars, &l->cap_vars,
                                                    l->nvars + 1, sizeof *l->vars) != dnnl_tp_success)
            return -1;
        var = l->nvars++;
        l->vars[var] = x;
        if (known) *known = l->nvars;
    }
    return choice(l, var, DTP_LIVE_ALWAYS, DTP_LIVE_NEVER);
}

int dtp_live_of(const dtp_live_t *l, dtp_v1_tensor_t x) {
    bool is_switch = l->t->nodes[x.node].v1->kind == dnnl_tp_v1_switch;
    return is_switch ? l->port[x.out][x.node] : l->node[x.node];
}

static dnnl_tp_status_t too_many(const dtp_live_t *l, int node) {
    if (l->nchoices <= MAX_CHOICES && l->nvars < MAX_VARS) return dnnl_tp_out_of_memory;
    return dtp_v1_refuse(l->t, node, "it depends on too many conditions");
}

dnnl_tp_status_t dtp_live_dead(dtp_live_t *l, dtp_v1_tensor_t x, int *dead) {
    *dead = ite(l, dtp_live_of(l, x), DTP_LIVE_NEVER, DTP_LIVE_ALWAYS);
    return *dead < 0 ? too_many(l, x.node) : dnnl_tp_success;
}

static dnnl_tp_status_t find(dtp_live_t *l, int i) {
    const dtp_v1_node_t *node = &l->t->nodes[i];
    const dnnl_tp_v1_kind_t kind = node->v1->kind;
    int f = kind == dnnl_tp_v1_merge ? DTP_LIVE_NEVER : DTP_LIVE_ALWAYS, crowd = DTP_LIVE_NEVER;
    for (int k = 0; k < node->ndata + node->ncontrol; ++k) {
        if (node->in[k].node < 0) continue;
        int in = k < node->ndata ? dtp_live_of(l, node->in[k]) : l->node[node->in[k].node];
        if (kind != dnnl_tp_v1_merge) {
            f = both(l, f, in);
        } else if (k < node->ndata) { /* what it waits for besides may be dead */
            crowd = either(l, crowd, both(l, f, in));
            f = either(l, f, in);
        }
    }
    l->node[i] = f;
    l->crowd[i] = crowd;
    if (kind == dnnl_tp_v1_switch) {
        int p = predicate(l, node->in[1]);
        l->port[0][i] = ite(l, p, DTP_LIVE_NEVER, f);
        l->port[1][i] = both(l, f, p);
        if (l->port[0][i] < 0 || l->port[1][i] < 0) f = -1;
    }
    if (f < 0 || crowd < 0) return too_many(l, i);
    if (crowd != DTP_LIVE_NEVER && crowd == f)
        return dtp_v1_refuse(l->t, i, "two of its inputs are alive together whenever one is");
    if (kind == dnnl_tp_v1_input && f != DTP_LIVE_ALWAYS)
        return dtp_v1_refuse(l->t, i, "an input of the graph inside of control flow");
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_live_find(dtp_live_t *l, dtp_v1_t *t) {
    size_t n = (size_t)t->n;
    *l = (dtp_live_t){.t = t, .nchoices = 2, .cap_choices = 0, .table_size = TABLE};
    l->table = dtp_import_alloc(&t->memory, sizeof *l->table * TABLE);
    l->memo = dtp_import_alloc(&t->memory, sizeof *l->memo * MEMO);
    l->var_of = dtp_import_alloc(&t->memory, sizeof *l->var_of * 2 * n);
    l->node = dtp_import_alloc(&t->memory, sizeof *l->node * n);
    l->port[0] = dtp_import_alloc(&t->memory, sizeof *l->node * n);
    l->port[1] = dtp_import_alloc(&t->memory, sizeof *l->node * n);
    l->crowd = dtp_import_alloc(&t->memory, sizeof *l->node * n);
    if (!l->table || !l->memo || !l->var_of || !l->node || !l->port[0] || !l->port[1] || !l->crowd)
        return dnnl_tp_out_of_memory;
    for (int i = 0; i < t->n; ++i) TRY(find(l, t->order[i]));
    return dnnl_tp_success;
}
