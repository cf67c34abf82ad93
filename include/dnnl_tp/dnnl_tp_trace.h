/** @file
 * Traces: what ran when, on which thread, and statistics of it.
 *
 * A trace is given to streams (dnnl_tp_stream_set_trace()), to runs of graphs (dnnl_tp_run_opts_t.trace) or
 * to a session (dnnl_tp_session_opts_t.trace). From then on every operator of a graph, every execution of a
 * primitive and every run leaves a record of when it began and ended: taken by the thread that did the work,
 * so that times of asynchronous streams are true, too, and nobody waits for them. Records go to memory that
 * the trace allocated when it was created; what does not fit is counted and dropped, the oldest stay. While
 * something runs nothing is allocated, and locks are taken only when a thread, a primitive or an executable
 * is seen for the first time. A record costs about 70 ns; where there is no trace, nothing.
 *
 * The trace is then written for Perfetto, as a table or for flame graphs. Page: doc/traces.md. All times are
 * nanoseconds of CLOCK_MONOTONIC. The rules that hold for every call stand in dnnl_tp.h. */
#ifndef DNNL_TP_TRACE_H
#define DNNL_TP_TRACE_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a trace; zeroed members mean defaults. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_trace_opts_t) */
    /** Room for so many records of 48 bytes, for all threads together; 0 = 1,048,576. Threads take it piece
     * by piece, memory that no record reached is never touched. */
    int64_t max_events;
    unsigned flags; /**< must be 0 */
} dnnl_tp_trace_opts_t;

/** Creates a trace that records. Thread-safe.
 *
 * @param[out] trace owned by the caller; NULL on failure. It keeps the primitives and executables that it has
 *     seen alive, and is kept alive by the streams, sessions and runs that have it.
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_arguments (struct_size, flags, max_events outside 0..2^31-1); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_create(dnnl_tp_trace_t *trace,
                                                      const dnnl_tp_trace_opts_t *opts);

/** Drops the caller's handle. Thread-safe.
 *
 * @param trace NULL or a trace
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_trace_destroy(dnnl_tp_trace_t trace);

/** Switches recording off and on: work that is submitted, and runs that begin, while it is off leave no
 * record. Thread-safe.
 *
 * @param trace a trace
 * @param enabled 0 or 1
 * @return success; invalid_arguments (another number). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_set_enabled(dnnl_tp_trace_t trace, int enabled);

/** Records what is submitted to a stream from now on: executions of primitives, and runs of graphs that have
 * no trace of their own. The stream gets a lane of its own in the picture. Thread-compatible.
 *
 * @param stream used by no other thread meanwhile
 * @param trace kept alive by the stream and by work in flight; NULL = record nothing from now on
 * @param name of the lane, copied; at most 63 bytes are kept; NULL = "stream" and a number
 * @return success; invalid_arguments (another thread is in a call that uses the stream); would_deadlock (from
 *     inside its work); unimplemented (an engine cannot do it). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_set_trace(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace,
                                                          const char *name);

/** Records a piece of the caller's own work, on the lane of the calling thread. Thread-safe.
 *
 * @param trace a trace
 * @param name copied; at most 63 bytes are kept
 * @param begin_ns when it began: CLOCK_MONOTONIC
 * @param end_ns when it ended; not before begin_ns
 * @return success (also when there is no room: that is counted, or recording is off); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_record(dnnl_tp_trace_t trace, const char *name,
                                                      int64_t begin_ns, int64_t end_ns);

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* These calls see what was recorded before them, and may be made while work is being recorded. */

/** What a trace holds. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_trace_info_t), set by the caller */
    int64_t events;     /**< records */
    int64_t dropped;    /**< records that found no room */
    int threads;        /**< threads that recorded something */
    int streams;        /**< lanes of streams */
} dnnl_tp_trace_info_t;

/** Tells what a trace holds. Thread-safe.
 *
 * @param trace a trace
 * @param[in,out] info struct_size set by the caller
 * @return success; invalid_arguments (struct_size). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_query(dnnl_tp_trace_t trace, dnnl_tp_trace_info_t *info);

/** What a record is about. */
typedef enum {
    dnnl_tp_trace_run = 1,       /**< A run of a graph, on the thread that led it. */
    dnnl_tp_trace_node = 2,      /**< An operator of a graph (of a slice of it, where slices run apart). */
    dnnl_tp_trace_primitive = 3, /**< An execution of a primitive on a stream. */
    dnnl_tp_trace_help = 4,      /**< A thread that helped in a loop of such an operator or execution. */
    dnnl_tp_trace_span = 5       /**< The program's own, see dnnl_tp_trace_record(). */
} dnnl_tp_trace_kind_t;

/** Statistics of all records about one thing. Texts live as long as the trace. */
typedef struct {
    dnnl_tp_trace_kind_t kind; /**< What it is. */
    const char *name;          /**< Of the operator, of the primitive and its shape, "graph" and a number. */
    const char *op;            /**< Kind of operator or primitive, "host" for host closures; "" for others. */
    const char *impl;          /**< Implementation; "" if there is none. */
    const char *graph;         /**< Of operators: the name of their graph's runs; "" for others. */
    int64_t count;             /**< Records. */
    int64_t total_ns;          /**< Sum of their times. */
    int64_t self_ns;           /**< The same without what other records took inside them, on their thread. */
    int64_t min_ns;            /**< The shortest. */
    int64_t max_ns;            /**< The longest. */
    /** Runs and executions: sum of the times from the call to the begin; operators: from the end of the last of
     * those that made what they read; others: 0. */
    int64_t wait_ns;
    const char *fused; /**< Of operators: others that it does as well, "bias + gelu"; "" for none. */
    double flops;      /**< Floating-point operations of all records, by the shapes; 0: not known. */
    double bytes;      /**< Bytes of tensors read and written, each once a time; 0: not known. */
    char shape[96];    /**< Of operators: the problem of their primitive, as verbose lines write it; or "". */
} dnnl_tp_trace_stat_t;

/** Gives statistics, largest self_ns first. Thread-safe.
 *
 * @param trace a trace
 * @param max entries of stats; 0 = only count is asked
 * @param[out] stats the first entries, at most max
 * @param[out] count how many there are
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_get_stats(dnnl_tp_trace_t trace, int max,
                                                         dnnl_tp_trace_stat_t *stats, int *count);

#define DNNL_TP_TRACE_CHROME 0  /**< Chrome's JSON, for ui.perfetto.dev: a lane per thread and per stream. */
#define DNNL_TP_TRACE_TEXT 1    /**< Tables: threads, streams, and the statistics. */
#define DNNL_TP_TRACE_FOLDED 2  /**< "frame;frame;frame ns" lines, for flame graphs. */
#define DNNL_TP_TRACE_BY_NAME 3 /**< Names that end in .txt: TEXT, in .folded: FOLDED, others: CHROME. */

/** Writes a trace to a file. The file is complete or unchanged: it is written beside its place and then
 * renamed. A link is followed; pipes and devices are written in place. Thread-safe.
 *
 * @param trace a trace
 * @param path name of the file
 * @param format DNNL_TP_TRACE_*
 * @return success; invalid_arguments (the format, a file that cannot be created); runtime_error (writing
 *     failed: the text has the file and the reason); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_write(dnnl_tp_trace_t trace, const char *path, int format);

#ifdef __cplusplus
}
#endif

#endif
