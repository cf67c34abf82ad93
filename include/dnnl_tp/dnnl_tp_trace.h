/** @file
 * Traces: a record of all work with its times and threads, and statistics.
 *
 * A program attaches a trace to streams (dnnl_tp_stream_set_trace()), to runs of graphs
 * (dnnl_tp_run_opts_t.trace) or to a session (dnnl_tp_session_opts_t.trace). From then on every
 * operator of a graph, every execution of a primitive and every run writes a record with its begin
 * and end. The thread that does the work reads the clock, so the times are right on asynchronous
 * streams too, and no thread waits for them. The trace allocates the memory for records when it is
 * created; records that do not fit are counted and dropped, and the oldest ones stay. A run
 * allocates nothing for its trace, and takes locks only for the first record of a thread, primitive
 * or executable. A record costs about 70 ns; work without a trace costs nothing more.
 *
 * dnnl_tp_trace_write() writes the trace for Perfetto, as a table or for flame graphs. Page:
 * doc/traces.md. All times are nanoseconds of CLOCK_MONOTONIC. The rules for every call are in
 * dnnl_tp.h. */
#ifndef DNNL_TP_TRACE_H
#define DNNL_TP_TRACE_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a trace; zeroed members mean defaults. */
typedef struct {
    /** sizeof(dnnl_tp_trace_opts_t) */
    size_t struct_size;
    /** Number of records of 48 bytes, for all threads together; 0 = 1,048,576. Threads claim the
     * memory in pieces; memory without records is never touched. */
    int64_t max_events;
    /** Must be 0. */
    unsigned flags;
} dnnl_tp_trace_opts_t;

/** Creates a trace that records. Thread-safe.
 *
 * @param[out] trace owned by the caller; NULL on failure. The trace keeps the primitives and
 *     executables in its records alive; streams, sessions and runs keep their trace alive.
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_arguments (struct_size, flags, max_events outside 0..2^31-1);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_create(dnnl_tp_trace_t *trace,
                                                      const dnnl_tp_trace_opts_t *opts);

/** Drops the caller's handle. Thread-safe.
 *
 * @param trace NULL or a trace
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_trace_destroy(dnnl_tp_trace_t trace);

/** Switches recording off and on. Work that is submitted while recording is off, and runs that
 * begin while it is off, write no record. Thread-safe.
 *
 * @param trace a trace
 * @param enabled 0 or 1
 * @return success; invalid_arguments (another number). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_set_enabled(dnnl_tp_trace_t trace, int enabled);

/** Records the later work of a stream: executions of primitives, and runs of graphs without a trace
 * of their own. The stream gets a lane of its own in the picture. Thread-compatible.
 *
 * @param stream used by no other thread meanwhile
 * @param trace kept alive by the stream and by work in progress; NULL = stop recording
 * @param name name of the lane; copied, at most 63 bytes; NULL = "stream" and a number
 * @return success; invalid_arguments (another thread is in a call that uses the stream);
 *     would_deadlock (called from inside the stream's work); unimplemented (the engine does not
 *     support traces). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_set_trace(dnnl_tp_stream_t stream,
                                                          dnnl_tp_trace_t trace, const char *name);

/** Records a piece of the caller's own work, on the lane of the calling thread. Thread-safe.
 *
 * @param trace a trace
 * @param name copied, at most 63 bytes
 * @param begin_ns time of its begin, in nanoseconds of CLOCK_MONOTONIC
 * @param end_ns time of its end, not before begin_ns
 * @return success (also if the record does not fit and is only counted, or if recording is off);
 *     invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_record(dnnl_tp_trace_t trace, const char *name,
                                                      int64_t begin_ns, int64_t end_ns);

/* ---- Reading --------------------------------------------------------------------------------- */

/* These calls see all earlier records; a program may call them while work is being recorded. */

/** Size of a trace. */
typedef struct {
    /** sizeof(dnnl_tp_trace_info_t), set by the caller */
    size_t struct_size;
    /** Number of records. */
    int64_t events;
    /** Number of records that did not fit. */
    int64_t dropped;
    /** Number of threads that wrote a record. */
    int threads;
    /** Number of lanes of streams. */
    int streams;
} dnnl_tp_trace_info_t;

/** Tells the size of a trace. Thread-safe.
 *
 * @param trace a trace
 * @param[in,out] info struct_size set by the caller
 * @return success; invalid_arguments (struct_size). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_query(dnnl_tp_trace_t trace,
                                                     dnnl_tp_trace_info_t *info);

/** Kind of a record. */
typedef enum {
    dnnl_tp_trace_run = 1, /**< A run of a graph, on its owner. */
    /** An operator of a graph, or a slice of it. */
    dnnl_tp_trace_node = 2,
    dnnl_tp_trace_primitive = 3, /**< An execution of a primitive on a stream. */
    /** A thread that helped in a loop of such an operator or execution. */
    dnnl_tp_trace_help = 4,
    dnnl_tp_trace_span = 5 /**< Work of the program, see dnnl_tp_trace_record(). */
} dnnl_tp_trace_kind_t;

/** Statistics of all records with equal names. The texts are valid as long as the trace. */
typedef struct {
    /** Kind of the records. */
    dnnl_tp_trace_kind_t kind;
    /** Name of the operator; primitive and its shape; or "graph" and a number. */
    const char *name;
    /** Kind of the operator or primitive, "host" for host closures; "" for others. */
    const char *op;
    /** Implementation; "" if there is none. */
    const char *impl;
    /** Operators: the name of the runs of their graph; "" for others. */
    const char *graph;
    /** Number of records. */
    int64_t count;
    /** Sum of their times. */
    int64_t total_ns;
    /** Sum of their times without the times of other records inside them on the same thread. */
    int64_t self_ns;
    /** Time of the shortest record. */
    int64_t min_ns;
    /** Time of the longest record. */
    int64_t max_ns;
    /** Runs and executions: sum of the times from the call to the begin. Operators: sum of the
     * times from the end of the last producer of their inputs to the begin. Others: 0. */
    int64_t wait_ns;
    /** Operators: the operators fused into it, for example "bias + gelu"; "" for none. */
    const char *fused;
    /** Number of floating-point operations of all records, computed from the shapes; 0: not known.
     */
    double flops;
    /** Bytes of the tensors that the records read and wrote, each tensor once per record; 0: not
     * known. */
    double bytes;
    /** Operators: the problem of their primitive in the form of verbose lines; or "". */
    char shape[96];
} dnnl_tp_trace_stat_t;

/** Gives statistics, largest self_ns first. Thread-safe.
 *
 * @param trace a trace
 * @param max number of elements of stats; 0 = only count is written
 * @param[out] stats the first max entries
 * @param[out] count number of all entries
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_get_stats(dnnl_tp_trace_t trace, int max,
                                                         dnnl_tp_trace_stat_t *stats, int *count);

/** Chrome's JSON, for ui.perfetto.dev: a lane per thread and per stream. */
#define DNNL_TP_TRACE_CHROME 0
#define DNNL_TP_TRACE_TEXT 1   /**< Tables: threads, streams, and the statistics. */
#define DNNL_TP_TRACE_FOLDED 2 /**< "frame;frame;frame ns" lines, for flame graphs. */
/** The ending of the name decides: .txt TEXT, .folded FOLDED, others CHROME. */
#define DNNL_TP_TRACE_BY_NAME 3

/** Writes a trace to a file. The file is complete or unchanged: the call writes a temporary file in
 * the same folder and then renames it. It follows links, and writes pipes and devices directly.
 * Thread-safe.
 *
 * @param trace a trace
 * @param path name of the file
 * @param format DNNL_TP_TRACE_*
 * @return success; invalid_arguments (the format, a file that cannot be created); runtime_error
 *     (writing failed: the error text has the file and the reason); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_trace_write(dnnl_tp_trace_t trace, const char *path,
                                                     int format);

#ifdef __cplusplus
}
#endif

#endif
