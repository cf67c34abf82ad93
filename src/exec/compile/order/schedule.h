/* Scheduling: steps become stages of the interpreter or nodes of the dataflow engine. */
#ifndef DTP_EXEC_COMPILE_ORDER_SCHEDULE_H
#define DTP_EXEC_COMPILE_ORDER_SCHEDULE_H

#include "exec/compile/order/orderings.h"

/* dtp_schedule_choose selects the steps that the dataflow engine runs, before memory is planned;
 * dtp_schedule_build makes its program, after memory is planned. */
enum {
    DTP_SCHEDULE_ALL = 1,    /* all steps, each one separately */
    DTP_SCHEDULE_ORDERED = 2 /* host closures one after another, in their order */
};
dnnl_tp_status_t dtp_schedule_choose(dtp_exec_t *exec, dtp_lower_t *lower, unsigned options);
dnnl_tp_status_t dtp_schedule_build(dtp_exec_t *exec, dtp_lower_t *lower, const dtp_orderings_t *orderings,
                                    unsigned options);

#endif
