/* Helpers of loops and crews: counts the helpers that are free to come, and calls those that sleep.
 *
 * A helper counts as free while it is available and inside no shared loop. The words of the open
 * shared loops tell the helpers that are inside, so nothing is written for this count: a loop that
 * is open alone reads no line that it does not read anyway. A helper that one opener counts on may
 * be counted by others, too, or go to sleep; so
 * - a thread that opens a loop that pays, or invites, publishes first and counts then (seq_cst);
 * - a helper that has joined while another loop waits, too, checks whether a free helper is left
 *   for that loop, and otherwise calls one more (dtp_helpers_hand_on);
 * - a helper that returns its ticket announces this first, and then looks for open loops before it
 *   sleeps or leaves;
 * - the opener checks again after each chunk of its own.
 *
 * A helper is never called without a ticket. If an opener finds none free, a helper whose run has
 * just ended usually holds it: such a helper is bound to its run, so it returns the ticket and
 * leaves without looking for other loops, while the opener is in its first chunk and does not look.
 * (A run ends. Its helper has left the loop and still holds its ticket. The next run opens a loop,
 * finds that all helpers are missing and that there are tickets for all but one, and calls those.
 * The helper returns its ticket and leaves: no helper comes for it.) So
 * - a thread that misses helpers and finds too few tickets, or comes and finds none, sets
 *   short_of_tickets, and looks at the tickets again;
 * - a thread that returns a ticket of any kind checks short_of_tickets, clears it, and calls
 *   helpers for all loops that pay.
 * A call for the run of another thread holds its team, so that a host's run does not end during the
 * call. */
#ifndef DTP_THREADING_POOLS_HELPERS_H
#define DTP_THREADING_POOLS_HELPERS_H

#include "threading/pools/record.h"

/* Number of the pool's helpers that may come to a loop of team (NULL: outside runs) in the state
 * adm: helpers with a joiner's ticket or, in a caller's pool, helpers that were called for it. */
int dtp_helpers_near(const dtp_pool_t *rec, const dtp_team_t *team, uint64_t adm);
/* The same, without helpers that are inside a shared loop. */
int dtp_helpers_idle(dtp_pool_t *rec, const dtp_team_t *team, uint64_t adm);
/* How many of `wanted` helpers must be called because no others will come and there are tickets for
 * them. num_threads: of the run, or of the loop outside runs. pays: as soon as there are more
 * tickets, the threads that return them call the rest. */
int dtp_helpers_missing(dtp_pool_t *rec, const dtp_team_t *team, int num_threads, int wanted, bool pays);
/* Calls count helpers. cpu: processor of the opener. */
void dtp_helpers_call(dtp_pool_t *rec, dtp_team_t *team, int count, int cpu);
/* Whether a loop (of team, if not NULL) wants a helper and there is a ticket for one. For helpers
 * that have returned their ticket, before they sleep or leave. */
bool dtp_helpers_may_come(dtp_pool_t *rec, const dtp_team_t *team);
/* Called after the return of a ticket for which no thread waits, if short_of_tickets is set: calls
 * the helpers that can come now. May call the host. */
void dtp_helpers_call_for_ticket(dtp_pool_t *rec);
static inline bool dtp_helpers_miss_tickets(const dtp_pool_t *rec) {
#ifdef DTP_BREAK_HELPERS_TICKET
    return false;
#endif
    return __builtin_expect(atomic_load_explicit(&rec->short_of_tickets, memory_order_seq_cst), 0);
}
/* Called by a helper that serves any loop and has just joined r. */
void dtp_helpers_hand_on(dtp_pool_t *rec, const dtp_shared_loop_t *r);
/* Whether calling sleeping helpers pays for est_ns of work that finds no helper awake. Small
 * amounts add up. */
bool dtp_worth_calling(dtp_pool_t *rec, dtp_team_t *team, int64_t est_ns);

#endif
