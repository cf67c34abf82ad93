/* Import of acyclic Switch/Merge graphs without structure: when each node is alive.
 *
 * Liveness is a boolean function of the predicates: that of a node is the conjunction of those of its inputs,
 * a Switch adds its predicate or the negation to its outputs, a Merge is alive if one of its inputs is.
 * Functions are decision diagrams: two are equal if they have the same number. live.c finds them,
 * gate.c makes Ifs of them. */
#ifndef DTP_SWITCH_MERGE_LIVE_H
#define DTP_SWITCH_MERGE_LIVE_H

#include "switch_merge/import.h"

enum { DTP_LIVE_NEVER = 0, DTP_LIVE_ALWAYS = 1 };

typedef struct {
    dtp_v1_t *t;
    struct dtp_live_choice {
        int var, yes, no; /* of lower numbers; variables grow from the top down */
    } * choices;
    int nchoices, cap_choices;
    int *table, table_size; /* 1 + choice; open addressing */
    struct dtp_live_memo {
        int f, g, h, result;
    } * memo;
    dtp_v1_tensor_t *vars; /* where predicates are made */
    int nvars, cap_vars;
    int *var_of;  /* per node: 2 for its outputs 0 and 1; 1 + variable, others are searched */
    int *node;    /* per node: its liveness */
    int *port[2]; /* per Switch: that of its outputs */
    int *crowd;   /* per Merge: when two of its inputs are alive */
} dtp_live_t;

dnnl_tp_status_t dtp_live_find(dtp_live_t *live, dtp_v1_t *t);
/* Of an output. */
int dtp_live_of(const dtp_live_t *live, dtp_v1_tensor_t x);
/* The opposite. */
dnnl_tp_status_t dtp_live_dead(dtp_live_t *live, dtp_v1_tensor_t x, int *dead);

#endif
