/* Pool records: the library's side of one distinct caller's pool, shared by all streams that use it.
 *
 * A record owns the table of shared loop descriptors, the run tickets and the queue of published runs. It is
 * reference-counted by streams, engines and by every call still queued in the host's pool, so late calls
 * touch library memory only. */
#ifndef DTP_THREADING_POOLS_POOL_H
#define DTP_THREADING_POOLS_POOL_H

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "threading/base/parallel.h"

typedef struct dtp_pool dtp_pool_t;

void dtp_pool_retain(dtp_pool_t *pool);
void dtp_pool_release(dtp_pool_t *pool); /* NULL is allowed */
/* Threads the pool may occupy, 1..DTP_MAX_THREADS; read once at acquisition. */
int dtp_pool_num_threads(const dtp_pool_t *pool);
uint64_t dtp_pool_flags(const dtp_pool_t *pool);

/* Is this thread inside a run, an item or a call of the library? Then waiting for others could hang. */
bool dtp_thread_is_inside(void);

/* One run of a graph. Calls fn(arg, par) exactly once, on this thread or, when all tickets are taken, on a
 * thread that holds one; returns when fn returned. par carries a team: joiners enter the caller's pool once
 * for the whole run and stay in the claim loop between its loops. pool NULL: fn runs here with one thread.
 * share: of the run, or NULL: once it is over the wait for a ticket ends, and fn may not be called at all.
 * A run that rests when fn returns (threading/base/sleeper.h) is not over: it is waited for here, without a ticket,
 * and fn is called again, maybe on another thread; once share is over it is called here, with one thread. flags
 * without ADMITTED: no ticket, always here. Errors: runtime_error when the host's run_begin refused (fn was not
 * called). */
typedef void (*dtp_run_fn_t)(void *arg, const dtp_parallel_t *par);
/* priority: before waiting runs of lower priority. */
enum { DTP_RUN_ADMITTED = 1 };
/* Does pending work of the pool wait for a ticket? NULL: no. */
bool dtp_pool_is_wanted(const dtp_pool_t *pool);
/* Begins the record of a pool: what those look at all the time who know no more of it, and what hardly changes. */
typedef struct {
    _Atomic uint32_t n_short; /* runs that may pass others and wait for tickets */
} dtp_pool_front_t;
/* The owner of a run of ns, between two pieces of its work: lets runs pass that wait, are much shorter and of its priority at
 * least; now and then, so that it loses a third of its time at most (lane.h). pool NULL: there are none. */
static inline bool dtp_pool_has_short(const dtp_pool_t *pool) {
    const dtp_pool_front_t *front = (const dtp_pool_front_t *)(const void *)pool;
    return front && DTP_UNLIKELY(atomic_load_explicit(&front->n_short, memory_order_relaxed));
}
void dtp_pool_let_pass(dtp_pool_t *pool, int64_t ns, int priority);
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
/* The host's run_begin, if the host is to be told of the run; *begun: then dtp_pool_end_run follows.
 * waits: the caller waits for the run, and ends it. */
dnnl_tp_status_t dtp_pool_begin_run(dtp_pool_t *pool, bool waits, void **cookie, bool *begun);
/* The host's run_end, which calls done(arg) now or later, once; false: never. may_block: as there;
 * a host with SINGLE_CALLER is told false. */
bool dtp_pool_end_run(dtp_pool_t *pool, void *cookie, dnnl_tp_status_t status, bool may_block,
                      dnnl_tp_task_fn_t done, void *arg);

#endif
