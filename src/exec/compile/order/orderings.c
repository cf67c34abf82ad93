/* Deriving the orderings of a program, see orderings.h. Steps are walked in the order of the text; what a block
 * wrote is taken back when the walk leaves it. */
#include "exec/compile/order/orderings.h"

typedef struct {
    int buf, event;
} written_t;

typedef struct {
    const dtp_exec_t *e;
    const dtp_lower_t *l;
    dtp_orderings_t *o;
    int *there; /* per buffer: the event with which it is there, -1: not yet */
    int *ended; /* per buffer: all that wrote it has ended */
    int *twin;  /* per buffer: 1 + its number among the results of a true branch */
    struct {
        int buf, there, ended;
    } * log;
    int nlog, cap_log;
    bool forgets; /* nothing will be taken back */
} derive_t;

static dnnl_tp_status_t set(derive_t *d, int buf, int there, int ended) {
    if (!d->forgets) {
        DTP_TRY(dtp_arena_grow(d->l->ir->arena, (void **)&d->log, &d->cap_log, d->nlog + 1, sizeof *d->log));
        d->log[d->nlog].buf = buf;
        d->log[d->nlog].there = d->there[buf];
        d->log[d->nlog++].ended = d->ended[buf];
    }
    d->there[buf] = there;
    d->ended[buf] = ended;
    return dnnl_tp_success;
}

static void undo(derive_t *d, int mark) {
    while (d->nlog > mark) {
        --d->nlog;
        d->there[d->log[d->nlog].buf] = d->log[d->nlog].there;
        d->ended[d->log[d->nlog].buf] = d->log[d->nlog].ended;
    }
}

static dnnl_tp_status_t new_event(derive_t *d, dtp_event_kind_t kind, int first, int last, int *number) {
    dtp_orderings_t *o = d->o;
    DTP_TRY(dtp_arena_grow(d->l->ir->arena, (void **)&o->events, &o->cap, o->n + 1, sizeof *o->events));
    o->events[o->n] =
        (dtp_event_t){.kind = (uint8_t)kind, .first = first, .last = last, .end = -1, .after = o->nafter};
    *number = o->n++;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_after(derive_t *d, int earlier) {
    dtp_orderings_t *o = d->o;
    DTP_TRY(
        dtp_arena_grow(d->l->ir->arena, (void **)&o->after, &o->cap_after, o->nafter + 1, sizeof *o->after));
    o->after[o->nafter++] = earlier;
    ++o->events[o->n - 1].nafter;
    return dnnl_tp_success;
}

/* The newest event comes after an earlier one, if there is one. */
static dnnl_tp_status_t after(derive_t *d, int earlier) {
    if (earlier < 0 || d->o->events[earlier].seen == d->o->n - 1) return dnnl_tp_success;
    d->o->events[earlier].seen = d->o->n - 1;
    return add_after(d, earlier);
}

/* The newest event reads what steps from..to read of what others wrote. */
static dnnl_tp_status_t after_reads(derive_t *d, int from, int to) {
    for (int i = from; i <= to; ++i) {
        const dtp_step_t *t = d->l->steps[i];
        for (int k = 0; k < t->nargs + t->npost_args; ++k)
            if (t->arg[k].buf >= 0 && !t->arg[k].written) DTP_TRY(after(d, d->there[t->arg[k].buf]));
        for (int k = 0; k < t->norder; ++k) DTP_TRY(after(d, d->ended[t->order[k]]));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t set_writes(derive_t *d, int event, int from, int to) {
    for (int i = from; i <= to; ++i) {
        const dtp_step_t *t = d->l->steps[i];
        for (int k = 0; k < t->nargs; ++k)
            if (t->arg[k].buf >= 0 && t->arg[k].written) DTP_TRY(set(d, t->arg[k].buf, event, event));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk(derive_t *d, int from, int to);

/* A branch; what it wrote, and by which event. */
static dnnl_tp_status_t walk_branch(derive_t *d, int from, int to, written_t **written, int *n) {
    int mark = d->nlog;
    DTP_TRY(walk(d, from, to));
    written_t *w = *written = dtp_arena_alloc(d->l->ir->arena, sizeof *w * (size_t)(d->nlog - mark));
    if (!w) return dnnl_tp_out_of_memory;
    *n = d->nlog - mark;
    for (int i = 0; i < *n; ++i) {
        int buf = d->log[mark + i].buf;
        w[i] = (written_t){buf, d->there[buf]};
    }
    undo(d, mark);
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk_if(derive_t *d, int i) {
    const dtp_lower_t *l = d->l;
    int other = l->steps[i]->other, end = l->steps[other]->other, nyes, nno, choice, otherwise, done;
    written_t *yes, *no;
    DTP_TRY(new_event(d, DTP_EVENT_IF, i, i, &choice));
    DTP_TRY(after_reads(d, i, i));
    DTP_TRY(walk_branch(d, i + 1, other, &yes, &nyes));
    DTP_TRY(new_event(d, DTP_EVENT_ELSE, other, other, &otherwise));
    DTP_TRY(walk_branch(d, other + 1, end, &no, &nno));
    DTP_TRY(new_event(d, DTP_EVENT_ENDIF, end, end, &done));
    d->o->events[choice].end = otherwise;
    d->o->events[otherwise].end = done;
    /* What both branches write is there with either of them. */
    for (int k = 0; k < nyes; ++k) d->twin[yes[k].buf] = k + 1;
    for (int k = 0; k < nno; ++k) {
        int y = d->twin[no[k].buf] - 1, out;
        if (y < 0) continue;
        d->twin[no[k].buf] = 0;
        DTP_TRY(new_event(d, DTP_EVENT_OUT, end, end, &out));
        d->o->events[out].end = done;
        DTP_TRY(add_after(d, yes[y].event));
        DTP_TRY(add_after(d, no[k].event));
        DTP_TRY(set(d, no[k].buf, out, done));
    }
    for (int k = 0; k < nyes; ++k) d->twin[yes[k].buf] = 0;
    const dtp_step_t *e = l->steps[end]; /* what only one branch writes, or none */
    for (int k = 0; k < e->nargs; ++k)
        if (e->arg[k].buf >= 0) DTP_TRY(set(d, e->arg[k].buf, done, done));
    return dnnl_tp_success;
}

static dnnl_tp_status_t walk_while(derive_t *d, int i) {
    const dtp_lower_t *l = d->l;
    int end = l->steps[i]->other, nvars = l->steps[i]->nargs, scope = l->steps[end]->scope, test = i + 1,
        mark = d->nlog, loop, event;
    const dtp_step_t *next = l->steps[end - 1];
    while (l->steps[test]->ctl != DTP_CTL_TEST || l->steps[test]->other != end) ++test;
    DTP_TRY(new_event(d, DTP_EVENT_WHILE, i, end, &loop));
    DTP_TRY(after_reads(d, i, i));
    /* What the body hands on from outside is read by the next iteration only, through its pointer. */
    for (int k = 0; k < nvars; ++k)
        if (l->bufs[next->arg[k].buf].scope != scope) DTP_TRY(after(d, d->there[next->arg[k].buf]));
    for (int k = 0; k < nvars; ++k) DTP_TRY(new_event(d, DTP_EVENT_VAR, i, i, &event));
    for (int b = 0, k = 0; b < l->nbufs && k < nvars; ++b) /* their buffers are numbered in a row */
        if (l->bufs[b].scope == scope && l->bufs[b].kind == DTP_BUF_VAR) {
            event = loop + 1 + l->bufs[b].index;
            DTP_TRY(set(d, b, event, event));
            ++k;
        }
    DTP_TRY(walk(d, i + 1, test));
    DTP_TRY(new_event(d, DTP_EVENT_TEST, test, test, &event));
    DTP_TRY(after_reads(d, test, test));
    DTP_TRY(walk(d, test + 1, end - 1));
    DTP_TRY(new_event(d, DTP_EVENT_NEXT, end - 1, end - 1, &event));
    for (int k = 0; k < nvars; ++k) {
        int buf = next->arg[k].buf;
        const dtp_buf_t *b = &l->bufs[buf];
        /* What lives outside, and what has no elements, is there at the end of the iteration at the latest; what
         * collects lives outside and is written in it. */
        const bool own = b->scope == scope ? buf >= l->steps[test]->work->first_body : d->there[buf] > loop;
        DTP_TRY(add_after(d, own && b->kind == DTP_BUF_INSTANCE ? d->there[buf] : -1));
    }
    d->o->events[loop].end = event;
    d->o->scopes[scope] = (struct dtp_event_range){loop + 1, event};
    undo(d, mark);
    return set_writes(d, loop, end, end);
}

static dnnl_tp_status_t walk(derive_t *d, int from, int to) {
    const dtp_lower_t *l = d->l;
    for (int i = from; i < to; ++i) {
        const dtp_step_t *t = l->steps[i];
        int last = i, event;
        if (l->item_end[i] >= 0) {
            last = l->item_end[i];
        } else if (t->ctl == DTP_CTL_IF) {
            DTP_TRY(walk_if(d, i));
            i = l->steps[t->other]->other;
            continue;
        } else if (t->ctl == DTP_CTL_WHILE) {
            DTP_TRY(walk_while(d, i));
            i = t->other;
            continue;
        } else if (t->slice_group >= 0) {
            const dtp_slice_group_t *g = &d->e->slice_groups[t->slice_group];
            last = g->first_step + g->nsteps - 1;
        } else if (t->ctl && t->ctl != DTP_CTL_CALL && t->ctl != DTP_CTL_JOIN) {
            continue;
        }
        DTP_TRY(new_event(d, t->ctl == DTP_CTL_JOIN ? DTP_EVENT_JOIN : DTP_EVENT_STEPS, i, last, &event));
#ifdef DTP_BREAK_ORDER_JOIN
        if (t->ctl == DTP_CTL_JOIN) DTP_TRY(after(d, d->there[t->arg[t->nargs - 2].buf]));
        else
#endif
            DTP_TRY(after_reads(d, i, last));
        DTP_TRY(set_writes(d, event, i, last));
        i = last;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_orderings_derive(dtp_orderings_t *o, const dtp_exec_t *e, const dtp_lower_t *l) {
    *o = (dtp_orderings_t){.n = 0};
    if (!e->by_counters) return dnnl_tp_success;
    dtp_arena_t *arena = l->ir->arena;
    size_t bytes = sizeof(int) * (size_t)(l->nbufs + 1);
    derive_t d = {.e = e, .l = l, .o = o};
    d.there = dtp_arena_take(arena, bytes);
    d.ended = dtp_arena_take(arena, bytes);
    d.twin = dtp_arena_alloc(arena, bytes);
    o->scopes = dtp_arena_alloc(arena, sizeof *o->scopes * (size_t)l->nscopes);
    if (!d.there || !d.ended || !d.twin || !o->scopes) return dnnl_tp_out_of_memory;
    for (int b = 0; b < l->nbufs; ++b) d.there[b] = d.ended[b] = -1;
    DTP_TRY(dtp_arena_grow(arena, (void **)&o->events, &o->cap, l->nsteps, sizeof *o->events));
    DTP_TRY(dtp_arena_grow(arena, (void **)&o->after, &o->cap_after, l->nhost_refs, sizeof *o->after));
    d.forgets = l->nscopes == 1 && l->nhosts + 1 == l->nsteps; /* nothing but closures and the end */
    for (int s = 0; s < l->nscopes; ++s) {
        if (s > 0 && (!e->scopes[s].is_function || !e->scopes[s].by_counters)) continue;
        int begin = o->n;
        DTP_TRY(walk(&d, s ? l->scopes[s].begin : 0, l->scopes[s].end));
        o->scopes[s] = (struct dtp_event_range){begin, o->n};
        undo(&d, 0);
    }
    return dnnl_tp_success;
}
