/* Checks of the dataflow engine without closures that may block. Included once per check, after the source of
 * dataflow/run/run.c. */
#ifndef DTP_MODEL_NO_DATAFLOW_BLOCKING_H
#define DTP_MODEL_NO_DATAFLOW_BLOCKING_H

#include "exec/dataflow/run/run.h"

_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;
void dtp_dataflow_blocking_begin(dtp_dataflow_state_t *s) { (void)s; }
void dtp_dataflow_blocking_open(dtp_dataflow_state_t *s) { (void)s; }
bool dtp_dataflow_hand_over(dtp_dataflow_state_t *s, dtp_dataflow_instance_t *at, uint32_t node) {
    (void)s, (void)at, (void)node;
    return false;
}
uint64_t dtp_dataflow_take_returned(dtp_dataflow_state_t *s) {
    (void)s;
    return 0;
}
bool dtp_dataflow_is_away(const dtp_dataflow_state_t *s) {
    (void)s;
    return false;
}
void dtp_dataflow_sleep_away(dtp_dataflow_worker_t *w) { (void)w; }

#endif
