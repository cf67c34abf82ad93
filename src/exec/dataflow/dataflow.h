/* The counter-scheduled engine that runs structured programs: nodes and orderings in control blocks (the root,
 * branches of an If, condition and body of a While, functions).
 *
 * It knows nodes, orderings, instances of regions, counters and threads; it knows no tensor, no
 * primitive and no graph. A node's work is one call exec(ctx, instance, index, where). Who lowers a graph to it:
 * see lower.c. The builder is dataflow/build/build.c (structure), dataflow/build/order.c (reduction, ranks, numbering) and
 * dataflow/build/emit.c (the plan); the engine is dataflow/run/run.c on the crew of threading/loops/crew.h. */
#ifndef DTP_EXEC_DATAFLOW_DATAFLOW_H
#define DTP_EXEC_DATAFLOW_DATAFLOW_H

#include "common/base/arena.h"
#include "threading/base/parallel.h"

/* ---- What runs when ----------------------------------------------------------------------------------
 *
 * Regions and instances. A region is the root, a While (condition and body together) or a function; it consists of
 * control blocks ("block" from here on). An instance of a region is a header, one counter per node, one completion
 * counter per block, and a pointer to the caller's data (buffers) of that instance. Branches of an If live in the
 * instance of the region around them: they run at most once in it. A While has a ring of P+1 instances (P = window)
 * inside every instance of the region around it; iteration k lives in instance k mod (P+1). A call takes a frame
 * (an instance of the function, with its rings) from the caller's freelist and gives it back when the function has
 * ended.
 *
 * Counters. Each node has one: the number of arrivals that it still waits for.
 *     arrive(c):    if (load_acquire(c) == 1 || fetch_sub(c, 1, acq_rel) == 1) the node is ready
 * A ready node goes to the private LIFO of the thread that made it ready, or with it to a deque that others
 * steal from. Nodes with more than 255 predecessors get joins in front.
 *
 *   OP     exec; arrive at its successors
 *   PAD    nothing but arriving: landing pads (one per producer outside and branch: waits for the producer and
 *          for the branch's entry token, then fans out, so that a producer pays one arrival per skipped branch)
 *   IF     reads the predicate, sets the counters of the chosen branch, delivers one entry token to each node
 *          of it that has no producer inside it, then gives the guard of the branch's completion counter
 *   TEST   an If whose branches are the body of the While and the exit. True: arrive at the instance's gate (2 =
 *          test + window token), whose last arrival enters the body as an If enters a branch. False: marks the
 *          instance as exited, gives its share of the completion
 *   WHILE  sets up the P+1 instances (iterations 0..P, gates of the first P with their window token), calls enter,
 *          delivers the variables of iteration 0, then gives iteration 0 the token "previous iteration
 *          complete" as its last access to the ring
 *   EXIT   exec(exit_index) in the last iteration's instance, then arrives at the successors of the WHILE
 *   CALL   takes a frame, calls enter, starts the function's nodes without producers, gives the guard
 *   END    of an If, where something waits for the whole If; a PAD
 *
 * Variables. A While has L variables, edges from body nodes (NEXT edges) into the next instance. A NEXT edge
 * delivers at once to the consumers of the variable in instance (k+1) mod (P+1); a variable needs no counter. A
 * variable marked `at_end` (and the dummy of a While without any) is delivered when iteration k is complete.
 *
 * Completion. Each block has a completion counter. A node without successor in its own block is a counted
 * sink: it gives one token to the counter as its very last access to the instance.
 *   branch     1 (guard, from the IF) + sinks; at zero: one arrival at END if there is one, else one token to
 *              the block around
 *   iteration  1 (previous iteration complete) + condition sinks + 1 (body complete, or exit); at zero:
 *              exited: EXIT becomes ready in this instance. Else, in this order: set the instance's counters anew,
 *              number it k+P+1, arrive at GATE(k+P), deliver at_end variables of k+1, give the token to
 *              completion(k+1)
 *   function   1 (guard) + sinks; at zero: the frame goes back, then CALL's successors get their arrivals
 *   root       sinks; at zero the run is done
 *
 * Rules.
 *   (a) A node delivers to other blocks (upwards, into branches, NEXT) before it delivers to its own block:
 *       only the last kind keeps the instance from completing under its feet.
 *   (b) A sink's token comes last.
 *   (c) Completion is chained in the order of iterations: an instance is complete only after its predecessor, so
 *       window tokens always meet counters that are set, and a While ends only after all its iterations.
 *   (d) A While delivers when its last iteration is complete; thus what its nodes read from outside lives until
 *       then, and its ring is free after it.
 *   (e) Counters of a branch are set when it is chosen; what may arrive earlier (a pad, or the only consumer of
 *       a value from outside) has its counter among those of the block of its outermost producer.
 *
 * Threads. The thread that calls dtp_dataflow_run owns the run (slot 0) and starts alone: plain decrements,
 * nobody can look. When it has more ready than it runs itself and the surplus is worth it, it opens the crew;
 * from then on every arrival is atomic. Who may write what: an instance's counters of an If, WHILE, CALL or a
 * completed iteration are set by the one thread that executes that transition, ordered before everything that
 * can arrive there by the release of the arrival or of the task's publication; everything else in the run's
 * state is the worker's own or written in dataflow/run/run.c under the rule stated there.
 *
 * Arrivals together. A locked operation on a line that others write as often costs more than all else between
 * two short nodes. So in a flat region (one block, plain counters) of a shared run
 *   - a worker keeps the tokens of sinks, and gives them at once when it runs out of tasks, and before it takes
 *     up a task that is not plain or of another instance, looks at what is rare, or leaves. Nobody waits for
 *     them: its next task is in the same block, which is not complete before that;
 *   - the arrival of a node with one successor waits if the next task has that successor, too, and no other:
 *     the successor waits for that task anyway. That task is executed at once, by the same worker: nothing
 *     comes between (a look comes after the last one), and what is given away is the LIFO's other end.
 *   - where the root's nodes are short (DTP_DATAFLOW_LATER_NS on average), the arrivals of its nodes
 *     with several successors wait, DTP_DATAFLOW_LATER at most. Counters of neighbours share a line,
 *     which then comes once for several nodes. They are made where tokens are given, and as soon as
 *     a thread looks for tasks. Not in timed runs, whose nodes may take longer than is known.
 * One operation for n arrivals releases what all n nodes wrote, because one thread executed them all.
 *
 * Pending nodes. A node may be complete later than its exec returns (dataflow/run/pending.c): whoever met it goes on,
 * and whoever runs tasks of this run when it is back delivers it. A MAY_BLOCK node of a run on a pool with a blocking
 * crew is one: a thread of the crew calls exec (dataflow/run/blocking.c). An owner that has nothing else to do rests.
 *
 * Failure. The first error wins (one exchange; status and node). From then on nodes are not executed but
 * still arrive ("ghost walk": tests answer false, an IF takes branch 0, calls end at once), so all
 * counters drain and the state is as good as new for the next run. cancel and deadline are such errors,
 * looked at before each node (the clock only around costly ones and every 1024 nodes).
 *
 * What the caller of the builder guarantees.
 * - Orderings are acyclic, and name only tokens that exist in a block around (or the same).
 * - Whatever exec of a node reads was written by nodes ordered before it (or before the If, While or call
 * around).
 * - The token of an If's output is a node of that branch, or an output of an If or While in it; so an output
 * that is computed outside is copied by a gated node in the branch. A NEXT token likewise is a node of the
 * body.
 * - A predicate's memory is written before the If or test is ready and not changed before the branch has
 * ended.
 * - Two branches of one If may share memory. Instance k's body buffers are overwritten from the start of body
 * k+P+1 on, that is after iteration k+1 is complete. */

/* ---- Plan -------------------------------------------------------------------------------------------- */

typedef struct dtp_dataflow_plan dtp_dataflow_plan_t;
typedef struct dtp_dataflow_state dtp_dataflow_state_t;
typedef struct dtp_dataflow_region dtp_dataflow_region_t;

/* One instance of a region. The fields in front are for exec and enter; the rest belongs to the engine. */
typedef struct dtp_dataflow_instance {
    char *data;                       /* this instance's buffers */
    struct dtp_dataflow_instance *up; /* the instance around: of the WHILE node, or of the CALL; root: NULL */
    struct dtp_dataflow_instance
        *prev; /* previous instance of the ring (P = 1: both neighbours are one); else NULL */
    struct dtp_dataflow_instance *next; /* of the ring */
    uint64_t iteration;
    uint32_t number; /* of this one in its ring, 0..P */
    uint32_t depth;  /* calls around */
    uint32_t index;  /* of the WHILE or CALL, as given to the builder */
    /* Private. */
    uint32_t node; /* of the WHILE or CALL in `up` */
    const dtp_dataflow_region_t *region;
    uint32_t window, exited;
    _Atomic uint32_t gate; /* 2 = test + window token */
    void *frame;           /* what frame_take gave, for that of a function */
} dtp_dataflow_instance_t;

/* Where a predicate lies: base + offset, or, if indirect, *(char **)(base + offset) + inner. base: data of the
 * instance `level` regions further out (0 = own), or args.bases for level DTP_DATAFLOW_BASES. It says what dtp_is_true
 * says of its type; 0: that of a byte. */
enum { DTP_DATAFLOW_BASES = -1 };
typedef struct {
    int32_t level;
    bool indirect;
    uint8_t type; /* dnnl_tp_data_type_t */
    int64_t offset, inner;
} dtp_dataflow_ref_t;

/* ---- Builder -----------------------------------------------------------------------------------------
 *
 * A token names something that happens once per instance of its block. Building calls do not fail: the first
 * mistake or lack of memory is kept and returned by dtp_dataflow_build. */
typedef struct dtp_dataflow_builder dtp_dataflow_builder_t;
typedef int32_t dtp_dataflow_token_t;
typedef int32_t dtp_dataflow_block_t;

enum { DTP_DATAFLOW_ROOT = 0 }; /* the root's block */
enum {
    DTP_DATAFLOW_COSTLY = 1,      /* publish everything that is ready before it runs */
    DTP_DATAFLOW_WIDE = 2,        /* can use the pool's threads inside (implies COSTLY) */
    DTP_DATAFLOW_MAY_BLOCK = 4,   /* may sleep in foreign code (implies COSTLY); slot may be >= num_threads */
    DTP_DATAFLOW_SIDE_EFFECT = 8, /* with DTP_DATAFLOW_ORDERED: one after another, in the order of building */
    DTP_DATAFLOW_NOP = 16,        /* an ordering only: exec is not called */
    DTP_DATAFLOW_MAY_PEND = 32,   /* exec may return DTP_DATAFLOW_PENDING (implies COSTLY) */
    DTP_DATAFLOW_SPLITS = 64      /* as WIDE, where others have nothing else to do */
};
#define DTP_DATAFLOW_NO_INDEX UINT32_MAX

/* The builder's own memory is freed by destroy; the plan goes to the arena that dtp_dataflow_build gets. */
dtp_dataflow_builder_t *dtp_dataflow_builder_create(const dnnl_tp_allocator_t *allocator);
void dtp_dataflow_builder_destroy(dtp_dataflow_builder_t *builder); /* NULL is allowed */

/* About so many tokens and dependencies will come. */
void dtp_dataflow_expect(dtp_dataflow_builder_t *builder, int nodes, int dependencies);

/* A node: exec(ctx, instance, index, where). ns: estimated cost on one thread (0 = nothing worth sharing). */
dtp_dataflow_token_t dtp_dataflow_node(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                       uint32_t index, unsigned flags, double ns);
/* `later` starts when `earlier` has ended. later: a node, an If, While, call, or a While's test. earlier: any
 * token; one of a region further out holds back the While (or the call) around `later`. */
void dtp_dataflow_after(dtp_dataflow_builder_t *builder, dtp_dataflow_token_t later,
                        dtp_dataflow_token_t earlier);

typedef struct {
    dtp_dataflow_token_t
        token; /* as later: the choice; as earlier: everything in the chosen branch has ended */
    dtp_dataflow_block_t
        branch[2]; /* [0]: predicate false, [1]: true; nested Ifs and Whiles are made in them */
} dtp_dataflow_if_t;
dtp_dataflow_if_t dtp_dataflow_if(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                  const dtp_dataflow_ref_t *pred);
/* A token that comes with `on_false` (of branch 0) or `on_true` (of branch 1), whichever branch runs. */
dtp_dataflow_token_t dtp_dataflow_if_out(dtp_dataflow_builder_t *builder, dtp_dataflow_token_t if_token,
                                         dtp_dataflow_token_t on_false, dtp_dataflow_token_t on_true);

typedef struct {
    int nvars;      /* >= 0 */
    int window;     /* P >= 1 */
    uint32_t index; /* instance.index, for enter */
    uint32_t
        exit_index; /* exec'd in the last instance: copies the variables out; DTP_DATAFLOW_NO_INDEX = nothing */
    double exit_ns;
    dtp_dataflow_ref_t test; /* seen from an instance of the While */
    int64_t data_offset,
        data_stride; /* instance number s: data = data of the instance around + offset + s * stride */
} dtp_dataflow_loop_t;
typedef struct {
    dtp_dataflow_token_t
        token; /* as later: the start; as earlier: the variables are out, everything has ended */
    dtp_dataflow_token_t test; /* only as later: reads loop.test */
    dtp_dataflow_block_t cond, body;
    dtp_dataflow_token_t first_var; /* variable i = first_var + i; only as earlier */
} dtp_dataflow_while_t;
dtp_dataflow_while_t dtp_dataflow_while(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                        const dtp_dataflow_loop_t *loop);
/* Variable var of the next iteration comes with token (of the body). Without one it comes at the end of the
 * iteration. */
void dtp_dataflow_next(dtp_dataflow_builder_t *builder, dtp_dataflow_token_t while_token, int var,
                       dtp_dataflow_token_t token);

/* A function's block; calls may be anywhere, in itself too. The token of a call, as earlier: the function has
 * ended. */
dtp_dataflow_block_t dtp_dataflow_function(dtp_dataflow_builder_t *builder);
dtp_dataflow_token_t dtp_dataflow_call(dtp_dataflow_builder_t *builder, dtp_dataflow_block_t block,
                                       dtp_dataflow_block_t function, uint32_t index);

enum {
    DTP_DATAFLOW_ORDERED = 1, /* SIDE_EFFECT nodes one after another */
    DTP_DATAFLOW_LEARN =
        2 /* costs of nodes are guesses: states learn them from their runs (dataflow/run/learn.c) */
};
/* Errors: invalid_arguments with a text (a cycle, a token that does not exist there), out_of_memory,
 * unimplemented (more than 4M nodes in one region). */
dnnl_tp_status_t dtp_dataflow_build(dtp_dataflow_builder_t *builder, unsigned flags, dtp_arena_t *arena,
                                    const dtp_dataflow_plan_t **plan);

/* Gives the indices 0 .. n - 1 that nodes were built with new numbers, in the order in which one thread would
 * execute them, about: number[old] = new. Then exec gets the new ones; those of Whiles and calls stay. */
void dtp_dataflow_renumber(const dtp_dataflow_plan_t *plan, uint32_t n, uint32_t *number);

/* ---- Running ----------------------------------------------------------------------------------------- */

typedef struct {
    int slot;                  /* of the thread in this run: 0..num_threads-1, never two at once */
    bool whole;                /* a WIDE node that has all of the pool and the scratch for it */
    const dtp_parallel_t *par; /* whole: the run's; else the thread alone */
    uint64_t task;             /* of a node that may be pending: for dtp_dataflow_return */
} dtp_dataflow_where_t;

/* Of exec: the node is not complete. Somebody calls dtp_dataflow_return, once: later, or already, before exec has
 * returned; by then exec no longer uses what the node reads and writes. */
#define DTP_DATAFLOW_PENDING ((dnnl_tp_status_t)0x7fff)
/* Not success: the run fails with that status (the first one counts). */
typedef dnnl_tp_status_t (*dtp_dataflow_exec_t)(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                                const dtp_dataflow_where_t *where);
/* An instance begins: ring instance 0 for iterations 0 and P+1 (what differs between the first round and all
 * others: where the variables lie), and a function's frame. Nothing of the instance runs yet. */
typedef void (*dtp_dataflow_enter_t)(void *ctx, dtp_dataflow_instance_t *instance);

typedef struct {
    void *ctx;
    dtp_dataflow_exec_t exec;
    dtp_dataflow_enter_t enter; /* NULL: nothing to do */
    /* Frames of functions; function: its block. NULL from take: the run fails with out_of_memory. *instance: as
     * dtp_dataflow_frame_init returned it. Memory that was a frame of one function never becomes one of another
     * while the run lasts. */
    void *(*frame_take)(void *ctx, dtp_dataflow_block_t function, dtp_dataflow_instance_t **instance);
    void (*frame_give)(void *ctx, dtp_dataflow_block_t function, void *frame);
    uint32_t max_depth; /* of calls; beyond: runtime_error with DTP_DATAFLOW_TOO_DEEP in the result */
    const char *items;  /* NULL, or items + index * item_bytes is what exec reads first */
    size_t item_bytes;
    const void *bases;              /* of refs with level DTP_DATAFLOW_BASES */
    const dtp_parallel_t *par;      /* threads; num_threads 1: this thread alone */
    const _Atomic uint32_t *cancel; /* not 0: cancelled; NULL: never */
    int64_t deadline_ns;            /* CLOCK_MONOTONIC, 0: none */
    /* dtp_share_here of other threads' work in this run. With nodes that may be pending: its sleeper is woken when
     * one comes back. */
    const dtp_share_t *share;
    /* The run is over and nodes are away: those for whose return nobody has to wait are to be returned. Called by
     * who is in dtp_dataflow_go, maybe more than once; NULL: there are none. */
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
    int why;        /* if status is not success: DTP_DATAFLOW_* */
    uint32_t index; /* node or call that failed, or DTP_DATAFLOW_NO_INDEX */
    uint64_t shared, stolen, invited,
        parked; /* of all threads: tasks given to others and taken, calls for help */
} dtp_dataflow_result_t;

/* State of one run at a time, made once and used again: bytes, aligned to DTP_NO_SHARE, for at most
 * num_threads. init links all instances below data (the root's buffers); state and data must stay where they are.
 * NULL (unimplemented, last error set): memory beyond 48 bits of address, which no system gives unasked. */
size_t dtp_dataflow_state_bytes(const dtp_dataflow_plan_t *plan, int num_threads);
dtp_dataflow_state_t *dtp_dataflow_state_init(const dtp_dataflow_plan_t *plan, int num_threads, void *memory,
                                              char *data);
/* The next runs have the root's buffers at data; only for programs without loops. */
void dtp_dataflow_state_move(dtp_dataflow_state_t *state, char *data);
/* The same for a frame of a function. */
size_t dtp_dataflow_frame_bytes(const dtp_dataflow_plan_t *plan, dtp_dataflow_block_t function);
dtp_dataflow_instance_t *dtp_dataflow_frame_init(const dtp_dataflow_plan_t *plan,
                                                 dtp_dataflow_block_t function, void *memory, char *data);

/* Runs the program; returns when everything has ended. Allocates nothing. With more than one thread it must
 * be called inside dtp_pool_run (par is what that gave). */
dnnl_tp_status_t dtp_dataflow_run(const dtp_dataflow_plan_t *plan, dtp_dataflow_state_t *state,
                                  const dtp_dataflow_args_t *args, dtp_dataflow_result_t *result);
/* The same in parts, for programs with nodes that may be pending: begin; go until it says true, by one thread at a
 * time, which may be another one every time, with the par that it has then; end. False: everything left waits for
 * nodes that are away, and go should be called again when the sleeper of args.share was woken. args.ctx lives until
 * the end. */
void dtp_dataflow_begin(const dtp_dataflow_plan_t *plan, dtp_dataflow_state_t *state,
                        const dtp_dataflow_args_t *args);
bool dtp_dataflow_go(dtp_dataflow_state_t *state, const dtp_parallel_t *par);
dnnl_tp_status_t dtp_dataflow_end(dtp_dataflow_state_t *state, dtp_dataflow_result_t *result);
/* A pending node is complete; with another status than success the run fails. From any thread; touches the run no
 * more when the last node that was away is back. */
void dtp_dataflow_return(dtp_dataflow_state_t *state, uint64_t task, dnnl_tp_status_t status);
/* What the runs of this state have shown (DTP_DATAFLOW_LEARN; else false): the nodes are so cheap, or depend on
 * each other so much, that one after another on one thread they take less time. note_order: the next run was
 * done so and took ns; after some of them, or when one took much longer than others, prefers_order is false
 * again and dtp_dataflow_run looks anew. By the owner of the state, outside runs. */
bool dtp_dataflow_prefers_order(const dtp_dataflow_state_t *state);
void dtp_dataflow_note_order(dtp_dataflow_state_t *state, int64_t ns);
/* Has the run that this state is in failed? For long-running exec; may be stale. */
bool dtp_dataflow_failed(const dtp_dataflow_state_t *state);

#endif
