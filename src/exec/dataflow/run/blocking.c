/* Nodes of a dataflow run that may block, on a pool with a blocking crew (threading/pools/blocking.h, whose lock keeps
 * all of this). Without one they run where they are met, like others.
 *
 *   met        whoever runs tasks and comes to such a node puts it at the end of `pending` and goes on: away + 1
 *   pending    runs on a thread of the crew, which takes the oldest; the run's job is linked into the crew's
 *              line while there are any. The closure runs without the lock and without a ticket
 *   returned   its thread puts the node on this list, its last access to the run, and wakes the owner if it
 *              sleeps, else invites a thread if the crew of computing threads is open
 *   delivered  whoever runs tasks takes the whole list when its LIFO is empty or it looks at rare things:
 *              away - n, and the node's successors get their arrivals as after any node
 *   recalled   a run that has failed moves what is pending to `returned`: not executed, as ghosts are
 *
 * A node is in at most one list, so both use its link of the overflow list. away > 0 keeps the run
 * unfinished; thus state, plan and the crew of computing threads are there as long as a thread of the
 * blocking crew knows the run. The owner that is dry meanwhile lends its ticket and sleeps on `parked`.
 * `crew_open` is set under the lock: whoever returned a node before that is seen by the owner, which looks
 * after setting it. */
#include "exec/dataflow/run/run.h"
#include "threading/base/futex.h"
#include "threading/pools/record.h"

#ifndef DTP_DATAFLOW_LOOK_STOP_NS /* tests/model: never */
#define DTP_DATAFLOW_LOOK_STOP_NS 1000000
#endif
enum {
    INVITE_NS = 1000000,                     /* nobody knows what comes after a closure: worth a wake */
    LOOK_STOP_NS = DTP_DATAFLOW_LOOK_STOP_NS /* while nodes wait for the crew: who cancels wakes nobody */
};

static dtp_dataflow_state_t *state_of(dtp_blocking_job_t *job) {
    return (dtp_dataflow_state_t *)(void *)((char *)job - offsetof(dtp_dataflow_state_t, job));
}

static void give_back(dtp_dataflow_state_t *s, uint64_t word) {
    *dtp_dataflow_link(word) = DTP_LOAD(&s->returned, relaxed);
    DTP_STORE(&s->returned, word, release);
}

static uint64_t take_pending(dtp_dataflow_state_t *s) {
    uint64_t word = DTP_LOAD(&s->pending, relaxed);
    DTP_STORE(&s->pending, *dtp_dataflow_link(word), relaxed);
    return word;
}

static void run_closure(dtp_blocking_job_t *job, dtp_blocking_t *crew, int thread) {
    dtp_dataflow_state_t *s = state_of(job);
    uint64_t word = take_pending(s);
    s->linked = DTP_LOAD(&s->pending, relaxed) != 0;
    if (s->linked)
        (void)dtp_blocking_link(crew, DTP_BLOCKING_CLOSURES, job); /* threads were woken for each */
    dtp_blocking_count(crew, 1);
    dtp_blocking_unlock(crew);

    dtp_chain_t chain;
    dtp_blocking_enter(crew, &chain, s->args.share);
    dtp_dataflow_check_deadline(s);
    if (!dtp_dataflow_stopped(s)) {
        dtp_dataflow_instance_t *instance = dtp_dataflow_instance_of(word);
        const uint32_t index = instance->region->nodes[word & DTP_DATAFLOW_NODE_MASK].index;
        const dtp_dataflow_where_t where = {.slot = dtp_blocking_slot(crew, thread), .par = &s->alone};
        dnnl_tp_status_t status = s->args.exec(s->args.ctx, instance, index, &where);
        if (status != dnnl_tp_success) dtp_dataflow_fail(s, status, DTP_DATAFLOW_FAILED_NODE, index);
        dtp_dataflow_check_deadline(s);
    }

    dtp_blocking_lock(crew);
    dtp_blocking_count(crew, -1);
    give_back(s, word);
    DTP_JOLT();
#ifdef DTP_BREAK_BLOCK_LAST_ACCESS
    dtp_blocking_unlock(crew);
    (void)dtp_dataflow_wake_owner(s);
#else
    if (!dtp_dataflow_wake_owner(s) && s->crew_open) (void)dtp_crew_want(&s->crew, 1, INVITE_NS);
    dtp_blocking_unlock(crew); /* the run may be over */
#endif
    dtp_blocking_leave(&chain);
    dtp_blocking_lock(crew);
}

void dtp_dataflow_blocking_begin(dtp_dataflow_state_t *s) {
    s->blocking = dtp_blocking_of(s->args.par);
    if (!s->blocking) return;
    s->job = (dtp_blocking_job_t){.fn = run_closure};
    s->linked = s->crew_open = false;
    DTP_STORE(&s->pending, 0, relaxed);
    DTP_STORE(&s->returned, 0, relaxed);
    DTP_STORE(&s->away, 0, relaxed);
    DTP_STORE(&s->parked, 0, relaxed);
}

void dtp_dataflow_blocking_open(dtp_dataflow_state_t *s) {
    dtp_blocking_lock(s->blocking);
    s->crew_open = true;
    dtp_blocking_unlock(s->blocking);
}

bool dtp_dataflow_hand_over(dtp_dataflow_state_t *s, dtp_dataflow_instance_t *instance, uint32_t node) {
    if (dtp_dataflow_stopped(s)) return false;
    dtp_blocking_t *crew = s->blocking;
    const uint64_t word = dtp_dataflow_tag(instance) | node;
    *dtp_dataflow_link(word) = 0;
    dtp_blocking_lock(crew);
    if (DTP_LOAD(&s->pending, relaxed)) *dtp_dataflow_link(s->pending_last) = word;
    else DTP_STORE(&s->pending, word, relaxed);
    s->pending_last = word;
    DTP_STORE(&s->away, DTP_LOAD(&s->away, relaxed) + 1, relaxed);
    const bool wake = s->linked ? dtp_blocking_ring(crew, DTP_BLOCKING_CLOSURES)
                                : dtp_blocking_link(crew, DTP_BLOCKING_CLOSURES, &s->job);
    s->linked = true;
    dtp_blocking_unlock(crew);
    if (wake) dtp_blocking_wake(crew, DTP_BLOCKING_CLOSURES);
    return true;
}

uint64_t dtp_dataflow_take_returned(dtp_dataflow_state_t *s) {
    if (!DTP_LOAD(&s->returned, relaxed)) return 0;
    dtp_blocking_lock(s->blocking);
    const uint64_t list = DTP_SWAP(&s->returned, 0, acquire);
    uint32_t n = 0;
    for (uint64_t word = list; word; word = *dtp_dataflow_link(word)) ++n;
    DTP_STORE(&s->away, DTP_LOAD(&s->away, relaxed) - n, relaxed);
    dtp_blocking_unlock(s->blocking);
    return list;
}

static void recall(dtp_dataflow_state_t *s) {
    dtp_blocking_lock(s->blocking);
    if (s->linked) dtp_blocking_unlink(s->blocking, DTP_BLOCKING_CLOSURES, &s->job);
    s->linked = false;
    while (DTP_LOAD(&s->pending, relaxed)) give_back(s, take_pending(s));
    dtp_blocking_unlock(s->blocking);
}

bool dtp_dataflow_is_away(const dtp_dataflow_state_t *s) {
    return s->blocking && DTP_LOAD(&s->away, relaxed) > 0;
}

void dtp_dataflow_sleep_away(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    const bool lent = dtp_blocking_lend(s->blocking);
    for (;;) {
        dtp_dataflow_check_deadline(s);
        const bool waits = DTP_LOAD(&s->pending, relaxed) != 0;
        if (waits && dtp_dataflow_stopped(s)) recall(s);
        if (dtp_dataflow_park(w, waits ? LOOK_STOP_NS : -1)) break;
    }
    if (lent) dtp_blocking_regain(s->blocking, s->args.share);
}
