/* Checks of runs without queues of streams. Included once per check, after the source of run.c. */
#ifndef DTP_MODEL_NO_QUEUES_H
#define DTP_MODEL_NO_QUEUES_H

#include "threading/base/sleeper.h"
#include "threading/pools/pool.h"

void dtp_queue_rest(const dtp_share_t *share) {
    _Atomic uint32_t wake_word = 0;
    dtp_sleep_or_rest(share, &wake_word, 0, 1, -1, true);
}

bool dtp_queue_hint(dtp_pending_work_t *work) {
    (void)work;
    return false;
}
bool dtp_queue_is_awaited(const dtp_pending_work_t *work) {
    (void)work;
    return false;
}
void dtp_queue_take_over(dtp_pool_t *pool) { (void)pool; }
void dtp_queue_run_pending(dtp_pool_t *pool, dtp_pending_work_t *work) { (void)pool, (void)work; }
void dtp_queue_run_left(const dtp_chain_t *after) { (void)after; }

#endif
