/* Checks of runs without queues of streams. Included once per check, after the source of run.c. */
#ifndef DTP_MODEL_NO_QUEUES_H
#define DTP_MODEL_NO_QUEUES_H

#include "threading/pools/pool.h"

bool dtp_queue_hint(dtp_root_t *root) {
    (void)root;
    return false;
}
bool dtp_queue_is_awaited(const dtp_root_t *root) {
    (void)root;
    return false;
}
void dtp_queue_take_over(dtp_pool_t *pool, const dtp_root_t *except) { (void)pool, (void)except; }
void dtp_queue_run_root(dtp_pool_t *pool, dtp_root_t *root) { (void)pool, (void)root; }
void dtp_queue_run_left(const dtp_chain_t *after) { (void)after; }

#endif
