/* What runs when in a scope whose steps are nodes of the dataflow engine: the orderings of the program
 * (order/orderings.h) as sets of events (ancestors.h); a loop inside the scope is one event.
 *
 * An allocation may follow another one in the same memory if all events that touch that one come before each
 * event that writes it. Of an If's ancestors only those of both branches come before its results; the
 * branches may share, because one of them runs.
 *
 * Iterations of a loop: an instance of the ring is used again by iteration k + window + 1. Its condition
 * starts when iteration k is complete, its body when k + 1 is. What the body hands on is read by k + 1, so
 * it shares with nothing that the condition writes, and stays to the end. */
#include "exec/compile/memory/plan.h"

/* An event behind `owner`; -1: behind nothing. */
static int new_event(dtp_order_t *o, int owner) {
    int p = dtp_ancestors_new(&o->ancestors);
    if (owner >= 0) dtp_ancestors_add(&o->ancestors, p, owner);
    return p;
}

static dnnl_tp_status_t use_allocation(dtp_order_t *o, int allocation, int event, bool write) {
    struct dtp_order_allocation *x = &o->allocations[allocation];
    if (x->uses && o->uses[x->uses - 1].event == event && o->uses[x->uses - 1].write >= write)
        return dnnl_tp_success;
    DTP_TRY(dtp_arena_grow(o->l->ir->arena, (void **)&o->uses, &o->cap_uses, o->nuses + 1, sizeof *o->uses));
    if (!x->uses) {
        x->always = true;
        o->touched[o->ntouched++] = allocation;
    }
    if (write) {
        x->always = x->always && o->ifs == 0;
        if (!o->is_body) x->early = true;
    }
    o->uses[o->nuses] = (struct dtp_order_use){event, x->uses, write, o->ifs == 0};
    x->uses = ++o->nuses;
    return dnnl_tp_success;
}

/* Adds a use to events[] unless one that happens in every run comes behind it (begins: before it). */
static dnnl_tp_status_t keep_use(dtp_order_t *o, const struct dtp_order_allocation *x, int use, bool begins,
                                 int *n) {
    enum { LATEST = 8 };
    int p = o->uses[use].event;
    for (int k = x->uses, i = 0; k && i < LATEST; k = o->uses[k - 1].next, ++i) {
        const struct dtp_order_use *other = &o->uses[k - 1];
        if (!other->always || (begins && !other->write)) continue;
        if (begins ? dtp_ancestors_has(&o->ancestors, other->event, p)
                   : dtp_ancestors_has(&o->ancestors, p, other->event))
            return dnnl_tp_success;
    }
    DTP_TRY(dtp_arena_grow(o->l->ir->arena, (void **)&o->events, &o->cap_events, o->nevents + 1,
                           sizeof *o->events));
    o->events[o->nevents++] = p;
    ++*n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t collect_events(dtp_order_t *o) {
    for (int i = 0; i < o->ntouched; ++i) {
        struct dtp_order_allocation *x = &o->allocations[o->touched[i]];
        x->events = o->nevents;
        for (int u = x->uses; u; u = o->uses[u - 1].next) DTP_TRY(keep_use(o, x, u - 1, false, &x->nends));
        for (int u = x->uses; u; u = o->uses[u - 1].next)
            if (o->uses[u - 1].write) DTP_TRY(keep_use(o, x, u - 1, true, &x->nbegins));
    }
    o->ntouched = 0;
    return dnnl_tp_success;
}

/* The allocation of a buffer of this scope; -1. */
static int allocation_of(const dtp_order_t *o, int buf) {
    int64_t at;
    if (buf >= 0) buf = dtp_whole_of(o->l, buf, &at);
    if (buf < 0 || o->l->bufs[buf].kind != DTP_BUF_INSTANCE || o->l->bufs[buf].scope != o->scope) return -1;
    while (o->heir_of[buf] >= 0) buf = o->heir_of[buf];
    return buf;
}

static dnnl_tp_status_t use_buf(dtp_order_t *o, int buf, int event, bool write) {
    int allocation = allocation_of(o, buf);
    return allocation < 0 ? dnnl_tp_success : use_allocation(o, allocation, event, write);
}

/* What steps from..to touch, they touch in event p. */
static dnnl_tp_status_t touch(dtp_order_t *o, int p, int from, int to) {
    const dtp_lower_t *l = o->l;
    for (int i = from; i <= to; ++i) {
        const dtp_step_t *t = l->steps[i];
        for (int k = 0; k < t->nargs + t->npost_args; ++k)
            DTP_TRY(use_buf(o, t->arg[k].buf, p, t->arg[k].written));
        if (t->ctl == DTP_CTL_WHILE) {
            int inner = l->steps[t->other]->scope;
            if (l->scopes[inner].parent == o->scope) DTP_TRY(use_allocation(o, l->nbufs + inner, p, true));
        }
    }
    return dnnl_tp_success;
}

/* p comes after what event k comes after, in this scope. */
static void add_after(dtp_order_t *o, int p, int k) {
    const dtp_event_t *v = &o->orderings->events[k];
    for (int i = 0; i < v->nafter; ++i) {
        int earlier = o->orderings->after[v->after + i];
        if (earlier >= o->begin && o->set_of[earlier] >= 0)
            dtp_ancestors_add(&o->ancestors, p, o->set_of[earlier]);
    }
}

/* Event k with what it touches, behind `owner` if that is not -1. */
static dnnl_tp_status_t add_event(dtp_order_t *o, int k, int owner) {
    const dtp_event_t *v = &o->orderings->events[k];
    int p = o->set_of[k] = new_event(o, owner);
    add_after(o, p, k);
    for (int i = k + 1; i <= v->end && v->kind == DTP_EVENT_WHILE; ++i) add_after(o, p, i);
    if (v->kind == DTP_EVENT_STEPS && o->l->item_end[v->first] >= 0) o->in_order[p] = 1;
    if (v->kind != DTP_EVENT_JOIN) DTP_TRY(touch(o, p, v->first, v->last));
    dtp_ancestors_seal(&o->ancestors, p);
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk(dtp_order_t *o, int from, int to, int owner);

/* A branch and its end, an event behind all that is in it. */
static dnnl_tp_status_t branch(dtp_order_t *o, int from, int to, int owner, int *end) {
    int begin = o->ancestors.n;
    ++o->ifs;
    DTP_TRY(walk(o, from, to, owner));
    --o->ifs;
    *end = new_event(o, owner);
    for (int p = *end - 1; p >= begin; --p) dtp_ancestors_add(&o->ancestors, *end, p);
    dtp_ancestors_seal(&o->ancestors, *end);
    return dnnl_tp_success;
}

/* The If of event k up to its last result. */
static dnnl_tp_status_t choice(dtp_order_t *o, int k, int owner, int *last) {
    const dtp_event_t *v = o->orderings->events;
    const int *after = o->orderings->after;
    dtp_ancestors_t *r = &o->ancestors;
    int other = v[k].end, endif = v[other].end, i = v[k].first, on_true, on_false;
    DTP_TRY(add_event(o, k, owner));
    int p = o->set_of[k], begin = r->n;
    DTP_TRY(branch(o, k + 1, other, p, &on_true));
    int middle = r->n, otherwise = new_event(o, p);
    dtp_ancestors_never(r, otherwise, begin, middle);
    dtp_ancestors_seal(r, otherwise);
    DTP_TRY(branch(o, other + 1, endif, otherwise, &on_false));
    int end = r->n, done = o->set_of[endif] = new_event(o, p);
    dtp_ancestors_either(r, done, on_true, on_false, begin, middle, end);
    dtp_ancestors_seal(r, done);
    /* The predicate stays as it is until the branch has ended. */
    DTP_TRY(use_buf(o, o->l->steps[i]->arg[0].buf, done, false));
    const dtp_step_t *e = o->l->steps[v[endif].first]; /* results that not both branches write */
    for (int n = 0; n < e->nargs; ++n) DTP_TRY(use_buf(o, e->arg[n].buf, done, true));
    for (k = endif + 1; k < o->orderings->n && v[k].kind == DTP_EVENT_OUT && v[k].end == endif; ++k) {
        int out = o->set_of[k] = new_event(o, -1);
        dtp_ancestors_either(r, out, o->set_of[after[v[k].after]], o->set_of[after[v[k].after + 1]], begin,
                             middle, end);
        dtp_ancestors_seal(r, out);
    }
    *last = k - 1;
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk(dtp_order_t *o, int from, int to, int owner) {
    const dtp_event_t *v = o->orderings->events;
    for (int k = from; k < to; ++k) {
        if (v[k].kind == DTP_EVENT_VAR) continue;
        if (v[k].kind == DTP_EVENT_IF) {
            DTP_TRY(choice(o, k, owner, &k));
            continue;
        }
        DTP_TRY(add_event(o, k, owner));
        if (v[k].kind == DTP_EVENT_WHILE) k = v[k].end;
    }
    return dnnl_tp_success;
}

/* One iteration: the condition, the test, the body behind it. */
static dnnl_tp_status_t walk_loop(dtp_order_t *o, int begin, int end) {
    const dtp_event_t *v = o->orderings->events;
    const dtp_step_t *next = o->l->steps[v[end].first], *t;
    int test = end - 1;
    while (v[test].kind != DTP_EVENT_TEST || o->l->steps[v[test].first]->scope != o->scope) --test;
    t = o->l->steps[v[test].first];
    DTP_TRY(walk(o, begin, test, -1));
    DTP_TRY(add_event(o, test, -1));
    const int predicate = allocation_of(o, t->arg[0].buf);
    if (predicate >= 0) o->allocations[predicate].stays = true;
    o->is_body = true;
    DTP_TRY(walk(o, test + 1, end, o->set_of[test]));
    for (int k = 0; k < next->nargs; ++k) {
        int allocation = allocation_of(o, next->arg[k].buf);
        if (allocation >= 0) o->allocations[allocation].stays = o->allocations[allocation].next = true;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_order_scope(dtp_order_t *o, int scope) {
    const dtp_event_t *v = o->orderings->events;
    const struct dtp_event_range range = o->orderings->scopes[scope];
    bool loop = o->l->scopes[scope].parent >= 0;
    int events = 0;
    for (int k = range.begin; k < range.end + loop; ++k) {
        events +=
            v[k].kind == DTP_EVENT_ELSE || v[k].kind == DTP_EVENT_ENDIF ? 2 : v[k].kind != DTP_EVENT_VAR;
        o->set_of[k] = -1;
        if (v[k].kind == DTP_EVENT_WHILE)
            for (int end = v[k].end; k < end;) o->set_of[++k] = -1;
    }
    o->scope = scope;
    o->begin = range.begin;
    o->is_body = !loop;
    DTP_TRY(dtp_ancestors_init(&o->ancestors, o->l->ir->arena, events, o->worth));
    o->in_order = dtp_arena_alloc(o->l->ir->arena, (size_t)events + 1);
    if (!o->in_order) return dnnl_tp_out_of_memory;
    if (loop) DTP_TRY(walk_loop(o, range.begin, range.end));
    else DTP_TRY(walk(o, range.begin, range.end, -1));
    return collect_events(o);
}

dnnl_tp_status_t dtp_order_init(dtp_order_t *o, const dtp_orderings_t *orderings, const dtp_lower_t *l,
                                const int *heir_of) {
    dtp_arena_t *arena = l->ir->arena;
    *o = (dtp_order_t){.orderings = orderings, .l = l, .heir_of = heir_of, .worth = SIZE_MAX};
    o->allocations = dtp_arena_alloc(arena, sizeof *o->allocations * (size_t)(l->nbufs + l->nscopes + 1));
    o->touched = dtp_arena_alloc(arena, sizeof *o->touched * (size_t)(l->nbufs + l->nscopes + 1));
    o->set_of = dtp_arena_alloc(arena, sizeof *o->set_of * (size_t)(orderings->n + 1));
    return o->allocations && o->touched && o->set_of ? dnnl_tp_success : dnnl_tp_out_of_memory;
}

bool dtp_order_frees(const dtp_order_t *o, const dtp_allocation_t *a, const dtp_allocation_t *b) {
    const struct dtp_order_allocation *x = &o->allocations[a->buf], *y = &o->allocations[b->buf];
    if (a->last >= b->first || x->stays || (y->next && x->early)) return false;
    const int *ends = o->events + x->events, *begins = o->events + y->events + y->nends;
    for (int w = 0; w < y->nbegins; ++w)
        for (int u = 0; u < x->nends; ++u)
            if (ends[u] == begins[w] ? !o->in_order[ends[u]]
                                     : !dtp_ancestors_has(&o->ancestors, ends[u], begins[w]))
                return false;
    return x->nends && y->nbegins;
}
