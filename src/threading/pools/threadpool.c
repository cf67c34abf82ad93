/* The built-in pool as its users see it: options, handle, interface. Its threads are in builtin_pool.c. */
#include "threading/pools/blocking.h"
#include "threading/pools/builtin_pool.h"
#include "threading/base/topology.h"

#include <stddef.h>
#include <stdio.h>

#if DTP_OWN_THREADS

static int builtin_num_threads(void *ctx) { return ((dtp_pool_t *)ctx)->num_threads; }
static uint64_t builtin_flags(void *ctx) { return ((dtp_pool_t *)ctx)->flags; }

static int builtin_in_parallel(void *ctx) {
    for (dtp_chain_t *c = dtp_chain_top; c; c = c->up)
        if (c->rec == ctx) return 1;
    return 0;
}

typedef struct {
    dnnl_tp_chunk_fn_t fn;
    void *arg;
    int n;
} jobs_t;
static void run_jobs(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    jobs_t *jobs = arg;
    for (int64_t i = begin; i < end; ++i) jobs->fn(jobs->arg, (int)i, jobs->n);
}
static int builtin_parallel_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    enum { JOB_NS = 100000 }; /* unknown; worth a wake */
    dtp_pool_t *rec = ctx;
    dtp_parallel_t par = {.pool = rec, .num_threads = rec->num_threads};
    jobs_t jobs = {fn, arg, n};
    dtp_parallel_for(&par, n, -JOB_NS, run_jobs, &jobs);
    return 0;
}

static int builtin_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    (void)run;
    return dtp_builtin_task(ctx, fn, arg) ? 0 : -1;
}

static void threadpool_destroy(dtp_object_t *object) {
    dtp_pool_release(((dnnl_tp_threadpool_t)object)->rec);
}

/* A pool of n threads of our own, in made. */
static dnnl_tp_status_t fill_pool(dnnl_tp_threadpool_t made, int n, const dnnl_tp_threadpool_opts_t *o) {
    dtp_pool_t *rec = dtp_record_create(n, n);
    made->rec = rec; /* from here on the handle's destructor ends whatever was started */
    if (!rec) return dnnl_tp_out_of_memory;
    rec->flags = o->flags | DNNL_TP_THREADPOOL_CALLER_WORKS | DNNL_TP_THREADPOOL_NESTABLE;
    rec->iface = (dnnl_tp_threadpool_iface_t){
        .struct_size = sizeof(rec->iface),
        .ctx = rec,
        .get_num_threads = builtin_num_threads,
        .get_in_parallel = builtin_in_parallel,
        .parallel_for = builtin_parallel_for,
        .get_flags = builtin_flags,
        .schedule = builtin_schedule,
    };
    const char *name = o->name ? o->name : "dnnl_tp";
    DTP_TRY(dtp_builtin_start(rec, name, o->spin_ns));
    if (o->blocking_threads) DTP_TRY(dtp_blocking_start(rec, o->blocking_threads, name));
    dtp_record_register(rec);
    return dnnl_tp_success;
}

#elif DTP_RUNTIME_POOL

static void threadpool_destroy(dtp_object_t *object) {
    dtp_pool_release(((dnnl_tp_threadpool_t)object)->rec);
}

/* n threads of the runtime; names and spinning are its own affair. */
static dnnl_tp_status_t fill_pool(dnnl_tp_threadpool_t made, int n, const dnnl_tp_threadpool_opts_t *o) {
    dnnl_tp_threadpool_iface_t iface;
    if (o->blocking_threads)
        return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME,
                        "blocking_threads: the runtime starts its threads itself");
    DTP_TRY(dtp_runtime_iface(n, o->flags, &iface));
    dnnl_tp_status_t status = dtp_record_of(&made->rec, &iface);
    if (status != dnnl_tp_success) iface.release(iface.ctx);
    return status;
}

#endif

#if DNNL_TP_WITH_THREADPOOL

dnnl_tp_status_t dnnl_tp_threadpool_create(dnnl_tp_threadpool_t *pool,
                                           const dnnl_tp_threadpool_opts_t *opts) {
    DTP_OUT(pool, NULL);
    dnnl_tp_threadpool_opts_t o = {0};
    if (opts) {
        size_t least = offsetof(dnnl_tp_threadpool_opts_t, name);
        DTP_REQUIRE(opts->struct_size >= least, BAD_STRUCT_SIZE, "struct_size %zu is below %zu",
                    opts->struct_size, least);
        memcpy(&o, opts, opts->struct_size < sizeof(o) ? opts->struct_size : sizeof(o));
    }
    uint64_t known = DNNL_TP_THREADPOOL_ASYNCHRONOUS | DNNL_TP_THREADPOOL_AUTO_BALANCING;
    DTP_REQUIRE(o.num_threads >= 0 && o.num_threads <= DTP_MAX_THREADS, BAD_COUNT,
                "thread count %d is outside 0..%d", o.num_threads, DTP_MAX_THREADS);
    DTP_REQUIRE(o.blocking_threads >= 0 && o.blocking_threads <= DTP_MAX_THREADS, BAD_COUNT,
                "blocking_threads is %d, not 0..%d", o.blocking_threads, DTP_MAX_THREADS);
    DTP_REQUIRE(!(o.flags & ~known), BAD_FLAGS, "flags 0x%llx", (unsigned long long)o.flags);
    int measured = dtp_measure_num_threads();
    int n = o.num_threads                          ? o.num_threads
            : measured < dtp_process_num_threads() ? measured
                                                   : dtp_process_num_threads();

    dnnl_tp_threadpool_t made =
        dtp_object_create(NULL, sizeof(*made), DTP_OBJ_THREADPOOL, threadpool_destroy);
    if (!made) DTP_RETURN(dnnl_tp_out_of_memory);
    dnnl_tp_status_t status = fill_pool(made, n, &o);
    if (status != dnnl_tp_success) dtp_object_release(made);
    else *pool = made;
    DTP_RETURN(status);
}

#else

dnnl_tp_status_t dnnl_tp_threadpool_create(dnnl_tp_threadpool_t *pool,
                                           const dnnl_tp_threadpool_opts_t *opts) {
    DTP_OUT(pool, NULL);
    (void)opts;
    DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "this build has the runtime SEQ"));
}

#endif

dnnl_tp_status_t dnnl_tp_threadpool_destroy(dnnl_tp_threadpool_t pool) {
    DTP_DESTROY(pool, DTP_OBJ_THREADPOOL);
}

dnnl_tp_status_t dnnl_tp_threadpool_get_iface(dnnl_tp_threadpool_t pool,
                                              const dnnl_tp_threadpool_iface_t **iface) {
    DTP_GET(iface, NULL, pool, DTP_OBJ_THREADPOOL, &pool->rec->iface);
}

dnnl_tp_status_t dnnl_tp_threadpool_query(const dnnl_tp_threadpool_iface_t *pool,
                                          dnnl_tp_threadpool_stats_t *stats) {
    DTP_REQUIRE(pool && stats, NULL_ARG, "%s is NULL", pool ? "stats" : "pool");
    const size_t bytes = stats->struct_size, older = offsetof(dnnl_tp_threadpool_stats_t, blocking_threads);
    DTP_REQUIRE(bytes == sizeof(*stats) || bytes == older, BAD_STRUCT_SIZE,
                "struct_size %zu is not %zu or %zu", bytes, sizeof(*stats), older);
#if DNNL_TP_WITH_THREADPOOL
    dnnl_tp_threadpool_iface_t iface = {0};
    memcpy(&iface, pool, pool->struct_size < sizeof(iface) ? pool->struct_size : sizeof(iface));
    dtp_pool_t *rec = dtp_record_find(&iface);
    DTP_REQUIRE(rec, BAD_POOL, "nothing uses this pool");
#define COUNT(member) atomic_load_explicit(&rec->member, memory_order_relaxed)
    uint64_t began = DTP_COUNTED(rec, runs) + DTP_COUNTED(rec, joins), adm = COUNT(adm);
    dnnl_tp_threadpool_stats_t all = {
        .struct_size = bytes,
        .num_threads = rec->num_threads,
        .running = dtp_adm_runs(adm) + dtp_adm_joiners(adm),
        .max_running = COUNT(max_running),
        .running_ratio = began ? (double)DTP_COUNTED(rec, running_sum) / (double)began / rec->num_threads : 0,
        .runs = DTP_COUNTED(rec, runs),
        .loops = DTP_COUNTED(rec, short_loops),
        .loops_alone = DTP_COUNTED(rec, alone),
        .joins = DTP_COUNTED(rec, joins),
        .stolen = DTP_COUNTED(rec, stolen),
        .wakes = DTP_COUNTED(rec, wakes),
    };
#if DTP_OWN_THREADS
    dtp_blocking_stats_t crew;
    dtp_blocking_stats(rec->blocking, &crew);
    all.blocking_threads = crew.threads;
    all.blocked = crew.now;
    all.max_blocked = crew.most;
    all.closures = crew.closures;
#endif
    for (int i = 0; i < DTP_SHARED_LOOPS; ++i) all.loops += COUNT(loop[i].loops);
#undef COUNT
    memcpy(stats, &all, bytes);
    dtp_pool_release(rec);
    return dnnl_tp_success;
#else
    DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "this build has the runtime SEQ"));
#endif
}
