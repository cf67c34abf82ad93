/* Import of acyclic Switch/Merge graphs without structure: finds when each node is alive.
 *
 * Liveness is a boolean function of the predicates. A node is alive if all of its inputs are. A
 * Switch adds its predicate or the negation to its outputs. A Merge is alive if one of its inputs
 * is. The functions are decision diagrams: two functions are equal if they have the same number.
 * live.c finds them, gate.c makes Ifs from them. */
#ifndef DTP_SWITCH_MERGE_LIVE_H
#define DTP_SWITCH_MERGE_LIVE_H

#include "switch_merge/import.h"

enum { DTP_LIVE_NEVER = 0, DTP_LIVE_ALWAYS = 1 };

typedef struct {
    dtp_v1_t *t;
    struct dtp_live_choice {
        /* yes and no have lower numbers; variables grow from the top down. */
        int var, yes, no;
    } * choices;
    int nchoices, cap_choices;
    /* Entries are 1 + the number of a choice; open addressing. */
    int *table, table_size;
    struct dtp_live_memo {
        int f, g, h, result;
    } * memo;
    /* The tensors of the predicates. */
    dtp_v1_tensor_t *vars;
    int nvars, cap_vars;
    /* Two entries for each node, for its outputs 0 and 1: 1 + variable; other outputs are searched.
     */
    int *var_of;
    /* Liveness of each node. */
    int *node;
    /* Liveness of the two outputs of each Switch. */
    int *port[2];
    /* For each Merge: the function that is true if two of its inputs are alive. */
    int *crowd;
} dtp_live_t;

dnnl_tp_status_t dtp_live_find(dtp_live_t *live, dtp_v1_t *t);
/* Liveness of an output. */
int dtp_live_of(const dtp_live_t *live, dtp_v1_tensor_t x);
/* The negation of the liveness of an output. */
dnnl_tp_status_t dtp_live_dead(dtp_live_t *live, dtp_v1_tensor_t x, int *dead);

#endif
