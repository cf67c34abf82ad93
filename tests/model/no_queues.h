/* Checks of runs without queues of streams. Included once per check, after the source of run.c. */
#ifndef DTP_MODEL_NO_QUEUES_H
#define DTP_MODEL_NO_QUEUES_H

#include "threading/pool.h"

bool dtp_queue_hint(dtp_root_t *root, bool coming) {
    (void)root, (void)coming;
    return false;
}
void dtp_queue_run_root(dtp_pool_t *pool, dtp_root_t *root) { (void)pool, (void)root; }
void dtp_queue_run_left(struct dtp_queue *first) { (void)first; }

#endif
