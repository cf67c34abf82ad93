/* A line: a CUDA stream, and what the library must do when it has come so far.
 *
 * Work is submitted to the CUDA stream and leaves nothing on the host. A mark stands where the host wants to know: behind a run of a
 * graph, at an event, where somebody waits. It is a CUDA event, a number (seq), and what is to be done once: `end` of a run, a
 * dnnl_tp_event that fires, a record of a trace. The marks of a line are a list, oldest first.
 *
 *   submit    under submit_lock: records the CUDA event, then appends the mark (lock), then, for events and runs, asks the driver to
 *             call `heard` on an auxiliary stream behind it, so that the line itself never waits for a callback. Waits for events,
 *             stamps and words of findings are submitted under submit_lock, too, so that what stands in front of a mark in the stream
 *             stands in front of it in the lists: dnnl_tp_sync_devices makes marks while others submit. Executions take `order`
 *             among themselves, but no lock of marks: `dirty` falls before the mark is recorded and rises behind the launch, so what a mark may not cover is dirty.
 *             Who finds a clean line takes submit_lock once: the mark for which dirty fell is in the list then.
 *   done      the highest seq that the device is known to have passed: raised by `heard`, or by whoever queried or waited for the
 *             CUDA event of a mark. All marks up to it are done, since a stream is in order.
 *   settle    one thread at a time pops marks up to done, and does what they ask without any lock; completed follows. Who finds another
 *             thread settling goes away: that one looks at done again before it stops. A mark behind an event of another line of the
 *             device is popped once that event has fired: the device has passed it, so it is settled first, or by whoever is
 *             settling it; its firing settles this line.
 *   wait      until completed has reached a seq: helps an event of the host for which the line waits, else queries, then sleeps in the
 *             driver on the mark's CUDA event, then settles. While another thread settles that mark, it sleeps on `changed`: never in
 *             the driver on a later mark, for which the stream may wait longer than the caller asked.
 *   lost      after a sticky error nothing comes any more and `heard` is not called: whoever looks next (wait, query, poll, close)
 *             raises done to the end; what settles then fails with the device's text.
 *
 * Invariants: order before submit_lock before lock; no call of the driver under lock, since a full queue of the driver may wait for `heard`, which
 * takes it; a mark in the list was recorded; each mark settles once, in order; `heard` calls no driver. Nobody depends on `heard`:
 * waiting and polling get along without it. What uses the driver goes when the stream is closed (dtp_gpu_line_close), which waits for
 * the threads that look at a mark (`lookers`); the memory of the line goes with its last reference: events hold lines, lines the memory
 * of their device.
 *
 * A CUDA stream that is being captured takes executions alone: whatever records an event, waits, allocates or asks how far the stream
 * has come is refused, since it would end the capture, or never be answered.
 *
 * An event of the host (or of another kind of engine) that a line waits for writes a word of pinned memory, which the CUDA stream
 * awaits (cuStreamWaitValue32). Work behind an event that fails runs all the same, since the device cannot skip it; it is reported as
 * failed: the poison holds for marks behind the wait. */
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

/* What is done once a mark has been passed. */
typedef struct {
    dtp_event_t *event;          /* gets the mark's seq, and fires: a reference that is the mark's, or NULL */
    const dtp_stream_run_t *run; /* its `end` is called first; copied; or NULL */
    const dtp_trace_work_t
        *traced;    /* recorded with the times in traced->event; copied; trace retained; or NULL */
    int64_t *times; /* with traced: begin and end, stamps; owned, dtp_free(NULL) */
} dtp_gpu_mark_t;

struct dtp_gpu_line {
    dtp_gpu_t *gpu;
    dnnl_tp_engine_t engine; /* retained until close */
    dtp_cu_stream_t stream, aux;
    bool owns_stream;
    _Atomic bool dirty; /* something may have been submitted behind the last mark */
    _Atomic int refs;
    pthread_mutex_t submit_lock, lock;
    pthread_cond_t changed; /* completed, callbacks */
    uint64_t submitted;     /* seq of the last mark; written under both locks */
    /* Under lock: */
    struct mark *head, **end, *free;
    uint64_t done;
    _Atomic uint64_t completed;
    int callbacks; /* calls of `heard` that the driver owes */
    int lookers; /* threads that use the line, or hold one of its marks, without being in the list or in `heard` */
    bool settling;
    _Atomic bool lost;             /* written under lock */
    uint32_t generation, poisoned; /* marks of generation `poisoned` behind poison_from fail */
    uint64_t poison_from;
    dnnl_tp_status_t poison;
    char text[DTP_EVENT_TEXT];
    struct awaited *awaited, **awaited_end; /* events that the stream waits for, in order */
    _Atomic int num_awaited;
    dtp_gpu_pinned_t *flag_block; /* of the words that they write */
    _Atomic uint32_t *flags;
    uint16_t free_flag[256];
    int free_flags;
    struct stamp *stamps, **stamps_end, *free_stamps; /* times that the stream writes, in order */
    struct stamp_chunk *stamp_chunks;
    int64_t latest_ns;  /* the last time that was written */
    int64_t item_ns[2]; /* profiles: when the last item that has settled began and ended */
    /* Of those who submit marks and copies: under submit_lock. */
    struct mark *fetched;   /* holds what kernels found, but could not be recorded: it is the next mark */
    struct mark *marks;     /* all that were made */
    dtp_data_error_t *word; /* on the device: of executions outside runs; NULL: none has checked data */
    bool word_used;
    struct stage *stages;    /* pinned memory of copies: gpu_copy.c */
    _Atomic uint64_t staged; /* the last of them is done when completed has reached it */
    /* Of executions and stamps: under order. */
    dtp_lock_t order;
    dtp_cu_function_t stamp_kernel; /* NULL: not needed yet */
    char *scratch;
    size_t scratch_bytes;
    struct kept_scratch
        *kept;              /* of a shared line, until it is closed: a graph that was captured may use it */
    _Atomic bool in_item;   /* profiles: an item has begun and not ended */
    bool profiles;          /* items are between stamps; constant */
    _Atomic bool is_shared; /* the program has the CUDA stream: it may capture it */
    dtp_gpu_line_t *prev_line, *next_line; /* of all streams */
};

/* stream NULL and own: a new one. The context is current. */
dnnl_tp_status_t dtp_gpu_line_create(dtp_gpu_line_t **line, dnnl_tp_engine_t engine, bool own,
                                     dtp_cu_stream_t stream);
/* Everything is completed. Frees what is the driver's; the caller's reference goes. */
void dtp_gpu_line_close(dtp_gpu_line_t *line);
void dtp_gpu_line_release(void *line);
static inline void dtp_gpu_line_dirty(dtp_gpu_line_t *line) {
    atomic_store_explicit(&line->dirty, true, memory_order_relaxed);
}

/* A line that is not closed yet stays open until dtp_gpu_line_unlook. */
void dtp_gpu_line_look(dtp_gpu_line_t *line);
void dtp_gpu_line_unlook(dtp_gpu_line_t *line);

/* A mark behind what was submitted so far. what NULL: only to wait for. On failure nothing of `what` happens. */
dnnl_tp_status_t dtp_gpu_line_mark(dtp_gpu_line_t *line, const dtp_gpu_mark_t *what, uint64_t *seq);
/* STREAM_CAPTURED where the CUDA stream is being captured. The context is current. */
dnnl_tp_status_t dtp_gpu_line_not_captured(dtp_gpu_line_t *line);
/* The seq of the last mark. */
uint64_t dtp_gpu_line_submitted(dtp_gpu_line_t *line);
/* A mark at the end, unless one stands there. */
dnnl_tp_status_t dtp_gpu_line_fence(dtp_gpu_line_t *line, uint64_t *seq);
/* Where no mark could be made, or none be looked at: until the device has passed all that was submitted. */
void dtp_gpu_line_finish(dtp_gpu_line_t *line);
/* Without waiting: settles what the device has passed. */
dnnl_tp_status_t dtp_gpu_line_poll(dtp_gpu_line_t *line);
/* success, timed_out, would_deadlock, poisoned (the parent's); says nothing of what settled. */
dnnl_tp_status_t dtp_gpu_line_wait(dtp_gpu_line_t *line, uint64_t seq, int64_t until_ns);
/* The first error of this generation, as the last error; and a new generation. */
dnnl_tp_status_t dtp_gpu_line_result(dtp_gpu_line_t *line);
void dtp_gpu_line_reset(dtp_gpu_line_t *line);
/* What is submitted later waits for the event. */
dnnl_tp_status_t dtp_gpu_line_await(dtp_gpu_line_t *line, dtp_event_t *event);
/* Events of lines: source is the line, seq its mark. */
extern const dtp_event_vtbl_t dtp_gpu_event;
/* A copy in the order of the stream, also where that waits for the host. The context is current. */
dnnl_tp_status_t dtp_gpu_line_copy(dtp_gpu_line_t *line, dtp_copy_t how, void *to, const void *from,
                                   size_t bytes);
/* The next mark that settles writes to *ns when the stream had come so far, by the device's clock, in CLOCK_MONOTONIC. The context is
 * current. */
dnnl_tp_status_t dtp_gpu_line_stamp(dtp_gpu_line_t *line, int64_t *ns);
/* Nothing is written any more to these n. */
void dtp_gpu_line_forget_stamps(dtp_gpu_line_t *line, const int64_t *ns, int n);

#endif
