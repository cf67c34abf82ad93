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
dnnl_tp_status_t dtp_pool_begin_run(dtp_pool_t *pool, bool waits, void **cookie, bool *begun) {
    (void)waits;
    *begun = pool->iface.run_begin != NULL;
    if (*begun) (void)pool->iface.run_begin(pool->iface.ctx, 1, cookie);
    return dnnl_tp_success;
}
bool dtp_pool_end_run(dtp_pool_t *pool, void *cookie, dnnl_tp_status_t status, bool may_block,
                      dnnl_tp_task_fn_t done, void *arg) {
    pool->iface.run_end(pool->iface.ctx, cookie, (int)status, may_block, done, arg);
    return true;
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
