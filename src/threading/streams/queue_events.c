/* Events of queues, and events that items of a queue wait for (wait.h), which give the item its token. */
#include "threading/streams/queue.h"

static void item_arrived(dtp_wait_t *wait, void *waiter, dnnl_tp_status_t status) {
    (void)wait, (void)status;
    dtp_submission_t *item = waiter;
    dtp_queue_t *q = item->queue;
    if (DTP_SUB(&item->deps, 1, acq_rel) == 1) dtp_queue_start(q);
}

dnnl_tp_status_t dtp_queue_wait_event(dtp_queue_t *q, dtp_submission_t *item, dtp_event_t *event) {
    enum { EVENT_AND_HEAD = 2 };
    DTP_STORE(&item->deps, EVENT_AND_HEAD, relaxed);
    item->queue = q;
    DTP_TRY(dtp_wait_prepare(&item->wait, event, item_arrived));
    dtp_wait_arm(item->wait, item); /* its token may come from now on */
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
    dtp_queue_drive(event->source);
    return dnnl_tp_success;
}
static dnnl_tp_status_t wait_queue(dtp_event_t *event, int64_t until_ns) {
    return dtp_queue_wait_for_event(event->source, event, until_ns);
}
static void wake_queue(dtp_event_t *event) { dtp_queue_ring(event->source); }
static void drop_queue(void *queue) { dtp_queue_release(queue); }

const dtp_event_vtbl_t dtp_queue_event = {poll_queue, wait_queue, wake_queue, drop_queue};
