/* The CPU stream: types that cpu_stream.c (life, synchronous execution) and cpu_submit.c
 * (submission blocks) share.
 *
 * Any number of threads may be inside a stream at once: each has a seat
 * (threading/streams/seats.h) until its call returns. Calls that change the stream (another
 * pool, another trace, destruction) close the seats, and are refused while another thread has
 * one.
 *
 * Synchronous: each execution computes with the scratch of its seat; the stream keeps as many as
 * there were threads at the same time. Runs of graphs have their own memory.
 *
 * Asynchronous: an execution becomes an item of the queue (threading/streams/queue.h), and the
 * seat only says that the thread is inside. Items run one at a time, so there is one arena,
 * which only the owner of the queue's turn accesses. `promised` is a size that the arena has, or
 * will have when everything submitted before has run: a submitter that needs more brings
 * the memory with its block (`grown`), which installs it when it runs, unless the arena is
 * larger by then. The promise is raised after the block has its place in the order, so an
 * item that relies on it comes after that block. */
#ifndef DTP_CPU_ENGINE_CPU_STREAM_H
#define DTP_CPU_ENGINE_CPU_STREAM_H

#include "cpu/engine/cpu_engine.h"

#include "threading/streams/queue.h"
#include "threading/streams/seats.h"

struct cpu_block;
struct cpu_run_block;

typedef struct {
    struct dnnl_tp_stream base;
    dtp_parallel_t par;      /* pool and the most threads of a primitive; pool retained */
    int run_threads;         /* the same of a run of a graph */
    dtp_queue_t *queue;      /* NULL: synchronous */
    _Atomic size_t promised; /* bytes of the arena */
    char *arena;             /* scratch of items */
    size_t arena_bytes;
    dtp_lock_t free_lock;
    struct cpu_block *free;
    struct cpu_run_block *free_runs;
    dtp_seats_t seats;
    _Atomic bool given_away; /* the thread that leaves the last seat ends it */
} dtp_cpu_stream_t;

static inline dnnl_tp_status_t dtp_cpu_stream_enter(dtp_cpu_stream_t *s, dtp_seat_t **seat) {
    *seat = &s->seats.first;
    return DTP_LIKELY(dtp_seat_take_first(&s->seats))
               ? dnnl_tp_success
               : dtp_seat_take_more(&s->seats, s->base.engine->allocator, seat);
}

/* The threads of an execution: the stream's, or fewer in *own where the primitive was made for
 * fewer. */
const dtp_parallel_t *dtp_cpu_stream_fewer(const dtp_cpu_stream_t *s, int num_threads, dtp_parallel_t *own);
static inline const dtp_parallel_t *
dtp_cpu_stream_parallel(const dtp_cpu_stream_t *s, const dtp_primitive_t *primitive, dtp_parallel_t *own) {
    const int n = primitive->pd->num_threads;
    return DTP_LIKELY(n == s->par.num_threads) ? &s->par : dtp_cpu_stream_fewer(s, n, own);
}

/* Of asynchronous streams, by a thread with a seat (cpu_submit.c). */
dnnl_tp_status_t dtp_cpu_submit(dtp_cpu_stream_t *s, const dtp_primitive_t *primitive, int nptrs,
                                void *const *ptrs, const dtp_md_t *const *mds);
/* event: of the next item. */
dnnl_tp_status_t dtp_cpu_submit_run(dtp_cpu_stream_t *s, const dtp_stream_run_t *run, dnnl_tp_event_t event);
/* An item without work, whose turn comes when the event is done. */
dnnl_tp_status_t dtp_cpu_submit_wait(dtp_cpu_stream_t *s, dnnl_tp_event_t event);
/* An item without work, for dtp_queue_hold; NULL: no memory. */
dtp_submission_t *dtp_cpu_make_place(dtp_cpu_stream_t *s);
void dtp_cpu_free_blocks(dtp_cpu_stream_t *s);

#endif
