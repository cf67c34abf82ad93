/* Events: an event fires once, with a status.
 *
 * An event is bound to an item of a queue (record), or is signalled by the program (host event).
 * Only one thread has the right to fire it: the one that completes the item, or the one that sets
 * `claimed`.
 *
 *   word        0 pending -> 1 pending, a thread sleeps -> 2 | status << 8 done
 *   callbacks   stack of nodes -> CLOSED, which carries the status
 *
 *   fire      claim; write times and text; list = exchange(callbacks, CLOSED | status); old =
 *             exchange(word, done); wake if old was 1; run the list, oldest first; drop the
 *             reference of the firing thread. A thread that fires a host event in a callback leaves
 *             the list to the loop that called this callback: so events that signal each other need
 *             no stack. Callbacks of an item run at once, because the item is complete after them.
 *   add       push a node; if it finds CLOSED, it makes the exchange of the word itself (so that a
 *             query from the callback finds the event done) and runs its own node. Inside a
 *             callback, this happens after the callback.
 *   wait      help (queue.c), or CAS word 0 -> 1 and sleep: on the word (host event) or on the wake
 *             word of the queue that has to make progress.
 *   keep      an owner that needs its node no more, while the node is still due, leaves it with the
 *             event; the next owner that needs a node takes it back. So an event that never fires
 *             has no more nodes than were needed at one time.
 *
 * Invariants: status, times and text are written before CLOSED and never again. A node runs exactly
 * once (it is in the list that the exchange took, or its push saw CLOSED). Nodes are separate
 * allocations, so a callback may destroy the event. No lock is held while a callback runs.
 * Callbacks run with an entry on the chain of their thread, so that a wait in one of them returns
 * would_deadlock. An event holds the memory of its queue, never the stream, the pool or the engine.
 */
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
    /* Retained while the node runs. */
    struct dnnl_tp_event *event;
    /* The next node that the event keeps. */
    struct dtp_callback *kept;
    /* Runs once, and frees the node or returns it to its owner. */
    void (*fn)(struct dtp_callback *self, struct dnnl_tp_event *event, dnnl_tp_status_t status);
} dtp_callback_t;

/* The source of an event: a queue of src/threading (queue_events.c), the program (event.c), or an
 * engine that runs its streams itself and fires from its own thread. */
typedef struct dtp_event_vtbl {
    /* Queries a pending event: makes progress if that needs a thread, and fails if the event will
     * never fire. */
    dnnl_tp_status_t (*poll)(struct dnnl_tp_event *event);
    /* Waits until it is done: success, timed_out, would_deadlock, poisoned (an event of the parent,
     * after a fork). */
    dnnl_tp_status_t (*wait)(struct dnnl_tp_event *event, int64_t until_ns);
    /* Called if the event fired while a thread slept (word was 1). */
    void (*wake)(struct dnnl_tp_event *event);
    /* Drops an event's reference to its source, which is not NULL. */
    void (*drop)(void *source);
} dtp_event_vtbl_t;
/* Host events: done when they are signalled, or from the start. Waiting threads sleep on the word.
 */
extern const dtp_event_vtbl_t dtp_host_event;
dnnl_tp_status_t dtp_host_event_wait(struct dnnl_tp_event *event, int64_t until_ns);
void dtp_host_event_wake(struct dnnl_tp_event *event);

struct dnnl_tp_event {
    dtp_object_t obj;
    const dtp_event_vtbl_t *v;
    _Atomic uint32_t word;
    _Atomic uintptr_t callbacks;
    /* Written under kept_lock. */
    dtp_callback_t *_Atomic kept;
    dtp_lock_t kept_lock;
    /* For host events: the event was signalled. */
    _Atomic bool claimed;
    /* The program signals it. */
    bool host;
    /* Retained: the memory of a queue, or an engine's object for its stream; or NULL. */
    void *source;
    uint32_t fork_generation;
    /* The event is done at the latest when the source has completed so many items. */
    uint64_t seq;
    /* The next event of the same item; it belongs to the queue while the event is pending. */
    struct dnnl_tp_event *next;
    /* CLOCK_MONOTONIC. */
    int64_t begin_ns, end_ns;
    /* Text of the error. */
    char text[DTP_EVENT_TEXT];
};
typedef struct dnnl_tp_event dtp_event_t;

/* Makes a pending event with one reference. The event takes over the reference to source (may be
 * NULL); it is dropped on failure. */
dnnl_tp_status_t dtp_event_create(dtp_event_t **event, const dtp_event_vtbl_t *v, void *source, uint64_t seq);
/* Called by the thread with the right to fire; text NULL = none. Drops a reference. */
void dtp_event_fire(dtp_event_t *event, dnnl_tp_status_t status, const char *text, int64_t begin_ns,
                    int64_t end_ns);
/* Runs node when the event is done: later, or at once on this thread. */
void dtp_event_add(dtp_event_t *event, dtp_callback_t *node);
/* Leaves a node that was added to the event, while its owner still has the event. The event frees
 * the node at the event's end, after fn has returned. */
void dtp_event_keep(dtp_event_t *event, dtp_callback_t *node);
/* Returns one of these nodes to the caller, or NULL. Only its owner can tell whether it has run. */
dtp_callback_t *dtp_event_take_kept(dtp_event_t *event);
static inline bool dtp_event_is_done(const dtp_event_t *event) {
    return DTP_LOAD(&event->word, acquire) >= 2;
}
static inline dnnl_tp_status_t dtp_event_status(const dtp_event_t *event) {
    return (dnnl_tp_status_t)(DTP_LOAD(&event->word, acquire) >> 8);
}
/* poisoned: the event is pending and belongs to the parent, so it will not fire in this process. */
dnnl_tp_status_t dtp_event_check(const dtp_event_t *event);
/* Waits until the event is done: success, timed_out, would_deadlock, poisoned (an event of the
 * parent, after a fork). */
dnnl_tp_status_t dtp_event_wait(dtp_event_t *event, int64_t timeout_ns);

#endif
