/* What happens when a program runs, and what has ended before: derived once from the steps. The memory plan
 * (memory/plan_order.c) and the dataflow engine's program (schedule.c) are both made of it.
 *
 * Buffers give the orderings: a reader comes after the last writer in the text. Events stand in the order of the
 * text. Only what is a node of the dataflow engine is an event: steps that the interpreter runs as one are one. */
#ifndef DTP_EXEC_COMPILE_ORDER_ORDERINGS_H
#define DTP_EXEC_COMPILE_ORDER_ORDERINGS_H

#include "exec/compile/lowering/lower.h"
#include "exec/run/executable.h"

typedef enum {
    DTP_EVENT_STEPS, /* one step, a call, a slice group, an item of the interpreter */
    DTP_EVENT_JOIN,  /* all parts of a buffer are there */
    DTP_EVENT_IF,    /* the choice; what is true follows; end: ELSE */
    DTP_EVENT_ELSE,  /* what is false follows; end: ENDIF */
    DTP_EVENT_ENDIF, /* the branch that ran has ended; its results follow */
    DTP_EVENT_OUT, /* a result of an If; end: its ENDIF; after: its writer in the true branch, in the false one */
    DTP_EVENT_WHILE, /* the whole loop; variables, condition, TEST and body follow; end: NEXT */
    DTP_EVENT_VAR,   /* a variable of a loop is there */
    DTP_EVENT_TEST,
    DTP_EVENT_NEXT /* after: for each variable the writer of its next value, -1: there with the iteration's end */
} dtp_event_kind_t;

typedef struct {
    uint8_t kind;
    int first, last;   /* steps */
    int end;           /* another event */
    int after, nafter; /* in dtp_orderings_t.after: earlier events that have ended before this one starts */
    int seen;          /* by which event it was named last */
} dtp_event_t;

typedef struct {
    int n, cap, nafter, cap_after;
    dtp_event_t *events;
    int *after;
    struct dtp_event_range {
        int begin, end;
    } * scopes; /* events of each scope; of a loop those behind WHILE and before NEXT */
} dtp_orderings_t;

dnnl_tp_status_t dtp_orderings_derive(dtp_orderings_t *orderings, const dtp_exec_t *exec,
                                      const dtp_lower_t *lower);

#endif
