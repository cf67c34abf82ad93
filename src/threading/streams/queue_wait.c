/* Threads that serve queues without being called by the pool. Those that wait for a queue or an event help meanwhile:
 * they take the pending work of the queue that must make progress and run its items. The state machine stands in
 * queue.h; running and completing items: queue.c.
 *
 * Where nobody comes for published work (the pool refuses, or cannot be called from where this thread is),
 * the thread that published it, or that let go of the ticket for which it waits, serves it: at once if it holds
 * nothing, else when it has let go of its ticket, its outermost piece of work and the host (dtp_left_here), one
 * after another and never by recursion. Only a thread whose wait has a limit leaves it stranded (record.h). */
#include "threading/streams/queue.h"

#include "threading/pools/builtin_pool.h"
#include "threading/base/sleeper.h"

enum {
    /* How long a run leaves what it waits for to threads of ours that may be on their way: a run may end at any
     * moment, and nobody knows how long an item takes. */
    GRACE_NS = 1000000,
    SLICE_NS = 4000000 /* how long a run that rests for several queues sleeps at one of them */
};

/* ---- Where nobody comes ------------------------------------------------------------------------------ */

/* Runs items until none is left; true if it stopped after `most`. */
static bool run_some(dtp_queue_t *q, int most) {
    int64_t clock_ns = 0;
    for (int i = 0; i < most; ++i)
        if (!dtp_queue_run_one(q, &clock_ns)) return false;
    return true;
}

/* As somebody whom the pool left alone; what is left then comes after what others left (dtp_ticket_end). */
static void serve(dtp_queue_t *q) {
    enum { ITEMS_PER_TURN = 8 };
    dtp_pool_t *rec = q->rec;
    if (!rec) {
        (void)run_some(q, INT_MAX);
    } else if (dtp_pending_reclaim(rec, &q->work)) { /* else somebody has it, or who ends a ticket looks */
        if (run_some(q, ITEMS_PER_TURN)) dtp_queue_publish(q);
        dtp_ticket_end(rec);
    }
}

/* The chain is empty. What comes up meanwhile goes to the end of what this thread has promised. */
static void serve_and_run_left(dtp_queue_t *q, const dtp_chain_t *after) {
    dtp_chain_t base = {.kind = DTP_CHAIN_CALLBACK};
    /* Inside a job of the host's loop: dtp_host_call_possible must know. */
    if (after && after->kind == DTP_CHAIN_HOST_CALL)
        base = (dtp_chain_t){.rec = after->rec, .kind = after->kind};
    const dtp_share_t *here = dtp_share_here;
    dtp_chain_top = &base;
    dtp_share_here = NULL;
    if (q) serve(q);
    while (dtp_left_here) {
        q = dtp_left_here->next_left;
        if (q == dtp_left_here) dtp_left_here = NULL;
        else dtp_left_here->next_left = q->next_left;
        DTP_STORE(&q->is_left, false, seq_cst);
        if (dtp_queue_enter(q)) {
            serve(q);
            dtp_queue_leave(q);
        }
        dtp_queue_release(q);
    }
    dtp_share_here = here;
    dtp_chain_top = NULL;
}

void dtp_queue_run_left(const dtp_chain_t *after) { serve_and_run_left(NULL, after); }

void dtp_queue_leave_to_self(dtp_queue_t *q) {
    if (DTP_UNLIKELY(dtp_thread_is_lent) && q->rec) {
        DTP_STORE(&q->rec->stranded, true, seq_cst);
        dtp_queue_ring(q);
        return;
    }
    if (!dtp_chain_top) {
        serve_and_run_left(q, NULL);
        return;
    }
    if (DTP_SWAP(&q->is_left, true, seq_cst)) return; /* another thread has promised */
    DTP_ADD(&q->refs, 1, relaxed);
    q->next_left = dtp_left_here ? dtp_left_here->next_left : q;
    if (dtp_left_here) dtp_left_here->next_left = q;
    dtp_left_here = q;
}

void dtp_queue_take_over(dtp_pool_t *rec, const dtp_pending_work_t *except) {
    if (dtp_pool_dead(rec)) return;
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = rec->fifo[false];
    if (work && work == except) work = work->next != work ? work->next : work->below;
    dtp_queue_t *q = (dtp_queue_t *)work;
    if (q && !dtp_queue_enter(q)) q = NULL;
    dtp_unlock(&rec->lock);
    if (!q) return;
    dtp_queue_leave_to_self(q);
    dtp_queue_leave(q);
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

/* What a thread waits for: an event, or a number of completed items. */
typedef struct {
    dtp_queue_t *queue;
    uint64_t seq;
    dtp_event_t *event;
    int64_t until_ns;
    const dtp_share_t *share; /* of the run that waits: ends with it; or NULL */
    bool rests;               /* it rests: a poke is as good as the event */
    bool grace;               /* threads of ours come first, for GRACE_NS */
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

/* Takes the pending work of q, if it is there and a ticket is free, and runs items until q has completed seq, the
 * goal is reached or it is late; gives the rest back. */
static bool help(dtp_queue_t *q, uint64_t seq, const goal_t *g) {
    dtp_pool_t *rec = q->rec;
#ifdef DTP_BREAK_QUEUE_SHARE
    if (g->share && rec && rec->workers) return false;
#endif
    if (!rec || (g->grace && rec->workers) || !dtp_pending_reclaim(rec, &q->work)) return false;
    bool more;
    int64_t clock_ns = 0;
    do {
        more = dtp_queue_run_one(q, &clock_ns);
    } while (more && DTP_LOAD(&q->completed, relaxed) < seq && !reached(g) && !late(g));
    if (more) dtp_queue_publish(q);
    if (!dtp_ticket_give(rec)) {
        /* For what others published meanwhile this thread is the only one known to come, if it has the time. */
        if (more || late(g)) DTP_STORE(&rec->stranded, true, relaxed);
        if (!late(g)) dtp_queue_take_over(rec, &q->work);
    }
    dtp_look_at_left(NULL);
    return true;
}

/* Of a thread that was told that a ticket is free, or may have been, and does not take it: somebody else is. */
static void pass_on(dtp_queue_t *q) {
    dtp_pool_t *rec = q->rec;
#ifdef DTP_BREAK_QUEUE_PASS_ON
    rec = NULL;
#endif
#ifdef DTP_BREAK_QUEUE_LATE_HINT
    if (rec && rec->workers) return;
#endif
    if (!rec || DTP_LOAD(&q->work.state, seq_cst) > DTP_PENDING_HINT) return;
    if (DTP_LOAD(&q->count, relaxed) > 0 && !dtp_dispatch(rec)) DTP_STORE(&rec->stranded, true, relaxed);
}

/* Follows the events that queues are parked on. The caller is inside the goal's queue, and must leave the
 * leaf, whichever it is: queues go on meanwhile, so that the walk may come back to the goal's queue.
 * *leaf_seq is where the leaf lets go. */
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

/* One round: helps, or sleeps until something changed; true if it was the last one. */
static bool wait_round(goal_t *g) {
    uint64_t seq;
    dtp_queue_t *leaf = find_leaf(g, &seq);
    DTP_ADD(&leaf->waiters, 1, seq_cst);
#ifndef DTP_BREAK_QUEUE_BELL
    uint32_t bell = DTP_LOAD(&leaf->bell, seq_cst);
#endif
    uint64_t wake_at = DTP_LOAD(&leaf->wake_at, relaxed);
    while (wake_at > seq && !DTP_CAS_WEAK(&leaf->wake_at, &wake_at, seq, seq_cst))
        ;
    DTP_JOLT();
#ifdef DTP_BREAK_QUEUE_BELL
    uint32_t bell = DTP_LOAD(&leaf->bell, seq_cst);
#endif
    if (g->event) {
        uint32_t pending = 0;
        DTP_CAS(&g->event->word, &pending, 1, seq_cst);
    }
    DTP_JOLT();
    int64_t until_ns = INT64_MAX;
    bool go_on = reached(g) || help(leaf, seq, g) || dtp_queue_end_late(leaf, &until_ns);
    if (!go_on && leaf != g->queue) go_on = DTP_LOAD(&leaf->completed, seq_cst) >= seq;
    if (!go_on) {
        dtp_event_t *deeper = dtp_queue_parked_event(leaf);
        go_on = deeper && dtp_event_queue(deeper);
        dtp_object_release(deeper);
    }
    if (!go_on) {
        if (g->until_ns < until_ns) until_ns = g->until_ns;
        int64_t left = until_ns == INT64_MAX ? INT64_MAX : dtp_max64(until_ns - dtp_now_ns(), 0);
        if (g->grace && leaf->rec && leaf->rec->workers && left > GRACE_NS) left = GRACE_NS;
        if (left > 0)
            dtp_sleep_or_rest(g->share, &leaf->bell, bell, bell + 1, left == INT64_MAX ? -1 : left, g->rests);
        g->grace = false;
    }
    DTP_SUB(&leaf->waiters, 1, seq_cst);
    const bool over = reached(g) || late(g);
    if (over || leaf != g->queue) pass_on(leaf);
    dtp_queue_leave(leaf);
    return over;
}

static dnnl_tp_status_t wait_for(goal_t *g) {
    if (reached(g)) return dnnl_tp_success;
    if (dtp_queue_dead(g->queue)) return dtp_refuse_parents("stream");
    if (dtp_chain_top)
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
    if (!dtp_queue_enter(g->queue)) return dnnl_tp_success; /* closed: drained */
    dnnl_tp_status_t status = dnnl_tp_success;
    if (late(g)) {
        dtp_queue_drive(g->queue);
    } else {
        while (!wait_round(g)) continue;
    }
    if (!reached(g)) status = dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "items are left");
    dtp_queue_leave(g->queue);
    return status;
}

dnnl_tp_status_t dtp_queue_wait_seq(dtp_queue_t *q, uint64_t seq, int64_t until_ns) {
    goal_t g = {q, seq, NULL, until_ns, NULL, false, false};
    return wait_for(&g);
}

dnnl_tp_status_t dtp_queue_wait_for_event(dtp_queue_t *q, dtp_event_t *event, int64_t until_ns) {
    goal_t g = {q, event->seq, event, until_ns, NULL, false, false};
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
        &(goal_t){q, DTP_LOAD(&q->submitted, relaxed), NULL, dtp_until_ns(timeout_ns), NULL, false, false});
}

dnnl_tp_status_t dtp_queue_wait_earlier(dtp_queue_t *q, uint64_t seq, const dtp_share_t *share) {
    return wait_for_result(&(goal_t){q, seq, NULL, INT64_MAX, share, false, true});
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
            goal_t g = {q, event->seq, event, INT64_MAX, share, true, turn == 0};
            if (several) g.until_ns = dtp_now_ns() + SLICE_NS;
            while (!wait_round(&g) && !several) continue;
            dtp_queue_leave(q);
        } else { /* a poke comes by itself */
            _Atomic uint32_t bell = 0;
            dtp_sleep_or_rest(share, &bell, 0, 1, -1, true);
        }
        dtp_object_release(event);
    }
}

void dtp_queue_drive(dtp_queue_t *q) {
    if (dtp_chain_top || dtp_queue_dead(q) || !dtp_queue_enter(q)) return;
    goal_t g = {q, UINT64_MAX, NULL, INT64_MIN + 1, NULL, false, false};
    uint64_t seq;
    dtp_queue_t *leaf = find_leaf(&g, &seq);
    dtp_pool_t *rec = leaf->rec;
    int64_t until_ns;
    (void)dtp_queue_end_late(leaf, &until_ns);
    bool published =
        DTP_LOAD(&leaf->work.state, relaxed) <= DTP_PENDING_HINT && DTP_LOAD(&leaf->count, relaxed) > 0;
    /* Other pools send a thread by themselves. */
    if (rec && !rec->workers && ((published && !rec->form_s) || DTP_LOAD(&rec->stranded, relaxed))) {
        DTP_STORE(&rec->stranded, false, relaxed);
        if (!dtp_dispatch(rec) && !help(leaf, 0, &g)) DTP_STORE(&rec->stranded, true, relaxed);
    }
    dtp_queue_leave(leaf);
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
