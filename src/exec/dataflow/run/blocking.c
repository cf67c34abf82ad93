/* Pending nodes (pending.c) that threads of the pool's blocking crew execute (threading/pools/blocking.h, whose lock
 * keeps what stands here). Without a crew nodes that may block run where they are met, like others.
 *
 *   handed      whoever met the node put it at the end of `handed` and goes on; the run's job is linked into the
 *               crew's line while there are any
 *   begun       a thread of the crew has taken the oldest. The closure runs without the lock and without a ticket; its
 *               return is the node's, unless it is pending then for another reason
 *   recalled    a run that has failed returns what is handed and not begun */
#include "exec/dataflow/run/run.h"
#include "threading/base/futex.h"
#include "threading/pools/record.h"

static dtp_dataflow_state_t *state_of(dtp_blocking_job_t *job) {
    return (dtp_dataflow_state_t *)(void *)((char *)job - offsetof(dtp_dataflow_state_t, job));
}

static uint64_t take_handed(dtp_dataflow_state_t *s) {
    const uint64_t task = s->handed;
    s->handed = *dtp_dataflow_link(task);
    return task;
}

static void run_closure(dtp_blocking_job_t *job, dtp_blocking_t *crew, int thread) {
    dtp_dataflow_state_t *s = state_of(job);
    const uint64_t task = take_handed(s);
    s->linked = s->handed != 0;
    if (s->linked) (void)dtp_blocking_link(crew, job); /* threads were woken for each */
    dtp_blocking_count(crew, 1);
    dtp_blocking_unlock(crew);

    dtp_chain_t chain;
    dnnl_tp_status_t status = dnnl_tp_success;
    dtp_blocking_enter(crew, &chain, s->args.share);
    dtp_dataflow_check_deadline(s);
    if (!dtp_dataflow_stopped(s)) {
        dtp_dataflow_instance_t *instance = dtp_dataflow_instance_of(task);
        const uint32_t index = instance->region->nodes[task & DTP_DATAFLOW_NODE_MASK].index;
        const dtp_dataflow_where_t where = {
            .slot = dtp_blocking_slot(crew, thread), .par = &s->alone, .task = task};
        status = s->args.exec(s->args.ctx, instance, index, &where);
    }
    dtp_blocking_lock(crew);
    dtp_blocking_count(crew, -1); /* before the run, which may be over then, is told */
    dtp_blocking_unlock(crew);
    if (status != DTP_DATAFLOW_PENDING) dtp_dataflow_return(s, task, status); /* the last access to the run */
    dtp_blocking_leave(&chain);
    dtp_blocking_lock(crew);
}

void dtp_dataflow_blocking_begin(dtp_dataflow_state_t *s) {
    s->blocking = dtp_blocking_of(s->args.par);
    if (!s->blocking) return;
    s->job = (dtp_blocking_job_t){.fn = run_closure};
    s->linked = false;
    s->handed = 0;
}

void dtp_dataflow_hand_over(dtp_dataflow_state_t *s, uint64_t task) {
    dtp_blocking_t *crew = s->blocking;
    *dtp_dataflow_link(task) = 0;
    dtp_blocking_lock(crew);
    if (s->handed) *dtp_dataflow_link(s->handed_last) = task;
    else s->handed = task;
    s->handed_last = task;
    const bool wake = s->linked ? dtp_blocking_ring(crew) : dtp_blocking_link(crew, &s->job);
    s->linked = true;
    dtp_blocking_unlock(crew);
    if (wake) dtp_blocking_wake(crew);
}

void dtp_dataflow_recall(dtp_dataflow_state_t *s) {
    if (!s->blocking) return;
    dtp_blocking_lock(s->blocking);
    if (s->linked) dtp_blocking_unlink(s->blocking, &s->job);
    s->linked = false;
    uint64_t task = s->handed, next;
    s->handed = 0;
    dtp_blocking_unlock(s->blocking);
    for (; task; task = next) {
        next = *dtp_dataflow_link(task);
        dtp_dataflow_return(s, task, dnnl_tp_success);
    }
}
