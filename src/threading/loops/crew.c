/* Crews; see crew.h. */
#include "threading/loops/crew.h"

#include "threading/pools/helpers.h"

static bool possible(const dtp_parallel_t *par) {
    dtp_pool_t *rec = par->pool;
    return rec && par->num_threads > 1 && !dtp_pool_dead(rec) && !(rec->host_loops && !par->team);
}

bool dtp_crew_expects_helper(dtp_crew_t *crew, const dtp_parallel_t *par, int64_t est_ns) {
    if (!possible(par)) return false;
    dtp_pool_t *rec = par->pool;
    DTP_STORE(&crew->due, false, relaxed);
    uint64_t adm = DTP_LOAD(&rec->adm, relaxed);
    if (dtp_helpers_idle(rec, par->team, adm) > 0) return est_ns >= rec->parallel_min_ns;
    /* Helpers of others have time to give their tickets back, as for a long loop. */
    const bool may_come =
        dtp_ticket_free(rec, adm) - !par->team > 0 || (est_ns >= rec->wake_min_ns && dtp_adm_joiners(adm));
    if (!may_come || !dtp_worth_calling(rec, par->team, est_ns)) return false;
    DTP_STORE(&crew->due, true, relaxed);
    return true;
}

bool dtp_crew_open(dtp_crew_t *crew, const dtp_parallel_t *par, int participants, dtp_loop_fn_t fn,
                   void *arg) {
    dtp_pool_t *rec = par->pool;
    crew->loop = NULL;
    if (participants > par->num_threads) participants = par->num_threads;
    if (rec && participants > rec->num_threads) participants = rec->num_threads;
    if (participants < 2 || !possible(par)) return false;
    dtp_shared_loop_t *r = dtp_shared_loop_reserve(rec, !par->team);
    if (!r) return false;
    crew->rec = rec;
    crew->loop = r;
    crew->par = par;
    crew->most = participants - 1;
    int index = (int)(r - rec->loop);
    DTP_STORE(&r->team, par->team, relaxed);
    r->fn = fn;
    r->arg = arg;
    r->chunk = 0;
    r->n_larger = 0;
    r->n_chunks = 0;
    r->first_slot = 1;
    r->participants = (uint16_t)participants;
    DTP_STORE(&r->num_threads, par->num_threads, relaxed);
    DTP_STORE(&r->pays, false, relaxed);
#ifndef DTP_BREAK_CREW_EPOCH
    r->epoch += DTP_LW_EPOCH;
#endif
    DTP_STORE(&r->word, r->epoch, release);
    if (index) DTP_OR(&rec->loop[0].open_loops, (uint64_t)1 << index, release);
    int cpu = rec->workers ? dtp_this_cpu() : -1;
    if (DTP_LOAD(&rec->loop[0].cpu, relaxed) != cpu) DTP_STORE(&rec->loop[0].cpu, cpu, relaxed);
    return true;
}

/* The word with so many invitations. */
static uint64_t with_left(uint64_t w, int left) {
    uint64_t fields = (uint64_t)4095 << DTP_LW_LEFT | (uint64_t)511 << DTP_LW_WANTED;
    return (w & ~fields) | (uint64_t)left << DTP_LW_LEFT | (uint64_t)left << DTP_LW_WANTED;
}

int dtp_crew_want(dtp_crew_t *crew, int count, int64_t est_ns) {
    dtp_pool_t *rec = crew->rec;
    dtp_shared_loop_t *r = crew->loop;
    DTP_FENCE_SC(); /* tasks were published: who takes an invitation, or is asked to look again, sees them */
    uint64_t w = DTP_LOAD(&r->word, relaxed);
    if ((est_ns >= rec->wake_min_ns || DTP_LOAD(&crew->due, relaxed)) && !DTP_LOAD(&r->pays, relaxed))
        DTP_STORE(&r->pays, true, relaxed);
    int made, left;
    uint64_t next;
    do {
        left = dtp_lw_left(w);
        const int inside = dtp_lw_active(w);
#ifdef DTP_BREAK_CREW_MOST
        made = crew->most - left;
#else
        made = crew->most - inside - left;
#endif
        if (made > count) made = count;
        if (made < 0) made = 0;
        next = with_left(w, left + made);
#ifndef DTP_BREAK_CREW_AGAIN
        if (made < count && inside) next |= DTP_LW_AGAIN;
#endif
        if (next == w) break;
        /* seq_cst: sleepers look at the word after they have said that they sleep. */
    } while (!DTP_CAS_WEAK(&r->word, &w, next, seq_cst));
    const int asked = made + ((next & ~w & DTP_LW_AGAIN) != 0);
    const int missing = dtp_helpers_missing(rec, crew->par->team, crew->par->num_threads, left + made,
                                            DTP_LOAD(&r->pays, relaxed));
    if (missing <= 0) return asked;
    if (DTP_LOAD(&crew->due, relaxed)) DTP_STORE(&crew->due, false, relaxed);
    else if (!dtp_worth_calling(rec, crew->par->team, est_ns)) return asked;
    dtp_helpers_call(rec, crew->par->team, missing, rec->workers ? dtp_this_cpu() : -1);
    return asked;
}

bool dtp_crew_is_full(const dtp_crew_t *crew) {
    return dtp_lw_active(DTP_LOAD(&crew->loop->word, relaxed)) >= crew->most;
}

bool dtp_crew_must_leave(const dtp_crew_t *crew) {
    return DTP_LOAD(&crew->rec->loop[0].open_loops, relaxed) & DTP_LOOPS_ATTENTION;
}

bool dtp_crew_has_too_many(const dtp_crew_t *crew) {
    return dtp_shared_loop_has_too_many(crew->rec, crew->loop);
}

bool dtp_crew_help(dtp_crew_t *crew) {
    dtp_pool_t *rec = crew->rec;
    const dtp_team_t *team = crew->par->team;
    if (!team) return false; /* other callers' loops are not ours */
    int own = (int)(crew->loop - rec->loop);
    if (own && dtp_shared_loop_join(rec, &rec->loop[0], team)) return true;
    uint64_t open = DTP_LOAD(&rec->loop[0].open_loops, acquire);
    open &= ~(DTP_LOOPS_ATTENTION | (uint64_t)1 << own);
    for (; open; open &= open - 1)
        if (dtp_shared_loop_join(rec, &rec->loop[__builtin_ctzll(open)], team)) return true;
    return false;
}

bool dtp_crew_lend(dtp_crew_t *crew) { return dtp_ticket_lend(crew->rec); }
bool dtp_crew_regain(dtp_crew_t *crew, bool wait, const dtp_share_t *share) {
    return dtp_ticket_regain(crew->rec, wait, share);
}
bool dtp_crew_ticket_is_free(const dtp_crew_t *crew) {
    const uint64_t adm = DTP_LOAD(&crew->rec->adm, relaxed);
    return !dtp_adm_waiting(adm) && dtp_adm_runs(adm) + dtp_adm_joiners(adm) < crew->rec->num_threads;
}

void dtp_crew_close(dtp_crew_t *crew) {
    dtp_pool_t *rec = crew->rec;
    dtp_shared_loop_t *r = crew->loop;
    uint64_t w = DTP_LOAD(&r->word, relaxed);
#ifdef DTP_BREAK_CREW_CLOSE
    w = 0;
#endif
    int index = (int)(r - rec->loop);
    if (index) DTP_AND(&rec->loop[0].open_loops, ~((uint64_t)1 << index), relaxed);
    /* A joiner that came meanwhile may have invited others: none is inside and none can come, both at once. */
    do {
        while (dtp_lw_left(w) && !DTP_CAS_WEAK(&r->word, &w, with_left(w, 0), relaxed))
            ;
        dtp_shared_loop_wait(rec, r);
        w = DTP_LOAD(&r->word, acquire);
#if defined DTP_BREAK_CREW_CLOSE || defined DTP_BREAK_CREW_LATE_WANT
        break;
#endif
    } while (dtp_lw_left(w) || dtp_lw_active(w));
    dtp_shared_loop_give_back(rec, index, !crew->par->team);
    crew->loop = NULL;
}
