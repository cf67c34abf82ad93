/* Helpers; see helpers.h. */
#include "threading/pools/helpers.h"

#include "threading/pools/builtin_pool.h"

enum {
    LOOK_AGAIN = 10,
    CHAIN = 2 /* helpers that one helper calls: so many are on their way after two wakes, not after four */
};

int dtp_helpers_near(const dtp_pool_t *rec, const dtp_team_t *team, uint64_t adm) {
    if (rec->workers) return dtp_adm_joiners(adm);
    if (!team) return atomic_load_explicit(&rec->unbound, memory_order_seq_cst);
    int inside = (int)(atomic_load_explicit(&team->state, memory_order_seq_cst) & (DTP_TEAM_EPOCH - 1));
    /* One of them is the run itself, others sleep in the host's loop. */
    if (rec->host_loops) inside -= 1 + atomic_load_explicit(&team->asleep, memory_order_relaxed);
    return inside > 0 ? inside : 0;
}

/* Helpers inside open shared loops: of all, and of team's. */
typedef struct {
    int all, own;
} busy_t;
static busy_t count_busy(const dtp_pool_t *rec, const dtp_team_t *team) {
    busy_t busy = {0, 0};
    uint64_t open = atomic_load_explicit(&rec->reserved, memory_order_relaxed) & ~DTP_RESERVED_BY_CALLER;
    for (; open; open &= open - 1) {
        const dtp_shared_loop_t *r = &rec->loop[__builtin_ctzll(open)];
        const int inside = dtp_lw_active(atomic_load_explicit(&r->word, memory_order_relaxed));
        busy.all += inside;
        if (team && atomic_load_explicit(&r->team, memory_order_relaxed) == team) busy.own += inside;
    }
    return busy;
}

/* Helpers of a caller's pool are bound to their run: others' shared loops do not keep them. */
static int idle_of(const dtp_pool_t *rec, const dtp_team_t *team, int near, busy_t busy) {
#ifdef DTP_BREAK_HELPERS_BUSY
    return near;
#endif
    const int idle = near - (rec->workers || !team ? busy.all : busy.own);
    return idle > 0 ? idle : 0;
}

int dtp_helpers_idle(dtp_pool_t *rec, const dtp_team_t *team, uint64_t adm) {
    const int near = dtp_helpers_near(rec, team, adm);
    return near > 0 ? idle_of(rec, team, near, count_busy(rec, team)) : 0;
}

/* False: it was said already. Who says it looks at the tickets once more. */
static bool say_short(dtp_pool_t *rec) {
    return !atomic_load_explicit(&rec->short_of_tickets, memory_order_seq_cst) &&
           !atomic_exchange_explicit(&rec->short_of_tickets, true, memory_order_seq_cst);
}

int dtp_helpers_missing(dtp_pool_t *rec, const dtp_team_t *team, int num_threads, int wanted, bool pays) {
    for (;;) {
        const uint64_t adm = atomic_load_explicit(&rec->adm, memory_order_seq_cst);
        const busy_t busy = count_busy(rec, team);
        int missing = (int)dtp_min64(wanted, num_threads - 1 - busy.own) -
                      idle_of(rec, team, dtp_helpers_near(rec, team, adm), busy);
        if (rec->workers) missing -= atomic_load_explicit(&rec->waking, memory_order_relaxed);
        if (missing <= 0) return 0;
        const int tickets = dtp_ticket_free(rec, adm);
        if (tickets >= missing) return missing;
        if (!pays || !say_short(rec)) return tickets > 0 ? tickets : 0;
    }
}

void dtp_helpers_call(dtp_pool_t *rec, dtp_team_t *team, int count, int cpu) {
    if (count <= 0) return;
    if (rec->workers) (void)dtp_builtin_wake(rec, count, cpu, true);
    else dtp_host_call_joiners(rec, team, count);
}

bool dtp_helpers_may_come(dtp_pool_t *rec, const dtp_team_t *team) {
    if (!dtp_shared_loop_is_wanted(rec, team)) return false;
    do {
        const uint64_t adm = atomic_load_explicit(&rec->adm, memory_order_seq_cst);
        if (!dtp_adm_waiting(adm) && dtp_ticket_free(rec, adm) > 0) return true;
    } while (say_short(rec));
    return false;
}

/* A loop that pays, of which w was seen, wants somebody. */
static void call_for(dtp_pool_t *rec, const dtp_shared_loop_t *r, uint64_t w) {
    const int wanted = (int)dtp_min64(dtp_lw_left(w), dtp_lw_wanted(w));
    if (!wanted || !atomic_load_explicit(&r->pays, memory_order_relaxed)) return;
    dtp_team_t *team = atomic_load_explicit(&r->team, memory_order_relaxed);
    if (team && !dtp_team_hold(team)) return;
    /* This thread serves what it promises inside the host after it has let go of the team, for which
     * the end of that run waits. */
    dtp_chain_t chain = {.up = dtp_chain_top, .kind = DTP_CHAIN_CALLBACK};
    dtp_chain_top = &chain;
    /* Of another opening all that was read may be another's; its opener looks itself. */
    if (atomic_load_explicit(&r->word, memory_order_seq_cst) / DTP_LW_EPOCH == w / DTP_LW_EPOCH) {
        const int threads = atomic_load_explicit(&r->num_threads, memory_order_relaxed);
        dtp_helpers_call(rec, team, dtp_helpers_missing(rec, team, threads, wanted, true),
                         atomic_load_explicit(&rec->loop[0].cpu, memory_order_relaxed));
    }
    if (team) dtp_team_let_go(team);
    dtp_chain_pop(&chain);
}

void dtp_helpers_call_for_ticket(dtp_pool_t *rec) {
    atomic_exchange_explicit(&rec->short_of_tickets, false, memory_order_seq_cst);
    uint64_t open = atomic_load_explicit(&rec->reserved, memory_order_seq_cst) & ~DTP_RESERVED_BY_CALLER;
    for (; open; open &= open - 1) {
        const dtp_shared_loop_t *r = &rec->loop[__builtin_ctzll(open)];
        call_for(rec, r, atomic_load_explicit(&r->word, memory_order_seq_cst));
    }
}

/* Others' loops that pay, as far as they still want somebody. */
static int wanted_elsewhere(const dtp_pool_t *rec, const dtp_shared_loop_t *except) {
    int wanted = 0;
    uint64_t open = atomic_load_explicit(&rec->reserved, memory_order_relaxed) & ~DTP_RESERVED_BY_CALLER;
    for (; open; open &= open - 1) {
        const dtp_shared_loop_t *r = &rec->loop[__builtin_ctzll(open)];
        if (r == except) continue;
        const uint64_t w = atomic_load_explicit(&r->word, memory_order_seq_cst);
        if (atomic_load_explicit(&r->pays, memory_order_relaxed))
            wanted += (int)dtp_min64(dtp_lw_left(w), dtp_lw_wanted(w));
    }
    return wanted;
}

void dtp_helpers_hand_on(dtp_pool_t *rec, const dtp_shared_loop_t *r) {
#ifdef DTP_BREAK_HELPERS_HAND_ON
    return;
#endif
    const int wanted = wanted_elsewhere(rec, r);
    if (!wanted) return;
    const int missing = dtp_helpers_missing(rec, NULL, rec->num_threads, wanted, true);
    dtp_helpers_call(rec, NULL, missing < CHAIN ? missing : CHAIN,
                     atomic_load_explicit(&rec->loop[0].cpu, memory_order_relaxed));
}

/* Work that ran without helpers since some were last called is up to `most` with est_ns more of it. */
static bool work_adds_up(_Atomic int64_t *work_ns, bool afresh, int64_t est_ns, int64_t most) {
    int64_t sum = afresh ? est_ns : atomic_load_explicit(work_ns, memory_order_relaxed) + est_ns;
    atomic_store_explicit(work_ns, sum >= most ? 0 : sum, memory_order_relaxed);
    return sum >= most;
}

/* Should sleeping helpers be called for a loop of est_ns that finds nobody awake? Small loops in quick
 * succession, or of one run and of runs in quick succession, add up: once they would have paid for a call, it
 * is made; where each loop is a call of its own they do not. Of a host's loops outside runs one in many is
 * made a call to learn anew what that costs. */
bool dtp_worth_calling(dtp_pool_t *rec, dtp_team_t *team, int64_t est_ns) {
    int64_t pays = team ? rec->wake_min_ns : atomic_load_explicit(&rec->call_min_ns, memory_order_relaxed);
    if (est_ns >= pays) return true;
    bool yes = !team && !rec->workers && work_adds_up(&rec->uncalled_ns, false, est_ns, LOOK_AGAIN * pays);
    if (!team && rec->host_loops) return yes;
    _Atomic int64_t *last = team ? &team->wanted_at : &rec->last_open;
    int64_t now = dtp_ticks(), at = atomic_load_explicit(last, memory_order_relaxed);
    const bool late = now - (at < 0 ? -at : at) > rec->wake_ticks + dtp_ticks_of_ns(est_ns);
    atomic_store_explicit(last, now + dtp_ticks_of_ns(est_ns), memory_order_relaxed);
    /* Visitors leave with the run that called them. */
    const bool afresh = team ? at <= 0 && (late || !rec->workers) : late;
    return work_adds_up(team ? &team->debt_ns : &rec->debt_ns, afresh, est_ns, pays) || yes;
}
