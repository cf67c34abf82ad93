/* The loop that a closure shares with the threads of its run. It is a run inside the run: it takes no ticket, its helpers
 * are those that the run could have, and it ends early with the run. */
#include "exec/run/run.h"

typedef struct {
    uintptr_t key; /* fn: first, so that what the loop took is remembered by it (dtp_parallel_for) */
    dnnl_tp_host_loop_fn_t fn;
    void *arg;
    int64_t n, ns_per_iteration;
    _Atomic int64_t done;
} host_loop_t;

static void run_iterations(void *arg, int slot, int64_t begin, int64_t end) {
    host_loop_t *loop = arg;
    (void)slot;
    loop->fn(loop->arg, begin, end);
    atomic_fetch_add_explicit(&loop->done, end - begin, memory_order_relaxed);
}

static void run_loop(void *arg, const dtp_parallel_t *par) {
    host_loop_t *loop = arg;
    const int64_t grain = loop->ns_per_iteration > 0 ? -loop->ns_per_iteration : DTP_GRAIN_UNKNOWN;
    dtp_parallel_for(par, loop->n, grain, run_iterations, loop);
}

dnnl_tp_status_t dnnl_tp_host_parallel_for(const volatile int *should_stop, int64_t n,
                                           int64_t ns_per_iteration, dnnl_tp_host_loop_fn_t fn, void *arg) {
    DTP_REQUIRE(fn, NULL_ARG, "fn is NULL");
    DTP_REQUIRE(n >= 0, BAD_COUNT, "n is %lld", (long long)n);
    DTP_REQUIRE(ns_per_iteration >= 0, BAD_PARAM, "ns_per_iteration is %lld", (long long)ns_per_iteration);
    if (n == 0) return dnnl_tp_success;
    if (!should_stop) {
        fn(arg, 0, n);
        return dnnl_tp_success;
    }
    dtp_run_ctx_t *ctx = dtp_run_of_closure(should_stop, NULL);
    host_loop_t loop = {
        .key = (uintptr_t)fn, .fn = fn, .arg = arg, .n = n, .ns_per_iteration = ns_per_iteration};
    dnnl_tp_status_t status = dnnl_tp_success;
    if (ctx->pool && ctx->pool_threads > 1 && (ctx->parallelism & DNNL_TP_PARALLELISM_INTRA))
        status =
            dtp_pool_run_at(ctx->pool, ctx->pool_threads, DTP_RUN_ADMITTED, ctx->priority, run_loop, &loop);
    else run_loop(&loop, &ctx->alone);
    if (status == dnnl_tp_success && atomic_load_explicit(&loop.done, memory_order_relaxed) < n)
        status =
            dtp_answer(dnnl_tp_cancelled, DTP_CANCELLED, "the run ends: %lld of %lld iterations were done",
                       (long long)atomic_load_explicit(&loop.done, memory_order_relaxed), (long long)n);
    DTP_RETURN(status);
}
