/* A wait for an event without a sleeping thread: a node in the event's list that can be cancelled.
 *
 *   prepared    belongs to the thread that prepared it
 *   armed       points to its waiter    -> ARRIVED, by the event; -> cancelled, on behalf of the
 *               waiter
 *   cancelled   points to no waiter     -> ARRIVED, by the event; -> armed again, for any waiter
 *   ARRIVED     the event has fired
 *
 * Only the thread that took the waiter out of the node acts for the waiter: the event calls
 * `arrived`, once; or the cancelling thread does the rest without the event. So a late event never
 * reaches a waiter that does not exist any more. A cancelled node stays in the list and is kept by
 * the event; the next wait for the event arms it again, so that repeated cancelled waits do not
 * lengthen the list of an event that never fires. */
#ifndef DTP_THREADING_STREAMS_WAIT_H
#define DTP_THREADING_STREAMS_WAIT_H

#include "threading/streams/event.h"

typedef struct dtp_wait {
    dtp_callback_t node;
    /* NULL: cancelled or prepared. Or ARRIVED. */
    void *_Atomic waiter;
    bool listed;
    /* Retained for the waiter. */
    dtp_event_t *event;
    /* References of the event's list, and of the waiter or the event that keeps the node. */
    _Atomic int32_t refs;
    /* Called by the thread that took the waiter; the waiter's reference still exists. */
    void (*arrived)(struct dtp_wait *wait, void *waiter, dnnl_tp_status_t status);
    /* The following members belong to the waiter. */
    struct dtp_wait *next, *prev;
    uint64_t task;
    const void *host;
} dtp_wait_t;

/* Makes a prepared node. NULL on failure: out_of_memory; poisoned (the event belongs to the parent
 * and will not fire). Its owner calls dtp_wait_end in the end. */
dnnl_tp_status_t dtp_wait_prepare(dtp_wait_t **wait, dtp_event_t *event,
                                  void (*arrived)(dtp_wait_t *wait, void *waiter, dnnl_tp_status_t status));
/* From now on arrived may be called, even before this function returns. */
void dtp_wait_arm(dtp_wait_t *wait, void *waiter);
/* True: arrived will not be called. */
bool dtp_wait_cancel(dtp_wait_t *wait, void *waiter);
/* The waiter does not need the node any more: it has arrived, was cancelled, or was never armed. */
void dtp_wait_end(dtp_wait_t *wait);

#endif
