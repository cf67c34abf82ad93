/* Nodes whose completion is not the return of exec: pending ones. One mechanism, whoever brings them back: a thread of
 * the blocking crew (blocking.c), or who fires an event that the node waits for (exec/run/host_wait.c).
 *
 *   ready       like any node. Whoever meets it adds 1 to `away`, then calls exec, or hands it to the blocking crew
 *   away        exec has returned DTP_DATAFLOW_PENDING, or has not returned yet: the right to return the node is with
 *               somebody else, who has it alone. Nothing of the node or its instance is touched from here on by who
 *               called exec, so it may come back before exec has returned. It holds no thread and no ticket
 *   returned    dtp_dataflow_return, from any thread, once: the node is in the list `returned`, and somebody who
 *               executes the run's tasks is there or coming (below)
 *   delivered   whoever executes tasks takes the whole list when its LIFO is empty or it looks at rare things: away - n,
 *               and each node's successors get their arrivals, as after any node
 *
 * A node is in at most one list, so all use its link of the overflow list. Exec that returns something else than
 * PENDING has kept the right: away - 1, and the node is delivered by who called it.
 *
 * Who comes for a returned node. The owner, if it sleeps in the pool (`parked`): it is woken. If the crew of computing
 * threads is open (`crew_open`): one of its threads looks soon, and one more is invited. Else the run's sleeper is
 * woken (threading/base/sleeper.h): the owner is busy and will look, or rests and is called. All this happens under
 * `lock`, but for the two calls that may run foreign code: the invitation (it is counted in `inviting`, for whose end
 * the owner waits before it closes the crew) and the call of a resting run (which cannot end without it).
 *
 * Rest. An owner that has nothing left but nodes that are away, and is alone (no joiner is `inside`), closes the crew,
 * collects what joiners left behind and returns false from dtp_dataflow_go: the caller may give up thread and ticket,
 * and calls go again when the sleeper was woken.
 *
 * Failure. A run that has failed, is cancelled or late takes back what may be taken back: nodes that no thread of the
 * blocking crew has begun, and (args.recall) events that have not fired. They are returned and delivered as ghosts.
 * The owner does so when it is alone, so that nobody hands one out meanwhile; from then on none is, for ghosts are not
 * executed. For closures that a thread of the crew executes the run waits: they use its memory.
 *
 * Invariants. (1) away > 0 keeps a block incomplete, and the run unfinished: so state, plan and frames are there until
 * the last return has unlocked, and dtp_dataflow_return touches the run no more after that. (2) away counts nodes
 * that somebody will return exactly once: no successor starts twice. (3) The list is taken under `lock`: who takes
 * a node has seen its return's last access. (4) crew_open is true only while dtp_crew_want is allowed. */
#include "exec/dataflow/run/run.h"
#include "threading/base/futex.h"
#include "threading/pools/pool.h"

enum {
    INVITE_NS = 1000000, /* nobody knows what comes after a node that was away: worth a wake */
    SPIN_NS = 20000,
    SPINS_PER_CLOCK = 16
};

void dtp_dataflow_pending_begin(dtp_dataflow_state_t *s) {
    s->sleeper = s->args.share && s->args.share->sleeper ? s->args.share->sleeper : NULL;
    s->crew_open = false;
    DTP_STORE(&s->returned, 0, relaxed);
    DTP_STORE(&s->away, 0, relaxed);
    DTP_STORE(&s->inside, 0, relaxed);
    DTP_STORE(&s->inviting, 0, relaxed);
    DTP_STORE(&s->parked, 0, relaxed);
    dtp_dataflow_blocking_begin(s);
}

void dtp_dataflow_return(dtp_dataflow_state_t *s, uint64_t task, dnnl_tp_status_t status) {
    if (status != dnnl_tp_success) {
        const dtp_dataflow_region_t *r = dtp_dataflow_instance_of(task)->region;
        dtp_dataflow_fail(s, status, DTP_DATAFLOW_FAILED_NODE, r->nodes[task & DTP_DATAFLOW_NODE_MASK].index);
    }
    dtp_resume_t resume = {NULL, NULL};
#ifndef DTP_BREAK_PENDING_LOST
    dtp_lock(&s->lock);
#endif
    *dtp_dataflow_link(task) = DTP_LOAD(&s->returned, relaxed);
    DTP_PREEMPT_POINT();
    DTP_STORE(&s->returned, task, release);
#ifdef DTP_BREAK_PENDING_LOST
    dtp_lock(&s->lock);
#endif
#ifdef DTP_BREAK_PENDING_LAST_ACCESS
    dtp_unlock(&s->lock);
    DTP_PREEMPT_POINT();
#endif
    bool invites = false;
    if (!dtp_dataflow_wake_owner(s)) {
        invites = s->crew_open;
        if (invites) (void)DTP_ADD(&s->inviting, 1, relaxed);
        else if (s->sleeper) resume = dtp_sleeper_wake(s->sleeper);
    }
#ifndef DTP_BREAK_PENDING_LAST_ACCESS
    dtp_unlock(&s->lock); /* the run may be over, unless it is being invited to or called */
#endif
    if (invites) {
        (void)dtp_crew_want(&s->crew, 1, INVITE_NS);
        (void)DTP_SUB(&s->inviting, 1, release);
    }
    dtp_resume(resume);
}

uint64_t dtp_dataflow_take_returned(dtp_dataflow_state_t *s) {
    if (!DTP_LOAD(&s->returned, relaxed)) return 0;
    dtp_lock(&s->lock);
    const uint64_t list = DTP_LOAD(&s->returned, acquire);
    DTP_STORE(&s->returned, 0, relaxed);
    dtp_unlock(&s->lock);
    uint32_t n = 0;
    for (uint64_t word = list; word; word = *dtp_dataflow_link(word)) ++n;
    (void)DTP_SUB(&s->away, n, relaxed);
    return list;
}

bool dtp_dataflow_may_pend(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance, uint32_t id,
                           bool shared) {
    dtp_dataflow_state_t *s = w->state;
    if (dtp_dataflow_stopped(s)) return false;
    const dtp_dataflow_node_t *node = &instance->region->nodes[id];
    const uint64_t task = dtp_dataflow_tag(instance) | id;
    (void)DTP_ADD(&s->away, 1, relaxed);
    if ((node->bits & DTP_FN_MAY_BLOCK) && s->blocking) {
        dtp_dataflow_hand_over(s, task);
        return true;
    }
    w->where.task = task;
    const bool pending = dtp_dataflow_costly(w, instance, node, shared);
    if (!pending) (void)DTP_SUB(&s->away, 1, relaxed);
    return pending;
}

bool dtp_dataflow_is_away(const dtp_dataflow_state_t *s) {
    return s->plan->may_pend && DTP_LOAD(&s->away, relaxed) > 0;
}

bool dtp_dataflow_is_quiet(dtp_dataflow_state_t *s) {
    return dtp_dataflow_is_away(s) && !DTP_LOAD(&s->inside, acquire);
}

void dtp_dataflow_crew_is_open(dtp_dataflow_state_t *s, bool open) {
    if (!s->plan->may_pend) return;
    dtp_lock(&s->lock);
    s->crew_open = open;
    dtp_unlock(&s->lock);
    for (int i = 0; !open && DTP_LOAD(&s->inviting, acquire); ++i) dtp_back_off(i);
}

bool dtp_dataflow_may_rest(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    dtp_dataflow_check_deadline(s);
    if (dtp_dataflow_stopped(s)) {
        dtp_dataflow_recall(s);
        if (s->args.recall) s->args.recall(s->args.ctx);
    }
    const int64_t until = dtp_ticks() + dtp_ticks_of_ns(SPIN_NS);
    for (int i = 1; !DTP_LOAD(&s->returned, relaxed); ++i) {
        dtp_pause();
        if (i % DTP_SPINS(SPINS_PER_CLOCK)) continue;
        if (dtp_ticks() > until || dtp_pool_is_wanted(s->args.par->pool)) return true;
    }
    return false;
}
