/* Checks of the dataflow engine without the crew that joins a run. Included once per check, after the source of
 * dataflow/run/run.c. */
#ifndef DTP_MODEL_NO_CREW_H
#define DTP_MODEL_NO_CREW_H

#include "threading/loops/crew.h"

bool dtp_crew_expects_helper(dtp_crew_t *crew, const dtp_parallel_t *par, int64_t est_ns) {
    (void)crew, (void)par, (void)est_ns;
    return false;
}
bool dtp_crew_open(dtp_crew_t *crew, const dtp_parallel_t *par, int participants, dtp_loop_fn_t fn,
                   void *arg) {
    (void)crew, (void)par, (void)participants, (void)fn, (void)arg;
    return false;
}
int dtp_crew_want(dtp_crew_t *crew, int count, int64_t est_ns) {
    (void)crew, (void)count, (void)est_ns;
    return 0;
}
bool dtp_crew_is_full(const dtp_crew_t *crew) {
    (void)crew;
    return false;
}
bool dtp_crew_must_leave(const dtp_crew_t *crew) {
    (void)crew;
    return false;
}
bool dtp_crew_has_too_many(const dtp_crew_t *crew) {
    (void)crew;
    return false;
}
/* The ticket of the owner, and others that are free. */
static bool model_lends, model_owner_has_ticket = true;
static _Atomic int model_tickets;
bool dtp_crew_lend(dtp_crew_t *crew) {
    (void)crew;
    if (!model_lends || !model_owner_has_ticket) return false;
    model_owner_has_ticket = false;
    atomic_fetch_add_explicit(&model_tickets, 1, memory_order_seq_cst);
    return true;
}
static inline bool model_take_ticket(void) {
    int n = atomic_load_explicit(&model_tickets, memory_order_relaxed);
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&model_tickets, &n, n - 1, memory_order_seq_cst,
                                                  memory_order_relaxed))
            return true;
    return false;
}
bool dtp_crew_regain(dtp_crew_t *crew, bool wait, const dtp_share_t *share) {
    (void)crew, (void)share;
    while (!model_take_ticket()) {
        if (!wait) return false;
        mc_yield();
    }
    return model_owner_has_ticket = true;
}
bool dtp_crew_ticket_is_free(const dtp_crew_t *crew) {
    (void)crew;
    return atomic_load_explicit(&model_tickets, memory_order_relaxed) > 0;
}
bool dtp_crew_help(dtp_crew_t *crew) {
    (void)crew;
    return false;
}
void dtp_crew_close(dtp_crew_t *crew) { (void)crew; }

#endif
