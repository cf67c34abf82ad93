/* Loops of work that is watched: every chunk of a helper leaves a record on the helper's lane of the trace, and
 * the helper is counted among the participants of the run. What the thread of the loop itself does is part of
 * the work's own record. */
#include "threading/base/futex.h"
#include "trace/trace.h"

typedef struct {
    uintptr_t key; /* that of arg, if nothing is known of the cost */
    dtp_loop_fn_t fn;
    void *arg;
    const dtp_trace_work_t *work;
    uintptr_t opener;
} loop_t;

void dtp_participants_add(dtp_participants_t *participants) {
    uintptr_t key = dtp_thread_key();
    for (int i = 0; i < DTP_MAX_THREADS; ++i) {
        uintptr_t there = 0;
        if (atomic_compare_exchange_strong_explicit(&participants->thread[i], &there, key,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            atomic_fetch_add_explicit(&participants->count, 1, memory_order_relaxed);
            return;
        }
        if (there == key) return;
    }
}

static void run_chunk(void *arg, int slot, int64_t begin, int64_t end) {
    const loop_t *loop = arg;
    if (dtp_thread_key() == loop->opener) {
        loop->fn(loop->arg, slot, begin, end);
        return;
    }
    if (loop->work->participants) dtp_participants_add(loop->work->participants);
    if (!loop->work->trace) {
        loop->fn(loop->arg, slot, begin, end);
        return;
    }
    dtp_trace_event_t event = loop->work->event;
    event.kind = dnnl_tp_trace_help;
    event.slot = (uint16_t)slot;
    event.stream = 0;
    event.wait_ns = 0;
    event.begin_ns = dtp_now_ns();
    loop->fn(loop->arg, slot, begin, end);
    event.end_ns = dtp_now_ns();
    dtp_trace_add(loop->work->trace, &event);
}

static void share(const dtp_watched_t *self, const dtp_parallel_t *par, int64_t n, int64_t grain,
                  dtp_loop_fn_t fn, void *arg) {
    const dtp_trace_work_t *work = (const dtp_trace_work_t *)self;
    const uintptr_t key = grain == DTP_GRAIN_UNKNOWN ? *(const uintptr_t *)arg : (uintptr_t)fn;
    loop_t loop = {key, fn, arg, work, dtp_thread_key()};
    dtp_parallel_share(par, n, grain, run_chunk, &loop);
}

dtp_parallel_t dtp_trace_loops(dtp_trace_work_t *work, const dtp_parallel_t *par) {
    dtp_parallel_t watched = *par;
    work->watched.share = share;
    if (par->num_threads > 1) watched.watch = &work->watched;
    return watched;
}
