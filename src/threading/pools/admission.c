/* Runs: one graph execution each, admitted by tickets; and the FIFO of work that waits for one.
 *
 * A run executes on its caller while a ticket is free. Otherwise it is published as pending work and its caller
 * sleeps:
 *
 *   PUBLISHED -> HINT -> TAKEN -> DONE     state of the pending work of a run; its publisher sleeps on it
 *                        TAKEN -> PASSES    it is much shorter than the runs that have the tickets (lane.h)
 *
 * TAKEN is set under the record's lock by whoever unlinks it, with a ticket. HINT says that a ticket
 * was free and some thread was asked to use it; the publisher gives that thread one wake cost and then helps
 * itself. So the publishers alone suffice for progress (two outside callers may hold both tickets while every
 * thread of the host has published and sleeps). A thread of the pool that finishes a piece of it keeps its ticket
 * for the next one: handing it to a sleeping client costs a fifth of the throughput. */
#include "threading/pools/builtin_pool.h"
#include "threading/pools/fifo.h"
#include "threading/pools/helpers.h"
#include "threading/pools/lane.h"
#include "threading/base/sleeper.h"

_Thread_local dtp_chain_t *dtp_chain_top __attribute__((tls_model("initial-exec")));
_Thread_local struct dtp_queue *dtp_left_here __attribute__((tls_model("initial-exec")));
_Thread_local bool dtp_thread_is_lent __attribute__((tls_model("initial-exec")));
_Thread_local const dtp_share_t *dtp_share_here __attribute__((tls_model("initial-exec")));
bool dtp_thread_is_inside(void) { return dtp_chain_top != NULL; }

typedef struct {
    dtp_pending_work_t work;
    dtp_run_fn_t fn;
    void *arg;
    int num_threads;
} run_t;

/* ---- The FIFO ---------------------------------------------------------------------------------------- */

void dtp_door_update(dtp_pool_t *rec) {
    bool attention = rec->n_waiting || rec->task_head != rec->task_tail || atomic_load(&rec->ending);
    if (attention) atomic_fetch_or_explicit(&rec->loop[0].door, DTP_DOOR_ATTENTION, memory_order_seq_cst);
    else atomic_fetch_and_explicit(&rec->loop[0].door, ~DTP_DOOR_ATTENTION, memory_order_relaxed);
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
    dtp_door_update(rec);
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
    dtp_door_update(rec);
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
        mine = first->priority <= work->priority || first->number == *gave_way;
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

/* Which pending work a thread may take: any, or that of one run. */
typedef struct {
    bool any;
    const void *cookie;
} pending_filter_t;

/* The first pending work, with a ticket for it. */
static dtp_pending_work_t *pending_take(dtp_pool_t *rec, bool from_joiner, pending_filter_t filter) {
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = filter.any ? dtp_fifo_first(rec) : dtp_fifo_first_of(rec, filter.cookie);
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

/* The next pending work for a thread that keeps its run's ticket. */
static dtp_pending_work_t *pending_next(dtp_pool_t *rec) {
    if (!dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed))) return NULL;
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = dtp_fifo_first(rec);
    if (work) dtp_pending_unlink(rec, work);
    dtp_unlock(&rec->lock);
    return work;
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

/* A call of schedule for pending work has returned; who settles may free it at once. */
static void pending_called(dtp_pending_work_t *work) {
    const uint32_t calls = atomic_fetch_sub_explicit(&work->calling, 1, memory_order_release);
#ifdef DTP_BREAK_PENDING_SETTLE
    return;
#endif
    if (calls == (DTP_PENDING_SETTLES | 1)) dtp_futex_wake(&work->calling, 1);
}

/* The ticket that this thread has taken for work belongs to the thread that sleeps on it, which may be gone at
 * once. */
static void hand_over(dtp_pending_work_t *work) {
    atomic_store_explicit(&work->state, DTP_PENDING_DONE, memory_order_release);
    dtp_futex_wake(&work->state, 1);
}

/* A thread that waits for nothing but a ticket gets a free one: false if none is first, or no ticket is free.
 */
static bool grant(dtp_pool_t *rec) {
    dtp_lock(&rec->lock);
    dtp_pending_work_t *work = dtp_fifo_first(rec);
    bool granted = work && work->kind == DTP_PENDING_TICKET && dtp_ticket_run(rec, false, true);
    if (granted) {
        pending_remove(rec, work);
        hand_over(work);
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
    const bool called = first && dtp_host_call_runner(rec, cookie);
    if (cookie) pending_called(first);
    return called ? POOL_WAS_CALLED : POOL_IS_AWAY;
}

bool dtp_pool_is_away(dtp_pool_t *rec) { return call_pool(rec) == POOL_IS_AWAY; }

/* Under the lock, as what follows. The thread that is called sees `stranded`, or has it seen by another one (record.h). */
static void strand(dtp_pool_t *rec) {
    if (atomic_load_explicit(&rec->stranded, memory_order_relaxed)) return;
    atomic_store_explicit(&rec->stranded, true, memory_order_relaxed);
    if (rec->waiters) (void)dtp_queue_hint(rec->waiters->work);
}

/* Tells the owner of the oldest pending work that has one to run it himself, if need be; that work, or NULL. */
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
    /* The owner serves what is before its work, too; workers look when they come back from their tasks. */
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
    const bool stranded = atomic_load_explicit(&rec->stranded, memory_order_relaxed);
    dtp_unlock(&rec->lock);
    return !stranded;
}

void dtp_pool_wait_out(dtp_pool_t *rec, dtp_waiter_t *w) {
    dtp_lock(&rec->lock);
    *w->at = w->next;
    if (w->next) w->next->at = w->at;
    dtp_unlock(&rec->lock);
}

/* ---- Teams ------------------------------------------------------------------------------------------- */

dtp_team_t *dtp_team_open(dtp_pool_t *rec, void *cookie) {
    /* A thread's runs find the team that they had before, and pass by no others'. */
    int at = (int)(dtp_thread_part(1u << 16) * (uint32_t)rec->n_teams >> 16);
    for (int i = 0; i < rec->n_teams; ++i, at = at + 1 == rec->n_teams ? 0 : at + 1) {
        dtp_team_t *team = &rec->teams[at];
        uint64_t state = atomic_load_explicit(&team->state, memory_order_relaxed);
        if (dtp_team_is_open(state)) continue;
        uint64_t next = (state & ~(DTP_TEAM_EPOCH - 1)) + DTP_TEAM_EPOCH;
        if (!atomic_compare_exchange_strong_explicit(&team->state, &state, next, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        int64_t wanted_at = atomic_load_explicit(&team->wanted_at, memory_order_relaxed);
        if (wanted_at > 0) atomic_store_explicit(&team->wanted_at, -wanted_at, memory_order_relaxed);
        atomic_store_explicit(&team->cookie, cookie, memory_order_relaxed);
        return team;
    }
    return NULL;
}

/* Who calls the host with the cookie of the run is waited for: run_end comes next. */
static __attribute__((noinline)) void close_with_cookie(dtp_team_t *team, uint64_t next) {
    atomic_exchange_explicit(&team->state, next, memory_order_seq_cst);
    for (uint32_t calls; (calls = atomic_load_explicit(&team->calling, memory_order_seq_cst)) != 0;)
        dtp_futex_wait(&team->calling, calls, -1);
}

/* Joiners that are still about see another epoch and leave; nobody waits for them. */
void dtp_team_close(dtp_team_t *team) {
    const uint64_t state = atomic_load_explicit(&team->state, memory_order_relaxed);
    const uint64_t next = dtp_team_epoch(state) + DTP_TEAM_EPOCH;
    if (DTP_LIKELY(!atomic_load_explicit(&team->cookie, memory_order_relaxed)))
        atomic_store_explicit(&team->state, next, memory_order_release);
    else close_with_cookie(team, next);
}

void dtp_team_let_go(dtp_team_t *team) {
    if (atomic_fetch_sub_explicit(&team->calling, 1, memory_order_seq_cst) == 1)
        dtp_futex_wake(&team->calling, INT_MAX);
}

bool dtp_team_hold(dtp_team_t *team) {
    atomic_fetch_add_explicit(&team->calling, 1, memory_order_seq_cst);
    if (dtp_team_is_open(atomic_load_explicit(&team->state, memory_order_seq_cst))) return true;
    dtp_team_let_go(team);
    return false;
}

/* ---- Executing --------------------------------------------------------------------------------------- */

/* The body of a run as whoever executes it gets it; on the stack of a thread that waits for `done`. */
struct dtp_main {
    dtp_run_fn_t fn;
    void *arg;
    dtp_parallel_t par;
    bool may_block;
    dtp_ticket_use_t ticket;
    _Atomic uint32_t done;
};

static void main_run(struct dtp_main *body) {
    dtp_chain_t chain = {.up = dtp_chain_top,
                         .rec = body->par.pool,
                         .kind = DTP_CHAIN_RUN,
                         .team = body->par.team,
                         .may_block = body->may_block,
                         .ticket = body->ticket};
    dtp_chain_top = &chain;
    body->fn(body->arg, &body->par);
    body->ticket = chain.ticket;
    dtp_chain_pop_inner(&chain);
}

/* Its helpers are jobs of the same loop, which waits for them: they leave when the team is closed. */
void dtp_main_take(struct dtp_main *body) {
    main_run(body);
    dtp_team_close(body->par.team);
    dtp_host_call_team_closed(body->par.team);
    atomic_store_explicit(&body->done, 1, memory_order_release);
    dtp_futex_wake(&body->done, 1);
}

void dtp_main_wait(struct dtp_main *body) {
    while (!atomic_load_explicit(&body->done, memory_order_acquire)) dtp_futex_wait(&body->done, 0, -1);
}

/* False: the run has ended without the ticket that it lent. */
static bool run_here(dtp_pool_t *rec, int num_threads, void *cookie, bool may_block, dtp_ticket_use_t ticket,
                     dtp_run_fn_t fn, void *arg) {
    dtp_team_t *team = dtp_team_open(rec, cookie);
    if (num_threads > rec->num_threads) num_threads = rec->num_threads;
    struct dtp_main body = {
        .fn = fn, .arg = arg, .par = {rec, num_threads, team}, .may_block = may_block, .ticket = ticket};
    if (rec->host_loops && team && num_threads > 1 && dtp_host_call_possible(rec)) {
        body.ticket = DTP_TICKET_KEPT; /* another thread may have it */
        dtp_host_call_main(rec, team, &body, num_threads);
    } else {
        main_run(&body);
        if (team) dtp_team_close(team);
    }
    if (body.ticket != DTP_TICKET_LENT) return true;
    atomic_fetch_sub_explicit(&rec->lent, 1, memory_order_relaxed);
    return false;
}

void dtp_run_here(dtp_pool_t *rec, int num_threads, void *cookie, dtp_run_fn_t fn, void *arg) {
    (void)run_here(rec, num_threads, cookie, true, DTP_TICKET_KEPT, fn, arg);
}

/* Executes pending work that was taken; false: without the ticket in the end. */
static bool pending_execute(dtp_pool_t *rec, dtp_pending_work_t *work) {
    if (work->kind == DTP_PENDING_QUEUE) {
        dtp_queue_run_pending(rec, work);
        return true;
    }
    run_t *run = (run_t *)work;
    const bool has_ticket =
        run_here(rec, run->num_threads, work->cookie, true, DTP_TICKET_LENDABLE, run->fn, run->arg);
    /* The publisher returns as soon as it sees DONE: its stack frame holds the pending work. */
    hand_over(work);
    return has_ticket;
}

static bool run_pending(dtp_pool_t *rec, bool *joiner, pending_filter_t filter) {
    if (!dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed)) || dtp_pool_dead(rec))
        return false;
    dtp_pending_work_t *work = pending_take(rec, *joiner, filter);
    if (!work) return false;
    *joiner = false;
    do {
        if (work->kind == DTP_PENDING_TICKET) {
            hand_over(work);
#ifdef DTP_BREAK_TICKET_HAND_OVER
            dtp_ticket_end(rec);
#endif
            return true;
        }
        if (!pending_execute(rec, work)) {
            dtp_look_at_left(NULL);
            return true;
        }
        work = filter.any && !dtp_pool_dead(rec) ? pending_next(rec) : NULL;
    } while (work);
    dtp_ticket_end(rec);
    return true;
}

bool dtp_run_pending(dtp_pool_t *rec, bool *joiner) {
    return run_pending(rec, joiner, (pending_filter_t){.any = true});
}

bool dtp_run_pending_of(dtp_pool_t *rec, bool *joiner, const void *cookie) {
    return run_pending(rec, joiner,
                       (pending_filter_t){.any = !rec->iface.run_begin || !rec->form_s, .cookie = cookie});
}

/* Takes back what was published and is not taken. A ticket may have been offered: who calls lets go (dtp_let_go). */
bool dtp_pending_withdraw(dtp_pool_t *rec, dtp_pending_work_t *work) {
    dtp_lock(&rec->lock);
    const bool mine = work->linked;
    if (mine) dtp_pending_unlink(rec, work);
    dtp_unlock(&rec->lock);
    return mine;
}

static bool withdraw(dtp_pool_t *rec, dtp_pending_work_t *work) {
    if (!dtp_pending_withdraw(rec, work)) return false;
#ifndef DTP_BREAK_TICKET_WITHDRAW
    dtp_let_go(rec); /* a ticket may have been offered: to somebody else then */
#endif
    return true;
}

/* Sleeps until what was published is done (a run: by another thread), or is this thread's to execute, with a
 * ticket or in a lane, or until share is over and nobody has taken it. */
typedef enum { TURN_DONE, TURN_MINE, TURN_PASSES, TURN_OVER } turn_t;
static turn_t wait_for_turn(dtp_pool_t *rec, dtp_pending_work_t *work, const dtp_share_t *share) {
    int64_t grace_ns = rec->form_s || rec->workers ? dtp_ns_of_ticks(rec->wake_ticks) : 0;
    for (;;) {
        uint32_t state = atomic_load_explicit(&work->state, memory_order_acquire);
        if (state == DTP_PENDING_DONE) return TURN_DONE;
        if (state == DTP_PENDING_PASSES) return TURN_PASSES;
        if (share && dtp_share_over(share)) {
            if (withdraw(rec, work)) return TURN_OVER;
            share = NULL; /* who has it is soon through */
            continue;
        }
        if (state != DTP_PENDING_HINT) {
            dtp_sleep_unless_over(share, &work->state, state, DTP_PENDING_HINT, -1);
            continue;
        }
        if (grace_ns > 0 && dtp_futex_wait(&work->state, DTP_PENDING_HINT, grace_ns)) continue;
        grace_ns = 0;
        if (dtp_pending_reclaim(rec, work, NULL)) return TURN_MINE;
        /* Another thread has the ticket; when it comes free, dispatch hints again. */
        uint32_t hint = DTP_PENDING_HINT;
        if (atomic_compare_exchange_strong_explicit(&work->state, &hint, DTP_PENDING_PUBLISHED,
                                                    memory_order_seq_cst, memory_order_relaxed))
            dtp_dispatch(rec);
    }
}

bool dtp_ticket_get(dtp_pool_t *rec, int priority, const dtp_share_t *share) {
    if (dtp_ticket_run(rec, false, false)) return true;
    atomic_fetch_add_explicit(&rec->wants_back, 1, memory_order_seq_cst);
    dtp_pending_work_t work = {.kind = DTP_PENDING_TICKET, .priority = priority};
    dtp_pending_publish(rec, &work);
    dtp_dispatch(rec);
    const turn_t turn = wait_for_turn(rec, &work, share); /* taken by itself, or handed over */
    dtp_pending_settle(&work);
    atomic_fetch_sub_explicit(&rec->wants_back, 1, memory_order_relaxed);
    return turn != TURN_OVER;
}

/* With a ticket. */
static void run_admitted(dtp_pool_t *rec, const run_t *run, bool nested) {
    if (run_here(rec, run->num_threads, run->work.cookie, !nested, DTP_TICKET_LENDABLE, run->fn, run->arg))
        dtp_ticket_end(rec);
    else dtp_look_at_left(NULL);
}

static void wait_and_run(dtp_pool_t *rec, run_t *run, const dtp_share_t *share) {
    turn_t turn = TURN_PASSES;
    if (!dtp_lane_enter(rec, &run->work)) {
        dtp_pending_publish(rec, &run->work);
        dtp_dispatch(rec);
        turn = wait_for_turn(rec, &run->work, share);
    }
    if (turn == TURN_PASSES) {
        (void)run_here(rec, run->num_threads, run->work.cookie, false, DTP_TICKET_KEPT, run->fn, run->arg);
        dtp_lane_leave(rec, run->work.lane);
        dtp_look_at_left(NULL);
    }
    if (turn == TURN_MINE) run_admitted(rec, run, false);
    dtp_pending_settle(&run->work); /* it is on the caller's stack, and run_end comes next */
}

static void admit_and_run(dtp_pool_t *rec, int num_threads, bool nested, int priority, void *cookie,
                          const dtp_share_t *share, dtp_run_fn_t fn, void *arg) {
    run_t run;
    run.fn = fn;
    run.arg = arg;
    run.num_threads = num_threads;
    run.work.cookie = cookie;
    if (DTP_LIKELY(dtp_ticket_run(rec, false, false))) {
        run_admitted(rec, &run, nested);
    } else if (nested) { /* waiting for a second pool inside a run of a first one could close a circle */
        fn(arg, &(dtp_parallel_t){NULL, 1, NULL});
    } else {
        run.work = (dtp_pending_work_t){.kind = DTP_PENDING_RUN,
                                        .cookie = cookie,
                                        .priority = priority,
                                        .ns = share ? share->passes_ns : 0};
        wait_and_run(rec, &run, share);
    }
}

/* ---- dtp_pool_run ------------------------------------------------------------------------------------ */

static void host_is_done(void *arg) {
    _Atomic uint32_t *word = arg;
    atomic_store_explicit(word, 1, memory_order_release);
    dtp_futex_wake(word, 1);
}

static void end_host_run(const dnnl_tp_threadpool_iface_t *iface, void *cookie) {
    if (!iface->run_end) return;
    _Atomic uint32_t done = 0;
    iface->run_end(iface->ctx, cookie, dnnl_tp_success, 1, host_is_done, &done);
    while (!atomic_load_explicit(&done, memory_order_acquire)) dtp_futex_wait(&done, 0, -1);
}

dnnl_tp_status_t dtp_pool_begin_run(dtp_pool_t *rec, void **cookie, bool *begun) {
    static _Atomic uint64_t run_ids;
    const dnnl_tp_threadpool_iface_t *iface = &rec->iface;
    *begun = iface->run_begin && !rec->workers;
    if (!*begun) return dnnl_tp_success;
    int refused = iface->run_begin(iface->ctx, atomic_fetch_add(&run_ids, 1) + 1, cookie);
    if (!refused) return dnnl_tp_success;
    *begun = false;
    return dtp_fail(dnnl_tp_runtime_error, DTP_POOL_FAILED, "run_begin returned %d", refused);
}

/* A run that is part of what this thread does already, at c; beside: in a callback there. */
static void run_inside(dtp_pool_t *rec, const dtp_chain_t *c, int num_threads, bool beside, dtp_run_fn_t fn,
                       void *arg) {
    /* A helper's closure, or a callback inside a run that it is no part of. */
    const bool own = !c->team || (beside && c->team->share.stop);
    void *cookie = c->team ? atomic_load_explicit(&c->team->cookie, memory_order_relaxed) : NULL;
    dtp_team_t *team = !own ? c->team : rec->host_loops ? NULL : dtp_team_open(rec, cookie);
    dtp_chain_t chain = {.up = dtp_chain_top, .rec = rec, .kind = DTP_CHAIN_RUN, .team = team};
    dtp_parallel_t par = {rec, num_threads < rec->num_threads ? num_threads : rec->num_threads, team};
    dtp_chain_top = &chain;
    fn(arg, &par);
    dtp_chain_top = chain.up;
    if (own && team) dtp_team_close(team);
}

/* The same from a closure of the blocking crew, whose thread has no ticket. One that waits for it must not
 * hold another pool's. */
static void run_inside_blocking(dtp_pool_t *rec, const dtp_chain_t *c, int num_threads, bool nested,
                                const dtp_share_t *share, dtp_run_fn_t fn, void *arg) {
    if (!nested) {
        if (!dtp_ticket_get(rec, DTP_TICKET_BACK, share)) return;
    } else if (!dtp_ticket_run(rec, false, false)) {
        fn(arg, &(dtp_parallel_t){NULL, 1, NULL});
        return;
    }
    run_inside(rec, c, num_threads, false, fn, arg);
    dtp_ticket_end(rec);
}

bool dtp_pool_is_wanted(const dtp_pool_t *rec) {
    return rec && dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed));
}

/* What dtp_pool_run_share is asked for, and what the calling thread does already. */
typedef struct {
    dtp_pool_t *rec; /* NULL: none */
    int num_threads, priority;
    unsigned flags;
    const dtp_share_t *share;
    dtp_run_fn_t fn;
    void *arg;
    const dtp_chain_t *around; /* work of this pool that this run is a part of, or NULL */
    bool nested;               /* in work of another pool; around: with such work in between */
    bool beside;               /* in a callback */
    void *cookie;
} asked_t;

static void look_around(asked_t *a) {
    for (const dtp_chain_t *c = dtp_chain_top; c && a->rec; c = c->up) {
        a->beside |= c->kind == DTP_CHAIN_CALLBACK;
        if (c->rec == a->rec && c->kind != DTP_CHAIN_IN_HOST) {
            a->around = c;
            return;
        }
        if (c->kind == DTP_CHAIN_BLOCKING) return; /* below it nothing is held */
        a->nested = true;
    }
}

static void call_alone(const asked_t *a) { a->fn(a->arg, &(dtp_parallel_t){NULL, 1, NULL}); }

static void call(const asked_t *a) {
    dtp_pool_t *rec = a->rec;
    if (!rec) {
        call_alone(a);
    } else if (a->around) { /* the ticket is the parent's */
        if (DTP_UNLIKELY(a->around->kind == DTP_CHAIN_BLOCKING))
            run_inside_blocking(rec, a->around, a->num_threads, a->nested, a->share, a->fn, a->arg);
        else run_inside(rec, a->around, a->num_threads, a->beside, a->fn, a->arg);
    } else if (a->flags & DTP_RUN_ADMITTED) {
        admit_and_run(rec, a->num_threads, a->nested, a->priority, a->cookie, a->share, a->fn, a->arg);
    } else {
        atomic_fetch_add_explicit(&rec->adm, DTP_ADM_CALLER, memory_order_relaxed);
        (void)run_here(rec, a->num_threads, a->cookie, !a->nested, DTP_TICKET_KEPT, a->fn, a->arg);
        atomic_fetch_sub_explicit(&rec->adm, DTP_ADM_CALLER, memory_order_relaxed);
        dtp_look_at_left(NULL);
    }
}

/* The run rests, until it is complete; this thread helps what it rests for. Once it is over it waits for no event, and
 * its body is called only after a poke: it knows. */
static __attribute__((noinline, cold)) void call_again(const asked_t *a) {
    for (bool over = false; a->share->sleeper->rests;) {
        if (over) dtp_sleep_until_poked(a->share->sleeper);
        else dtp_queue_rest(a->share);
        dtp_sleeper_go_on(a->share->sleeper);
        over = dtp_share_over(a->share);
        if (over) call_alone(a); /* ghosts compute nothing */
        else call(a);
    }
}

dnnl_tp_status_t dtp_pool_run_share(dtp_pool_t *rec, int num_threads, unsigned flags, int priority,
                                    const dtp_share_t *share, dtp_run_fn_t fn, void *arg) {
    asked_t a = {.rec = rec && !dtp_pool_dead(rec) ? rec : NULL,
                 .num_threads = num_threads < 1 ? 1 : num_threads,
                 .priority = priority,
                 .flags = flags,
                 .share = share,
                 .fn = fn,
                 .arg = arg};
    bool begun = false;
    look_around(&a);
    if (a.rec && !a.around) DTP_TRY(dtp_pool_begin_run(rec, &a.cookie, &begun));
    call(&a);
    if (DTP_UNLIKELY(dtp_share_rests(share))) call_again(&a);
    if (begun) end_host_run(&rec->iface, a.cookie);
    return dnnl_tp_success;
}
