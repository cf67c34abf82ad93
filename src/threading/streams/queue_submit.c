/* Submitting to queues: places in the order, for items, for events behind them, and for runs on
 * their callers. The state machine stands in queue.h. */
#include "threading/streams/queue.h"

/* Under order. True: the queue was idle, and the caller has the turn. */
static bool link_item(dtp_queue_t *q, dtp_submission_t *item) {
    DTP_STORE(&item->next, NULL, relaxed);
    item->generation = DTP_LOAD(&q->generation, relaxed);
    item->seq = DTP_LOAD(&q->submitted, relaxed) + 1;
    DTP_ADD(&q->inside, 1, relaxed);
    DTP_STORE(&q->submitted, item->seq, release);
    dtp_submission_t *before = q->tail;
    DTP_PREEMPT_POINT();
    q->tail = item;
    DTP_STORE(&before->next, item, release);
    return DTP_ADD(&q->count, 1, acq_rel) == 0;
}

/* Under order: the run on its caller, if there is one, becomes an item in front of what comes
 * now. */
static bool link_held(dtp_queue_t *q) {
    dtp_submission_t *held = q->held;
#ifdef DTP_BREAK_QUEUE_HELD
    held = NULL;
#endif
    q->held = NULL;
    return held && link_item(q, held);
}

static void set_up(dtp_queue_t *q, dtp_submission_t *item, dtp_event_t *event, bool held) {
    DTP_STORE(&item->events, (uintptr_t)event, relaxed);
    if (item->queue != q) item->queue = q; /* its event, if it waits for one, may be reading it */
    item->rested = item->endable = false;
    item->held = held;
}

static void submit(dtp_queue_t *q, dtp_submission_t *item, dtp_event_t *event) {
    set_up(q, item, event, false);
    dtp_lock(&q->order);
    bool idle = link_held(q);
    if (event) event->seq = DTP_LOAD(&q->submitted, relaxed) + 1;
    idle |= link_item(q, item);
    dtp_unlock(&q->order);
    if (idle) {
        if (dtp_queue_turn(q)) dtp_queue_start(q);
    } else if (DTP_UNLIKELY(DTP_LOAD(&q->rec->orphaned, relaxed)) &&
               DTP_SWAP(&q->rec->orphaned, false, seq_cst)) {
        dtp_let_go(q->rec);
    }
}

dnnl_tp_status_t dtp_queue_submit(dtp_queue_t *q, dtp_submission_t *item) {
    if (dtp_queue_dead(q)) return dtp_refuse_parents("stream");
    submit(q, item, NULL);
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_event(dtp_queue_t *q, dtp_event_t **out) {
    DTP_ADD(&q->refs, 1, relaxed);
    return dtp_event_create(out, &dtp_queue_event, q, 0);
}

dnnl_tp_status_t dtp_queue_event_of_next(dtp_queue_t *q, dtp_event_t **out) {
    *out = NULL;
    if (dtp_queue_dead(q)) return dtp_refuse_parents("stream");
    return make_event(q, out);
}

void dtp_queue_submit_with(dtp_queue_t *q, dtp_submission_t *item, dtp_event_t *event) {
    submit(q, item, dtp_object_retain(event)); /* fire drops one */
}

/* Puts the event behind the last item. False: that is complete. */
static bool attach(dtp_submission_t *tail, dtp_event_t *event) {
    uintptr_t list;
    while (!((list = DTP_LOAD(&tail->events, acquire)) & DTP_EVENT_CLOSED)) {
        event->next = (dtp_event_t *)list;
        if (DTP_CAS_WEAK(&tail->events, &list, (uintptr_t)event, acq_rel)) return true;
    }
    return false;
}

dnnl_tp_status_t dtp_queue_record(dtp_queue_t *q, dtp_event_t **out) {
    *out = NULL;
    DTP_TRY(make_event(q, out));
    dtp_event_t *event = *out;
    dtp_object_retain(event); /* fire drops one */
    dtp_lock(&q->order);
    const bool idle = link_held(q);
    dtp_submission_t *tail = q->tail; /* it is not recycled before another one is behind it */
    const bool first = tail == &q->dummy;
    event->seq = first ? 0 : tail->seq;
#ifdef DTP_BREAK_QUEUE_ORDER
    dtp_unlock(&q->order);
    dtp_lock(&q->order);
#endif
    if (attach(tail, event)) {
        dtp_unlock(&q->order);
        if (idle && dtp_queue_turn(q)) dtp_queue_start(q);
        return dnnl_tp_success;
    }
    /* Complete: its status counts unless the queue was reset since. */
    const bool failed =
        !first && tail->status != dnnl_tp_success && tail->generation == DTP_LOAD(&q->generation, relaxed);
    const dnnl_tp_status_t status = failed ? tail->status : dnnl_tp_success;
    int64_t begin_ns = tail->begin_ns, end_ns = tail->end_ns;
    if (first) begin_ns = end_ns = dtp_now_ns();
    char text[DTP_EVENT_TEXT];
    if (failed) {
        dtp_lock(&q->lock);
        dtp_queue_tell(text, tail, q->text);
        dtp_unlock(&q->lock);
    }
    dtp_unlock(&q->order);
    dtp_event_fire(event, status, failed ? text : NULL, begin_ns, end_ns);
    return dnnl_tp_success;
}

/* ---- Runs on their callers --------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_queue_hold(dtp_queue_t *q, dtp_submission_t *place, const dtp_share_t *share) {
    enum { TURN_AND_RUN = 2 };
    if (dtp_queue_dead(q)) return dtp_queue_wait_earlier(q, DTP_LOAD(&q->submitted, relaxed), share);
    set_up(q, place, NULL, true);
    DTP_STORE(&place->deps, TURN_AND_RUN, relaxed);
    dtp_lock(&q->order);
    const bool idle = link_held(q);
    const uint64_t earlier = DTP_LOAD(&q->submitted, relaxed);
    q->held = place;
    dtp_unlock(&q->order);
    if (idle && dtp_queue_turn(q)) dtp_queue_start(q);
    return dtp_queue_wait_earlier(q, earlier, share);
}

void dtp_queue_let_go(dtp_queue_t *q, dtp_submission_t *place) {
    if (dtp_queue_dead(q)) { /* the run forked, and its child came back: nothing runs here any more */
        place->recycle(place);
        return;
    }
    dtp_lock(&q->order);
    const bool alone = q->held == place;
    if (alone) q->held = NULL;
    dtp_unlock(&q->order);
    if (alone) place->recycle(place);
    else if (DTP_SUB(&place->deps, 1, acq_rel) == 1) dtp_queue_start(q);
}
