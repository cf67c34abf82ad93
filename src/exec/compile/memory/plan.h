/* Parts of the memory plan (plan.c): what needs memory, and where it is placed. */
#ifndef DTP_EXEC_COMPILE_MEMORY_PLAN_H
#define DTP_EXEC_COMPILE_MEMORY_PLAN_H

#include "exec/compile/memory/ancestors.h"
#include "exec/compile/order/orderings.h"

/* Something that needs memory: from step `first` to step `last`, if steps run one after another. */
typedef struct {
    int buf; /* buffer, or number of buffers + scope: the ring of a loop */
    int first, last;
    size_t bytes;
    size_t at;
} dtp_allocation_t;

/* What runs when in scopes whose nodes run in any order (plan_order.c). */
typedef struct {
    const dtp_orderings_t *orderings;
    const dtp_lower_t *l;
    const int *heir_of; /* per buffer: whose place it takes over, -1 */
    dtp_ancestors_t ancestors;
    int *set_of;      /* per event of the program: its number in `ancestors`, -1: of another scope */
    int scope, begin; /* its first event */
    bool is_body;     /* not the condition of a loop */
    size_t worth;     /* bytes that can be saved in this scope */
    int ifs;          /* around the current event */
    struct dtp_order_use {
        int event, next; /* of the same allocation */
        bool write, always;
    } * uses;
    int nuses, cap_uses;
    struct dtp_order_allocation {
        int uses; /* 1 + the first */
        /* Events with which it is free; before which it must be: in events[], the latter behind the former.
         */
        int events, nends, nbegins;
        bool stays, next, early, always;
    } * allocations; /* per buffer, then per scope */
    int *events, nevents, cap_events, *touched, ntouched;
    uint8_t *in_order; /* per event: an item of the interpreter */
} dtp_order_t;

dnnl_tp_status_t dtp_order_init(dtp_order_t *o, const dtp_orderings_t *orderings, const dtp_lower_t *l,
                                const int *heir_of);
/* Then dtp_order_frees speaks of allocations of this scope. */
dnnl_tp_status_t dtp_order_scope(dtp_order_t *o, int scope);
/* In every run and order of execution, all that touches a has ended before anything writes b. */
bool dtp_order_frees(const dtp_order_t *o, const dtp_allocation_t *a, const dtp_allocation_t *b);

/* Where allocations go (placement.c); returns the bytes that all take together. order NULL: one step after
 * another. */
dnnl_tp_status_t dtp_place_allocations(dtp_arena_t *arena, const dtp_order_t *order, dtp_allocation_t *r,
                                       int n, size_t *total);

/* Lays out memory and writes the executable's tables (plan.c). */
dnnl_tp_status_t dtp_plan(dtp_exec_t *exec, dtp_lower_t *lower, const dtp_orderings_t *orderings,
                          size_t memory_budget);

#endif
