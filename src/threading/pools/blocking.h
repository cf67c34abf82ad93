/* The blocking crew of a built-in pool: threads for closures that sleep (DNNL_TP_HOST_MAY_BLOCK), beside the
 * W that compute. The dataflow engine's side: exec/dataflow/run/blocking.c.
 *
 * A pool made with blocking_threads = B has W workers, W tickets, and B threads that hold no ticket. They run nodes
 * that may block, at most B at once; what is over that waits as ready nodes of its run.
 *
 * ---- Who holds a ticket, who waits for what ---------------------------------------------------------------
 *
 * (1) Tickets are held only by threads that compute, or that wait for chunks that such threads have begun. A
 *     closure of the crew runs without one, and nothing that it ends with needs one: its node comes back as every
 *     pending node does (exec/dataflow/run/pending.c).
 * (2) A run that has nothing to do while closures are away rests (threading/base/sleeper.h): it holds no ticket and
 *     no thread of the pool, and waits its turn when there is something to do.
 * (3) So no circle: who holds a ticket gives it back after computing; a closure waits for what the program says. While
 *     k <= B closures sleep, W tickets and W workers are there for everybody else.
 * (4) A run inside a closure of the crew waits for a ticket before all other pending work; a run inside any work never
 *     uses the crew (its closures run where they are met, as on pools without one): its thread may have a place in
 *     the line which the closures would then wait for, or a ticket of another pool.
 *
 * ---- The line ---------------------------------------------------------------------------------------------
 *
 * Everything here, and the list of nodes in exec/dataflow/run/blocking.c, is under one lock; foreign code is called
 * without it. A job is linked into the line or not. Its fn is called with the lock held by the thread that
 * unlinked it, and returns with the lock held; it may link the job again. Thread: under the lock, job or, if
 * none, idle + 1, read wake_word, unlock, sleep on it. Who links a job: under the lock; idle > 0: wake_word + 1, and
 * wake one after unlocking. A wake word that changed between read and sleep keeps the thread awake, so nothing is
 * lost; a thread that comes out of a job looks before it sleeps. */
#ifndef DTP_THREADING_POOLS_BLOCKING_H
#define DTP_THREADING_POOLS_BLOCKING_H

#include "threading/pools/pool.h"

typedef struct dtp_blocking dtp_blocking_t;
typedef struct dtp_blocking_job {
    struct dtp_blocking_job *next;
    void (*fn)(struct dtp_blocking_job *job, dtp_blocking_t *crew, int thread); /* thread: 0 .. B - 1 */
} dtp_blocking_job_t;

/* The crew that the run of par, whose owner calls, may use; NULL: closures run where they are met. */
dtp_blocking_t *dtp_blocking_of(const dtp_parallel_t *par);
void dtp_blocking_lock(dtp_blocking_t *crew);
void dtp_blocking_unlock(dtp_blocking_t *crew);
/* Links the job to the end; under the lock. True: dtp_blocking_wake must follow, after unlocking. */
bool dtp_blocking_link(dtp_blocking_t *crew, dtp_blocking_job_t *job);
/* Takes a linked job out; under the lock. */
void dtp_blocking_unlink(dtp_blocking_t *crew, dtp_blocking_job_t *job);
/* A linked job has got more to do: as link. */
bool dtp_blocking_ring(dtp_blocking_t *crew);
void dtp_blocking_wake(dtp_blocking_t *crew);
/* Counts a closure that begins or ends; under the lock. */
void dtp_blocking_count(dtp_blocking_t *crew, int change);
/* Around foreign code on a thread of the crew; share: of its run, may be NULL. */
struct dtp_chain;
void dtp_blocking_enter(dtp_blocking_t *crew, struct dtp_chain *chain, const dtp_share_t *share);
void dtp_blocking_leave(struct dtp_chain *chain);

int dtp_blocking_slot(const dtp_blocking_t *crew, int thread); /* what a trace calls the thread: W + thread */

/* builtin_pool.c, threadpool.c. Starts B threads; on failure those that started end with the pool. */
dnnl_tp_status_t dtp_blocking_start(dtp_pool_t *pool, int num_threads, const char *name);
/* Asks the threads to leave; join: waits for them. B may be NULL. */
void dtp_blocking_end(dtp_blocking_t *crew, bool detach);
void dtp_blocking_join(dtp_blocking_t *crew);
typedef struct {
    int threads, now, most;
    uint64_t closures;
} dtp_blocking_stats_t;
void dtp_blocking_stats(dtp_blocking_t *crew, dtp_blocking_stats_t *stats); /* NULL crew: zeroes */

#endif
