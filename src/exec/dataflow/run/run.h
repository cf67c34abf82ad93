/* One run of a dataflow program: its state, its workers, and the steps that both forms of the
 * engine share; private to run.c, step.h and share.c. State machine: dataflow/dataflow.h.
 *
 * Rules for writing. state: the owner writes the fields up to `result` before the run; the thread
 * that changes stop from 0 to 1 writes `stop` and result; the thread that completes the root writes
 * `finished`. worker: its own thread writes everything except the queue's top (thieves). While the
 * run is alone no other thread reads any of it; opening the crew (share.c) publishes it. */
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
#ifndef DTP_DATAFLOW_COSTLY_NS /* tests/dataflow.cmake: little, so that nodes often turn out to be costly */
#define DTP_DATAFLOW_COSTLY_NS 5000
#endif
#ifndef DTP_DATAFLOW_LATER_NS /* tests: much, so that arrivals are always kept */
#define DTP_DATAFLOW_LATER_NS 500
#endif
enum {
    /* Least number of private tasks; more tasks spill into a list. */
    DTP_DATAFLOW_LIFO = 4096,
    /* The same for programs with more nodes than that. */
    DTP_DATAFLOW_LIFO_MORE = 16384,
    DTP_DATAFLOW_QUEUE = DTP_DATAFLOW_QUEUE_TASKS,
    /* Limit of nodes between two checks for rare events. */
    DTP_DATAFLOW_FUEL = 64,
    DTP_DATAFLOW_LOOK_NS = 2000,
    /* A surplus that is worth giving away. */
    DTP_DATAFLOW_SHARE_NS = 1000,
    DTP_DATAFLOW_EAGER_NS = 60,
    /* Limit of the arrivals that a worker keeps. */
    DTP_DATAFLOW_LATER = 64,
    /* Number of shared runs that show whether threads are worth it again. */
    DTP_DATAFLOW_TRIALS = 3,
    /* Nodes that were found to take less time are not given away. */
    DTP_DATAFLOW_CHEAP_NS = 40
};

/* Tasks that a worker gives away: one producer (its worker), any number of thieves, oldest first.
 * Positions only grow. put: words, then bottom (release). take: read top and bottom (acquire), the
 * words, then CAS top; if a word was overwritten meanwhile, top has moved, the CAS fails and the
 * word is dropped. */
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
    /* Number of nodes since the last check, if that many were run. */
    uint32_t given;
    /* Number of timed nodes of this run, and their duration. */
    uint32_t n_timed;
    int64_t timed_ns;
    /* Recent duration of COSTLY nodes of this shared run on this worker; 0: unknown. */
    int64_t costly_ns;
    /* List of older tasks, linked by dtp_dataflow_link; 0: none. */
    uint64_t spill, spill_last;
    dtp_dataflow_where_t where;
    uint64_t *lifo;
    uint32_t random;
    uint64_t shared, stolen, invited, parked;
    dtp_dataflow_queue_t queue;
} dtp_dataflow_worker_t;

/* For learn.c. The owner writes everything except cost[] and jumped, while no other thread is
 * inside. */
typedef struct {
    bool on;      /* the plan asks for it, and there are threads */
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
    /* Short nodes: durations of whole runs, on one thread and shared (learn.c). */
    bool alone;              /* this run stays with one thread */
    bool compared;           /* in_order was measured, not derived from the costs of nodes */
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
    dtp_dataflow_exec_t exec; /* args.exec, or a function that calls it and takes its time */
    void *exec_ctx;
    int crew_size; /* slots that may be in use: 1 while the run is alone */
    uint32_t fuel;
    double mean_ns; /* of nodes, as estimated or learned */
    bool eager;     /* nodes take so long that a second look comes soon */
    bool later;     /* so short that arrivals are made together */
    dtp_crew_t crew;
    dtp_dataflow_learn_t learn;
    /* blocking.c; under the crew's lock, except the first. */
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
    DTP_ATOMIC(uint64_t) returned; /* list of nodes that have returned; written under the lock */
    _Alignas(DTP_NO_SHARE)
        DTP_ATOMIC(uint32_t) searching; /* threads that look for tasks now, the parked owner too */
    DTP_ATOMIC(uint32_t) wide;          /* a WIDE node has the whole pool */
    /* Of a large crew: whose queue may hold tasks, a bit each, so that a worker without tasks need
     * not look at all of them. */
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint64_t) given[DTP_MAX_THREADS / 64];
    /* list of tasks whose worker left, through links */
    _Alignas(DTP_NO_SHARE) DTP_ATOMIC(uint64_t) orphans;
    /* the owner sleeps on it; DTP_DATAFLOW_* */
    DTP_ATOMIC(uint32_t) parked;
};

/* The owner sleeps; its ticket serves others, so that tasks alone wake it only while there is one
 * for it. */
enum { DTP_DATAFLOW_AWAKE, DTP_DATAFLOW_ASLEEP, DTP_DATAFLOW_ASLEEP_LENT };

/* Does a node take long, as its author said or, outside of the root, as this state has found? */
static inline bool dtp_dataflow_is_costly(const dtp_dataflow_state_t *s, const dtp_dataflow_node_t *node) {
    if (node->bits & DTP_FN_COSTLY) return true;
    return DTP_UNLIKELY(node->bits & DTP_FN_UNKNOWN) && s->learn.active &&
           DTP_LOAD(&s->learn.cost[node->index], relaxed) > DTP_DATAFLOW_COSTLY_NS;
}

/* The run fails unless it has failed before. */
void dtp_dataflow_fail(dtp_dataflow_state_t *s, dnnl_tp_status_t status, int why, uint32_t index);
/* Whether there is a reason not to execute. Looks at the caller's cancel. */
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
/* The owner looks, while it is alone. Returns the number of nodes until the next look. */
uint32_t dtp_dataflow_learn_look(dtp_dataflow_worker_t *w);
/* Estimate of the n oldest tasks of the LIFO and of the nodes after them; 0: nothing was learned.
 */
double dtp_dataflow_learned_ns(const dtp_dataflow_worker_t *w, size_t n);
void dtp_dataflow_set_mean(dtp_dataflow_state_t *s, double ns);

void dtp_dataflow_check_deadline(dtp_dataflow_state_t *s);
/* The root is complete. */
void dtp_dataflow_finished(dtp_dataflow_state_t *s);
/* Executes a COSTLY node, after all other ready nodes were given away. True: it is pending. */
bool dtp_dataflow_costly(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance,
                         const dtp_dataflow_node_t *node, bool shared);
/* Called every DTP_DATAFLOW_FUEL nodes: checks the deadline. True: the run may be shared, or this
 * worker must leave. */
bool dtp_dataflow_look(dtp_dataflow_worker_t *w, bool shared);

/* blocking.c. */
void dtp_dataflow_blocking_begin(dtp_dataflow_state_t *s);
/* For runs with a blocking crew. */
void dtp_dataflow_hand_over(dtp_dataflow_state_t *s, uint64_t task);
/* Returns the nodes that no thread has begun. */
void dtp_dataflow_recall(dtp_dataflow_state_t *s);

/* pending.c. */
void dtp_dataflow_pending_begin(dtp_dataflow_state_t *s);
/* Executes a ready node that may be pending. True: it is pending. */
bool dtp_dataflow_may_pend(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t id,
                           bool shared);
uint64_t dtp_dataflow_take_returned(dtp_dataflow_state_t *s); /* the list; 0: none */
bool dtp_dataflow_is_away(const dtp_dataflow_state_t *s);     /* some nodes are pending */
bool dtp_dataflow_is_quiet(dtp_dataflow_state_t *s);          /* and no joiner is inside */
void dtp_dataflow_crew_is_open(dtp_dataflow_state_t *s, bool open);
/* Called by the owner when it is alone and has no tasks while nodes are pending. False: a node has
 * come back. */
bool dtp_dataflow_may_rest(dtp_dataflow_worker_t *w);

/* share.c. Called before a COSTLY node if other nodes could run: opens the crew if helpers would
 * come (then true). */
bool dtp_dataflow_open_for_costly(dtp_dataflow_worker_t *w);
/* Called if the queue is empty and the LIFO is not: gives away the older half of the LIFO if that
 * is worth it. */
void dtp_dataflow_feed(dtp_dataflow_worker_t *w);
/* Gives tasks away and invites helpers that are not inside. The worker keeps a task. */
void dtp_dataflow_invite(dtp_dataflow_worker_t *w);
/* Fills the LIFO with tasks that other workers gave away; false: there are none. */
bool dtp_dataflow_take(dtp_dataflow_worker_t *w);
/* Called if the owner has no task and the run is not finished: looks for tasks, helps in loops,
 * sleeps. False: only pending nodes are left. */
bool dtp_dataflow_wait(dtp_dataflow_worker_t *w);
/* Called after close: moves the tasks that joiners have left to the owner's LIFO. */
void dtp_dataflow_gather(dtp_dataflow_worker_t *w);
void dtp_dataflow_close(dtp_dataflow_worker_t *w);
bool dtp_dataflow_wake_owner(dtp_dataflow_state_t *s); /* if it sleeps */
/* run_tasks with shared = true; false: the worker has to leave. */
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
