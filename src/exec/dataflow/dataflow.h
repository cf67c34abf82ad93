/* The dataflow engine: runs structured programs, which consist of nodes and orderings in control
 * blocks (the root, branches of an If, condition and body of a While, functions).
 *
 * The engine knows nodes, orderings, instances of regions, counters and threads. It knows no
 * tensors, no primitives and no graphs: the work of a node is one call exec(ctx, instance, index,
 * where). exec/compile/order/schedule.c builds its programs from steps. The builder is
 * dataflow/build/build.c (structure), dataflow/build/order.c (reduction, ranks, numbering) and
 * dataflow/build/emit.c (the plan); the engine is dataflow/run/run.c on the crew of
 * threading/loops/crew.h. */
#ifndef DTP_EXEC_DATAFLOW_DATAFLOW_H
#define DTP_EXEC_DATAFLOW_DATAFLOW_H

#include "common/base/arena.h"
#include "threading/base/parallel.h"

/* ---- Execution order ---------------------------------------------------------------------------------
 *
 * Regions and instances. A region is the root, a While (condition and body together) or a function;
 * it consists of control blocks ("block" from here on). An instance of a region is a header, one
 * counter for each node, one completion counter for each block, and a pointer to the caller's data
 * (buffers) of the instance. Branches of an If belong to the instance of the region around them:
 * they run at most once in it. A While has a ring of P+1 instances (P = window) in every instance
 * of the region around it; iteration k uses instance k mod (P+1). A call takes a frame (an instance
 * of the function, with its rings) from the caller's freelist and returns it when the function has
 * ended.
 *
 * Counters. The counter of a node is the number of arrivals for which it still waits.
 *     arrive(c):    if (load_acquire(c) == 1 || fetch_sub(c, 1, acq_rel) == 1) the node is ready
 * A ready node goes to the private LIFO of the thread that made it ready, or, together with the
 * LIFO, to a deque from which other threads steal. Nodes with more than 255 predecessors get joins
 * before them.
 *
 *   OP     calls exec; arrives at its successors
 *   PAD    only arrives: landing pads (one for each outside producer and branch: it waits for the
 *          producer and for the entry token of the branch, then fans out, so that a producer pays
 *          one arrival for a skipped branch)
 *   IF     reads the predicate, sets the counters of the chosen branch, delivers one entry token to
 *          each of its nodes without a producer in the branch, then gives the guard of the branch's
 *          completion counter
 *   TEST   an If whose branches are the body of the While and the exit. True: arrives at the
 *          instance's gate (2 = test + window token), whose last arrival enters the body as an If
 *          enters a branch. False: marks the instance as exited and gives its share of the
 *          completion
 *   WHILE  sets up the P+1 instances (iterations 0..P; the gates of the first P have their window
 *          token), calls enter, delivers the variables of iteration 0, then gives iteration 0 the
 *          token "previous iteration complete" as its last access to the ring
 *   EXIT   exec(exit_index) in the last iteration's instance, then arrives at the successors of the
 *          WHILE
 *   CALL   takes a frame, calls enter, starts the function's nodes without producers, gives the
 *          guard
 *   END    of an If, if a node waits for the whole If; a PAD
 *
 * Variables. A While has L variables: edges from body nodes (NEXT edges) into the next instance. A
 * NEXT edge delivers at once to the consumers of the variable in instance (k+1) mod (P+1); a
 * variable needs no counter. A variable marked `at_end` (and the dummy variable of a While without
 * variables) is delivered when iteration k is complete.
 *
 * Completion. Each block has a completion counter. A node without successors in its own block is a
 * counted sink: it gives one token to the counter as its last access to the instance.
 *   branch     1 (guard, from the IF) + sinks; at zero: one arrival at END if there is one, else
 *              one token to the block around
 *   iteration  1 (previous iteration complete) + condition sinks + 1 (body complete, or exit); at
 *              zero: if exited, EXIT becomes ready in this instance. Else, in this order: set the
 *              instance's counters anew, number it k+P+1, arrive at GATE(k+P), deliver at_end
 *              variables of k+1, give the token to completion(k+1)
 *   function   1 (guard) + sinks; at zero: the frame is returned, then CALL's successors get their
 *              arrivals
 *   root       sinks; at zero the run is done
 *
 * Rules.
 *   (a) A node delivers to other blocks (upwards, into branches, NEXT) before it delivers to its
 *       own block: only deliveries to its own block keep the instance from completing before the
 *       node ends.
 *   (b) A sink gives its token last.
 *   (c) Completion is chained in the order of iterations: an instance is complete only after its
 *       predecessor, so window tokens always meet counters that are set, and a While ends only
 *       after all its iterations.
 *   (d) A While delivers when its last iteration is complete. So everything that its nodes read
 *       from outside lives until then, and its ring is free after it.
 *   (e) Counters of a branch are set when the branch is chosen. A node that may get earlier
 *       arrivals (a pad, or the only consumer of a value from outside) has its counter among those
 *       of the block of its outermost producer.
 *
 * Threads. The thread that calls dtp_dataflow_run owns the run (slot 0) and starts alone, with
 * plain decrements, because no other thread sees the counters. When it has more ready nodes than it
 * runs itself, and sharing them pays, it opens the crew; from then on every arrival is atomic. The
 * counters of an If, a WHILE, a CALL or a completed iteration are set by the one thread that
 * executes that transition. The release of the arrival, or of the task's publication, orders this
 * before every arrival there. All other state of the run belongs to one worker, or is written in
 * dataflow/run/run.c under the rule stated there.
 *
 * Joint arrivals. A locked operation on a line that other threads write as often costs more than
 * everything else between two short nodes. So in a flat region (one block, plain counters) of a
 * shared run
 *   - a worker keeps the tokens of sinks. It gives them all when it has no more tasks, before it
 *     begins a task that is not plain or belongs to another instance, before it checks for rare
 *     events, and before it leaves. No thread waits for them: the worker's next task is in the same
 *     block, which is not complete before that;
 *   - the arrival of a node with one successor is delayed if the next task has the same successor
 *     and no other: the successor waits for that task anyway. The same worker executes that task at
 *     once, with nothing in between (checks come after the last one), and other threads get nodes
 *     from the other end of the LIFO;
 *   - if the root's nodes are short (DTP_DATAFLOW_LATER_NS on average), the arrivals of its nodes
 *     with several successors are delayed, at most DTP_DATAFLOW_LATER of them. Counters of
 *     neighbours share a line, which then moves once for several nodes. The arrivals are made when
 *     tokens are given, and as soon as a thread looks for tasks. Timed runs do not delay, because
 *     their nodes may take longer than is known.
 * One operation for n arrivals releases everything that all n nodes wrote, because one thread
 * executed them all.
 *
 * Pending nodes. A node may complete after its exec has returned (dataflow/run/pending.c). The
 * thread that called exec continues; when the node comes back, a thread that runs tasks of this run
 * delivers it. A MAY_BLOCK node of a run on a pool with a blocking crew is such a node: a thread of
 * the crew calls exec (dataflow/run/blocking.c). An owner without other work rests.
 *
 * Failure. The first error wins (one exchange; status and node). From then on nodes are not
 * executed but still arrive ("ghost walk": tests give false, an IF takes branch 0, calls end at
 * once), so all counters drain and the state can serve the next run. cancel and deadline are such
 * errors; they are checked before each node (the clock only around costly nodes and every 1024
 * nodes).
 *
 * Duties of the builder's caller.
 * - Orderings are acyclic, and name only tokens of the same block or of blocks around it.
 * - Everything that exec of a node reads was written by nodes ordered before it (or before the If,
 *   While or call around it).
 * - The token of an If's output is a node of that branch, or an output of an If or While in it. So
 *   a gated node in the branch copies an output that is computed outside. A NEXT token likewise is
 *   a node of the body.
 * - The memory of a predicate is written before the If or test is ready, and does not change before
 *   the branch has ended.
 * - Two branches of one If may share memory. The body buffers of instance k are overwritten from
 *   the start of body k+P+1 on, that is after iteration k+1 is complete. */

/* ---- Plan -------------------------------------------------------------------------------------------- */

typedef struct dtp_dataflow_plan dtp_dataflow_plan_t;
typedef struct dtp_dataflow_state dtp_dataflow_state_t;
typedef struct dtp_dataflow_region dtp_dataflow_region_t;

/* One instance of a region. exec and enter may read the fields up to `index`; the engine owns the
 * rest. */
typedef struct dtp_dataflow_instance {
    /* The buffers of this instance. */
    char *data;
    /* The instance around this one, which has the WHILE or CALL node; NULL for the root. */
    struct dtp_dataflow_instance *up;
    /* The neighbours in the ring (P = 1: both are the same instance); NULL outside rings. */
    struct dtp_dataflow_instance *prev;
    struct dtp_dataflow_instance *next;
    uint64_t iteration;
    /* Number of this instance in its ring, 0..P. */
    uint32_t number;
    /* Number of calls around this instance. */
    uint32_t depth;
    /* Index of the WHILE or CALL, as given to the builder. */
    uint32_t index;
    /* Private. */
    uint32_t node; /* the WHILE or CALL in `up` */
    const dtp_dataflow_region_t *region;
    uint32_t window, exited;
    _Atomic uint32_t gate; /* 2 = test + window token */
    void *frame;           /* of a function: the result of frame_take */
} dtp_dataflow_instance_t;

/* Address of a predicate: base + offset, or, if indirect, *(char **)(base + offset) + inner. base:
 * data of the instance `level` regions further out (0 = the own one), or args.bases for level
 * DTP_DATAFLOW_BASES. The predicate is true if dtp_is_true is for its type; type 0: a byte. */
enum { DTP_DATAFLOW_BASES = -1 };
typedef struct {
    int32_t level;
    bool indirect;
    uint8_t type; /* dnnl_tp_data_type_t */
    int64_t offset, inner;
} dtp_dataflow_ref_t;

/* ---- Builder -----------------------------------------------------------------------------------------
 *
 * A token names an event that happens once in each instance of its block. Building calls do not
 * fail: dtp_dataflow_build returns the first mistake or lack of memory. */
typedef struct dtp_dataflow_builder dtp_dataflow_builder_t;
typedef int32_t dtp_dataflow_token_t;
typedef int32_t dtp_dataflow_block_t;

enum { DTP_DATAFLOW_ROOT = 0 }; /* the root's block */
enum {
    /* All other ready nodes are published before it runs. */
    DTP_DATAFLOW_COSTLY = 1,
    /* It can use the pool's threads inside (implies COSTLY). */
    DTP_DATAFLOW_WIDE = 2,
    /* It may sleep in foreign code (implies COSTLY); its slot may be >= num_threads. */
    DTP_DATAFLOW_MAY_BLOCK = 4,
    /* With DTP_DATAFLOW_ORDERED such nodes run one after another, in the order of building. */
    DTP_DATAFLOW_SIDE_EFFECT = 8,
    /* An ordering only: exec is not called. */
    DTP_DATAFLOW_NOP = 16,
    /* exec may return DTP_DATAFLOW_PENDING (implies COSTLY). */
    DTP_DATAFLOW_MAY_PEND = 32,
    /* As WIDE, if other threads have nothing else to do. */
    DTP_DATAFLOW_SPLITS = 64,
    /* Its ns is a guess: it is COSTLY once a run has found so (DTP_DATAFLOW_LEARN). */
    DTP_DATAFLOW_UNKNOWN = 128
};
#define DTP_DATAFLOW_NO_INDEX UINT32_MAX

/* destroy frees the builder's own memory; dtp_dataflow_build puts the plan into its arena. */
dtp_dataflow_builder_t *dtp_dataflow_builder_create(const dnnl_tp_allocator_t *allocator);
void dtp_dataflow_builder_destroy(dtp_dataflow_builder_t *builder); /* NULL is allowed */

/* A hint: the approximate number of tokens and dependencies. */
void dtp_dataflow_expect(dtp_dataflow_builder_t *builder, int nodes, int dependencies);

/* A node: exec(ctx, instance, index, where). ns: estimated cost on one thread (0 = too short to
 * share). */
dtp_dataflow_token_t dtp_dataflow_node(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                       uint32_t index, unsigned flags, double ns);
/* `later` starts when `earlier` has ended. later: a node, an If, While, call, or a While's test.
 * earlier: any token; a token of a region further out delays the While (or the call) around
 * `later`. */
void dtp_dataflow_after(dtp_dataflow_builder_t *builder, dtp_dataflow_token_t later,
                        dtp_dataflow_token_t earlier);

typedef struct {
    /* As later: the choice of the branch. As earlier: the end of everything in the chosen branch.
     */
    dtp_dataflow_token_t token;
    /* [0]: predicate false, [1]: true. Nested Ifs and Whiles are made in these blocks. */
    dtp_dataflow_block_t branch[2];
} dtp_dataflow_if_t;
dtp_dataflow_if_t dtp_dataflow_if(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                  const dtp_dataflow_ref_t *pred);
/* A token of the branch that runs: `on_false` of branch 0 or `on_true` of branch 1. */
dtp_dataflow_token_t dtp_dataflow_if_out(dtp_dataflow_builder_t *builder, dtp_dataflow_token_t if_token,
                                         dtp_dataflow_token_t on_false, dtp_dataflow_token_t on_true);

typedef struct {
    int nvars;      /* >= 0 */
    int window;     /* P >= 1 */
    uint32_t index; /* instance.index, for enter */
    /* exec of this index in the last instance copies the variables out; DTP_DATAFLOW_NO_INDEX:
     * none. */
    uint32_t exit_index;
    double exit_ns;
    /* As seen from an instance of the While. */
    dtp_dataflow_ref_t test;
    /* Instance number s has the data at: data of the instance around + data_offset + s *
     * data_stride. */
    int64_t data_offset, data_stride;
} dtp_dataflow_loop_t;
typedef struct {
    /* As later: the start. As earlier: the variables are copied out and everything has ended. */
    dtp_dataflow_token_t token;
    /* Only as later: reads loop.test. */
    dtp_dataflow_token_t test;
    dtp_dataflow_block_t cond, body;
    /* Variable i = first_var + i; only as earlier. */
    dtp_dataflow_token_t first_var;
} dtp_dataflow_while_t;
dtp_dataflow_while_t dtp_dataflow_while(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                        const dtp_dataflow_loop_t *loop);
/* Variable var of the next iteration is delivered with token (of the body). Without this call it is
 * delivered at the end of the iteration. */
void dtp_dataflow_next(dtp_dataflow_builder_t *builder, dtp_dataflow_token_t while_token, int var,
                       dtp_dataflow_token_t token);

/* A function's block; calls may be anywhere, in the function, too. The token of a call, as earlier:
 * the end of the function. */
dtp_dataflow_block_t dtp_dataflow_function(dtp_dataflow_builder_t *builder);
dtp_dataflow_token_t dtp_dataflow_call(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                       dtp_dataflow_block_t function, uint32_t index);

enum {
    /* SIDE_EFFECT nodes run one after another. */
    DTP_DATAFLOW_ORDERED = 1,
    /* Costs of nodes are guesses: states learn them from their runs (dataflow/run/learn.c). */
    DTP_DATAFLOW_LEARN = 2
};
/* Errors: invalid_arguments with a text (a cycle, a token that does not exist in that block),
 * out_of_memory, unimplemented (more than 4M nodes in one region). */
dnnl_tp_status_t dtp_dataflow_build(dtp_dataflow_builder_t *builder, unsigned flags, dtp_arena_t *arena,
                                    const dtp_dataflow_plan_t **plan);

/* Renumbers the indices 0 .. n - 1 of nodes, approximately in the order in which one thread
 * executes them: number[old] = new. exec then gets the new numbers; indices of Whiles and calls
 * stay. */
void dtp_dataflow_renumber(const dtp_dataflow_plan_t *plan, uint32_t n, uint32_t *number);

/* ---- Running ----------------------------------------------------------------------------------------- */

typedef struct {
    /* Slot of the thread in this run, 0..num_threads-1; no two threads have the same one at a time.
     */
    int slot;
    /* A WIDE node that has the whole pool, and the scratch for it. */
    bool whole;
    /* The run's if `whole`, otherwise the thread alone. */
    const dtp_parallel_t *par;
    /* For dtp_dataflow_return, of a node that may be pending. */
    uint64_t task;
} dtp_dataflow_where_t;

/* Result of exec: the node is not complete. dtp_dataflow_return is called once for it, later or
 * before exec has returned; after that call exec no longer uses the data that the node reads and
 * writes. */
#define DTP_DATAFLOW_PENDING ((dnnl_tp_status_t)0x7fff)
/* Not success: the run fails with that status (the first one counts). */
typedef dnnl_tp_status_t (*dtp_dataflow_exec_t)(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                                const dtp_dataflow_where_t *where);
/* Called when an instance begins, before any of its nodes runs: for ring instance 0 in iterations 0
 * and P+1 (the variables lie elsewhere in the first round than in all others), and for a function's
 * frame. */
typedef void (*dtp_dataflow_enter_t)(void *ctx, dtp_dataflow_instance_t *instance);

typedef struct {
    void *ctx;
    dtp_dataflow_exec_t exec;
    dtp_dataflow_enter_t enter; /* may be NULL */
    /* Frames of functions; function: its block. If take returns NULL, the run fails with
     * out_of_memory. *instance: the result of dtp_dataflow_frame_init. During a run the memory of a
     * frame never becomes a frame of another function. */
    void *(*frame_take)(void *ctx, dtp_dataflow_block_t function, dtp_dataflow_instance_t **instance);
    void (*frame_give)(void *ctx, dtp_dataflow_block_t function, void *frame);
    /* Limit of nested calls; beyond it the run fails with runtime_error and DTP_DATAFLOW_TOO_DEEP.
     */
    uint32_t max_depth;
    /* NULL, or exec reads from items + index * item_bytes first. */
    const char *items;
    size_t item_bytes;
    const void *bases;              /* base of refs with level DTP_DATAFLOW_BASES */
    const dtp_parallel_t *par;      /* threads; num_threads 1: this thread alone */
    const _Atomic uint32_t *cancel; /* not 0: cancelled; NULL: never */
    int64_t deadline_ns;            /* CLOCK_MONOTONIC, 0: none */
    /* dtp_share_here of the work of other threads in this run. If nodes may be pending, its sleeper
     * is woken when one comes back. */
    const dtp_share_t *share;
    /* Called when the run is over but nodes are still pending: returns those for which the run need
     * not wait. A thread in dtp_dataflow_go calls it, possibly several times; NULL: there are none.
     */
    void (*recall)(void *ctx);
} dtp_dataflow_args_t;

enum {
    DTP_DATAFLOW_FAILED_NODE,
    DTP_DATAFLOW_CANCELLED,
    DTP_DATAFLOW_DEADLINE,
    DTP_DATAFLOW_TOO_DEEP,
    DTP_DATAFLOW_NO_FRAME
};
typedef struct {
    dnnl_tp_status_t status;
    /* DTP_DATAFLOW_*, if status is not success. */
    int why;
    /* The node or call that failed, or DTP_DATAFLOW_NO_INDEX. */
    uint32_t index;
    /* Of all threads: tasks given to others and taken from others, calls for helpers, sleeps. */
    uint64_t shared, stolen, invited, parked;
} dtp_dataflow_result_t;

/* The state of one run at a time; it is made once and reused. Its memory has the given size and is
 * aligned to DTP_NO_SHARE; num_threads is a maximum. init links all instances below data (the
 * root's buffers); state and data must not move. NULL (unimplemented, last error set): memory at
 * addresses above 48 bits, which systems give only on request. */
size_t dtp_dataflow_state_bytes(const dtp_dataflow_plan_t *plan, int num_threads);
dtp_dataflow_state_t *dtp_dataflow_state_init(const dtp_dataflow_plan_t *plan, int num_threads, void *memory,
                                              char *data);
/* Moves the root's buffers of the next runs to data; only for programs without loops. */
void dtp_dataflow_state_move(dtp_dataflow_state_t *state, char *data);
/* The size and initialization of a frame of a function. */
size_t dtp_dataflow_frame_bytes(const dtp_dataflow_plan_t *plan, dtp_dataflow_block_t function);
dtp_dataflow_instance_t *dtp_dataflow_frame_init(const dtp_dataflow_plan_t *plan,
                                                 dtp_dataflow_block_t function, void *memory, char *data);

/* Runs the program; returns when everything has ended. Allocates nothing. With more than one thread
 * it must be called inside dtp_pool_run, with its par. */
dnnl_tp_status_t dtp_dataflow_run(const dtp_dataflow_plan_t *plan, dtp_dataflow_state_t *state,
                                  const dtp_dataflow_args_t *args, dtp_dataflow_result_t *result);
/* The same in parts, for programs with nodes that may be pending: begin, then go until it returns
 * true, then end. One thread at a time calls go, each time possibly another one, with the par that
 * it has then. False: all remaining work waits for pending nodes; call go again when the sleeper of
 * args.share was woken. args.ctx must live until the end. */
void dtp_dataflow_begin(const dtp_dataflow_plan_t *plan, dtp_dataflow_state_t *state,
                        const dtp_dataflow_args_t *args);
bool dtp_dataflow_go(dtp_dataflow_state_t *state, const dtp_parallel_t *par);
dnnl_tp_status_t dtp_dataflow_end(dtp_dataflow_state_t *state, dtp_dataflow_result_t *result);
/* Completes a pending node; with another status than success the run fails. Any thread may call it.
 * After the last pending node it does not access the run any more. */
void dtp_dataflow_return(dtp_dataflow_state_t *state, uint64_t task, dnnl_tp_status_t status);
/* True if the runs of this state have shown (DTP_DATAFLOW_LEARN; else false) that the nodes are so
 * cheap, or depend on each other so much, that they take less time one after another on one thread.
 * note_order: a run was done so and took ns. After a number of such runs, or when one took much
 * longer than others, prefers_order is false again and dtp_dataflow_run measures anew. The owner of
 * the state calls both, outside runs. */
bool dtp_dataflow_prefers_order(const dtp_dataflow_state_t *state);
void dtp_dataflow_note_order(dtp_dataflow_state_t *state, int64_t ns);
/* Whether the current run of this state has failed. For long-running exec; may be stale. */
bool dtp_dataflow_failed(const dtp_dataflow_state_t *state);

#endif
