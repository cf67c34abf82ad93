/* By which token each buffer is there, while steps are walked in their order: what a block wrote is taken
 * back when it is left. Tokens are the walker's numbers: of the dataflow engine (schedule.c), events
 * (plan_order.c). */
#ifndef DTP_EXEC_COMPILE_ORDER_PRODUCERS_H
#define DTP_EXEC_COMPILE_ORDER_PRODUCERS_H

#include "common/base/arena.h"

typedef struct {
    dtp_arena_t *arena;
    int *token; /* per buffer: it is there, -1: not yet */
    int *ended; /* all that wrote it has ended */
    struct dtp_producer_change {
        int buf, token, ended;
    } * log;
    int nlog, cap_log;
    bool forgets; /* nothing will be taken back */
} dtp_producers_t;
typedef struct {
    int buf, token;
} dtp_producer_t;

dnnl_tp_status_t dtp_producers_init(dtp_producers_t *t, dtp_arena_t *arena, int nbufs);
dnnl_tp_status_t dtp_producers_set(dtp_producers_t *t, int buf, int token, int ended);
/* As it was when nlog was mark. */
void dtp_producers_undo(dtp_producers_t *t, int mark);
/* The same, and what had been set since then. */
dnnl_tp_status_t dtp_producers_take(dtp_producers_t *t, int mark, dtp_producer_t **results, int *n);

#endif
