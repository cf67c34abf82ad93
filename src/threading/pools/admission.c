/* Runs: one graph execution each, admitted by tickets. The FIFO of work that waits for one: fifo.c.
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
#include "threading/pools/helpers.h"
#include "threading/pools/lane.h"
#include "threading/base/sleeper.h"

_Thread_local dtp_chain_t *dtp_chain_top __attribute__((tls_model("initial-exec")));
_Thread_local struct dtp_queue *dtp_left_here __attribute__((tls_model("initial-exec")));
_Thread_local bool dtp_thread_is_borrowed __attribute__((tls_model("initial-exec")));
_Thread_local const dtp_share_t *dtp_share_here __attribute__((tls_model("initial-exec")));
bool dtp_thread_is_inside(void) { return dtp_chain_top != NULL; }

typedef struct {
    dtp_pending_work_t work;
    dtp_run_fn_t fn;
    void *arg;
    int num_threads;
} run_t;

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
    struct dtp_main body = {.fn = fn,
                            .arg = arg,
                            .par = dtp_team_parallel(rec, num_threads, team),
                            .may_block = may_block,
                            .ticket = ticket};
    if (rec->host_loops && team && body.par.num_threads > 1 && dtp_host_call_possible(rec)) {
        body.ticket = DTP_TICKET_KEPT; /* another thread may have it */
        dtp_host_call_main(rec, team, &body, body.par.num_threads);
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
    dtp_pending_hand_over(work);
    return has_ticket;
}

/* cookie: of the run that may be taken; NULL: any. */
static bool run_pending(dtp_pool_t *rec, bool *joiner, const void *const *cookie) {
    if (!dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_relaxed)) || dtp_pool_dead(rec))
        return false;
    dtp_pending_work_t *work = dtp_pending_take(rec, *joiner, cookie);
    if (!work) return false;
    *joiner = false;
    do {
        if (work->kind == DTP_PENDING_TICKET) {
            dtp_pending_hand_over(work);
#ifdef DTP_BREAK_TICKET_HAND_OVER
            dtp_ticket_end(rec);
#endif
            return true;
        }
        if (!pending_execute(rec, work)) {
            dtp_look_at_left(NULL);
            return true;
        }
        work = !cookie && !dtp_pool_dead(rec) ? dtp_pending_next(rec) : NULL;
    } while (work);
    dtp_ticket_end(rec);
    return true;
}

bool dtp_run_pending(dtp_pool_t *rec, bool *joiner) { return run_pending(rec, joiner, NULL); }

bool dtp_run_pending_of(dtp_pool_t *rec, bool *joiner, const void *cookie) {
    return run_pending(rec, joiner, rec->iface.run_begin && rec->form_s ? &cookie : NULL);
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

/* With a ticket. nested: inside a run of another pool. */
static inline void run_admitted(dtp_pool_t *rec, int num_threads, bool nested, void *cookie, dtp_run_fn_t fn,
                                void *arg) {
    if (run_here(rec, num_threads, cookie, !nested, DTP_TICKET_LENDABLE, fn, arg)) dtp_ticket_end(rec);
    else dtp_look_at_left(NULL);
}

static __attribute__((noinline)) void wait_and_run(dtp_pool_t *rec, int num_threads, int priority,
                                                   void *cookie, const dtp_share_t *share, dtp_run_fn_t fn,
                                                   void *arg) {
    run_t run = {.work = {.kind = DTP_PENDING_RUN,
                          .cookie = cookie,
                          .priority = priority,
                          .ns = share ? share->passes_ns : 0},
                 .fn = fn,
                 .arg = arg,
                 .num_threads = num_threads};
    turn_t turn = TURN_PASSES;
    if (!dtp_lane_enter(rec, &run.work)) {
        dtp_pending_publish(rec, &run.work);
        dtp_dispatch(rec);
        turn = wait_for_turn(rec, &run.work, share);
    }
    if (turn == TURN_PASSES) {
        (void)run_here(rec, num_threads, cookie, false, DTP_TICKET_KEPT, fn, arg);
        dtp_lane_leave(rec, run.work.lane);
        dtp_look_at_left(NULL);
    }
    if (turn == TURN_MINE) run_admitted(rec, num_threads, false, cookie, fn, arg);
    dtp_pending_settle(&run.work); /* it is on this stack, and run_end comes next */
}

static void admit_and_run(dtp_pool_t *rec, int num_threads, bool nested, int priority, void *cookie,
                          const dtp_share_t *share, dtp_run_fn_t fn, void *arg) {
    if (DTP_LIKELY(dtp_ticket_run(rec, false, false)))
        run_admitted(rec, num_threads, nested, cookie, fn, arg);
    else if (!nested) wait_and_run(rec, num_threads, priority, cookie, share, fn, arg);
    else fn(arg, &(dtp_parallel_t){.num_threads = 1}); /* to wait for a second pool could close a circle */
}

/* ---- dtp_pool_run ------------------------------------------------------------------------------------ */

static void host_is_done(void *arg) {
    _Atomic uint32_t *word = arg;
    atomic_store_explicit(word, 1, memory_order_release);
    dtp_futex_wake(word, 1);
}

/* The host is done with the run when `done` was called, maybe later and by another thread. */
static void end_host_run(dtp_pool_t *rec, void *cookie) {
    _Atomic uint32_t done = 0;
    if (!dtp_pool_end_run(rec, cookie, dnnl_tp_success, true, host_is_done, &done)) return;
    while (!atomic_load_explicit(&done, memory_order_acquire)) dtp_futex_wait(&done, 0, -1);
}

/* A run that is part of what this thread does already, at c; beside: in a callback there. */
static void run_inside(dtp_pool_t *rec, const dtp_chain_t *c, int num_threads, bool beside, dtp_run_fn_t fn,
                       void *arg) {
    /* A helper's closure, or a callback inside a run that it is no part of. */
    const bool own = !c->team || (beside && c->team->share.stop);
    void *cookie = c->team ? atomic_load_explicit(&c->team->cookie, memory_order_relaxed) : NULL;
    dtp_team_t *team = !own ? c->team : rec->host_loops ? NULL : dtp_team_open(rec, cookie);
    dtp_chain_t chain = {.up = dtp_chain_top, .rec = rec, .kind = DTP_CHAIN_RUN, .team = team};
    const dtp_parallel_t par = dtp_team_parallel(rec, num_threads, team);
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
        fn(arg, &(dtp_parallel_t){.num_threads = 1});
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

static void call_alone(const asked_t *a) { a->fn(a->arg, &(dtp_parallel_t){.num_threads = 1}); }

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
 * its body is called only after a wake: it knows. */
static __attribute__((noinline, cold)) void call_again(const asked_t *a) {
    for (bool over = false; a->share->sleeper->rests;) {
        if (over) dtp_sleep_until_woken(a->share->sleeper);
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
    if (a.rec && !a.around) DTP_TRY(dtp_pool_begin_run(rec, true, &a.cookie, &begun));
    call(&a);
    if (DTP_UNLIKELY(dtp_share_rests(share))) call_again(&a);
    if (begun) end_host_run(rec, a.cookie);
    return dnnl_tp_success;
}
