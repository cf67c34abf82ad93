/* A line: a CUDA stream, and the work of the library that is due when the stream has reached
 * certain points.
 *
 * Work is submitted to the CUDA stream and leaves nothing on the host. A mark is placed where the
 * host needs to know the progress: after a run of a graph, at an event, at the point for which a
 * thread waits. A mark is a CUDA event, a number (seq), and work that is done once: the `end` of a
 * run, a dnnl_tp_event that fires, a record of a trace. The marks of a line are a list, oldest
 * first.
 *
 *   submit    under submit_lock: records the CUDA event, then appends the mark (lock), then, for
 *             events and runs, asks the driver to call `heard` on an auxiliary stream after it, so
 *             that the line itself never waits for a callback. Waits for events, stamps and words
 *             of findings are submitted under submit_lock, too, so that everything before a mark in
 *             the stream is before it in the lists: dnnl_tp_sync_devices makes marks while others
 *             submit. Executions take `order` among themselves, but no lock of marks: `dirty` is
 *             cleared before the mark is recorded and set after the launch, so work that a mark may
 *             not cover makes the line dirty. A thread that finds a clean line takes submit_lock
 *             once: after that, the mark for which dirty was cleared is in the list.
 *   done      the highest seq that the device is known to have passed: raised by `heard`, or by a
 *             thread that queried or waited for the CUDA event of a mark. All marks up to it are
 *             done, because a stream is in order.
 *   settle    one thread at a time pops marks up to done, and does their work without any lock;
 *             completed follows. A thread that finds another thread settling leaves: that one
 *             checks done again before it stops. A mark after an event of another line of the
 *             device is popped after that event has fired. The device has passed the event, so it
 *             is settled first, here or by the thread that is settling it; when it fires, it
 *             settles this line.
 *   wait      until completed has reached a seq: helps a host event for which the line waits, else
 *             queries, then sleeps in the driver on the mark's CUDA event, then settles. While
 *             another thread settles that mark, it sleeps on `changed`: never in the driver on a
 *             later mark, for which the stream may wait longer than the caller asked.
 *   lost      after a sticky error nothing completes any more and `heard` is not called: the next
 *             call (wait, query, poll, close) raises done to the end; the marks that settle then
 *             fail with the device's text.
 *
 * Invariants: order before submit_lock before lock. No call of the driver under lock, because a
 * full queue of the driver may wait for `heard`, which takes it. A mark in the list was recorded.
 * Each mark settles once, in order. `heard` does not call the driver. Nothing depends on `heard`:
 * waits and polls work without it. Resources of the driver are released when the stream is closed
 * (dtp_gpu_line_close), which waits for the threads that look at a mark (`lookers`). The memory of
 * the line is freed with its last reference: events hold lines, lines hold the memory of their
 * device.
 *
 * A CUDA stream that is being captured accepts executions only: calls that record an event, wait,
 * allocate or query progress are refused, because they would end the capture, or never be answered.
 *
 * If a line waits for a host event (or an event of another kind of engine), the event writes a word
 * of pinned memory, for which the CUDA stream waits (cuStreamWaitValue32). Work after an event that
 * fails runs all the same, because the device cannot skip it; it is reported as failed: the poison
 * holds for marks after the wait. */
#ifndef DTP_GPU_ENGINE_GPU_LINE_H
#define DTP_GPU_ENGINE_GPU_LINE_H

#include "gpu/engine/gpu_engine.h"
#include "threading/streams/event.h"
#include "trace/primitive.h"

typedef struct dtp_gpu_line dtp_gpu_line_t;

/* Scratch that was too small. */
struct kept_scratch {
    struct kept_scratch *next;
    void *scratch;
};

/* The work that is done after the device has passed a mark. */
typedef struct {
    /* Gets the mark's seq, and fires. The mark owns the reference. May be NULL. */
    dtp_event_t *event;
    /* Its `end` is called first; copied. May be NULL. */
    const dtp_stream_run_t *run;
    /* Recorded with the times in traced->event; copied; the trace is retained. May be NULL. */
    const dtp_trace_work_t *traced;
    /* With traced: stamps of begin and end; owned, freed by dtp_free(NULL). */
    int64_t *times;
} dtp_gpu_mark_t;

struct dtp_gpu_line {
    dtp_gpu_t *gpu;
    /* Retained until close. */
    dnnl_tp_engine_t engine;
    dtp_cu_stream_t stream, aux;
    bool owns_stream;
    /* Work may have been submitted after the last mark. */
    _Atomic bool dirty;
    _Atomic int refs;
    pthread_mutex_t submit_lock, lock;
    /* Signalled when completed or callbacks change. */
    pthread_cond_t changed;
    /* seq of the last mark; written under both locks. */
    uint64_t submitted;
    /* Under lock: */
    struct mark *head, **end, *free;
    uint64_t done;
    _Atomic uint64_t completed;
    /* Number of calls of `heard` that the driver has not made yet. */
    int callbacks;
    /* Number of threads that use the line, or hold one of its marks, without being in the list or
     * in `heard`. */
    int lookers;
    bool settling;
    /* Written under lock. */
    _Atomic bool lost;
    /* Marks of generation `poisoned` after poison_from fail. */
    uint32_t generation, poisoned;
    uint64_t poison_from;
    dnnl_tp_status_t poison;
    char text[DTP_EVENT_TEXT];
    /* The events for which the stream waits, in order. */
    struct awaited *awaited, **awaited_end;
    _Atomic int num_awaited;
    /* Memory of the words that these events write. */
    dtp_gpu_pinned_t *flag_block;
    _Atomic uint32_t *flags;
    uint16_t free_flag[256];
    int free_flags;
    /* The times that the stream writes, in order. */
    struct stamp *stamps, **stamps_end, *free_stamps;
    struct stamp_chunk *stamp_chunks;
    /* The last time that was written. */
    int64_t latest_ns;
    /* With profiles: begin and end of the last item that has settled. */
    int64_t item_ns[2];
    /* For the submission of marks and copies, under submit_lock: */
    /* It has findings of kernels, but could not be recorded: it is the next mark. */
    struct mark *fetched;
    /* All marks that were made. */
    struct mark *marks;
    /* On the device, for executions outside runs; NULL: none has checked data. */
    dtp_data_error_t *word;
    bool word_used;
    /* Pinned memory of copies: gpu_copy.c. */
    struct stage *stages;
    /* The last of these copies is done when completed has reached it. */
    _Atomic uint64_t staged;
    /* For executions and stamps, under order: */
    dtp_lock_t order;
    /* NULL: it was not needed yet. */
    dtp_cu_function_t stamp_kernel;
    char *scratch;
    size_t scratch_bytes;
    /* Old scratch of a shared line, kept until close because a captured graph may use it. */
    struct kept_scratch *kept;
    /* With profiles: an item has begun and not ended. */
    _Atomic bool in_item;
    /* Items are between stamps; constant. */
    bool profiles;
    /* The program has the CUDA stream and may capture it. */
    _Atomic bool is_shared;
    /* List of all streams. */
    dtp_gpu_line_t *prev_line, *next_line;
};

/* stream NULL and own: makes a new stream. The context is current. */
dnnl_tp_status_t dtp_gpu_line_create(dtp_gpu_line_t **line, dnnl_tp_engine_t engine, bool own,
                                     dtp_cu_stream_t stream);
/* Called when everything is completed. Frees the resources of the driver, and drops the caller's
 * reference. */
void dtp_gpu_line_close(dtp_gpu_line_t *line);
void dtp_gpu_line_release(void *line);
static inline void dtp_gpu_line_dirty(dtp_gpu_line_t *line) {
    atomic_store_explicit(&line->dirty, true, memory_order_relaxed);
}

/* Keeps a line that is not closed yet open until dtp_gpu_line_unlook. */
void dtp_gpu_line_look(dtp_gpu_line_t *line);
void dtp_gpu_line_unlook(dtp_gpu_line_t *line);

/* Makes a mark after everything submitted so far. what NULL: for waits only. On failure no work of
 * `what` happens. */
dnnl_tp_status_t dtp_gpu_line_mark(dtp_gpu_line_t *line, const dtp_gpu_mark_t *what, uint64_t *seq);
/* Fails with STREAM_CAPTURED if the CUDA stream is being captured. The context is current. */
dnnl_tp_status_t dtp_gpu_line_not_captured(dtp_gpu_line_t *line);
/* The seq of the last mark. */
uint64_t dtp_gpu_line_submitted(dtp_gpu_line_t *line);
/* Makes a mark at the end, unless there is one. */
dnnl_tp_status_t dtp_gpu_line_fence(dtp_gpu_line_t *line, uint64_t *seq);
/* Waits until the device has passed everything submitted, for cases in which no mark can be made or
 * queried. */
void dtp_gpu_line_finish(dtp_gpu_line_t *line);
/* Settles the marks that the device has passed, without waiting. */
dnnl_tp_status_t dtp_gpu_line_poll(dtp_gpu_line_t *line);
/* success, timed_out, would_deadlock, poisoned (a line of the parent); independent of the results
 * of the marks. */
dnnl_tp_status_t dtp_gpu_line_wait(dtp_gpu_line_t *line, uint64_t seq, int64_t until_ns);
/* dtp_gpu_line_result gives the first error of this generation and sets its text;
 * dtp_gpu_line_reset begins a new generation. */
dnnl_tp_status_t dtp_gpu_line_result(dtp_gpu_line_t *line);
void dtp_gpu_line_reset(dtp_gpu_line_t *line);
/* Makes work that is submitted later wait for the event. */
dnnl_tp_status_t dtp_gpu_line_await(dtp_gpu_line_t *line, dtp_event_t *event);
/* Events of lines: source is the line, seq its mark. */
extern const dtp_event_vtbl_t dtp_gpu_event;
/* Copies in the order of the stream, even if the stream waits for the host. The context is current.
 */
dnnl_tp_status_t dtp_gpu_line_copy(dtp_gpu_line_t *line, dtp_copy_t how, void *to, const void *from,
                                   size_t bytes);
/* The next mark that settles writes to *ns the time, by the device's clock, at which the stream
 * reached this point, in CLOCK_MONOTONIC. The context is current. */
dnnl_tp_status_t dtp_gpu_line_stamp(dtp_gpu_line_t *line, int64_t *ns);
/* Nothing is written to these n places any more. */
void dtp_gpu_line_forget_stamps(dtp_gpu_line_t *line, const int64_t *ns, int n);

#endif
