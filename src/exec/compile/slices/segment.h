/* Row segments: runs of steps that are executed slice by slice, see segment.c. */
#ifndef DTP_EXEC_COMPILE_SLICES_SEGMENT_H
#define DTP_EXEC_COMPILE_SLICES_SEGMENT_H

#include "exec/run/executable.h"
#include "exec/compile/lowering/lower.h"

/* Finds the segments, fixes their slices and creates the primitives of all steps. */
dnnl_tp_status_t dtp_segments(dtp_exec_t *exec, dtp_lower_t *lower);
#endif
