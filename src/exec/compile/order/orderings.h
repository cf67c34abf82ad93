/* The events of a running program, and for each event the earlier ones that have ended before it:
 * derived once from the steps. The memory plan (memory/plan_order.c) and the dataflow engine's
 * program (schedule.c) are both made from them.
 *
 * Buffers determine the orderings: a reader comes after the last writer in the text. Events are in
 * the order of the text. Each node of the dataflow engine is one event, so steps that the
 * interpreter runs together are one event. */
#ifndef DTP_EXEC_COMPILE_ORDER_ORDERINGS_H
#define DTP_EXEC_COMPILE_ORDER_ORDERINGS_H

#include "exec/compile/lowering/lower.h"
#include "exec/run/executable.h"

typedef enum {
    DTP_EVENT_STEPS, /* one step, a call, a slice group, an item of the interpreter */
    DTP_EVENT_JOIN,  /* all parts of a buffer are complete */
    DTP_EVENT_IF,    /* the choice; the true branch follows; end: ELSE */
    DTP_EVENT_ELSE,  /* the false branch follows; end: ENDIF */
    DTP_EVENT_ENDIF, /* the branch that ran has ended; its results follow */
    /* a result of an If; end: its ENDIF; after: its writer in the true branch, in the false one */
    DTP_EVENT_OUT,
    DTP_EVENT_WHILE, /* the whole loop; variables, condition, TEST and body follow; end: NEXT */
    DTP_EVENT_VAR,   /* a variable of a loop is available */
    DTP_EVENT_TEST,
    /* after: for each variable the writer of its next value, -1: there with the iteration's end */
    DTP_EVENT_NEXT
} dtp_event_kind_t;

typedef struct {
    uint8_t kind;
    int first, last; /* steps */
    int end;         /* another event */
    /* in dtp_orderings_t.after: earlier events that have ended before this one starts */
    int after, nafter;
    int seen; /* the last event that named it */
} dtp_event_t;

typedef struct {
    int n, cap, nafter, cap_after;
    dtp_event_t *events;
    int *after;
    struct dtp_event_range {
        int begin, end;
    } * scopes; /* events of each scope; of a loop: those after WHILE and before NEXT */
} dtp_orderings_t;

dnnl_tp_status_t dtp_orderings_derive(dtp_orderings_t *orderings, const dtp_exec_t *exec,
                                      const dtp_lower_t *lower);

#endif
