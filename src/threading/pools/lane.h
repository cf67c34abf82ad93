/* Lanes: how short runs pass long ones. With all tickets taken by long runs, a run that is much shorter would wait for the end
 * of one of them, and get one run for each of theirs.
 *
 * The owner of a long run comes to a boundary of its work (between two steps), sees that a short run waits, and opens a lane:
 * it sleeps, and for a while short runs go one after another with its ticket, each on the thread of its own caller. So a client
 * of short runs has no sleep and no hand-over between two of them. States of a lane, written under the record's lock; the owner
 * sleeps on the word:
 *
 *   --open--> USED --leave--> FREE --enter--> USED ...       FREE, or USED at a leave --close--> CLOSED
 *             USED --look--> WATCHED                         as USED, but the leave that makes it FREE wakes the owner
 *
 * - open   by the owner: for the first short run of the FIFO, which is taken out (DTP_PENDING_PASSES) and whose caller is woken.
 * - leave  by who passed: the next short run of the FIFO has the lane; with none the lane is FREE; when the time of the lane
 *          is over it closes, and its owner is woken.
 * - enter  by the caller of a short run that finds no ticket: a lane that is FREE, until its time is over. Then it closes that lane
 *          and is published.
 * - look   by the owner, which wakes now and then: it closes a lane that is FREE when its time is over, or nobody has come for some
 *          time.
 *
 * Invariants. (1) The owner's ticket stays counted in `runs` all the time, and who is USED has it: so nobody else can get it, and
 * no more threads compute than there are tickets. (2) A lane is linked in `lanes` exactly while its owner sleeps, on whose stack it
 * lies: who is USED may touch it, all others under the lock only. (3) Only runs without foreign code pass (dtp_share_t.passes_ns): they
 * wait for nobody, so the owner's sleep ends; and only an owner that holds nothing but its ticket opens one. (4) A lane
 * that is left has asked the FIFO: no short run waits beside a FREE lane for longer than until somebody leaves or closes it.
 * (5) The owner has worked REST times as long as the lane was open before it opens the next one. */
#ifndef DTP_THREADING_POOLS_LANE_H
#define DTP_THREADING_POOLS_LANE_H

#include "threading/pools/record.h"

typedef struct dtp_lane {
    struct dtp_lane *next;
    int64_t ns; /* who may pass: so long at most, and of this priority at least */
    int priority;
    _Atomic uint32_t state;
    int64_t until, left_at; /* ticks: when its time is over; of the last leave */
} dtp_lane_t;

/* By the caller of a run for which there is no ticket: true: it may run, and then leaves. */
bool dtp_lane_enter(dtp_pool_t *rec, dtp_pending_work_t *work);
void dtp_lane_leave(dtp_pool_t *rec, dtp_lane_t *lane);

#endif
