/* A compiled graph, ready to run, and its pooled runs.
 *
 * Immutable after compilation but for the freelist of run objects. Written by compile.c and plan.c, read by
 * run.c. */
#ifndef DTP_EXEC_EXECUTABLE_H
#define DTP_EXEC_EXECUTABLE_H

#include "common/primitive_desc.h"
#include "exec/graph.h"
#include "threading/pool.h"

/* Bases that pointers count from. Inputs follow from DTP_BASE_ARGS on, then outputs. */
enum { DTP_BASE_ABSOLUTE, DTP_BASE_SLAB, DTP_BASE_LOCAL, DTP_BASE_ARGS };
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

typedef struct {
    const char *name; /* of the operator, for traces and errors */
    const char *kind;
    const dtp_primitive_t *prim[2]; /* retained; [1]: for slices one unit smaller, NULL = rows are passed */
    const dtp_gnode_t *host;
    const dnnl_tp_tensor_info_t *host_info;
    size_t copy_bytes;
    int nrefs;
    const dtp_ref_t *refs;
    int unit; /* DTP_UNIT_* of the rows that are passed; NONE: all */
    int64_t rows_per_unit;
    double ns; /* estimate on one thread */
} dtp_exec_step_t;

/* A run of steps executed slice by slice; see segment.c. */
typedef struct {
    int first_step, nsteps;
    int ngroups;
    const int *groups; /* ngroups + 1 step numbers: within a group all steps of a slice run back to back */
    int offsets_ref;   /* index into dtp_exec.offsets, -1: slices are fixed */
    int64_t units;     /* rows or batch entries; packed: rows at most */
    int64_t seqs;      /* packed: number of sequences */
    int64_t rows_per_unit; /* fixed slices: leading rows of one unit */
    int nslices;           /* fixed slices: the first `larger` have slice + 1 units */
    int64_t slice, larger;
    int64_t capacity;      /* units that a participant's local buffers hold */
    double ns;             /* estimate of the whole on one thread */
    size_t local_per_unit; /* packed: bytes of local buffers per unit of capacity */
} dtp_segment_t;

typedef enum { DTP_STAGE_STEP, DTP_STAGE_SEGMENT, DTP_STAGE_DAG } dtp_stage_kind_t;
typedef struct {
    dtp_stage_kind_t kind;
    int index; /* step, segment or dag */
} dtp_stage_t;

/* Steps that may run beside each other; see dag.c. */
typedef struct {
    int first_step, nsteps;
    const uint16_t *indegree; /* per step of the range */
    const int *succ_at;       /* nsteps + 1 */
    const int *succ;          /* relative step numbers */
    const uint8_t *wide;      /* costly and able to use all threads inside */
} dtp_dag_t;
/* Of a run's counters, in front of two for each step: the stacks and what changes with them. */
enum { DTP_DAG_HEAD_INTS = 16 };

typedef struct dtp_run {
    uint32_t next; /* freelist: index + 1 of the next free run */
    uint32_t index;
    void **bases;
    int64_t *bounds; /* packed segments: slice boundaries, row then sequence, nslices + 1 pairs */
    _Atomic int *counters;
    char *slab;
} dtp_run_t;

enum { DTP_MAX_RUNS = 1024 };

struct dnnl_tp_executable {
    dtp_object_t obj;
    dtp_graph_t *graph;      /* retained: constants */
    dnnl_tp_engine_t engine; /* retained */
    dtp_arena_t arena;
    int nvalues;
    const dnnl_tp_tensor_info_t *infos; /* of the graph's values */
    int num_threads;
    int nin, nout, nstages, nsteps, nsegments, ndags;
    const uint8_t *in_used, *out_used; /* pointers that must not be NULL */
    const dtp_stage_t *stages;
    const dtp_exec_step_t *steps;
    const dtp_segment_t *segments;
    const dtp_dag_t *dags;
    const dtp_ref_t *offsets; /* of sequence offsets, checked at each run */
    const int64_t *offsets_seqs, *offsets_rows;
    const char *const *offsets_name;
    int noffsets;
    int max_slices, ncounters;
    /* Slab: buffers, scratch of whole steps, then for each slot local buffers and scratch. */
    size_t slab_bytes, scratch_at, slots_at, slot_bytes, slot_scratch_at, slot_scratch_bytes;
    size_t local_total; /* bytes that all slots' local buffers take together */
    double ns;          /* estimate of a run on one thread */

    _Alignas(DTP_NO_SHARE) _Atomic uint64_t free_runs; /* tag << 32 | index + 1; 0 in the low half = none */
    _Alignas(DTP_NO_SHARE) _Atomic uint32_t nruns;
    dtp_run_t *_Atomic runs[DTP_MAX_RUNS];
};
typedef struct dnnl_tp_executable dtp_exec_t;

/* Run objects (run_pool.c). take allocates only when no free one is left. */
dnnl_tp_status_t dtp_run_take(dtp_exec_t *exec, dtp_run_t **run);
void dtp_run_give(dtp_exec_t *exec, dtp_run_t *run);
dnnl_tp_status_t dtp_run_make(dtp_exec_t *exec, dtp_run_t **run);
void dtp_run_free_all(dtp_exec_t *exec);

/* Lays out memory and writes the executable's steps (plan.c). */
struct dtp_lower;
dnnl_tp_status_t dtp_plan(dtp_exec_t *exec, struct dtp_lower *lower, size_t memory_budget);

#endif
