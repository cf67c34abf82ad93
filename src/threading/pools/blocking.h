/* The blocking crew of a built-in pool: threads for closures that sleep (DNNL_TP_HOST_MAY_BLOCK), beside the
 * W that compute. The dataflow engine's side: exec/dataflow/run/blocking.c.
 *
 * A pool made with blocking_threads = B has W workers, W tickets, and two lines of B threads that hold no
 * ticket:
 *
 *   CLOSURES  runs nodes that may block, at most B at once; what is over that waits as ready nodes of its run
 *   RUNS      owns runs of asynchronous streams in which there are such nodes, at most B at once, so that no
 *             worker ever sleeps as the owner of one; more wait in the order of their turns
 *
 * ---- Who holds a ticket, who waits for what ---------------------------------------------------------------
 *
 * (1) Tickets are held only by threads that compute, or that wait for chunks that such threads have begun. A
 *     closure of the crew runs without one, and nothing that it ends with needs one: its thread only puts the
 *     node on its run's list and wakes the owner.
 * (2) The owner of a run (its caller, or a thread of RUNS; never a worker) that is dry while closures are away
 *     lends its ticket (dtp_ticket_end), sleeps, and takes one again (dtp_ticket_get, before all other pending work)
 *     when there is something to do. It waits for the ticket with nothing in its hands.
 * (3) So no circle: who holds a ticket gives it back after computing; who waits for one holds none; a closure
 *     waits for what the program says. While k <= B closures sleep, W tickets and W workers are there for
 *     everybody else.
 * (4) A run inside a closure of the crew waits for a ticket as in (2); a run inside any work never uses the
 *     crew (its closures run where they are met, as on pools without one): its thread may have a place in a
 *     line which the closures would then wait for, or a ticket of another pool.
 *
 * ---- The lines --------------------------------------------------------------------------------------------
 *
 * Everything here, and the lists of nodes in exec/dataflow/run/blocking.c, is under one lock; foreign code is called
 * without it. A job is linked into at most one line. Its fn is called with the lock held by the thread that
 * unlinked it, and returns with the lock held; it may link the job again. Thread: under the lock, job or, if
 * none, idle + 1, read bell, unlock, sleep on it. Who links a job: under the lock; idle > 0: bell + 1, and
 * wake one after unlocking. A bell that changed between read and sleep keeps the thread awake, so nothing is
 * lost; a thread that comes out of a job looks before it sleeps. */
#ifndef DTP_THREADING_POOLS_BLOCKING_H
#define DTP_THREADING_POOLS_BLOCKING_H

#include "threading/pools/pool.h"

typedef enum { DTP_BLOCKING_CLOSURES, DTP_BLOCKING_RUNS, DTP_BLOCKING_LINES } dtp_blocking_line_t;
typedef struct dtp_blocking dtp_blocking_t;
typedef struct dtp_blocking_job {
    struct dtp_blocking_job *next;
    void (*fn)(struct dtp_blocking_job *job, dtp_blocking_t *crew, int thread); /* thread: 0 .. B - 1 */
} dtp_blocking_job_t;

/* The crew that the run of par, whose owner calls, may use; NULL: closures run where they are met. */
dtp_blocking_t *dtp_blocking_of(const dtp_parallel_t *par);
/* Has the pool one? */
bool dtp_blocking_has(const dtp_pool_t *pool);
void dtp_blocking_lock(dtp_blocking_t *crew);
void dtp_blocking_unlock(dtp_blocking_t *crew);
/* Links the job to the end; under the lock. True: dtp_blocking_wake must follow, after unlocking. */
bool dtp_blocking_link(dtp_blocking_t *crew, dtp_blocking_line_t line, dtp_blocking_job_t *job);
/* Takes a linked job out; under the lock. */
void dtp_blocking_unlink(dtp_blocking_t *crew, dtp_blocking_line_t line, dtp_blocking_job_t *job);
/* A linked job has got more to do: as link. */
bool dtp_blocking_ring(dtp_blocking_t *crew, dtp_blocking_line_t line);
void dtp_blocking_wake(dtp_blocking_t *crew, dtp_blocking_line_t line);
/* Counts a closure that begins or ends; under the lock. */
void dtp_blocking_count(dtp_blocking_t *crew, int change);
/* Around foreign code on a thread of the crew; share: of its run, may be NULL. */
struct dtp_chain;
void dtp_blocking_enter(dtp_blocking_t *crew, struct dtp_chain *chain, const dtp_share_t *share);
void dtp_blocking_leave(struct dtp_chain *chain);

/* By the owner of a run that uses the crew: (2). False: it has no ticket to lend. */
bool dtp_blocking_lend(dtp_blocking_t *crew);
void dtp_blocking_regain(dtp_blocking_t *crew, const dtp_share_t *share);
/* Does somebody wait for a ticket? */
bool dtp_blocking_is_wanted(const dtp_blocking_t *crew);
int dtp_blocking_slot(const dtp_blocking_t *crew, int thread); /* what a trace calls the thread: W + thread */

/* builtin_pool.c, threadpool.c. Starts 2 * B threads; on failure those that started end with the pool. */
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
