/* The blocking crew of a built-in pool: threads for closures that sleep (DNNL_TP_HOST_MAY_BLOCK),
 * in addition to the W threads that compute. The dataflow engine's part:
 * exec/dataflow/run/blocking.c.
 *
 * A pool with blocking_threads = B has W workers, W tickets, and B threads that hold no ticket.
 * These run nodes that may block, at most B at a time; further nodes wait as ready nodes of their
 * run.
 *
 * ---- Tickets and waits ------------------------------------------------------------------------------------
 *
 * (1) Only threads that compute hold tickets, or threads that wait for chunks that such threads
 * have begun. A closure of the crew runs without a ticket, and its end needs none: its node comes
 * back as every pending node does (exec/dataflow/run/pending.c). (2) A run that has nothing to do
 * while closures are in progress rests (threading/base/sleeper.h): it holds no ticket and no thread
 * of the pool, and waits for its turn when there is work again. (3) So there is no circle: a thread
 * that holds a ticket returns it after computing; a closure waits for whatever the program chooses.
 * While k <= B closures sleep, W tickets and W workers serve all other work. (4) A run inside a
 * closure of the crew waits for a ticket before all other pending work. A run inside any other work
 * never uses the crew; its closures run on the thread that meets them, as on pools without a crew.
 * The reason: its thread may have a place in the line for which the closures would then wait, or a
 * ticket of another pool.
 *
 * ---- The line ---------------------------------------------------------------------------------------------
 *
 * Everything here, and the list of nodes in exec/dataflow/run/blocking.c, is protected by one lock;
 * foreign code is called without it. A job is either linked into the line or not. Its fn is called
 * with the lock held by the thread that unlinked it, and returns with the lock held; it may link
 * the job again. A thread, under the lock, takes a job or, if there is none, does: idle + 1, read
 * wake_word, unlock, sleep on it. Linking a job, under the lock: if idle > 0, wake_word + 1, and
 * wake one thread after unlocking. If the wake word changes between read and sleep, the thread
 * stays awake, so no wake-up is lost; a thread that has finished a job looks for another one before
 * it sleeps. */
#ifndef DTP_THREADING_POOLS_BLOCKING_H
#define DTP_THREADING_POOLS_BLOCKING_H

#include "threading/pools/pool.h"

typedef struct dtp_blocking dtp_blocking_t;
typedef struct dtp_blocking_job {
    struct dtp_blocking_job *next;
    void (*fn)(struct dtp_blocking_job *job, dtp_blocking_t *crew, int thread); /* thread: 0 .. B - 1 */
} dtp_blocking_job_t;

/* The crew for the run of par, whose owner calls; NULL: closures run on the threads that meet them.
 */
dtp_blocking_t *dtp_blocking_of(const dtp_parallel_t *par);
void dtp_blocking_lock(dtp_blocking_t *crew);
void dtp_blocking_unlock(dtp_blocking_t *crew);
/* Appends the job to the line; under the lock. True: call dtp_blocking_wake after unlocking. */
bool dtp_blocking_link(dtp_blocking_t *crew, dtp_blocking_job_t *job);
/* Takes a linked job out; under the lock. */
void dtp_blocking_unlink(dtp_blocking_t *crew, dtp_blocking_job_t *job);
/* Tells that a linked job has more work; otherwise as dtp_blocking_link. */
bool dtp_blocking_ring(dtp_blocking_t *crew);
void dtp_blocking_wake(dtp_blocking_t *crew);
/* Counts a closure that begins or ends; under the lock. */
void dtp_blocking_count(dtp_blocking_t *crew, int change);
/* Around foreign code on a thread of the crew; share: of its run, may be NULL. */
struct dtp_chain;
void dtp_blocking_enter(dtp_blocking_t *crew, struct dtp_chain *chain, const dtp_share_t *share);
void dtp_blocking_leave(struct dtp_chain *chain);

/* Number of the thread in traces: W + thread. */
int dtp_blocking_slot(const dtp_blocking_t *crew, int thread);

/* For builtin_pool.c and threadpool.c. Starts B threads; after a failure the started threads end
 * with the pool. */
dnnl_tp_status_t dtp_blocking_start(dtp_pool_t *pool, int num_threads, const char *name);
/* end asks the threads to leave, join waits for them. crew may be NULL. */
void dtp_blocking_end(dtp_blocking_t *crew, bool detach);
void dtp_blocking_join(dtp_blocking_t *crew);
typedef struct {
    int threads, now, most;
    uint64_t closures;
} dtp_blocking_stats_t;
void dtp_blocking_stats(dtp_blocking_t *crew, dtp_blocking_stats_t *stats); /* NULL crew: zeroes */

#endif
