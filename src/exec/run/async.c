/* Runs that do not wait: executable_run_async. The context of such a run lies in a block of the executable's
 * own, with copies of the pointers to its tensors; blocks are kept, so that as many runs in flight as there
 * were before allocate nothing (but their events). What happens when: submit_run in common/primitive/engine.h. */
#include "exec/run/run.h"

#include "threading/streams/timed_run.h"

typedef struct dtp_async_run {
    struct dtp_async_run *next_free;
    dtp_run_ctx_t ctx;
    void *ptrs[]; /* inputs, outputs */
} async_run_t;

static async_run_t *block_take(dtp_exec_t *e) {
    dtp_lock(&e->async_lock);
    async_run_t *block = e->async_free;
    if (block) e->async_free = block->next_free;
    dtp_unlock(&e->async_lock);
    if (block) return block;
    size_t bytes = sizeof *block + (size_t)(e->nin + e->nout) * sizeof *block->ptrs;
    block = dtp_alloc(e->obj.allocator, bytes, DTP_CACHE_LINE);
    if (!block) (void)dtp_no_memory(bytes);
    return block;
}

static void block_give(dtp_exec_t *e, async_run_t *block) {
    dtp_lock(&e->async_lock);
    block->next_free = e->async_free;
    e->async_free = block;
    dtp_unlock(&e->async_lock);
}

void dtp_async_free_all(dtp_exec_t *e) {
    while (e->async_free) {
        async_run_t *block = e->async_free;
        e->async_free = block->next_free;
        dtp_free(e->obj.allocator, block);
    }
}

static void async_body(void *arg, const dtp_parallel_t *par) {
    dtp_run_body(&((async_run_t *)arg)->ctx, par);
}

static dnnl_tp_status_t async_end(void *arg, bool skipped) {
    async_run_t *block = arg;
    dtp_exec_t *e = block->ctx.exec;
    /* On a stream that does not know runs that rest. */
    if (e->by_stream) dtp_run_by_stream_end(&block->ctx, skipped);
    else if (DTP_UNLIKELY(block->ctx.sleeper.rests))
        (void)dtp_pool_run_share(NULL, 1, 0, 0, &block->ctx.share, dtp_run_body, &block->ctx);
    dnnl_tp_status_t status = dtp_run_close(&block->ctx);
    block_give(e, block);
    dtp_object_release(e);
    return status;
}

dnnl_tp_status_t dnnl_tp_executable_run_async(const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream,
                                              int nin, void *const *in, int nout, void *const *out,
                                              const dnnl_tp_run_opts_t *opts, dnnl_tp_event_t *event) {
    DTP_OUT(event, NULL);
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    dtp_exec_t *e = (dtp_exec_t *)(uintptr_t)executable;
    async_run_t *block = block_take(e);
    if (!block) DTP_RETURN(dnnl_tp_out_of_memory);
    dnnl_tp_status_t status = dtp_run_open(&block->ctx, executable, stream, nin, in, nout, out, opts);
    if (status != dnnl_tp_success) {
        block_give(e, block);
        DTP_RETURN(status);
    }
    if (nin) memcpy(block->ptrs, in, (size_t)nin * sizeof *in);
    if (nout) memcpy(block->ptrs + nin, out, (size_t)nout * sizeof *out);
    block->ctx.in = block->ptrs;
    block->ctx.out = block->ptrs + nin;
    dtp_object_retain(e);
    dtp_stream_run_t run = {.num_threads = block->ctx.num_threads,
                            .priority = block->ctx.priority,
                            .share = &block->ctx.share,
                            .fn = e->by_stream ? NULL : async_body,
                            .end = async_end,
                            .arg = block};
    if (e->by_stream) dtp_run_by_stream_begin(&block->ctx, stream);
    status = stream->v->submit_run(stream, &run, event);
    if (status != dnnl_tp_success) { /* nothing was called */
        if (e->by_stream && block->ctx.run) dtp_run_by_stream_drop(&block->ctx, stream);
        dtp_run_drop(&block->ctx);
        block_give(e, block);
        dtp_object_release(e);
    }
    DTP_RETURN(status);
}

/* ---- Timing ------------------------------------------------------------------------------------------ */

typedef struct {
    const_dnnl_tp_executable_t executable;
    dnnl_tp_stream_t stream;
    int nin, nout;
    void *const *in, *const *out;
    const dnnl_tp_run_opts_t *opts;
} timed_t;

static dnnl_tp_status_t submit_timed(void *arg, dnnl_tp_event_t *done) {
    const timed_t *t = arg;
    return dnnl_tp_executable_run_async(t->executable, t->stream, t->nin, t->in, t->nout, t->out, t->opts,
                                        done);
}

dnnl_tp_status_t dnnl_tp_executable_timed_run(const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream,
                                              int nin, void *const *in, int nout, void *const *out,
                                              const dnnl_tp_run_opts_t *run_opts,
                                              const dnnl_tp_timed_run_opts_t *opts,
                                              dnnl_tp_timing_t *timing) {
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    timed_t t = {executable, stream, nin, nout, in, out, run_opts};
    DTP_RETURN(dtp_timed_run(stream, submit_timed, &t, opts, timing));
}
