/* Row segments: runs of steps that are executed slice by slice, see segment.c. */
#ifndef DTP_EXEC_SEGMENT_H
#define DTP_EXEC_SEGMENT_H

#include "exec/executable.h"
#include "exec/lower.h"

/* Finds the segments, fixes their slices and creates the primitives of all steps. */
dnnl_tp_status_t dtp_segments(dtp_exec_t *exec, dtp_lower_t *lower);
/* Finds ranges whose operators may run beside each other (dag.c); deterministic: host closures in their
 * order. */
dnnl_tp_status_t dtp_dags(dtp_exec_t *exec, dtp_lower_t *lower, bool deterministic);
/* Estimate of a step on one thread in nanoseconds. */
double dtp_step_ns(const dtp_step_t *step);

#endif
