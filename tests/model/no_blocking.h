/* Checks of source that would use a blocking crew, on pools without one. Included once per check, after its
 * source. */
#ifndef DTP_MODEL_NO_BLOCKING_H
#define DTP_MODEL_NO_BLOCKING_H

#include "threading/pools/blocking.h"

dtp_blocking_t *dtp_blocking_of(const dtp_parallel_t *par) {
    (void)par;
    return NULL;
}
bool dtp_blocking_has(const dtp_pool_t *pool) {
    (void)pool;
    return false;
}
void dtp_blocking_lock(dtp_blocking_t *crew) { (void)crew; }
void dtp_blocking_unlock(dtp_blocking_t *crew) { (void)crew; }
bool dtp_blocking_link(dtp_blocking_t *crew, dtp_blocking_line_t line, dtp_blocking_job_t *job) {
    (void)crew, (void)line, (void)job;
    return false;
}
void dtp_blocking_wake(dtp_blocking_t *crew, dtp_blocking_line_t line) { (void)crew, (void)line; }
bool dtp_blocking_is_wanted(const dtp_blocking_t *crew) {
    (void)crew;
    return false;
}
/* builtin_pool.c */
void dtp_blocking_end(dtp_blocking_t *crew, bool detach) { (void)crew, (void)detach; }
void dtp_blocking_join(dtp_blocking_t *crew) { (void)crew; }

#endif
