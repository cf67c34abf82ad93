/* Import of Switch/Merge graphs: names, order, frames and contexts; see import.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "switch_merge/import.h"

enum { MAX_NODES = 1 << 24, MAX_INPUTS = 1 << 20, TEXT = 400, MAX_DEPTH = 128 };

const char *dtp_v1_kind_name(dnnl_tp_v1_kind_t kind) {
    static const char *const names[] = {"input",    "constant", "operator",      "host",
                                        "Identity", "NoOp",     "Switch",        "Merge",
                                        "Enter",    "Exit",     "NextIteration", "LoopCond"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown kind";
}

dnnl_tp_status_t dtp_v1_refuse(const dtp_v1_t *t, int node, const char *format, ...) {
    char text[TEXT];
    const dnnl_tp_v1_node_t *v = t->nodes[node].v1;
    const int used = snprintf(text, sizeof text, "node '%.100s' (%s): ", v->name, dtp_v1_kind_name(v->kind));
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    return dnnl_tp_fail(dnnl_tp_invalid_graph, text);
}
/* invalid_arguments with a text. */
static dnnl_tp_status_t wrong_call(const char *format, ...) __attribute__((format(printf, 1, 2), cold));
static dnnl_tp_status_t wrong_call(const char *format, ...) {
    char text[TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return dnnl_tp_fail(dnnl_tp_invalid_arguments, text);
}
#define CHECK(cond, node, ...)                                          \
    do {                                                                \
        if (!(cond)) {                                                  \
            (void)dtp_v1_refuse(t, node, __VA_ARGS__);                  \
            return dnnl_tp_invalid_graph; /* compilers see a failure */ \
        }                                                               \
    } while (0)

int dtp_v1_nout(const dnnl_tp_v1_node_t *v) {
    switch (v->kind) {
    case dnnl_tp_v1_host: return v->nout;
    case dnnl_tp_v1_no_op: return 0;
    case dnnl_tp_v1_switch: return 2;
    default: return 1;
    }
}

/* ---- Names ------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    int node;
} name_t;

static int by_name(const void *a, const void *b) {
    return strcmp(((const name_t *)a)->name, ((const name_t *)b)->name);
}

typedef struct {
    name_t *sorted;
    int n;
} names_t;

static int find_name(const names_t *names, const char *text, size_t size) {
    int lo = 0, hi = names->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2, c = strncmp(names->sorted[mid].name, text, size);
        if (c == 0 && names->sorted[mid].name[size]) c = 1;
        if (c == 0) return names->sorted[mid].node;
        if (c < 0) lo = mid + 1;
        else hi = mid;
    }
    return -1;
}

/* "name", "name:3", "^name"; -1: there is no such node; -2: the number is none. */
static int parse(const names_t *names, const char *text, dtp_v1_tensor_t *x, bool *control) {
    *control = *text == '^';
    text += *control;
    const char *colon = strrchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    x->out = 0;
    if (colon) {
        char *end;
        long out = strtol(colon + 1, &end, 10);
        if (*end || end == colon + 1 || out < 0 || out > INT32_MAX || colon[1] == '+' || colon[1] == ' ')
            return -2;
        x->out = (int)out;
    }
    x->node = find_name(names, text, size);
    return x->node < 0 ? -1 : 0;
}

static dnnl_tp_status_t read_node(dtp_v1_t *t, const names_t *names, int i) {
    dtp_v1_node_t *node = &t->nodes[i];
    const dnnl_tp_v1_node_t *v = node->v1;
    dtp_v1_tensor_t *in = dtp_import_alloc(&t->memory, sizeof *in * (size_t)v->nin);
    if (!in) return dnnl_tp_out_of_memory;
    node->in = in;
    for (int k = 0; k < v->nin; ++k) {
        bool control;
        CHECK(v->in[k], i, "input %d is NULL", k);
        if (!*v->in[k] && v->kind == dnnl_tp_v1_op && !node->ncontrol) {
            in[node->ndata++] = (dtp_v1_tensor_t){-1, 0};
            continue;
        }
        int bad = parse(names, v->in[k], &in[k], &control);
        CHECK(bad != -1, i, "input '%.100s' is not there", v->in[k]);
        CHECK(bad == 0, i, "input '%.100s': the output is no number", v->in[k]);
        CHECK(control || !node->ncontrol, i, "input '%.100s' stands behind a control input", v->in[k]);
        node->ncontrol += control;
        node->ndata += !control;
        CHECK(control || in[k].out < dtp_v1_nout(t->nodes[in[k].node].v1), i,
              "input '%.100s': that node has %d outputs", v->in[k], dtp_v1_nout(t->nodes[in[k].node].v1));
    }
    static const int want[] = {0, 0, -1, -1, 1, 0, 2, -1, 1, 1, 1, 1};
    CHECK(want[v->kind] < 0 || node->ndata == want[v->kind], i, "%d inputs, needed are %d", node->ndata,
          want[v->kind]);
    CHECK(v->kind != dnnl_tp_v1_merge || node->ndata > 0, i, "it has no inputs");
    CHECK(v->kind != dnnl_tp_v1_input || !node->ncontrol, i, "an input of the graph waits for nothing");
    CHECK(v->kind != dnnl_tp_v1_enter || (v->frame && *v->frame), i, "it has no frame");
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_nodes(dtp_v1_t *t, const dnnl_tp_v1_node_t *nodes, names_t *names) {
    names->sorted = dtp_import_alloc(&t->memory, sizeof *names->sorted * (size_t)t->n);
    if (!names->sorted) return dnnl_tp_out_of_memory;
    for (int i = 0; i < t->n; ++i) {
        t->nodes[i] = (dtp_v1_node_t){
            .v1 = &nodes[i], .context = -1, .frame = -1, .enter = -1, .next = -1, .pair = -1, .slot = -1};
        if (!nodes[i].name || !*nodes[i].name) return wrong_call("node %d has no name", i);
        CHECK((unsigned)nodes[i].kind <= dnnl_tp_v1_loop_cond, i, "kind %d is not known", (int)nodes[i].kind);
        CHECK(nodes[i].nin >= 0 && nodes[i].nin <= MAX_INPUTS && (nodes[i].nin == 0 || nodes[i].in), i,
              "%d inputs", nodes[i].nin);
        CHECK(nodes[i].kind != dnnl_tp_v1_host || (nodes[i].nout >= 0 && nodes[i].nout <= MAX_INPUTS), i,
              "%d outputs", nodes[i].nout);
        names->sorted[i] = (name_t){nodes[i].name, i};
    }
    names->n = t->n;
    qsort(names->sorted, (size_t)t->n, sizeof *names->sorted, by_name);
    for (int i = 1; i < t->n; ++i)
        CHECK(strcmp(names->sorted[i - 1].name, names->sorted[i].name), names->sorted[i].node,
              "two nodes have this name");
    for (int i = 0; i < t->n; ++i) TRY(read_node(t, names, i));
    return dnnl_tp_success;
}

/* ---- Order ------------------------------------------------------------------------------------------- */

static bool is_kind(const dtp_v1_t *t, int node, dnnl_tp_v1_kind_t kind) {
    return node >= 0 && t->nodes[node].v1->kind == kind;
}
/* Input k of a node: what comes around in a loop. */
static bool back_edge(const dtp_v1_t *t, int node, int k) {
    const dtp_v1_node_t *to = &t->nodes[node];
    return k < to->ndata && is_kind(t, to->in[k].node, dnnl_tp_v1_next_iteration) &&
           to->v1->kind == dnnl_tp_v1_merge;
}

static dnnl_tp_status_t find_frames(dtp_v1_t *t) {
    int n = 0;
    name_t *enters = dtp_import_alloc(&t->memory, sizeof *enters * (size_t)t->n);
    if (!enters) return dnnl_tp_out_of_memory;
    for (int i = 0; i < t->n; ++i)
        if (is_kind(t, i, dnnl_tp_v1_enter)) enters[n++] = (name_t){t->nodes[i].v1->frame, i};
    qsort(enters, (size_t)n, sizeof *enters, by_name);
    for (int k = 0; k < n; ++k) {
        if (k == 0 || strcmp(enters[k - 1].name, enters[k].name)) {
            TRY(dtp_import_grow(&t->memory, (void **)&t->frames, &t->cap_frames, t->nframes + 1,
                                sizeof *t->frames));
            t->frames[t->nframes++] =
                (dtp_v1_frame_t){.name = enters[k].name, .base = -1, .loop_cond = -1, .slot = -1};
        }
        dtp_v1_frame_t *f = &t->frames[t->nframes - 1];
        int window = t->nodes[enters[k].node].v1->parallel_iterations;
        if (window > f->window) f->window = window > 64 ? 64 : window;
        t->nodes[enters[k].node].frame = t->nframes - 1;
    }
    return dnnl_tp_success;
}

/* A node of the cycle: back along inputs that wait until one comes again. */
static dnnl_tp_status_t refuse_cycle(const dtp_v1_t *t, const int *left) {
    int at = 0;
    while (left[at] == 0) ++at;
    for (int steps = 0; steps <= t->n; ++steps) {
        const dtp_v1_node_t *node = &t->nodes[at];
        int from = -1;
        for (int k = 0; k < node->ndata + node->ncontrol; ++k)
            if (node->in[k].node >= 0 && left[node->in[k].node] && !back_edge(t, at, k))
                from = node->in[k].node;
        if (from < 0) break; /* it waits for all Enters of a frame, one of which is behind it */
        at = from;
    }
    return dtp_v1_refuse(t, at, "it is on a cycle that is not one of a loop (NextIteration to Merge)");
}

/* Kahn's algorithm. Behind the nodes stands one point for each frame: what reads an Enter comes after all
 * Enters of its frame, because only then it is known where the loop is. */
static dnnl_tp_status_t sort(dtp_v1_t *t) {
    int total = t->n + t->nframes, edges = 0;
    for (int i = 0; i < t->n; ++i) edges += 2 * (t->nodes[i].ndata + t->nodes[i].ncontrol) + 1;
    int *left = dtp_import_alloc(&t->memory, sizeof *left * (size_t)total);
    int *first = dtp_import_alloc(&t->memory, sizeof *first * (size_t)(total + 2));
    int *to = dtp_import_alloc(&t->memory, sizeof *to * (size_t)edges);
    int *queue = dtp_import_alloc(&t->memory, sizeof *queue * (size_t)total);
    t->order = dtp_import_alloc(&t->memory, sizeof *t->order * (size_t)t->n);
    if (!left || !first || !to || !queue || !t->order) return dnnl_tp_out_of_memory;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < t->n; ++i) {
            const dtp_v1_node_t *node = &t->nodes[i];
#define EDGE(from, target) \
    (pass == 0 ? (void)++first[(from) + 2] : (void)(++left[target], to[first[(from) + 1]++] = (target)))
            for (int k = 0; k < node->ndata + node->ncontrol; ++k) {
                int from = node->in[k].node;
                if (from < 0 || back_edge(t, i, k)) continue;
                EDGE(from, i);
                if (is_kind(t, from, dnnl_tp_v1_enter)) EDGE(t->n + t->nodes[from].frame, i);
            }
            if (node->v1->kind == dnnl_tp_v1_enter) EDGE(i, t->n + node->frame);
#undef EDGE
        }
        for (int i = 0; pass == 0 && i < total; ++i) first[i + 2] += first[i + 1];
    }
    int head = 0, tail = 0, done = 0;
    for (int i = 0; i < total; ++i)
        if (left[i] == 0) queue[tail++] = i;
    while (head < tail) {
        int i = queue[head++];
        if (i < t->n) t->order[done++] = i;
        for (int k = first[i]; k < first[i + 1]; ++k)
            if (--left[to[k]] == 0) queue[tail++] = to[k];
    }
    return done == t->n ? dnnl_tp_success : refuse_cycle(t, left);
}

/* ---- Contexts ---------------------------------------------------------------------------------------- */

static int *bucket_of(const dtp_v1_t *t, const dtp_v1_context_t *c) {
    uint32_t hash = (uint32_t)c->parent * 8 + (uint32_t)c->kind;
    if (c->kind == DTP_V1_SIDE)
        hash = (hash * 0x9e3779b1u + (uint32_t)c->pred.node) * 0x85ebca6bu +
               (uint32_t)(c->pred.out * 2 + c->side);
    else hash = hash * 0x9e3779b1u + (uint32_t)c->frame;
    hash ^= hash >> 15;
    return &t->buckets[hash * 0x2c1b3c6du >> 8 & (uint32_t)(t->nbuckets - 1)];
}

static void put_in_bucket(dtp_v1_t *t, int id) {
    int *bucket = bucket_of(t, &t->contexts[id]);
    t->contexts[id].next = *bucket;
    *bucket = id;
}

static dnnl_tp_status_t more_buckets(dtp_v1_t *t) {
    enum { LEAST = 64, MOST = 1 << 24 };
    if (t->ncontexts < t->nbuckets || t->nbuckets == MOST) return dnnl_tp_success;
    int n = t->nbuckets ? 4 * t->nbuckets : LEAST,
        *buckets = dtp_import_alloc(&t->memory, sizeof *buckets * (size_t)n);
    if (!buckets) return dnnl_tp_out_of_memory;
    memset(buckets, 0xff, sizeof *buckets * (size_t)n);
    t->buckets = buckets;
    t->nbuckets = n;
    for (int id = 0; id < t->ncontexts; ++id) put_in_bucket(t, id);
    return dnnl_tp_success;
}

static bool same_context(const dtp_v1_context_t *a, const dtp_v1_context_t *b) {
    if (a->parent != b->parent || a->kind != b->kind) return false;
    if (a->kind != DTP_V1_SIDE) return a->frame == b->frame;
    return a->pred.node == b->pred.node && a->pred.out == b->pred.out && a->side == b->side;
}

static dnnl_tp_status_t context_of(dtp_v1_t *t, dtp_v1_context_t want, int *id) {
    for (int c = *bucket_of(t, &want); c >= 0; c = t->contexts[c].next)
        if (same_context(&t->contexts[c], &want)) {
            *id = c;
            return dnnl_tp_success;
        }
    TRY(dtp_import_grow(&t->memory, (void **)&t->contexts, &t->cap_contexts, t->ncontexts + 1,
                        sizeof *t->contexts));
    TRY(more_buckets(t));
    const dtp_v1_context_t *parent = &t->contexts[want.parent];
    want.depth = parent->depth + 1;
    want.loops = parent->loops + (want.kind == DTP_V1_TEST);
    want.sides = parent->sides + (want.kind == DTP_V1_SIDE);
    t->contexts[t->ncontexts] = want;
    *id = t->ncontexts++;
    put_in_bucket(t, *id);
    return dnnl_tp_success;
}

/* Is a on the path of b? */
static bool on_path(const dtp_v1_t *t, int a, int b) {
    while (t->contexts[b].depth > t->contexts[a].depth) b = t->contexts[b].parent;
    return a == b;
}

dtp_v1_tensor_t dtp_v1_origin(const dtp_v1_t *t, dtp_v1_tensor_t x, bool through_switches) {
    for (;;) {
        const dtp_v1_node_t *node = &t->nodes[x.node];
        bool pass = node->v1->kind == dnnl_tp_v1_identity ||
                    (through_switches && node->v1->kind == dnnl_tp_v1_switch && !node->loop_switch);
        if (!pass) return x;
        x = node->in[0];
    }
}

/* Where x is alive, once its node has its context. */
static dnnl_tp_status_t alive(dtp_v1_t *t, dtp_v1_tensor_t x, int *context) {
    const dtp_v1_node_t *node = &t->nodes[x.node];
    *context = node->context;
    if (node->v1->kind == dnnl_tp_v1_enter)
        return context_of(t,
                          (dtp_v1_context_t){.kind = DTP_V1_TEST,
                                             .parent = t->frames[node->frame].base,
                                             .frame = node->frame},
                          context);
    if (node->v1->kind != dnnl_tp_v1_switch) return dnnl_tp_success;
    dtp_v1_tensor_t pred = dtp_v1_origin(t, node->in[1], true);
    if (!node->loop_switch)
        return context_of(
            t, (dtp_v1_context_t){.kind = DTP_V1_SIDE, .parent = node->context, .pred = pred, .side = x.out},
            context);
    int frame = t->contexts[node->context].frame;
    return context_of(t,
                      (dtp_v1_context_t){.kind = x.out ? DTP_V1_BODY : DTP_V1_AFTER,
                                         .parent = node->context,
                                         .frame = frame},
                      context);
}

int dtp_v1_alive(const dtp_v1_t *t, dtp_v1_tensor_t x) {
    int context = 0;
    (void)alive((dtp_v1_t *)(uintptr_t)t, x, &context); /* it exists since the analysis */
    return context;
}

/* The longest of the inputs' contexts; the others must lie on its path. */
static dnnl_tp_status_t join(dtp_v1_t *t, int i, int from, int to, int *context) {
    const dtp_v1_node_t *node = &t->nodes[i];
    int loops = -1;
    for (int k = from; k < to; ++k) {
        if (node->in[k].node < 0) continue;
        int c;
        if (k < node->ndata) TRY(alive(t, node->in[k], &c));
        else c = t->nodes[node->in[k].node].context;
        /* A control input from an Enter waits inside of the frame. */
        if (k >= node->ndata && is_kind(t, node->in[k].node, dnnl_tp_v1_enter))
            TRY(alive(t, node->in[k], &c));
        const dtp_v1_node_t *source = &t->nodes[node->in[k].node];
        bool free = source->v1->kind == dnnl_tp_v1_constant && source->v1->nin == 0;
        if (!free) {
            CHECK(loops < 0 || loops == t->contexts[c].loops, i,
                  "its inputs come from different frames; '%.100s' needs an Enter or Exit", source->v1->name);
            loops = t->contexts[c].loops;
        }
        if (on_path(t, *context, c)) *context = c;
        else
            CHECK(
                on_path(t, c, *context), i,
                "'%.100s' and another input are never alive together, or belong to conditions without order",
                source->v1->name);
    }
    CHECK(t->contexts[*context].depth <= MAX_DEPTH, i, "control flow is nested more than %d deep", MAX_DEPTH);
    return dnnl_tp_success;
}

static dnnl_tp_status_t place_loop_merge(dtp_v1_t *t, int i) {
    dtp_v1_node_t *node = &t->nodes[i];
    int next = is_kind(t, node->in[0].node, dnnl_tp_v1_next_iteration) ? 0 : 1;
    int enter = node->in[!next].node;
    CHECK(is_kind(t, enter, dnnl_tp_v1_enter), i, "beside its NextIteration it needs an Enter, not '%.100s'",
          t->nodes[enter].v1->name);
    CHECK(!t->nodes[enter].v1->is_constant, i, "its Enter '%.100s' is a constant one",
          t->nodes[enter].v1->name);
    CHECK(node->ncontrol == 0, i, "a Merge of a loop has no control inputs");
    node->frame = t->nodes[enter].frame;
    node->enter = enter;
    node->next = node->in[next].node;
    dtp_v1_frame_t *f = &t->frames[node->frame];
    TRY(dtp_import_grow(&t->memory, (void **)&f->vars, &f->cap_vars, f->nvars + 1, sizeof *f->vars));
    f->vars[f->nvars++] = i;
    return alive(t, node->in[!next], &node->context);
}

static dnnl_tp_status_t place_merge(dtp_v1_t *t, int i) {
    dtp_v1_node_t *node = &t->nodes[i];
    CHECK(node->ndata == 2, i, "%d inputs; only a Merge of two belongs to an If or a loop", node->ndata);
    for (int k = 0; k < 2; ++k)
        if (is_kind(t, node->in[k].node, dnnl_tp_v1_next_iteration)) return place_loop_merge(t, i);
    int c[2];
    for (int k = 0; k < 2; ++k) TRY(alive(t, node->in[k], &c[k]));
    const dtp_v1_context_t *a = &t->contexts[c[0]], *b = &t->contexts[c[1]];
    CHECK(!on_path(t, c[0], c[1]) && !on_path(t, c[1], c[0]), i, "both inputs can be alive");
    bool pair = a->kind == DTP_V1_SIDE && b->kind == DTP_V1_SIDE && a->parent == b->parent &&
                a->pred.node == b->pred.node && a->pred.out == b->pred.out && a->side != b->side;
    CHECK(pair, i, "its inputs are not the two sides of one predicate");
    node->side[a->side] = node->in[0];
    node->side[b->side] = node->in[1];
    node->pair = c[0];
    node->context = a->parent;
    return node->ncontrol ? join(t, i, 2, 2 + node->ncontrol, &node->context) : dnnl_tp_success;
}

static dnnl_tp_status_t place(dtp_v1_t *t, int i) {
    dtp_v1_node_t *node = &t->nodes[i];
    const dnnl_tp_v1_kind_t kind = node->v1->kind;
    if (kind == dnnl_tp_v1_merge) return place_merge(t, i);
    int context = 0;
    TRY(join(t, i, 0, node->ndata + node->ncontrol, &context));
    const dtp_v1_context_t *c = &t->contexts[context];
    node->context = context;
    CHECK(kind != dnnl_tp_v1_input || context == 0, i, "an input of the graph inside of control flow");
    if (kind == dnnl_tp_v1_enter) {
        dtp_v1_frame_t *f = &t->frames[node->frame];
        if (f->base < 0) f->base = 0;
        CHECK(on_path(t, f->base, context) || on_path(t, context, f->base), i,
              "it enters frame '%.64s' from another place than its other Enters", f->name);
        if (on_path(t, f->base, context)) f->base = context;
    } else if (kind == dnnl_tp_v1_loop_cond) {
        CHECK(c->kind == DTP_V1_TEST, i, "it is not in a frame, or behind its own Switch");
        dtp_v1_frame_t *f = &t->frames[c->frame];
        CHECK(f->loop_cond < 0, i, "frame '%.64s' has another one: '%.100s'", f->name,
              t->nodes[f->loop_cond].v1->name);
        f->loop_cond = i;
    } else if (kind == dnnl_tp_v1_switch) {
        int pred = dtp_v1_origin(t, node->in[1], true).node;
        node->loop_switch = is_kind(t, pred, dnnl_tp_v1_loop_cond);
        CHECK(!node->loop_switch || c->kind == DTP_V1_TEST, i,
              "a Switch on a LoopCond belongs to its frame, and to no condition in it");
    } else if (kind == dnnl_tp_v1_exit) {
        CHECK(c->kind == DTP_V1_AFTER, i, "its input is not output 0 of a Switch on a LoopCond");
        const dtp_v1_node_t *from = &t->nodes[dtp_v1_origin(t, node->in[0], false).node];
        CHECK(from->loop_switch, i, "its input is not output 0 of a Switch on a LoopCond");
        const dtp_v1_node_t *var = &t->nodes[dtp_v1_origin(t, from->in[0], false).node];
        CHECK(var->enter >= 0 && var->frame == c->frame, i,
              "what leaves the loop is not one of its variables (Merge)");
        node->frame = c->frame;
        node->context = t->frames[c->frame].base;
    } else if (kind == dnnl_tp_v1_next_iteration) {
        CHECK(c->kind == DTP_V1_BODY, i,
              "its input does not depend on output 1 of a Switch on a LoopCond of its frame, or only in some "
              "condition");
    } else {
        CHECK(c->kind != DTP_V1_AFTER || kind == dnnl_tp_v1_identity, i,
              "it computes in a frame after the last test");
    }
    return dnnl_tp_success;
}

/* What can be said only when all nodes have their place. */
static dnnl_tp_status_t check_frames(const dtp_v1_t *t) {
    for (int i = 0; i < t->n; ++i) {
        const dtp_v1_node_t *node = &t->nodes[i];
        const dnnl_tp_v1_kind_t kind = node->v1->kind;
        if (kind == dnnl_tp_v1_enter)
            CHECK(t->frames[node->frame].loop_cond >= 0, i, "frame '%.64s' has no LoopCond",
                  t->frames[node->frame].name);
        if (node->enter >= 0)
            CHECK(t->contexts[t->nodes[node->next].context].frame == node->frame, i,
                  "its NextIteration '%.100s' is in another frame", t->nodes[node->next].v1->name);
        for (int k = 0; k < node->ndata + node->ncontrol; ++k) {
            int from = node->in[k].node;
            if (is_kind(t, from, dnnl_tp_v1_enter) && !t->nodes[from].v1->is_constant)
                CHECK(node->enter >= 0, i,
                      "it reads Enter '%.100s', which is alive in the first iteration only",
                      t->nodes[from].v1->name);
            if (is_kind(t, from, dnnl_tp_v1_next_iteration))
                CHECK(node->enter >= 0, i, "it reads NextIteration '%.100s'; only a Merge does",
                      t->nodes[from].v1->name);
        }
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_v1_analyse(dtp_v1_t *t) {
    TRY(dtp_import_grow(&t->memory, (void **)&t->contexts, &t->cap_contexts, 1, sizeof *t->contexts));
    t->contexts[t->ncontexts++] = (dtp_v1_context_t){.kind = DTP_V1_ROOT, .parent = -1};
    TRY(more_buckets(t));
    for (int i = 0; i < t->n; ++i) TRY(place(t, t->order[i]));
    return check_frames(t);
}

/* ---- The call ---------------------------------------------------------------------------------------- */

static dnnl_tp_status_t import_structured(dtp_v1_t *t, int nout, const dtp_v1_tensor_t *out,
                                          const char *const *outputs) {
    TRY(dtp_v1_analyse(t));
    for (int i = 0; i < nout; ++i) {
        int c;
        TRY(alive(t, out[i], &c));
        CHECK(c == 0, out[i].node, "output '%.100s' is not always alive", outputs[i]);
    }
    return dtp_v1_emit(t);
}

/* Who is a target and only stands for others passes it on. */
static void pass_targets(dtp_v1_t *t) {
    for (int i = t->n - 1; i >= 0; --i) {
        const dtp_v1_node_t *node = &t->nodes[t->order[i]];
        bool passes = node->v1->kind > dnnl_tp_v1_host && node->v1->kind != dnnl_tp_v1_merge;
        for (int k = 0; passes && node->target && k < node->ndata + node->ncontrol; ++k)
            if (node->in[k].node >= 0) t->nodes[node->in[k].node].target = true;
    }
}

static dnnl_tp_status_t import(dtp_v1_t *t, dnnl_tp_engine_kind_t kind, const dnnl_tp_v1_node_t *nodes,
                               int nout, const char *const *outputs, int ntargets,
                               const char *const *targets) {
    names_t names;
    bool control;
    TRY(read_nodes(t, nodes, &names));
    dtp_v1_tensor_t x, *out = dtp_import_alloc(&t->memory, sizeof *out * (size_t)nout);
    if (!out) return dnnl_tp_out_of_memory;
    for (int i = 0; i < ntargets; ++i) {
        if (!targets[i] || parse(&names, targets[i], &x, &control) != 0 || control)
            return wrong_call("target '%.100s' is not there", targets[i] ? targets[i] : "");
        t->nodes[x.node].target = true;
    }
    for (int i = 0; i < nout; ++i)
        if (!outputs[i] || parse(&names, outputs[i], &out[i], &control) != 0 || control ||
            out[i].out >= dtp_v1_nout(t->nodes[out[i].node].v1))
            return wrong_call("output '%.100s' is not there", outputs[i] ? outputs[i] : "");
    bool frames = false;
    for (int i = 0; i < t->n; ++i) frames |= t->nodes[i].v1->kind >= dnnl_tp_v1_enter;
    TRY(find_frames(t));
    TRY(sort(t));
    pass_targets(t);
    TRY(dnnl_tp_graph_create(&t->graph, kind));
    dnnl_tp_status_t status = import_structured(t, nout, out, outputs);
    if (status == dnnl_tp_invalid_graph && !frames && !t->building)
        status = dtp_v1_emit_gated(t, nout, out, outputs);
    TRY(status);
    for (int i = 0; i < nout; ++i) TRY(dnnl_tp_graph_output(t->graph, dtp_v1_value(t, out[i]), outputs[i]));
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_and_import(dtp_v1_t *t, dnnl_tp_engine_kind_t kind,
                                         const dnnl_tp_v1_node_t *nodes, int nout, const char *const *outputs,
                                         int ntargets, const char *const *targets) {
    if (t->n < 0 || t->n > MAX_NODES || nout < 0 || nout > MAX_INPUTS || ntargets < 0)
        return wrong_call("%d nodes, %d outputs, %d targets", t->n, nout, ntargets);
    if ((t->n && !nodes) || (nout && !outputs) || (ntargets && !targets))
        return wrong_call("nodes, outputs or targets are NULL");
    t->nodes = dtp_import_alloc(&t->memory, sizeof *t->nodes * (size_t)t->n);
    t->mark = dtp_import_alloc(&t->memory, sizeof *t->mark * (size_t)t->n);
    t->path = dtp_import_alloc(&t->memory, sizeof *t->path * (size_t)t->n);
    if (!t->nodes || !t->mark || !t->path) return dnnl_tp_out_of_memory;
    return import(t, kind, nodes, nout, outputs, ntargets, targets);
}

dnnl_tp_status_t dnnl_tp_graph_import_v1(dnnl_tp_graph_t *graph, dnnl_tp_engine_kind_t kind, int n,
                                         const dnnl_tp_v1_node_t *nodes, int nout, const char *const *outputs,
                                         int ntargets, const char *const *targets) {
    static const char name[] = "dnnl_tp_graph_import_v1: ";
    if (!graph) return wrong_call("%sgraph is NULL", name);
    dtp_v1_t t = {.n = n};
    dtp_import_memory_init(&t.memory);
    dnnl_tp_status_t status = check_and_import(&t, kind, nodes, nout, outputs, ntargets, targets);
    for (int i = 0; i < n && nodes && status != dnnl_tp_success; ++i)
        if (nodes[i].kind == dnnl_tp_v1_host && nodes[i].drop && !(t.nodes && t.nodes[i].taken))
            nodes[i].drop(nodes[i].arg);
    dtp_import_memory_free(&t.memory);
    *graph = status == dnnl_tp_success ? t.graph : NULL;
    if (status == dnnl_tp_success) return status;
    dnnl_tp_graph_destroy(t.graph);
    char text[2 * TEXT];
    snprintf(text, sizeof text, "%s%s", name, dnnl_tp_last_error());
    return dnnl_tp_fail(status, text);
}
