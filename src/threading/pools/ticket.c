/* Run tickets: how many threads may compute for one pool at once (state machine in record.h).
 * Not here: the FIFO of published work (fifo.c). */
#include "threading/base/atomics.h"
#include "threading/pools/helpers.h"

enum {
    /* How long joiners leave the tickets of callers that were seen together: a client that thinks for a
     * moment between two runs should find its ticket. */
    PEAK_NS = 1000000,
    PEAK_PARTS = 4
};

/* As many as there are tickets leave none to joiners: who waits beyond them is not remembered. */
void dtp_ticket_note_runs(dtp_pool_t *rec, uint64_t adm) {
    int runs = dtp_adm_runs(adm) + dtp_adm_waiting(adm);
    if (runs > rec->num_threads) runs = rec->num_threads;
    const int peak = atomic_load_explicit(&rec->peak, memory_order_relaxed);
    if (runs < 2 || runs < peak) return;
    /* Every run comes here, so what is written down already is not written again. */
    const int64_t now = dtp_ticks(), at = atomic_load_explicit(&rec->peak_time, memory_order_relaxed);
    if (runs == peak && now - at < dtp_ticks_of_ns(PEAK_NS / PEAK_PARTS)) return;
    atomic_store_explicit(&rec->peak, runs, memory_order_relaxed);
    atomic_store_explicit(&rec->peak_time, now, memory_order_relaxed);
}

/* One more thread got a ticket: adm is the state after it. */
static void count_running(dtp_pool_t *rec, size_t kind, uint64_t adm) {
    int running = dtp_adm_runs(adm) + dtp_adm_joiners(adm);
    dtp_count(rec, kind, 1);
    DTP_COUNT(rec, running_sum, (uint64_t)running);
    int most = atomic_load_explicit(&rec->max_running, memory_order_relaxed);
    while (running > most &&
           !atomic_compare_exchange_weak_explicit(&rec->max_running, &most, running, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

static int callers_to_expect(dtp_pool_t *rec) {
    int peak = atomic_load_explicit(&rec->peak, memory_order_relaxed);
    if (peak == 0) return 0;
    int64_t age = dtp_ticks() - atomic_load_explicit(&rec->peak_time, memory_order_relaxed);
    if (age <= dtp_ticks_of_ns(PEAK_NS)) return peak;
    atomic_store_explicit(&rec->peak, 0, memory_order_relaxed);
    return 0;
}

/* Without owners that sleep and have said that others may have their tickets. */
static int callers_to_come(dtp_pool_t *rec) {
    const int expected = callers_to_expect(rec);
    return expected ? expected - atomic_load_explicit(&rec->lent, memory_order_relaxed) : 0;
}

static int callers_of(const dtp_pool_t *rec, uint64_t adm) {
    uint64_t reserved = atomic_load_explicit(&rec->reserved, memory_order_relaxed);
    return dtp_adm_callers(adm) + (reserved & DTP_RESERVED_BY_CALLER ? 1 : 0);
}

int dtp_ticket_free(dtp_pool_t *rec, uint64_t adm) {
    const int expected = callers_to_come(rec), runs = dtp_adm_runs(adm);
    return rec->num_threads - (runs > expected ? runs : expected) - dtp_adm_joiners(adm) -
           callers_of(rec, adm);
}

bool dtp_ticket_join(dtp_pool_t *rec) {
    uint64_t a = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    int expected = callers_to_come(rec);
    for (;;) {
        int runs = dtp_adm_runs(a) > expected ? dtp_adm_runs(a) : expected;
        if (dtp_adm_waiting(a) || runs + callers_of(rec, a) + dtp_adm_joiners(a) >= rec->num_threads)
            return false;
        if (atomic_compare_exchange_weak_explicit(&rec->adm, &a, a + DTP_ADM_JOINER, memory_order_acquire,
                                                  memory_order_relaxed)) {
            count_running(rec, offsetof(dtp_counts_t, joins), a + DTP_ADM_JOINER);
            return true;
        }
    }
}

int dtp_ticket_join_several(dtp_pool_t *rec, int most) {
    uint64_t a = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    for (;;) {
        int free = dtp_adm_waiting(a) ? 0 : dtp_ticket_free(rec, a);
        if (free > most) free = most;
        if (free < 2) return 0;
        uint64_t next = a + (uint64_t)free * DTP_ADM_JOINER;
        if (atomic_compare_exchange_weak_explicit(&rec->adm, &a, next, memory_order_acquire,
                                                  memory_order_relaxed)) {
            count_running(rec, offsetof(dtp_counts_t, joins), next);
            return free;
        }
    }
}

void dtp_ticket_leave_several(dtp_pool_t *rec, int n) {
    uint64_t a = atomic_fetch_sub_explicit(&rec->adm, (uint64_t)n * DTP_ADM_JOINER, memory_order_seq_cst);
    if (dtp_adm_waiting(a)) dtp_let_go(rec);
    else if (dtp_helpers_miss_tickets(rec)) dtp_helpers_call_for_ticket(rec);
}
void dtp_ticket_leave(dtp_pool_t *rec) { dtp_ticket_leave_several(rec, 1); }

bool dtp_ticket_run(dtp_pool_t *rec, bool from_joiner, bool from_waiting) {
    uint64_t give = from_joiner ? DTP_ADM_JOINER : 0;
    if (from_waiting && rec->n_waiting <= DTP_WAITING_COUNTED) give += DTP_ADM_WAITING;
    uint64_t a = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    for (;;) {
        if (!from_waiting && dtp_adm_waiting(a)) return false; /* no overtaking */
        if (!from_joiner && dtp_adm_runs(a) + dtp_adm_joiners(a) >= rec->num_threads) return false;
        DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_TICKET_CAS
        a = atomic_load_explicit(&rec->adm, memory_order_relaxed);
#endif
        if (atomic_compare_exchange_weak_explicit(&rec->adm, &a, a + DTP_ADM_RUN - give, memory_order_acquire,
                                                  memory_order_relaxed)) {
            dtp_ticket_note_runs(rec, a + DTP_ADM_RUN - give);
            count_running(rec, offsetof(dtp_counts_t, runs), a + DTP_ADM_RUN - give);
            return true;
        }
    }
}

static __attribute__((noinline)) bool call_for_ticket(dtp_pool_t *rec) {
    dtp_helpers_call_for_ticket(rec);
    return true;
}

bool dtp_ticket_give(dtp_pool_t *rec) {
    uint64_t a = atomic_fetch_sub_explicit(&rec->adm, DTP_ADM_RUN, memory_order_seq_cst);
    dtp_ticket_note_runs(rec, a); /* seen together until now */
#ifdef DTP_BREAK_TICKET_END
    return true;
#endif
    if (dtp_adm_waiting(a)) return dtp_dispatch(rec);
    return !dtp_helpers_miss_tickets(rec) || call_for_ticket(rec);
}

void dtp_ticket_end(dtp_pool_t *rec) {
    bool served = dtp_ticket_give(rec);
#ifdef DTP_BREAK_TICKET_TAKE_OVER
    served = true;
#endif
    if (DTP_UNLIKELY(!served)) dtp_queue_take_over(rec);
    dtp_look_at_left(NULL);
}

bool dtp_ticket_may_spin(const dtp_pool_t *rec) {
    uint64_t a = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    if (!rec->spin_allowed || dtp_adm_waiting(a)) return false;
    int callers = dtp_adm_runs(a) + dtp_adm_callers(a);
    /* Openers write the line of `reserved` at every loop: with one caller it is left alone. */
    if (callers) callers = dtp_adm_runs(a) + callers_of(rec, a);
    return callers < 2 || callers <= rec->num_threads / 2;
}
