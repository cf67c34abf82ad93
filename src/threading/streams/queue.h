/* In-order queues of submission blocks: what an asynchronous stream is made of.
 *
 * Items run one after another, each on some thread of the pool (or on a thread that waits), and may use the
 * pool's other threads through the dtp_parallel_t they get. Nobody blocks while an item waits its turn.
 *
 * ---- States -----------------------------------------------------------------------------------------------
 *
 * A list with a dummy: `head` is the last completed item (first: the dummy), head->next the item whose turn it
 * is. `count` = items not completed. A queue with count > 0 has exactly one *turn*, the right to touch
 * `head`; it is in one of these places:
 *
 *   published   the queue is linked in the record's FIFO as pending work; whoever takes it, with a ticket, has the turn
 *   taken       a thread is in run_one
 *   parked      the item waits for its event; the turn is a token in item->deps
 *   deferred    the item ran and its host finishes later; the turn is a token in item->deps
 *   resting     a run waits for nodes that come back from outside (threading/base/sleeper.h): who wakes it has the
 *               turn and publishes the queue; no thread of the pool sleeps as the owner of a run
 *
 * A run that may end early (it has a token or a deadline) says so before its queue is published:
 * the thread that fires the token, or waits and sees the deadline pass, takes the turn out of the
 * FIFO (published), or from where it rests, and ends the run, without a ticket; then it completes
 * what is skipped because of that. (So does the thread that brings the event of an item that only
 * waits: there is nothing to do.) Such ends are made in a loop, whichever ends cause others.
 *
 *   push      under `order`: number, link, count+1. 0 -> 1: the pusher gets the turn. Any number
 *             of threads push: two that do so at once take places one after the other, and an item
 *             that was pushed after another one was (on the same thread, or on a thread that heard
 *             of it) comes after that
 *   hold      a run on its caller is no item, but has a place in the order: after what was pushed
 *             before it, for which the caller waits, and in front of what is pushed until it lets
 *             go. The place is an item that is pushed only if it is needed: the thread that pushes
 *             meanwhile finds it in `held` and pushes it first. Two tokens in its deps: the turn's,
 *             and one that the caller gives when the run is over
 *   turn      of an item with an event: give the head token (deps-1). deps = 1 token of the event + 1 head
 *             token; who brings it to 0 goes on: publish. So an early event cannot start an item before its turn
 *   run       begin; run(par), or run(NULL) if it is skipped; finish() if there is one: true, or false and later
 *             dtp_queue_item_done (two tokens in deps again: who brings it to 0 completes)
 *   complete  poison if it failed; events exchange(CLOSED), fire them; head = item; recycle the old head;
 *             completed+1; ring; count-1; next turn
 *
 * Invariants. `head` is touched by the owner of the turn only; tail, submitted and `held` are
 * written under `order`, so that numbers, generations and places are in the same order; no code of
 * the program or its pool runs under it. The queue stays open until a push has returned (streams
 * see to that by a seat: seats.h). An item is recycled only when the next one is complete, so its
 * `next` has been read, and under `order` the tail is an item, complete or not: an event recorded
 * then finds its events CLOSED, and status and times beside it. An item counts as completed after its
 * callbacks returned.
 *
 * Events of items (wait.h). The event gives its token unless the wait was cancelled. A skipped item cancels
 * first; if the event was faster, the item stays parked until the event gave its token. The item that waited for a
 * failed event is skipped with the event's status and poisons its queue.
 *
 * Poison. `poison` = generation : 32 | status : 32 of the last generation that failed; items carry the
 * generation at which they were pushed; an item is skipped iff its generation is the poisoned one; reset
 * makes a new generation. Items are in order of generation, so a poisoned one is never overwritten by an
 * older.
 *
 * Waiting. A thread whose chain is not empty never waits. Another one helps: it takes, as pending
 * work, the queue it waits for, or, where that queue is parked on an event of another queue, of
 * that queue, and so on down to one that is not (the leaf; events are bound to submitted work, so
 * there is no circle). With nothing to take it looks after what is orphaned (queue_wait.c,
 * record.h), and then sleeps on the leaf's wake_word, which who strands work of the leaf's pool or of
 * its own rings, too. The wake word is changed when `completed` reaches `wake_at` (least target of those
 * who sleep), when the queue parks, when an event with sleepers fires, and by dtp_dispatch when the
 * pending work is published and a ticket free. Sleeper: waiters+1; read wake_word; lower wake_at; look
 * at everything again; sleep. Ringer: publish; read waiters; exchange(wake_at, none); wake_word+1; wake.
 * (The wake word before wake_at, or a waker in between would drop the new target.)
 *
 * Life. `inside` = items in flight + threads that help + CLOSED + LAST_ENDS; close drains, sets CLOSED, after
 * which nobody comes in, and waits until nobody is inside: then the queue ends, i.e. lets the record go. Inside
 * running work it may be the waiting thread itself that is inside, further up its stack; so there close sets
 * LAST_ENDS as well and returns: if somebody was inside then, the last one who leaves ends the queue. A stream that is
 * given away inside its own work sets both flags and does nothing else: its items are inside, and
 * threads that serve them or wait for them come and go until the last item has left. `refs` keeps
 * the memory: the owner, until the end, events, and threads that promised to look at the queue later
 * (queue_wait.c). */
#ifndef DTP_THREADING_STREAMS_QUEUE_H
#define DTP_THREADING_STREAMS_QUEUE_H

#include "threading/streams/wait.h"
#include "threading/pools/record.h"

typedef struct dtp_queue dtp_queue_t;

/* First member of a submission block. The block belongs to the queue from submit until recycle is called. */
typedef struct dtp_submission {
    struct dtp_submission *_Atomic next;
    /* Set by the submitter, every time: */
    int num_threads;          /* participants at most; 0: there is no work, and it needs no ticket */
    bool whole_run;           /* a run of a graph: its joiners stay from its first loop to its last */
    const dtp_share_t *share; /* of that, until it has ended (dtp_queue_run_ends); or NULL: it never rests */
    int priority;             /* of its turn among what waits for a thread; 0: the queue's */
    void *cookie;             /* of the host's run_begin, or NULL */
    dtp_wait_t *wait;         /* made by dtp_queue_wait_event, or NULL */
    /* par NULL: skipped, the item only drops what it holds (the result is ignored). */
    dnnl_tp_status_t (*run)(struct dtp_submission *item, const dtp_parallel_t *par);
    /* Optional. Called after run with the status of the item. false: the item is complete only when
     * dtp_queue_item_done was called (by any thread, also before finish returns). */
    bool (*finish)(struct dtp_submission *item, dnnl_tp_status_t status);
    void (*recycle)(struct dtp_submission *item); /* the queue reads the item no more */
    /* The queue's: */
    struct dtp_queue *queue;
    bool rested;                      /* its run has begun, and rests or has rested */
    bool endable;                     /* it was the queue's endable */
    bool held;                        /* the place of a run on its caller: waits until that lets go */
    struct dtp_submission *next_over; /* whose run is over, too, and which the same thread ends next */
    uint32_t generation;
    uint64_t seq;
    _Atomic int32_t deps;
    _Atomic uintptr_t events; /* dtp_event_t list, or DTP_EVENT_CLOSED */
    dnnl_tp_status_t status;
    bool skipped;
    int64_t begin_ns, end_ns;
} dtp_submission_t;

struct dtp_queue {
    dtp_pending_work_t work;
    dtp_pool_t *rec;   /* retained while open */
    const void *owner; /* the engine, as an address; for sync */
    int priority;
    dtp_submission_t *head;
    dtp_submission_t dummy;
    _Alignas(DTP_NO_SHARE) dtp_lock_t order; /* tail, held; who writes submitted */
    dtp_submission_t *tail;
    dtp_submission_t
        *held; /* the place of the last run on its caller, if nothing was pushed since; or NULL */
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
    dtp_lock_t lock;          /* parked, endable, text */
    dtp_submission_t *parked; /* the item that waits for its event */
    /* The run that waits for its ticket and has a token or a deadline, or rests, or did so and is not complete. */
    dtp_submission_t *endable;
    char text[DTP_EVENT_TEXT];
    uint32_t fork_generation;
    _Atomic bool is_left;               /* in some thread's dtp_left_here: */
    dtp_queue_t *next_left;             /* the first one after the last; written by who set is_left */
    dtp_queue_t *prev_sync, *next_sync; /* list of all queues: sync.c */
    void (*closed)(void *arg);          /* written by close, called at the end */
    void *closed_arg;
};
#define DTP_QUEUE_CLOSED ((int64_t)1 << 62)
#define DTP_QUEUE_LAST_ENDS ((int64_t)1 << 61)

/* owner: what sync.h knows the queue by. */
dnnl_tp_status_t dtp_queue_create(dtp_queue_t **queue, dtp_pool_t *pool, const void *owner, int priority);
void dtp_queue_release(dtp_queue_t *queue); /* a reference of the memory */
/* Never blocks, never allocates. By any thread. Items behind a failed one are skipped. */
dnnl_tp_status_t dtp_queue_submit(dtp_queue_t *queue, dtp_submission_t *item);
/* In two steps, for items with an event: the event, which may be released instead; and the item
 * with it, which cannot fail: what must be undone can stand in between. */
dnnl_tp_status_t dtp_queue_event_of_next(dtp_queue_t *queue, dtp_event_t **event);
void dtp_queue_submit_with(dtp_queue_t *queue, dtp_submission_t *item, dtp_event_t *event);
/* The item, not yet submitted, waits for event. */
dnnl_tp_status_t dtp_queue_wait_event(dtp_queue_t *queue, dtp_submission_t *item, dtp_event_t *event);
/* The caller has the turn, is inside the queue, and the item may run: makes the queue pending work. A run that may end
 * early can be ended from now on, by who fires its token or sees its deadline pass, without a ticket. */
void dtp_queue_publish(dtp_queue_t *queue);
/* The same, and finds a thread for it. */
void dtp_queue_start(dtp_queue_t *queue);
/* Nobody comes for the queue, in which this thread is: this thread serves it, now or when it holds nothing. One that is
 * lent leaves it to who waits for it, asks for it, or submits to it next, as a pool that cannot be called from its own
 * jobs does. */
void dtp_queue_leave_to_self(dtp_queue_t *queue);
extern const dtp_event_vtbl_t dtp_queue_event; /* of events whose source is a queue */
static inline dtp_queue_t *dtp_event_queue(const dtp_event_t *event) {
    return event->v == &dtp_queue_event ? event->source : NULL;
}
/* An event that is done when everything submitted so far is. */
dnnl_tp_status_t dtp_queue_record(dtp_queue_t *queue, dtp_event_t **event);
/* See dtp_submission_t.finish. */
void dtp_queue_item_done(dtp_queue_t *queue, dtp_submission_t *item);

/* Until so many items are complete: success, timed_out, would_deadlock, poisoned (the parent's, after a
 * fork). Says nothing about what the items returned. until_ns: CLOCK_MONOTONIC, INT64_MAX = none. */
dnnl_tp_status_t dtp_queue_wait_seq(dtp_queue_t *queue, uint64_t seq, int64_t until_ns);
dnnl_tp_status_t dtp_queue_wait_for_event(dtp_queue_t *queue, dtp_event_t *event, int64_t until_ns);
/* All items submitted before; then the first error since the last reset. timeout_ns < 0 = none. */
dnnl_tp_status_t dtp_queue_wait(dtp_queue_t *queue, int64_t timeout_ns);
/* The same by a run, for the first `seq` items; timed_out if it is over before that. */
dnnl_tp_status_t dtp_queue_wait_earlier(dtp_queue_t *queue, uint64_t seq, const dtp_share_t *share);
/* A run that its caller is going to do: waits as dtp_queue_wait_earlier. What is submitted later
 * begins after dtp_queue_let_go, which must follow whatever the answer is. place: an item without
 * work, whose num_threads, run and recycle are set; recycled behind the run. Other threads may
 * submit meanwhile, or hold the queue next. */
dnnl_tp_status_t dtp_queue_hold(dtp_queue_t *queue, dtp_submission_t *place, const dtp_share_t *share);
void dtp_queue_let_go(dtp_queue_t *queue, dtp_submission_t *place);
/* The first error since the last reset. Fails with its text. */
dnnl_tp_status_t dtp_queue_result(dtp_queue_t *queue);
/* Everything complete? Where the pool needs it, runs one item. */
dnnl_tp_status_t dtp_queue_query(dtp_queue_t *queue, bool *idle);
/* What dtp_queue_query does for the pool, before an event of the queue is looked at. */
void dtp_queue_drive(dtp_queue_t *queue);
void dtp_queue_reset(dtp_queue_t *queue);
/* Drains, then lets go, and calls closed (NULL: nobody wants to know): before it returns, or, called inside
 * running work, when the last one has left that was still inside. would_deadlock from inside own work: then the
 * queue stays, and closed is not called. */
dnnl_tp_status_t dtp_queue_close(dtp_queue_t *queue, void (*closed)(void *arg), void *arg);
/* The same without a wait: the thread that leaves last, after the last item, lets go and calls
 * closed; at once if nobody is inside. Nothing is submitted any more. */
void dtp_queue_close_later(dtp_queue_t *queue, void (*closed)(void *arg), void *arg);
static inline bool dtp_queue_dead(const dtp_queue_t *q) { return dtp_is_parents(q->fork_generation); }
/* Runs the item whose turn it is, by who has the turn; true if more may run now. *clock_ns: when the item
 * before it ended, or 0. */
bool dtp_queue_run_one(dtp_queue_t *queue, int64_t *clock_ns);
/* By the owner of the turn: may the next item run now? If not, the turn is parked, and the queue
 * must not be touched unless something else keeps it open. */
bool dtp_queue_turn(dtp_queue_t *queue);
/* What events of a failed item say. `first` is written for the owner of the turn only. */
void dtp_queue_tell(char text[DTP_EVENT_TEXT], const dtp_submission_t *item, const char *first);
/* The event that the queue is parked on, retained; NULL if none, or if it fired already. */
dtp_event_t *dtp_queue_parked_event(dtp_queue_t *queue);
/* A helper's reference; false once closed. */
bool dtp_queue_enter(dtp_queue_t *queue);
void dtp_queue_leave(dtp_queue_t *queue);
/* If the item in turn is a run that rests, or waits for a ticket, and is over, goes on with it; false: nothing was done,
 * and *until_ns is when the run will be over by itself (INT64_MAX: it is over already, or never will be). */
bool dtp_queue_end_late(dtp_queue_t *queue, int64_t *until_ns);
/* By who ends the run of the item: it will not be looked for as one that may end early. */
void dtp_queue_run_ends(dtp_queue_t *queue, dtp_submission_t *item);
/* Events with sleepers fired. */
void dtp_queue_ring(dtp_queue_t *queue);

/* sync.c: the list of all queues. */
void dtp_sync_add(dtp_queue_t *queue);
void dtp_sync_remove(dtp_queue_t *queue);

#endif
