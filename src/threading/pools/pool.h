/* Pool records: the library's side of one pool, shared by all streams that use the pool.
 *
 * A record owns the table of shared loops, the tickets and the pending work. Streams, engines and
 * every call that is still queued in the host's pool hold references to it, so late calls access
 * library memory only. */
#ifndef DTP_THREADING_POOLS_POOL_H
#define DTP_THREADING_POOLS_POOL_H

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "threading/base/parallel.h"

typedef struct dtp_pool dtp_pool_t;

void dtp_pool_retain(dtp_pool_t *pool);
void dtp_pool_release(dtp_pool_t *pool); /* NULL is allowed */
/* Number of threads that the pool may occupy, 1..DTP_MAX_THREADS; read once, when the record is
 * made. */
int dtp_pool_num_threads(const dtp_pool_t *pool);
uint64_t dtp_pool_flags(const dtp_pool_t *pool);

/* Whether this thread is inside a run, an item or a call of the library. Then waiting for others
 * could hang. */
bool dtp_thread_is_inside(void);

/* The work of a run (dtp_pool_run_share). */
typedef void (*dtp_run_fn_t)(void *arg, const dtp_parallel_t *par);
/* Flags of a run. */
enum { DTP_RUN_ADMITTED = 1 };
/* Whether pending work of the pool waits for a ticket; false for NULL. */
bool dtp_pool_is_wanted(const dtp_pool_t *pool);
/* First member of dtp_pool: the rarely written fields that code outside src/threading reads on hot
 * paths. */
typedef struct {
    /* Number of runs that may pass others and wait for tickets. */
    _Atomic uint32_t n_short;
} dtp_pool_front_t;
/* Whether a run waits that may pass others; false for NULL. */
static inline bool dtp_pool_has_short(const dtp_pool_t *pool) {
    const dtp_pool_front_t *front = (const dtp_pool_front_t *)(const void *)pool;
    return front && DTP_UNLIKELY(atomic_load_explicit(&front->n_short, memory_order_relaxed));
}
/* Called by the owner of a run of ns, between two pieces of its work: lets waiting runs pass that
 * are much shorter and have at least its priority. It does so at intervals, and the run loses at
 * most a third of its time (lane.h). */
void dtp_pool_let_pass(dtp_pool_t *pool, int64_t ns, int priority);
/* One run of a graph. Calls fn(arg, par) exactly once, on this thread or, if all tickets are taken,
 * on a thread that holds one; returns when fn has returned. par carries a team: joiners enter the
 * caller's pool once for the whole run and stay in the claim loop between its loops. pool NULL: fn
 * runs here with one thread. priority: the run comes before waiting runs of lower priority. share:
 * the run's, or NULL; when it is over, the wait for a ticket ends, and fn may not be called at all.
 * If the run rests when fn returns (threading/base/sleeper.h), it is not over: this function waits
 * for it without a ticket, and fn is called again, possibly on another thread; when share is over
 * it is called here, with one thread. flags without ADMITTED: no ticket, and fn always runs here.
 * Errors: runtime_error if the host's run_begin refused (fn was not called). */
dnnl_tp_status_t dtp_pool_run_share(dtp_pool_t *pool, int num_threads, unsigned flags, int priority,
                                    const dtp_share_t *share, dtp_run_fn_t fn, void *arg);
static inline dnnl_tp_status_t dtp_pool_run_at(dtp_pool_t *pool, int num_threads, unsigned flags,
                                               int priority, dtp_run_fn_t fn, void *arg) {
    return dtp_pool_run_share(pool, num_threads, flags, priority, NULL, fn, arg);
}
static inline dnnl_tp_status_t dtp_pool_run(dtp_pool_t *pool, int num_threads, bool admission,
                                            dtp_run_fn_t fn, void *arg) {
    return dtp_pool_run_at(pool, num_threads, admission ? DTP_RUN_ADMITTED : 0, 0, fn, arg);
}
/* Calls the host's run_begin if the host wants it for this run; *begun: dtp_pool_end_run must
 * follow. waits: the caller waits for the run, and ends it. */
dnnl_tp_status_t dtp_pool_begin_run(dtp_pool_t *pool, bool waits, void **cookie, bool *begun);
/* Calls the host's run_end, which calls done(arg) once, now or later; false: never. may_block: as
 * in run_end; hosts with SINGLE_CALLER get false. */
bool dtp_pool_end_run(dtp_pool_t *pool, void *cookie, dnnl_tp_status_t status, bool may_block,
                      dnnl_tp_task_fn_t done, void *arg);

#endif
