/* Pooled run objects: a lock-free freelist with a tagged head. A run object holds everything that one run of
 * an executable writes, in one allocation. */
#include "exec/executable.h"

dnnl_tp_status_t dtp_run_make(dtp_exec_t *exec, dtp_run_t **run) {
    uint32_t index = atomic_fetch_add_explicit(&exec->nruns, 1, memory_order_relaxed);
    if (index >= DTP_MAX_RUNS) {
        atomic_fetch_sub_explicit(&exec->nruns, 1, memory_order_relaxed);
        return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "more than %d runs of one executable at once",
                        DTP_MAX_RUNS);
    }
    size_t head = dtp_round_up_size(sizeof(dtp_run_t), DTP_CACHE_LINE);
    size_t bases =
        dtp_round_up_size(sizeof(void *) * (size_t)(DTP_BASE_ARGS + exec->nin + exec->nout), DTP_CACHE_LINE);
    size_t bounds = dtp_round_up_size(sizeof(int64_t) * 2 * (size_t)(exec->max_slices + 1), DTP_CACHE_LINE);
    size_t flow =
        exec->flow ? dtp_round_up_size(dtp_flow_state_bytes(exec->flow, exec->num_threads), DTP_NO_SHARE) : 0;
    size_t flow_at = dtp_round_up_size(head + bases + bounds, DTP_NO_SHARE);
    size_t bytes = flow_at + flow + exec->slab_bytes;
    char *p = dtp_alloc(exec->obj.allocator, bytes, DTP_NO_SHARE);
    if (!p) {
        atomic_fetch_sub_explicit(&exec->nruns, 1, memory_order_relaxed);
        return dtp_no_memory(bytes);
    }
    dtp_run_t *r = (dtp_run_t *)(void *)p;
    memset(r, 0, sizeof *r);
    r->bases = (void **)(void *)(p + head);
    r->bounds = (int64_t *)(void *)(p + head + bases);
    r->slab = p + flow_at + flow;
    if (flow) r->flow = dtp_flow_state_init(exec->flow, exec->num_threads, p + flow_at, r->slab);
    /* Another thread's failed attempt may have taken the number back: search the table from there. */
    for (uint32_t i = 0; i < DTP_MAX_RUNS; ++i) {
        uint32_t at = (index + i) % DTP_MAX_RUNS;
        dtp_run_t *none = NULL;
        r->index = at;
        if (atomic_compare_exchange_strong_explicit(&exec->runs[at], &none, r, memory_order_acq_rel,
                                                    memory_order_relaxed))
            break;
    }
    *run = r;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_run_take(dtp_exec_t *exec, dtp_run_t **run) {
    uint64_t head = atomic_load_explicit(&exec->free_runs, memory_order_acquire);
    for (;;) {
        uint32_t low = (uint32_t)head;
        if (low == 0) return dtp_run_make(exec, run);
        dtp_run_t *r = atomic_load_explicit(&exec->runs[low - 1], memory_order_acquire);
        /* The tag makes the exchange fail if r was taken and given back in between, so a stale next does no
         * harm. */
        uint64_t next = ((head >> 32) + 1) << 32 | __atomic_load_n(&r->next, __ATOMIC_RELAXED);
        if (atomic_compare_exchange_weak_explicit(&exec->free_runs, &head, next, memory_order_acquire,
                                                  memory_order_acquire)) {
            *run = r;
            return dnnl_tp_success;
        }
    }
}

void dtp_run_give(dtp_exec_t *exec, dtp_run_t *run) {
    uint64_t head = atomic_load_explicit(&exec->free_runs, memory_order_relaxed), next;
    do {
        __atomic_store_n(&run->next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | (run->index + 1);
    } while (!atomic_compare_exchange_weak_explicit(&exec->free_runs, &head, next, memory_order_release,
                                                    memory_order_relaxed));
}

void dtp_run_free_all(dtp_exec_t *exec) {
    for (int i = 0; i < DTP_MAX_RUNS; ++i)
        dtp_free(exec->obj.allocator, atomic_load_explicit(&exec->runs[i], memory_order_acquire));
}
