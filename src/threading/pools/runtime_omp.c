/* The runtime OMP: see runtime.h. The only file that is compiled with OpenMP. One loop at a time, because
 * each thread that opens a parallel shared loop has a team of its own. */
#include "threading/pools/runtime.h"

#if DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_OMP
#include <omp.h>

#include "threading/pools/record.h"

typedef struct {
    int num_threads; /* 0: as OpenMP says */
    uint64_t flags;
} part_t;

static int omp_num_threads(void *ctx) {
    const part_t *part = ctx;
    if (atomic_load(&dtp_fork_generation)) return 1; /* the team stayed in the parent */
    return part->num_threads ? part->num_threads : omp_get_max_threads();
}
static int omp_inside(void *ctx) {
    (void)ctx;
    return omp_in_parallel();
}
static uint64_t omp_flags(void *ctx) {
    return ((const part_t *)ctx)->flags | DNNL_TP_THREADPOOL_CALLER_WORKS | DNNL_TP_THREADPOOL_SINGLE_CALLER;
}
/* Always the whole team: some OpenMP libraries end and start threads when its size changes. */
static int omp_loop(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    int threads = omp_num_threads(ctx);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}
static void omp_release(void *ctx) { dtp_free(NULL, ctx); }

dnnl_tp_status_t dtp_runtime_iface(int num_threads, uint64_t flags, dnnl_tp_threadpool_iface_t *iface) {
    static part_t whole;
    part_t *part = &whole;
    *iface = (dnnl_tp_threadpool_iface_t){0};
    if (num_threads) {
        part = dtp_alloc(NULL, sizeof(*part), DTP_CACHE_LINE);
        if (!part) return dtp_no_memory(sizeof(*part));
        *part = (part_t){num_threads, flags};
    }
    *iface = (dnnl_tp_threadpool_iface_t){.struct_size = sizeof(*iface),
                                          .ctx = part,
                                          .get_num_threads = omp_num_threads,
                                          .get_in_parallel = omp_inside,
                                          .parallel_for = omp_loop,
                                          .get_flags = omp_flags,
                                          .release = num_threads ? omp_release : NULL};
    return dnnl_tp_success;
}

#endif
