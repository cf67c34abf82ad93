/* Checks of source that would use a blocking crew, on pools without one. Included once per check, after its
 * source. */
#ifndef DTP_MODEL_NO_BLOCKING_H
#define DTP_MODEL_NO_BLOCKING_H

#include "threading/pools/blocking.h"

dtp_blocking_t *dtp_blocking_of(const dtp_parallel_t *par) {
    (void)par;
    return NULL;
}
/* builtin_pool.c */
void dtp_blocking_end(dtp_blocking_t *crew, bool detach) { (void)crew, (void)detach; }
void dtp_blocking_join(dtp_blocking_t *crew) { (void)crew; }

#endif
