/* A crew: the threads of one run of a program, which are its owner and the joiners of one open
 * shared loop of the pool's record.
 *
 * A joiner calls fn(arg, slot, 0, 0), which works until it finds nothing, and returns; then the
 * joiner is an ordinary idle helper of the pool again (it joins loops of the same run, spins,
 * sleeps, gives its ticket to threads that need it) and comes back when it is invited. So a crew
 * needs no parking of its own and no budget beside the pool's tickets.
 *
 * State machine: the shared loop's word (record.h) with other meanings. left = wanted = invitations
 * that no thread has taken; active = joiners inside. open: left 0. dtp_crew_want: CAS left + n,
 * wanted = left. A joiner takes an invitation by the shared loop's join; a joiner whose fn has
 * returned takes another invitation if there is one, else it leaves. A joiner inside may have found
 * nothing, and leave, while tasks are published: so if the joiners inside keep dtp_crew_want from
 * inviting as many as it would, it sets AGAIN, and a thread that leaves then leaves an invitation,
 * which it or another helper takes. close: CAS left = wanted = 0, then wait for active == 0,
 * repeated until both are 0 in one read: a joiner that is inside while the owner closes may invite
 * others. Chunk numbers have no meaning. Only the owner opens and closes; dtp_crew_want may be
 * called by any thread that still has a task of the run (so never after close). */
#ifndef DTP_THREADING_LOOPS_CREW_H
#define DTP_THREADING_LOOPS_CREW_H

#include <stdbool.h>

#include "threading/base/atomics.h"
#include "threading/base/parallel.h"

typedef struct {
    struct dtp_pool *rec;
    /* NULL: the crew is not open. */
    struct dtp_shared_loop *loop;
    const dtp_parallel_t *par;
    /* Limit of joiners at a time. */
    int most;
    /* The next invitation calls sleeping threads. */
    DTP_ATOMIC(bool) due;
} dtp_crew_t;

/* Whether helpers would come for work of est_ns (everything that can be shared from now on). Small
 * amounts add up over calls. */
bool dtp_crew_expects_helper(dtp_crew_t *crew, const dtp_parallel_t *par, int64_t est_ns);
/* Opens; false if that is not possible now. Slots of joiners: 1..min(participants,
 * par->num_threads) - 1. */
bool dtp_crew_open(dtp_crew_t *crew, const dtp_parallel_t *par, int participants, dtp_loop_fn_t fn,
                   void *arg);
/* Invites up to count more joiners, for published tasks; calls sleeping ones if est_ns is worth it.
 * Returns how many may come, not counting joiners that check again. */
int dtp_crew_want(dtp_crew_t *crew, int count, int64_t est_ns);
/* Whether as many joiners as allowed are inside. */
bool dtp_crew_is_full(const dtp_crew_t *crew);
/* Whether a joiner must leave because pending work waits for its ticket. */
bool dtp_crew_must_leave(const dtp_crew_t *crew);
/* Whether a joiner should leave because another run has fewer and wants some. */
bool dtp_crew_has_too_many(const dtp_crew_t *crew);
/* Helps in a loop of the same run; false: there is none. For an owner that has nothing to do. */
bool dtp_crew_help(dtp_crew_t *crew);
/* Called by the owner before it sleeps: lends its ticket (dtp_ticket_lend). False: it keeps the
 * ticket. */
bool dtp_crew_lend(dtp_crew_t *crew);
/* Called by the owner after the sleep: takes a ticket. wait: waits for one, because work is left
 * that no other thread does; else takes only a ticket that is free now. False: it has none. */
bool dtp_crew_regain(dtp_crew_t *crew, bool wait, const dtp_share_t *share);
bool dtp_crew_ticket_is_free(const dtp_crew_t *crew);
/* Takes invitations back and waits until no joiner is inside. */
void dtp_crew_close(dtp_crew_t *crew);

#endif
