/* In-order queues of submission blocks: items, turns, poison. The state machine and its invariants
 * stand in queue.h; places in the order: queue_submit.c; events that items wait for:
 * queue_events.c; threads that serve queues because they wait, or because nobody else comes:
 * queue_wait.c. */
#include "threading/streams/queue.h"

#include <stdio.h>

#include "threading/base/sleeper.h"
#include "threading/pools/builtin_pool.h"

/* ---- Life -------------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_queue_create(dtp_queue_t **queue, dtp_pool_t *pool, const void *owner, int priority) {
    dtp_queue_t *q = dtp_zalloc(NULL, sizeof(*q), DTP_NO_SHARE);
    *queue = q;
    if (!q) return dtp_no_memory(sizeof(*q));
    q->work.kind = DTP_PENDING_QUEUE;
    q->priority = priority;
    q->rec = pool;
    dtp_pool_retain(pool);
    q->owner = owner;
    q->head = &q->dummy;
    atomic_init(&q->dummy.events, dtp_event_closed_with(dnnl_tp_success));
    q->tail = &q->dummy;
    atomic_init(&q->wake_at, UINT64_MAX);
    atomic_init(&q->refs, 1);
    q->fork_generation = DTP_LOAD(&dtp_fork_generation, seq_cst);
#ifndef DTP_WITHOUT_SYNC /* what it costs programs that never call sync: benchdnn/pool/sync_cost */
    dtp_sync_add(q);
#endif
    return dnnl_tp_success;
}

void dtp_queue_release(dtp_queue_t *q) {
    if (DTP_SUB(&q->refs, 1, acq_rel) == 1) dtp_free(NULL, q);
}
/* Once closed nobody comes in, so that one thread leaves last; if that thread ends the queue, others
 * may come while somebody is inside. */
bool dtp_queue_enter(dtp_queue_t *q) {
    int64_t inside = DTP_LOAD(&q->inside, relaxed);
    while (!(inside & DTP_QUEUE_CLOSED) ||
           (inside & DTP_QUEUE_LAST_ENDS && inside != (DTP_QUEUE_CLOSED | DTP_QUEUE_LAST_ENDS)))
        if (DTP_CAS_WEAK(&q->inside, &inside, inside + 1, acquire)) return true;
    return false;
}

/* Nobody is inside any more. */
static void end_queue(dtp_queue_t *q) {
#ifndef DTP_WITHOUT_SYNC
    if (!dtp_queue_dead(q)) dtp_sync_remove(q);
#endif
    if (q->head != &q->dummy) q->head->recycle(q->head);
    dtp_pool_release(q->rec);
    q->rec = NULL;
    if (q->closed) q->closed(q->closed_arg);
    dtp_queue_release(q);
}

void dtp_queue_leave(dtp_queue_t *q) {
    const int64_t last = (DTP_QUEUE_CLOSED | DTP_QUEUE_LAST_ENDS) + 1;
    if (DTP_UNLIKELY(DTP_SUB(&q->inside, 1, acq_rel) == last)) end_queue(q);
}

/* ---- Wake word ------------------------------------------------------------------------------------ */

void dtp_queue_ring(dtp_queue_t *q) {
    if (!DTP_LOAD(&q->waiters, seq_cst)) return;
    DTP_SWAP(&q->wake_at, UINT64_MAX, seq_cst);
    DTP_ADD(&q->wake_word, 1, seq_cst);
    dtp_futex_wake(&q->wake_word, INT_MAX);
}

bool dtp_queue_is_awaited(const dtp_pending_work_t *work) {
    return DTP_LOAD(&((const dtp_queue_t *)work)->waiters, seq_cst) != 0;
}

bool dtp_queue_hint(dtp_pending_work_t *work) {
    if (!dtp_queue_is_awaited(work)) return false;
    dtp_queue_ring((dtp_queue_t *)work);
    return true;
}

/* ---- Poison ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t poison_of(const dtp_queue_t *q, uint32_t generation) {
    uint64_t poison = DTP_LOAD(&q->poison, acquire);
    if (!(uint32_t)poison) return dnnl_tp_success;
#ifdef DTP_BREAK_QUEUE_GENERATION
    (void)generation;
    return (dnnl_tp_status_t)(uint32_t)poison;
#else
    return poison >> 32 == generation ? (dnnl_tp_status_t)(uint32_t)poison : dnnl_tp_success;
#endif
}

static const char skipped_text[] = "skipped because of an earlier failure: ";

/* text is the first failure's, also where it comes from an event of work that was skipped. */
static void poison(dtp_queue_t *q, uint32_t generation, dnnl_tp_status_t status, const char *text) {
    const size_t head = sizeof(skipped_text) - 1;
    if (!strncmp(text, skipped_text, head)) text += head;
    dtp_lock(&q->lock);
    snprintf(q->text, sizeof(q->text), "%s", text);
    dtp_unlock(&q->lock);
    DTP_STORE(&q->poison, (uint64_t)generation << 32 | (uint32_t)status, release);
}

void dtp_queue_reset(dtp_queue_t *q) { DTP_ADD(&q->generation, 1, release); }

dnnl_tp_status_t dtp_queue_result(dtp_queue_t *q) {
    uint32_t generation = DTP_LOAD(&q->generation, acquire);
    dnnl_tp_status_t status = poison_of(q, generation);
    if (status == dnnl_tp_success) return status;
    char text[DTP_EVENT_TEXT];
    dtp_lock(&q->lock);
    memcpy(text, q->text, sizeof(text));
    dtp_unlock(&q->lock);
    return dtp_fail(status, DTP_ITEM_FAILED, "%s", text);
}

/* ---- Turns ------------------------------------------------------------------------------------------- */

/* There is one: it was linked before it was counted. */
static dtp_submission_t *next_of(const dtp_submission_t *item) { return DTP_LOAD(&item->next, acquire); }

bool dtp_queue_turn(dtp_queue_t *q) {
    dtp_submission_t *item = next_of(q->head);
    q->work.cookie = item->cookie;
    q->work.priority = item->priority ? item->priority : q->priority;
    dtp_wait_t *w = item->wait;
    if (!w) return !item->held || DTP_SUB(&item->deps, 1, acq_rel) == 1;
    if (poison_of(q, item->generation) != dnnl_tp_success) {
#ifdef DTP_BREAK_QUEUE_CANCEL
        DTP_SUB(&item->deps, 1, acq_rel);
#else
        if (dtp_wait_cancel(w, item)) {
#ifdef DTP_BREAK_QUEUE_SKIP
            DTP_SUB(&item->deps, 1, acq_rel);
#else
            return true; /* it waits for nothing, so no waiter may be sent to the queue of its event */
#endif
        }
#endif
    }
    dtp_lock(&q->lock);
    q->parked = item;
    dtp_unlock(&q->lock);
    DTP_PREEMPT_POINT();
    dtp_queue_ring(q); /* who sleeps here looks for the event's queue */
    return DTP_SUB(&item->deps, 1, acq_rel) == 1;
}

void dtp_queue_tell(char text[DTP_EVENT_TEXT], const dtp_submission_t *item, const char *first) {
    const size_t head = item->skipped ? sizeof(skipped_text) - 1 : 0;
    memcpy(text, skipped_text, head);
    snprintf(text + head, DTP_EVENT_TEXT - head, "%.*s", (int)(DTP_EVENT_TEXT - head - 1), first);
}

static void fire_events(dtp_queue_t *q, dtp_submission_t *item) {
    uintptr_t list = DTP_SWAP(&item->events, dtp_event_closed_with(item->status), acq_rel);
    dtp_event_t *event = (dtp_event_t *)list, *first = NULL;
    while (event) { /* in the order in which they were recorded */
        dtp_event_t *next = event->next;
        event->next = first;
        first = event;
        event = next;
    }
    char text[DTP_EVENT_TEXT];
    if (first && item->status != dnnl_tp_success) dtp_queue_tell(text, item, q->text);
    while (first) {
        dtp_event_t *next = first->next;
        dtp_event_fire(first, item->status, item->status == dnnl_tp_success ? NULL : text, item->begin_ns,
                       item->end_ns);
        if (dtp_queue_dead(q)) return; /* a child that a callback forked and that came back */
        first = next;
    }
}

/* The item ran; true if the next one may run now (by this thread, which still has the turn). */
static bool complete(dtp_queue_t *q, dtp_submission_t *item) {
    fire_events(q, item);
    if (dtp_queue_dead(q)) return false;
    DTP_PREEMPT_POINT();
    dtp_submission_t *old = q->head;
    q->head = item;
#ifdef DTP_BREAK_QUEUE_DUMMY
    item->recycle(item);
    (void)old;
#else
    if (old != &q->dummy) old->recycle(old);
#endif
    uint64_t done = DTP_ADD(&q->completed, 1, seq_cst) + 1;
    if (DTP_LOAD(&q->waiters, seq_cst) && done >= DTP_LOAD(&q->wake_at, seq_cst)) dtp_queue_ring(q);
    bool more = DTP_SUB(&q->count, 1, acq_rel) > 1;
    bool ready = more && dtp_queue_turn(q);
    dtp_queue_leave(q); /* the item's: last access, unless the items that are left keep it open */
    return ready;
}

/* On the thread that runs the item, where the error text is. */
static void run_or_poison(dtp_queue_t *q, dtp_submission_t *item, const dtp_parallel_t *par) {
    item->status = item->run(item, par);
    if (item->status != dnnl_tp_success) poison(q, item->generation, item->status, dtp_last_text());
}

/* A run of a graph, wherever its pool wants it: a thread that the pool called may run it while this one
 * waits. */
typedef struct {
    dtp_queue_t *q;
    dtp_submission_t *item;
} whole_run_t;
static void run_whole(void *arg, const dtp_parallel_t *par) {
    const whole_run_t *r = arg;
    run_or_poison(r->q, r->item, par);
}

static void run_item(dtp_queue_t *q, dtp_submission_t *item, dtp_chain_t *chain) {
    dtp_pool_t *rec = q->rec;
    if (item->whole_run) {
        dtp_run_here(rec, item->num_threads, item->cookie, run_whole, &(whole_run_t){q, item});
        return;
    }
    /* Loops of a single primitive go one by one through a host that has only loops. */
    chain->team = rec->host_loops ? NULL : dtp_team_open(rec, item->cookie);
    const dtp_parallel_t par = dtp_team_parallel(rec, item->num_threads, chain->team);
    run_or_poison(q, item, &par);
    if (chain->team) dtp_team_close(chain->team);
    chain->team = NULL;
}

/* The item has run; true if the next one may run now (then this thread still has the turn). */
static bool end_item(dtp_queue_t *q, dtp_submission_t *item) {
    if (item->finish) {
        enum { RUN_AND_HOST = 2 };
        DTP_STORE(&item->deps, RUN_AND_HOST, relaxed);
        if (!item->finish(item, item->status) && DTP_SUB(&item->deps, 1, acq_rel) != 1) return false;
    }
    return complete(q, item);
}

static void set_endable(dtp_queue_t *q, dtp_submission_t *item) {
    dtp_lock(&q->lock);
    q->endable = item;
    dtp_unlock(&q->lock);
}

static void run_over(dtp_queue_t *q, dtp_submission_t *item);

/* The caller has the turn of a run that rested or waited for its ticket: something has come that it
 * rested for, or it is over. */
static void resume_item(void *arg) {
    dtp_submission_t *item = arg;
    dtp_queue_t *q = item->queue;
    if (!dtp_share_over(item->share)) {
        dtp_queue_start(q);
        return;
    }
    dtp_let_go(q->rec); /* its turn may have been taken from the FIFO, with an offered ticket */
    run_over(q, item);
}

/* True: the turn of a run, which was waiting for a ticket, is the caller's. */
static bool take_turn(void *arg) {
    dtp_queue_t *q = ((dtp_submission_t *)arg)->queue;
    return dtp_pending_withdraw(q->rec, &q->work);
}

/* The body of a run has returned and the run rests. False: there is something to do already; else
 * the turn is in the run's sleeper. */
static bool rest(dtp_queue_t *q, dtp_submission_t *item) {
    if (!item->rested) {
        item->rested = item->endable = true;
        set_endable(q, item);
        dtp_queue_ring(q); /* who waits may have to look at its deadline */
    }
    return dtp_sleeper_rest(item->share->sleeper, resume_item, take_turn, item);
}

/* What comes before an item runs for the first time. */
static void begin_item(dtp_queue_t *q, dtp_submission_t *item, int64_t clock_ns) {
    dnnl_tp_status_t waited = dnnl_tp_success;
    if (item->wait) {
        dtp_wait_t *w = item->wait;
        waited = dtp_event_is_done(w->event) ? dtp_event_status(w->event) : dnnl_tp_success;
        if (waited != dnnl_tp_success && poison_of(q, item->generation) == dnnl_tp_success)
            poison(q, item->generation, waited, w->event->text);
        dtp_lock(&q->lock);
        q->parked = NULL;
        item->wait = NULL;
        dtp_unlock(&q->lock);
        dtp_wait_end(w);
    }
    item->status = poison_of(q, item->generation);
    item->skipped = item->status != dnnl_tp_success;
    item->begin_ns = clock_ns ? clock_ns : dtp_now_ns();
}

/* Without threads: what was skipped, or a run that is over before it began, only drops what it
 * holds. */
static void skip_item(dtp_queue_t *q, dtp_submission_t *item) {
    const dnnl_tp_status_t status = item->run(item, NULL);
    if (item->skipped || status == dnnl_tp_success) return;
    item->status = status;
    poison(q, item->generation, status, dtp_last_text());
}

/* A run that is over goes on without a ticket: what is left of it computes nothing. False: it
 * rests. */
static bool end_run(dtp_queue_t *q, dtp_submission_t *item) {
    const dtp_parallel_t alone = {.num_threads = 1};
    if (!item->rested) {
        begin_item(q, item, 0);
        skip_item(q, item);
        return true;
    }
    bool rests;
    do {
        run_or_poison(q, item, &alone);
        rests = dtp_share_rests(item->share);
    } while (rests && !rest(q, item));
    return !rests;
}
/* And the items behind it that are skipped because of it. */
static void end_over(dtp_queue_t *q, dtp_submission_t *item) {
    if (!end_run(q, item)) return;
    for (;;) {
        item->end_ns = dtp_now_ns();
        if (!end_item(q, item)) return;
        item = next_of(q->head);
        if (poison_of(q, item->generation) == dnnl_tp_success) break;
        begin_item(q, item, 0);
        skip_item(q, item);
    }
    dtp_queue_start(q);
}
/* The end of a run may end runs that wait for its event, and so on: the outermost call ends them all, in a loop. Only
 * callbacks are in between; a run further up this stack might wait for the end. */
typedef struct {
    dtp_chain_t chain;
    dtp_submission_t *first, **end;
} ends_t;
static void run_over(dtp_queue_t *q, dtp_submission_t *item) {
    item->next_over = NULL;
    dtp_chain_t *up = dtp_chain_top;
    while (up && up->kind == DTP_CHAIN_CALLBACK && !up->ends_runs) up = up->up;
    if (up && up->ends_runs) {
        ends_t *outer = (ends_t *)up;
        *outer->end = item;
        outer->end = &item->next_over;
        return;
    }
    ends_t ends = {.chain = {.up = dtp_chain_top, .kind = DTP_CHAIN_CALLBACK, .ends_runs = true},
                   .first = item};
    ends.end = &item->next_over;
    dtp_chain_top = &ends.chain;
    while ((item = ends.first) != NULL) {
        ends.first = item->next_over;
        if (!ends.first) ends.end = &ends.first;
        ends.chain.queue = q = item->queue;
        end_over(q, item);
    }
    dtp_chain_pop(&ends.chain);
}

void dtp_queue_run_ends(dtp_queue_t *q, dtp_submission_t *item) {
    if (DTP_UNLIKELY(item->endable)) set_endable(q, NULL);
    item->share = NULL; /* it ends with the run */
}

bool dtp_queue_end_late(dtp_queue_t *q, int64_t *until_ns) {
    dtp_resume_t resume = {NULL, NULL};
    *until_ns = INT64_MAX;
    dtp_lock(&q->lock);
    /* It is not complete before endable is NULL. */
    const dtp_share_t *share = q->endable ? q->endable->share : NULL;
    if (share && dtp_share_over(share)) resume = dtp_sleeper_end(share->sleeper);
    else if (share && share->deadline_ns) *until_ns = share->deadline_ns;
    if (resume.fn) q->endable = NULL; /* once is enough: it may rest on for closures that have begun */
    dtp_unlock(&q->lock);
    dtp_resume(resume);
    return resume.fn != NULL;
}

void dtp_queue_publish(dtp_queue_t *q) {
    dtp_submission_t *item = next_of(q->head);
    const dtp_share_t *share = item->whole_run && !item->rested ? item->share : NULL;
    const bool may_end = share && (share->deadline_ns || share->sleeper->has_token);
#ifndef DTP_BREAK_QUEUE_ENDABLE
    if (DTP_UNLIKELY(may_end)) {
#ifndef DTP_BREAK_QUEUE_PUBLISH
        (void)dtp_queue_enter(q); /* others may finish it meanwhile; an item is in flight, so it is open */
#endif
        item->endable = true;
        dtp_sleeper_wait(share->sleeper, resume_item, take_turn, item);
        set_endable(q, item);
    }
#endif
    dtp_pending_publish(q->rec, &q->work);
    if (DTP_LIKELY(!may_end)) return;
#ifndef DTP_BREAK_QUEUE_ENDABLE
    int64_t until_ns;
    (void)dtp_queue_end_late(q, &until_ns); /* it was over before that */
#ifndef DTP_BREAK_QUEUE_PUBLISH
    dtp_queue_leave(q);
#endif
#endif
}

/* Runs one item; true if the next one may run now. The caller has the turn and a ticket. *clock_ns: 0, or
 * when the item before ended on this thread; becomes that of this item. */
bool dtp_queue_run_one(dtp_queue_t *q, int64_t *clock_ns) {
    dtp_submission_t *item = next_of(q->head);
    bool rests = false;
    if (DTP_LIKELY(!item->rested)) begin_item(q, item, *clock_ns);
    dtp_chain_t chain = {.up = dtp_chain_top, .rec = q->rec, .kind = DTP_CHAIN_RUN, .queue = q};
    dtp_chain_top = &chain;
    if (item->skipped) {
        skip_item(q, item);
    } else {
        do {
            run_item(q, item, &chain);
            rests = item->whole_run && dtp_share_rests(item->share);
        } while (DTP_UNLIKELY(rests) && !rest(q, item));
    }
    if (DTP_UNLIKELY(rests || dtp_queue_dead(q))) { /* dead: the item forked, and its child came back */
        dtp_chain_pop_inner(&chain);
        return false;
    }
    item->end_ns = dtp_now_ns();
    *clock_ns = DTP_LOAD(&item->events, relaxed) ? 0 : item->end_ns;
    if (item->finish) *clock_ns = 0;
    bool ready = end_item(q, item);
    dtp_chain_pop_inner(&chain);
    return ready;
}

void dtp_queue_item_done(dtp_queue_t *q, dtp_submission_t *item) {
    if (DTP_SUB(&item->deps, 1, acq_rel) != 1) return;
    dtp_chain_t chain = {.up = dtp_chain_top, .kind = DTP_CHAIN_CALLBACK, .queue = q};
    dtp_chain_top = &chain;
    if (complete(q, item)) dtp_queue_start(q);
    dtp_chain_pop(&chain);
}

void dtp_queue_run_pending(dtp_pool_t *rec, dtp_pending_work_t *work) {
    dtp_queue_t *q = (dtp_queue_t *)work;
    void *cookie = work->cookie;
    int64_t clock_ns = 0;
    while (dtp_queue_run_one(q, &clock_ns)) {
        /* Others wait for a ticket: back to the FIFO (this thread takes the first of them next). So does an
         * item of another run, where the host wants to know which is which. */
        if (work->cookie != cookie || dtp_adm_waiting(DTP_LOAD(&rec->adm, relaxed))) {
            dtp_queue_publish(q);
            return;
        }
    }
}

/* ---- Starting ---------------------------------------------------------------------------------------- */

void dtp_queue_start(dtp_queue_t *q) {
    if (dtp_queue_dead(q)) return;
    dtp_submission_t *item = next_of(q->head);
    if (DTP_UNLIKELY(!item->num_threads)) {
        run_over(q, item);
        return;
    }
    (void)dtp_queue_enter(q); /* others may finish it meanwhile; an item is in flight, so it is open */
    dtp_queue_publish(q);
    if (!dtp_dispatch(q->rec)) dtp_queue_leave_to_self(q);
    dtp_queue_leave(q);
}

/* ---- Closing ----------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_queue_close(dtp_queue_t *q, void (*closed)(void *arg), void *arg) {
    if (!dtp_queue_dead(q)) {
        uint64_t seq = DTP_LOAD(&q->submitted, relaxed);
        DTP_TRY(dtp_queue_wait_seq(q, seq, INT64_MAX));
        q->closed = closed;
        q->closed_arg = arg;
        int64_t inside = DTP_OR(&q->inside, DTP_QUEUE_CLOSED, acq_rel);
        /* This thread may be inside itself, further up its stack, or wait for one that waits for it. */
        if (inside && dtp_chain_top) {
            if (DTP_OR(&q->inside, DTP_QUEUE_LAST_ENDS, acq_rel) != DTP_QUEUE_CLOSED) return dnnl_tp_success;
        } else {
            /* Threads leave a few instructions after their item's completion shows. */
            for (int i = 0; DTP_LOAD(&q->inside, acquire) != DTP_QUEUE_CLOSED; ++i) dtp_back_off(i);
        }
    } else {
        q->closed = closed;
        q->closed_arg = arg;
    }
    end_queue(q);
    return dnnl_tp_success;
}

void dtp_queue_close_later(dtp_queue_t *q, void (*closed)(void *arg), void *arg) {
    q->closed = closed;
    q->closed_arg = arg;
    /* Of a parent's queue nobody leaves any more. */
    if (dtp_queue_dead(q) || !DTP_OR(&q->inside, DTP_QUEUE_CLOSED | DTP_QUEUE_LAST_ENDS, acq_rel))
        end_queue(q);
}
