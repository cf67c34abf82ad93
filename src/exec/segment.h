/* Row segments: runs of steps that are executed slice by slice, see segment.c. */
#ifndef DTP_EXEC_SEGMENT_H
#define DTP_EXEC_SEGMENT_H

#include "exec/executable.h"
#include "exec/lower.h"

/* Finds the segments, fixes their slices and creates the primitives of all steps. */
dnnl_tp_status_t dtp_segments(dtp_exec_t *exec, dtp_lower_t *lower);
/* Chooses what runs through counters (schedule.c), before memory is planned; makes the flow engine's program
 * once it is. */
enum {
    DTP_SCHEDULE_ALL = 1,    /* everything, each step by itself */
    DTP_SCHEDULE_ORDERED = 2 /* host closures one after another, in their order */
};
dnnl_tp_status_t dtp_schedule_choose(dtp_exec_t *exec, dtp_lower_t *lower, unsigned options);
dnnl_tp_status_t dtp_schedule_build(dtp_exec_t *exec, dtp_lower_t *lower, unsigned options);
/* Estimate of a step on one thread in nanoseconds. */
double dtp_step_ns(const dtp_step_t *step);

#endif
