/* Who helps in loops and crews: how many helpers are free to come, and calling those who sleep.
 *
 * A helper counts as free while it is at hand and inside nobody's shared loop. Who is inside is told by the words of
 * the open shared loops, so nothing is written for it: a loop that is open alone reads no line that it does not read
 * anyway. Helpers that were counted on may be counted by others, too, or go to sleep; so
 * - who opens a loop that pays, or invites, publishes first and counts then (seq_cst);
 * - a helper that has come where another loop waits, too, looks whether somebody is left for that, and else
 *   calls one more (dtp_helpers_hand_on);
 * - a helper that gives its ticket back says so, and then looks for open loops before it sleeps or leaves;
 * - the opener looks again after each chunk of its own.
 *
 * Nor is anybody called without a ticket, and most tickets that an opener misses come back a moment later: of
 * helpers whose run is over, and who are bound to it. They give their ticket back, have no loop of their own run
 * to look for, and leave; the opener, in its first chunk, does not look. (A run ends. Its helper has left the
 * loop and still holds its ticket. The next run opens a loop, finds all helpers missing and a ticket for all but
 * one, and calls those. The helper gives its ticket back and leaves: nobody comes for it.) So
 * - who finds helpers missing and too few tickets, or comes and finds none, says so (short_of_tickets), and looks
 *   at the tickets again;
 * - who gives a ticket back, of whatever kind, looks whether that was said, takes it back, and calls helpers for
 *   all loops that pay.
 * A call for another's run holds its team, so that a host's run does not end under the call. */
#ifndef DTP_THREADING_POOLS_HELPERS_H
#define DTP_THREADING_POOLS_HELPERS_H

#include "threading/pools/record.h"

/* Of the pool's helpers, those that may come to a loop of team (NULL: outside runs) at the moment of adm: with a
 * joiner's ticket or, of a caller's pool, called for it. */
int dtp_helpers_near(const dtp_pool_t *rec, const dtp_team_t *team, uint64_t adm);
/* The same, without those who are inside a shared loop. */
int dtp_helpers_idle(dtp_pool_t *rec, const dtp_team_t *team, uint64_t adm);
/* How many of `wanted` have to be called, because nobody else will come, and there are tickets for them.
 * num_threads: of the run, or of the loop outside runs. pays: as soon as there are tickets for more they are called
 * by who gives those back. */
int dtp_helpers_missing(dtp_pool_t *rec, const dtp_team_t *team, int num_threads, int wanted, bool pays);
/* Calls so many. cpu: where the opener is. */
void dtp_helpers_call(dtp_pool_t *rec, dtp_team_t *team, int count, int cpu);
/* Is there a loop (of team, if not NULL) that wants a helper, and a ticket for one? For helpers that have given
 * theirs back, before they sleep or leave. */
bool dtp_helpers_may_come(dtp_pool_t *rec, const dtp_team_t *team);
/* By who has given a ticket back that nobody waits for, when there are too few of them (short_of_tickets): calls
 * who can come now. May call the host. */
void dtp_helpers_call_for_ticket(dtp_pool_t *rec);
static inline bool dtp_helpers_miss_tickets(const dtp_pool_t *rec) {
#ifdef DTP_BREAK_HELPERS_TICKET
    return false;
#endif
    return __builtin_expect(atomic_load_explicit(&rec->short_of_tickets, memory_order_seq_cst), 0);
}
/* By a helper that serves any loop and has just joined r. */
void dtp_helpers_hand_on(dtp_pool_t *rec, const dtp_shared_loop_t *r);
/* Is it worth while to call sleeping helpers for est_ns of work that finds nobody awake? Small amounts add up. */
bool dtp_worth_calling(dtp_pool_t *rec, dtp_team_t *team, int64_t est_ns);

#endif
