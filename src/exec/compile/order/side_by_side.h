/* Finds the steps that use all threads, and those that share the threads with steps that may run at
 * the same time. */
#ifndef DTP_EXEC_COMPILE_ORDER_SIDE_BY_SIDE_H
#define DTP_EXEC_COMPILE_ORDER_SIDE_BY_SIDE_H

#include "exec/compile/order/orderings.h"

/* Sets takes_all[k] to 1 for the events among from..to, in the order of the text, that take longer
 * on `threads` threads than all events that may run at the same time. ns: estimate for each event,
 * on one thread. */
dnnl_tp_status_t dtp_find_longest(dtp_arena_t *arena, const dtp_orderings_t *orderings, int from, int to,
                                  const double *ns, int threads, uint8_t *takes_all);

#endif
