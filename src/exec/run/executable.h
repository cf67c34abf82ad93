/* A compiled graph, ready to run, and its pooled runs.
 *
 * Immutable after compilation but for the freelist of run objects. Written by compile.c and plan.c, read by
 * run.c. */
#ifndef DTP_EXEC_RUN_EXECUTABLE_H
#define DTP_EXEC_RUN_EXECUTABLE_H

#include "common/primitive/primitive_desc.h"
#include "exec/dataflow/dataflow.h"
#include "exec/graph/graph.h"
#include "exec/run/table.h"
#include "threading/base/futex.h"
#include "threading/pools/pool.h"

/* Bases that pointers count from, in an array of the run: inputs follow from DTP_BASE_ARGS on, then outputs.
 * An iteration of a loop and a call have an array of their own at the begin of their memory: variables (or
 * parameters and results) follow from DTP_BASE_VARS on, then copies of outer bases that they use. */
enum { DTP_BASE_ABSOLUTE, DTP_BASE_INSTANCE, DTP_BASE_LOCAL, DTP_BASE_ARGS };
enum {
    DTP_BASE_FRESH =
        DTP_BASE_LOCAL,            /* not NULL: the pointers are those of the loop's first round, or unset */
    DTP_BASE_NEXT = DTP_BASE_ARGS, /* bases of the next instance of the ring */
    DTP_BASE_UP,                   /* bases of the scope around */
    DTP_BASE_ROUND, /* loops: number of the iteration; the dataflow engine writes it for traces only */
    DTP_BASE_VARS
};
/* What the units of a slice are. */
enum { DTP_UNIT_NONE, DTP_UNIT_ROW, DTP_UNIT_SEQ, DTP_UNIT_KINDS };

/* Pointer = base + offset + capacity * per_capacity + first unit of the slice * advance. */
typedef struct {
    int32_t base;
    int32_t unit; /* DTP_UNIT_* that advance counts */
    int64_t offset;
    int64_t per_capacity;
    int64_t advance;
} dtp_ref_t;

/* What steps but closures have. */
typedef struct {
    const dtp_primitive_t *prim[2]; /* retained; [1]: for slices one unit smaller, NULL = rows are passed */
    size_t copy_bytes;
    const dtp_ref_t *refs;
    int nrefs;
    int unit; /* DTP_UNIT_* of the rows that are passed; NONE: all */
    int64_t rows_per_unit;
    int pred_type;       /* predicates: type */
    const size_t *sizes; /* end of a loop: bytes of each variable, 0 = nobody needs it */
    /* For traces: operators that it does as well ("a + b", or NULL); all its work; units of a slice in all. */
    const char *fused;
    double flops, bytes;
    int64_t units;
} dtp_exec_work_t;

typedef struct {
    const char *name; /* of the operator, for traces and errors; the graph's, as kind */
    const char *kind;
    const dtp_exec_work_t *work; /* never NULL */
    int scope;                   /* of the loop or function that begins here, else its own */
    int nafter; /* steps that write what it reads, the last writer of each buffer in the program's text */
    const int32_t *after;
} dtp_exec_step_t;

/* An argument of a host closure. */
typedef struct {
    int64_t offset;
    int32_t base;
    int32_t value; /* of infos */
} dtp_host_ref_t;

enum {
    DTP_SLICE_ROWS = 128,   /* a slice's activations fit the second-level cache */
    DTP_MIN_SLICE_ROWS = 48 /* below it weights are re-read too often for one row's work */
};

/* A run of steps executed slice by slice; see slice_groups.c. */
typedef struct {
    int first_step, nsteps;
    int nsections;
    const int
        *sections;   /* nsections + 1 step numbers: within a section all steps of a slice run back to back */
    int offsets_ref; /* index into offsets of the executable, -1: slices are fixed */
    int64_t units;   /* rows or batch entries; packed: rows at most */
    int64_t seqs;    /* packed: number of sequences */
    int nslices;     /* fixed slices: the first `larger` have slice + 1 units */
    int64_t slice, larger;
    int64_t capacity; /* units that a participant's local buffers hold */
    double ns;        /* estimate of the whole on one thread */
} dtp_slice_group_t;

/* Offsets of sequences, checked at each run. */
typedef struct {
    dtp_ref_t ref;
    int64_t seqs, rows; /* rows: of the shortest tensor that they cut */
    const char *name;   /* of the operator */
} dtp_exec_offsets_t;

/* What is done at once: by the sequential interpreter (interpreter.c), which goes from stage to stage, and by a
 * node of the dataflow engine. */
typedef enum {
    DTP_STAGE_STEP,
    DTP_STAGE_SLICE_GROUP,
    DTP_STAGE_IF,   /* false: goes to other */
    DTP_STAGE_JUMP, /* to other */
    DTP_STAGE_WHILE,
    DTP_STAGE_TEST, /* false: goes to other, the exit */
    DTP_STAGE_NEXT, /* goes to other, the first stage of the condition */
    DTP_STAGE_EXIT,
    DTP_STAGE_CALL, /* goes to other and comes back */
    DTP_STAGE_END,  /* of the run or of a call */
    DTP_STAGE_RANGE /* nodes only: stages index .. other - 1 */
} dtp_stage_kind_t;
typedef struct {
    dnnl_tp_host_fn_t
        fn; /* of a closure, whose call touches nothing else; NULL: the kind says what is done */
    union {
        struct {
            void *arg;
            const dtp_host_ref_t *refs; /* inputs, then results */
            int32_t step;
            uint8_t nin, nout;
            bool may_wait;
        };
        struct {
            dtp_stage_kind_t kind;
            int index; /* step, slice group or stage */
            int other; /* a stage */
        };
    };
} dtp_stage_t;

/* Where buffers live together: the root, an iteration of a loop, a call of a function. */
typedef struct {
    int parent; /* -1: root and functions */
    bool is_function, by_counters;
    dtp_dataflow_block_t block; /* functions by counters */
    int nvars, ncaptures, cap_captures;
    int32_t *captures;     /* numbers of bases of the scope around */
    int window, instances; /* loops */
    int64_t ring;          /* loops: in the instance of the scope around */
    size_t bytes;          /* of one instance */
    size_t heads_at; /* by stream: of a loop's two arrays of bases, in those of the run or call around it */
    size_t heads_bytes; /* by stream: of all arrays of the root, or of a function and of the loops in it */
    const dtp_ref_t *init, *next; /* loops: pointers of the first iteration (around it), of all others (in the
                                     instance before) */
} dtp_scope_t;
/* Bytes of the array of bases. */
static inline size_t dtp_scope_head(const dtp_scope_t *s) {
    return dtp_round_up_size(sizeof(void *) * (size_t)(DTP_BASE_VARS + s->nvars + s->ncaptures),
                             DTP_CACHE_LINE);
}

/* Instance of a call, pooled; by stream kept by the run object, for the next call on its stream. */
typedef struct dtp_frame {
    uint32_t next, index;     /* freelist */
    struct dtp_frame *caller; /* by stream, while it is free: the next free one */
    void **caller_bases;
    int return_to; /* stage */
    int depth;
    int scope;
    dtp_dataflow_instance_t *instance; /* NULL: its function does not run by counters */
    char *data;
    char *heads; /* by stream: its bases, and those of the loops in it; data is the engine's */
} dtp_frame_t;
typedef struct {
    _Alignas(DTP_NO_SHARE) _Atomic uint64_t free; /* tag << 32 | index + 1 */
    _Alignas(DTP_NO_SHARE) dtp_table_t all;
} dtp_frames_t;

/* What a run by a stream copies to the host. */
typedef struct {
    dtp_data_error_t found; /* the error word */
    uint64_t predicate;
} dtp_stream_words_t;
_Static_assert(sizeof(dtp_stream_words_t) <= DTP_ENGINE_WORD, "they are a word of the engine");

typedef struct dtp_run {
    uint32_t next; /* freelist: index + 1 of the next free run */
    uint32_t index;
    void **bases;
    int64_t *bounds; /* packed slice groups: slice boundaries, row then sequence, nslices + 1 pairs */
    dtp_dataflow_state_t *dataflow; /* NULL without a plan for it */
    char *memory;
    bool shares_memory;     /* takes a block of the store for each run */
    dtp_run_block_t *block; /* NULL between runs */
    /* By stream: memory is the engine's. */
    char *heads;               /* bases of loops */
    dtp_frame_t **frames;      /* by function: free ones */
    dtp_stream_words_t *words; /* the engine's, or its own */
    dtp_stream_words_t own_words;
    struct dtp_stream_times *times; /* of steps, if a run was watched */
} dtp_run_t;

enum { DTP_MAX_RESERVED_RUNS = 65536 }; /* runs at once have no limit but memory */

/* An input of which the values are part of the program. */
typedef struct {
    int input;
    size_t bytes;
    const void *data;
} dtp_exec_value_t;

struct dnnl_tp_executable {
    dtp_object_t obj;
    dtp_graph_t *graph;      /* retained: constants */
    dnnl_tp_engine_t engine; /* retained */
    uint64_t device;         /* its */
    dtp_arena_t arena;
    int nvalues;
    const dnnl_tp_tensor_info_t *const *infos; /* of the graph's values; many are the graph's own */
    int num_threads;
    int nin, nout, nstages, nsteps, nslice_groups;
    const size_t *in_bytes, *out_bytes; /* of tensors; 0: the pointer is not used */
    int nvalues_in;
    const dtp_exec_value_t *values_in;
    struct dtp_zones *zones; /* zones.h: NULL but in tests of memory */
    void *_Atomic extents;   /* memory to sort many outputs, between runs (args.c) */
    const dtp_stage_t *stages;
    const dtp_exec_step_t *steps;
    const dtp_slice_group_t *slice_groups;
    int nscopes;
    dtp_scope_t *scopes;  /* written by compilation */
    dtp_frames_t *frames; /* by scope; NULL without functions */
    const dtp_exec_offsets_t *offsets;
    int noffsets;
    int max_slices;
    bool by_stream;                      /* the host only submits: by_stream.c */
    bool checks_data;                    /* by stream: some kernel may find something (data_error.h) */
    size_t error_at;                     /* of the error word, in the memory of a run */
    bool by_counters, always_dataflow;   /* with any number of threads */
    bool has_primitives;                 /* some step has */
    bool may_pend;                       /* has closures that may block or wait: always by dataflow */
    bool may_wait;                       /* has such as may wait */
    const dtp_dataflow_plan_t *dataflow; /* NULL: the interpreter runs everything */
    const dtp_stage_t *items;            /* what its nodes do, in their order */
    /* Memory of a run: buffers, scratch of whole steps, then for each slot local buffers and scratch. */
    size_t memory_bytes, scratch_at, slots_at, slot_bytes, slot_scratch_at, slot_scratch_bytes;
    size_t local_total; /* bytes that all slots' local buffers take together */
    /* Intermediates of the root scope: as they are placed, side by side, and at most at once. */
    size_t placed_bytes, sum_bytes, least_bytes;
    /* For nodes that have one thread: per slot scratch, local buffers, bounds. */
    size_t dataflow_at, dataflow_slot_bytes, dataflow_local_at, dataflow_bounds_at;
    double ns;         /* estimate of a run on one thread */
    int64_t passes_ns; /* the same where runs may pass others: no closures, nothing repeated; else 0 */

    void **own; /* allocations of constants that belong to no other executable */
    int nown;
    bool may_share_memory, shares_memory; /* run objects may take, take blocks of the store */
    /* Free run objects with memory of their own, and without: tag << 32 | index + 1; 0 in the low half = none.
     */
    struct {
        _Alignas(DTP_NO_SHARE) _Atomic uint64_t head;
    } free_runs[2];
    _Alignas(DTP_NO_SHARE) dtp_table_t runs; /* all run objects */
    _Atomic uint32_t nowners;                /* of them with memory of their own */
    dtp_lock_t async_lock;
    struct dtp_async_run *async_free; /* under async_lock; async.c */
};
typedef struct dnnl_tp_executable dtp_exec_t;

/* Run objects (run_object.c). take allocates only when no free one is left. */
dnnl_tp_status_t dtp_run_take(dtp_exec_t *exec, dtp_run_t **run);
void dtp_run_give(dtp_exec_t *exec, dtp_run_t *run);
/* Run objects of the executable's own for so many runs at once. 0: what runs one after another need, with
 * memory that other executables of the graph may use too. */
dnnl_tp_status_t dtp_run_reserve(dtp_exec_t *exec, int runs);
void dtp_run_free_all(dtp_exec_t *exec);
void dtp_async_free_all(dtp_exec_t *exec);                  /* async.c */
void dtp_stream_run_free(dtp_exec_t *exec, dtp_run_t *run); /* by_stream.c */

/* Frames of calls (frames.c). take allocates only when no free one is left; NULL: no memory. */
dnnl_tp_status_t dtp_frames_init(dtp_exec_t *exec);
dtp_frame_t *dtp_frame_take(dtp_exec_t *exec, int scope);
void dtp_frame_give(dtp_exec_t *exec, int scope, dtp_frame_t *frame);
dnnl_tp_status_t dtp_frames_reserve(dtp_exec_t *exec, int runs);
void dtp_frames_free_all(dtp_exec_t *exec);

#endif
