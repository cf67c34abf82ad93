/* Calls that the library queues in a caller's pool.
 *
 * A host call lives in the record, so a call may come at any time, after the loop, the run, the stream and the
 * engine are gone: it then finds another epoch, touches nothing else and leaves. Each expected call holds the
 * record (record.h, Life). A host that calls back inline, before schedule has
 * returned, finds its own HOST_CALL on the chain and only leaves a mark, so nothing recurses; the starter
 * works anyway. */
#include "threading/base/atomics.h"
#include "threading/pools/builtin_pool.h"
#include "threading/pools/helpers.h"

enum { SPINS_PER_LOOK = DTP_SPINS(32) };

static dtp_host_call_t *call_take(dtp_pool_t *rec, int calls) {
    for (int i = 0; i < DTP_HOST_CALLS; ++i) {
        dtp_host_call_t *v = &rec->host_calls[i];
        int32_t none = 0;
        if (atomic_load_explicit(&v->calls, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&v->calls, &none, calls, memory_order_acquire,
                                                    memory_order_relaxed)) {
            v->rec = rec;
            v->loop = NULL;
            v->team = NULL;
            v->runner = v->unbound = false;
            atomic_store_explicit(&v->main, NULL, memory_order_relaxed);
            atomic_fetch_add_explicit(&rec->holds, (uint64_t)calls * DTP_HOLD_CALL, memory_order_seq_cst);
            return v;
        }
    }
    return NULL;
}

static void call_left_team(dtp_host_call_t *v, int calls) {
    if (v->unbound) atomic_fetch_sub_explicit(&v->rec->unbound, calls, memory_order_seq_cst);
    if (!v->team) return;
    uint64_t state = atomic_load_explicit(&v->team->state, memory_order_relaxed);
#ifdef DTP_BREAK_HOST_CALL_TEAM
    atomic_fetch_sub_explicit(&v->team->state, (uint64_t)calls, memory_order_seq_cst);
    return;
#endif
    while ((state & ~(DTP_TEAM_EPOCH - 1)) == v->epoch &&
           !atomic_compare_exchange_weak_explicit(&v->team->state, &state, state - (uint64_t)calls,
                                                  memory_order_seq_cst, memory_order_relaxed))
        ;
}

static _Atomic uint32_t quiet_wake_word; /* changed for those who wait until a record has no calls */

static void call_done(dtp_host_call_t *v, int calls) {
    dtp_pool_t *rec = v->rec;
    const uint64_t all = (uint64_t)calls * DTP_HOLD_CALL;
    if (v->runner) atomic_fetch_sub_explicit(&rec->runners, calls, memory_order_relaxed);
    atomic_fetch_sub_explicit(&v->calls, calls, memory_order_release);
#ifdef DTP_BREAK_HOST_CALL_QUIESCE
    const uint64_t seen = atomic_load_explicit(&rec->holds, memory_order_seq_cst);
#endif
#ifdef DTP_BREAK_HOST_CALL_LIFE
    dtp_pool_retain(rec);
#endif
    uint64_t left = atomic_fetch_sub_explicit(&rec->holds, all, memory_order_seq_cst) - all;
#ifdef DTP_BREAK_HOST_CALL_LIFE
    dtp_pool_release(rec);
#endif
#ifdef DTP_BREAK_HOST_CALL_QUIESCE
    left &= seen | (DTP_HOLD_WAITER - 1);
#endif
    if (!left) dtp_record_end(rec);
    if (dtp_hold_calls(left) || !dtp_hold_waiters(left)) return;
    atomic_fetch_add_explicit(&quiet_wake_word, 1, memory_order_seq_cst); /* the record may be gone */
    dtp_futex_wake(&quiet_wake_word, INT_MAX);
}

static bool team_moved_on(const dtp_host_call_t *v) {
    return v->team &&
           (atomic_load_explicit(&v->team->state, memory_order_acquire) & ~(DTP_TEAM_EPOCH - 1)) != v->epoch;
}

/* Helps with a joiner's ticket until the run is over, a ticket is wanted, or nothing came for the spin time. False:
 * there was no ticket. */
static bool help_awhile(dtp_host_call_t *v) {
    dtp_pool_t *rec = v->rec;
    if (!dtp_ticket_join(rec)) return false;
    int64_t until = dtp_ticks() + rec->spin_ticks;
    for (int i = 1; !team_moved_on(v); ++i) {
        if (dtp_shared_loop_help(rec, v->team, v->team ? v->epoch : 0)) {
            until = dtp_ticks() + rec->spin_ticks;
            if (!dtp_ticket_may_spin(rec)) break;
            i = 0;
        }
        if (atomic_load_explicit(&rec->loop[0].open_loops, memory_order_relaxed) & DTP_LOOPS_ATTENTION) break;
        dtp_pause();
        if (i % SPINS_PER_LOOK) continue;
        if (!rec->spin_allowed || dtp_ticks() > until) break;
    }
    /* Others wait: keep the ticket for them where any task may serve any run, else dispatch asks for a fresh
     * one. */
    bool joiner = true;
    if (!rec->iface.run_begin) dtp_run_pending(rec, &joiner);
    if (joiner) dtp_ticket_leave(rec);
    return true;
}

/* Who leaves the only loop of a host cannot be called back in this run, so a helper of it sleeps there, without
 * a ticket, until a loop of the run wants it or the run is over. It leaves, too, when the host was promised more
 * jobs than it has threads: one of them may wait for this thread. */
static bool is_crowded(const dtp_pool_t *rec) {
    const uint64_t holds = atomic_load_explicit(&rec->holds, memory_order_seq_cst);
    return (int)dtp_hold_calls(holds) + atomic_load_explicit(&rec->short_jobs, memory_order_seq_cst) >
           rec->num_threads;
}

static void team_wake(dtp_team_t *team, int count) {
    if (!atomic_load_explicit(&team->asleep, memory_order_seq_cst)) return;
    atomic_fetch_add_explicit(&team->wake_word, 1, memory_order_seq_cst);
    dtp_futex_wake(&team->wake_word, count);
}

void dtp_host_call_team_closed(dtp_team_t *team) {
#ifdef DTP_BREAK_HOST_CALL_TEAM_BELL
    return;
#endif
    DTP_FENCE_SC();
    team_wake(team, INT_MAX);
}

/* After the promise was counted. */
static void make_room(dtp_pool_t *rec) {
    if (!rec->host_loops || !is_crowded(rec)) return;
    for (int i = 0; i < rec->n_teams; ++i) team_wake(&rec->teams[i], INT_MAX);
}

/* Until there may be something to do; false: to leave. */
static bool sleep_in_loop(dtp_host_call_t *v) {
    dtp_team_t *team = v->team;
    for (;;) {
        const uint32_t wake_word = atomic_load_explicit(&team->wake_word, memory_order_seq_cst);
        atomic_fetch_add_explicit(&team->asleep, 1, memory_order_seq_cst);
        const bool stays = !team_moved_on(v) && !is_crowded(v->rec);
        const bool wanted = stays && dtp_helpers_may_come(v->rec, team);
        if (stays && !wanted) dtp_futex_wait(&team->wake_word, wake_word, DTP_LONG_NS);
        atomic_fetch_sub_explicit(&team->asleep, 1, memory_order_relaxed);
        if (!stays || wanted) return stays;
    }
}

/* A helper has left the count of its run. Who opened a loop meanwhile may have counted on it: then it comes back. */
static bool call_comes_back(dtp_host_call_t *v) {
    dtp_pool_t *rec = v->rec;
    if (!dtp_helpers_may_come(rec, v->team)) return false;
    if (!v->team) {
        atomic_fetch_add_explicit(&rec->unbound, 1, memory_order_relaxed);
        return true;
    }
    uint64_t state = atomic_load_explicit(&v->team->state, memory_order_relaxed);
    while (dtp_team_epoch(state) == v->epoch)
        if (atomic_compare_exchange_weak_explicit(&v->team->state, &state, state + 1, memory_order_seq_cst,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Leaves the count of its run, too. */
static void call_help(dtp_host_call_t *v) {
    const bool stays = v->rec->host_loops && v->team;
    do {
        while (!team_moved_on(v) && help_awhile(v) && stays && sleep_in_loop(v)) continue;
        call_left_team(v, 1);
    } while (!stays && call_comes_back(v));
}

/* Executes pending work. A thread that publishes some meanwhile may count on this call; so the call is over before
 * the FIFO is looked at for the last time, and where nobody else can be asked it begins anew. */
static void call_run_pending(dtp_host_call_t *v) {
    dtp_pool_t *rec = v->rec;
    for (bool any = false;; any = true) {
        bool joiner = false;
        if (any) dtp_run_pending(rec, &joiner);
        else dtp_run_pending_of(rec, &joiner, v->cookie);
        atomic_fetch_sub_explicit(&rec->runners, 1, memory_order_seq_cst);
#ifdef DTP_BREAK_HOST_CALL_RUNNER
        break;
#endif
        if (!dtp_adm_waiting(atomic_load_explicit(&rec->adm, memory_order_seq_cst)) || dtp_dispatch(rec))
            break;
        atomic_fetch_add_explicit(&rec->runners, 1, memory_order_seq_cst);
    }
    v->runner = false;
}

/* A thread of the host came for a loop outside runs: how long that takes tells which of them are worth a
 * call. One that was long on its way may be an accident, and a team that has gone to sleep takes a hundred
 * times longer than one that waits: so what is known at most doubles, or halves. Small steps are not written
 * down: openers read it at every loop. */
static void learn_arrival(dtp_pool_t *rec, int64_t opened) {
    int64_t took = dtp_ns_of_ticks(dtp_ticks() - opened);
    int64_t known = atomic_load_explicit(&rec->call_min_ns, memory_order_relaxed);
    int64_t next = dtp_min64((known + DTP_WAKE_PAYS * took) / 2, 2 * known);
    next = dtp_max64(dtp_min64(next, rec->wake_min_ns), rec->parallel_min_ns);
    if (next > known + known / 8 || next < known - known / 8)
        atomic_store_explicit(&rec->call_min_ns, next, memory_order_relaxed);
}

static bool called_inline(const dtp_pool_t *rec, const dtp_chain_t *top) {
    return top && top->kind == DTP_CHAIN_IN_HOST && top->rec == rec;
}

static void call_host(void *arg) {
    dtp_host_call_t *v = arg;
    dtp_pool_t *rec = v->rec;
    dtp_chain_t *top = dtp_chain_top;
    if (called_inline(rec, top) && !v->loop && !atomic_load(&v->main) && !rec->host_loops) {
        /* The thread that called the host looks at the FIFO itself: others may rely on this call. */
#ifndef DTP_BREAK_HOST_CALL_BOUNCE
        top->bounced |= v->runner;
#else
        (void)top;
#endif
        call_left_team(v, 1);
        call_done(v, 1);
        return;
    }
    dtp_chain_t chain = {.up = top, .rec = rec, .kind = DTP_CHAIN_HOST_CALL, .team = v->team};
    bool counted = true;
    dtp_chain_top = &chain;
#ifdef DTP_BREAK_HOST_CALL_MAIN
    struct dtp_main *body = atomic_load_explicit(&v->main, memory_order_acquire);
#else
    struct dtp_main *body = atomic_exchange_explicit(&v->main, NULL, memory_order_acquire);
#endif
    if (body) {
        dtp_main_take(body);
    } else if (v->loop) {
        if (!called_inline(rec, top)) learn_arrival(rec, v->opened);
        dtp_shared_loop_join(rec, v->loop, NULL);
    } else if (!dtp_pool_dead(rec)) {
        if (v->runner) {
            call_run_pending(v);
        } else {
            if (!v->team) learn_arrival(rec, v->opened);
            call_help(v);
            counted = false;
        }
    }
    dtp_chain_pop(&chain);
    if (counted) call_left_team(v, 1);
    call_done(v, 1);
}

static void call_job(void *arg, int i, int n) {
    (void)i, (void)n;
    call_host(arg);
}

bool dtp_host_call_possible(const dtp_pool_t *rec) {
    if (dtp_pool_dead(rec)) return false;
    if (rec->form_s || (rec->flags & DNNL_TP_THREADPOOL_NESTABLE)) return true;
    for (dtp_chain_t *c = dtp_chain_top; c; c = c->up)
        if (c->rec == rec && c->kind != DTP_CHAIN_RUN) return false;
    return !(rec->iface.get_in_parallel && rec->iface.get_in_parallel(rec->iface.ctx));
}

/* ---- Callers of the host ---------------------------------------------------------------------
 *
 * A host with SINGLE_CALLER takes one thread at a time in schedule, parallel_for, run_begin and
 * run_end together. `host_lock` is held from the entry to the leave.
 *
 *   try    for schedule and parallel_for, which can be left out: while another thread is inside,
 *          the host is not called, as if it had refused.
 *   wait   for run_begin and run_end, which cannot: sleeps until no thread is inside. A thread that
 *          is inside already (the host called the program, which began a run) goes on at once, and
 *          leaves without unlocking.
 *
 * Invariants. (1) A thread that is inside waits for no task, so each wait for it ends: schedule and
 * run_begin must not wait, nor must run_end with may_block = 0, which such a host always gets; our
 * calls that the host makes inside its members return at once (call_host). (2) A synchronous
 * parallel_for does wait, for its jobs. So a host that has nothing else gets run_begin and run_end
 * only from threads that hold nothing, for synchronous runs: no job waits for these threads.
 * (3) `done` needs no entry: inside run_end it only counts (queue.h, deferred). */
static bool is_single(const dtp_pool_t *rec) { return rec->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER; }

static bool is_inside(const dtp_pool_t *rec) {
    const dtp_chain_t *c = dtp_chain_top;
    while (c && !(c->kind == DTP_CHAIN_IN_HOST && c->rec == rec)) c = c->up;
    return c != NULL;
}

typedef struct {
    dtp_chain_t chain;
    bool locked;
} visit_t;

static bool host_enter(dtp_pool_t *rec, visit_t *visit, bool waits) {
    visit->locked = is_single(rec) && dtp_try_lock(&rec->host_lock);
    if (is_single(rec) && !visit->locked) {
        if (!waits) return false;
        visit->locked = !is_inside(rec);
#ifdef DTP_BREAK_HOST_CALL_ENTER
        visit->locked = false;
#endif
        if (visit->locked) dtp_lock(&rec->host_lock);
    }
    visit->chain = (dtp_chain_t){.up = dtp_chain_top, .rec = rec, .kind = DTP_CHAIN_IN_HOST};
    dtp_chain_top = &visit->chain;
    return true;
}
static void host_leave(dtp_pool_t *rec, const visit_t *visit) {
    dtp_chain_pop_inner(&visit->chain);
    if (visit->locked) dtp_unlock(&rec->host_lock);
    dtp_look_at_left(&visit->chain);
}

/* ---- Runs of the host ------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_pool_begin_run(dtp_pool_t *rec, bool waits, void **cookie, bool *begun) {
    static _Atomic uint64_t run_ids;
    const dnnl_tp_threadpool_iface_t *iface = &rec->iface;
    *begun = iface->run_begin && !rec->workers;
    if (is_single(rec) && rec->host_loops) *begun &= waits && !dtp_chain_top;
    if (!*begun) return dnnl_tp_success;
    visit_t visit;
    (void)host_enter(rec, &visit, true);
    const int refused = iface->run_begin(iface->ctx, atomic_fetch_add(&run_ids, 1) + 1, cookie);
    host_leave(rec, &visit);
    if (!refused) return dnnl_tp_success;
    *begun = false;
    return dtp_fail(dnnl_tp_runtime_error, DTP_POOL_FAILED, "run_begin returned %d", refused);
}

bool dtp_pool_end_run(dtp_pool_t *rec, void *cookie, dnnl_tp_status_t status, bool may_block,
                      dnnl_tp_task_fn_t done, void *arg) {
    const dnnl_tp_threadpool_iface_t *iface = &rec->iface;
    if (!iface->run_end || dtp_pool_dead(rec)) return false;
    visit_t visit;
    (void)host_enter(rec, &visit, true);
    iface->run_end(iface->ctx, cookie, (int)status, may_block && !is_single(rec), done, arg);
    host_leave(rec, &visit);
    return true;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Gives v to the host for `calls` calls; false if none will come. *bounced: a runner came back inline; NULL: then this
 * thread lets go. */
static bool host_call(dtp_pool_t *rec, dtp_host_call_t *v, void *cookie, int calls, bool *bounced) {
    visit_t visit;
    int refused = -1;
    visit.chain.bounced = false;
    dtp_pool_retain(rec); /* the host call may be over before the host returns */
    if (host_enter(rec, &visit, false)) {
        DTP_COUNT(rec, wakes, (uint64_t)calls);
        make_room(rec);
        refused = rec->form_s ? rec->iface.schedule(rec->iface.ctx, cookie, call_host, v)
                              : rec->iface.parallel_for(rec->iface.ctx, calls, call_job, v);
        host_leave(rec, &visit);
    }
    if (refused) {
        v->runner = false; /* not counted */
        call_left_team(v, calls);
        call_done(v, calls);
    }
    if (bounced) *bounced = visit.chain.bounced;
    else if (DTP_UNLIKELY(visit.chain.bounced)) dtp_let_go(rec);
    dtp_pool_release(rec);
    return !refused;
}

void dtp_host_call_joiners(dtp_pool_t *rec, dtp_team_t *team, int count) {
    if (rec->host_loops && team) team_wake(team, count);
    if (rec->host_loops || count <= 0 || !dtp_host_call_possible(rec)) return;
    while (count > 0) {
        int calls = rec->form_s ? 1 : count;
        dtp_host_call_t *v = call_take(rec, calls);
        if (!v) return;
        v->opened = dtp_ticks();
        void *cookie = NULL;
        if (team) {
            uint64_t state = atomic_fetch_add_explicit(&team->state, (uint64_t)calls, memory_order_seq_cst);
            v->team = team;
            v->epoch = state & ~(DTP_TEAM_EPOCH - 1);
            cookie = atomic_load_explicit(&team->cookie, memory_order_relaxed);
        } else {
            v->unbound = true;
            atomic_fetch_add_explicit(&rec->unbound, calls, memory_order_relaxed);
        }
        (void)host_call(rec, v, cookie, calls, NULL); /* a refusal concerns this one only */
        count -= calls;
    }
}

/* Counted when the host has accepted the call, because others rely on the count: who finds it full looks for
 * nobody else. So it may miss calls, but each that it counts looks at the FIFO once more. */
bool dtp_host_call_runner(dtp_pool_t *rec, void *cookie) {
    if (rec->host_loops || !dtp_host_call_possible(rec)) return false;
#ifdef DTP_BREAK_HOST_CALL_PROMISE
    const int32_t before = atomic_fetch_add_explicit(&rec->runners, 1, memory_order_seq_cst);
    atomic_fetch_sub_explicit(&rec->runners, 1, memory_order_seq_cst);
    if (before >= rec->num_threads) return true;
#else
    if (atomic_load_explicit(&rec->runners, memory_order_seq_cst) >= rec->num_threads) return true;
#endif
    dtp_host_call_t *v = call_take(rec, 1);
    if (!v) return false;
    v->runner = true;
    v->cookie = cookie;
    bool bounced;
    if (!host_call(rec, v, cookie, 1, &bounced)) return false;
    atomic_fetch_add_explicit(&rec->runners, 1, memory_order_seq_cst);
    return !bounced;
}

void dtp_host_call_loop(dtp_pool_t *rec, dtp_shared_loop_t *loop, int jobs) {
    dtp_host_call_t *v = call_take(rec, jobs);
    if (!v) return;
    v->loop = loop;
    v->opened = dtp_ticks();
    host_call(rec, v, NULL, jobs, NULL);
}

typedef struct {
    dtp_pool_t *rec;
    dtp_loop_fn_t fn;
    void *arg;
    int64_t n, opened;
} short_loop_t;

static void short_loop_job(void *arg, int i, int jobs) {
    const short_loop_t *loop = arg;
    dtp_chain_t chain = {.up = dtp_chain_top, .rec = loop->rec, .kind = DTP_CHAIN_HOST_CALL};
    if (!called_inline(loop->rec, chain.up)) learn_arrival(loop->rec, loop->opened);
    dtp_chain_top = &chain;
    int64_t each = loop->n / jobs, larger = loop->n % jobs, begin = i * each + dtp_min64(i, larger);
    loop->fn(loop->arg, i, begin, begin + each + (i < larger));
    dtp_chain_pop(&chain);
}

/* No shared loop and no host call: nothing of the loop is left when a synchronous host returns, and it is over before
 * anybody who waits for a ticket has waited for long. */
bool dtp_host_call_short_loop(dtp_pool_t *rec, int64_t n, int participants, dtp_loop_fn_t fn, void *arg) {
    int jobs = dtp_ticket_join_several(rec, participants);
    if (!jobs) return false;
    visit_t visit;
    bool done = false;
    if (host_enter(rec, &visit, false)) {
        DTP_COUNT(rec, wakes, (uint64_t)jobs);
        short_loop_t loop = {rec, fn, arg, n, dtp_ticks()};
        atomic_fetch_add_explicit(&rec->short_jobs, jobs, memory_order_seq_cst);
        make_room(rec);
        done = !rec->iface.parallel_for(rec->iface.ctx, jobs, short_loop_job, &loop);
        atomic_fetch_sub_explicit(&rec->short_jobs, jobs, memory_order_relaxed);
        host_leave(rec, &visit);
    }
    if (done) DTP_COUNT(rec, short_loops, 1);
    dtp_ticket_leave_several(rec, jobs);
    return done;
}

void dtp_host_call_main(dtp_pool_t *rec, dtp_team_t *team, struct dtp_main *body, int jobs) {
    dtp_host_call_t *v = call_take(rec, jobs);
    if (!v) {
        dtp_main_take(body);
        return;
    }
    uint64_t state = atomic_fetch_add_explicit(&team->state, (uint64_t)jobs, memory_order_seq_cst);
    v->team = team;
    v->epoch = state & ~(DTP_TEAM_EPOCH - 1);
    atomic_store_explicit(&v->main, body, memory_order_release);
    atomic_fetch_add_explicit(&v->calls, 1,
                              memory_order_relaxed); /* keeps v ours until the body is settled */
    /* The run's ticket is held meanwhile. */
    dtp_chain_t chain = {.up = dtp_chain_top, .rec = rec, .kind = DTP_CHAIN_RUN};
    dtp_chain_top = &chain;
    host_call(rec, v, NULL, jobs, NULL);
    dtp_chain_pop_inner(&chain);
    struct dtp_main *left = atomic_exchange_explicit(&v->main, NULL, memory_order_acquire);
    atomic_fetch_sub_explicit(&v->calls, 1, memory_order_release);
    if (left) dtp_main_take(left); /* no job came */
    else dtp_main_wait(body);
}

dnnl_tp_status_t dtp_host_call_quiesce(dtp_pool_t *rec, int64_t timeout_ns) {
    const int64_t until = dtp_until_ns(timeout_ns);
    dnnl_tp_status_t status = dnnl_tp_success;
    atomic_fetch_add_explicit(&rec->holds, DTP_HOLD_WAITER, memory_order_seq_cst);
    for (;;) {
        const uint32_t wake_word = atomic_load_explicit(&quiet_wake_word, memory_order_seq_cst);
        const uint32_t calls = dtp_hold_calls(atomic_load_explicit(&rec->holds, memory_order_seq_cst));
        if (!calls || dtp_pool_dead(rec)) break;
        int64_t now = dtp_now_ns();
        if (now >= until) {
            status = dtp_fail(dnnl_tp_timed_out, DTP_TIMED_OUT, "%u calls are outstanding", calls);
            break;
        }
        dtp_futex_wait(&quiet_wake_word, wake_word, until == INT64_MAX ? -1 : until - now);
    }
    atomic_fetch_sub_explicit(&rec->holds, DTP_HOLD_WAITER, memory_order_relaxed);
    return status;
}
