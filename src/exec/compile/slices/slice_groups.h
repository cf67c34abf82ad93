/* Slice groups: runs of steps that are executed slice by slice, see slice_groups.c. */
#ifndef DTP_EXEC_COMPILE_SLICES_SLICE_GROUPS_H
#define DTP_EXEC_COMPILE_SLICES_SLICE_GROUPS_H

#include "exec/run/executable.h"
#include "exec/compile/lowering/lower.h"

/* Finds the slice groups, fixes their slices and creates the primitives of their steps. */
dnnl_tp_status_t dtp_slice_groups(dtp_exec_t *exec, dtp_lower_t *lower);
#endif
