/* Pooled run objects: lock-free freelists with tagged heads. A run object holds everything that one run of
 * an executable writes, in one allocation; or all but its memory, which it then borrows for each run
 * (graph/run_memory.h). */
#include "exec/run/executable.h"

static void free_run(dtp_exec_t *exec, dtp_run_t *run) {
    if (exec->by_stream) dtp_stream_run_free(exec, run);
    dtp_free(exec->obj.allocator, run);
}

static dnnl_tp_status_t make(dtp_exec_t *exec, bool shares, dtp_run_t **run) {
    size_t head = dtp_round_up_size(sizeof(dtp_run_t), DTP_CACHE_LINE);
    size_t bases =
        dtp_round_up_size(sizeof(void *) * (size_t)(DTP_BASE_ARGS + exec->nin + exec->nout), DTP_CACHE_LINE);
    size_t bounds = dtp_round_up_size(sizeof(int64_t) * 2 * (size_t)(exec->max_slices + 1), DTP_CACHE_LINE);
    size_t state =
        exec->dataflow
            ? dtp_round_up_size(dtp_dataflow_state_bytes(exec->dataflow, exec->num_threads), DTP_NO_SHARE)
            : 0;
    size_t dataflow_at = dtp_round_up_size(head + bases + bounds, DTP_NO_SHARE);
    size_t heads = exec->by_stream ? exec->scopes[0].heads_bytes : 0;
    size_t frames = exec->by_stream ? sizeof(dtp_frame_t *) * (size_t)exec->nscopes : 0;
    size_t bytes =
        dataflow_at + state + heads + frames + (shares || exec->by_stream ? 0 : exec->memory_bytes);
    char *p = dtp_alloc(exec->obj.allocator, bytes, DTP_NO_SHARE);
    if (!p) return dtp_no_memory(bytes);
    dtp_run_t *r = (dtp_run_t *)(void *)p;
    memset(r, 0, sizeof *r);
    r->bases = (void **)(void *)(p + head);
    r->bounds = (int64_t *)(void *)(p + head + bases);
    r->memory = shares ? NULL : p + dataflow_at + state;
    r->shares_memory = shares;
    dnnl_tp_status_t status = dnnl_tp_success;
    if (exec->by_stream) {
        r->heads = p + dataflow_at;
        r->frames = (dtp_frame_t **)(void *)(r->heads + heads);
        memset(r->frames, 0, frames);
        r->memory = exec->engine->v->alloc(exec->engine, exec->memory_bytes, false);
        const dtp_engine_vtbl_t *v = exec->engine->v;
        r->words = v->alloc_word ? v->alloc_word(exec->engine) : &r->own_words;
        if (!r->memory || !r->words) status = dnnl_tp_out_of_memory;
    }
    if (state)
        r->dataflow = dtp_dataflow_state_init(exec->dataflow, exec->num_threads, p + dataflow_at, r->memory);
    if (state && !r->dataflow) status = dnnl_tp_unimplemented; /* its text is the last error */
    if (status == dnnl_tp_success && !dtp_table_add(&exec->runs, exec->obj.allocator, r, &r->index))
        status = dtp_no_memory(bytes);
    if (status != dnnl_tp_success) {
        free_run(exec, r);
        return status;
    }
    if (!shares) atomic_fetch_add_explicit(&exec->nowners, 1, memory_order_relaxed);
    *run = r;
    return dnnl_tp_success;
}

static dtp_run_t *pop(dtp_exec_t *exec, int list) {
    _Atomic uint64_t *at = &exec->free_runs[list].head;
    uint64_t head = atomic_load_explicit(at, memory_order_acquire);
    for (;;) {
        uint32_t low = (uint32_t)head;
        if (low == 0) return NULL;
        dtp_run_t *r = dtp_table_get(&exec->runs, low - 1);
        /* The tag makes the exchange fail if r was taken and given back in between, so a stale next does no
         * harm. */
        uint64_t next = ((head >> 32) + 1) << 32 | __atomic_load_n(&r->next, __ATOMIC_RELAXED);
        if (atomic_compare_exchange_weak_explicit(at, &head, next, memory_order_acquire,
                                                  memory_order_acquire))
            return r;
    }
}

static void push(dtp_exec_t *exec, dtp_run_t *run) {
    _Atomic uint64_t *at = &exec->free_runs[run->shares_memory].head;
    uint64_t head = atomic_load_explicit(at, memory_order_relaxed), next;
    do {
        __atomic_store_n(&run->next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | (run->index + 1);
    } while (
        !atomic_compare_exchange_weak_explicit(at, &head, next, memory_order_release, memory_order_relaxed));
}

static dnnl_tp_status_t borrow(dtp_exec_t *exec, dtp_run_t *run) {
    run->block = dtp_run_memory_take(&exec->graph->store->run_memory, exec->memory_bytes);
    if (!run->block) return dtp_no_memory(exec->memory_bytes);
    run->memory = dtp_run_block_data(run->block);
    if (run->dataflow) dtp_dataflow_state_move(run->dataflow, run->memory);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_run_take(dtp_exec_t *exec, dtp_run_t **run) {
    dtp_run_t *r = pop(exec, 0);
    if (!r && exec->shares_memory) r = pop(exec, 1);
    if (!r) DTP_TRY(make(exec, exec->shares_memory, &r));
    if (r->shares_memory) {
        dnnl_tp_status_t status = borrow(exec, r);
        if (status != dnnl_tp_success) {
            push(exec, r);
            return status;
        }
    }
    *run = r;
    return dnnl_tp_success;
}

void dtp_run_give(dtp_exec_t *exec, dtp_run_t *run) {
    if (run->shares_memory) dtp_run_memory_give(&exec->graph->store->run_memory, run->block);
    push(exec, run);
}

dnnl_tp_status_t dtp_run_reserve(dtp_exec_t *exec, int runs) {
    dtp_run_t *r;
    if (runs == 0 && exec->shares_memory) {
        if (!dtp_run_memory_reserve(&exec->graph->store->run_memory, exec->memory_bytes))
            return dtp_no_memory(exec->memory_bytes);
        DTP_TRY(make(exec, true, &r));
        push(exec, r);
        return dnnl_tp_success;
    }
    if (runs == 0) runs = 1;
    while ((int)atomic_load_explicit(&exec->nowners, memory_order_relaxed) < runs) {
        DTP_TRY(make(exec, false, &r));
        if (!exec->by_stream) dtp_touch_pages(r->memory, exec->memory_bytes);
        push(exec, r);
    }
    return dnnl_tp_success;
}

static void free_one(void *exec, void *run) { free_run(exec, run); }
void dtp_run_free_all(dtp_exec_t *exec) { dtp_table_drop(&exec->runs, exec->obj.allocator, free_one, exec); }
