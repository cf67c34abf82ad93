/* Parts of the memory plan (plan.c): allocations and their places. */
#ifndef DTP_EXEC_COMPILE_MEMORY_PLAN_H
#define DTP_EXEC_COMPILE_MEMORY_PLAN_H

#include "exec/compile/memory/ancestors.h"
#include "exec/compile/order/orderings.h"

/* An allocation: needed from step `first` to step `last`, if steps run one after another. */
typedef struct {
    int buf; /* buffer, or number of buffers + scope: the ring of a loop */
    int first, last;
    size_t bytes;
    size_t at;
} dtp_allocation_t;

/* Orderings in scopes whose nodes run in any order (plan_order.c). */
typedef struct {
    const dtp_orderings_t *orderings;
    const dtp_lower_t *l;
    const int *heir_of; /* for each buffer: the buffer whose place it takes over; -1: none */
    dtp_ancestors_t ancestors;
    /* for each event of the program: its number in `ancestors`; -1: in another scope */
    int *set_of;
    int scope, begin; /* begin: first event of the scope */
    bool is_body;     /* not the condition of a loop */
    size_t worth;     /* bytes that can be saved in this scope */
    int ifs;          /* number of Ifs around the current event */
    struct dtp_order_use {
        int event, next; /* of the same allocation */
        bool write, always;
    } * uses;
    int nuses, cap_uses;
    struct dtp_order_allocation {
        int uses; /* 1 + the first */
        /* In events[]: the nends events after which its memory is free, then the nbegins events
         * before which it must be free. */
        int events, nends, nbegins;
        bool stays, next, early, always;
    } * allocations; /* for each buffer, then for each scope */
    int *events, nevents, cap_events, *touched, ntouched;
    uint8_t *in_order; /* for each event: whether it is an item of the interpreter */
} dtp_order_t;

dnnl_tp_status_t dtp_order_init(dtp_order_t *o, const dtp_orderings_t *orderings, const dtp_lower_t *l,
                                const int *heir_of);
/* Selects the scope for dtp_order_frees. */
dnnl_tp_status_t dtp_order_scope(dtp_order_t *o, int scope);
/* Whether in every run and order of execution all accesses to a have ended before anything writes
 * b. */
bool dtp_order_frees(const dtp_order_t *o, const dtp_allocation_t *a, const dtp_allocation_t *b);

/* Places allocations (placement.c); *total: the bytes of all together. order NULL: steps run one
 * after another. */
dnnl_tp_status_t dtp_place_allocations(dtp_arena_t *arena, const dtp_order_t *order, dtp_allocation_t *r,
                                       int n, size_t *total);

/* Lays out memory and writes the executable's tables (plan.c). */
dnnl_tp_status_t dtp_plan(dtp_exec_t *exec, dtp_lower_t *lower, const dtp_orderings_t *orderings,
                          size_t memory_budget);

#endif
