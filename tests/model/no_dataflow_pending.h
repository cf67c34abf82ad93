/* Checks of the dataflow engine without nodes that may be pending. Included once per check, after the source of
 * dataflow/run/run.c. */
#ifndef DTP_MODEL_NO_DATAFLOW_PENDING_H
#define DTP_MODEL_NO_DATAFLOW_PENDING_H

#include "exec/dataflow/run/run.h"

_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;
void dtp_dataflow_pending_begin(dtp_dataflow_state_t *s) { (void)s; }
void dtp_dataflow_crew_is_open(dtp_dataflow_state_t *s, bool open) { (void)s, (void)open; }
bool dtp_dataflow_may_pend(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *at, uint32_t id, bool shared) {
    (void)w, (void)at, (void)id, (void)shared;
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
bool dtp_dataflow_is_quiet(dtp_dataflow_state_t *s) {
    (void)s;
    return false;
}
bool dtp_dataflow_may_rest(dtp_dataflow_worker_t *w) {
    (void)w;
    return false;
}

#endif
