/* In-order queues of submission blocks: an asynchronous stream is such a queue.
 *
 * Items run one after another, each on a thread of the pool (or on a thread that waits), and may
 * use the pool's other threads through the dtp_parallel_t that they get. An item that waits for its
 * turn blocks no thread.
 *
 * ---- States -----------------------------------------------------------------------------------------------
 *
 * The queue is a list with a dummy: `head` is the last completed item (at first the dummy),
 * head->next is the item whose turn it is. `count` = number of items that are not complete. A queue
 * with count > 0 has exactly one *turn*, the right to access `head`. The turn is in one of these
 * places:
 *
 *   published   the queue is linked in the record's FIFO as pending work; the thread that takes it,
 *               with a ticket, has the turn
 *   taken       a thread is in run_one
 *   parked      the item waits for its event; the turn is a token in item->deps
 *   deferred    the item ran and its host finishes later; the turn is a token in item->deps
 *   resting     a run waits for nodes that come back from outside (threading/base/sleeper.h): the
 *               thread that wakes it has the turn and publishes the queue; no thread of the pool
 *               sleeps as the owner of a run
 *
 * A run that may end early (it has a token or a deadline) registers this before its queue is
 * published. The thread that fires the token, or that waits and sees the deadline pass, takes the
 * turn out of the FIFO (published), or from the place where the run rests, and ends the run,
 * without a ticket; then it completes the items that are skipped because of that. (The thread that
 * fires the event of an item that only waits does the same, because there is no work.) Such ends
 * are made in a loop, even if one end causes others.
 *
 *   push      under `order`: number, link, count+1. 0 -> 1: the pushing thread gets the turn. Any
 *             number of threads push: if two push at the same time, they take places one after the
 *             other, and an item that was pushed after another one (on the same thread, or on a
 *             thread that has synchronised with it) comes after that one
 *   hold      a run on its caller is no item, but has a place in the order: after the items that
 *             were pushed before it, for which the caller waits, and before the items that are
 *             pushed until it lets go. The place is an item that is pushed only if it is needed: a
 *             thread that pushes meanwhile finds it in `held` and pushes it first. Its deps have
 *             two tokens: that of the turn, and one that the caller gives when the run is over
 *   turn      of an item with an event: give the head token (deps-1). deps = 1 token of the event +
 *             1 head token; the thread that makes it 0 publishes. So an early event cannot start an
 *             item before its turn
 *   run       begin; run(par), or run(NULL) if it is skipped; finish() if there is one: true, or
 *             false and later dtp_queue_item_done (deps has two tokens again: the thread that makes
 *             it 0 completes)
 *   complete  poison if it failed; events exchange(CLOSED), fire them; head = item; recycle the old
 *             head; completed+1; change the wake word; count-1; next turn
 *
 * Invariants. Only the owner of the turn accesses `head`. tail, submitted and `held` are written
 * under `order`, so that numbers, generations and places are in the same order; no code of the
 * program or its pool runs under it. The queue stays open until a push has returned (streams ensure
 * this by a seat: seats.h). An item is recycled only after the next one is complete, so its `next`
 * has been read, and under `order` the tail is an item, complete or not: an event recorded then
 * finds its events CLOSED, and status and times beside it. An item counts as completed after its
 * callbacks have returned.
 *
 * Events of items (wait.h). The event gives its token unless the wait was cancelled. A skipped item
 * cancels first; if the event was faster, the item stays parked until the event has given its
 * token. An item that waited for a failed event is skipped with the event's status and poisons its
 * queue.
 *
 * Poison. `poison` = generation : 32 | status : 32 of the last generation that failed. Items carry
 * the generation in which they were pushed; an item is skipped iff its generation is the poisoned
 * one; reset makes a new generation. Items are in order of generation, so an older generation never
 * overwrites a poisoned one.
 *
 * Waiting. A thread whose chain is not empty never waits. Any other thread helps: it takes, as
 * pending work, the queue that it waits for. If that queue is parked on an event of another queue,
 * it takes that queue instead, and so on down to a queue that is not parked (the leaf; events are
 * bound to submitted work, so there is no circle). If there is nothing to take, it serves orphaned
 * work (queue_wait.c, record.h), and then sleeps on the leaf's wake_word. A thread that orphans
 * work of the leaf's pool or of its own pool changes that word, too. The wake word also changes
 * when `completed` reaches `wake_at` (the least target of the sleeping threads), when the queue
 * parks, when an event with sleepers fires, and by dtp_dispatch when the pending work is published
 * and a ticket is free. The sleeping thread: waiters+1; read wake_word; lower wake_at; check
 * everything again; sleep. The waking thread: publish; read waiters; exchange(wake_at, none);
 * wake_word+1; wake. (The wake word is read before wake_at is lowered, because otherwise a waker in
 * between would drop the new target.)
 *
 * Life. `inside` = items in flight + threads that help + CLOSED + LAST_ENDS. close drains and sets
 * CLOSED, after which no thread comes in, and waits until no thread is inside: then the queue ends,
 * which means that it releases the record. Inside running work the waiting thread itself may be
 * inside, further up its stack; so close then sets LAST_ENDS as well and returns: if a thread was
 * inside, the last one that leaves ends the queue. A stream that is given away inside its own work
 * sets both flags and does nothing else: its items are inside, and threads that serve them or wait
 * for them come and go until the last item has left. `refs` keeps the memory: references of the
 * owner until the end, of events, and of threads that will look at the queue later (queue_wait.c).
 */
#ifndef DTP_THREADING_STREAMS_QUEUE_H
#define DTP_THREADING_STREAMS_QUEUE_H

#include "threading/streams/wait.h"
#include "threading/pools/record.h"

typedef struct dtp_queue dtp_queue_t;

/* First member of a submission block. The block belongs to the queue from submit until recycle is
 * called. */
typedef struct dtp_submission {
    struct dtp_submission *_Atomic next;
    /* The submitter sets the following members for each submission. */
    /* Limit of participants; 0: there is no work, and no ticket is needed. */
    int num_threads;
    /* A run of a graph: its joiners stay from its first loop to its last. */
    bool whole_run;
    /* Of the run, until it has ended (dtp_queue_run_ends); NULL: it never rests. */
    const dtp_share_t *share;
    /* Priority of its turn among pending work; 0: the queue's. */
    int priority;
    /* From the host's run_begin, or NULL. */
    void *cookie;
    /* Made by dtp_queue_wait_event, or NULL. */
    dtp_wait_t *wait;
    /* par NULL: the item is skipped and only releases its resources (the result is ignored). */
    dnnl_tp_status_t (*run)(struct dtp_submission *item, const dtp_parallel_t *par);
    /* Optional. Called after run with the status of the item. false: the item is complete after a
     * call of dtp_queue_item_done (by any thread, possibly before finish returns). */
    bool (*finish)(struct dtp_submission *item, dnnl_tp_status_t status);
    /* Called when the queue does not read the item any more. */
    void (*recycle)(struct dtp_submission *item);
    /* The following members belong to the queue. */
    struct dtp_queue *queue;
    /* Its run has begun, and rests or has rested. */
    bool rested;
    /* It was the queue's endable. */
    bool endable;
    /* The place of a run on its caller: waits until the caller lets go. */
    bool held;
    /* The next item whose run is over and that the same thread ends. */
    struct dtp_submission *next_over;
    uint32_t generation;
    uint64_t seq;
    _Atomic int32_t deps;
    /* List of dtp_event_t, or DTP_EVENT_CLOSED. */
    _Atomic uintptr_t events;
    dnnl_tp_status_t status;
    bool skipped;
    int64_t begin_ns, end_ns;
} dtp_submission_t;

struct dtp_queue {
    dtp_pending_work_t work;
    /* Retained while the queue is open. */
    dtp_pool_t *rec;
    /* Address of the engine; for sync. */
    const void *owner;
    int priority;
    dtp_submission_t *head;
    dtp_submission_t dummy;
    /* Protects tail, held, and writes of submitted. */
    _Alignas(DTP_NO_SHARE) dtp_lock_t order;
    dtp_submission_t *tail;
    /* The place of the last run on its caller, if no item was pushed since; or NULL. */
    dtp_submission_t *held;
    _Atomic int64_t count;
    _Atomic uint64_t submitted;
    _Atomic uint32_t generation;
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t completed;
    _Atomic uint64_t poison;
    _Atomic uint64_t wake_at;
    _Atomic uint32_t wake_word;
    _Atomic int32_t waiters;
    _Atomic int64_t inside;
    _Atomic int32_t refs;
    /* Protects parked, endable, text. */
    dtp_lock_t lock;
    /* The item that waits for its event. */
    dtp_submission_t *parked;
    /* The run that waits for its ticket and has a token or a deadline, or that rests or has rested
     * and is not complete. */
    dtp_submission_t *endable;
    char text[DTP_EVENT_TEXT];
    uint32_t fork_generation;
    /* The queue is in dtp_left_here of a thread. */
    _Atomic bool is_left;
    /* The next queue there, after the last one the first; written by the thread that set is_left.
     */
    dtp_queue_t *next_left;
    /* List of all queues: sync.c. */
    dtp_queue_t *prev_sync, *next_sync;
    /* Set by close, called at the end. */
    void (*closed)(void *arg);
    void *closed_arg;
};
#define DTP_QUEUE_CLOSED ((int64_t)1 << 62)
#define DTP_QUEUE_LAST_ENDS ((int64_t)1 << 61)

/* owner: identifies the queue in sync.h. */
dnnl_tp_status_t dtp_queue_create(dtp_queue_t **queue, dtp_pool_t *pool, const void *owner, int priority);
/* Drops a reference to the memory. */
void dtp_queue_release(dtp_queue_t *queue);
/* Never blocks, never allocates. Any thread may call it. Items after a failed one are skipped. */
dnnl_tp_status_t dtp_queue_submit(dtp_queue_t *queue, dtp_submission_t *item);
/* The same in two steps, for items with an event: the first makes the event, which may be released
 * instead; the second submits the item with it and cannot fail. Actions that may have to be undone
 * fit in between. */
dnnl_tp_status_t dtp_queue_event_of_next(dtp_queue_t *queue, dtp_event_t **event);
void dtp_queue_submit_with(dtp_queue_t *queue, dtp_submission_t *item, dtp_event_t *event);
/* Makes an item that is not submitted yet wait for event. */
dnnl_tp_status_t dtp_queue_wait_event(dtp_queue_t *queue, dtp_submission_t *item, dtp_event_t *event);
/* Makes the queue pending work; the caller has the turn, is inside the queue, and the item may run.
 * From now on a run that may end early can be ended without a ticket, by a thread that fires its
 * token or sees its deadline pass. */
void dtp_queue_publish(dtp_queue_t *queue);
/* The same, and finds a thread for the work. */
void dtp_queue_start(dtp_queue_t *queue);
/* No thread comes for the queue, and this thread is inside it: this thread serves the queue, now or
 * when it holds nothing. A thread of a device's driver (dtp_thread_is_borrowed) leaves it to the
 * thread that next waits for the queue, queries it or submits to it, and so do pools that cannot be
 * called from their own jobs. */
void dtp_queue_leave_to_self(dtp_queue_t *queue);
/* For events whose source is a queue. */
extern const dtp_event_vtbl_t dtp_queue_event;
static inline dtp_queue_t *dtp_event_queue(const dtp_event_t *event) {
    return event->v == &dtp_queue_event ? event->source : NULL;
}
/* Makes an event that fires when everything submitted so far is complete. */
dnnl_tp_status_t dtp_queue_record(dtp_queue_t *queue, dtp_event_t **event);
/* See dtp_submission_t.finish. */
void dtp_queue_item_done(dtp_queue_t *queue, dtp_submission_t *item);

/* Waits until seq items are complete: success, timed_out, would_deadlock, poisoned (a queue of the
 * parent, after a fork). The status does not depend on the results of the items. until_ns:
 * CLOCK_MONOTONIC, INT64_MAX = no limit. */
dnnl_tp_status_t dtp_queue_wait_seq(dtp_queue_t *queue, uint64_t seq, int64_t until_ns);
dnnl_tp_status_t dtp_queue_wait_for_event(dtp_queue_t *queue, dtp_event_t *event, int64_t until_ns);
/* Waits for all items submitted before, then returns the first error since the last reset.
 * timeout_ns < 0 = no limit. */
dnnl_tp_status_t dtp_queue_wait(dtp_queue_t *queue, int64_t timeout_ns);
/* Waits for the first `seq` items on behalf of a run; timed_out if the run is over before that. */
dnnl_tp_status_t dtp_queue_wait_earlier(dtp_queue_t *queue, uint64_t seq, const dtp_share_t *share);
/* For a run that its caller is going to execute: waits as dtp_queue_wait_earlier. Items that are
 * submitted later begin after dtp_queue_let_go, which must follow in any case. place: an item
 * without work, whose num_threads, run and recycle are set; it is recycled after the run. Other
 * threads may submit meanwhile, or hold the queue next. */
dnnl_tp_status_t dtp_queue_hold(dtp_queue_t *queue, dtp_submission_t *place, const dtp_share_t *share);
void dtp_queue_let_go(dtp_queue_t *queue, dtp_submission_t *place);
/* Returns the first error since the last reset, and sets its text. */
dnnl_tp_status_t dtp_queue_result(dtp_queue_t *queue);
/* Whether everything is complete. Runs one item if the pool needs it. */
dnnl_tp_status_t dtp_queue_query(dtp_queue_t *queue, bool *idle);
/* Does for the pool what dtp_queue_query does, before an event of the queue is queried. */
void dtp_queue_drive(dtp_queue_t *queue);
void dtp_queue_reset(dtp_queue_t *queue);
/* Drains, then releases the record, and calls closed (may be NULL): before it returns, or, if
 * called inside running work, when the last thread that was inside has left. would_deadlock inside
 * the queue's own work: then the queue stays, and closed is not called. */
dnnl_tp_status_t dtp_queue_close(dtp_queue_t *queue, void (*closed)(void *arg), void *arg);
/* The same without a wait: the thread that leaves last, after the last item, releases the record
 * and calls closed; this happens at once if no thread is inside. Nothing may be submitted
 * afterwards. */
void dtp_queue_close_later(dtp_queue_t *queue, void (*closed)(void *arg), void *arg);
static inline bool dtp_queue_dead(const dtp_queue_t *q) { return dtp_is_parents(q->fork_generation); }
/* Called by the owner of the turn: runs the item whose turn it is; true if more may run now.
 * *clock_ns: the end of the item before it, or 0. */
bool dtp_queue_run_one(dtp_queue_t *queue, int64_t *clock_ns);
/* Called by the owner of the turn: whether the next item may run now. If not, the turn is parked,
 * and the queue must not be accessed unless something else keeps it open. */
bool dtp_queue_turn(dtp_queue_t *queue);
/* The text of events of a failed item. `first` is written for the owner of the turn only. */
void dtp_queue_tell(char text[DTP_EVENT_TEXT], const dtp_submission_t *item, const char *first);
/* The event on which the queue is parked, retained; NULL: there is none, or it has fired. */
dtp_event_t *dtp_queue_parked_event(dtp_queue_t *queue);
/* Takes the reference of a helper; false after the queue was closed. */
bool dtp_queue_enter(dtp_queue_t *queue);
void dtp_queue_leave(dtp_queue_t *queue);
/* If the item in turn is a run that rests or waits for a ticket, and is over, continues with it.
 * False: nothing was done, and *until_ns is the time when the run will be over by itself
 * (INT64_MAX: it is over already, or never). */
bool dtp_queue_end_late(dtp_queue_t *queue, int64_t *until_ns);
/* Called by the thread that ends the run of the item: the item does not count as a run that may end
 * early any more. */
void dtp_queue_run_ends(dtp_queue_t *queue, dtp_submission_t *item);
/* Changes the wake word after events with sleepers have fired. */
void dtp_queue_ring(dtp_queue_t *queue);

/* sync.c: the list of all queues. */
void dtp_sync_add(dtp_queue_t *queue);
void dtp_sync_remove(dtp_queue_t *queue);

#endif
