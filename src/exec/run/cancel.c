/* Tokens that end runs, see cancel.h. */
#include "exec/run/cancel.h"

bool dtp_stop(_Atomic uint32_t *stop, uint32_t why) {
    uint32_t none = DTP_STOP_NONE;
    return atomic_compare_exchange_strong_explicit(stop, &none, why, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Forgets the links of the process that this one was forked from. */
static void token_lock(dnnl_tp_cancel_t cancel) {
    const uint32_t generation = atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed);
    dtp_lock(&cancel->lock);
    if (cancel->generation == generation) return;
    cancel->first = NULL;
    cancel->generation = generation;
}

void dtp_cancel_link(dnnl_tp_cancel_t cancel, dtp_cancel_link_t *link, _Atomic uint32_t *stop,
                     dtp_sleeper_t *sleeper) {
    dtp_object_retain(cancel);
    link->stop = stop;
    link->sleeper = sleeper;
    sleeper->has_token = true;
    link->prev = NULL;
    token_lock(cancel);
    link->generation = cancel->generation;
    link->next = cancel->first;
    if (link->next) link->next->prev = link;
    cancel->first = link;
    bool fired = atomic_load_explicit(&cancel->fired, memory_order_relaxed) != 0;
    dtp_unlock(&cancel->lock);
    if (fired) (void)dtp_stop(stop, DTP_STOP_CANCELLED);
}

void dtp_cancel_unlink(dnnl_tp_cancel_t cancel, dtp_cancel_link_t *link) {
    token_lock(cancel);
    if (link->generation == cancel->generation) {
        if (link->next) link->next->prev = link->prev;
        if (link->prev) link->prev->next = link->next;
        else cancel->first = link->next;
    }
    dtp_unlock(&cancel->lock);
    dtp_object_release(cancel);
}

dnnl_tp_status_t dnnl_tp_cancel_create(dnnl_tp_cancel_t *cancel) {
    DTP_REQUIRE(cancel, NULL_ARG, "cancel is NULL");
    *cancel = dtp_object_create(dtp_process_allocator(), sizeof **cancel, DTP_OBJ_CANCEL, NULL);
    DTP_RETURN(*cancel ? dnnl_tp_success : dnnl_tp_out_of_memory);
}

dnnl_tp_status_t dnnl_tp_cancel_fire(dnnl_tp_cancel_t cancel) {
    DTP_REQUIRE_HANDLE(cancel, DTP_OBJ_CANCEL);
    token_lock(cancel);
    atomic_store_explicit(&cancel->fired, 1, memory_order_relaxed);
    /* Runs that rest are called without the lock: until then their links stay. */
    dtp_cancel_link_t *resting = NULL;
    for (dtp_cancel_link_t *l = cancel->first; l; l = l->next) {
        if (!dtp_stop(l->stop, DTP_STOP_CANCELLED)) continue;
        l->resume = dtp_sleeper_end(l->sleeper);
        if (!l->resume.fn) continue;
        l->fired = resting;
        resting = l;
    }
    dtp_unlock(&cancel->lock);
    for (dtp_cancel_link_t *l = resting, *next; l; l = next) {
        next = l->fired;
        dtp_resume(l->resume);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_cancel_destroy(dnnl_tp_cancel_t cancel) { DTP_DESTROY(cancel, DTP_OBJ_CANCEL); }
