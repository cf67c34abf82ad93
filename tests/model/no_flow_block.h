/* Checks of the flow engine without closures that may block. Included once per check, after the source of
 * dataflow/run/run.c. */
#ifndef DTP_MODEL_NO_FLOW_BLOCK_H
#define DTP_MODEL_NO_FLOW_BLOCK_H

#include "exec/dataflow/run/run.h"

_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;
void dtp_flow_block_begin(dtp_flow_state_t *s) { (void)s; }
void dtp_flow_block_open(dtp_flow_state_t *s) { (void)s; }
bool dtp_flow_hand_over(dtp_flow_state_t *s, dtp_flow_slab_t *at, uint32_t node) {
    (void)s, (void)at, (void)node;
    return false;
}
uint64_t dtp_flow_take_returned(dtp_flow_state_t *s) {
    (void)s;
    return 0;
}
bool dtp_flow_is_away(const dtp_flow_state_t *s) {
    (void)s;
    return false;
}
void dtp_flow_sleep_away(dtp_flow_worker_t *w) { (void)w; }

#endif
