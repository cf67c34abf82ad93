/* The tickets of owners of runs that sleep: lanes (lane.h), and what an owner with nothing to do lends. */
#include "threading/pools/lane.h"

#include "threading/base/atomics.h"
#include "threading/pools/fifo.h"
#include "threading/pools/helpers.h"

#ifndef DTP_LANE_NS /* tests/model has others */
#define DTP_LANE_NS 200000
#endif
enum {
    IDLE_NS = 50000, /* who thinks longer than that between two runs has the next one in another lane */
    REST = 2,
    MUCH_SHORTER = 8,
    LONG_NS = 400000 /* what takes less is through before it would let others pass */
};
enum { LANE_FREE, LANE_USED, LANE_WATCHED, LANE_CLOSED };

/* ---- Lending ------------------------------------------------------------------------------------------ */

/* Only outermost: a thread that holds something else, too, must not wait for a ticket. */
bool dtp_ticket_may_lend(const dtp_pool_t *rec) {
    const dtp_chain_t *chain = dtp_chain_top;
    if (!chain || chain->rec != rec || chain->ticket != DTP_TICKET_LENDABLE) return false;
    const dtp_chain_t *up = chain->up; /* a thread of the pool that has come for runs holds nothing yet */
    return !up || (!up->up && up->kind == DTP_CHAIN_HOST_CALL && up->rec == rec);
}

bool dtp_ticket_lend(dtp_pool_t *rec) {
    if (!dtp_ticket_may_lend(rec)) return false;
    dtp_chain_t *chain = dtp_chain_top;
    atomic_fetch_add_explicit(&rec->lent, 1, memory_order_relaxed);
    chain->ticket = DTP_TICKET_LENT;
    const uint64_t a = atomic_fetch_sub_explicit(&rec->adm, DTP_ADM_RUN, memory_order_seq_cst);
#ifdef DTP_BREAK_TICKET_LEND
    return true;
#endif
    if (dtp_adm_waiting(a)) dtp_let_go(rec);
    else if (dtp_helpers_miss_tickets(rec)) dtp_helpers_call_for_ticket(rec);
    return true;
}

bool dtp_ticket_regain(dtp_pool_t *rec, bool wait, const dtp_share_t *share) {
    if (!(wait ? dtp_ticket_get(rec, DTP_TICKET_BACK, share) : dtp_ticket_run(rec, false, false)))
        return false;
    atomic_fetch_sub_explicit(&rec->lent, 1, memory_order_relaxed);
    dtp_chain_top->ticket = DTP_TICKET_LENDABLE;
    return true;
}

/* ---- Lanes -------------------------------------------------------------------------------------------- */

/* Under the lock, as all that follows. */
static uint32_t lane_state(const dtp_lane_t *lane) {
    return atomic_load_explicit(&lane->state, memory_order_relaxed);
}

/* Takes the first short run out of the FIFO; the caller wakes the thread that sleeps on its state. One that was told of a free
 * ticket helps itself. */
static dtp_pending_work_t *call_next(dtp_pool_t *rec, dtp_lane_t *lane) {
    dtp_pending_work_t *work = dtp_fifo_first_short(rec, lane->ns, lane->priority);
    if (!work) return NULL;
    dtp_pending_unlink(rec, work);
    work->lane = lane;
    atomic_store_explicit(&work->state, DTP_PENDING_PASSES, memory_order_release);
    return work;
}

/* The caller wakes the owner. */
static void close_lane(dtp_pool_t *rec, dtp_lane_t *lane) {
    dtp_lane_t **at = &rec->lanes;
    while (*at != lane) at = &(*at)->next;
    *at = lane->next;
    atomic_store_explicit(&lane->state, LANE_CLOSED, memory_order_release);
}

static bool is_open_to(const dtp_lane_t *lane, const dtp_pending_work_t *work) {
#ifndef DTP_BREAK_LANE_USED
    if (lane_state(lane) != LANE_FREE) return false;
#endif
    return work->ns <= lane->ns && work->priority >= lane->priority;
}

bool dtp_lane_enter(dtp_pool_t *rec, dtp_pending_work_t *work) {
    if (!work->ns) return false;
    dtp_lock(&rec->lock);
    dtp_lane_t *lane = rec->lanes;
    while (lane && !is_open_to(lane, work)) lane = lane->next;
    const bool over = lane && dtp_ticks() >= lane->until;
    if (over) close_lane(rec, lane);
    else if (lane) atomic_store_explicit(&lane->state, LANE_USED, memory_order_relaxed);
    dtp_unlock(&rec->lock);
    if (over) dtp_futex_wake(&lane->state, 1);
    work->lane = lane;
    return lane && !over;
}

void dtp_lane_leave(dtp_pool_t *rec, dtp_lane_t *lane) {
    dtp_pending_work_t *next = NULL;
    DTP_COUNT(rec, runs, 1);
    DTP_COUNT(rec, running_sum, (uint64_t)rec->num_threads);
#ifdef DTP_BREAK_LANE_TICKET
    (void)dtp_ticket_give(rec);
#endif
    dtp_lock(&rec->lock);
    lane->left_at = dtp_ticks();
    bool wake = lane->left_at >= lane->until;
    if (wake) {
        close_lane(rec, lane);
    } else if (!(next = call_next(rec, lane))) {
#ifndef DTP_BREAK_LANE_WATCH
        wake = lane_state(lane) == LANE_WATCHED;
#endif
        atomic_store_explicit(&lane->state, LANE_FREE, memory_order_relaxed);
    }
    dtp_unlock(&rec->lock);
    if (wake) dtp_futex_wake(&lane->state, 1);
    if (next) dtp_futex_wake(&next->state, 1);
}

/* By its owner, which has slept for IDLE_NS. */
static void look_at_lane(dtp_pool_t *rec, dtp_lane_t *lane) {
    dtp_lock(&rec->lock);
    const int64_t now = dtp_ticks();
    uint32_t state = lane_state(lane);
#ifdef DTP_BREAK_LANE_CLOSE
    if (state == LANE_USED) state = LANE_FREE;
#endif
    if (state == LANE_USED) atomic_store_explicit(&lane->state, LANE_WATCHED, memory_order_relaxed);
    else if (state == LANE_FREE && (now >= lane->until || now - lane->left_at >= dtp_ticks_of_ns(IDLE_NS)))
        close_lane(rec, lane);
    dtp_unlock(&rec->lock);
}

static void sleep_while_open(dtp_pool_t *rec, dtp_lane_t *lane) {
    DTP_PREEMPT_POINT();
    for (uint32_t state; (state = atomic_load_explicit(&lane->state, memory_order_acquire)) != LANE_CLOSED;)
        if (!dtp_futex_wait(&lane->state, state, state == LANE_WATCHED ? DTP_LONG_NS : IDLE_NS))
            look_at_lane(rec, lane);
}

void dtp_pool_let_pass(dtp_pool_t *rec, int64_t ns, int priority) {
    dtp_chain_t *chain = dtp_chain_top;
    if (ns < LONG_NS || rec->host_loops || !dtp_ticket_may_lend(rec)) return;
    /* Helpers are quicker to leave: they take what waits. */
    const uint64_t adm = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    if (dtp_adm_runs(adm) < rec->num_threads) return;
    const int64_t now = dtp_ticks(), open = dtp_ticks_of_ns(DTP_LANE_NS);
    if (!chain->works_until) chain->works_until = now + REST * open;
    if (now < chain->works_until) return;
    dtp_lane_t lane = {.state = LANE_USED,
                       .ns = ns / MUCH_SHORTER,
                       .priority = priority,
                       .until = now + open,
                       .left_at = now};
    dtp_lock(&rec->lock);
    dtp_pending_work_t *first = call_next(rec, &lane);
    if (first) {
        lane.next = rec->lanes;
        rec->lanes = &lane;
    }
    dtp_unlock(&rec->lock);
    if (!first) {
        chain->works_until = now + open;
        return;
    }
    dtp_futex_wake(&first->state, 1);
    sleep_while_open(rec, &lane);
    const int64_t end = dtp_ticks();
    chain->works_until = end + REST * (end - now);
}
