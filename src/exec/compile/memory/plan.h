/* Parts of the memory plan (plan.c): what needs room, and where it is placed. */
#ifndef DTP_EXEC_COMPILE_MEMORY_PLAN_H
#define DTP_EXEC_COMPILE_MEMORY_PLAN_H

#include "exec/run/executable.h"
#include "exec/compile/lowering/lower.h"
#include "exec/compile/memory/reach.h"
#include "exec/compile/order/made.h"

/* Something that needs room: from step `first` to step `last`, if steps run one after another. */
typedef struct {
    int buf; /* buffer, or number of buffers + space: the ring of a loop */
    int first, last;
    size_t bytes;
    size_t at;
} dtp_room_t;

/* What runs when in spaces whose nodes run in any order (plan_order.c). */
typedef struct {
    const dtp_exec_t *e;
    const dtp_lower_t *l;
    const int *heir_of; /* per buffer: whose place it takes over, -1 */
    dtp_reach_t reach;
    int space, body; /* of a loop: its first step behind the test */
    size_t worth;    /* bytes that can be saved in this space */
    bool flat;       /* no choices, one space */
    int ifs;         /* around the current step */
    struct dtp_order_use {
        int point, next; /* of the same room */
        bool write, always;
    } * uses;
    int nuses, cap_uses;
    struct dtp_order_room {
        int uses; /* 1 + the first */
        /* Points with which it is free; before which it must be: in points[], the latter behind the former.
         */
        int points, nends, nbegins;
        bool stays, next, early, always;
    } * rooms; /* per buffer, then per space */
    int *points, npoints, cap_points, *touched, ntouched;
    dtp_made_t made;   /* points */
    uint8_t *in_order; /* per point: an item of the interpreter */
} dtp_order_t;

dnnl_tp_status_t dtp_order_init(dtp_order_t *o, const dtp_exec_t *e, const dtp_lower_t *l,
                                const int *heir_of);
/* Then dtp_order_frees speaks of rooms of this space. */
dnnl_tp_status_t dtp_order_space(dtp_order_t *o, int space);
/* In every run and order of execution, all that touches a has ended before anything writes b. */
bool dtp_order_frees(const dtp_order_t *o, const dtp_room_t *a, const dtp_room_t *b);

/* Where rooms go (place.c); returns the bytes that all take together. order NULL: one step after another. */
dnnl_tp_status_t dtp_place_rooms(dtp_arena_t *arena, const dtp_order_t *order, dtp_room_t *r, int n,
                                 size_t *total);

/* Lays out memory and writes the executable's tables (plan.c). */
dnnl_tp_status_t dtp_plan(dtp_exec_t *exec, dtp_lower_t *lower, size_t memory_budget);

#endif
