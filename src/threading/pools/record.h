/* Inside of a pool record; private to src/threading.
 *
 * State machines and who may write what stand here; the code that drives them: loops/shared_loop.c (loops), ticket.c and
 * admission.c (admission, runs; with lane.h: short ones), fifo.c (published work), host_call.c (calls queued in a caller's pool), builtin_pool.c (own
 * threads), queue.c.
 */
#ifndef DTP_THREADING_POOLS_RECORD_H
#define DTP_THREADING_POOLS_RECORD_H

#include "threading/base/futex.h"
#include "threading/pools/pool.h"

/* ---- Shared loops -----------------------------------------------------------------------------------------
 *
 * A shared loop is one loop that others may join: an entry of the record's table, reserved by a bit of `reserved`
 * (on another line, so that a hand-off moves the shared loop's line as few times as possible). One word holds its
 * state:
 *
 *   epoch : 21 | waiting : 1 | front : 12 | left : 12 | wanted : 9 | active : 9
 *
 * - idle: left 0, active 0. The opener that reserved the entry writes the plain fields now.
 * - open: the opener stores (release; seq_cst where it then looks for sleepers) epoch+1, left, wanted, front.
 * - join: others, while left > 0 and wanted > 0, CAS active+1, wanted-1, left-1: a joiner never is inside
 *   without a chunk, so a preempted one delays the opener only where a chunk of it would anyway.
 * - claim: CAS left-1; the opener takes chunks from the front (front+1), joiners from the back.
 * - leave: a joiner gives its slot back, then subtracts active (release) and, if there may be chunks left,
 * adds wanted; with left == 0 the latter means nothing.
 * - close: nothing to do: left == 0 and active == 0 (acquire) is the idle state. Then the bit is returned.
 *
 * A hand-off to one helper that spins costs one way of this line to it (the opener's stores, among them fn,
 * arg and chunk, and the helper's join) and one way back (the helper's leave). Both sides look with a locked
 * operation, so that the line arrives ready to be written.
 *
 * Invariants: chunks 0..front-1 and front+left..n_chunks-1 are claimed, each by one participant; with left ==
 * 0 only leaving and the waiting bit can change the word; a claim cannot hit another epoch, because its owner
 * keeps the shared loop open (the opener itself, or a joiner counted in active); a join by a stale word fails by
 * the epoch, and one that hits a wrapped epoch is a legal join, because everything is read after it. Slots
 * come from a bitmap and are returned before active-1, so a joiner always finds a free one below
 * `participants`. */
#define DTP_SHARED_LOOPS 63
#define DTP_RESERVED_BY_CALLER ((uint64_t)1 << 63)

#define DTP_LW_ACTIVE 0
#define DTP_LW_WANTED 9
#define DTP_LW_LEFT 18
#define DTP_LW_FRONT 30
#define DTP_LW_ONE(field) ((uint64_t)1 << DTP_LW_##field)
#define DTP_LW_AGAIN DTP_LW_ONE(FRONT) /* of crews, which have no chunks: crew.h */
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
    struct dtp_team *_Atomic team; /* whose run it belongs to; NULL outside runs */
    dtp_loop_fn_t fn;              /* this and the rest: opener while reserved */
    void *arg;
    int64_t chunk; /* iterations per chunk, one more in n_larger of them */
    uint16_t n_larger, n_chunks;
    uint8_t first_slot;   /* joiners take slots first_slot..participants-1 */
    _Atomic uint8_t pays; /* sleeping helpers are worth a call; any inviter of a crew */
    uint16_t participants;
    _Atomic int32_t cpu;         /* of the last opener: workers do not spin there */
    uint32_t piece;              /* iterations between two looks at the stop word, at first; 0: all */
    _Atomic uint64_t open_loops; /* entry 0 only: see DTP_LOOPS_* */
    /* Participants' own line. */
    _Alignas(DTP_CACHE_LINE) _Atomic uint64_t slots[DTP_MAX_THREADS / 64];
    uint64_t epoch;              /* of the last loop, in place; opener */
    _Atomic uint64_t loops;      /* opened so far; opener */
    _Atomic int32_t num_threads; /* of its run, or of the loop outside runs; for who calls helpers; opener */
    _Atomic uint32_t wake_word;  /* rung by the last joiner that leaves when the opener sleeps */
} dtp_shared_loop_t;
_Static_assert(sizeof(dtp_shared_loop_t) == DTP_NO_SHARE, "shared loop = two lines");

/* Door word, in the line that idle workers watch: bit i = shared loop i is open (entry 0 is watched itself). */
#define DTP_LOOPS_ATTENTION ((uint64_t)1) /* pending work or tasks are queued, or the pool ends */

/* ---- Tickets -----------------------------------------------------------------------------------------
 *
 * One word: waiting : 16 | callers : 16 | joiners : 16 | runs : 16.
 *   runs     tickets held by threads that execute runs or items of queues; W at most with joiners
 *   joiners  tickets held by threads that help: taken only while nobody waits, given back at the next chunk
 *            boundary when somebody does; an idle worker that spins holds one
 *   callers  openers of shared loops outside runs: they take no ticket but displace joiners (the opener of entry 0
 *            is counted in `reserved` instead)
 *   waiting  pieces of pending work in the FIFO, as far as they can be counted here; written under the lock
 * Invariant: runs + joiners <= W. (waiting > 0 and a free ticket) never lasts: who causes it calls
 * dtp_let_go, which finds somebody (dtp_dispatch), or makes the caller serve the FIFO when it holds nothing any
 * more. Whoever saw all tickets taken, and left, relies on that. */
#define DTP_ADM_RUN ((uint64_t)1)
#define DTP_ADM_JOINER ((uint64_t)1 << 16)
#define DTP_ADM_CALLER ((uint64_t)1 << 32)
#define DTP_ADM_WAITING ((uint64_t)1 << 48)
#define dtp_adm_runs(a) ((int)((a)&0xffff))
#define dtp_adm_joiners(a) ((int)((a) >> 16 & 0xffff))
#define dtp_adm_callers(a) ((int)((a) >> 32 & 0xffff))
#define dtp_adm_waiting(a) ((int)((a) >> 48))
enum { DTP_WAITING_COUNTED = 0x7fff };

/* Pending work, one piece; what needs a ticket: a published run, a queue with items, or a thread that sleeps until it gets one and
 * goes on itself. */
typedef enum { DTP_PENDING_RUN, DTP_PENDING_QUEUE, DTP_PENDING_TICKET } dtp_pending_kind_t;
typedef struct dtp_pending_work {
    /* Of the FIFO (fifo.h), under the record's lock. */
    struct dtp_pending_work *next, *prev, *above, *below, *higher, *lower;
    uint64_t number; /* of its publication */
    bool linked, attended, is_oldest;
    dtp_pending_kind_t kind;
    int priority;          /* before pending work of lower priority */
    int64_t ns;            /* of a run that may pass others (lane.h), or 0 */
    struct dtp_lane *lane; /* in which it passes */
    void *cookie;          /* of the host's run_begin, or NULL */
    /* Calls of the host's schedule with the cookie that are in progress; counted under the lock while linked.
     * The host's run_end comes when there are none. The thread that waits for that sleeps here, with
     * DTP_PENDING_SETTLES; or, if it is inside a host itself, it leaves run_end to the thread whose
     * call returns last, with DTP_PENDING_DEFERS. */
    _Atomic uint32_t calling;
    void (*settled)(void *arg); /* DEFERS: what that thread calls */
    void *settled_arg;
    /* Where its owner (publisher, or waiters of the queue) sleeps: DTP_PENDING_*. */
    _Atomic uint32_t state;
} dtp_pending_work_t;
enum {
    DTP_PENDING_PUBLISHED = 0, /* in the FIFO */
    DTP_PENDING_HINT = 1, /* in the FIFO, and a ticket is free: the owner may claim it after a wake cost */
    DTP_PENDING_TAKEN = 2,
    DTP_PENDING_DONE = 3,
    DTP_PENDING_PASSES = 4 /* its owner executes it, in a lane */
};
#define DTP_PENDING_SETTLES ((uint32_t)1 << 31)
#define DTP_PENDING_DEFERS ((uint32_t)1 << 30)

/* ---- Teams -------------------------------------------------------------------------------------------
 *
 * Joiners of one run. An entry of the record, because joiners may come late: a host call carries (team, epoch)
 * and leaves at once if the epoch moved on. Odd epoch = open. */
typedef struct dtp_team {
    dtp_share_t share; /* written by the run before its first loop and after its last */
    /* epoch : 32 | inside : 32 (host calls for this epoch that have come and not left). */
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t state;
    _Atomic int64_t debt_ns; /* parallel work that ran without helpers since some were last called */
    /* Ticks at the end of the last of it; negative in a run that has not yet added any: then what was before
     * counts if that was a moment ago. */
    _Atomic int64_t wanted_at;
    void *_Atomic
        cookie; /* of the host's run_begin; written by the owner of the run before joiners are called */
    _Atomic uint32_t calling; /* threads of others that call the host for it: its cookie lives so long */
    /* Helpers that sleep inside the one loop of a host that cannot call them back (host_call.c), and their wake_word. */
    _Atomic int32_t asleep;
    _Atomic uint32_t wake_word;
} dtp_team_t;
#define DTP_TEAM_EPOCH ((uint64_t)1 << 32)
#define dtp_team_is_open(state) ((state)&DTP_TEAM_EPOCH)
#define dtp_team_epoch(state) ((state) & ~(DTP_TEAM_EPOCH - 1))

/* ---- Host calls ------------------------------------------------------------------------------------------
 *
 * A call that the library asked a caller's pool for and that has not come yet. Lives in the record until it was called as often as promised. */
typedef struct dtp_host_call {
    struct dtp_pool *rec;
    struct dtp_shared_loop
        *loop;             /* serve this shared loop only (parallel_for of a synchronous pool), or NULL */
    struct dtp_team *team; /* serve this run only, or NULL */
    uint64_t epoch;        /* of team: DTP_TEAM_EPOCH multiples */
    int64_t opened;        /* team NULL: ticks when the host was called */
    bool runner;           /* take a ticket and execute pending work */
    bool unbound;          /* help in any loop */
    void *cookie;          /* a runner's: it serves this run only, if the host has runs */
    struct dtp_main *_Atomic main; /* body of a run: the first call takes it; see admission.c */
    _Atomic int32_t calls;         /* still expected; 0 = free */
} dtp_host_call_t;
#define DTP_HOST_CALLS 128

/* ---- Life --------------------------------------------------------------------------------------------
 *
 * One word holds the record: waiters : 12 | calls : 20 | references : 32.
 *   calls    that the host still owes us
 *   waiters  threads that wait until there are none; each has a reference, too
 * Who makes the word 0 takes the record out of the registry and frees it; one that is 0 is not revived: who
 * looks for its pool waits until the host's release has returned, and makes another one. A call
 * that is over leaves nothing behind: no reference outlives it, so once a waiter has seen no calls, a pool
 * without other references is not known any more, and the next one at its address is a new one. The last call
 * touches the record no more: it rings a wake_word that all records share. */
#define DTP_HOLD_REF ((uint64_t)1)
#define DTP_HOLD_CALL ((uint64_t)1 << 32)
#define DTP_HOLD_WAITER ((uint64_t)1 << 52)
#define dtp_hold_calls(h) ((uint32_t)((h) >> 32 & 0xfffff))
#define dtp_hold_waiters(h) ((uint32_t)((h) >> 52))
_Static_assert(DTP_HOST_CALLS *DTP_MAX_THREADS <= 0xfffff, "calls fit");

/* ---- The record -------------------------------------------------------------------------------------- */

struct dtp_worker;

/* A function that a user gave to the built-in pool's own schedule. */
typedef struct {
    dnnl_tp_task_fn_t fn;
    void *arg;
} dtp_task_t;
#define DTP_TASKS 256

/* What this thread is doing inside the library, innermost first; the head is thread-local. */
typedef enum {
    DTP_CHAIN_RUN,       /* executes a run or an item and holds a ticket (or inherited one) */
    DTP_CHAIN_HOST_CALL, /* inside a call of the host's pool, or a worker of ours helping */
    DTP_CHAIN_IN_HOST,   /* inside schedule or parallel_for of the host */
    DTP_CHAIN_CALLBACK,  /* inside callbacks of an event, or hooks of the host */
    DTP_CHAIN_BLOCKING   /* a thread of the blocking crew in a closure: no ticket (blocking.h) */
} dtp_chain_kind_t;
/* Of the outermost run on a caller's thread: its ticket may serve others while its owner sleeps. */
typedef enum { DTP_TICKET_KEPT, DTP_TICKET_LENDABLE, DTP_TICKET_LENT } dtp_ticket_use_t;
typedef struct dtp_chain {
    struct dtp_chain *up;
    struct dtp_pool *rec;
    dtp_chain_kind_t kind;
    dtp_team_t *team;
    const void *queue; /* whose item runs, or NULL */
    bool bounced;      /* HOST_CALL: a runner came back inline and left */
    bool ends_runs;    /* CALLBACK: ends runs that are over, one after another (queue.c) */
    /* CALLBACK: of events, those that this entry still calls; due_end NULL: it calls none. */
    struct dtp_callback *due, **due_end;
    bool may_block; /* RUN: its closures may go to the pool's blocking crew */
    dtp_ticket_use_t ticket;
    int64_t works_until; /* RUN: ticks until which it lets nobody pass (lane.h); 0: it has not looked */
} dtp_chain_t;
extern _Thread_local dtp_chain_t *dtp_chain_top __attribute__((tls_model("initial-exec")));
/* Queues that this thread has promised to serve when it holds no ticket, chain or host any more (queue.c). */
extern _Thread_local struct dtp_queue *dtp_left_here __attribute__((tls_model("initial-exec")));
/* The thread is a device's driver's, which calls back: it serves no queue, and makes no call of the device. */
extern _Thread_local bool dtp_thread_is_borrowed __attribute__((tls_model("initial-exec")));
/* The promise: after is what ended last on this thread, or NULL. */
void dtp_queue_run_left(const dtp_chain_t *after);
static inline void dtp_look_at_left(const dtp_chain_t *after) {
    if (__builtin_expect(dtp_left_here != NULL, 0) && !dtp_chain_top) dtp_queue_run_left(after);
}
/* Ends the innermost entry. Where a ticket is held, the end of the ticket looks at what was left. */
static inline void dtp_chain_pop_inner(const dtp_chain_t *chain) { dtp_chain_top = chain->up; }
static inline void dtp_chain_pop(const dtp_chain_t *chain) {
    dtp_chain_pop_inner(chain);
    dtp_look_at_left(chain);
}

/* A thread in a wait for streams, which sleeps on the wake word of the queue whose work this is. */
typedef struct dtp_waiter {
    struct dtp_waiter *next, **at; /* under the record's lock */
    dtp_pending_work_t *work;
} dtp_waiter_t;

/* Counts for queries, in parts: a line that every joiner adds to would go round all of them. */
typedef struct {
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t runs, joins, running_sum, wakes, alone, short_loops, stolen;
} dtp_counts_t;
#define DTP_COUNT_PARTS 64

struct dtp_pool {
    _Alignas(DTP_NO_SHARE) dtp_pool_front_t front;
    dtp_shared_loop_t loop[DTP_SHARED_LOOPS];
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t adm;
    _Atomic uint64_t sleeping[DTP_MAX_THREADS / 64]; /* built-in workers that sleep */
    _Alignas(
        DTP_NO_SHARE) _Atomic uint64_t reserved; /* shared loops in use; helpers that spin do not read it */
    _Alignas(DTP_NO_SHARE) _Atomic int64_t last_open; /* ticks; openers that found no helper */
    _Atomic int64_t debt_ns;
    _Atomic int64_t uncalled_ns; /* of loops outside runs since the host was last called to learn */
    /* Loops outside runs, and all where the host's loop is the only way in, that are worth a call of the
     * host; learned from the threads that it sends. */
    _Atomic int64_t call_min_ns;
    _Atomic uint64_t learned[64]; /* hash : 32 | us : 32 of loops of unknown cost, on one thread */
    /* Callers seen lately: joiners leave them their tickets. Everybody looks, it hardly changes. */
    _Alignas(DTP_NO_SHARE) _Atomic int64_t peak_time; /* ticks */
    _Atomic int32_t peak;
    _Atomic int32_t lent;                   /* tickets of owners that sleep: not to be left to them */
    _Atomic int32_t wants_back;             /* threads that wait for nothing but a ticket */
    _Atomic int32_t max_running;            /* for dnnl_tp_threadpool_query */
    _Alignas(DTP_NO_SHARE) dtp_lock_t lock; /* FIFO, team table, user tasks */
    dtp_pending_work_t *fifo[2], *tree[2];  /* fifo.h */
    dtp_waiter_t *waiters;                  /* that sleep */
    struct dtp_lane *lanes;                 /* lane.h */
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
    bool host_loops; /* a foreign pool whose only way in is a synchronous parallel_for */
    uint32_t fork_generation;
    int64_t spin_ticks;            /* of an idle worker or joiner, at most */
    int64_t wake_ticks;            /* park + unpark */
    int64_t wake_min_ns;           /* loops worth waking for */
    int64_t parallel_min_ns;       /* worth a hand-off */
    struct dtp_worker *workers;    /* built-in pool, else NULL */
    struct dtp_blocking *blocking; /* its blocking crew, or NULL */
    int num_started;
    int n_teams;
    dtp_team_t *teams;
    struct dtp_pool *next; /* registry */
    uintptr_t releaser;    /* thread that calls the host's release; under the registry's lock */
    /* Pending work is published, tickets are free, and no thread is known to come soon. A thread that waits for a
     * stream of the pool looks after it, or, where none waits, the next submission, query or wait on one. Set under the
     * lock, by who calls one of `waiters`; who takes it off is responsible. Invariant: while it is set, a thread that
     * waits is awake, or none waits: who goes to sleep looks at it under the lock, who leaves sets it anew. */
    _Atomic bool orphaned;
    _Atomic int32_t in_tasks;      /* workers in tasks of the program */
    _Atomic bool short_of_tickets; /* a loop wants helpers for which there were no tickets; see helpers.h */
    /* Counted from many threads. */
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t holds; /* see Life */
    _Atomic int32_t runners;                       /* calls asked to execute pending work */
    _Atomic int32_t unbound;                       /* calls asked to help outside runs */
    _Atomic int32_t short_jobs;                    /* of short loops that are with the host */
    _Atomic int32_t alive;                         /* built-in threads */
    _Atomic int32_t waking;  /* built-in workers called to help that have not heard it */
    _Atomic uint32_t go;     /* built-in pool: set when the record is complete */
    _Atomic uint32_t ending; /* built-in pool: DTP_ENDING* once nothing holds it */
    dtp_lock_t host_lock;    /* SINGLE_CALLER pools: host_call.c */
    dtp_host_call_t host_calls[DTP_HOST_CALLS];
};
/* A number below `parts` (a power of 2) that hardly two threads share: thread-local memory lies far apart. */
static inline uint32_t dtp_thread_part(uint32_t parts) {
    const uint64_t key = (uint64_t)(uintptr_t)&dtp_chain_top * 0x9e3779b97f4a7c15u;
    return (uint32_t)(key >> 32) & (parts - 1);
}
static inline void dtp_count(dtp_pool_t *rec, size_t member, uint64_t n) {
    dtp_counts_t *part = &rec->counts[dtp_thread_part(DTP_COUNT_PARTS)];
    atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)((char *)part + member), n, memory_order_relaxed);
}
#define DTP_COUNT(rec, member, n) dtp_count((rec), offsetof(dtp_counts_t, member), (n))
uint64_t dtp_counted(const dtp_pool_t *rec, size_t member); /* record.c: the sum of all parts */
#define DTP_COUNTED(rec, member) dtp_counted((rec), offsetof(dtp_counts_t, member))
enum { DTP_WAKE_PAYS = 3 }; /* a loop must take this many wakes before one is made */
enum { DTP_ENDING = 1, DTP_ENDING_DETACHED = 2 };

/* record.c */
static inline bool dtp_pool_dead(const dtp_pool_t *rec) { return dtp_is_parents(rec->fork_generation); }
static inline dnnl_tp_status_t dtp_refuse_parents(const char *what) {
    return dtp_fail(dnnl_tp_poisoned, DTP_POOL_FAILED, "the %s belongs to the parent process", what);
}
/* A record with one reference, not yet registered; num_workers > 0: room for so many threads of our own. */
dtp_pool_t *dtp_record_create(int num_threads, int num_workers);
void dtp_record_register(dtp_pool_t *rec);
/* Finds the record of an interface and retains it; makes it if there is none. */
dnnl_tp_status_t dtp_record_of(dtp_pool_t **rec, const dnnl_tp_threadpool_iface_t *iface);
dtp_pool_t *dtp_record_find(const dnnl_tp_threadpool_iface_t *iface); /* retained, or NULL */
void dtp_record_end(dtp_pool_t *rec);                                 /* nothing holds it */
void dtp_record_free(dtp_pool_t *rec);

/* loops/shared_loop.c */
/* Joins one open shared loop of the record (of team, if not NULL; run: of that epoch of it, 0 = whichever) and
 * works until it has no chunk left or a ticket is wanted; false if there was none. */
bool dtp_shared_loop_help(dtp_pool_t *rec, const dtp_team_t *team, uint64_t run);
bool dtp_shared_loop_join(dtp_pool_t *rec, dtp_shared_loop_t *loop, const dtp_team_t *team);
/* Does an open shared loop (of team, if not NULL) want somebody? For helpers that are about to sleep or to leave. */
bool dtp_shared_loop_is_wanted(const dtp_pool_t *rec, const dtp_team_t *team);
/* Does another shared loop that pays want helpers and have at least two fewer inside than r? Then a helper of r that could
 * as well help there leaves. */
bool dtp_shared_loop_has_too_many(dtp_pool_t *rec, const dtp_shared_loop_t *r);
/* Steps of an opener, for crew.c: an idle entry (caller: outside runs), its return, the wait for joiners that
 * are inside. */
dtp_shared_loop_t *dtp_shared_loop_reserve(dtp_pool_t *rec, bool caller);
void dtp_shared_loop_give_back(dtp_pool_t *rec, int index, bool caller);
void dtp_shared_loop_wait(dtp_pool_t *rec, dtp_shared_loop_t *loop);

/* host_call.c */
/* Asks the host for count more joiners for team (NULL: any shared loop); they may come at any time or never. */
void dtp_host_call_joiners(dtp_pool_t *rec, dtp_team_t *team, int count);
/* Runs a shared loop, or the body of a run with its team, through the parallel_for of a synchronous pool; may run
 * nothing. */
void dtp_host_call_loop(dtp_pool_t *rec, dtp_shared_loop_t *loop, int jobs);
/* The run of team is over: helpers that sleep in the host's loop leave. */
void dtp_host_call_team_closed(dtp_team_t *team);
/* A short loop outside runs as one loop of a synchronous host, a job for each participant; false: nothing was
 * done. */
bool dtp_host_call_short_loop(dtp_pool_t *rec, int64_t n, int participants, dtp_loop_fn_t fn, void *arg);
void dtp_host_call_main(dtp_pool_t *rec, dtp_team_t *team, struct dtp_main *body, int jobs);
/* Asks the host for a thread that executes pending work; false if none will come. */
bool dtp_host_call_runner(dtp_pool_t *rec, void *cookie);
/* Until no call is outstanding. */
dnnl_tp_status_t dtp_host_call_quiesce(dtp_pool_t *rec, int64_t timeout_ns);
/* The host's calls may be made from here. */
bool dtp_host_call_possible(const dtp_pool_t *rec);

/* ticket.c */
bool dtp_ticket_join(dtp_pool_t *rec);  /* of a joiner; refused while anybody waits for one */
void dtp_ticket_leave(dtp_pool_t *rec); /* gives a joiner's back */
/* Joiners' tickets for a whole loop outside runs, its caller among them: at most `most`, 0 where that would
 * be less than two. */
int dtp_ticket_join_several(dtp_pool_t *rec, int most);
void dtp_ticket_leave_several(dtp_pool_t *rec, int n);
/* A run's ticket: exchanged for a joiner's that is held, and for one piece of pending work under the record's lock. */
bool dtp_ticket_run(dtp_pool_t *rec, bool from_joiner, bool from_waiting);
void dtp_ticket_end(dtp_pool_t *rec);
/* Without a promise: false if pending work waits and nobody is known to come. */
bool dtp_ticket_give(dtp_pool_t *rec);
/* Threads that could still be called, at the moment of adm, and would find a joiner's ticket: those of callers
 * that were seen together a moment ago are left to them. */
int dtp_ticket_free(dtp_pool_t *rec, uint64_t adm);
/* May an idle joiner spin? Not while several callers compete. */
bool dtp_ticket_may_spin(const dtp_pool_t *rec);
void dtp_ticket_note_runs(dtp_pool_t *rec, uint64_t adm);

/* admission.c */
/* Finds somebody for the oldest piece of pending work if a ticket is free; false if nobody is known to come. May call the
 * host. */
bool dtp_dispatch(dtp_pool_t *rec);
/* Asks the pool alone; true: a ticket is free, work waits, and none of its threads comes. */
bool dtp_pool_is_away(dtp_pool_t *rec);
/* See `orphaned`: says so, and calls a thread that waits. */
void dtp_pool_strand(dtp_pool_t *rec);
/* Around the sleep of a thread that waits, after its last look. False: it must not sleep, but look again. */
bool dtp_pool_wait_in(dtp_pool_t *rec, dtp_waiter_t *waiter);
void dtp_pool_wait_out(dtp_pool_t *rec, dtp_waiter_t *waiter);
/* Are all workers of a built-in pool in tasks of the program, which may wait for what is published? */
static inline bool dtp_workers_are_away(const dtp_pool_t *rec) {
    return atomic_load_explicit(&rec->in_tasks, memory_order_seq_cst) >= rec->num_threads;
}
/* The same by who let go of what others relied on: where nobody comes it is this thread. */
static inline void dtp_let_go(dtp_pool_t *rec);
/* fifo.c */
/* Takes work out of the FIFO, and its count back; under the lock. */
void dtp_pending_unlink(dtp_pool_t *rec, dtp_pending_work_t *work);
/* Appends work to the FIFO; the caller dispatches. Takes it out again if nobody took it (true), with a
 * ticket. */
void dtp_pending_publish(dtp_pool_t *rec, dtp_pending_work_t *work);
/* gave_way (may be NULL): false, too, where the first work has a higher priority: once for each, which is noted there, and
 * while it is orphaned. */
bool dtp_pending_reclaim(dtp_pool_t *rec, dtp_pending_work_t *work, uint64_t *gave_way);
/* Takes the first pending work, with a ticket for it (from_joiner: exchanged for a joiner's). cookie: of the run that may be
 * taken; NULL: any. */
dtp_pending_work_t *dtp_pending_take(dtp_pool_t *rec, bool from_joiner, const void *const *cookie);
/* The next pending work for a thread that keeps its run's ticket. */
dtp_pending_work_t *dtp_pending_next(dtp_pool_t *rec);
/* The ticket that this thread has taken for work belongs to the thread that sleeps on it, which may be gone at once. */
void dtp_pending_hand_over(dtp_pending_work_t *work);
/* Takes the first queue for which nobody waits, with a ticket; NULL: there is none. */
dtp_pending_work_t *dtp_pending_take_left(dtp_pool_t *rec);
/* Does work of a higher priority wait? */
bool dtp_pending_outranks(dtp_pool_t *rec, int priority);
/* The same without a ticket. A ticket may have been offered for it: the caller lets go (dtp_let_go). */
bool dtp_pending_withdraw(dtp_pool_t *rec, dtp_pending_work_t *work);
/* Takes a ticket and executes pending work until nothing is left; *joiner: a joiner's ticket is held on entry (true)
 * and has been exchanged (false on return if anything ran). */
bool dtp_run_pending(dtp_pool_t *rec, bool *joiner);
/* The same for a call that carries the cookie of a run (NULL: of none): serves it only, where the host has
 * runs. */
bool dtp_run_pending_of(dtp_pool_t *rec, bool *joiner, const void *cookie);
/* Calls fn on this thread, which holds a ticket (or needs none), with a team; on a pool that only has a
 * synchronous loop, inside one loop of which one job is fn and the others join it. */
void dtp_run_here(dtp_pool_t *rec, int num_threads, void *cookie, dtp_run_fn_t fn, void *arg);
/* A ticket of a run for this thread, which goes on when it has it; it waits its turn among what is published.
 * A thread that comes back to work which it left has DTP_TICKET_BACK as priority. Ended by dtp_ticket_end. False:
 * there is none, because share (NULL: never) is over. */
#define DTP_TICKET_BACK INT_MAX
bool dtp_ticket_get(dtp_pool_t *rec, int priority, const dtp_share_t *share);
/* Until no thread is in a call of the host's schedule for the pending work. */
void dtp_pending_settle(dtp_pending_work_t *work);
/* The same by a thread that may be inside a host in one of these calls. False: settled(arg) is
 * called later. */
bool dtp_pending_settle_or(dtp_pending_work_t *work, void (*settled)(void *arg), void *arg);
void dtp_attention_update(dtp_pool_t *rec); /* under the lock: attention bit from FIFO, tasks and end */

dtp_team_t *dtp_team_open(dtp_pool_t *rec, void *cookie); /* NULL: too many runs, go without joiners */
void dtp_team_close(dtp_team_t *team);
/* By who calls the host for another's run: false if it is over. Its end waits until the call has returned. */
bool dtp_team_hold(dtp_team_t *team);
void dtp_team_let_go(dtp_team_t *team);
void dtp_main_take(struct dtp_main *body); /* executes the body of a run that a host call took */
void dtp_main_wait(struct dtp_main *body);

/* lane.c */
/* Is this thread the owner of a run that holds nothing but a ticket, so that it may wait for others to use that? */
bool dtp_ticket_may_lend(const dtp_pool_t *rec);
/* By the owner of a run that is about to sleep in its work: others may have its ticket. False: it keeps it. */
bool dtp_ticket_lend(dtp_pool_t *rec);
/* It is awake. wait: until there is one, or share is over. False: it has none, and asks again or ends the run. */
bool dtp_ticket_regain(dtp_pool_t *rec, bool wait, const dtp_share_t *share);

/* sync.c: forgets the parent's queues. */
void dtp_sync_forked(void);
/* queue.c: executes items of a queue that this thread took as pending work, which holds a ticket. */
void dtp_queue_run_pending(dtp_pool_t *rec, dtp_pending_work_t *work);
/* By the owner of a synchronous run that rests: until its sleeper was woken, or the run is over. Helps the queues for
 * whose events the run waits, where this thread is in no other work (queue_wait.c). */
void dtp_queue_rest(const dtp_share_t *share);
/* Tells those who wait for the queue that a ticket is free; false if nobody waits. */
bool dtp_queue_hint(dtp_pending_work_t *work);
bool dtp_queue_is_awaited(const dtp_pending_work_t *work);
/* This thread serves the queues of the FIFO for which nobody waits, as soon as it holds nothing (dtp_left_here). */
void dtp_queue_take_over(dtp_pool_t *rec);
static inline void dtp_let_go(dtp_pool_t *rec) {
    if (!dtp_dispatch(rec)) dtp_queue_take_over(rec);
}

#endif
