/* Writes lowered steps into the tables of an executable. */
#ifndef DTP_EXEC_COMPILE_EMIT_EMIT_H
#define DTP_EXEC_COMPILE_EMIT_EMIT_H

#include "exec/compile/lowering/lower.h"
#include "exec/run/executable.h"

/* First scopes and their uses of each other; then pointers, steps and stages. */
dnnl_tp_status_t dtp_emit_scopes(dtp_exec_t *exec, const dtp_lower_t *lower);
dnnl_tp_status_t dtp_emit_tables(dtp_exec_t *exec, dtp_lower_t *lower);

#endif
