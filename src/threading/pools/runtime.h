/* The threads of the runtime that the library was built with (DNNL_CPU_RUNTIME OMP or TBB), as a
 * pool like a caller's.
 *
 * A stream without a pool runs on them, and a pool of dnnl_tp_threadpool_create is a part of them:
 * such a build starts no thread itself. Other builds have no such pool (DTP_RUNTIME_POOL 0).
 * Implementations: runtime_omp.c, runtime_tbb.cpp. */
#ifndef DTP_THREADING_POOLS_RUNTIME_H
#define DTP_THREADING_POOLS_RUNTIME_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

#define DTP_RUNTIME_POOL \
    (DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_OMP || DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_TBB)
/* The built-in pool starts threads of its own. */
#define DTP_OWN_THREADS (DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_THREADPOOL)

#ifdef __cplusplus
extern "C" {
#endif

/* Describes num_threads threads of the runtime as a pool of its own; its release gives ctx back. 0:
 * all threads that the runtime grants, the same pool at every call, never given back. flags: bits
 * to be added to the runtime's own. The count of *iface is 1 where the runtime cannot be used (in a
 * forked child). out_of_memory: *iface is zeroed. */
#if DTP_RUNTIME_POOL
dnnl_tp_status_t dtp_runtime_iface(int num_threads, uint64_t flags, dnnl_tp_threadpool_iface_t *iface);
#endif

#ifdef __cplusplus
}
#endif

#endif
