/** @file
 * Conformance kit for thread pools, for their authors: a static library beside the main one (CMake:
 * dnnl_tp::pool_check, pkg-config: dnnl_tp_pool_check). doc/pool_check.md tells what its reports mean.
 */
#ifndef DNNL_TP_POOL_CHECK_H
#define DNNL_TP_POOL_CHECK_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Test of dnnl_tp_pool_check(): tasks are called once each. */
#define DNNL_TP_POOL_CHECK_TASKS 1u
/** Test: parallel_for calls each job once and returns when it should. */
#define DNNL_TP_POOL_CHECK_LOOPS 2u
/** Test: several threads may call at once. */
#define DNNL_TP_POOL_CHECK_CALLERS 4u
/** Test: calls from inside tasks and jobs. */
#define DNNL_TP_POOL_CHECK_NESTED 8u
/** Test: all threads of the pool call the library at once. */
#define DNNL_TP_POOL_CHECK_SATURATION 16u
/** Test: a pool that says IN_ORDER keeps order. */
#define DNNL_TP_POOL_CHECK_ORDER 32u
/** Test: wait. */
#define DNNL_TP_POOL_CHECK_WAIT 64u
/** Test: run_begin and run_end. */
#define DNNL_TP_POOL_CHECK_RUNS 128u
/** All tests. */
#define DNNL_TP_POOL_CHECK_ALL 255u

/** Checks whether a pool keeps the promises of dnnl_tp_threadpool_iface_t, for authors of pools and adapters.
 *
 * Calls the pool as the library would, from a few threads of its own, and watches it: a pool that blocks for
 * ever is reported after some seconds. The report has one line for each broken promise, "violated: NAME: what
 * was seen; reproduce: how", and lines "note: ..." of what is allowed but worth knowing (doc/pool_check.md
 * lists the names). After a violation some memory is never freed, and threads may stay behind, because the
 * pool may still use them; the pool is not to be trusted either. Takes a second for a good pool. Thread-safe;
 * one check runs at a time.
 *
 * @param pool read during the call; release is not called
 * @param tests DNNL_TP_POOL_CHECK_* bits; 0 = all
 * @param[out] report lines of text, as many as fit; NULL if report_size is 0
 * @param report_size bytes
 * @return success (no violation); runtime_error (violations); invalid_arguments; unimplemented (a build that
 * starts no threads); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_pool_check(const dnnl_tp_threadpool_iface_t *pool, unsigned tests,
                                                    char *report, size_t report_size);

#ifdef __cplusplus
}
#endif

#endif
