/* Functions of the built-in pool's threads for the rest of src/threading. */
#ifndef DTP_THREADING_POOLS_BUILTIN_POOL_H
#define DTP_THREADING_POOLS_BUILTIN_POOL_H

#include <signal.h>

#include "threading/pools/record.h"
#include "threading/pools/runtime.h"

struct dnnl_tp_threadpool {
    dtp_object_t obj;
    dtp_pool_t *rec; /* retained */
};

size_t dtp_worker_size(void);
/* Starts rec->num_threads workers; after a failure rec->num_started is the number of those that
 * started. */
dnnl_tp_status_t dtp_builtin_start(dtp_pool_t *rec, const char *name, int64_t spin_ns);
/* The first and the last thing that a thread of the pool does. */
void dtp_builtin_thread_in(void);
void dtp_builtin_thread_out(dtp_pool_t *rec);
/* Threads that are made from now on receive no signals of the host except those that their own
 * instructions raise: SIGSEGV, SIGFPE and similar ones reach the host's handlers. `before`: for the
 * pthread_sigmask that follows. */
void dtp_block_host_signals(sigset_t *before);
/* Ends and joins the workers and the blocking crew, then frees the record. On a thread of any
 * built-in pool, and inside running work, it does not wait, and the last thread that leaves frees
 * the record. */
void dtp_builtin_end(dtp_pool_t *rec);
/* Wakes up to count sleeping workers whose processor is not cpu (-1: any) and returns their number;
 * mark counts them as waking, so that the next small loop does not call others. */
int dtp_builtin_wake(dtp_pool_t *rec, int count, int cpu, bool mark);
/* Wakes one sleeping worker, preferably the one whose processor is cpu. */
bool dtp_builtin_wake_at(dtp_pool_t *rec, int cpu);
/* Queues a task of the program; false: the ring is full. */
bool dtp_builtin_task(dtp_pool_t *rec, dnnl_tp_task_fn_t fn, void *arg);

/* Cost of a park + unpark and of a round trip of a cache line, as measured by the first pool (else
 * defaults).
 */
void dtp_calibrated(int64_t *wake_ns, int64_t *round_trip_ns);
/* Thresholds of a record from these costs; spin_ns 0 = calibrated. */
void dtp_record_set_costs(dtp_pool_t *rec, int64_t spin_ns);

#endif
