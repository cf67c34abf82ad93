/* The interpreter, see v1_tokens.h: values are asked for, per node and iteration of the loops around it, and kept in
 * a table. A Merge that reads a NextIteration begins a loop's variable; an Exit has its value in the first
 * iteration in which what it leaves with is alive. */
#include "v1_tokens.h"

#include <string.h>

enum { TRIPS = 15, CELLS = 1 << 14, NONE = -1 };

/* An iteration of each frame around a node, innermost last. */
typedef struct {
    int depth;
    uint8_t at[V1_DEPTH];
} where_t;
typedef struct {
    uint32_t key; /* 0: free */
    bool busy, alive;
    int32_t value, pred; /* of a Switch: the port that is alive */
} token_t;

typedef struct {
    const v1_program_t *p;
    const int32_t *inputs;
    v1_result_t *r;
    int used;
    int loop_cond[V1_FRAMES];
    int depth[V1_NODES]; /* frames around a node; NONE: not yet known */
    int frames[V1_NODES][V1_DEPTH];
    bool looking[V1_NODES];
    token_t cell[CELLS];
} eval_t;

int32_t v1_compute(const v1_item_t *item, int number, int nin, const int32_t *in) {
    uint32_t x = (uint32_t)number * 2654435761u;
    for (int i = 0; i < nin; ++i) x = (x ^ (uint32_t)in[i]) * 0x9e3779b1u + 12345u, x ^= x >> 15;
    x = x >> 9 & 0xff;
    switch (item->fn) {
    case V1_BIT: return (int32_t)(x & 1);
    case V1_LESS: return nin > 0 && in[0] < item->number;
    case V1_INC: return nin > 0 ? (in[0] + 1) & 0xff : 1;
    default: return (int32_t)x;
    }
}
uint64_t v1_trace(int number, int32_t result) {
    return ((uint64_t)(unsigned)number << 20 | (uint64_t)(unsigned)result) * 0x9e3779b97f4a7c15u;
}

static const v1_item_t *item(const eval_t *e, int node) { return &e->p->item[node]; }

/* Enter and NextIteration of a loop's variable; false: it is none. */
static bool is_variable(const eval_t *e, int node, int *enter, int *next) {
    const v1_item_t *v = item(e, node);
    *enter = *next = NONE;
    if (v->kind != dnnl_tp_v1_merge) return false;
    for (int k = 0; k < v->ndata; ++k) {
        int from = v->in[k].node;
        if (item(e, from)->kind == dnnl_tp_v1_next_iteration) *next = from;
        else *enter = from;
    }
    return *next >= 0;
}

/* The frames that a node is in. */
static void find_frames(eval_t *e, int node) {
    const v1_item_t *v = item(e, node);
    if (e->depth[node] >= 0) return;
    if (e->looking[node]) {
        e->r->unsure = true;
        return;
    }
    e->looking[node] = true;
    int best = 0, enter, next;
    if (is_variable(e, node, &enter, &next)) {
        if (v->ndata != 2 || enter < 0) e->r->unsure = true;
        else {
            find_frames(e, enter);
            best = e->depth[enter];
            memcpy(e->frames[node], e->frames[enter], sizeof e->frames[node]);
        }
    } else {
        for (int k = 0; k < v->ndata + v->ncontrol; ++k) {
            int from = v->in[k].node;
            find_frames(e, from);
            if (e->depth[from] <= best) continue;
            best = e->depth[from];
            memcpy(e->frames[node], e->frames[from], sizeof e->frames[node]);
        }
    }
    if (v->kind == dnnl_tp_v1_exit && --best < 0) e->r->unsure = true, best = 0;
    if (v->kind == dnnl_tp_v1_enter) {
        if (best == V1_DEPTH) e->r->unsure = true, best = 0;
        e->frames[node][best++] = v->frame;
    }
    e->depth[node] = best < 0 ? 0 : best;
    e->looking[node] = false;
}

static token_t ask(eval_t *e, int node, where_t w);

static bool port_alive(eval_t *e, v1_ref_t x, where_t w, int32_t *value) {
    token_t t = ask(e, x.node, w);
    *value = t.value;
    return t.alive && (item(e, x.node)->kind != dnnl_tp_v1_switch || t.pred == x.out);
}

static token_t leave_loop(eval_t *e, const v1_item_t *v, where_t w) {
    token_t t = {0};
    if (w.depth == V1_DEPTH || e->depth[v->in[0].node] != w.depth + 1) {
        e->r->unsure = true;
        return t;
    }
    int test = e->loop_cond[e->frames[v->in[0].node][w.depth]];
    if (test < 0) e->r->unsure = true;
    for (int k = 0; !e->r->unsure; ++k) {
        where_t inside = w;
        inside.at[inside.depth++] = (uint8_t)k;
        if (port_alive(e, v->in[0], inside, &t.value)) {
            t.alive = true;
            break;
        }
        token_t goes_on = ask(e, test, inside);
        if (!goes_on.alive || !goes_on.value) break;
        if (k == TRIPS) e->r->unsure = true;
    }
    return t;
}

static token_t variable(eval_t *e, int enter, int next, where_t w) {
    token_t t = {0};
    if (w.depth == 0) {
        e->r->unsure = true;
        return t;
    }
    if (w.at[w.depth - 1] == 0) return ask(e, enter, w);
    --w.at[w.depth - 1];
    t.alive = port_alive(e, item(e, next)->in[0], w, &t.value);
    return t;
}

static token_t compute(eval_t *e, int node, where_t w) {
    const v1_item_t *v = item(e, node);
    token_t t = {.alive = true};
    int enter, next, nlive = 0;
    int32_t in[V1_IN] = {0};
    if (is_variable(e, node, &enter, &next)) return variable(e, enter, next, w);
    if (v->kind == dnnl_tp_v1_exit) return leave_loop(e, v, w);
    if (v->kind == dnnl_tp_v1_enter) {
        bool here = v->is_constant || (w.depth > 0 && w.at[w.depth - 1] == 0);
        if (w.depth == 0) e->r->unsure = true;
        if (w.depth == 0 || !here) return (token_t){0};
        --w.depth;
        /* A loop is where all its Enters are alive. */
        for (int i = 0; i < e->p->n; ++i) {
            int32_t ignored;
            if (item(e, i)->kind == dnnl_tp_v1_enter && item(e, i)->frame == v->frame &&
                !port_alive(e, item(e, i)->in[0], w, &ignored))
                t.alive = false;
        }
    }
    for (int k = 0; k < v->ndata; ++k) {
        int32_t value;
        bool is_live = port_alive(e, v->in[k], w, &value);
        if (v->kind == dnnl_tp_v1_merge && is_live && nlive++ == 0) t.value = value;
        if (v->kind != dnnl_tp_v1_merge && !is_live) t.alive = false;
        in[k] = value;
    }
    for (int k = 0; k < v->ncontrol; ++k)
        if (!ask(e, v->in[v->ndata + k].node, w).alive && v->kind != dnnl_tp_v1_merge) t.alive = false;
    switch (v->kind) {
    case dnnl_tp_v1_input: t.value = e->inputs[(unsigned)v->number % V1_INPUTS]; break;
    case dnnl_tp_v1_constant: t.value = v->number; break;
    case dnnl_tp_v1_host: t.value = v1_compute(v, node, v->ndata, in); break;
    case dnnl_tp_v1_merge:
        t.alive = nlive > 0;
        if (nlive > 1) e->r->crowd = true;
        break;
    default: t.value = in[0]; break;
    }
    t.pred = in[1] != 0;
    return t;
}

static token_t ask(eval_t *e, int node, where_t w) {
    find_frames(e, node);
    if (w.depth > e->depth[node]) w.depth = e->depth[node]; /* a constant that a loop reads */
    if (w.depth < e->depth[node]) e->r->unsure = true;
    if (e->r->unsure) return (token_t){0};
    uint32_t key = (uint32_t)node + 1, slot;
    for (int i = 0; i < w.depth; ++i) key = key * (TRIPS + 2) + w.at[i] + 1;
    key = key << 3 | (uint32_t)w.depth;
    for (slot = key * 2654435761u % CELLS; e->cell[slot].key && e->cell[slot].key != key;)
        slot = (slot + 1) % CELLS;
    token_t *t = &e->cell[slot];
    if (t->key && !t->busy) return *t;
    if (t->busy || ++e->used > CELLS / 2) {
        e->r->unsure = true;
        return (token_t){0};
    }
    *t = (token_t){.key = key, .busy = true};
    token_t got = compute(e, node, w);
    got.key = key;
    got.busy = false;
    return *t = got;
}

/* All calls of a closure: in each iteration of the loops around it. */
static void call_all(eval_t *e, int node, where_t w) {
    if (w.depth == e->depth[node]) {
        token_t t = ask(e, node, w);
        if (t.alive && item(e, node)->kind == dnnl_tp_v1_host) e->r->trace += v1_trace(node, t.value);
        return;
    }
    int test = e->loop_cond[e->frames[node][w.depth]];
    if (test < 0) e->r->unsure = true;
    ++w.depth;
    for (int k = 0; !e->r->unsure; ++k) {
        if (k == TRIPS) e->r->unsure = true;
        w.at[w.depth - 1] = (uint8_t)k;
        token_t goes_on = ask(e, test, w);
        if (!goes_on.alive) break;
        call_all(e, node, w);
        if (!goes_on.value) break;
    }
}

void v1_interpret(const v1_program_t *p, const int32_t *inputs, v1_result_t *r) {
    static eval_t e;
    memset(&e, 0, sizeof e);
    memset(r, 0, sizeof *r);
    e.p = p;
    e.inputs = inputs;
    e.r = r;
    for (int f = 0; f < V1_FRAMES; ++f) e.loop_cond[f] = NONE;
    for (int i = 0; i < p->n; ++i) e.depth[i] = NONE;
    for (int i = 0; i < p->n; ++i) {
        for (int k = 0; k < p->item[i].ndata + p->item[i].ncontrol; ++k)
            if (p->item[i].in[k].node < 0) r->unsure = true;
        if (p->item[i].kind == dnnl_tp_v1_op) r->unsure = true; /* not on whole numbers */
    }
    for (int i = 0; i < p->n && !r->unsure; ++i) {
        find_frames(&e, i);
        if (p->item[i].kind == dnnl_tp_v1_loop_cond && e.depth[i] > 0)
            e.loop_cond[e.frames[i][e.depth[i] - 1]] = i;
    }
    const where_t root = {0};
    for (int i = 0; i < p->n && !r->unsure; ++i) call_all(&e, i, root);
    for (int k = 0; k < p->nout && !r->unsure; ++k)
        r->dead[k] = p->out[k].node >= 0 && !port_alive(&e, p->out[k], root, &r->out[k]);
}
