/* What runs when in a scope whose items are nodes of the dataflow engine: the same orderings that schedule.c
 * gives to them, as sets of events (ancestors.h).
 *
 * An event is an item: a step, a slice group, what the interpreter runs as one, a whole loop, a call, the
 * choice of an If, the begin and the end of its branches, a result of it, its end. An allocation may follow
 * another one in the same memory if all events that touch that one come before each event that writes it. Of
 * an If's ancestors only those of both branches come before its results; the branches may share, because one
 * of them runs.
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
    if (!o->ancestors.row) return dnnl_tp_success;
    if (x->uses && o->uses[x->uses - 1].event == event && o->uses[x->uses - 1].write >= write)
        return dnnl_tp_success;
    DTP_TRY(dtp_arena_grow(o->l->ir->arena, (void **)&o->uses, &o->cap_uses, o->nuses + 1, sizeof *o->uses));
    if (!x->uses) {
        x->always = true;
        o->touched[o->ntouched++] = allocation;
    }
    if (write) {
        x->always = x->always && o->ifs == 0;
        if (o->body < 0) x->early = true;
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
    if (buf < 0 || o->l->bufs[buf].kind != DTP_BUF_INSTANCE || o->l->bufs[buf].scope != o->scope) return -1;
    while (o->heir_of[buf] >= 0) buf = o->heir_of[buf];
    return buf;
}

static dnnl_tp_status_t use_buf(dtp_order_t *o, int buf, int event, bool write) {
    int allocation = allocation_of(o, buf);
    return allocation < 0 ? dnnl_tp_success : use_allocation(o, allocation, event, write);
}

/* Steps from..to are event p. */
static dnnl_tp_status_t touch(dtp_order_t *o, int p, int from, int to) {
    const dtp_lower_t *l = o->l;
    for (int i = from; i <= to; ++i) {
        const dtp_step_t *t = l->steps[i];
        for (int k = 0; k < t->nargs + t->npost_args; ++k) {
            int buf = t->arg[k].buf;
            if (buf < 0) continue;
            DTP_TRY(use_buf(o, buf, p, t->arg[k].written));
            if (!t->arg[k].written && o->producers.token[buf] >= 0)
                dtp_ancestors_add(&o->ancestors, p, o->producers.token[buf]);
        }
        if (t->truth) DTP_TRY(use_buf(o, t->truth - 1, p, true));
        for (int k = 0; k < t->norder; ++k)
            if (o->producers.ended[t->order[k]] >= 0)
                dtp_ancestors_add(&o->ancestors, p, o->producers.ended[t->order[k]]);
        if (t->ctl == DTP_CTL_WHILE) {
            int inner = l->steps[t->other]->scope;
            if (l->scopes[inner].parent == o->scope) DTP_TRY(use_allocation(o, l->nbufs + inner, p, true));
        }
    }
    dtp_ancestors_seal(&o->ancestors, p);
    for (int i = from; i <= to; ++i) {
        const dtp_step_t *t = l->steps[i];
        for (int k = 0; k < t->nargs; ++k)
            if (t->arg[k].buf >= 0 && t->arg[k].written)
                DTP_TRY(dtp_producers_set(&o->producers, t->arg[k].buf, p, p));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk(dtp_order_t *o, int from, int to, int owner);

/* A branch and its end, an event behind all that is in it. */
static dnnl_tp_status_t branch(dtp_order_t *o, int from, int to, int owner, int *end,
                               dtp_producer_t **results, int *n) {
    int mark = o->producers.nlog, begin = o->ancestors.n;
    ++o->ifs;
    DTP_TRY(walk(o, from, to, owner));
    --o->ifs;
    *end = new_event(o, owner);
    for (int p = *end - 1; p >= begin; --p) dtp_ancestors_add(&o->ancestors, *end, p);
    dtp_ancestors_seal(&o->ancestors, *end);
    return dtp_producers_take(&o->producers, mark, results, n);
}

/* The predicate stays as it is until the branch has ended. */
static dnnl_tp_status_t keep_predicate(dtp_order_t *o, int i, int end) {
    const dtp_step_t *t = o->l->steps[i];
    if (t->truth) DTP_TRY(use_buf(o, t->truth - 1, end, false));
    return use_buf(o, t->arg[0].buf, end, false);
}

static dnnl_tp_status_t choice(dtp_order_t *o, int i, int owner) {
    const dtp_lower_t *l = o->l;
    dtp_ancestors_t *r = &o->ancestors;
    int other = l->steps[i]->other, last = l->steps[other]->other, nyes, nno;
    dtp_producer_t *yes, *no;
    int p = new_event(o, owner), begin = r->n, on_true, on_false;
    DTP_TRY(touch(o, p, i, i));
    DTP_TRY(branch(o, i + 1, other, p, &on_true, &yes, &nyes));
    int middle = r->n, otherwise = new_event(o, p);
    dtp_ancestors_never(r, otherwise, begin, middle);
    dtp_ancestors_seal(r, otherwise);
    DTP_TRY(branch(o, other + 1, last, otherwise, &on_false, &no, &nno));
    int end = r->n, done = new_event(o, p);
    dtp_ancestors_either(r, done, on_true, on_false, begin, middle, end);
    dtp_ancestors_seal(r, done);
    DTP_TRY(keep_predicate(o, i, done));
    for (int k = 0; k < nyes; ++k)
        DTP_TRY(dtp_producers_set(&o->producers, yes[k].buf, yes[k].token, -2 - k));
    int mark = o->producers.nlog - nyes;
    for (int k = 0; k < nno; ++k) {
        int y = -2 - o->producers.ended[no[k].buf]; /* written in both branches? */
        no[k].token = y >= 0 && y < nyes && yes[y].buf == no[k].buf ? no[k].token : -1;
        if (no[k].token < 0) continue;
        int out = new_event(o, -1);
        dtp_ancestors_either(r, out, yes[y].token, no[k].token, begin, middle, end);
        dtp_ancestors_seal(r, out);
        no[k].token = out;
    }
    dtp_producers_undo(&o->producers, mark);
    for (int k = 0; k < nno; ++k)
        if (no[k].token >= 0) DTP_TRY(dtp_producers_set(&o->producers, no[k].buf, no[k].token, done));
    const dtp_step_t *e = l->steps[last]; /* results that not both branches write */
    for (int k = 0; k < e->nargs; ++k) {
        if (e->arg[k].buf < 0) continue;
        DTP_TRY(use_buf(o, e->arg[k].buf, done, true));
        DTP_TRY(dtp_producers_set(&o->producers, e->arg[k].buf, done, done));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk(dtp_order_t *o, int from, int to, int owner) {
    const dtp_lower_t *l = o->l;
    for (int i = from; i < to; ++i) {
        const dtp_step_t *t = l->steps[i];
        int last = i;
        bool in_order = l->item_end[i] >= 0;
        if (in_order) {
            last = l->item_end[i];
        } else if (t->ctl == DTP_CTL_IF) {
            DTP_TRY(choice(o, i, owner));
            i = l->steps[t->other]->other;
            continue;
        } else if (t->ctl == DTP_CTL_WHILE) {
            last = t->other;
        } else if (t->slice_group >= 0) {
            const dtp_slice_group_t *g = &o->e->slice_groups[t->slice_group];
            last = g->first_step + g->nsteps - 1;
        } else if (t->ctl && t->ctl != DTP_CTL_CALL) {
            continue;
        }
        int p = new_event(o, owner);
        if (in_order && o->in_order) o->in_order[p] = 1;
        DTP_TRY(touch(o, p, i, last));
        i = last;
    }
    return dnnl_tp_success;
}

/* One iteration: the condition, the test, the body behind it. */
static dnnl_tp_status_t walk_loop(dtp_order_t *o, int begin, int end) {
    const dtp_lower_t *l = o->l;
    int test = begin + 1;
    while (l->steps[test]->ctl != DTP_CTL_TEST || l->steps[test]->other != end) ++test;
    DTP_TRY(walk(o, begin + 1, test, -1));
    int p = new_event(o, -1);
    DTP_TRY(touch(o, p, test, test));
    const dtp_step_t *t = l->steps[test];
    for (int k = 0; k < 2; ++k) {
        int allocation = allocation_of(o, k ? t->truth - 1 : t->arg[0].buf);
        if (allocation >= 0) o->allocations[allocation].stays = true;
    }
    o->body = test + 1;
    DTP_TRY(walk(o, test + 1, end - 1, p));
    const dtp_step_t *next = l->steps[end - 1];
    for (int k = 0; k < next->nargs; ++k) {
        int allocation = allocation_of(o, next->arg[k].buf);
        if (allocation >= 0) o->allocations[allocation].stays = o->allocations[allocation].next = true;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_order_scope(dtp_order_t *o, int scope) {
    const dtp_lower_t *l = o->l;
    dtp_arena_t *arena = l->ir->arena;
    bool loop = l->scopes[scope].parent >= 0;
    o->scope = scope;
    int events = o->flat ? l->scopes[scope].end : 0;
    for (int pass = o->flat && events; pass < 2; ++pass) {
        DTP_TRY(dtp_ancestors_init(&o->ancestors, arena, events, o->worth));
        o->in_order = pass ? dtp_arena_alloc(arena, (size_t)events + 1) : NULL;
        if (pass && !o->in_order) return dnnl_tp_out_of_memory;
        o->body = loop ? -1 : 0;
        if (loop) DTP_TRY(walk_loop(o, l->scopes[scope].begin, l->scopes[scope].end));
        else DTP_TRY(walk(o, scope ? l->scopes[scope].begin : 0, l->scopes[scope].end, -1));
        dtp_producers_undo(&o->producers, 0);
        events = o->ancestors.n;
        if (events == 0) break;
    }
    return collect_events(o);
}

dnnl_tp_status_t dtp_order_init(dtp_order_t *o, const dtp_exec_t *e, const dtp_lower_t *l,
                                const int *heir_of) {
    dtp_arena_t *arena = l->ir->arena;
    *o = (dtp_order_t){.e = e, .l = l, .heir_of = heir_of, .worth = SIZE_MAX, .flat = l->nscopes == 1};
    for (int i = 0; i < l->nsteps && o->flat; ++i) o->flat = l->steps[i]->ctl != DTP_CTL_IF;
    o->allocations = dtp_arena_alloc(arena, sizeof *o->allocations * (size_t)(l->nbufs + l->nscopes + 1));
    o->touched = dtp_arena_alloc(arena, sizeof *o->touched * (size_t)(l->nbufs + l->nscopes + 1));
    if (!o->allocations || !o->touched) return dnnl_tp_out_of_memory;
    DTP_TRY(dtp_producers_init(&o->producers, arena, l->nbufs));
    o->producers.forgets = o->flat;
    return dnnl_tp_success;
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
