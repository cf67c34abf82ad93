/* The threads of one run of a program: its owner and joiners of one open shared loop of the pool's record.
 *
 * A joiner calls fn(arg, slot, 0, 0), which works until it finds nothing, and returns; it is then an ordinary
 * idle helper of the pool again (it joins loops of the same run, spins, sleeps, gives its ticket to who needs
 * it) and comes back when it is invited. So a crew has no parking of its own and no budget beside the pool's
 * tickets.
 *
 * State machine: the shared loop's word (record.h) with other meanings. left = wanted = invitations that nobody
 * has taken; active = joiners inside. open: left 0. dtp_crew_want: CAS left + n, wanted = left. A joiner
 * takes an invitation by the shared loop's join; one whose fn has returned takes another if there is one, else
 * leaves. One that is inside may have found nothing, and leave, while tasks are published: where those who are inside keep
 * want from inviting as many as it would, it sets AGAIN, and who leaves then leaves an invitation, which is his or another
 * helper's. close: CAS left = wanted = 0, then wait for active == 0, again until both are 0 in one look: a joiner that
 * is inside while the owner closes may invite others. Chunk numbers mean nothing. Only the owner opens and closes;
 * want may come from any thread that still has a task of the run (so never after close). */
#ifndef DTP_THREADING_LOOPS_CREW_H
#define DTP_THREADING_LOOPS_CREW_H

#include <stdbool.h>

#include "threading/base/atomics.h"
#include "threading/base/parallel.h"

typedef struct {
    struct dtp_pool *rec;
    struct dtp_shared_loop *loop; /* NULL: not open */
    const dtp_parallel_t *par;
    int most;             /* joiners at once */
    DTP_ATOMIC(bool) due; /* sleeping threads are to be called at the next invitation */
} dtp_crew_t;

/* Would anybody come for work of est_ns (all that could be shared from now on)? Small amounts add up over
 * calls. */
bool dtp_crew_expects_helper(dtp_crew_t *crew, const dtp_parallel_t *par, int64_t est_ns);
/* Opens; false if that is not possible now. Slots of joiners: 1..min(participants, par->num_threads) - 1. */
bool dtp_crew_open(dtp_crew_t *crew, const dtp_parallel_t *par, int participants, dtp_loop_fn_t fn,
                   void *arg);
/* Invites up to count more joiners, for tasks that were published; calls sleeping ones if est_ns is worth it. Returns how many may
 * come for it, those not counted that look again. */
int dtp_crew_want(dtp_crew_t *crew, int count, int64_t est_ns);
/* Are as many joiners inside as there may be? */
bool dtp_crew_is_full(const dtp_crew_t *crew);
/* Must a joiner leave (somebody waits for its ticket)? */
bool dtp_crew_must_leave(const dtp_crew_t *crew);
/* Should one, because another run has fewer and wants some? */
bool dtp_crew_has_too_many(const dtp_crew_t *crew);
/* Helps in a loop of the same run; false if there is none. For the owner when it has nothing to do. */
bool dtp_crew_help(dtp_crew_t *crew);
/* By the owner, before it sleeps: others may have its ticket (dtp_ticket_lend). False: it keeps it. */
bool dtp_crew_lend(dtp_crew_t *crew);
/* Awake again. wait: something is left that nobody else does; else only a ticket that is free now. False: it has
 * none. */
bool dtp_crew_regain(dtp_crew_t *crew, bool wait, const dtp_share_t *share);
bool dtp_crew_ticket_is_free(const dtp_crew_t *crew);
/* Takes invitations back and waits until no joiner is inside. */
void dtp_crew_close(dtp_crew_t *crew);

#endif
