/** @file
 * Graphs compiled for given shapes, and runs of them on a stream.
 *
 * Executables are immutable and may be run by many threads at once, each on a stream of its own. Graphs are built
 * with dnnl_tp_graph.h. */
#ifndef DNNL_TP_EXECUTABLE_H
#define DNNL_TP_EXECUTABLE_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Compiling --------------------------------------------------------------------------------------- */

/** Options of compilation; zeroed members mean defaults. The structs of older headers, up to flags and up to in_values, are
 * accepted. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_compile_opts_t) */
    const_dnnl_tp_stream_attr_t
        stream_attr;      /**< The pool that will run it: its thread count is planned for. */
    size_t memory_budget; /**< Largest plan of intermediates in bytes; 0 = none. */
    int deterministic;    /**< 1: nodes with side effects run in graph order. */
    /** Run objects made at once, so that as many runs at a time allocate nothing; 0 = one, whose memory runs
     * of other executables of the graph may use when it is idle. */
    int reserved_runs;
    unsigned flags; /**< DNNL_TP_COMPILE_* */
    /** Values of inputs, in their order, that shapes come from (as dnnl_tp_op_reshape takes them): at most 64
     * integers or booleans each, NULL for the others; NULL = no input's values are known. The executable serves
     * these values alone: a run passes the same ones, or NULL. */
    const void *const *in_values;
    /** strict (0): f32 stays f32. bf16: f32 values between operators, and constant weights, may be kept in bf16; sums and
     * statistics stay f32, inputs and outputs keep their types, and what decides something (positions, comparisons) stays
     * f32. Products of bf16 are computed as such where dnnl_tp_get_effective_cpu_isa() is
     * dnnl_tp_cpu_isa_avx512_core_bf16, elsewhere in f32. tf32: on GPUs, products and attention of f32 may round what they multiply to
     * tf32; CPUs compute as with strict. Other modes are refused. */
    dnnl_tp_fpmath_mode_t fpmath_mode;
} dnnl_tp_compile_opts_t;

#define DNNL_TP_COMPILE_NO_FUSION 1u /**< Every operator by itself: a reference for tests. */
/** Every operator is scheduled by itself, none in a sequence that was fixed beforehand: for measurements. */
#define DNNL_TP_COMPILE_NO_CLUSTERS 2u
/** Compilation fails with unimplemented where only a reference implementation serves an operator, which is 10 to
 * 1000 times slower than an optimized one. */
#define DNNL_TP_COMPILE_REFUSE_REFERENCE 4u

/** Compiles a graph for the shapes of its inputs: infers shapes, folds constants, fuses operators,
 * chooses primitives and layouts, packs weights (once for all executables of the graph) and plans
 * memory. The graph is immutable from then on, unless this fails. Threads may compile one graph at once.
 * Thread-safe.
 *
 * @param[out] executable owned by the caller; NULL on failure
 * @param graph kept alive by the executable
 * @param engine where all its operators will run (the graph names none); kept alive by the executable. Its runs take
 *     streams of this engine, or of another one of the same device
 * @param nin number of entries of in_shapes
 * @param in_shapes shapes of all inputs in order of their creation; NULL = as declared
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_graph (nothing to compute, a region that no operator took, a function without one
 *     of its outputs); invalid_shape (a shape is not known, or comes from values that are not; it does not fit the
 *     declared one, or an operator refuses it); invalid_data_type (the same of types); invalid_arguments (another number of inputs,
 *     struct_size, values of an input that are no integers or too many); unimplemented (no primitive serves an operator, or the engine no closure; the
 *     text names it); out_of_memory (also: the plan exceeds the budget). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_compile(dnnl_tp_executable_t *executable,
                                                            const_dnnl_tp_graph_t graph,
                                                            dnnl_tp_engine_t engine, int nin,
                                                            const dnnl_tp_tensor_info_t *in_shapes,
                                                            const dnnl_tp_compile_opts_t *opts);

/** Gives shape and type of a value as compiled. Thread-safe.
 *
 * @param executable an executable
 * @param value of its graph
 * @param[out] info shape and type, without run-time dimensions
 * @return success; invalid_arguments (not a value of the graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_query(const_dnnl_tp_executable_t executable,
                                                          dnnl_tp_value_t value, dnnl_tp_tensor_info_t *info);

/** Memory of one run, as compilation planned it, in bytes. Constants and what callers pass are not in it. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_executable_memory_t), set by the caller */
    size_t run;         /**< All that a run takes: intermediates, scratch of primitives, what threads have. */
    size_t peak;        /**< Intermediates of the graph, which share places; loops and slices included. */
    size_t sum;         /**< Those intermediates, if each had a place of its own. */
    size_t least;       /**< Largest sum of those that hold something at the same time: no plan takes less. */
} dnnl_tp_executable_memory_t;

/** Tells how much memory a run takes. Thread-safe.
 *
 * @param executable an executable
 * @param[in,out] memory struct_size set by the caller
 * @return success; invalid_arguments (struct_size). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_memory(const_dnnl_tp_executable_t executable,
                                                           dnnl_tp_executable_memory_t *memory);

/** Makes run objects, so that as many runs at once allocate nothing, whatever else the graph's executables
 * do. Thread-safe.
 *
 * @param executable an executable
 * @param runs how many runs at once
 * @return success; invalid_arguments (less than 1); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_reserve(dnnl_tp_executable_t executable, int runs);

/** Drops the caller's handle; runs in progress end properly. Thread-safe.
 *
 * @param executable NULL or an executable
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_executable_destroy(dnnl_tp_executable_t executable);

/* ---- Running ----------------------------------------------------------------------------------------- */

/** One traced node of a run. Times are CLOCK_MONOTONIC nanoseconds. */
typedef struct {
    const char *name; /**< Lives as long as the executable. */
    int thread;       /**< Participant that ran it; 0 = the run's first thread. */
    int64_t begin_ns; /**< When it began. */
    int64_t end_ns;   /**< When it ended. */
} dnnl_tp_trace_event_t;

/** What a run fills in, if asked. */
typedef struct {
    size_t struct_size;            /**< sizeof(dnnl_tp_run_stats_t) */
    dnnl_tp_trace_event_t *events; /**< Room of the caller, or NULL. */
    int max_events;                /**< Size of events. */
    int num_events;                /**< Out: events there were; those beyond max_events are not stored. */
    int num_participants;          /**< Out: threads that took part, in loops too; 0: it never began. */
} dnnl_tp_run_stats_t;

typedef struct dnnl_tp_cancel *dnnl_tp_cancel_t; /**< A token that ends runs; one serves many runs. */

/** Creates a token. Thread-safe.
 *
 * @param[out] cancel owned by the caller; NULL on failure
 * @return success; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cancel_create(dnnl_tp_cancel_t *cancel);

/** Makes runs with this token, those in progress and later ones, end with cancelled: as soon as the pieces of
 * work that have begun are done, about a millisecond. Does not wait for them. Thread-safe. Asynchronous runs end in their
 * turn, after the items before them in their stream; those that have not begun may be ended by this call itself, which then
 * calls the callbacks of their events.
 *
 * @param cancel a token
 * @return success, also the second time. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cancel_fire(dnnl_tp_cancel_t cancel);

/** Drops the caller's handle; runs in progress keep the token. Thread-safe.
 *
 * @param cancel NULL or a token
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_cancel_destroy(dnnl_tp_cancel_t cancel);

/** Options of a run; zeroed members mean defaults. The structs of older headers, up to stats and up to
 * max_depth, are accepted. */
typedef struct {
    size_t struct_size;         /**< sizeof(dnnl_tp_run_opts_t) */
    int max_threads;            /**< 0 = the stream's. */
    unsigned flags;             /**< must be 0 */
    dnnl_tp_run_stats_t *stats; /**< Filled in by the run; NULL = not asked. */
    int64_t deadline_ns;        /**< When the run ends with deadline_exceeded: CLOCK_MONOTONIC; 0 = never. */
    dnnl_tp_cancel_t cancel;    /**< Ends the run when it is fired; NULL = nothing does. */
    int priority;  /**< Larger ones are served first where runs wait for a thread of the pool, also items
                      of streams; 0 = the stream's. */
    int max_depth; /**< How deep calls of functions may nest; 0 = 4096. */
    dnnl_tp_trace_t trace; /**< Records the run, see dnnl_tp_trace.h; NULL = the stream's trace, if any. */
} dnnl_tp_run_opts_t;

/** Runs a compiled graph and waits for it. In steady state it allocates nothing. Many threads may run one
 * executable at once, on streams of their own or on one: runs on a synchronous stream go on beside each other; on
 * an asynchronous one each has a place in the order, behind what was submitted before the call and in front of
 * what is submitted until it returns. More than 1024 runs of one executable at once, those that were submitted
 * included, are refused with out_of_memory. Thread-safe.
 *
 * @param executable an executable
 * @param stream of the executable's device; its pool computes, or the engine, where that has a memory of its own
 * @param nin number of inputs of the graph
 * @param in data of the inputs in order of their creation, dense row-major; the caller's
 * @param nout number of outputs of the graph
 * @param[out] out memory for the outputs (like the inputs' the engine's) in order of their creation, dense row-major, the caller's;
 *     written by the last operators themselves, undefined when the run fails; must not overlap an input
 *     or another output
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_arguments (a number of tensors, a NULL tensor, outputs that overlap, a stream of another
 *     device, or one that another thread is destroying or changing, sequence offsets that are not as
 *     attention says, struct_size); what a host closure returned; cancelled; deadline_exceeded; out_of_memory; runtime_error (the pool failed, an index is outside its
 *     table, calls nest too deeply); would_deadlock; unimplemented (statistics or a trace, of an engine whose
 *     streams tell no times). The first failure is reported, never what followed. The
 *     text names the operator that failed; the executable stays usable. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_run(const_dnnl_tp_executable_t executable,
                                                        dnnl_tp_stream_t stream, int nin, void *const *in,
                                                        int nout, void *const *out,
                                                        const dnnl_tp_run_opts_t *opts);

/** Submits a run of a compiled graph to a stream and returns; everything of dnnl_tp_executable_run() holds
 * for the run itself. It is an item of the stream: it begins when what was submitted before is done, a
 * failure (also a cancellation or a missed deadline) makes the stream skip what follows until
 * dnnl_tp_stream_reset(), and it is over when a host's run_end has called done. On a synchronous stream it is
 * over when the call returns. Thread-safe.
 *
 * @param executable kept alive until the run is over; may be destroyed at once
 * @param stream of the executable's device; its pool computes, or the engine, where that has a memory of its own
 * @param nin number of inputs of the graph
 * @param in data of the inputs; the array is read during the call only, the data live until the run is over
 * @param nout number of outputs of the graph
 * @param[out] out memory for the outputs; the array is read during the call only
 * @param opts read during the call only, but for stats, which is written when the run is over; NULL =
 * defaults
 * @param[out] event of the run, with its status, text and times; owned by the caller; NULL on failure
 * @return success (the run was submitted; its own status is the event's); invalid_arguments as
 *     dnnl_tp_executable_run(); poisoned (after a fork); out_of_memory; runtime_error (the host's run_begin
 *     refused). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_run_async(const_dnnl_tp_executable_t executable,
                                                              dnnl_tp_stream_t stream, int nin,
                                                              void *const *in, int nout, void *const *out,
                                                              const dnnl_tp_run_opts_t *opts,
                                                              dnnl_tp_event_t *event);

/** Times runs of a compiled graph, as dnnl_tp_primitive_timed_run() does a primitive. Thread-compatible.
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
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_executable_timed_run(const_dnnl_tp_executable_t executable,
                                                              dnnl_tp_stream_t stream, int nin,
                                                              void *const *in, int nout, void *const *out,
                                                              const dnnl_tp_run_opts_t *run_opts,
                                                              const dnnl_tp_timed_run_opts_t *opts,
                                                              dnnl_tp_timing_t *timing);

#ifdef __cplusplus
}
#endif

#endif
