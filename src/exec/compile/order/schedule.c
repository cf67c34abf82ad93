/* What runs in its fixed order and what through counters: the choice per region, then the program for the
 * dataflow engine. Running: run/by_dataflow.c.
 *
 * Work is the sum of all steps, span the longest path. A region whose work is small, or hardly more than its
 * span, is one item that the interpreter runs; all others become nodes in the orderings of orderings.c. */
#include "exec/compile/order/schedule.h"

#include "exec/compile/order/side_by_side.h"

static const double hand_off_ns = 3000.;    /* below: not worth two threads */
static const double worth = 1.25;           /* work by span */
static const double small_ns = 2000.;       /* regions inside others: cheaper than their counters */
static const double wide_ns = 200000.;      /* from here on a step takes all threads */
static const double splits_ns = 10000.;     /* one that has the pool for itself, too */
static const double costly_ns = 5000.;      /* from here on others get what is ready before it starts */
static const double host_ns = 300.;         /* nobody knows: states of the engine learn it */
static const double host_worth_ns = 20000.; /* so threads are kept in mind */
static const double call_ns = 5000.;
enum { TRIPS = 8 }; /* nobody knows */

typedef struct {
    int first, end; /* stages */
} item_t;

typedef struct {
    dtp_exec_t *e;
    dtp_lower_t *l;
    unsigned options; /* DTP_SCHEDULE_* */
    double *end_of;   /* per buffer: when it is written */
    int *item_end;    /* per step: the last step of the item that begins here, if the interpreter runs it */
    double *region;   /* per function and loop (scope): work, span; work < 0: not analysed yet */
    /* Building. */
    dtp_dataflow_builder_t *builder;
    const dtp_orderings_t *o;
    dtp_dataflow_token_t *token;    /* per event */
    uint8_t *takes_all;             /* per event: all threads, though others could run beside it */
    dtp_dataflow_block_t *block_of; /* per scope: of functions */
    item_t *items;
    int nitems;
} sched_t;

typedef struct {
    double work, end;
} cost_t;

static double max(double a, double b) { return a > b ? a : b; }
static double min(double a, double b) { return a < b ? a : b; }

/* A closure's cost as its author said it, else a guess. */
static double host_cost(const dtp_step_t *t, double guess) {
    return t->host->cost_ns > 0 ? (double)t->host->cost_ns : guess;
}

static bool may_pend(const dtp_step_t *t) { return t->host && t->host->flags; }

/* May a closure among the steps from..to block or wait? Then they are no item of the interpreter, whose thread would.
 * A call may, if anything does. */
static bool have_pending(const sched_t *s, int from, int to) {
    if (!s->e->may_pend) return false;
    for (int i = from; i <= to; ++i)
        if (may_pend(s->l->steps[i]) || s->l->steps[i]->ctl == DTP_CTL_CALL) return true;
    return false;
}

static bool is_force(const sched_t *s) { return (s->options & DTP_SCHEDULE_ALL) != 0; }

/* ---- Work and span ----------------------------------------------------------------------------------- */

static double ready(const sched_t *s, const dtp_step_t *t, double base) {
    for (int k = 0; k < t->nargs + t->npost_args; ++k)
        if (t->arg[k].buf >= 0 && !t->arg[k].written) base = max(base, s->end_of[t->arg[k].buf]);
    for (int k = 0; k < t->norder; ++k) base = max(base, s->end_of[t->order[k]]);
    return base;
}

static void written(const sched_t *s, const dtp_step_t *t, double end) {
    for (int k = 0; k < t->nargs; ++k)
        if (t->arg[k].buf >= 0 && t->arg[k].written)
            s->end_of[t->arg[k].buf] = max(s->end_of[t->arg[k].buf], end);
}

static cost_t analyse(const sched_t *s, int from, int to, double base);

static cost_t analyse_if(const sched_t *s, int i, double base) {
    const dtp_lower_t *l = s->l;
    int other = l->steps[i]->other, end = l->steps[other]->other;
    double start = ready(s, l->steps[i], base);
    cost_t a = analyse(s, i + 1, other, start), b = analyse(s, other + 1, end, start);
    if (!is_force(s) && max(a.work, b.work) < small_ns && !have_pending(s, i, end)) s->item_end[i] = end;
    return (cost_t){max(a.work, b.work), max(a.end, b.end)};
}

/* Nothing that the steps from..to-1 write is there. */
static void forget(const sched_t *s, int from, int to) {
    for (int i = from; i < to; ++i) {
        const dtp_step_t *t = s->l->steps[i];
        for (int k = 0; k < t->nargs; ++k)
            if (t->arg[k].buf >= 0 && t->arg[k].written) s->end_of[t->arg[k].buf] = 0.;
    }
}

/* The loop of step i that starts at `start`; span is that of one iteration. How much later than its own ones an iteration
 * finds its variables: two iterations beside each other, the second one with what the first one makes. The largest
 * difference is never below what a long loop takes for each iteration. */
static double carried_ns(const sched_t *s, int i, double start, double span) {
    const dtp_lower_t *l = s->l;
    const int end = l->steps[i]->other, scope = l->steps[end]->scope;
    const dtp_step_t *next = l->steps[end - 1];
    int var = 0;
    while (var < l->nbufs && !(l->bufs[var].scope == scope && l->bufs[var].kind == DTP_BUF_VAR)) ++var;
    for (int k = 0; k < next->nargs; ++k) s->end_of[var + k] = max(start, s->end_of[next->arg[k].buf]);
    forget(s, i + 1, end);
    (void)analyse(s, i + 1, end, start);
    double most = 0.;
    for (int k = 0; k < next->nargs; ++k) most = max(most, s->end_of[next->arg[k].buf] - s->end_of[var + k]);
    for (int k = 0; k < next->nargs; ++k) s->end_of[var + k] = 0.;
    return min(most, span);
}

/* A loop once: iterations overlap as far as its window, its variables and the threads allow. */
static void analyse_loop(const sched_t *s, int i, double start) {
    const dtp_lower_t *l = s->l;
    const int end = l->steps[i]->other, scope = l->steps[end]->scope, window = l->scopes[scope].window;
    const cost_t c = analyse(s, i + 1, end, start);
    double span = c.end - start, later = span;
    if (!is_force(s) && (c.work < small_ns || (window < 2 && c.work < worth * span)) &&
        !have_pending(s, i, end))
        s->item_end[i] = end;
    if (s->item_end[i] >= 0) later = span = c.work;
    else if (window > 1)
        later = max(carried_ns(s, i, start, span), max(span / window, c.work / s->e->num_threads));
    s->region[2 * scope] = TRIPS * c.work;
    s->region[2 * scope + 1] = span + (TRIPS - 1) * later;
}

static cost_t analyse_while(const sched_t *s, int i, double base) {
    const dtp_lower_t *l = s->l;
    const int end = l->steps[i]->other, scope = l->steps[end]->scope;
    forget(s, i + 1, end);
    double start = base;
    for (int k = i; k < end; ++k) start = ready(s, l->steps[k], start);
    if (s->region[2 * scope] < 0.) analyse_loop(s, i, start);
    start += s->region[2 * scope + 1];
    written(s, l->steps[end], start);
    return (cost_t){s->region[2 * scope], start};
}

static cost_t analyse(const sched_t *s, int from, int to, double base) {
    const dtp_lower_t *l = s->l;
    cost_t sum = {0., base};
    for (int i = from; i < to; ++i) {
        const dtp_step_t *t = l->steps[i];
        cost_t c = {0., base};
        int last = i;
        if (t->ctl == DTP_CTL_IF) {
            c = analyse_if(s, i, base);
            last = l->steps[t->other]->other;
        } else if (t->ctl == DTP_CTL_WHILE) {
            c = analyse_while(s, i, base);
            last = t->other;
        } else if (t->slice_group >= 0) {
            const dtp_slice_group_t *g = &s->e->slice_groups[t->slice_group];
            last = g->first_step + g->nsteps - 1;
            double start = base;
            for (int k = i; k <= last; ++k) start = ready(s, l->steps[k], start);
            c.work = g->ns / s->e->num_threads; /* uses all threads by itself */
            c.end = start + c.work;
            for (int k = i; k <= last; ++k) written(s, l->steps[k], c.end);
        } else {
            c.work = t->ctl == DTP_CTL_CALL ? s->region[2 * t->other]
                     : t->ctl               ? 0.
                     : t->host              ? host_cost(t, host_worth_ns)
                                            : dtp_step_ns(t);
            double span = t->ctl == DTP_CTL_CALL ? s->region[2 * t->other + 1] : c.work;
            if (c.work > wide_ns && t->op) span = c.work /= s->e->num_threads;
            c.end = ready(s, t, base) + span;
            if (t->ctl == DTP_CTL_TEST) base = c.end; /* the body waits for its condition */
            written(s, t, c.end);
        }
        sum.work += c.work;
        sum.end = max(sum.end, c.end);
        i = last;
    }
    return sum;
}

/* What calls cost, by rounds: a function that calls itself, or one behind it, knows at first only that a call
 * costs something. Calls into a function that has no work for two are items of the interpreter. */
static void analyse_functions(const sched_t *s) {
    enum { ROUNDS = 3 };
    const dtp_lower_t *l = s->l;
    for (int i = 1; i < l->nscopes; ++i) s->region[2 * i] = s->region[2 * i + 1] = call_ns;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < l->nsteps; ++i) s->item_end[i] = -1;
        for (int i = 1; i < l->nscopes; ++i)
            if (!s->e->scopes[i].is_function) s->region[2 * i] = -1.;
        for (int i = 1; i < l->nscopes; ++i) {
            if (!s->e->scopes[i].is_function) continue;
            cost_t c = analyse(s, l->scopes[i].begin, l->scopes[i].end, 0.);
            s->e->scopes[i].by_counters = is_force(s) || s->e->may_pend || c.work >= worth * c.end;
            s->region[2 * i] = max(c.work, call_ns);
            s->region[2 * i + 1] = max(c.end, call_ns);
        }
    }
    for (int i = 0; i < l->nsteps; ++i)
        if (l->steps[i]->ctl == DTP_CTL_CALL && !s->e->scopes[l->steps[i]->other].by_counters)
            s->item_end[i] = i;
}

/* Loops that run by counters. */
static void mark_region(dtp_exec_t *e, const dtp_lower_t *l, int from, int to) {
    for (int i = from; i < to; ++i) {
        const dtp_step_t *t = l->steps[i];
        if (l->item_end[i] >= 0) {
            i = l->item_end[i];
        } else if (t->ctl == DTP_CTL_WHILE) {
            dtp_scope_t *loop = &e->scopes[l->steps[t->other]->scope];
            loop->by_counters = true;
            loop->instances = loop->window + 1;
        }
    }
}

dnnl_tp_status_t dtp_schedule_choose(dtp_exec_t *e, dtp_lower_t *l, unsigned options) {
    if (e->num_threads < 2 && !e->always_dataflow) return dnnl_tp_success;
    dtp_arena_t *arena = l->ir->arena;
    sched_t s = {.e = e, .l = l, .options = options};
    s.end_of = dtp_arena_alloc(arena, sizeof *s.end_of * (size_t)(l->nbufs + 1));
    s.item_end = dtp_arena_alloc(arena, sizeof *s.item_end * (size_t)(l->nsteps + 1));
    s.region = dtp_arena_alloc(arena, sizeof *s.region * 2 * (size_t)l->nscopes);
    if (!s.end_of || !s.item_end || !s.region) return dnnl_tp_out_of_memory;
    analyse_functions(&s);
    cost_t c = analyse(&s, 0, l->scopes[0].end, 0.);
    dtp_arena_drop(arena, s.end_of, sizeof *s.end_of * (size_t)(l->nbufs + 1));
    e->by_counters = e->always_dataflow || (c.work >= 2. * hand_off_ns && c.work >= worth * c.end);
    if (!e->by_counters) return dnnl_tp_success;
    l->item_end = s.item_end;
    /* Scopes of what the interpreter runs keep their two instances and share memory by time. */
    e->scopes[0].by_counters = true;
    for (int i = 0; i < l->nscopes; ++i)
        if (i == 0 || (e->scopes[i].is_function && e->scopes[i].by_counters))
            mark_region(e, l, l->scopes[i].begin, l->scopes[i].end);
    return dnnl_tp_success;
}

/* ---- Building ---------------------------------------------------------------------------------------- */

/* `later` comes after what event k comes after. */
static void add_after(const sched_t *s, dtp_dataflow_token_t later, int k) {
    const dtp_event_t *v = &s->o->events[k];
    for (int i = 0; i < v->nafter; ++i)
        dtp_dataflow_after(s->builder, later, s->token[s->o->after[v->after + i]]);
}

/* What a node does: the stages of the steps from..to. */
static uint32_t new_item(sched_t *s, int from, int to) {
    const int *stage_of = s->l->stage_of;
    s->items[s->nitems] = (item_t){stage_of[from], stage_of[to] + (s->l->steps[to]->ctl != DTP_CTL_ENDIF)};
    return (uint32_t)s->nitems++;
}

/* A node for event k. */
static void add_node(sched_t *s, dtp_dataflow_block_t block, int k, double ns, unsigned flags) {
    const dtp_event_t *v = &s->o->events[k];
    if (ns > costly_ns) flags |= DTP_DATAFLOW_COSTLY;
    s->token[k] = dtp_dataflow_node(s->builder, block, new_item(s, v->first, v->last), flags, ns);
    add_after(s, s->token[k], k);
}

static void add_step(sched_t *s, dtp_dataflow_block_t block, int k) {
    const dtp_step_t *t = s->l->steps[s->o->events[k].first];
    /* Beside closures that block, others are worth a thread. */
    double ns = t->host ? host_cost(t, s->e->may_pend ? host_worth_ns : host_ns) : dtp_step_ns(t);
    unsigned flags = 0;
    if (t->host) {
        flags = DTP_DATAFLOW_SIDE_EFFECT;
        if (t->host->cost_ns <= 0) flags |= DTP_DATAFLOW_UNKNOWN;
        if (t->host->flags & DNNL_TP_HOST_MAY_BLOCK) flags |= DTP_DATAFLOW_MAY_BLOCK;
        if (t->host->flags & DNNL_TP_HOST_MAY_WAIT) flags |= DTP_DATAFLOW_MAY_PEND;
    } else if (t->op && ns > splits_ns) {
        flags = ns > wide_ns || s->takes_all[k] ? DTP_DATAFLOW_WIDE : DTP_DATAFLOW_SPLITS;
    }
    add_node(s, block, k, ns, flags);
}

static void add_range(sched_t *s, dtp_dataflow_block_t block, int k) {
    const int from = s->o->events[k].first, to = s->o->events[k].last;
    double ns = 0.;
    unsigned flags = 0;
    for (int i = from; i <= to; ++i) {
        const dtp_step_t *t = s->l->steps[i];
        ns += t->host                  ? host_cost(t, host_ns)
              : t->ctl == DTP_CTL_CALL ? call_ns
              : t->ctl                 ? 0.
                                       : dtp_step_ns(t);
        if (t->host) flags |= DTP_DATAFLOW_SIDE_EFFECT;
        if (t->host && t->host->cost_ns <= 0) flags |= DTP_DATAFLOW_UNKNOWN;
        if (t->op && dtp_step_ns(t) > wide_ns) flags |= DTP_DATAFLOW_WIDE;
        else if (t->op && dtp_step_ns(t) > splits_ns) flags |= DTP_DATAFLOW_SPLITS;
        if (t->slice_group >= 0) flags |= DTP_DATAFLOW_WIDE;
    }
    if (s->l->steps[from]->ctl == DTP_CTL_WHILE) ns *= TRIPS;
    add_node(s, block, k, ns, flags);
}

/* Where the engine finds the predicate of an IF or TEST. */
static dtp_dataflow_ref_t predicate_ref(const sched_t *s, const dtp_step_t *t) {
    const dtp_lower_t *l = s->l;
    dtp_dataflow_ref_t r = {
        .indirect = true, .level = DTP_DATAFLOW_BASES, .type = (uint8_t)t->work->pred_type};
    const dtp_buf_t *b = &l->bufs[dtp_whole_of(l, t->arg[0].buf, &r.inner)];
    r.inner += t->arg[0].offset;
    switch (b->kind) {
    case DTP_BUF_CONST:
        r.offset = (int64_t)sizeof(void *) * DTP_BASE_ABSOLUTE;
        r.inner += (int64_t)(intptr_t)b->data;
        return r;
    case DTP_BUF_INPUT: r.offset = (int64_t)sizeof(void *) * (DTP_BASE_ARGS + b->index); return r;
    case DTP_BUF_OUTPUT:
        r.offset = (int64_t)sizeof(void *) * (DTP_BASE_ARGS + s->e->nin + b->index);
        return r;
    default: break;
    }
    r.level = 0;
    for (int scope = t->scope; scope != b->scope; scope = l->scopes[scope].parent) ++r.level;
    r.indirect = b->kind == DTP_BUF_VAR;
    if (r.indirect) {
        r.offset = (int64_t)sizeof(void *) * (DTP_BASE_VARS + b->index);
    } else {
        r.offset = b->offset + r.inner;
        r.inner = 0;
    }
    return r;
}

static void add_events(sched_t *s, dtp_dataflow_block_t block, int from, int to);

static void add_if(sched_t *s, dtp_dataflow_block_t block, int k) {
    const dtp_event_t *v = s->o->events;
    int other = v[k].end, end = v[other].end;
    dtp_dataflow_ref_t ref = predicate_ref(s, s->l->steps[v[k].first]);
    dtp_dataflow_if_t f = dtp_dataflow_if(s->builder, block, &ref);
    s->token[k] = s->token[end] = f.token;
    add_after(s, f.token, k);
    add_events(s, f.branch[1], k + 1, other);
    add_events(s, f.branch[0], other + 1, end);
}

static void add_while(sched_t *s, dtp_dataflow_block_t block, int k) {
    const dtp_event_t *v = s->o->events;
    const dtp_lower_t *l = s->l;
    const int end = v[k].last, next = v[k].end, nvars = v[next].nafter;
    const dtp_step_t *x = l->steps[end];
    const dtp_scope_t *sp = &s->e->scopes[x->scope];
    int test = k + 1;
    while (v[test].kind != DTP_EVENT_TEST || l->steps[v[test].first]->other != end) ++test;
    dtp_dataflow_loop_t loop = {.nvars = nvars,
                                .window = sp->window,
                                .index = (uint32_t)v[k].first,
                                .exit_index = new_item(s, end, end),
                                .exit_ns = x->work->work.bytes / 10.,
                                .test = predicate_ref(s, l->steps[v[test].first]),
                                .data_offset = sp->ring,
                                .data_stride = (int64_t)sp->bytes};
    dtp_dataflow_while_t f = dtp_dataflow_while(s->builder, block, &loop);
    s->token[k] = f.token;
    add_after(s, f.token, k);
    for (int i = 0; i < nvars; ++i) s->token[k + 1 + i] = f.first_var + i;
    add_events(s, f.cond, k + 1 + nvars, test);
    add_after(s, f.test, test);
    add_events(s, f.body, test + 1, next);
    for (int i = 0; i < nvars; ++i) {
        int writer = s->o->after[v[next].after + i];
        if (writer >= 0) dtp_dataflow_next(s->builder, f.token, i, s->token[writer]);
    }
}

static void add_steps(sched_t *s, dtp_dataflow_block_t block, int k) {
    const dtp_event_t *v = &s->o->events[k];
    const dtp_step_t *t = s->l->steps[v->first];
    if (s->l->item_end[v->first] >= 0) {
        add_range(s, block, k);
    } else if (t->ctl == DTP_CTL_CALL) {
        s->token[k] = dtp_dataflow_call(s->builder, block, s->block_of[t->other], (uint32_t)v->first);
        add_after(s, s->token[k], k);
    } else if (t->slice_group >= 0) {
        add_node(s, block, k, s->e->slice_groups[t->slice_group].ns, DTP_DATAFLOW_WIDE);
    } else {
        add_step(s, block, k);
    }
}

static void add_events(sched_t *s, dtp_dataflow_block_t block, int from, int to) {
    const dtp_event_t *v = s->o->events;
    for (int k = from; k < to; ++k) {
        const int *after = &s->o->after[v[k].after];
        switch ((dtp_event_kind_t)v[k].kind) {
        case DTP_EVENT_STEPS: add_steps(s, block, k); break;
        case DTP_EVENT_JOIN:
            s->token[k] = dtp_dataflow_node(s->builder, block, DTP_DATAFLOW_NO_INDEX, DTP_DATAFLOW_NOP, 0.);
            add_after(s, s->token[k], k);
            break;
        case DTP_EVENT_IF:
            add_if(s, block, k);
            k = v[v[k].end].end;
            break;
        case DTP_EVENT_OUT:
            s->token[k] =
                dtp_dataflow_if_out(s->builder, s->token[v[k].end], s->token[after[1]], s->token[after[0]]);
            break;
        case DTP_EVENT_WHILE:
            add_while(s, block, k);
            k = v[k].end;
            break;
        case DTP_EVENT_ELSE:
        case DTP_EVENT_ENDIF:
        case DTP_EVENT_VAR:
        case DTP_EVENT_TEST:
        case DTP_EVENT_NEXT: break; /* of what is around */
        }
    }
}

/* Items, and what closures read of them, in the order of the nodes. */
static dnnl_tp_status_t set_items(sched_t *s) {
    dtp_exec_t *e = s->e;
    size_t n = (size_t)s->nitems, nrefs = 0;
    uint32_t *number = dtp_arena_take(s->l->ir->arena, sizeof *number * (n + 1));
    dtp_stage_t *items = dtp_arena_alloc(&e->arena, sizeof *items * (n + 1));
    if (!number || !items) return dnnl_tp_out_of_memory;
    dtp_dataflow_renumber(e->dataflow, (uint32_t)n, number);
    for (size_t i = 0; i < n; ++i) {
        const item_t from = s->items[i];
        const dtp_stage_t *stage = &e->stages[from.first];
        dtp_stage_t *to = &items[number[i]];
        if (from.end == from.first + 1 && (stage->fn || stage->kind == DTP_STAGE_STEP)) *to = *stage;
        else *to = (dtp_stage_t){.kind = DTP_STAGE_RANGE, .index = from.first, .other = from.end};
        if (to->fn) nrefs += (size_t)(to->nin + to->nout);
    }
    dtp_host_ref_t *refs = dtp_arena_take(&e->arena, sizeof *refs * (nrefs + 1));
    if (!refs) return dnnl_tp_out_of_memory;
    for (dtp_stage_t *to = items; to < items + n; ++to) {
        if (!to->fn) continue;
        int args = to->nin + to->nout;
        if (args) memcpy(refs, to->refs, sizeof *refs * (size_t)args);
        to->refs = refs;
        refs += args;
    }
    e->items = items;
    return dnnl_tp_success;
}

/* takes_all of all events. */
static dnnl_tp_status_t find_longest(sched_t *s) {
    const dtp_lower_t *l = s->l;
    dtp_arena_t *arena = l->ir->arena;
    const size_t n = (size_t)s->o->n;
    s->takes_all = dtp_arena_alloc(arena, n + 1);
    if (!s->takes_all) return dnnl_tp_out_of_memory;
    if (l->nproblems < 2) return dnnl_tp_success;
    double *ns = dtp_arena_alloc(arena, sizeof *ns * (n + 1));
    if (!ns) return dnnl_tp_out_of_memory;
    for (size_t k = 0; k < n; ++k) {
        const dtp_event_t *v = &s->o->events[k];
        for (int i = v->first; i <= v->last && v->kind == DTP_EVENT_STEPS; ++i)
            ns[k] += l->steps[i]->host ? host_cost(l->steps[i], host_ns) : dtp_step_ns(l->steps[i]);
    }
    for (int i = 0; i < l->nscopes; ++i) {
        const struct dtp_event_range *r = &s->o->scopes[i];
        DTP_TRY(dtp_find_longest(arena, s->o, r->begin, r->end, ns, s->e->num_threads, s->takes_all));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t build(sched_t *s) {
    const dtp_lower_t *l = s->l;
    dtp_dataflow_expect(s->builder, s->o->n, s->o->nafter);
    for (int i = 1; i < l->nscopes; ++i)
        if (s->e->scopes[i].is_function && s->e->scopes[i].by_counters)
            s->block_of[i] = s->e->scopes[i].block = dtp_dataflow_function(s->builder);
    for (int i = 0; i < l->nscopes; ++i)
        if (i == 0 || (s->e->scopes[i].is_function && s->e->scopes[i].by_counters))
            add_events(s, s->block_of[i], s->o->scopes[i].begin, s->o->scopes[i].end);
    unsigned flags = s->options & DTP_SCHEDULE_ORDERED ? DTP_DATAFLOW_ORDERED : 0;
    if (l->nhosts) flags |= DTP_DATAFLOW_LEARN;
    DTP_TRY(dtp_dataflow_build(s->builder, flags, &s->e->arena, &s->e->dataflow));
    return set_items(s);
}

dnnl_tp_status_t dtp_schedule_build(dtp_exec_t *e, dtp_lower_t *l, const dtp_orderings_t *orderings,
                                    unsigned options) {
    if (!e->by_counters) return dnnl_tp_success;
    dtp_arena_t *arena = l->ir->arena;
    sched_t s = {.e = e, .l = l, .o = orderings, .options = options};
    s.block_of = dtp_arena_alloc(arena, sizeof *s.block_of * (size_t)l->nscopes); /* root: 0 */
    s.token = dtp_arena_alloc(arena, sizeof *s.token * (size_t)(orderings->n + 1));
    s.items = dtp_arena_take(arena, sizeof *s.items * (size_t)(l->nsteps + 1));
    if (!s.block_of || !s.token || !s.items) return dnnl_tp_out_of_memory;
    s.builder = dtp_dataflow_builder_create(e->obj.allocator);
    if (!s.builder) return dnnl_tp_out_of_memory;
    dnnl_tp_status_t status = find_longest(&s);
    if (status == dnnl_tp_success) status = build(&s);
    dtp_dataflow_builder_destroy(s.builder);
    return status;
}
