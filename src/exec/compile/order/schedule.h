/* What runs when: steps become stages of the interpreter or nodes of the dataflow engine. */
#ifndef DTP_EXEC_COMPILE_ORDER_SCHEDULE_H
#define DTP_EXEC_COMPILE_ORDER_SCHEDULE_H

#include "exec/compile/order/orderings.h"

/* Chooses what runs through counters, before memory is planned; makes the dataflow engine's program
 * once it is. */
enum {
    DTP_SCHEDULE_ALL = 1,    /* everything, each step by itself */
    DTP_SCHEDULE_ORDERED = 2 /* host closures one after another, in their order */
};
dnnl_tp_status_t dtp_schedule_choose(dtp_exec_t *exec, dtp_lower_t *lower, unsigned options);
dnnl_tp_status_t dtp_schedule_build(dtp_exec_t *exec, dtp_lower_t *lower, const dtp_orderings_t *orderings,
                                    unsigned options);

#endif
