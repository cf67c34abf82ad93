/* The members of a pool record; private to src/threading.
 *
 * This file has the state machines and the rules for writing. The code that drives them:
 * loops/shared_loop.c (loops), ticket.c and admission.c (admission, runs; short runs: lane.h),
 * fifo.c (pending work), host_call.c (calls queued in a caller's pool), builtin_pool.c (own
 * threads), queue.c. */
#ifndef DTP_THREADING_POOLS_RECORD_H
#define DTP_THREADING_POOLS_RECORD_H

#include "threading/base/futex.h"
#include "threading/pools/pool.h"

/* ---- Shared loops -----------------------------------------------------------------------------------------
 *
 * A shared loop is a loop that other threads may join: an entry of the record's table, reserved by
 * a bit of `reserved` (which is on another line, so that a hand-off moves the shared loop's line as
 * rarely as possible). One word holds its state:
 *
 *   epoch : 21 | waiting : 1 | front : 12 | left : 12 | wanted : 9 | active : 9
 *
 * - idle: left 0, active 0. The opener that reserved the entry writes the plain fields now.
 * - open: the opener stores epoch+1, left, wanted, front (release; seq_cst if it then looks for
 *   sleepers).
 * - join: another thread, while left > 0 and wanted > 0, does a CAS to active+1, wanted-1, left-1.
 *   So a joiner is never inside without a chunk, and a preempted joiner delays the opener only if a
 *   chunk of it would do so anyway.
 * - claim: CAS left-1; the opener takes chunks from the front (front+1), joiners take them from the
 *   back.
 * - leave: a joiner returns its slot, then subtracts active (release) and, if there may be chunks
 *   left, adds wanted; with left == 0 the value of wanted does not matter.
 * - close: nothing to do: left == 0 and active == 0 (acquire) is the idle state. Then the bit of
 *   `reserved` is cleared.
 *
 * A hand-off to one helper that spins moves this line once to the helper (the opener's stores,
 * among them fn, arg and chunk, and the helper's join) and once back (the helper's leave). Both
 * sides poll with a locked operation, so that the line arrives ready to be written.
 *
 * Invariants: chunks 0..front-1 and front+left..n_chunks-1 are claimed, each by one participant.
 * With left == 0 only leaves and the waiting bit can change the word. A claim cannot meet another
 * epoch, because its thread keeps the shared loop open (it is the opener, or a joiner counted in
 * active). A join by a stale word fails by the epoch; one that meets a wrapped epoch is a legal
 * join, because everything is read after it. Slots come from a bitmap and are returned before
 * active-1, so a joiner always finds a free one below `participants`. */
#define DTP_SHARED_LOOPS 63
#define DTP_RESERVED_BY_CALLER ((uint64_t)1 << 63)

#define DTP_LW_ACTIVE 0
#define DTP_LW_WANTED 9
#define DTP_LW_LEFT 18
#define DTP_LW_FRONT 30
#define DTP_LW_ONE(field) ((uint64_t)1 << DTP_LW_##field)
#define DTP_LW_AGAIN DTP_LW_ONE(FRONT) /* for crews, which have no chunks: crew.h */
#define DTP_LW_WAITING ((uint64_t)1 << 42)
#define DTP_LW_EPOCH ((uint64_t)1 << 43)
#define DTP_LW_MAX_CHUNKS 4095
#define dtp_lw_active(w) ((int)((w)&511)) /* joiners inside */
#define dtp_lw_wanted(w) ((int)((w) >> DTP_LW_WANTED & 511))
#define dtp_lw_left(w) ((int)((w) >> DTP_LW_LEFT & 4095))
#define dtp_lw_front(w) ((int)((w) >> DTP_LW_FRONT & 4095))

typedef struct dtp_shared_loop {
    /* The line that a hand-off moves once to the joiner and once back. */
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t word;
    /* Team of the run that the loop belongs to; NULL outside runs. */
    struct dtp_team *_Atomic team;
    /* The opener writes this member and the following ones of the line while the entry is reserved.
     */
    dtp_loop_fn_t fn;
    void *arg;
    /* Iterations of a chunk; n_larger chunks have one more. */
    int64_t chunk;
    uint16_t n_larger, n_chunks;
    /* Joiners take slots first_slot..participants-1. */
    uint8_t first_slot;
    /* Calling sleeping helpers pays. In a crew every inviting thread writes it. */
    _Atomic uint8_t pays;
    uint16_t participants;
    /* Processor of the last opener: workers do not spin there. */
    _Atomic int32_t cpu;
    /* Number of iterations between two checks of the stop word, at first; 0: all. */
    uint32_t piece;
    /* Used in entry 0 only: see DTP_LOOPS_*. */
    _Atomic uint64_t open_loops;
    /* The line of the participants. */
    _Alignas(DTP_CACHE_LINE) _Atomic uint64_t slots[DTP_MAX_THREADS / 64];
    /* Epoch of the last loop, at its place in the word; written by the opener. */
    uint64_t epoch;
    /* Number of loops opened so far; written by the opener. */
    _Atomic uint64_t loops;
    /* Of the run, or of the loop outside runs; for threads that call helpers. Written by the
     * opener. */
    _Atomic int32_t num_threads;
    /* Changed by the last joiner that leaves while the opener sleeps. */
    _Atomic uint32_t wake_word;
} dtp_shared_loop_t;
_Static_assert(sizeof(dtp_shared_loop_t) == DTP_NO_SHARE, "shared loop = two lines");

/* open_loops, in the line that idle workers watch: bit i = shared loop i is open (entry 0 is
 * watched itself). */
#define DTP_LOOPS_ATTENTION ((uint64_t)1) /* pending work or tasks are queued, or the pool ends */

/* ---- Tickets -----------------------------------------------------------------------------------------
 *
 * One word: waiting : 16 | callers : 16 | joiners : 16 | runs : 16.
 *   runs     tickets held by threads that execute runs or items of queues; at most W together with
 *            joiners
 *   joiners  tickets held by threads that help: taken only while no pending work waits, and
 *            returned at the next chunk boundary if some does; an idle worker that spins holds one
 *   callers  openers of shared loops outside runs: they take no ticket but displace joiners (the
 *            opener of entry 0 is counted in `reserved` instead)
 *   waiting  pieces of pending work in the FIFO, as far as they can be counted here; written under
 *            the lock
 * Invariant: runs + joiners <= W. The state (waiting > 0 and a free ticket) never lasts: the thread
 * that causes it calls dtp_let_go, which finds a thread for the work (dtp_dispatch), or makes the
 * caller serve the FIFO as soon as it holds nothing. A thread that saw all tickets taken, and left,
 * relies on this. */
#define DTP_ADM_RUN ((uint64_t)1)
#define DTP_ADM_JOINER ((uint64_t)1 << 16)
#define DTP_ADM_CALLER ((uint64_t)1 << 32)
#define DTP_ADM_WAITING ((uint64_t)1 << 48)
#define dtp_adm_runs(a) ((int)((a)&0xffff))
#define dtp_adm_joiners(a) ((int)((a) >> 16 & 0xffff))
#define dtp_adm_callers(a) ((int)((a) >> 32 & 0xffff))
#define dtp_adm_waiting(a) ((int)((a) >> 48))
enum { DTP_WAITING_COUNTED = 0x7fff };

/* A piece of pending work, which needs a ticket: a published run, a queue with items, or a thread
 * that sleeps until it gets a ticket and then continues. */
typedef enum { DTP_PENDING_RUN, DTP_PENDING_QUEUE, DTP_PENDING_TICKET } dtp_pending_kind_t;
typedef struct dtp_pending_work {
    /* Members of the FIFO (fifo.h), under the record's lock. */
    struct dtp_pending_work *next, *prev, *above, *below, *higher, *lower;
    /* Number of its publication. */
    uint64_t number;
    bool linked, attended, is_oldest;
    dtp_pending_kind_t kind;
    /* It comes before pending work of lower priority. */
    int priority;
    /* Duration of a run that may pass others (lane.h), or 0. */
    int64_t ns;
    /* The lane in which it passes. */
    struct dtp_lane *lane;
    /* From the host's run_begin, or NULL. */
    void *cookie;
    /* Number of calls of the host's schedule with the cookie that are in progress; counted under
     * the lock while linked. The host's run_end follows when there are none. The thread that waits
     * for this sleeps here, with DTP_PENDING_SETTLES; or, if it is inside a host itself, it leaves
     * run_end to the thread whose call returns last, with DTP_PENDING_DEFERS. */
    _Atomic uint32_t calling;
    /* DEFERS: called by that thread. */
    void (*settled)(void *arg);
    void *settled_arg;
    /* DTP_PENDING_*; its owner (the publisher, or threads that wait for the queue) sleeps on it. */
    _Atomic uint32_t state;
} dtp_pending_work_t;
enum {
    /* In the FIFO. */
    DTP_PENDING_PUBLISHED = 0,
    /* In the FIFO, and a ticket is free: the owner may claim it after the cost of a wake. */
    DTP_PENDING_HINT = 1,
    DTP_PENDING_TAKEN = 2,
    DTP_PENDING_DONE = 3,
    /* Its owner executes it, in a lane. */
    DTP_PENDING_PASSES = 4
};
#define DTP_PENDING_SETTLES ((uint32_t)1 << 31)
#define DTP_PENDING_DEFERS ((uint32_t)1 << 30)

/* ---- Teams -------------------------------------------------------------------------------------------
 *
 * The joiners of one run. A team is an entry of the record, because joiners may come late: a host
 * call carries (team, epoch) and leaves at once if the epoch has changed. An odd epoch is open. */
typedef struct dtp_team {
    /* Written by the run before its first loop and after its last. */
    dtp_share_t share;
    /* epoch : 32 | inside : 32 (number of host calls for this epoch that have come and not left).
     */
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t state;
    /* Parallel work that ran without helpers since the last call for helpers. */
    _Atomic int64_t debt_ns;
    /* Ticks at the end of the last such work. Negative in a run that has not added any yet: then
     * earlier debt counts if it is recent. */
    _Atomic int64_t wanted_at;
    /* From the host's run_begin; written by the owner of the run before joiners are called. */
    void *_Atomic cookie;
    /* Number of threads of other runs that call the host for this one: the cookie lives until they
     * have returned. */
    _Atomic uint32_t calling;
    /* Helpers that sleep inside the one loop of a host that cannot call them back (host_call.c),
     * and their wake_word. */
    _Atomic int32_t asleep;
    _Atomic uint32_t wake_word;
} dtp_team_t;
#define DTP_TEAM_EPOCH ((uint64_t)1 << 32)
#define dtp_team_is_open(state) ((state)&DTP_TEAM_EPOCH)
#define dtp_team_epoch(state) ((state) & ~(DTP_TEAM_EPOCH - 1))

/* ---- Host calls ------------------------------------------------------------------------------------------
 *
 * A call that the library requested from a caller's pool and that has not come yet. It stays in the
 * record until it was called as often as announced. */
typedef struct dtp_host_call {
    struct dtp_pool *rec;
    /* Serve this shared loop only (parallel_for of a synchronous pool), or NULL. */
    struct dtp_shared_loop *loop;
    struct dtp_team *team; /* serve this run only, or NULL */
    uint64_t epoch;        /* of team, a multiple of DTP_TEAM_EPOCH */
    int64_t opened;        /* if team is NULL: ticks when the host was called */
    bool runner;           /* take a ticket and execute pending work */
    bool unbound;          /* help in any loop */
    /* Of a runner: it serves this run only, if the host has runs. */
    void *cookie;
    /* Body of a run, which the first call takes; see admission.c. */
    struct dtp_main *_Atomic main;
    _Atomic int32_t calls; /* number of calls still expected; 0: the entry is free */
} dtp_host_call_t;
#define DTP_HOST_CALLS 128

/* ---- Life --------------------------------------------------------------------------------------------
 *
 * One word keeps the record alive: waiters : 12 | calls : 20 | references : 32.
 *   calls    number of calls that the host has not made yet
 *   waiters  threads that wait until there are no calls; each has a reference, too
 * The thread that makes the word 0 takes the record out of the registry and frees it. A record with
 * 0 is not revived: a thread that looks for its pool waits until the host's release has returned,
 * and makes a new record. A call that is over leaves nothing behind: no reference outlives it. So
 * after a waiter has seen no calls, a pool without other references is unknown, and the next pool
 * at its address is a new one. The last call does not access the record at its end: it changes a
 * wake word that all records share. */
#define DTP_HOLD_REF ((uint64_t)1)
#define DTP_HOLD_CALL ((uint64_t)1 << 32)
#define DTP_HOLD_WAITER ((uint64_t)1 << 52)
#define dtp_hold_calls(h) ((uint32_t)((h) >> 32 & 0xfffff))
#define dtp_hold_waiters(h) ((uint32_t)((h) >> 52))
_Static_assert(DTP_HOST_CALLS *DTP_MAX_THREADS <= 0xfffff, "calls fit");

/* ---- The record -------------------------------------------------------------------------------------- */

struct dtp_worker;

/* A function that a program gave to schedule of the built-in pool. */
typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
} dtp_task_t;
#define DTP_TASKS 256

/* The chain of a thread: what it executes inside the library, innermost first; the head is
 * thread-local. */
typedef enum {
    DTP_CHAIN_RUN,       /* a run or an item; holds a ticket (or has inherited one) */
    DTP_CHAIN_HOST_CALL, /* a call of the host's pool, or a worker of a built-in pool that helps */
    DTP_CHAIN_IN_HOST,   /* schedule or parallel_for of the host */
    DTP_CHAIN_CALLBACK,  /* callbacks of an event, or hooks of the host */
    DTP_CHAIN_BLOCKING   /* a closure on a thread of the blocking crew: no ticket (blocking.h) */
} dtp_chain_kind_t;
/* For the outermost run on a caller's thread: whether its ticket may serve, or serves, others while
 * its owner sleeps. */
typedef enum { DTP_TICKET_KEPT, DTP_TICKET_LENDABLE, DTP_TICKET_LENT } dtp_ticket_use_t;
typedef struct dtp_chain {
    struct dtp_chain *up;
    struct dtp_pool *rec;
    dtp_chain_kind_t kind;
    dtp_team_t *team;
    /* The queue whose item runs, or NULL. */
    const void *queue;
    /* HOST_CALL: a runner was called inline and left. */
    bool bounced;
    /* CALLBACK: it ends runs that are over, one after another (queue.c). */
    bool ends_runs;
    /* CALLBACK: callbacks of events that this entry still has to call; due_end NULL: it calls none.
     */
    struct dtp_callback *due, **due_end;
    /* RUN: its closures may go to the pool's blocking crew. */
    bool may_block;
    dtp_ticket_use_t ticket;
    /* RUN: ticks until which it lets no run pass (lane.h); 0: it has not checked yet. */
    int64_t works_until;
} dtp_chain_t;
extern _Thread_local dtp_chain_t *dtp_chain_top __attribute__((tls_model("initial-exec")));
/* Queues that this thread will serve when it holds no ticket, chain or host any more (queue.c). */
extern _Thread_local struct dtp_queue *dtp_left_here __attribute__((tls_model("initial-exec")));
/* This is a thread of a device's driver, in a callback: it serves no queue, and makes no call of
 * the device. */
extern _Thread_local bool dtp_thread_is_borrowed __attribute__((tls_model("initial-exec")));
/* Serves these queues. after: the chain entry that ended last on this thread, or NULL. */
void dtp_queue_run_left(const dtp_chain_t *after);
static inline void dtp_look_at_left(const dtp_chain_t *after) {
    if (__builtin_expect(dtp_left_here != NULL, 0) && !dtp_chain_top) dtp_queue_run_left(after);
}
/* Ends the innermost entry. If the thread holds a ticket, the end of the ticket looks at
 * dtp_left_here. */
static inline void dtp_chain_pop_inner(const dtp_chain_t *chain) { dtp_chain_top = chain->up; }
static inline void dtp_chain_pop(const dtp_chain_t *chain) {
    dtp_chain_pop_inner(chain);
    dtp_look_at_left(chain);
}

/* A thread that waits for streams and sleeps on the wake word of the queue that `work` belongs to.
 */
typedef struct dtp_waiter {
    /* Under the record's lock. */
    struct dtp_waiter *next, **at;
    dtp_pending_work_t *work;
} dtp_waiter_t;

/* Counts for queries, in parts: a single line would move between all joiners. */
typedef struct {
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t runs, joins, running_sum, wakes, alone, short_loops, stolen;
} dtp_counts_t;
#define DTP_COUNT_PARTS 64

struct dtp_pool {
    _Alignas(DTP_NO_SHARE) dtp_pool_front_t front;
    dtp_shared_loop_t loop[DTP_SHARED_LOOPS];
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t adm;
    _Atomic uint64_t sleeping[DTP_MAX_THREADS / 64]; /* the built-in workers that sleep */
    /* The shared loops in use; helpers that spin do not read it. */
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t reserved;
    /* In ticks; written by openers that found no helper. */
    _Alignas(DTP_NO_SHARE) _Atomic int64_t last_open;
    _Atomic int64_t debt_ns;
    /* Duration of loops outside runs since the host was last called to learn. */
    _Atomic int64_t uncalled_ns;
    /* Loops of at least this duration are worth a call of the host: loops outside runs, and all
     * loops if the host's loop is the only way in. Learned from the threads that the host sends. */
    _Atomic int64_t call_min_ns;
    /* hash : 32 | us : 32 of loops of unknown cost, on one thread. */
    _Atomic uint64_t learned[64];
    /* Number of callers seen recently, and the time in ticks: joiners leave tickets to these
     * callers. All threads read these members; they rarely change. */
    _Alignas(DTP_NO_SHARE) _Atomic int64_t peak_time;
    _Atomic int32_t peak;
    /* Number of tickets of owners that sleep; no tickets need be left to these owners. */
    _Atomic int32_t lent;
    _Atomic int32_t wants_back;  /* number of threads that wait only for a ticket */
    _Atomic int32_t max_running; /* for dnnl_tp_threadpool_query */
    /* Protects the FIFO, the team table and user tasks. */
    _Alignas(DTP_NO_SHARE) dtp_lock_t lock;
    dtp_pending_work_t *fifo[2], *tree[2]; /* fifo.h */
    dtp_waiter_t *waiters;                 /* the waiters that sleep */
    struct dtp_lane *lanes;                /* lane.h */
    uint64_t n_waiting, n_published;
    uint32_t task_head, task_tail; /* built-in pool: ring of tasks */
    dtp_task_t *task;
    _Atomic uint32_t n_tasks;
    dtp_counts_t counts[DTP_COUNT_PARTS];
    /* Read-mostly from here on. */
    _Alignas(DTP_NO_SHARE) dnnl_tp_threadpool_iface_t iface;
    int num_threads;
    uint64_t flags;
    bool form_s, spin_allowed;
    /* A pool of a host whose only way in is a synchronous parallel_for. */
    bool host_loops;
    uint32_t fork_generation;
    /* Limit of the time that an idle worker or joiner spins. */
    int64_t spin_ticks;
    int64_t wake_ticks;            /* cost of park and wake */
    int64_t wake_min_ns;           /* loops of at least this duration are worth a wake */
    int64_t parallel_min_ns;       /* loops of at least this duration are worth a hand-off */
    struct dtp_worker *workers;    /* of a built-in pool, else NULL */
    struct dtp_blocking *blocking; /* of a built-in pool with a blocking crew, else NULL */
    int num_started;
    int n_teams;
    dtp_team_t *teams;
    struct dtp_pool *next; /* next record of the registry */
    /* The thread that calls the host's release; under the registry's lock. */
    uintptr_t releaser;
    /* Pending work is published, tickets are free, and no thread is known to come soon. A thread
     * that waits for a stream of the pool serves the work, or, if none waits, the next submission,
     * query or wait on a stream does. The thread that sets it, under the lock, also wakes one of
     * `waiters`; the thread that clears it is responsible for the work. Invariant: while it is set,
     * a waiting thread is awake, or none waits: a thread that goes to sleep checks it under the
     * lock, and a thread that leaves sets it again. */
    _Atomic bool orphaned;
    _Atomic int32_t in_tasks; /* number of workers in tasks of the program */
    /* A loop wants helpers for which there were no tickets; see helpers.h. */
    _Atomic bool short_of_tickets;
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t holds; /* counted by many threads; see Life */
    _Atomic int32_t runners;                       /* requested calls that execute pending work */
    _Atomic int32_t unbound;                       /* requested calls that help outside runs */
    _Atomic int32_t short_jobs;                    /* jobs of short loops that the host has */
    _Atomic int32_t alive;                         /* number of threads of a built-in pool */
    /* Number of built-in workers that were called to help and are not awake yet. */
    _Atomic int32_t waking;
    _Atomic uint32_t go; /* built-in pool: set when the record is complete */
    /* Built-in pool: DTP_ENDING* after the last reference was dropped. */
    _Atomic uint32_t ending;
    dtp_lock_t host_lock; /* for SINGLE_CALLER pools: host_call.c */
    dtp_host_call_t host_calls[DTP_HOST_CALLS];
};
/* A number below `parts` (a power of 2) that two threads rarely share: a hash of the address of
 * thread-local memory. */
static inline uint32_t dtp_thread_part(uint32_t parts) {
    const uint64_t key = (uint64_t)(uintptr_t)&dtp_chain_top * 0x9e3779b97f4a7c15u;
    return (uint32_t)(key >> 32) & (parts - 1);
}
static inline void dtp_count(dtp_pool_t *rec, size_t member, uint64_t n) {
    dtp_counts_t *part = &rec->counts[dtp_thread_part(DTP_COUNT_PARTS)];
    atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)((char *)part + member), n, memory_order_relaxed);
}
#define DTP_COUNT(rec, member, n) dtp_count((rec), offsetof(dtp_counts_t, member), (n))
/* The sum of all parts (record.c). */
uint64_t dtp_counted(const dtp_pool_t *rec, size_t member);
#define DTP_COUNTED(rec, member) dtp_counted((rec), offsetof(dtp_counts_t, member))
/* A loop is worth a wake if it takes as long as this many wakes. */
enum { DTP_WAKE_PAYS = 3 };
enum { DTP_ENDING = 1, DTP_ENDING_DETACHED = 2 };

/* record.c */
static inline bool dtp_pool_dead(const dtp_pool_t *rec) { return dtp_is_parents(rec->fork_generation); }
static inline dnnl_tp_status_t dtp_refuse_parents(const char *what) {
    return dtp_fail(dnnl_tp_poisoned, DTP_POOL_FAILED, "the %s belongs to the parent process", what);
}
/* A record with one reference, not yet registered; num_workers > 0: with room for so many threads
 * of a built-in pool. */
dtp_pool_t *dtp_record_create(int num_threads, int num_workers);
void dtp_record_register(dtp_pool_t *rec);
/* Finds or makes the record of an interface, and retains it. */
dnnl_tp_status_t dtp_record_of(dtp_pool_t **rec, const dnnl_tp_threadpool_iface_t *iface);
/* The record, retained, or NULL. */
dtp_pool_t *dtp_record_find(const dnnl_tp_threadpool_iface_t *iface);
/* Called after the last reference was dropped. */
void dtp_record_end(dtp_pool_t *rec);
void dtp_record_free(dtp_pool_t *rec);

/* loops/shared_loop.c */
/* Joins an open shared loop of the record (of team, if not NULL; run: in this epoch of the team, 0
 * = any) and works until it has no chunk left or a ticket is wanted; false: there was no such loop.
 */
bool dtp_shared_loop_help(dtp_pool_t *rec, const dtp_team_t *team, uint64_t run);
bool dtp_shared_loop_join(dtp_pool_t *rec, dtp_shared_loop_t *loop, const dtp_team_t *team);
/* Whether an open shared loop (of team, if not NULL) wants helpers. For helpers that are about to
 * sleep or leave. */
bool dtp_shared_loop_is_wanted(const dtp_pool_t *rec, const dtp_team_t *team);
/* Whether another shared loop that pays wants helpers and has at least two fewer inside than r.
 * Then a helper of r that may help there leaves r. */
bool dtp_shared_loop_has_too_many(dtp_pool_t *rec, const dtp_shared_loop_t *r);
/* Steps of an opener, for crew.c: reserves an idle entry (caller: outside runs), returns it, waits
 * for joiners that are inside. */
dtp_shared_loop_t *dtp_shared_loop_reserve(dtp_pool_t *rec, bool caller);
void dtp_shared_loop_give_back(dtp_pool_t *rec, int index, bool caller);
void dtp_shared_loop_wait(dtp_pool_t *rec, dtp_shared_loop_t *loop);

/* host_call.c */
/* Requests count more joiners for team (NULL: any shared loop) from the host; they may come at any
 * time or never. */
void dtp_host_call_joiners(dtp_pool_t *rec, dtp_team_t *team, int count);
/* Runs a shared loop, or the body of a run with its team, through the parallel_for of a synchronous
 * pool; may run nothing. */
void dtp_host_call_loop(dtp_pool_t *rec, dtp_shared_loop_t *loop, int jobs);
/* The run of team is over: makes helpers that sleep in the host's loop leave. */
void dtp_host_call_team_closed(dtp_team_t *team);
/* Runs a short loop outside runs as one loop of a synchronous host, with a job for each
 * participant; false: nothing was done. */
bool dtp_host_call_short_loop(dtp_pool_t *rec, int64_t n, int participants, dtp_loop_fn_t fn, void *arg);
void dtp_host_call_main(dtp_pool_t *rec, dtp_team_t *team, struct dtp_main *body, int jobs);
/* Requests a thread that executes pending work from the host; false: none will come. */
bool dtp_host_call_runner(dtp_pool_t *rec, void *cookie);
/* Waits until no call is outstanding. */
dnnl_tp_status_t dtp_host_call_quiesce(dtp_pool_t *rec, int64_t timeout_ns);
/* Whether this thread may call the host. */
bool dtp_host_call_possible(const dtp_pool_t *rec);

/* ticket.c */
/* Takes a joiner's ticket; false while pending work waits for one. */
bool dtp_ticket_join(dtp_pool_t *rec);
/* Returns a joiner's ticket. */
void dtp_ticket_leave(dtp_pool_t *rec);
/* Takes joiners' tickets for a whole loop outside runs, including its caller: at most `most`; 0 if
 * there are fewer than two. */
int dtp_ticket_join_several(dtp_pool_t *rec, int most);
void dtp_ticket_leave_several(dtp_pool_t *rec, int n);
/* Takes a run's ticket. from_joiner: in exchange for the joiner's ticket that is held;
 * from_waiting: for one piece of pending work, under the record's lock. */
bool dtp_ticket_run(dtp_pool_t *rec, bool from_joiner, bool from_waiting);
void dtp_ticket_end(dtp_pool_t *rec);
/* Returns a run's ticket without serving pending work; false: pending work waits and no thread is
 * known to come. */
bool dtp_ticket_give(dtp_pool_t *rec);
/* Number of threads that could still be called in the state adm and would find a joiner's ticket.
 * Tickets of callers that were recently seen together do not count. */
int dtp_ticket_free(dtp_pool_t *rec, uint64_t adm);
/* Whether an idle joiner may spin: not while several callers compete. */
bool dtp_ticket_may_spin(const dtp_pool_t *rec);
void dtp_ticket_note_runs(dtp_pool_t *rec, uint64_t adm);

/* admission.c */
/* Finds a thread for the first piece of pending work if a ticket is free; false: no thread is known
 * to come. May call the host. */
bool dtp_dispatch(dtp_pool_t *rec);
/* Asks the pool only; true: a ticket is free, work waits, and none of the pool's threads comes. */
bool dtp_pool_is_away(dtp_pool_t *rec);
/* Sets `orphaned`, and wakes a thread that waits. */
void dtp_pool_strand(dtp_pool_t *rec);
/* Called around the sleep of a waiting thread, after its last check. False: it must not sleep, but
 * check again. */
bool dtp_pool_wait_in(dtp_pool_t *rec, dtp_waiter_t *waiter);
void dtp_pool_wait_out(dtp_pool_t *rec, dtp_waiter_t *waiter);
/* Whether all workers of a built-in pool are in tasks of the program, which may wait for published
 * work. */
static inline bool dtp_workers_are_away(const dtp_pool_t *rec) {
    return atomic_load_explicit(&rec->in_tasks, memory_order_seq_cst) >= rec->num_threads;
}
/* As dtp_dispatch, after this thread has released a thing that others relied on: if no thread
 * comes, this thread serves the work. */
static inline void dtp_let_go(dtp_pool_t *rec);
/* fifo.c */
/* Takes work out of the FIFO and corrects the count; under the lock. */
void dtp_pending_unlink(dtp_pool_t *rec, dtp_pending_work_t *work);
/* Appends work to the FIFO; the caller dispatches. */
void dtp_pending_publish(dtp_pool_t *rec, dtp_pending_work_t *work);
/* Takes work out of the FIFO again, with a ticket; false: another thread has taken it, or no ticket
 * is free. gave_way (may be NULL): false, too, if the first work has a higher priority: once for
 * each such work, which is noted there, and while it is orphaned. */
bool dtp_pending_reclaim(dtp_pool_t *rec, dtp_pending_work_t *work, uint64_t *gave_way);
/* Takes the first pending work, with a ticket for it (from_joiner: in exchange for a joiner's).
 * cookie: only the run with this cookie may be taken; NULL: any work. */
dtp_pending_work_t *dtp_pending_take(dtp_pool_t *rec, bool from_joiner, const void *const *cookie);
/* The next pending work for a thread that keeps its run's ticket. */
dtp_pending_work_t *dtp_pending_next(dtp_pool_t *rec);
/* Gives the ticket that this thread has taken for work to the thread that sleeps on the work; work
 * may disappear at once. */
void dtp_pending_hand_over(dtp_pending_work_t *work);
/* Takes the first queue for which no thread waits, with a ticket; NULL: there is none. */
dtp_pending_work_t *dtp_pending_take_left(dtp_pool_t *rec);
/* Whether work of a higher priority waits. */
bool dtp_pending_outranks(dtp_pool_t *rec, int priority);
/* Takes work out of the FIFO without a ticket. A ticket may have been offered for it: the caller
 * calls dtp_let_go. */
bool dtp_pending_withdraw(dtp_pool_t *rec, dtp_pending_work_t *work);
/* Takes a ticket and executes pending work until nothing is left; *joiner: a joiner's ticket is
 * held on entry (true) and has been exchanged (false on return if anything ran). */
bool dtp_run_pending(dtp_pool_t *rec, bool *joiner);
/* The same for a call with the cookie of a run (NULL: of none): serves this run only, if the host
 * has runs. */
bool dtp_run_pending_of(dtp_pool_t *rec, bool *joiner, const void *cookie);
/* Calls fn on this thread, which holds a ticket (or needs none), with a team. On a pool that has a
 * synchronous loop only, this happens inside one loop of the pool: one job is fn, and the other
 * jobs join it. */
void dtp_run_here(dtp_pool_t *rec, int num_threads, void *cookie, dtp_run_fn_t fn, void *arg);
/* Waits for a run's ticket for this thread, in its turn among pending work. A thread that returns
 * to work which it left has the priority DTP_TICKET_BACK. dtp_ticket_end ends it. False: there is
 * no ticket, because share (NULL: never) is over. */
#define DTP_TICKET_BACK INT_MAX
bool dtp_ticket_get(dtp_pool_t *rec, int priority, const dtp_share_t *share);
/* Waits until no thread is in a call of the host's schedule for the pending work. */
void dtp_pending_settle(dtp_pending_work_t *work);
/* The same by a thread that may be inside a host in one of these calls. False: settled(arg) is
 * called later. */
bool dtp_pending_settle_or(dtp_pending_work_t *work, void (*settled)(void *arg), void *arg);
void dtp_attention_update(dtp_pool_t *rec); /* under the lock: attention bit from FIFO, tasks and end */

dtp_team_t *dtp_team_open(dtp_pool_t *rec, void *cookie); /* NULL: too many runs, go without joiners */
/* For the loops of a run or an item with this team, or NULL. */
static inline dtp_parallel_t dtp_team_parallel(dtp_pool_t *rec, int num_threads, dtp_team_t *team) {
    return (dtp_parallel_t){.pool = rec,
                            .num_threads = num_threads < rec->num_threads ? num_threads : rec->num_threads,
                            .team = team,
                            .share = team ? &team->share : NULL};
}
void dtp_team_close(dtp_team_t *team);
/* For a thread that calls the host for another thread's run: false if the run is over. The end of
 * the run waits for dtp_team_let_go. */
bool dtp_team_hold(dtp_team_t *team);
void dtp_team_let_go(dtp_team_t *team);
void dtp_main_take(struct dtp_main *body); /* executes the body of a run that a host call took */
void dtp_main_wait(struct dtp_main *body);

/* lane.c */
/* Whether this thread is the owner of a run that holds nothing but a ticket, so that other threads
 * may use the ticket while it sleeps. */
bool dtp_ticket_may_lend(const dtp_pool_t *rec);
/* Called by the owner of a run that is about to sleep in its work: lends its ticket. False: it
 * keeps the ticket. */
bool dtp_ticket_lend(dtp_pool_t *rec);
/* Takes the ticket back after the sleep. wait: waits until there is a ticket or share is over.
 * False: it has none, and calls again or ends the run. */
bool dtp_ticket_regain(dtp_pool_t *rec, bool wait, const dtp_share_t *share);

/* sync.c: forgets the parent's queues. */
void dtp_sync_forked(void);
/* queue.c: executes items of a queue that this thread, which holds a ticket, took as pending work.
 */
void dtp_queue_run_pending(dtp_pool_t *rec, dtp_pending_work_t *work);
/* Called by the owner of a synchronous run that rests: waits until its sleeper was woken, or the
 * run is over. Helps the queues for whose events the run waits, if this thread is in no other work
 * (queue_wait.c). */
void dtp_queue_rest(const dtp_share_t *share);
/* Tells the threads that wait for the queue that a ticket is free; false if no thread waits. */
bool dtp_queue_hint(dtp_pending_work_t *work);
bool dtp_queue_is_awaited(const dtp_pending_work_t *work);
/* Makes this thread serve the queues of the FIFO for which no thread waits, as soon as it holds
 * nothing (dtp_left_here). */
void dtp_queue_take_over(dtp_pool_t *rec);
static inline void dtp_let_go(dtp_pool_t *rec) {
    if (!dtp_dispatch(rec)) dtp_queue_take_over(rec);
}

#endif
