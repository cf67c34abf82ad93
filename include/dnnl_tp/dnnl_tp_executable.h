/** @file
 * Compiling graphs for given shapes, and running them on a stream.
 *
 * Executables are immutable; many threads may run one executable at the same time. dnnl_tp_graph.h
 * builds graphs. */
#ifndef DNNL_TP_EXECUTABLE_H
#define DNNL_TP_EXECUTABLE_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Compiling ------------------------------------------------------------------------------- */

/** Options of compilation; zeroed members mean defaults. The library also accepts the structs of
 * older headers, which end with flags or with in_values. */
typedef struct {
    /** sizeof(dnnl_tp_compile_opts_t) */
    size_t struct_size;
    const_dnnl_tp_stream_attr_t
        /** Attributes with the pool that will run the executable; compilation plans for its thread
         * count. */
        stream_attr;
    /** Limit of the memory of intermediates in bytes; 0 = no limit. */
    size_t memory_budget;
    /** 1: nodes with side effects run in graph order. */
    int deterministic;
    /** Number of run objects that compilation creates, so that as many concurrent runs allocate
     * nothing. 0 = one run object; while it is idle, runs of other executables of the graph may use
     * its memory. */
    int reserved_runs;
    /** DNNL_TP_COMPILE_* */
    unsigned flags;
    /** Values of the inputs that determine shapes (as for dnnl_tp_op_reshape), in the order of the
     * inputs: at most 64 integers or booleans each, NULL for all other inputs. NULL = no values are
     * known. The executable is valid for these values only: a run passes the same values, or NULL.
     */
    const void *const *in_values;
    /** strict (0): f32 stays f32. bf16: f32 values between operators and constant weights may be
     * stored in bf16. Sums, statistics, and values that make decisions (positions, comparisons)
     * stay f32; inputs and outputs keep their types. Products of bf16 use bf16 instructions if
     * dnnl_tp_get_effective_cpu_isa() is dnnl_tp_cpu_isa_avx512_core_bf16, and f32 instructions
     * otherwise. tf32: on GPUs, f32 products and attention may round their factors to tf32; CPUs
     * compute as with strict. Other modes are refused. */
    dnnl_tp_fpmath_mode_t fpmath_mode;
} dnnl_tp_compile_opts_t;

#define DNNL_TP_COMPILE_NO_FUSION 1u /**< No operators are fused: a reference for tests. */
/** Every operator is scheduled separately, none in a fixed sequence: for measurements. */
#define DNNL_TP_COMPILE_NO_CLUSTERS 2u
/** Compilation fails with unimplemented if only a reference implementation serves an operator. A
 * reference is 10 to 1000 times slower than an optimized implementation. */
#define DNNL_TP_COMPILE_REFUSE_REFERENCE 4u

/** Compiles a graph for the shapes of its inputs: infers shapes, folds constants, fuses operators,
 * chooses primitives and layouts, packs weights (once for all executables of the graph) and plans
 * memory. On success the graph becomes immutable. Several threads may compile one graph at the same
 * time. Thread-safe.
 *
 * @param[out] executable owned by the caller; NULL on failure
 * @param graph kept alive by the executable
 * @param engine the engine that runs all operators (a graph names no engine); kept alive by the
 *     executable. Runs take streams of this engine, or of another engine of the same device
 * @param nin number of entries of in_shapes
 * @param in_shapes shapes of all inputs in order of their creation; NULL = the declared shapes
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_graph (nothing to compute, a region that no operator took, a function
 *     that lacks an output); invalid_shape (a shape is not known or depends on values that are not
 *     known, does not fit the declared shape, or an operator refuses it); invalid_data_type (a type
 *     does not fit the declared type, or an operator refuses it); invalid_arguments (another number
 *     of inputs, struct_size, in_values that are not integers or too many); unimplemented (no
 *     primitive serves an operator, or the engine cannot run closures; the error text names the
 *     operator); out_of_memory (also: the plan exceeds the budget). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_compile(dnnl_tp_executable_t *executable,
                                                            const_dnnl_tp_graph_t graph,
                                                            dnnl_tp_engine_t engine, int nin,
                                                            const dnnl_tp_tensor_info_t *in_shapes,
                                                            const dnnl_tp_compile_opts_t *opts);

/** Gives the shape and type of a value in the executable. Thread-safe.
 *
 * @param executable an executable
 * @param value of its graph
 * @param[out] info shape and type, without run-time dimensions
 * @return success; invalid_arguments (not a value of the graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_query(const_dnnl_tp_executable_t executable,
                                                          dnnl_tp_value_t value,
                                                          dnnl_tp_tensor_info_t *info);

/** Memory of one run in bytes, as compilation planned it, without constants and without the
 * callers' tensors. */
typedef struct {
    /** sizeof(dnnl_tp_executable_memory_t), set by the caller */
    size_t struct_size;
    /** All memory of a run: intermediates, scratch of primitives, memory of threads. */
    size_t run;
    /** Memory of the intermediates of the graph, which use the same bytes in turn; loops and slices
     * included. */
    size_t peak;
    /** Sum of the sizes of these intermediates. */
    size_t sum;
    /** Largest sum of the intermediates that are alive at the same time, which no plan can
     * undercut. */
    size_t least;
} dnnl_tp_executable_memory_t;

/** Tells how much memory a run takes. Thread-safe.
 *
 * @param executable an executable
 * @param[in,out] memory struct_size set by the caller
 * @return success; invalid_arguments (struct_size). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_memory(const_dnnl_tp_executable_t executable,
                                                           dnnl_tp_executable_memory_t *memory);

/** Creates run objects, so that as many concurrent runs allocate nothing, independently of other
 * executables of the graph. More runs may be concurrent, limited by memory only. Thread-safe.
 *
 * @param executable an executable
 * @param runs number of concurrent runs, 1..65536
 * @return success; invalid_arguments (runs is out of range); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_reserve(dnnl_tp_executable_t executable,
                                                            int runs);

/** Drops the caller's handle. Runs in progress go on to their end. Thread-safe.
 *
 * @param executable NULL or an executable
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_executable_destroy(dnnl_tp_executable_t executable);

/* ---- Running --------------------------------------------------------------------------------- */

/** One traced node of a run. Times are CLOCK_MONOTONIC nanoseconds. */
typedef struct {
    /** Name of the node; valid as long as the executable. */
    const char *name;
    /** Number of the thread that ran it; 0 = the run's first thread. */
    int thread;
    /** When it began. */
    int64_t begin_ns;
    /** When it ended. */
    int64_t end_ns;
} dnnl_tp_trace_event_t;

/** Statistics that a run writes on request. */
typedef struct {
    /** sizeof(dnnl_tp_run_stats_t) */
    size_t struct_size;
    /** Array of the caller, or NULL. */
    dnnl_tp_trace_event_t *events;
    /** Number of elements of events. */
    int max_events;
    /** Out: number of events; those beyond max_events are not stored. */
    int num_events;
    /** Out: number of threads that took part, also in loops; 0: the run never began. */
    int num_participants;
} dnnl_tp_run_stats_t;

/** A token that ends runs; many runs may share one. */
typedef struct dnnl_tp_cancel *dnnl_tp_cancel_t;

/** Creates a token. Thread-safe.
 *
 * @param[out] cancel owned by the caller; NULL on failure
 * @return success; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cancel_create(dnnl_tp_cancel_t *cancel);

/** Makes all runs with this token, present and future ones, end with cancelled. A run ends as soon
 * as the pieces of work that have begun are done, after about a millisecond; this call does not
 * wait for it. Asynchronous runs end in their turn, after the earlier items of their stream. This
 * call itself may end runs that have not begun, and then calls the callbacks of their events.
 * Thread-safe.
 *
 * @param cancel a token
 * @return success, also for a token that was fired before. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cancel_fire(dnnl_tp_cancel_t cancel);

/** Drops the caller's handle. Runs in progress keep the token alive. Thread-safe.
 *
 * @param cancel NULL or a token
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_cancel_destroy(dnnl_tp_cancel_t cancel);

/** Options of a run; zeroed members mean defaults. The library also accepts the structs of older
 * headers, which end with stats or with max_depth. */
typedef struct {
    /** sizeof(dnnl_tp_run_opts_t) */
    size_t struct_size;
    /** Limit of the threads of this run; 0 = the stream's limit. */
    int max_threads;
    /** Must be 0. */
    unsigned flags;
    /** Written by the run; NULL = no statistics. */
    dnnl_tp_run_stats_t *stats;
    /** Time at which the run ends with deadline_exceeded, in nanoseconds of CLOCK_MONOTONIC; 0 =
     * never. */
    int64_t deadline_ns;
    /** Token that ends the run when it is fired; NULL = none. */
    dnnl_tp_cancel_t cancel;
    /** Priority among runs and items that wait for a thread of the pool: the largest is served
     * first; 0 = the stream's priority. */
    int priority;
    /** Largest depth of nested calls of functions; 0 = 4096. */
    int max_depth;
    /** Trace that records the run (dnnl_tp_trace.h); NULL = the stream's trace, if it has one. */
    dnnl_tp_trace_t trace;
} dnnl_tp_run_opts_t;

/** Runs a compiled graph and waits for the end of the run. In steady state it allocates nothing.
 * Many threads may run one executable at the same time, on streams of their own or on one stream:
 * on a synchronous stream the runs are concurrent; on an asynchronous stream a run follows all work
 * submitted before the call, and precedes all work submitted after the call. One executable can
 * have at most 1024 runs at the same time, submitted runs included; further runs are refused with
 * out_of_memory. Thread-safe.
 *
 * @param executable an executable
 * @param stream a stream of the executable's device; its pool computes, or the device if that has
 *     memory of its own
 * @param nin number of inputs of the graph
 * @param in data of the inputs in order of their creation, dense row-major; owned by the caller
 * @param nout number of outputs of the graph
 * @param[out] out memory for the outputs in order of their creation, dense row-major; owned by the
 *     caller, in the memory of the engine like the inputs; the last operators write it directly, so
 *     it is undefined if the run fails; must not overlap an input or another output
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_arguments (a number of tensors, a NULL tensor, outputs that overlap, a
 *     stream of another device, or one that another thread is destroying or changing, sequence
 *     offsets that attention does not allow, struct_size); the status that a host closure returned;
 *     cancelled; deadline_exceeded; out_of_memory; runtime_error (the pool failed, an index is
 *     outside its table, calls nest too deeply); would_deadlock; unimplemented (statistics or a
 *     trace on an engine whose streams record no times). The run reports its first failure, not the
 *     failures that follow from it. The error text names the operator that failed; the executable
 *     stays usable. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_run(const_dnnl_tp_executable_t executable,
                                                        dnnl_tp_stream_t stream, int nin,
                                                        void *const *in, int nout, void *const *out,
                                                        const dnnl_tp_run_opts_t *opts);

/** Submits a run of a compiled graph to a stream and returns. The run itself follows the rules of
 * dnnl_tp_executable_run(). It is an item of the stream: it begins when all earlier items are done;
 * if it fails, is cancelled or misses its deadline, the stream skips later items until
 * dnnl_tp_stream_reset(). With a host's run_end the run is over when the host has called done. On a
 * synchronous stream the run is over when the call returns. Thread-safe.
 *
 * @param executable kept alive until the run is over; the caller may destroy it as soon as the call
 *     returns
 * @param stream a stream of the executable's device; its pool computes, or the device if that has
 *     memory of its own
 * @param nin number of inputs of the graph
 * @param in data of the inputs; the array is read during the call only, the data stay valid until
 *     the run is over
 * @param nout number of outputs of the graph
 * @param[out] out memory for the outputs; the array is read during the call only
 * @param opts read during the call only, except stats, which the run writes at its end; NULL =
 *     defaults
 * @param[out] event of the run, with its status, text and times; owned by the caller; NULL on
 *     failure
 * @return success (the run was submitted; the event has the status of the run); invalid_arguments
 *     as dnnl_tp_executable_run(); poisoned (after a fork); out_of_memory; runtime_error (the
 *     host's run_begin refused). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_run_async(
    const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream, int nin, void *const *in,
    int nout, void *const *out, const dnnl_tp_run_opts_t *opts, dnnl_tp_event_t *event);

/** Times runs of a compiled graph, in the way of dnnl_tp_primitive_timed_run(). Thread-compatible.
 *
 * @param executable an executable
 * @param stream used by no other thread meanwhile
 * @param nin number of inputs of the graph
 * @param in data of the inputs
 * @param nout number of outputs of the graph
 * @param[out] out memory for the outputs
 * @param run_opts of each run; NULL = defaults
 * @param opts NULL = defaults
 * @param[in,out] timing struct_size set by the caller; the rest is written on success
 * @return as dnnl_tp_executable_run() and dnnl_tp_primitive_timed_run(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_timed_run(
    const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream, int nin, void *const *in,
    int nout, void *const *out, const dnnl_tp_run_opts_t *run_opts,
    const dnnl_tp_timed_run_opts_t *opts, dnnl_tp_timing_t *timing);

#ifdef __cplusplus
}
#endif

#endif
