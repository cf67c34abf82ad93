/* Somebody who does not sleep waits for an event: a node in the event's list, that can be cancelled.
 *
 *   prepared    belongs to nobody but who prepared it
 *   armed       points to its waiter    -> ARRIVED, by the event; -> cancelled, by who stands for the waiter
 *   cancelled   points to no waiter     -> ARRIVED, by the event; -> armed again, for whatever waiter
 *   ARRIVED     the event has been here
 *
 * Only who took the waiter out of the node acts for it: the event calls `arrived`, once; or the one who cancelled does
 * what is to be done without it. So a late event never reaches what is gone. A cancelled node stays in the list
 * and is kept by the event; the next wait for the event arms it again, so that waits that are given up for ever do
 * not lengthen the list of an event that never fires. */
#ifndef DTP_THREADING_STREAMS_WAIT_H
#define DTP_THREADING_STREAMS_WAIT_H

#include "threading/streams/event.h"

typedef struct dtp_wait {
    dtp_callback_t node;
    void *_Atomic waiter; /* NULL: cancelled or prepared; or that the event has arrived */
    bool listed;
    dtp_event_t *event;   /* retained for the waiter */
    _Atomic int32_t refs; /* the event's list; and the waiter, or the event that keeps it */
    /* By who got the waiter; the waiter's reference is still there. */
    void (*arrived)(struct dtp_wait *wait, void *waiter, dnnl_tp_status_t status);
    /* The waiter's. */
    struct dtp_wait *next, *prev;
    uint64_t task;
    const void *host;
} dtp_wait_t;

/* Prepared, or NULL: out_of_memory; poisoned, where the event is the parent's and will not come. Whoever has it calls
 * dtp_wait_end in the end. */
dnnl_tp_status_t dtp_wait_prepare(dtp_wait_t **wait, dtp_event_t *event,
                                  void (*arrived)(dtp_wait_t *wait, void *waiter, dnnl_tp_status_t status));
/* arrived is called from now on, also before this returns. */
void dtp_wait_arm(dtp_wait_t *wait, void *waiter);
/* True: arrived will not be called. */
bool dtp_wait_cancel(dtp_wait_t *wait, void *waiter);
/* The waiter needs the node no more: it has arrived, was cancelled, or was never armed. */
void dtp_wait_end(dtp_wait_t *wait);

#endif
