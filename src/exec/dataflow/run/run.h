/* One run of a dataflow program: state, workers and the steps that both forms of the engine share; private to
 * run.c, step.h and share.c. State machine: dataflow/dataflow.h.
 *
 * Who may write what. state: fields up to `result` by the owner before the run; `stop`, result by who turns
 * stop from 0 to 1; `finished` by who completes the root. worker: its own thread, but for the deque's top
 * (thieves). While the run is alone no other thread reads any of it; opening the crew (share.c)
 * publishes it. */
#ifndef DTP_EXEC_DATAFLOW_RUN_RUN_H
#define DTP_EXEC_DATAFLOW_RUN_RUN_H

#include "exec/dataflow/plan.h"
#include "threading/base/sleeper.h"
#include "threading/pools/blocking.h"
#include "threading/loops/crew.h"

#ifndef DTP_DATAFLOW_QUEUE_TASKS /* tests/model: few, so that positions wrap around */
#define DTP_DATAFLOW_QUEUE_TASKS 1024
#endif
#ifndef DTP_DATAFLOW_FEW_QUEUES /* tests: few, so that small crews mark theirs */
#define DTP_DATAFLOW_FEW_QUEUES 16
#endif
#ifndef DTP_DATAFLOW_LATER_NS /* tests: much, so that arrivals are always kept */
#define DTP_DATAFLOW_LATER_NS 500
#endif
enum {
    DTP_DATAFLOW_LIFO = 4096,       /* private tasks, at least; more spill into a list */
    DTP_DATAFLOW_LIFO_MORE = 16384, /* of programs with more nodes than that */
    DTP_DATAFLOW_QUEUE = DTP_DATAFLOW_QUEUE_TASKS,
    DTP_DATAFLOW_FUEL = 64, /* nodes between two looks at what is rare, at most */
    DTP_DATAFLOW_LOOK_NS = 2000,
    DTP_DATAFLOW_SHARE_NS = 1000, /* a surplus worth giving away */
    DTP_DATAFLOW_EAGER_NS = 60,
    DTP_DATAFLOW_LATER = 64,   /* arrivals that a worker keeps, at most */
    DTP_DATAFLOW_TRIALS = 3,   /* shared runs that show whether threads are worth it again */
    DTP_DATAFLOW_CHEAP_NS = 40 /* nodes that were found to take less are not given away */
};

/* Tasks that a worker gives away: one producer (its worker), any number of takers, oldest first. Positions
 * only grow. put: words, then bottom (release). take: read top and bottom (acquire), the words, then CAS top;
 * a word that was overwritten meanwhile is thrown away, because then top has moved. */
typedef struct {
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint64_t) top;
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint64_t) bottom;
    DTP_ATOMIC(uint64_t) word[DTP_DATAFLOW_QUEUE];
} dtp_dataflow_queue_t;

typedef struct {
    /* Private LIFO: lifo[0 .. top). */
    _Alignas(DTP_NO_SHARE) uint64_t *top;
    uint64_t *limit;
    dtp_dataflow_state_t *state;
    uint32_t fuel, looks;
    uint32_t given;   /* nodes since the last look, if that many were run */
    uint32_t n_timed; /* of this run, with what they took */
    int64_t timed_ns;
    int64_t costly_ns;          /* what COSTLY nodes of this shared run took here, lately; 0: not known */
    uint64_t spill, spill_last; /* list of older tasks, through dtp_dataflow_link; 0: none */
    dtp_dataflow_where_t where;
    uint64_t *lifo;
    uint32_t random;
    uint64_t shared, stolen, invited, parked;
    dtp_dataflow_queue_t queue;
} dtp_dataflow_worker_t;

/* learn.c. Everything but cost[] and jumped is written by the owner, while nobody else is inside. */
typedef struct {
    bool on;      /* the plan says so, and there are threads */
    bool active;  /* in this run */
    bool timed;   /* every node of this run */
    bool suspect; /* the last look found nodes much dearer than before */
    bool in_order;
    bool ranked;         /* rank[] is filled in */
    double mean_ns;      /* in the last timed run */
    uint32_t runs, next; /* so far; the next one to be timed */
    uint32_t again;      /* timed runs in a row */
    DTP_ATOMIC(bool) jumped;
    int64_t looked;   /* ticks at the last look */
    int64_t order_ns; /* the shortest run in order since the last timed one */
    /* Short nodes: what whole runs take, by one thread and shared (learn.c). */
    bool alone;              /* this run stays with one thread */
    bool compared;           /* in_order was measured, and is not what the nodes' costs say */
    bool one_known;          /* one_ns was measured, and is not the sum of the nodes */
    float one_ns, shared_ns; /* about the median; 0: not compared */
    float node_ns;
    float again_ns[DTP_DATAFLOW_TRIALS];
    uint32_t n_late;             /* runs of one thread in a row that took much longer than others */
    uint32_t n_one, n_shared;    /* runs since the last choice */
    uint32_t trials;             /* shared runs to come, before the next choice */
    int64_t began;               /* ticks */
    DTP_ATOMIC(uint32_t) * cost; /* ns + 1 by index, 0: not known */
    dtp_dataflow_node_t *nodes;  /* the root's, COSTLY as learned */
    uint32_t *edges;
    float *rank;
    dtp_dataflow_region_t region; /* the root's with these tables */
} dtp_dataflow_learn_t;

struct dtp_dataflow_state {
    const dtp_dataflow_plan_t *plan;
    dtp_dataflow_instance_t *root;
    int num_threads;
    dtp_dataflow_args_t args;
    dtp_parallel_t alone;
    dtp_dataflow_worker_t *workers;
    dtp_dataflow_result_t result;
    dtp_dataflow_exec_t exec; /* args.exec, or around it what takes its time */
    void *exec_ctx;
    int crew_size; /* slots that may be in use: 1 while the run is alone */
    uint32_t fuel;
    double mean_ns; /* of nodes, as estimated or learned */
    bool eager;     /* nodes take so long that a second look comes soon */
    bool later;     /* so short that arrivals are made together */
    dtp_crew_t crew;
    dtp_dataflow_learn_t learn;
    /* blocking.c; under the crew's lock but for the first. */
    dtp_blocking_t *blocking; /* NULL: nodes that may block run where they are met */
    dtp_blocking_job_t job;
    bool linked;
    uint64_t handed, handed_last; /* list, oldest first */
    /* pending.c. */
    dtp_sleeper_t *sleeper;
    dtp_lock_t lock;
    bool crew_open;              /* under the lock */
    DTP_ATOMIC(uint32_t) away;   /* nodes, not taken back yet */
    DTP_ATOMIC(uint32_t) inside; /* joiners */
    DTP_ATOMIC(uint32_t) inviting;
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint32_t) stop;
    DTP_ATOMIC(uint32_t) finished;
    DTP_ATOMIC(uint64_t) returned; /* list of nodes that are back; written under the lock */
    _Alignas(DTP_NO_SHARE)
        DTP_ATOMIC(uint32_t) searching; /* threads that look for tasks now, the parked owner too */
    DTP_ATOMIC(uint32_t) wide;          /* a WIDE node has the whole pool */
    /* Of a large crew: whose queue may hold tasks, a bit each, so that a worker without tasks need not look at all of
     * them.  */
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint64_t) given[DTP_MAX_THREADS / 64];
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint64_t) orphans; /* list of tasks whose worker left, through links */
    DTP_ATOMIC(uint32_t) parked;                         /* the owner sleeps on it; DTP_DATAFLOW_* */
};

/* The owner sleeps; its ticket serves others, so that tasks alone wake it only while there is one for it. */
enum { DTP_DATAFLOW_AWAKE, DTP_DATAFLOW_ASLEEP, DTP_DATAFLOW_ASLEEP_LENT };

/* The run fails unless it has failed before. */
void dtp_dataflow_fail(dtp_dataflow_state_t *s, dnnl_tp_status_t status, int why, uint32_t index);
/* Is there a reason not to execute? Looks at the caller's cancel. */
static inline bool dtp_dataflow_stopped(dtp_dataflow_state_t *s) {
    if (DTP_UNLIKELY(DTP_LOAD(&s->stop, relaxed))) return true;
    if (DTP_LIKELY(!DTP_LOAD(s->args.cancel, relaxed))) return false;
    dtp_dataflow_fail(s, dnnl_tp_cancelled, DTP_DATAFLOW_CANCELLED, DTP_DATAFLOW_NO_INDEX);
    return true;
}

/* learn.c */
size_t dtp_dataflow_learn_bytes(const dtp_dataflow_plan_t *plan, int num_threads);
/* The root's region as the state has it. */
const dtp_dataflow_region_t *dtp_dataflow_learn_init(dtp_dataflow_state_t *s, char *memory);
void dtp_dataflow_learn_begin(dtp_dataflow_state_t *s);
void dtp_dataflow_learn_end(dtp_dataflow_state_t *s);
/* The owner looks, alone: nodes until the next time. */
uint32_t dtp_dataflow_learn_look(dtp_dataflow_worker_t *w);
/* What can be known of the n oldest tasks of the LIFO and what comes after them; 0: nothing was learned. */
double dtp_dataflow_learned_ns(const dtp_dataflow_worker_t *w, size_t n);
void dtp_dataflow_set_mean(dtp_dataflow_state_t *s, double ns);

void dtp_dataflow_check_deadline(dtp_dataflow_state_t *s);
/* The root is complete. */
void dtp_dataflow_finished(dtp_dataflow_state_t *s);
/* Executes a COSTLY node; everything else that is ready is given to others before. True: it is pending. */
bool dtp_dataflow_costly(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance,
                         const dtp_dataflow_node_t *node, bool shared);
/* Every DTP_DATAFLOW_FUEL nodes: the deadline; may the run be shared (or must this worker leave)? Then true. */
bool dtp_dataflow_look(dtp_dataflow_worker_t *w, bool shared);

/* blocking.c. */
void dtp_dataflow_blocking_begin(dtp_dataflow_state_t *s);
void dtp_dataflow_hand_over(dtp_dataflow_state_t *s, uint64_t task); /* the run has a blocking crew */
void dtp_dataflow_recall(dtp_dataflow_state_t *s);                   /* returns what nobody has begun */

/* pending.c. */
void dtp_dataflow_pending_begin(dtp_dataflow_state_t *s);
/* A node that may be pending is ready. True: it is. */
bool dtp_dataflow_may_pend(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t id,
                           bool shared);
uint64_t dtp_dataflow_take_returned(dtp_dataflow_state_t *s); /* the list; 0: none */
bool dtp_dataflow_is_away(const dtp_dataflow_state_t *s);     /* some are */
bool dtp_dataflow_is_quiet(dtp_dataflow_state_t *s);          /* and no joiner is inside */
void dtp_dataflow_crew_is_open(dtp_dataflow_state_t *s, bool open);
/* By the owner, which is alone and has no tasks while nodes are away. False: one has come back. */
bool dtp_dataflow_may_rest(dtp_dataflow_worker_t *w);

/* share.c. A COSTLY node comes and others could run: opens the crew if somebody would come (then true).
 */
bool dtp_dataflow_open_for_costly(dtp_dataflow_worker_t *w);
/* The queue is empty and the LIFO is not: gives its older half away if that is worth it. */
void dtp_dataflow_feed(dtp_dataflow_worker_t *w);
/* Gives tasks away and invites those who are not here. The worker has a task left. */
void dtp_dataflow_invite(dtp_dataflow_worker_t *w);
/* Fills the LIFO with tasks that others gave away; false if there are none. */
bool dtp_dataflow_take(dtp_dataflow_worker_t *w);
/* The owner has nothing to do and the run is not finished: looks, helps in loops, sleeps. False: nothing is left but
 * nodes that are away. */
bool dtp_dataflow_wait(dtp_dataflow_worker_t *w);
/* What joiners have left behind, after close; into the owner's LIFO. */
void dtp_dataflow_gather(dtp_dataflow_worker_t *w);
void dtp_dataflow_close(dtp_dataflow_worker_t *w);
bool dtp_dataflow_wake_owner(dtp_dataflow_state_t *s); /* if it sleeps */
/* run_tasks with shared = true: false when the worker has to leave. */
bool dtp_dataflow_run_shared(dtp_dataflow_worker_t *w);

/* Makes room for n <= DTP_DATAFLOW_LIFO / 2 tasks: the older half goes to the spill list. */
void dtp_dataflow_spill(dtp_dataflow_worker_t *w);
/* Fills an empty LIFO from the spill list; false if that is empty, too. */
bool dtp_dataflow_unspill(dtp_dataflow_worker_t *w);
static inline void dtp_dataflow_room(dtp_dataflow_worker_t *w, uint32_t n) {
    if (DTP_UNLIKELY((size_t)(w->limit - w->top) < n)) dtp_dataflow_spill(w);
}

/* Sets the counters of a block. */
static inline void dtp_dataflow_arm(const dtp_dataflow_region_t *r, dtp_dataflow_instance_t *instance,
                                    uint32_t block) {
    const dtp_dataflow_control_block_t *k = &r->blocks[block];
    char *count = (char *)instance + r->count_at;
    if (k->counted) memcpy(count + k->first, r->init + k->first, k->counted);
    DTP_STORE(&dtp_dataflow_done(r, instance)[block], k->done, relaxed);
}
static inline void dtp_dataflow_arm_instance(const dtp_dataflow_region_t *r,
                                             dtp_dataflow_instance_t *instance, uint32_t gate) {
    dtp_dataflow_arm(r, instance, 0);
    instance->exited = 0;
    DTP_STORE(&instance->gate, gate, relaxed);
}

#endif
