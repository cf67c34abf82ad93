/* Events of queues, and events that items of a queue wait for: a node in the event's list, which gives the item its
 * token. The states of dtp_wait_t stand in queue.h. */
#include "threading/streams/queue.h"

#define ARRIVED ((dtp_submission_t *)1) /* dtp_wait_t.item: the event has given its token */

static void wait_release(dtp_wait_t *w) {
    if (DTP_SUB(&w->refs, 1, acq_rel) == 1) dtp_free(NULL, w);
}

bool dtp_wait_cancel(dtp_wait_t *w, dtp_submission_t *item) {
    return DTP_CAS(&w->item, &item, NULL, acq_rel);
}

void dtp_wait_end(dtp_wait_t *w) {
    dtp_event_t *event = w->event;
    if (!DTP_LOAD(&w->item, relaxed)) dtp_event_keep(event, &w->node);
    else wait_release(w);
    dtp_object_release(event);
}

static void wait_arrived(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    (void)event, (void)status;
    dtp_wait_t *w = (dtp_wait_t *)node;
    dtp_submission_t *item = DTP_SWAP(&w->item, ARRIVED, acq_rel);
    dtp_queue_t *q = item ? w->queue : NULL;
    wait_release(w);
    DTP_JOLT();
    if (item && DTP_SUB(&item->deps, 1, acq_rel) == 1) dtp_queue_start(q);
}

/* A cancelled node that is still in the event's list, or NULL. */
static dtp_wait_t *wait_again(dtp_queue_t *q, dtp_submission_t *item, dtp_event_t *event) {
    for (dtp_wait_t *w; (w = (dtp_wait_t *)dtp_event_take_kept(event)) != NULL;) {
        w->queue = q;
#ifdef DTP_BREAK_QUEUE_AGAIN
        const dtp_submission_t *was = DTP_LOAD(&w->item, acquire);
        DTP_STORE(&w->item, item, release);
#else
        const dtp_submission_t *was = DTP_SWAP(&w->item, item, acq_rel);
#endif
        if (!was) return w;
        wait_release(w); /* ARRIVED: nobody looks any more */
    }
    return NULL;
}

dnnl_tp_status_t dtp_queue_wait_event(dtp_queue_t *q, dtp_submission_t *item, dtp_event_t *event) {
    enum { EVENT_AND_HEAD = 2 };
    DTP_STORE(&item->deps, EVENT_AND_HEAD, relaxed);
    dtp_wait_t *w = wait_again(q, item, event); /* its token may come from now on */
    const bool again = w != NULL;
    if (!again) {
        w = dtp_alloc(NULL, sizeof(*w), 0);
        if (!w) return dtp_no_memory(sizeof(*w));
        w->node.fn = wait_arrived;
        w->queue = q;
        atomic_init(&w->item, item);
        atomic_init(&w->refs, 2);
    }
    w->event = dtp_object_retain(event);
    item->wait = w;
    if (!again) dtp_event_add(event, &w->node);
    return dnnl_tp_success;
}

dtp_event_t *dtp_queue_parked_event(dtp_queue_t *q) {
    dtp_event_t *event = NULL;
    dtp_lock(&q->lock);
    if (q->parked && !dtp_event_is_done(q->parked->wait->event))
        event = dtp_object_retain(q->parked->wait->event);
    dtp_unlock(&q->lock);
    return event;
}

/* ---- Events of items --------------------------------------------------------------------------------- */

static dnnl_tp_status_t poll_queue(dtp_event_t *event) {
    if (dtp_queue_dead(event->source))
        return dtp_fail(dnnl_tp_poisoned, DTP_POOL_FAILED, "the event belongs to the parent process");
    dtp_queue_drive(event->source);
    return dnnl_tp_success;
}
static dnnl_tp_status_t wait_queue(dtp_event_t *event, int64_t until_ns) {
    return dtp_queue_wait_for_event(event->source, event, until_ns);
}
static void wake_queue(dtp_event_t *event) { dtp_queue_ring(event->source); }
static void drop_queue(void *queue) { dtp_queue_release(queue); }

const dtp_event_vtbl_t dtp_queue_event = {poll_queue, wait_queue, wake_queue, drop_queue};
