/* The FIFO of published work, which waits for a ticket, and who is told that there is one: a thread
 * of the pool, the owner of the work, or a thread that waits for something else. The words stand in
 * record.h, the order in fifo.h. */
#include "threading/pools/builtin_pool.h"
#include "threading/pools/fifo.h"

/* ---- The FIFO ---------------------------------------------------------------------------------------- */

void dtp_attention_update(dtp_pool_t *rec) {
    bool attention = rec->n_waiting || rec->task_head != rec->task_tail || atomic_load(&rec->ending);
    if (attention)
        atomic_fetch_or_explicit(&rec->loop[0].open_loops, DTP_LOOPS_ATTENTION, memory_order_seq_cst);
    else atomic_fetch_and_explicit(&rec->loop[0].open_loops, ~DTP_LOOPS_ATTENTION, memory_order_relaxed);
}

static void count_short(dtp_pool_t *rec, const dtp_pending_work_t *work, int change) {
    if (!work->ns) return;
    const uint32_t n = atomic_load_explicit(&rec->front.n_short, memory_order_relaxed);
    atomic_store_explicit(&rec->front.n_short, n + (uint32_t)change, memory_order_relaxed);
}

/* Its count in adm was taken back. */
static void pending_remove(dtp_pool_t *rec, dtp_pending_work_t *work) {
    dtp_fifo_remove(rec, work);
    --rec->n_waiting;
    count_short(rec, work, -1);
    work->linked = false;
    atomic_store_explicit(&work->state, DTP_PENDING_TAKEN, memory_order_relaxed);
    dtp_attention_update(rec);
}

void dtp_pending_unlink(dtp_pool_t *rec, dtp_pending_work_t *work) {
    if (rec->n_waiting <= DTP_WAITING_COUNTED)
        atomic_fetch_sub_explicit(&rec->adm, DTP_ADM_WAITING, memory_order_relaxed);
    pending_remove(rec, work);
}

void dtp_pending_publish(dtp_pool_t *rec, dtp_pending_work_t *work) {
    /* Threads that come back to what they left are before all others. */
    if (work->priority == DTP_TICKET_BACK && work->kind != DTP_PENDING_TICKET) --work->priority;
    dtp_lock(&rec->lock);
    atomic_store_explicit(&work->state, DTP_PENDING_PUBLISHED, memory_order_relaxed);
    work->linked = true;
    work->number = ++rec->n_published;
    dtp_fifo_append(rec, work, work->kind != DTP_PENDING_QUEUE || dtp_queue_is_awaited(work));
    count_short(rec, work, 1);
    const uint64_t one = rec->n_waiting++ < DTP_WAITING_COUNTED ? DTP_ADM_WAITING : 0;
    uint64_t a = atomic_fetch_add_explicit(&rec->adm, one, memory_order_seq_cst);
    dtp_ticket_note_runs(rec, a + one);
    dtp_attention_update(rec);
    dtp_unlock(&rec->lock);
}

bool dtp_pending_outranks(dtp_pool_t *rec, int priority) {
    if (!dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed))) return false;
    dtp_lock(&rec->lock);
    const dtp_pending_work_t *first = dtp_fifo_first(rec);
    const bool outranks = first && first->priority > priority;
    dtp_unlock(&rec->lock);
#ifdef DTP_BREAK_QUEUE_OUTRANKED
    return false;
#endif
    return outranks;
}

bool dtp_pending_reclaim(dtp_pool_t *rec, dtp_pending_work_t *work, uint64_t *gave_way) {
    dtp_lock(&rec->lock);
    bool mine = work->linked;
    if (mine && gave_way) {
        const dtp_pending_work_t *first = dtp_fifo_first(rec);
        const bool orphaned = atomic_load_explicit(&rec->orphaned, memory_order_relaxed);
        mine = first->priority <= work->priority || (first->number == *gave_way && !orphaned);
        if (!mine) *gave_way = first->number;
    }
    mine = mine && dtp_ticket_run(rec, false, true);
    if (mine) {
        pending_remove(rec, work);
    } else if (work->linked && !work->attended) { /* whose thread is going to sleep now */
        dtp_fifo_remove(rec, work);
        dtp_fifo_append(rec, work, true);
    }
    dtp_unlock(&rec->lock);
    return mine;
}

dtp_pending_work_t *dtp_pending_take(dtp_pool_t *rec, bool from_joiner, const void *const *cookie) {
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = cookie ? dtp_fifo_first_of(rec, *cookie) : dtp_fifo_first(rec);
    if (work && dtp_ticket_run(rec, from_joiner, true)) pending_remove(rec, work);
    else work = NULL;
    dtp_unlock(&rec->lock);
    return work;
}

dtp_pending_work_t *dtp_pending_take_left(dtp_pool_t *rec) {
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = rec->fifo[false];
    if (work && dtp_ticket_run(rec, false, true)) pending_remove(rec, work);
    else work = NULL;
    dtp_unlock(&rec->lock);
    return work;
}

dtp_pending_work_t *dtp_pending_next(dtp_pool_t *rec) {
    if (!dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed))) return NULL;
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = dtp_fifo_first(rec);
    if (work) dtp_pending_unlink(rec, work);
    dtp_unlock(&rec->lock);
    return work;
}

bool dtp_pending_withdraw(dtp_pool_t *rec, dtp_pending_work_t *work) {
    dtp_lock(&rec->lock);
    const bool mine = work->linked;
    if (mine) dtp_pending_unlink(rec, work);
    dtp_unlock(&rec->lock);
    return mine;
}

/* A host may take its time in schedule. */
void dtp_pending_settle(dtp_pending_work_t *work) {
    for (int i = 0; i < DTP_SPINS(100); ++i) {
        if (!atomic_load_explicit(&work->calling, memory_order_acquire)) return;
        dtp_pause();
    }
    uint32_t calls = atomic_fetch_or_explicit(&work->calling, DTP_PENDING_SETTLES, memory_order_acquire);
    for (calls |= DTP_PENDING_SETTLES; calls != DTP_PENDING_SETTLES;
         calls = atomic_load_explicit(&work->calling, memory_order_acquire))
        dtp_futex_wait(&work->calling, calls, -1);
    atomic_fetch_and_explicit(&work->calling, ~DTP_PENDING_SETTLES, memory_order_relaxed);
}

bool dtp_pending_settle_or(dtp_pending_work_t *work, void (*settled)(void *arg), void *arg) {
    const dtp_chain_t *c = dtp_chain_top;
    while (c && c->kind != DTP_CHAIN_IN_HOST) c = c->up;
    if (!c) {
        dtp_pending_settle(work);
        return true;
    }
    work->settled = settled;
    work->settled_arg = arg;
    if (atomic_fetch_or_explicit(&work->calling, DTP_PENDING_DEFERS, memory_order_acq_rel)) return false;
    atomic_store_explicit(&work->calling, 0, memory_order_relaxed); /* not linked: no call begins */
    return true;
}

/* A call of schedule for pending work has returned; who settles may free it at once. */
static void pending_called(dtp_pending_work_t *work) {
    const uint32_t calls = atomic_fetch_sub_explicit(&work->calling, 1, memory_order_acq_rel);
#ifdef DTP_BREAK_PENDING_SETTLE
    return;
#endif
    if (calls == (DTP_PENDING_SETTLES | 1)) dtp_futex_wake(&work->calling, 1);
    if (calls != (DTP_PENDING_DEFERS | 1)) return;
    atomic_store_explicit(&work->calling, 0, memory_order_relaxed);
    work->settled(work->settled_arg);
}

/* ---- Who comes --------------------------------------------------------------------------------------- */

void dtp_pending_hand_over(dtp_pending_work_t *work) {
    atomic_store_explicit(&work->state, DTP_PENDING_DONE, memory_order_release);
    dtp_futex_wake(&work->state, 1);
}

/* A thread that waits for nothing but a ticket gets a free one: false if none is first, or no
 * ticket is free.
 */
static bool grant(dtp_pool_t *rec) {
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = dtp_fifo_first(rec);
    bool granted = work && work->kind == DTP_PENDING_TICKET && dtp_ticket_run(rec, false, true);
    if (granted) {
        pending_remove(rec, work);
        dtp_pending_hand_over(work);
    }
    dtp_unlock(&rec->lock);
    return granted;
}

/* Asks the pool for a thread for the first pending work, where there is a ticket for one. */
typedef enum { POOL_COMES, POOL_WAS_CALLED, POOL_IS_AWAY } answer_t;
static answer_t call_pool(dtp_pool_t *rec) {
    uint64_t a;
    do {
        a = atomic_load_explicit(&rec->adm, memory_order_seq_cst);
        if (!dtp_adm_waiting(a) || dtp_pool_dead(rec)) return POOL_COMES;
        if (dtp_adm_runs(a) + dtp_adm_joiners(a) >= rec->num_threads)
            return POOL_COMES; /* their holders look at the end */
    } while (atomic_load_explicit(&rec->wants_back, memory_order_relaxed) && grant(rec));
    if (rec->workers) {
        if (dtp_builtin_wake_at(rec, dtp_this_cpu())) return POOL_COMES; /* our own thread */
        /* None sleeps, and each looks before it does. */
        return dtp_workers_are_away(rec) ? POOL_IS_AWAY : POOL_WAS_CALLED;
    }
    dtp_lock(&rec->lock);
    dtp_pending_work_t *first = dtp_fifo_first(rec);
    void *cookie = first ? first->cookie : NULL;
    if (cookie) atomic_fetch_add_explicit(&first->calling, 1, memory_order_relaxed);
    dtp_unlock(&rec->lock);
    /* This thread serves what it promises inside the host after the call is counted as returned:
     * that may end the run, and the end waits for the call. */
    dtp_chain_t chain = {.up = dtp_chain_top, .kind = DTP_CHAIN_CALLBACK};
    if (cookie) dtp_chain_top = &chain;
    const bool called = first && dtp_host_call_runner(rec, cookie);
    if (cookie) {
        dtp_chain_pop_inner(&chain);
        pending_called(first);
        dtp_look_at_left(&chain);
    }
    return called ? POOL_WAS_CALLED : POOL_IS_AWAY;
}

bool dtp_pool_is_away(dtp_pool_t *rec) { return call_pool(rec) == POOL_IS_AWAY; }

/* Under the lock, as what follows. The thread that is called sees `orphaned`, or has it seen by
 * another one (record.h). */
static void strand(dtp_pool_t *rec) {
    if (atomic_load_explicit(&rec->orphaned, memory_order_relaxed)) return;
    atomic_store_explicit(&rec->orphaned, true, memory_order_relaxed);
#ifndef DTP_BREAK_QUEUE_CALL
    if (rec->waiters) (void)dtp_queue_hint(rec->waiters->work);
#endif
}

/* Tells the owner of the oldest pending work that has one to run it himself, if need be; that work,
 * or NULL. */
static const dtp_pending_work_t *hint_owner(dtp_pool_t *rec) {
    dtp_pending_work_t *work;
    while ((work = rec->fifo[true]) != NULL) {
        if (work->kind == DTP_PENDING_QUEUE) {
            if (!dtp_queue_hint(work)) { /* who waited has gone */
                dtp_fifo_remove(rec, work);
                dtp_fifo_append(rec, work, false);
                continue;
            }
        } else {
            uint32_t published = DTP_PENDING_PUBLISHED;
            if (atomic_compare_exchange_strong_explicit(&work->state, &published, DTP_PENDING_HINT,
                                                        memory_order_relaxed, memory_order_relaxed))
                dtp_futex_wake(&work->state, INT_MAX);
        }
        break;
    }
    return work;
}

bool dtp_dispatch(dtp_pool_t *rec) {
    const answer_t answer = call_pool(rec);
    if (answer == POOL_COMES) return true;
    dtp_lock(&rec->lock);
    const dtp_pending_work_t *told = hint_owner(rec), *left = rec->fifo[false];
    /* The owner serves what is before its work, too; workers look when they come back from their
     * tasks. */
    if (answer == POOL_IS_AWAY && left && (told ? left->priority > told->priority : rec->workers != NULL))
        strand(rec);
    dtp_unlock(&rec->lock);
    return told || answer == POOL_WAS_CALLED || rec->workers;
}

void dtp_pool_strand(dtp_pool_t *rec) {
    dtp_lock(&rec->lock);
    strand(rec);
    dtp_unlock(&rec->lock);
}

bool dtp_pool_wait_in(dtp_pool_t *rec, dtp_waiter_t *w) {
    dtp_lock(&rec->lock);
    w->next = rec->waiters;
    w->at = &rec->waiters;
    if (w->next) w->next->at = &w->next;
    rec->waiters = w;
    const bool orphaned = atomic_load_explicit(&rec->orphaned, memory_order_relaxed);
    dtp_unlock(&rec->lock);
    return !orphaned;
}

void dtp_pool_wait_out(dtp_pool_t *rec, dtp_waiter_t *w) {
    dtp_lock(&rec->lock);
    *w->at = w->next;
    if (w->next) w->next->at = w->at;
    dtp_unlock(&rec->lock);
}
