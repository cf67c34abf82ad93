/* Checks of the built-in pool's threads: there is no caller's pool to visit. Included once per check, after the
 * source of run.c. */
#ifndef DTP_MODEL_NO_VISITS_H
#define DTP_MODEL_NO_VISITS_H

#include "threading/pool.h"

_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;

bool dtp_visit_call_runner(dtp_pool_t *pool, void *cookie) {
    (void)pool, (void)cookie;
    return false;
}
void dtp_visit_main(dtp_pool_t *pool, dtp_team_t *team, struct dtp_main *body, int jobs) {
    (void)pool, (void)team, (void)jobs;
    dtp_main_take(body);
}
bool dtp_visit_possible(const dtp_pool_t *pool) {
    (void)pool;
    return false;
}

#endif
