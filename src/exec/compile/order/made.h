/* By which token each buffer is there, while steps are walked in their order: what a block wrote is taken back
 * when it is left. Tokens are the walker's numbers: of the dataflow engine (schedule.c), points (plan_order.c). */
#ifndef DTP_EXEC_COMPILE_ORDER_MADE_H
#define DTP_EXEC_COMPILE_ORDER_MADE_H

#include "common/base/arena.h"

typedef struct {
    dtp_arena_t *arena;
    int *token; /* per buffer: it is there, -1: not yet */
    int *ended; /* all that made it has ended */
    struct dtp_made_change {
        int buf, token, ended;
    } * log;
    int nlog, cap_log;
    bool forgets; /* nothing will be taken back */
} dtp_made_t;
typedef struct {
    int buf, token;
} dtp_made_buf_t;

dnnl_tp_status_t dtp_made_init(dtp_made_t *t, dtp_arena_t *arena, int nbufs);
dnnl_tp_status_t dtp_made_set(dtp_made_t *t, int buf, int token, int ended);
/* As it was when nlog was mark. */
void dtp_made_undo(dtp_made_t *t, int mark);
/* The same, and what had been set since then. */
dnnl_tp_status_t dtp_made_take(dtp_made_t *t, int mark, dtp_made_buf_t **results, int *n);

#endif
