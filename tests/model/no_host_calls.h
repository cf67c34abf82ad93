/* Checks of the built-in pool's threads: there is no caller's pool to host call. Included once per check, after the
 * source of run.c. */
#ifndef DTP_MODEL_NO_HOST_CALLS_H
#define DTP_MODEL_NO_HOST_CALLS_H

#include "threading/pools/pool.h"

_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;

static void (*model_call_host)(void *cookie); /* may be NULL; the host refuses */
bool dtp_host_call_runner(dtp_pool_t *pool, void *cookie) {
    (void)pool;
    if (model_call_host) model_call_host(cookie);
    return false;
}
void dtp_host_call_team_closed(dtp_team_t *team) { (void)team; }
void dtp_host_call_main(dtp_pool_t *pool, dtp_team_t *team, struct dtp_main *body, int jobs) {
    (void)pool, (void)team, (void)jobs;
    dtp_main_take(body);
}
bool dtp_host_call_possible(const dtp_pool_t *pool) {
    (void)pool;
    return false;
}

#endif
