/* The dataflow engine's steps, as functions with a constant argument `shared`: false while one
 * thread executes the run (counters are plain numbers then), true once other threads take part.
 * run.c instantiates both. dataflow/dataflow.h has the transitions and rules (a) to (e). */
#ifndef DTP_EXEC_DATAFLOW_RUN_STEP_H
#define DTP_EXEC_DATAFLOW_RUN_STEP_H

#include "common/base/scalar.h"
#include "exec/dataflow/run/run.h"

#define STEP static inline __attribute__((always_inline))

/* Whether this arrival is the last of several. One locked operation: a load before it would fetch
 * the cache line twice. */
STEP bool arrive8(DTP_ATOMIC(uint8_t) * c, const bool shared) {
    DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_MERGE_READY
    (void)shared;
#else
    if (shared) return DTP_SUB(c, 1, acq_rel) == 1;
#endif
    uint8_t left = (uint8_t)(DTP_LOAD(c, relaxed) - 1);
    DTP_STORE(c, left, relaxed);
    return left == 0;
}
STEP bool arrive32(DTP_ATOMIC(uint32_t) * c, const bool shared) {
    DTP_PREEMPT_POINT();
    if (shared) return DTP_SUB(c, 1, acq_rel) == 1;
    uint32_t left = DTP_LOAD(c, relaxed) - 1;
    DTP_STORE(c, left, relaxed);
    return left == 0;
}

STEP void push(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t node) {
    dtp_dataflow_room(w, 1);
    *w->top++ = dtp_dataflow_tag(instance) | node;
}

/* Arrives at edges[0 .. n) of instance. The last access to the instance is the arrival itself. */
STEP uint64_t *arrive_list(uint64_t *top, uint64_t tag, DTP_ATOMIC(uint8_t) * count, const uint32_t *edge,
                           uint32_t n, const bool shared) {
    for (const uint32_t *end = edge + n; edge < end; ++edge) {
        uint32_t direct = *edge & DTP_DATAFLOW_DIRECT, node = *edge & ~DTP_DATAFLOW_DIRECT;
        if (!shared) {
            /* Without a branch, because no processor can predict which arrival is the last. The
             * counter of a direct node means nothing. */
            *top = tag | node;
            top += (direct >> 31) | arrive8(&count[node], false);
        } else if (direct || arrive8(&count[node], true)) {
            *top++ = tag | node;
        }
    }
    return top;
}

STEP void arrive_all(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, const uint32_t *edge,
                     uint32_t n, const bool shared) {
    const uint32_t most = DTP_DATAFLOW_LIFO / 2;
    DTP_ATOMIC(uint8_t) *count = dtp_dataflow_count(instance->region, instance);
    uint64_t tag = dtp_dataflow_tag(instance);
    do {
        uint32_t k = n < most ? n : most;
        dtp_dataflow_room(w, k);
        w->top = arrive_list(w->top, tag, count, edge, k, shared);
        edge += k;
        n -= k;
    } while (n);
}

/* A variable of instance is available: arrives at its readers. */
STEP void deliver_var(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t var,
                      const bool shared) {
    const dtp_dataflow_region_t *r = instance->region;
    uint32_t from = r->var_edge[var], n = r->var_edge[var + 1] - from;
    if (n) arrive_all(w, instance, r->edges + from, n, shared);
}

/* A node has ended: arrives along its NEXT edges, the edges to other blocks, those to its own. The
 * caller gives the sink its token. */
STEP void deliver(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t id,
                  const bool shared) {
    const dtp_dataflow_region_t *r = instance->region;
    const dtp_dataflow_node_t *node = &r->nodes[id];
    const uint32_t *edge = r->edges + node->edge, *end = r->edges + node[1].edge;
    const uint32_t *next = NULL;
    uint32_t n_next = 0;
    if (node->bits & DTP_FN_NEXT) {
        n_next = *edge;
        next = edge + 1;
        edge += n_next + 1;
    }
#ifdef DTP_BREAK_9_6A
    if (edge < end) arrive_all(w, instance, edge, (uint32_t)(end - edge), shared);
#endif
    for (uint32_t i = 0; i < n_next; ++i) deliver_var(w, instance->next, next[i], shared);
#ifndef DTP_BREAK_9_6A
    if (edge < end) arrive_all(w, instance, edge, (uint32_t)(end - edge), shared);
#endif
}

static void complete(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t block,
                     const bool shared);

/* A branch, a body or a function begins: sets its counters, gives the entry tokens, and last the
 * guard's token. */
STEP void enter_block(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t block,
                      const bool shared) {
    const dtp_dataflow_region_t *r = instance->region;
    const dtp_dataflow_control_block_t *k = &r->blocks[block];
    if (block) dtp_dataflow_arm(r, instance, block); /* block 0 is armed with the instance */
    if (k->n_entry) arrive_all(w, instance, r->edges + k->entry, k->n_entry, shared);
    complete(w, instance, block, shared);
}

/* Iteration j is complete and was not the last one: its instance becomes that of iteration j + P +
 * 1. */
STEP void recycle(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, const bool shared) {
    const dtp_dataflow_region_t *r = instance->region;
    const dtp_dataflow_args_t *args = &w->state->args;
    uint64_t round = (uint64_t)instance->window + 1;
    dtp_dataflow_arm_instance(r, instance, 2);
#ifdef DTP_BREAK_9_6C
    DTP_SUB(&dtp_dataflow_done(r, instance)[0], 1, relaxed);
#endif
    instance->iteration += round;
    if (instance->number == 0 && instance->iteration == round && args->enter &&
        !dtp_dataflow_stopped(w->state))
        args->enter(args->ctx, instance);
    DTP_PREEMPT_POINT();
    dtp_dataflow_instance_t *gated = instance->prev; /* iteration j + P */
    if (arrive32(&gated->gate, shared))
        enter_block(w, gated, r->choices[r->nodes[r->test].index].block[1], shared);
    for (uint32_t i = 0; i < r->n_at_end; ++i) deliver_var(w, instance->next, r->at_end[i], shared);
}

/* Gives a block's completion counter one token, and does everything that follows from it. */
static void complete(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t block,
                     const bool shared) {
    for (;;) {
        const dtp_dataflow_region_t *r = instance->region;
        if (!arrive32(&dtp_dataflow_done(r, instance)[block], shared)) return;
        const dtp_dataflow_control_block_t *k = &r->blocks[block];
        if (k->end != DTP_DATAFLOW_NONE) {
            push(w, instance, k->end);
            return;
        }
        if (k->up != DTP_DATAFLOW_NONE) {
            block = k->up;
            continue;
        }
        if (r->kind == DTP_DATAFLOW_IS_LOOP) {
            if (instance->exited) {
                push(w, instance, r->exit);
                return;
            }
            dtp_dataflow_instance_t *next = instance->next;
            recycle(w, instance, shared);
#ifdef DTP_BREAK_9_6C
            return;
#endif
            instance = next;
            block = 0;
        } else if (r->kind == DTP_DATAFLOW_IS_FUNCTION) {
            dtp_dataflow_instance_t *up = instance->up;
            uint32_t node = instance->node;
            w->state->args.frame_give(w->state->args.ctx, r->block, instance->frame);
            deliver(w, up, node, shared);
            instance = up;
            block = up->region->nodes[node].sink;
            if (block == DTP_DATAFLOW_NONE) return;
        } else {
            dtp_dataflow_finished(w->state);
            return;
        }
    }
}

STEP bool read_ref(const dtp_dataflow_state_t *s, const dtp_dataflow_instance_t *instance,
                   const dtp_dataflow_ref_t *ref) {
    const char *base = s->args.bases;
    if (ref->level >= 0) {
        for (int i = 0; i < ref->level; ++i) instance = instance->up;
        base = instance->data;
    }
    base += ref->offset;
    if (ref->indirect) base = *(const char *const *)(const void *)base + ref->inner;
    return dtp_is_true(base, ref->type);
}

STEP void start_loop(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance,
                     const dtp_dataflow_ring_t *ring, const bool shared) {
    const dtp_dataflow_region_t *r = ring->region;
    dtp_dataflow_instance_t *first = (dtp_dataflow_instance_t *)(void *)((char *)instance + ring->ring_at),
                            *q = first;
    const dtp_dataflow_args_t *args = &w->state->args;
    for (uint32_t i = 0; i <= ring->window; ++i, q = q->next) {
        q->iteration = i;
        dtp_dataflow_arm_instance(r, q, i < ring->window ? 1 : 2);
#ifdef DTP_BREAK_9_6C
        if (i) DTP_SUB(&dtp_dataflow_done(r, q)[0], 1, relaxed);
#endif
    }
    if (args->enter && !dtp_dataflow_stopped(w->state)) args->enter(args->ctx, first);
    for (uint32_t v = 0; v < r->n_vars; ++v) deliver_var(w, first, v, shared);
    complete(w, first, 0, shared);
}

/* False: the function was not called. */
STEP bool start_call(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t node,
                     const dtp_dataflow_callee_t *callee, const bool shared) {
    dtp_dataflow_state_t *s = w->state;
    if (dtp_dataflow_stopped(s)) return false;
    if (instance->depth >= s->args.max_depth) {
        dtp_dataflow_fail(s, dnnl_tp_runtime_error, DTP_DATAFLOW_TOO_DEEP, callee->index);
        return false;
    }
    dtp_dataflow_instance_t *q = NULL;
    void *frame = s->args.frame_take ? s->args.frame_take(s->args.ctx, callee->region->block, &q) : NULL;
    if (!frame) {
        dtp_dataflow_fail(s, dnnl_tp_out_of_memory, DTP_DATAFLOW_NO_FRAME, callee->index);
        return false;
    }
    q->up = instance;
    q->node = node;
    q->depth = instance->depth + 1;
    q->index = callee->index;
    q->frame = frame;
    dtp_dataflow_arm_instance(callee->region, q, 2);
    if (s->args.enter) s->args.enter(s->args.ctx, q);
    enter_block(w, q, 0, shared);
    return true;
}

STEP void execute(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t index) {
    dtp_dataflow_state_t *s = w->state;
    if (DTP_UNLIKELY(dtp_dataflow_stopped(s))) return;
    dnnl_tp_status_t status = s->exec(s->exec_ctx, instance, index, &w->where);
    if (DTP_UNLIKELY(status != dnnl_tp_success))
        dtp_dataflow_fail(s, status, DTP_DATAFLOW_FAILED_NODE, index);
}

/* Executes a node that is neither a plain OP nor PAD. */
STEP void special(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t id,
                  const bool shared) {
    const dtp_dataflow_region_t *r = instance->region;
    const dtp_dataflow_node_t *node = &r->nodes[id];
    dtp_dataflow_state_t *s = w->state;
    switch (DTP_FN_KIND(node->bits)) {
    case DTP_FK_IF: {
        const dtp_dataflow_choice_t *c = &r->choices[node->index];
        bool yes = !dtp_dataflow_stopped(s) && read_ref(s, instance, &c->pred);
        enter_block(w, instance, c->block[yes], shared);
        return;
    }
    case DTP_FK_TEST: {
        const dtp_dataflow_choice_t *c = &r->choices[node->index];
        if (!dtp_dataflow_stopped(s) && read_ref(s, instance, &c->pred)) {
            if (arrive32(&instance->gate, shared)) enter_block(w, instance, c->block[1], shared);
        } else {
            instance->exited = 1;
            complete(w, instance, 0, shared);
        }
        return;
    }
    case DTP_FK_WHILE: start_loop(w, instance, &r->rings[node->index], shared); return;
    case DTP_FK_CALL:
        if (start_call(w, instance, id, &r->callees[node->index], shared)) return;
        break;
    case DTP_FK_EXIT:
        if (node->index != DTP_DATAFLOW_NO_INDEX) execute(w, instance, node->index);
        id = instance->node;
        instance = instance->up;
        node = &instance->region->nodes[id];
        break;
    case DTP_FK_OP:
        if (DTP_UNLIKELY(node->bits & DTP_FN_MAY_PEND)) {
            if (dtp_dataflow_may_pend(w, instance, id, shared)) return;
        } else if (dtp_dataflow_is_costly(s, node)) (void)dtp_dataflow_costly(w, instance, node, shared);
        else execute(w, instance, node->index);
        break;
    default: break;
    }
    uint32_t sink = node->sink;
    deliver(w, instance, id, shared);
    if (sink != DTP_DATAFLOW_NONE) complete(w, instance, sink, shared);
}

/* Pending nodes have returned: delivers to their successors. */
static __attribute__((noinline, cold)) void come_back(dtp_dataflow_worker_t *w, const bool shared) {
    uint64_t word = dtp_dataflow_take_returned(w->state), next;
    for (; word; word = next) {
        next = *dtp_dataflow_link(word);
        dtp_dataflow_instance_t *instance = dtp_dataflow_instance_of(word);
        const uint32_t id = word & DTP_DATAFLOW_NODE_MASK, sink = instance->region->nodes[id].sink;
        deliver(w, instance, id, shared);
        if (sink != DTP_DATAFLOW_NONE) complete(w, instance, sink, shared);
    }
}

/* A COSTLY node is next, and one thread executes the run: whether opening the crew is worth its
 * cost, because other nodes are ready or will be. */
STEP bool opens_for(dtp_dataflow_worker_t *w, const dtp_dataflow_node_t *node) {
    if (w->top == w->lifo && !dtp_dataflow_is_away(w->state)) return false;
    if ((node->bits & DTP_FN_MAY_BLOCK) && w->state->blocking) return false;
    return dtp_dataflow_open_for_costly(w);
}

/* Whether a task (its word without the tag of an instance) is a plain one of that instance. */
STEP bool is_plain(const dtp_dataflow_node_t *nodes, uint64_t task) {
    return !(task >> DTP_DATAFLOW_NODE_BITS) && !(nodes[task].bits & DTP_FN_SLOW);
}

/* Whether the arrivals that are kept must be made before this task. */
STEP bool is_another(const dtp_dataflow_node_t *nodes, uint64_t task) {
#ifdef DTP_BREAK_LATER
    return false;
#endif
    return !is_plain(nodes, task);
}

/* Whether a task is plain and has no edge but this one. */
STEP bool has_edge(const dtp_dataflow_node_t *nodes, const uint32_t *edges, uint64_t task, uint32_t edge) {
    if (!is_plain(nodes, task)) return false;
    const dtp_dataflow_node_t *node = &nodes[task];
#ifdef DTP_BREAK_TOGETHER
    edge = edges[node->edge];
#endif
    return node[1].edge - node->edge == 1 && edges[node->edge] == edge;
}

/* In a shared run, `tokens` sinks of a flat region have ended. */
static __attribute__((noinline)) void give_tokens(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance,
                                                  uint32_t tokens) {
    if (tokens > 1) (void)DTP_SUB(&dtp_dataflow_done(instance->region, instance)[0], tokens - 1, release);
    complete(w, instance, 0, true);
}

/* Arrivals that a worker keeps (dataflow.h). */
typedef struct {
    uint32_t n, edge[DTP_DATAFLOW_LATER];
} later_t;

/* Walks the edges of a node that has ended: a task with no other predecessor is ready at once; the
 * other arrivals are kept for later. */
STEP uint64_t *keep(later_t *later, uint64_t *top, uint64_t tag, const uint32_t *edge, uint32_t n) {
    for (const uint32_t *end = edge + n; edge < end; ++edge) {
        if (*edge & DTP_DATAFLOW_DIRECT) *top++ = tag | (*edge & ~DTP_DATAFLOW_DIRECT);
        else later->edge[later->n++] = *edge;
    }
    return top;
}

static __attribute__((noinline)) void arrive_now(dtp_dataflow_worker_t *w, uint64_t tag,
                                                 DTP_ATOMIC(uint8_t) * count, later_t *later) {
    dtp_dataflow_room(w, later->n);
    w->top = arrive_list(w->top, tag, count, later->edge, later->n, true);
    later->n = 0;
}

/* Runs the tasks of the LIFO until none is left (true), or until dtp_dataflow_look, which looks at
 * rare events, asks for an end. */
STEP bool run_tasks(dtp_dataflow_worker_t *w, const bool shared) {
    dtp_dataflow_state_t *s = w->state;
    const dtp_dataflow_exec_t exec = s->exec;
    void *const ctx = s->exec_ctx;
    const char *const items = s->args.items;
    const size_t item_bytes = s->args.item_bytes;
    uint64_t *top = w->top, tag = ~(uint64_t)0;
    dtp_dataflow_instance_t *instance = NULL;
    const dtp_dataflow_node_t *nodes = NULL;
    const uint32_t *edges = NULL;
    DTP_ATOMIC(uint8_t) *count = NULL;
    bool flat = false;  /* the instance's region is flat, and the run is shared */
    bool keeps = false; /* arrivals are kept, because the costs of the root's nodes are known */
    /* Arrivals of nodes that have ended, at the successor of the next task; tokens of sinks. */
    uint32_t owed = 0, tokens = 0;
    later_t later;
    later.n = 0;
    for (;;) {
        if (shared && later.n && !owed &&
            (top == w->lifo || is_another(nodes, top[-1] ^ tag) || DTP_LOAD(&s->searching, relaxed))) {
            w->top = top;
            arrive_now(w, tag, count, &later);
            top = w->top;
        }
        if (shared && tokens && (top == w->lifo || !is_plain(nodes, top[-1] ^ tag))) {
            w->top = top;
            give_tokens(w, instance, tokens);
            tokens = 0;
            top = w->top;
        }
        if (top == w->lifo) {
            w->top = top;
            if (!w->spill || !dtp_dataflow_unspill(w)) {
                if (DTP_LIKELY(!DTP_LOAD(&s->returned, relaxed))) return true;
                come_back(w, shared);
                top = w->top;
                continue;
            }
            top = w->top;
        }
        uint64_t word = *--top, id = word ^ tag;
        if (id >> DTP_DATAFLOW_NODE_BITS) {
            instance = dtp_dataflow_instance_of(word);
            tag = word & ~DTP_DATAFLOW_NODE_MASK;
            id = word & DTP_DATAFLOW_NODE_MASK;
            const dtp_dataflow_region_t *r = instance->region;
            nodes = r->nodes;
            edges = r->edges;
            count = dtp_dataflow_count(r, instance);
            flat = shared && dtp_dataflow_is_flat(r);
            keeps = flat && s->later && r->kind == DTP_DATAFLOW_IS_ROOT;
        }
        const dtp_dataflow_node_t *node = &nodes[id];
        if (DTP_UNLIKELY(node->bits & DTP_FN_SLOW)) {
            w->top = top;
            if (!shared && dtp_dataflow_is_costly(s, node) && opens_for(w, node)) {
                *w->top++ = word;
                return false;
            }
            special(w, instance, (uint32_t)id, shared);
            top = w->top;
        } else {
            if (shared && items && top > w->lifo && !((top[-1] ^ tag) >> DTP_DATAFLOW_NODE_BITS))
                __builtin_prefetch(items + nodes[top[-1] ^ tag].index * item_bytes);
            if (DTP_FN_KIND(node->bits) == DTP_FK_OP && !dtp_dataflow_stopped(s)) {
                dnnl_tp_status_t status = exec(ctx, instance, node->index, &w->where);
                if (DTP_UNLIKELY(status != dnnl_tp_success))
                    dtp_dataflow_fail(s, status, DTP_DATAFLOW_FAILED_NODE, node->index);
            }
            uint32_t from = node->edge, n = node[1].edge - from, sink = node->sink;
            if (shared && flat && n < 2) {
                /* The place of this node has room for one task. */
                const uint32_t edge = n ? edges[from] : 0;
                sink = DTP_DATAFLOW_NONE;
                if (n == 0) {
                    ++tokens;
                } else if (edge & DTP_DATAFLOW_DIRECT) {
                    *top++ = tag | (edge & ~DTP_DATAFLOW_DIRECT);
                } else {
                    ++owed;
                    if (top == w->lifo || w->fuel <= 1 || !has_edge(nodes, edges, top[-1] ^ tag, edge)) {
                        DTP_PREEMPT_POINT();
                        if (DTP_SUB(&count[edge], (uint8_t)owed, acq_rel) == owed) *top++ = tag | edge;
                        owed = 0;
                    }
                }
            } else if (shared && keeps && n <= DTP_DATAFLOW_LATER / 2 && n <= (size_t)(w->limit - top)) {
                if (later.n + n > DTP_DATAFLOW_LATER) {
                    w->top = top;
                    arrive_now(w, tag, count, &later);
                    top = w->top;
                    dtp_dataflow_room(w, n);
                    top = w->top;
                }
                top = keep(&later, top, tag, edges + from, n);
            } else if (DTP_LIKELY(n <= (size_t)(w->limit - top))) {
                top = arrive_list(top, tag, count, edges + from, n, shared);
            } else {
                w->top = top;
                arrive_all(w, instance, edges + from, n, shared);
                top = w->top;
            }
            if (sink != DTP_DATAFLOW_NONE) {
                w->top = top;
                complete(w, instance, sink, shared);
                top = w->top;
            }
        }
        if (shared && (top - w->lifo > 1 || w->spill) &&
            DTP_LOAD(&w->queue.top, relaxed) == DTP_LOAD(&w->queue.bottom, relaxed)) {
            w->top = top;
            dtp_dataflow_feed(w);
            top = w->top;
        }
        if (DTP_UNLIKELY(--w->fuel == 0)) {
            w->top = top;
            if (shared && later.n) arrive_now(w, tag, count, &later);
            if (shared && tokens) {
                give_tokens(w, instance, tokens);
                tokens = 0;
            }
            if (dtp_dataflow_look(w, shared)) return false;
            if (DTP_UNLIKELY(DTP_LOAD(&s->returned, relaxed))) come_back(w, shared);
            top = w->top;
        }
    }
}

#undef STEP
#endif
