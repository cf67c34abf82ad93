/* Lanes: short runs pass long runs. If long runs hold all tickets, a much shorter run would wait
 * for the end of one of them, and get one execution for each of theirs.
 *
 * At a boundary of its work (between two steps) the owner of a long run sees that a short run
 * waits, and opens a lane: the owner sleeps, and for a limited time short runs use its ticket one
 * after another, each on the thread of its own caller. So between two short runs a client neither
 * sleeps nor hands over to another thread. States of a lane, written under the record's lock; the
 * owner sleeps on the word:
 *
 *   --open--> USED --leave--> FREE --enter--> USED ...
 *             USED --look--> WATCHED      as USED, but the leave that makes it FREE wakes the owner
 *             FREE, or USED at a leave --close--> CLOSED
 *
 * - open   by the owner, for the first short run of the FIFO; that run is taken out of the FIFO
 *   (DTP_PENDING_PASSES) and its caller is woken.
 * - leave  by the thread that passed: the next short run of the FIFO gets the lane; without one the
 *   lane is FREE; when the time of the lane is over, it closes and its owner is woken.
 * - enter  by the caller of a short run that finds no ticket: it takes a lane that is FREE, until
 *   the time of the lane is over. Then it closes that lane and is published.
 * - look   by the owner, which wakes at intervals: it closes a lane that is FREE if its time is
 *   over, or if no run has come for some time.
 *
 * Invariants. (1) The owner's ticket stays counted in `runs` all the time, and the thread
 * that uses the lane has it: so no other thread can get it, and at most as many threads compute as there are
 * tickets. (2) A lane is linked in `lanes` exactly while its owner sleeps, and lies on the owner's
 * stack: the thread that uses it may access it, all others only under the lock. (3) Only runs
 * without foreign code pass (dtp_share_t.passes_ns): they wait for no other thread, so the owner's
 * sleep ends. Only an owner that holds nothing but its ticket opens a lane. (4) A thread that
 * leaves a lane has looked into the FIFO: no short run waits beside a FREE lane for longer than
 * until a thread leaves or closes it. (5) The owner works REST times as long as the lane was open
 * before it opens the next one. */
#ifndef DTP_THREADING_POOLS_LANE_H
#define DTP_THREADING_POOLS_LANE_H

#include "threading/pools/record.h"

typedef struct dtp_lane {
    struct dtp_lane *next;
    /* Runs may pass that take at most ns and have at least this priority. */
    int64_t ns;
    int priority;
    _Atomic uint32_t state;
    /* In ticks: the end of the lane's time, and the time of the last leave. */
    int64_t until, left_at;
} dtp_lane_t;

/* Called by the caller of a run without a ticket. True: it may run, and then leaves. */
bool dtp_lane_enter(dtp_pool_t *rec, dtp_pending_work_t *work);
void dtp_lane_leave(dtp_pool_t *rec, dtp_lane_t *lane);

#endif
