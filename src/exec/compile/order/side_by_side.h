/* Which steps share the threads with what could run beside them, and which take all of them. */
#ifndef DTP_EXEC_COMPILE_ORDER_SIDE_BY_SIDE_H
#define DTP_EXEC_COMPILE_ORDER_SIDE_BY_SIDE_H

#include "exec/compile/order/orderings.h"

/* Of events from..to, in the order of the text: takes_all[k] becomes 1 for those that outlast everything beside them, on
 * `threads` threads. ns: estimates by event, on one thread. */
dnnl_tp_status_t dtp_find_longest(dtp_arena_t *arena, const dtp_orderings_t *orderings, int from, int to,
                                  const double *ns, int threads, uint8_t *takes_all);

#endif
