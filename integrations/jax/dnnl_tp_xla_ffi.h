/* Adapter for the pool of XLA's CPU backend, inside handlers of XLA's typed FFI (C). Needs
 * xla/ffi/api/c_api.h, which jaxlib ships (jax.ffi.include_dir()). Form S: the library splits its
 * loops itself and requests helpers. A handler runs on a thread of the pool, and the library never
 * waits for a task that has not begun, so as many handlers as threads may call it at the same time.
 *
 * XLA's context lives as long as the handler's call. So the process has one pool, and a call of
 * schedule uses the context of its own handler, or of the run to which the task belongs. Next:
 * doc/howto/adapt_pool.md, handlers.c. */
#ifndef DNNL_TP_XLA_FFI_H
#define DNNL_TP_XLA_FFI_H

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "xla/ffi/api/c_api.h"

typedef struct {
    const XLA_FFI_Api *api;
    XLA_FFI_ExecutionContext *ctx;
} dnnl_tp_xla_call_t;

/* A handler sets it when it begins, and restores it when it ends. */
static _Thread_local const dnnl_tp_xla_call_t *dnnl_tp_xla_call;

static int dnnl_tp_xla_done(const dnnl_tp_xla_call_t *call, XLA_FFI_Error *error) {
    if (!error) return 0;
    XLA_FFI_Error_Destroy_Args args = {.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, .error = error};
    call->api->XLA_FFI_Error_Destroy(&args);
    return -1;
}
static int dnnl_tp_xla_num_threads(void *ctx) {
    const dnnl_tp_xla_call_t *call = dnnl_tp_xla_call;
    int64_t n = 0;
    (void)ctx;
    if (!call) return 0;
    XLA_FFI_ThreadPool_NumThreads_Args args = {
        .struct_size = XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE, .ctx = call->ctx, .num_threads = &n};
    return dnnl_tp_xla_done(call, call->api->XLA_FFI_ThreadPool_NumThreads(&args)) ? 0 : (int)n;
}
static int dnnl_tp_xla_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    const dnnl_tp_xla_call_t *call = run ? run : dnnl_tp_xla_call;
    (void)ctx;
    if (!call) return -1; /* not inside a handler: the library continues without this helper */
    XLA_FFI_ThreadPool_Schedule_Args args = {.struct_size = XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE,
                                             .ctx = call->ctx,
                                             .task = fn,
                                             .data = arg};
    return dnnl_tp_xla_done(call, call->api->XLA_FFI_ThreadPool_Schedule(&args));
}
static int dnnl_tp_xla_run_begin(void *ctx, uint64_t id, void **run) {
    (void)ctx, (void)id;
    *run = (void *)(uintptr_t)dnnl_tp_xla_call; /* on the handler's stack, until the run has ended */
    return 0;
}
static void dnnl_tp_xla_run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done,
                                void *arg) {
    (void)ctx, (void)run, (void)status, (void)may_block;
    done(arg); /* helpers that are still queued touch the library's memory only */
}

/* Use it inside a handler, for streams or an engine that outlive the handler. */
static inline dnnl_tp_threadpool_iface_t dnnl_tp_xla_iface(void) {
    static char one_pool;
    return (dnnl_tp_threadpool_iface_t){.struct_size = sizeof(dnnl_tp_threadpool_iface_t),
                                        .ctx = &one_pool,
                                        .get_num_threads = dnnl_tp_xla_num_threads,
                                        .schedule = dnnl_tp_xla_schedule,
                                        .run_begin = dnnl_tp_xla_run_begin,
                                        .run_end = dnnl_tp_xla_run_end};
}

#endif
