/** @file
 * Conformance kit for authors of thread pools: a static library beside the main library (CMake:
 * dnnl_tp::pool_check, pkg-config: dnnl_tp_pool_check). doc/pool_check.md explains its reports. */
#ifndef DNNL_TP_POOL_CHECK_H
#define DNNL_TP_POOL_CHECK_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Test of dnnl_tp_pool_check(): the pool calls each task once. */
#define DNNL_TP_POOL_CHECK_TASKS 1u
/** Test: parallel_for calls each job once and returns at the right time. */
#define DNNL_TP_POOL_CHECK_LOOPS 2u
/** Test: several threads call the pool at the same time. */
#define DNNL_TP_POOL_CHECK_CALLERS 4u
/** Test: tasks and jobs call the pool. */
#define DNNL_TP_POOL_CHECK_NESTED 8u
/** Test: all threads of the pool call the library at the same time. */
#define DNNL_TP_POOL_CHECK_SATURATION 16u
/** Test: a pool with the flag IN_ORDER keeps the order. */
#define DNNL_TP_POOL_CHECK_ORDER 32u
/** Test: wait. */
#define DNNL_TP_POOL_CHECK_WAIT 64u
/** Test: run_begin and run_end. */
#define DNNL_TP_POOL_CHECK_RUNS 128u
/** All tests. */
#define DNNL_TP_POOL_CHECK_ALL 255u

/** Checks whether a pool keeps the promises of dnnl_tp_threadpool_iface_t, for authors of pools and
 * adapters.
 *
 * Calls the pool in the way of the library, from some threads of its own, and reports a pool that
 * blocks for ever after some seconds. The report has one line for each broken promise, "violated:
 * NAME: observation; reproduce: steps", and lines "note: ..." about behaviour that is allowed but
 * worth knowing (doc/pool_check.md lists the names). After a violation the check leaves some memory
 * and threads behind, because the pool may still use them; do not use the pool any more. A check of
 * a good pool takes a second. Thread-safe; one check runs at a time.
 *
 * @param pool read during the call; release is not called
 * @param tests DNNL_TP_POOL_CHECK_* bits; 0 = all
 * @param[out] report lines of text, cut to report_size bytes; NULL if report_size is 0
 * @param report_size size of report in bytes
 * @return success (no violation); runtime_error (violations); invalid_arguments; unimplemented
 *     (this build starts no threads); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_pool_check(const dnnl_tp_threadpool_iface_t *pool,
                                                    unsigned tests, char *report,
                                                    size_t report_size);

#ifdef __cplusplus
}
#endif

#endif
