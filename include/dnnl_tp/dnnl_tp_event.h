/** @file
 * Events, the order between streams, and waiting: for an event, a stream, an engine, a memory
 * object, or all engines.
 *
 * On an asynchronous stream (dnnl_tp_threadpool.h) calls return before the work is done. An event
 * stands for submitted work: the program can query it, wait for it, make another stream wait for
 * it, and register callbacks. An event becomes done exactly once, with a status, and records when
 * its work began and ended. All functions here accept synchronous streams too, whose work is done
 * when its submission returns.
 *
 * Running work (an operator, a callback) that waits could wait for itself. Such a call returns
 * would_deadlock at once, unless the event or stream is already done. Pages: doc/streams.md,
 * doc/sync_in_benchmarks.md. The rules for every call and the terms of thread safety are in
 * dnnl_tp.h. */
#ifndef DNNL_TP_EVENT_H
#define DNNL_TP_EVENT_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Events ---------------------------------------------------------------------------------- */

/** Gives an event that becomes done when all work submitted to the stream so far is done. Its
 * status is success, or the first error of the stream since its last reset. Work that other threads
 * submit during the call may come before the event or after it. Thread-safe.
 *
 * @param stream a stream
 * @param[out] event owned by the caller; NULL on failure; it does not keep the stream or its pool
 *     alive
 * @return success; invalid_arguments (another thread is destroying or changing the stream);
 *     poisoned (after a fork: the stream belongs to the parent process); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_record_event(dnnl_tp_stream_t stream,
                                                             dnnl_tp_event_t *event);

/** Makes later work of the stream wait for an event. On an asynchronous stream the call does not
 * block; if the event fails, the stream fails with its status (see dnnl_tp_stream_reset()). On a
 * synchronous stream the call waits for the event and returns its status; other threads that use
 * the stream go on. Thread-safe.
 *
 * @param stream a stream
 * @param event the caller may destroy it as soon as the call returns
 * @return success; the status of the event (synchronous streams); would_deadlock (synchronous
 *     streams, from inside running work); invalid_arguments (another thread is destroying or
 *     changing the stream); poisoned (after a fork); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait_event(dnnl_tp_stream_t stream,
                                                           dnnl_tp_event_t event);

/** Creates an event that the program signals. Thread-safe.
 *
 * @param[out] event owned by the caller; NULL on failure
 * @param engine the engine whose streams may wait for the event; not kept alive
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_create_host(dnnl_tp_event_t *event,
                                                           dnnl_tp_engine_t engine);

/** Signals an event of dnnl_tp_event_create_host(). Of several callers one succeeds. The callbacks
 * of the event run before the call returns. Thread-safe.
 *
 * @param event a host event
 * @param status becomes the status of the event; any status but success means failure, whose text
 *     dnnl_tp_fail() sets
 * @return success; invalid_arguments (the event belongs to a stream, or was signalled before). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_signal(dnnl_tp_event_t event,
                                                      dnnl_tp_status_t status);

/** Tells whether an event is done, without blocking. If the pool has only a parallel loop that its
 * own jobs must not call, this call may run a piece of queued work. Thread-safe.
 *
 * @param event an event
 * @param[out] done 1 = done
 * @param[out] result the status of the event if it is done, else success; may be NULL
 * @return success; poisoned (after a fork: the pending event belongs to the parent process);
 *     invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_query(dnnl_tp_event_t event, int *done,
                                                     dnnl_tp_status_t *result);

/** Waits until an event is done. If no other thread executes the work of the event, or the work
 * that it waits for, the calling thread executes it. Thread-safe.
 *
 * @param event an event
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @param[out] result the status of the event; NULL: the call itself returns that status
 * @return success; the status of the event (result is NULL); timed_out; would_deadlock (pending,
 *     and called from inside running work); poisoned (pending, after a fork); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_wait(dnnl_tp_event_t event, int64_t timeout_ns,
                                                    dnnl_tp_status_t *result);

/** Called exactly once when an event is done, with the status of the event. The function must not
 * block. It may submit work, and may signal and destroy events, this event included. A wait for
 * pending work returns would_deadlock. */
typedef void (*dnnl_tp_event_fn_t)(void *arg, dnnl_tp_status_t status);

/** Registers a callback, which is called exactly once: by the thread that finishes the work, or by
 * this thread at once if the event is already done. A thread that is inside a callback calls the
 * new one after the first has returned; the same holds for dnnl_tp_event_signal(). Thus callbacks
 * never nest. The library holds no lock during a callback. The callbacks of one event run in the
 * order of registration. Work counts as done for dnnl_tp_stream_wait() and the dnnl_tp_sync_* calls
 * when the callbacks of its events have returned. Thread-safe.
 *
 * @param event an event
 * @param fn called once
 * @param arg passed to fn; the caller's
 * @return success; invalid_arguments; out_of_memory (fn is not called). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_on_complete(dnnl_tp_event_t event,
                                                           dnnl_tp_event_fn_t fn, void *arg);

/** Text of the failure of an event that is done. Thread-safe.
 *
 * @param event an event that is done
 * @param[out] text valid as long as the event; "" if the event succeeded
 * @return success; invalid_arguments (pending). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_get_error(dnnl_tp_event_t event, const char **text);

/** Gives the times of an event that is done, in nanoseconds of CLOCK_MONOTONIC; the thread that did
 * the work read the clock. An event of dnnl_tp_stream_record_event() has the begin and end of the
 * last item submitted before it, so that one event after each execution gives the time of each
 * execution; on a synchronous stream, or on a stream that never had an item, it has the time of
 * recording. The event of a run of a graph has the begin and end of that run, a host event the time
 * of its signal. An event of a GPU stream has the times at which the host saw it, or the device's
 * own times if the stream profiles (dnnl_tp_cuda.h). Thread-safe.
 *
 * @param event an event that is done
 * @param[out] begin_ns when the work began
 * @param[out] end_ns when it ended
 * @return success; invalid_arguments (pending). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_get_times(dnnl_tp_event_t event, int64_t *begin_ns,
                                                         int64_t *end_ns);

/** Drops the caller's handle. The work goes on and callbacks still run. If the event is a host
 * event that no thread has signalled, this call signals it with dnnl_tp_cancelled. Thread-safe.
 *
 * @param event NULL or an event, pending or not
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_event_destroy(dnnl_tp_event_t event);

/* ---- Streams --------------------------------------------------------------------------------- */

/** Like dnnl_tp_stream_wait(), with a time limit. Work submitted during the wait does not extend
 * it. Thread-safe.
 *
 * @param stream a stream
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return success; timed_out; the first error of the stream since its last reset; would_deadlock
 *     (called from inside running work while the stream is not idle); poisoned (after a fork). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait_for(dnnl_tp_stream_t stream,
                                                         int64_t timeout_ns);

/** Like dnnl_tp_stream_wait_for(), but tells the status of the work apart from that of the wait:
 * work may fail with any status, timed_out included. Thread-safe.
 *
 * @param stream a stream
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @param[out] result if the call succeeds, the first error of the stream since its last reset, of
 *     which dnnl_tp_last_error() gives the text, or success; otherwise success. NULL: the call
 *     itself returns that status
 * @return success (the work is done); timed_out (the limit passed); would_deadlock (called from
 *     inside running work while the stream is not idle); poisoned (after a fork). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait_for_v2(dnnl_tp_stream_t stream,
                                                            int64_t timeout_ns,
                                                            dnnl_tp_status_t *result);

/** Tells whether all submitted work is done, without blocking; like dnnl_tp_event_query() it may
 * run a piece of queued work. A synchronous stream is idle when no thread is in a call that uses
 * it. Thread-safe.
 *
 * @param stream a stream
 * @param[out] idle 1 = all submitted work is done
 * @param[out] result the first error since the last reset of the stream, else success; may be NULL
 * @return success; poisoned (after a fork); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_query(dnnl_tp_stream_t stream, int *idle,
                                                      dnnl_tp_status_t *result);

/** Ends the failed state of a stream. When an item fails, the stream skips the items submitted
 * after it, and events and waits report the first error, until this call resets the stream. Items
 * submitted after the reset run again; items submitted before it stay skipped. Thread-safe.
 *
 * @param stream a stream
 * @return success; invalid_arguments (another thread is destroying or changing the stream);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_reset(dnnl_tp_stream_t stream);

/* ---- Everything ------------------------------------------------------------------------------ */

/** Waits for all work that was submitted before the call to the asynchronous streams of all
 * engines. Work submitted during the wait does not extend it. Thread-safe.
 *
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return success; timed_out; the first error of a stream since its last reset (the stream stays
 *     failed); would_deadlock (called from inside running work: an operator, a callback);
 *     unimplemented (an engine does not support this wait); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_devices(int64_t timeout_ns);

/** Like dnnl_tp_sync_devices(), but tells the status of the work apart from that of the wait: work
 * may fail with any status, timed_out included. Thread-safe.
 *
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @param[out] result if the call succeeds, the first error of a stream since its last reset, of
 *     which dnnl_tp_last_error() gives the text, or success; otherwise success. NULL: the call
 *     itself returns that status
 * @return success (the work is done); timed_out (the limit passed, whatever else failed);
 *     would_deadlock, unimplemented and out_of_memory as dnnl_tp_sync_devices(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_devices_v2(int64_t timeout_ns,
                                                         dnnl_tp_status_t *result);

/** Like dnnl_tp_sync_devices(), for the streams of one engine. Thread-safe.
 *
 * @param engine an engine
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return as dnnl_tp_sync_devices(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_engine(dnnl_tp_engine_t engine, int64_t timeout_ns);

/** Like dnnl_tp_sync_devices_v2(), for the streams of one engine. Thread-safe.
 *
 * @param engine an engine
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @param[out] result as dnnl_tp_sync_devices_v2()
 * @return as dnnl_tp_sync_devices_v2(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_engine_v2(dnnl_tp_engine_t engine, int64_t timeout_ns,
                                                        dnnl_tp_status_t *result);

/** Like dnnl_tp_sync_devices(), for the work that can touch a memory object: all work of the
 * streams of its engine. Thread-safe.
 *
 * @param memory a memory object
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return as dnnl_tp_sync_devices(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_memory(dnnl_tp_memory_t memory, int64_t timeout_ns);

/** Like dnnl_tp_sync_devices_v2(), for the work that can touch a memory object. Thread-safe.
 *
 * @param memory a memory object
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @param[out] result as dnnl_tp_sync_devices_v2()
 * @return as dnnl_tp_sync_devices_v2(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_memory_v2(dnnl_tp_memory_t memory, int64_t timeout_ns,
                                                        dnnl_tp_status_t *result);

/* ---- Timing ---------------------------------------------------------------------------------- */

/** How many runs dnnl_tp_primitive_timed_run() and dnnl_tp_executable_timed_run() make; zeroed
 * members mean defaults. */
typedef struct {
    /** sizeof(dnnl_tp_timed_run_opts_t) */
    size_t struct_size;
    /** Number of first runs, which do not count as warm; 0 = 3. */
    int cold_runs;
    /** Least number of warm runs; 0 = 10. */
    int min_warm_runs;
    /** Most warm runs; 0 = 10000. */
    int max_warm_runs;
    /** Time for warm runs, within these counts; 0 = 100 ms. */
    int64_t min_time_ns;
} dnnl_tp_timed_run_opts_t;

/** Result of a timed run, in nanoseconds. The time of a single run is the time between the begin
 * and the end of its event: without submission, queueing and waiting, read by the thread that did
 * the work, or by the device on a GPU. */
typedef struct {
    /** sizeof(dnnl_tp_timing_t), set by the caller */
    size_t struct_size;
    /** Number of runs before the warm ones. */
    int cold_runs;
    /** Number of warm runs. */
    int warm_runs;
    /** The very first run: cold caches, first touch of memory, threads asleep. */
    int64_t first_ns;
    /** The longest cold run. */
    int64_t cold_max_ns;
    /** The shortest warm run. */
    int64_t min_ns;
    /** Median of the warm runs. */
    int64_t median_ns;
    /** Mean of the warm runs. */
    int64_t mean_ns;
    /** 90th percentile of the warm runs. */
    int64_t p90_ns;
    /** The longest warm run. */
    int64_t max_ns;
    /** Wall time per warm run as the caller sees it: first submission to last completion, divided
     * by the runs. */
    int64_t wall_ns;
} dnnl_tp_timing_t;

/** Times a primitive: waits until the stream is idle, runs it again and again, and waits. On an
 * asynchronous stream several runs are in flight, as they would be in use. Thread-compatible.
 *
 * @param primitive a primitive
 * @param stream used by no other thread meanwhile
 * @param nargs number of entries of args
 * @param args as for dnnl_tp_primitive_execute_handles()
 * @param opts NULL = defaults
 * @param[in,out] timing struct_size set by the caller; the rest is written on success
 * @return success; what dnnl_tp_primitive_execute_handles() and waiting for the stream return
 *     (would_deadlock from inside running work); invalid_arguments (struct_size, negative members).
 */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_timed_run(const_dnnl_tp_primitive_t primitive,
                                                             dnnl_tp_stream_t stream, int nargs,
                                                             const dnnl_tp_exec_handle_t *args,
                                                             const dnnl_tp_timed_run_opts_t *opts,
                                                             dnnl_tp_timing_t *timing);

#ifdef __cplusplus
}
#endif

#endif
