/* Threads that serve queues without being called by the pool. The state machine stands in queue.h;
 * running and completing items: queue.c.
 *
 * Who waits for a queue or an event helps: it takes the pending work of the queue that must make
 * progress (the leaf) and runs its items until its wait is over. Where work of a higher priority
 * waits it gives way: back to the FIFO, and a pause for the thread that comes for that.
 *
 * Where nobody comes for published work (the pool refuses, cannot be called from where this thread
 * is, or all its workers are in tasks of the program), the thread that published it, or that let go
 * of the ticket for which it waits, looks after it: at once if it holds nothing, else it promises
 * to (dtp_left_here) when it has let go of its ticket, its outermost piece of work and the host. It
 * serves what is left queue by queue, a few items of each, never by recursion. Until then the work
 * is orphaned (record.h), so that threads that wait for other streams of the pool, or ask, look
 * after it sooner: what this thread is in may wait for that work.
 *
 * A wait serves what is left, too, after its own leaf and while it is not over. What is left then
 * it strands. */
#include "threading/streams/queue.h"

#include "threading/pools/builtin_pool.h"
#include "threading/base/sleeper.h"

enum {
    ITEMS_PER_TURN = 8,
    /* How long a run leaves what it waits for to threads of ours that may be on their way: a run
     * may end at any moment, and nobody knows how long an item takes. And the pause of who gives
     * way. */
    GRACE_NS = 1000000,
    SLICE_NS = 4000000 /* how long a run that rests for several queues sleeps at one of them */
};

/* What a thread waits for: an event, or a number of completed items. */
typedef struct {
    dtp_queue_t *queue;
    uint64_t seq;
    dtp_event_t *event;
    int64_t until_ns;
    const dtp_share_t *share; /* of the run that waits: ends with it; or NULL */
    bool rests;               /* it rests: a wake is as good as the event */
    bool grace;               /* threads of ours come first, for GRACE_NS */
    uint64_t gave_way;        /* to this work, last (dtp_pending_reclaim) */
    bool pauses;              /* for GRACE_NS */
} goal_t;

static bool reached(const goal_t *g) {
    if (g->rests && dtp_sleeper_has_come(g->share->sleeper)) return true;
    if (g->event) return dtp_event_is_done(g->event);
    return DTP_LOAD(&g->queue->completed, seq_cst) >= g->seq;
}
static bool late(const goal_t *g) {
    return (g->until_ns != INT64_MAX && dtp_now_ns() >= g->until_ns) ||
           (g->share && dtp_share_over(g->share));
}
static bool is_over(const goal_t *g) { return reached(g) || late(g); }

/* ---- Serving ----------------------------------------------------------------------------------------- */

/* A thread that serves holds nothing else, and what its items cause comes to the end of what it has
 * promised. */
typedef struct {
    dtp_chain_t chain;
    const dtp_share_t *here;
} service_t;
static void service_begin(service_t *s, const dtp_chain_t *after) {
    s->chain = (dtp_chain_t){.kind = DTP_CHAIN_CALLBACK};
    /* Inside a job of the host's loop: dtp_host_call_possible must know. */
    if (after && after->kind == DTP_CHAIN_HOST_CALL)
        s->chain = (dtp_chain_t){.rec = after->rec, .kind = after->kind};
    s->here = dtp_share_here;
    dtp_chain_top = &s->chain;
    dtp_share_here = NULL;
}
static void service_end(const service_t *s) {
    dtp_share_here = s->here;
    dtp_chain_top = NULL;
}

/* The caller is inside q and has its turn, and a ticket. Runs `most` items at most, until q has
 * completed seq, work of a higher priority waits, or the wait (NULL: none) is over; then the rest
 * comes after what others left. */
static void serve(dtp_queue_t *q, uint64_t seq, int most, const goal_t *g) {
    dtp_pool_t *rec = q->rec;
    int64_t clock_ns = 0;
    bool more;
    do {
        more = dtp_queue_run_one(q, &clock_ns);
    } while (more && --most && DTP_LOAD(&q->completed, relaxed) < seq && !(g && is_over(g)) &&
             !dtp_pending_outranks(rec, q->work.priority));
    if (more) dtp_queue_publish(q);
    dtp_ticket_end(rec);
}

/* One turn of the first queue for which nobody waits; false: there is none, or no ticket (then a
 * holder looks). */
static bool serve_left(dtp_pool_t *rec, const goal_t *g) {
    dtp_queue_t *q = (dtp_queue_t *)dtp_pending_take_left(rec);
    if (!q) return false;
    (void)dtp_queue_enter(q); /* an item is in flight, so it is open */
    serve(q, UINT64_MAX, ITEMS_PER_TURN, g);
    dtp_queue_leave(q);
    return true;
}

/* ---- Promises ---------------------------------------------------------------------------------------- */

static void promise(dtp_queue_t *q) {
    if (DTP_SWAP(&q->is_left, true, seq_cst)) return; /* another thread has promised */
    DTP_ADD(&q->refs, 1, relaxed);
    q->next_left = dtp_left_here ? dtp_left_here->next_left : q;
    if (dtp_left_here) dtp_left_here->next_left = q;
    dtp_left_here = q;
}

/* Keeps the oldest promise, a turn for the pool of that queue, or leaves it to others; false: there
 * was none. */
static bool keep_promise(const goal_t *g, bool keep) {
    dtp_queue_t *last = dtp_left_here, *q = last ? last->next_left : NULL;
    if (!q) return false;
    if (q == last) dtp_left_here = NULL;
    else last->next_left = q->next_left;
    DTP_STORE(&q->is_left, false, seq_cst);
    if (dtp_queue_enter(q)) {
        if (keep) (void)serve_left(q->rec, g);
        else dtp_pool_strand(q->rec);
        dtp_queue_leave(q);
    }
    dtp_queue_release(q);
    return true;
}

void dtp_queue_run_left(const dtp_chain_t *after) {
    service_t s;
    service_begin(&s, after);
    while (keep_promise(NULL, true)) continue;
    service_end(&s);
}

void dtp_queue_leave_to_self(dtp_queue_t *q) {
    if (dtp_chain_top || DTP_UNLIKELY(dtp_thread_is_borrowed)) {
#ifndef DTP_BREAK_QUEUE_LEFT
        dtp_pool_strand(q->rec);
#endif
        if (dtp_thread_is_borrowed) dtp_queue_ring(q);
        else promise(q);
        return;
    }
    service_t s;
    service_begin(&s, NULL);
    (void)serve_left(q->rec, NULL);
    while (keep_promise(NULL, true)) continue;
    service_end(&s);
}

void dtp_queue_take_over(dtp_pool_t *rec) {
    if (dtp_pool_dead(rec)) return;
    dtp_lock(&rec->lock);
    dtp_queue_t *q = (dtp_queue_t *)rec->fifo[false];
    if (q && !dtp_queue_enter(q)) q = NULL;
    dtp_unlock(&rec->lock);
    if (!q) return;
    dtp_queue_leave_to_self(q);
    dtp_queue_leave(q);
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

/* Serves q, if it waits for a ticket and there is one, for the wait. */
static bool help(dtp_queue_t *q, uint64_t seq, goal_t *g) {
    dtp_pool_t *rec = q->rec;
#ifdef DTP_BREAK_QUEUE_SHARE
    if (g->share && rec->workers) return false;
#endif
    if (g->grace && rec->workers) return false;
    const uint64_t gave_way = g->gave_way;
    if (!dtp_pending_reclaim(rec, &q->work, &g->gave_way)) {
        g->pauses = g->gave_way != gave_way;
        return false;
    }
    serve(q, seq, INT_MAX, g);
    return true;
}

/* What is orphaned is this thread's now, which waits or asks; false: nothing is. */
static bool look_after(dtp_pool_t *rec, const goal_t *g) {
    if (!DTP_LOAD(&rec->orphaned, relaxed) || !DTP_SWAP(&rec->orphaned, false, seq_cst)) return false;
    if (dtp_pool_is_away(rec) && !serve_left(rec, g)) (void)dtp_dispatch(rec);
    return true;
}

/* Of a thread that was told that a ticket is free, or may have been, and does not take it: somebody
 * else is. */
static void pass_on(dtp_queue_t *q) {
    dtp_pool_t *rec = q->rec;
#ifdef DTP_BREAK_QUEUE_PASS_ON
    return;
#endif
#ifdef DTP_BREAK_QUEUE_LATE_HINT
    if (rec->workers) return;
#endif
    if (DTP_LOAD(&q->work.state, seq_cst) > DTP_PENDING_HINT) return;
    if (DTP_LOAD(&q->count, relaxed) > 0 && !dtp_dispatch(rec)) dtp_pool_strand(rec);
}
/* The same of what is orphaned. */
static void pass_on_stranded(dtp_pool_t *rec) {
    if (DTP_LOAD(&rec->orphaned, relaxed) && DTP_SWAP(&rec->orphaned, false, seq_cst)) dtp_pool_strand(rec);
}

/* Follows the events that queues are parked on. The caller is inside the goal's queue, and must
 * leave the leaf, whichever it is: queues go on meanwhile, so that the walk may come back to the
 * goal's queue. *leaf_seq is where the leaf lets go. */
static dtp_queue_t *find_leaf(const goal_t *g, uint64_t *leaf_seq) {
    dtp_queue_t *leaf = g->queue;
    DTP_ADD(&leaf->inside, 1, relaxed); /* also when it is being closed: that waits for the caller */
    *leaf_seq = g->seq;
    dtp_event_t *event;
    while ((event = dtp_queue_parked_event(leaf)) != NULL) {
        dtp_queue_t *next = dtp_event_queue(event);
        if (!next || !dtp_queue_enter(next)) {
            dtp_object_release(event);
            break;
        }
        *leaf_seq = event->seq;
        dtp_object_release(event);
        dtp_queue_leave(leaf);
        leaf = next;
    }
    return leaf;
}

/* Sleeps on the wake word of the leaf, if it is still `wake_word`. Who strands work of its pool, or of the
 * goal's, rings it. */
static void wait_asleep(const goal_t *g, dtp_queue_t *leaf, uint32_t wake_word, int64_t left_ns) {
    dtp_pool_t *const rec[] = {leaf->rec, g->queue->rec};
    const int pools = rec[0] == rec[1] ? 1 : 2;
    dtp_waiter_t self[2];
    bool sleeps = left_ns > 0;
    for (int i = 0; i < pools; ++i) {
        self[i].work = &leaf->work;
        if (!dtp_pool_wait_in(rec[i], &self[i])) sleeps = false;
    }
#ifdef DTP_BREAK_QUEUE_STRANDED
    sleeps = left_ns > 0;
#endif
    if (sleeps)
        dtp_sleep_or_rest(g->share, &leaf->wake_word, wake_word, wake_word + 1,
                          left_ns == INT64_MAX ? -1 : left_ns, g->rests);
    for (int i = 0; i < pools; ++i) dtp_pool_wait_out(rec[i], &self[i]);
}

/* One round: helps, or sleeps until something changed; true if it was the last one. */
static bool wait_round(goal_t *g) {
    uint64_t seq;
    dtp_queue_t *leaf = find_leaf(g, &seq);
    DTP_ADD(&leaf->waiters, 1, seq_cst);
#ifndef DTP_BREAK_QUEUE_BELL
    uint32_t wake_word = DTP_LOAD(&leaf->wake_word, seq_cst);
#endif
    uint64_t wake_at = DTP_LOAD(&leaf->wake_at, relaxed);
    while (wake_at > seq && !DTP_CAS_WEAK(&leaf->wake_at, &wake_at, seq, seq_cst))
        ;
    DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_QUEUE_BELL
    uint32_t wake_word = DTP_LOAD(&leaf->wake_word, seq_cst);
#endif
    if (g->event) {
        uint32_t pending = 0;
        DTP_CAS(&g->event->word, &pending, 1, seq_cst);
    }
    DTP_PREEMPT_POINT();
    int64_t until_ns = INT64_MAX;
    bool go_on = reached(g) || help(leaf, seq, g) || keep_promise(g, true) || look_after(leaf->rec, g) ||
                 look_after(g->queue->rec, g) || dtp_queue_end_late(leaf, &until_ns);
    if (!go_on && leaf != g->queue) go_on = DTP_LOAD(&leaf->completed, seq_cst) >= seq;
    if (!go_on) {
        dtp_event_t *deeper = dtp_queue_parked_event(leaf);
        go_on = deeper && dtp_event_queue(deeper);
        dtp_object_release(deeper);
    }
    if (!go_on) {
        if (g->until_ns < until_ns) until_ns = g->until_ns;
        int64_t left = until_ns == INT64_MAX ? INT64_MAX : dtp_max64(until_ns - dtp_now_ns(), 0);
        if ((g->pauses || (g->grace && leaf->rec->workers)) && left > GRACE_NS) left = GRACE_NS;
        wait_asleep(g, leaf, wake_word, left);
        g->grace = g->pauses = false;
    }
    DTP_SUB(&leaf->waiters, 1, seq_cst);
    const bool over = is_over(g);
    if (over || leaf != g->queue) pass_on(leaf);
    if (over) pass_on_stranded(leaf->rec);
    dtp_queue_leave(leaf);
    return over;
}

/* Until the wait is over, or for one round. */
static void wait_rounds(goal_t *g, bool one) {
    service_t s;
    service_begin(&s, NULL);
    while (!wait_round(g) && !one) continue;
#ifdef DTP_BREAK_QUEUE_CAPTURE
    while (keep_promise(NULL, true)) continue;
#endif
    while (keep_promise(NULL, false)) continue;
    pass_on_stranded(g->queue->rec);
    service_end(&s);
}

static dnnl_tp_status_t wait_for(goal_t *g) {
    if (reached(g)) return dnnl_tp_success;
    if (dtp_queue_dead(g->queue)) return dtp_refuse_parents("stream");
    if (dtp_chain_top)
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
    if (!dtp_queue_enter(g->queue)) return dnnl_tp_success; /* closed: drained */
    dnnl_tp_status_t status = dnnl_tp_success;
    if (late(g)) dtp_queue_drive(g->queue);
    else wait_rounds(g, false);
    if (!reached(g)) status = dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "items are left");
    dtp_queue_leave(g->queue);
    return status;
}

dnnl_tp_status_t dtp_queue_wait_seq(dtp_queue_t *q, uint64_t seq, int64_t until_ns) {
    goal_t g = {.queue = q, .seq = seq, .until_ns = until_ns};
    return wait_for(&g);
}

dnnl_tp_status_t dtp_queue_wait_for_event(dtp_queue_t *q, dtp_event_t *event, int64_t until_ns) {
    goal_t g = {.queue = q, .seq = event->seq, .event = event, .until_ns = until_ns};
    return wait_for(&g);
}

static dnnl_tp_status_t wait_for_result(goal_t *g) {
    dtp_queue_t *q = g->queue;
    DTP_ADD(&q->refs, 1, relaxed); /* a callback of what this thread runs meanwhile may close it */
    dnnl_tp_status_t status = wait_for(g);
    if (status == dnnl_tp_success) status = dtp_queue_result(q);
    dtp_queue_release(q);
    return status;
}

dnnl_tp_status_t dtp_queue_wait(dtp_queue_t *q, int64_t timeout_ns) {
    return wait_for_result(
        &(goal_t){.queue = q, .seq = DTP_LOAD(&q->submitted, relaxed), .until_ns = dtp_until_ns(timeout_ns)});
}

dnnl_tp_status_t dtp_queue_wait_earlier(dtp_queue_t *q, uint64_t seq, const dtp_share_t *share) {
    return wait_for_result(
        &(goal_t){.queue = q, .seq = seq, .until_ns = INT64_MAX, .share = share, .grace = true});
}

void dtp_queue_rest(const dtp_share_t *share) {
    dtp_sleeper_t *sleeper = share->sleeper;
    for (unsigned turn = 0; !dtp_sleeper_has_come(sleeper) && !dtp_share_over(share); ++turn) {
        bool several = false;
        dtp_event_t *event =
            dtp_chain_top || !sleeper->awaits ? NULL : sleeper->awaits(sleeper, turn, &several);
        dtp_queue_t *q = event ? dtp_event_queue(event) : NULL;
#ifdef DTP_BREAK_QUEUE_REST
        q = NULL;
#endif
        if (q && !dtp_queue_dead(q) && dtp_queue_enter(q)) {
            goal_t g = {.queue = q,
                        .seq = event->seq,
                        .event = event,
                        .until_ns = INT64_MAX,
                        .share = share,
                        .rests = true,
                        .grace = turn == 0};
            if (several) g.until_ns = dtp_now_ns() + SLICE_NS;
            wait_rounds(&g, several);
            dtp_queue_leave(q);
        } else { /* a wake comes by itself */
            _Atomic uint32_t wake_word = 0;
            dtp_sleep_or_rest(share, &wake_word, 0, 1, -1, true);
        }
        dtp_object_release(event);
    }
}

void dtp_queue_drive(dtp_queue_t *q) {
    if (dtp_chain_top || dtp_queue_dead(q) || !dtp_queue_enter(q)) return;
    service_t s;
    service_begin(&s, NULL);
    goal_t g = {.queue = q, .seq = UINT64_MAX, .until_ns = INT64_MIN + 1};
    uint64_t seq;
    int64_t until_ns;
    dtp_queue_t *leaf = find_leaf(&g, &seq);
    dtp_pool_t *rec = leaf->rec;
    (void)dtp_queue_end_late(leaf, &until_ns);
    bool left = DTP_LOAD(&rec->orphaned, relaxed) && DTP_SWAP(&rec->orphaned, false, seq_cst);
    /* Other pools send a thread by themselves. */
    if (DTP_LOAD(&leaf->work.state, relaxed) <= DTP_PENDING_HINT && DTP_LOAD(&leaf->count, relaxed) > 0)
        left |= rec->workers ? dtp_workers_are_away(rec) : !rec->form_s;
    if (left && dtp_pool_is_away(rec) && !help(leaf, 0, &g) && !serve_left(rec, &g)) (void)dtp_dispatch(rec);
    dtp_queue_leave(leaf);
    while (keep_promise(NULL, false)) continue;
    service_end(&s);
    dtp_queue_leave(q);
}

dnnl_tp_status_t dtp_queue_query(dtp_queue_t *q, bool *idle) {
    uint64_t seq = DTP_LOAD(&q->submitted, relaxed);
    *idle = false;
    if (DTP_LOAD(&q->completed, acquire) < seq) {
        if (dtp_queue_dead(q)) return dtp_refuse_parents("stream");
        dtp_queue_drive(q);
    }
    *idle = DTP_LOAD(&q->completed, acquire) >= seq;
    return dnnl_tp_success;
}
