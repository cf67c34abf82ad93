/** @file
 * Events, order between streams, and waiting: for an event, a stream, an engine, a memory, everything.
 *
 * On an asynchronous stream (dnnl_tp_threadpool.h) calls return before the work is done. An event stands for
 * work that was submitted: it can be asked, waited for, waited for by another stream, and it calls back.
 * An event is done exactly once, with a status, and knows when its work began and ended. On synchronous
 * streams everything here works too: work is done when it was submitted.
 *
 * Waiting from inside running work (an operator, a callback) could wait for itself: such calls answer
 * would_deadlock at once, unless what they wait for is already done. Pages: doc/streams.md,
 * doc/sync_in_benchmarks.md. The rules that hold for every call, and the words of thread safety, stand in
 * dnnl_tp.h. */
#ifndef DNNL_TP_EVENT_H
#define DNNL_TP_EVENT_H

#include "dnnl_tp/dnnl_tp_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Events ------------------------------------------------------------------------------------------ */

/** Gives an event that is done when everything submitted to the stream so far is done. Its status is success,
 * or the first error of the stream since it was last reset. What other threads submit at the same time may
 * come before the event or after it. Thread-safe.
 *
 * @param stream a stream
 * @param[out] event owned by the caller; NULL on failure; it does not keep the stream or its pool alive
 * @return success; invalid_arguments (another thread is destroying or changing the stream); poisoned (after a
 *     fork the stream belongs to the parent); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_record_event(dnnl_tp_stream_t stream, dnnl_tp_event_t *event);

/** Makes what is submitted to the stream later wait for an event. An asynchronous stream does not block: if
 * the event fails, the stream fails with its status (see dnnl_tp_stream_reset()). A synchronous stream
 * waits here and returns the status of the event: it holds up this thread alone. Thread-safe.
 *
 * @param stream a stream
 * @param event may be destroyed at once
 * @return success; the status of the event (synchronous streams); would_deadlock (synchronous streams, from
 *     inside running work); invalid_arguments (another thread is destroying or changing the stream);
 *     poisoned (after a fork); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait_event(dnnl_tp_stream_t stream, dnnl_tp_event_t event);

/** Creates an event that the program signals. Thread-safe.
 *
 * @param[out] event owned by the caller; NULL on failure
 * @param engine whose streams may wait for it; not kept alive
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_create_host(dnnl_tp_event_t *event, dnnl_tp_engine_t engine);

/** Signals an event of dnnl_tp_event_create_host(); of several callers one succeeds. Callbacks run before it
 * returns. Thread-safe.
 *
 * @param event a host event
 * @param status becomes the status of the event; other than success = failed, and dnnl_tp_fail() gives its text
 * @return success; invalid_arguments (the event belongs to a stream, or was signalled before). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_signal(dnnl_tp_event_t event, dnnl_tp_status_t status);

/** Asks whether an event is done. Never blocks; on a pool that only has a parallel loop which must not be
 * called from its own jobs it may run a piece of queued work. Thread-safe.
 *
 * @param event an event
 * @param[out] done 1 = done
 * @param[out] result status of the event if it is done, else success; NULL allowed
 * @return success; poisoned (pending, and after a fork it belongs to the parent); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_query(dnnl_tp_event_t event, int *done,
                                                     dnnl_tp_status_t *result);

/** Waits until an event is done. The thread helps with the work that the event stands for, and with what that
 * work waits for, where nobody else does. Thread-safe.
 *
 * @param event an event
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @param[out] result status of the event; NULL: the call itself returns it
 * @return success; the status of the event (result is NULL); timed_out; would_deadlock (pending, and called
 *     from inside running work); poisoned (pending, after a fork); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_wait(dnnl_tp_event_t event, int64_t timeout_ns,
                                                    dnnl_tp_status_t *result);

/** Called once when an event is done, with its status. Must not block; may submit work, signal and destroy
 * events, this one too. Waiting for something pending answers would_deadlock. */
typedef void (*dnnl_tp_event_fn_t)(void *arg, dnnl_tp_status_t status);

/** Asks for a call when an event is done: exactly one, on the thread that finished the work, or at once on
 * this thread if the event is done. In a callback "at once" is after that callback returned, here and for
 * dnnl_tp_event_signal(): callbacks are not called inside each other. No lock is held meanwhile. Callbacks of one event run in the order in
 * which they were added. Work counts as done for dnnl_tp_stream_wait() and the sync calls after the
 * callbacks of its events returned. Thread-safe.
 *
 * @param event an event
 * @param fn called once
 * @param arg passed to fn; the caller's
 * @return success; invalid_arguments; out_of_memory (fn is not called). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_on_complete(dnnl_tp_event_t event, dnnl_tp_event_fn_t fn,
                                                           void *arg);

/** Text of the failure of an event that is done. Thread-safe.
 *
 * @param event done
 * @param[out] text lives as long as the event; "" if it succeeded
 * @return success; invalid_arguments (pending). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_get_error(dnnl_tp_event_t event, const char **text);

/** Times of an event that is done, in nanoseconds of CLOCK_MONOTONIC, taken by the thread that did the work.
 * For dnnl_tp_stream_record_event(): begin and end of the last item submitted before it (so an event behind
 * each execution gives the time of each); on a synchronous stream or one that never had an item, the time of
 * recording. For a run of a graph: its begin and end. For a host event: the time of the signal. Events of GPU
 * streams tell when the host saw them, or times of the device where the stream profiles (dnnl_tp_cuda.h).
 * Thread-safe.
 *
 * @param event done
 * @param[out] begin_ns when the work began
 * @param[out] end_ns when it ended
 * @return success; invalid_arguments (pending). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_event_get_times(dnnl_tp_event_t event, int64_t *begin_ns,
                                                         int64_t *end_ns);

/** Drops the caller's handle; the work goes on, and callbacks still run. A host event that was not signalled
 * is signalled with dnnl_tp_cancelled. Thread-safe.
 *
 * @param event NULL or an event, pending or not
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_event_destroy(dnnl_tp_event_t event);

/* ---- Streams ----------------------------------------------------------------------------------------- */

/** dnnl_tp_stream_wait() with a limit. What is submitted during the wait does not extend it.
 * Thread-safe.
 *
 * @param stream a stream
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return success; timed_out; the first error of the stream since it was last reset; would_deadlock (called
 *     from inside running work, and the stream is not idle); poisoned (after a fork). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait_for(dnnl_tp_stream_t stream, int64_t timeout_ns);

/** Asks whether everything submitted is done; as dnnl_tp_event_query() in what it may do. A synchronous
 * stream is idle when no thread is in a call that uses it. Thread-safe.
 *
 * @param stream a stream
 * @param[out] idle 1 = everything is done
 * @param[out] result the first error since the stream was last reset, else success; NULL allowed
 * @return success; poisoned (after a fork); invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_query(dnnl_tp_stream_t stream, int *idle,
                                                      dnnl_tp_status_t *result);

/** Ends the failed state of a stream. When an item fails, what was submitted behind it is skipped, and events
 * and waits tell the first error, until the stream is reset: what is submitted from then on runs again (what
 * was submitted before stays skipped). Thread-safe.
 *
 * @param stream a stream
 * @return success; invalid_arguments (another thread is destroying or changing the stream); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_reset(dnnl_tp_stream_t stream);

/* ---- Everything -------------------------------------------------------------------------------------- */

/** Waits for everything that was submitted, before the call, to the asynchronous streams of all engines.
 * Work submitted meanwhile does not extend the wait. Thread-safe.
 *
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return success; timed_out; the first error of a stream since it was last reset (it stays); would_deadlock
 *     (called from inside running work: an operator, a callback); unimplemented (an engine cannot do it);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_devices(int64_t timeout_ns);

/** As dnnl_tp_sync_devices() for the streams of one engine. Thread-safe.
 *
 * @param engine an engine
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return as dnnl_tp_sync_devices(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_engine(dnnl_tp_engine_t engine, int64_t timeout_ns);

/** As dnnl_tp_sync_devices() for the work that can touch a memory: that of the streams of its engine.
 * Thread-safe.
 *
 * @param memory a memory
 * @param timeout_ns nanoseconds; < 0 = no limit, 0 = do not wait
 * @return as dnnl_tp_sync_devices(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sync_memory(dnnl_tp_memory_t memory, int64_t timeout_ns);

/* ---- Timing ------------------------------------------------------------------------------------------ */

/** How often dnnl_tp_primitive_timed_run() and dnnl_tp_executable_timed_run() run; zeroed members mean
 * defaults. */
typedef struct {
    size_t struct_size;  /**< sizeof(dnnl_tp_timed_run_opts_t) */
    int cold_runs;       /**< First runs that do not count as warm; 0 = 3. */
    int min_warm_runs;   /**< At least so many warm runs; 0 = 10. */
    int max_warm_runs;   /**< At most so many; 0 = 10000. */
    int64_t min_time_ns; /**< Warm runs go on for so long, within these counts; 0 = 100 ms. */
} dnnl_tp_timed_run_opts_t;

/** What a timed run found, in nanoseconds. Times of single runs are those of its events: taken by the thread
 * that did the work, from its begin to its end, without submission, queueing and waiting; on a GPU the device's. */
typedef struct {
    size_t struct_size;  /**< sizeof(dnnl_tp_timing_t), set by the caller */
    int cold_runs;       /**< Runs before the warm ones. */
    int warm_runs;       /**< Warm runs. */
    int64_t first_ns;    /**< The very first run: cold caches, first touch of memory, threads asleep. */
    int64_t cold_max_ns; /**< The longest cold run. */
    int64_t min_ns;      /**< The shortest warm run. */
    int64_t median_ns;   /**< Median of the warm runs. */
    int64_t mean_ns;     /**< Mean of the warm runs. */
    int64_t p90_ns;      /**< Nine of ten warm runs are not longer. */
    int64_t max_ns;      /**< The longest warm run. */
    int64_t wall_ns; /**< Wall time per warm run as the caller sees it: first submission to last completion,
                        divided by the runs. */
} dnnl_tp_timing_t;

/** Times a primitive: waits until the stream is idle, runs it again and again, and waits. On an asynchronous
 * stream several runs are in flight, as they would be in use. Thread-compatible.
 *
 * @param primitive a primitive
 * @param stream used by no other thread meanwhile
 * @param nargs number of entries of args
 * @param args as for dnnl_tp_primitive_execute_handles()
 * @param opts NULL = defaults
 * @param[in,out] timing struct_size set by the caller; the rest is written on success
 * @return success; what dnnl_tp_primitive_execute_handles() and waiting for the stream return (would_deadlock
 *     from inside running work); invalid_arguments (struct_size, negative members). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_timed_run(const_dnnl_tp_primitive_t primitive,
                                                             dnnl_tp_stream_t stream, int nargs,
                                                             const dnnl_tp_exec_handle_t *args,
                                                             const dnnl_tp_timed_run_opts_t *opts,
                                                             dnnl_tp_timing_t *timing);

#ifdef __cplusplus
}
#endif

#endif
