/* Events: something that will be done, once, with a status.
 *
 * An event is bound to an item of a queue (record), or is signalled by the program (host event). Whoever
 * fires it owns that right alone: the completion of the item, or the winner of `claimed`.
 *
 *   word        0 pending -> 1 pending, somebody sleeps -> 2 | status << 8 done
 *   callbacks   stack of nodes -> CLOSED, which carries the status
 *
 *   fire      claim; write times and text; list = exchange(callbacks, CLOSED | status); old = exchange(word,
 *             done); wake if old was 1; run the list, oldest first; drop the reference of who fires. Who fires a
 *             host event in a callback leaves the list to the loop that called this callback: so events that
 *             signal each other take no stack. Callbacks of an item run at once: it is complete after them.
 *   add       push a node; where it finds CLOSED it makes the exchange of the word itself (so that a query
 *             from the callback says done) and runs its own node, in a callback after it.
 *   wait      help (queue.c), or CAS word 0 -> 1 and sleep: on the word (host event) or on the wake word of the
 *             queue where progress must come from.
 *   keep      whose node is due, and who needs it no more, leaves it with the event; who is next to need one
 *             takes it back. So an event that never fires has no more nodes than were needed at one time.
 *
 * Invariants: status, times and text are written before CLOSED and never again; a node runs exactly once (it
 * is in the list that the exchange took, or its push saw CLOSED); nodes are allocations of their own, so a
 * callback may destroy the event; no lock is held while a callback runs; callbacks run with an entry on the
 * chain of their thread, so that a wait in one of them answers would_deadlock. An event holds the memory of
 * its queue, never the stream, the pool or the engine. */
#ifndef DTP_THREADING_STREAMS_EVENT_H
#define DTP_THREADING_STREAMS_EVENT_H

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "threading/base/atomics.h"
#include "threading/base/futex.h"

struct dnnl_tp_event;

enum { DTP_EVENT_TEXT = 384 };
#define DTP_EVENT_CLOSED ((uintptr_t)1)
#define dtp_event_closed_with(status) ((uintptr_t)(status) << 1 | DTP_EVENT_CLOSED)

typedef struct dtp_callback {
    struct dtp_callback *next;
    struct dnnl_tp_event *event; /* retained while the node runs */
    struct dtp_callback *kept;   /* the next one that the event keeps */
    /* Runs once and frees the node, or gives it back to its owner. */
    void (*fn)(struct dtp_callback *self, struct dnnl_tp_event *event, dnnl_tp_status_t status);
} dtp_callback_t;

/* Where events come from: queues of src/threading (queue_events.c), the program (event.c), or an engine that runs
 * its streams itself and fires from a thread of its own. */
typedef struct dtp_event_vtbl {
    /* A look at a pending event: makes progress where that takes a thread, and fails where it will never be done. */
    dnnl_tp_status_t (*poll)(struct dnnl_tp_event *event);
    /* Until it is done: success, timed_out, would_deadlock, poisoned (the parent's, after a fork). */
    dnnl_tp_status_t (*wait)(struct dnnl_tp_event *event, int64_t until_ns);
    void (*wake)(struct dnnl_tp_event *event); /* fired while somebody slept (word was 1) */
    void (*drop)(void *source);                /* an event's reference to its source, which is not NULL */
} dtp_event_vtbl_t;
/* Host events: done when signalled, or from the start. Waiting threads sleep on the word. */
extern const dtp_event_vtbl_t dtp_host_event;
dnnl_tp_status_t dtp_host_event_wait(struct dnnl_tp_event *event, int64_t until_ns);
void dtp_host_event_wake(struct dnnl_tp_event *event);

struct dnnl_tp_event {
    dtp_object_t obj;
    const dtp_event_vtbl_t *v;
    _Atomic uint32_t word;
    _Atomic uintptr_t callbacks;
    dtp_callback_t *_Atomic kept; /* written under kept_lock */
    dtp_lock_t kept_lock;
    _Atomic bool claimed; /* host events: somebody has signalled */
    bool host;            /* the program signals it */
    void *source;         /* retained: a queue's memory, or what the engine calls its stream; or NULL */
    uint32_t fork_generation;
    uint64_t seq;               /* done at the latest when the source has completed so many items */
    struct dnnl_tp_event *next; /* of the same item; the queue's while pending */
    int64_t begin_ns, end_ns;   /* CLOCK_MONOTONIC */
    char text[DTP_EVENT_TEXT];  /* of the error */
};
typedef struct dnnl_tp_event dtp_event_t;

/* Pending, with one reference. The reference to source (or NULL) becomes the event's, or is dropped on failure. */
dnnl_tp_status_t dtp_event_create(dtp_event_t **event, const dtp_event_vtbl_t *v, void *source, uint64_t seq);
/* By the only one who may; text NULL = none. Drops a reference. */
void dtp_event_fire(dtp_event_t *event, dnnl_tp_status_t status, const char *text, int64_t begin_ns,
                    int64_t end_ns);
/* Runs node when the event is done: later, or now on this thread. */
void dtp_event_add(dtp_event_t *event, dtp_callback_t *node);
/* A node that was added, as long as its owner has the event. The event frees it at its end, when fn has returned. */
void dtp_event_keep(dtp_event_t *event, dtp_callback_t *node);
/* One of those, which is the caller's again, or NULL. Only its owner can tell whether it has run. */
dtp_callback_t *dtp_event_take_kept(dtp_event_t *event);
static inline bool dtp_event_is_done(const dtp_event_t *event) {
    return DTP_LOAD(&event->word, acquire) >= 2;
}
static inline dnnl_tp_status_t dtp_event_status(const dtp_event_t *event) {
    return (dnnl_tp_status_t)(DTP_LOAD(&event->word, acquire) >> 8);
}
/* poisoned: it is pending, and the parent's, so that it will not be done here. */
dnnl_tp_status_t dtp_event_check(const dtp_event_t *event);
/* Until the event is done: success, timed_out, would_deadlock, poisoned (the parent's, after a fork). */
dnnl_tp_status_t dtp_event_wait(dtp_event_t *event, int64_t timeout_ns);

#endif
