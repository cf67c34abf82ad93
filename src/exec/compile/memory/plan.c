/* The memory plan of an executable. Tables: compile/emit/emit.c.
 *
 * Every scope (the root, an iteration of a loop, a call) has a plan of its own: its pointers, then its
 * buffers; a loop takes memory for its ring of instances in the scope around it. Buffers share memory when
 * all uses of one happen before the first write of the other: where nodes of the dataflow engine run in
 * any order, in every such order (plan_order.c), else in that of the steps. Placing: placement.c. In a
 * slice group, slices of different participants are at different steps, so its whole-size buffers live
 * from its first to its last step, except that two with equal units may follow one another (a slice
 * overwrites only its own rows). Buffers inside a group are planned per unit and belong to the
 * participant. */
#include "exec/compile/memory/plan.h"

#include "exec/compile/emit/emit.h"
#include "exec/run/zones.h"

/* A buffer that starts on the same 4 KiB offset as its neighbour makes loads wait for unrelated stores. */
static size_t padded(size_t bytes) {
    enum { SKEW = 17 * DTP_CACHE_LINE, LARGE = 4096 };
    size_t n = dtp_round_up_size(bytes ? bytes : 1, DTP_CACHE_LINE);
    return n >= LARGE ? n + SKEW : n;
}

/* ---- Whole-size buffers ------------------------------------------------------------------------------ */

/* The buffer whose place b takes over: in the same slice group, of equal units, dead before b is written.
 * -1 = none. */
static int predecessor(const dtp_lower_t *l, const int *heir, int b) {
    const dtp_buf_t *x = &l->bufs[b];
    for (int i = 0; i < b && x->slice_group >= 0; ++i) {
        const dtp_buf_t *y = &l->bufs[i];
        if (y->kind == DTP_BUF_INSTANCE && y->slice_group == x->slice_group && y->domain == x->domain &&
            y->unit_bytes == x->unit_bytes && heir[i] < 0 && y->last < x->first)
            return i;
    }
    return -1;
}

/* What a scope holds: its buffers and the rings of its loops (named nbufs + scope). */
static dnnl_tp_status_t find_allocations(const dtp_exec_t *e, const dtp_lower_t *l, int scope,
                                         const int *heir_of, dtp_allocation_t *r, int *count) {
    int n = 0;
    for (int b = 0; b < l->nbufs; ++b) {
        const dtp_buf_t *buf = &l->bufs[b];
        if (buf->kind != DTP_BUF_INSTANCE || buf->scope != scope || buf->first < 0 || heir_of[b] >= 0 ||
            buf->bytes == 0)
            continue;
        r[n++] = (dtp_allocation_t){
            .buf = b, .first = buf->first, .last = buf->last, .bytes = padded(buf->bytes + 2 * DTP_ZONE_GAP)};
    }
    for (int s = scope + 1; s < l->nscopes; ++s) {
        if (l->scopes[s].parent != scope) continue;
        const dtp_scope_t *loop = &e->scopes[s];
        r[n++] = (dtp_allocation_t){.buf = l->nbufs + s,
                                    .first = l->scopes[s].begin,
                                    .last = l->scopes[s].end,
                                    .bytes = padded(loop->bytes * (size_t)loop->instances)};
    }
    *count = n;
    return dnnl_tp_success;
}

/* Widens to all of each slice group that touches it: slices pass its steps at different times. */
static void widen(const dtp_exec_t *e, const dtp_lower_t *l, dtp_allocation_t *x) {
    int s = l->steps[x->first]->slice_group;
    if (s >= 0) x->first = e->slice_groups[s].first_step;
    s = l->steps[x->last]->slice_group;
    if (s >= 0) x->last = e->slice_groups[s].first_step + e->slice_groups[s].nsteps - 1;
}

enum { SMALL_ALLOCATION = 2 * DTP_CACHE_LINE }; /* on the average */

/* How much is held at once, if steps run one after another. */
static dnnl_tp_status_t measure_least(dtp_exec_t *e, dtp_lower_t *l, const dtp_allocation_t *r, int n) {
    const size_t bytes = sizeof(size_t) * (size_t)(l->nsteps + 2);
    size_t *change = dtp_arena_take(l->ir->arena, bytes), held = 0; /* modulo 2^64 */
    if (!change) return dnnl_tp_out_of_memory;
    memset(change, 0, bytes);
    for (int i = 0; i < n; ++i) {
        change[r[i].first] += r[i].bytes;
        change[r[i].last + 1] -= r[i].bytes;
    }
    for (int s = 0; s <= l->nsteps; ++s) {
        held += change[s];
        if (held > e->least_bytes) e->least_bytes = held;
    }
    dtp_arena_drop(l->ir->arena, change, bytes);
    return dnnl_tp_success;
}

static size_t place_apart(dtp_allocation_t *r, int n) {
    size_t total = 0;
    for (int i = 0; i < n; total += r[i++].bytes) r[i].at = total;
    return total;
}

static dnnl_tp_status_t plan_scope(dtp_exec_t *e, dtp_lower_t *l, const dtp_orderings_t *orderings, int scope,
                                   const int *from, dtp_order_t *order, dtp_allocation_t *r) {
    int n;
    DTP_TRY(find_allocations(e, l, scope, from, r, &n));
    for (int i = 0; i < n; ++i) widen(e, l, &r[i]);
    size_t total, head = scope ? dtp_scope_head(&e->scopes[scope]) : 0;
    const bool any_order = e->by_counters && e->scopes[scope].by_counters && n > 1;
    size_t all = 0;
    for (int i = 0; i < n; ++i) all += r[i].bytes;
    if (DTP_ZONE_GAP || (any_order && all <= SMALL_ALLOCATION * (size_t)n)) {
        /* What happens before what costs more memory than it can save. */
        total = place_apart(r, n);
    } else {
        if (any_order && !order->l) DTP_TRY(dtp_order_init(order, orderings, l, from));
        order->worth = all;
        if (any_order) DTP_TRY(dtp_order_scope(order, scope));
        DTP_TRY(dtp_place_allocations(l->ir->arena, any_order ? order : NULL, r, n, &total));
    }
    for (int i = 0; i < n; ++i) {
        if (r[i].buf < l->nbufs) l->bufs[r[i].buf].offset = (int64_t)(head + r[i].at + DTP_ZONE_GAP);
        else e->scopes[r[i].buf - l->nbufs].ring = (int64_t)(head + r[i].at);
    }
    e->scopes[scope].bytes = dtp_round_up_size(head + total, DTP_NO_SHARE);
    if (scope) return dnnl_tp_success;
    e->placed_bytes = total;
    e->sum_bytes = all;
    return measure_least(e, l, r, n);
}

static dnnl_tp_status_t plan_scopes(dtp_exec_t *e, dtp_lower_t *l, const dtp_orderings_t *orderings) {
    dtp_arena_t *arena = l->ir->arena;
    size_t allocations = (size_t)l->nscopes;
    for (int b = 0; b < l->nbufs; ++b)
        allocations += l->bufs[b].kind == DTP_BUF_INSTANCE && l->bufs[b].bytes > 0;
    dtp_allocation_t *r = dtp_arena_take(arena, sizeof *r * allocations);
    int *heir = dtp_arena_take(arena, sizeof *heir * (size_t)(l->nbufs + 1));
    int *from = dtp_arena_take(arena, sizeof *from * (size_t)(l->nbufs + 1));
    dtp_order_t order;
    if (!r || !heir || !from) return dnnl_tp_out_of_memory;
    for (int b = 0; b < l->nbufs; ++b) heir[b] = from[b] = -1;
    for (int b = 0; b < l->nbufs && !DTP_ZONE_GAP; ++b) {
        const dtp_buf_t *buf = &l->bufs[b];
        if (buf->kind != DTP_BUF_INSTANCE || buf->first < 0 || buf->slice_group < 0) continue;
        const dtp_slice_group_t *group = &e->slice_groups[buf->slice_group];
        if (buf->last >= group->first_step + group->nsteps) continue;
        from[b] = predecessor(l, heir, b);
        if (from[b] >= 0) heir[from[b]] = b;
    }
    order.l = NULL; /* made when a scope needs it */
    for (int s = l->nscopes - 1; s >= 0; --s) DTP_TRY(plan_scope(e, l, orderings, s, from, &order, r));
    for (int b = 0; b < l->nbufs; ++b)
        if (from[b] >= 0)
            l->bufs[b].offset = l->bufs[from[b]].offset; /* earlier in the order, so already final */
    e->memory_bytes = e->scopes[0].bytes;
    dtp_arena_drop(arena, r, sizeof *r * allocations);
    return dnnl_tp_success;
}

/* ---- Local buffers ----------------------------------------------------------------------------------- */

/* r: room for an allocation of each buffer. */
static dnnl_tp_status_t plan_local(dtp_exec_t *e, dtp_lower_t *l, dtp_slice_group_t *group, int index,
                                   dtp_allocation_t *r) {
    const bool packed = group->seqs > 0, apart = DTP_ZONE_GAP && !packed;
    /* Apart: behind what other groups and sections have. */
    size_t most = 0, from = apart ? e->slot_bytes : 0;
    for (int g = 0; g < group->nsections; ++g) {
        int n = 0;
        for (int b = 0; b < l->nbufs; ++b) {
            const dtp_buf_t *buf = &l->bufs[b];
            if (buf->kind != DTP_BUF_LOCAL || buf->slice_group != index || buf->first < group->sections[g] ||
                buf->first >= group->sections[g + 1])
                continue;
            dtp_allocation_t *x = &r[n++];
            x->buf = b;
            x->first = buf->first;
            x->last = buf->last;
            x->bytes = packed ? dtp_round_up_size((size_t)buf->unit_bytes, DTP_CACHE_LINE)
                              : padded((size_t)(buf->unit_bytes * group->capacity) + 2 * DTP_ZONE_GAP);
        }
        size_t total;
        if (apart) total = place_apart(r, n);
        else DTP_TRY(dtp_place_allocations(l->ir->arena, NULL, r, n, &total));
        if (from + total > most) most = from + total;
        for (int i = 0; i < n; ++i)
            l->bufs[r[i].buf].offset = (int64_t)(from + r[i].at + (apart ? DTP_ZONE_GAP : 0));
        if (apart) from += total;
    }
    size_t slot = packed ? most * (size_t)group->capacity : most;
    slot = dtp_round_up_size(slot, DTP_NO_SHARE);
    if (slot > e->slot_bytes) e->slot_bytes = slot;
    size_t whole = packed ? most * (size_t)(group->units | 1) : 0; /* all rows as one slice */
    if (whole > e->local_total) e->local_total = whole;
    return dnnl_tp_success;
}

/* ---- The whole --------------------------------------------------------------------------------------- */

/* Scratch: whole steps use one region of their size; participants of slices have one each. */
static void measure_scratch(const dtp_exec_t *e, const dtp_lower_t *l, size_t *whole, size_t *slot) {
    *whole = *slot = 0;
    for (int i = 0; i < l->nsteps && l->nproblems; ++i)
        for (int k = 0; k < 2; ++k) {
            const dtp_primitive_t *p = l->steps[i]->work->prim[k];
            if (!p) continue;
            size_t all = dtp_pd_scratch_size(p->pd), one = p->pd->scratch_shared + p->pd->scratch_per_slot;
            if (all > *whole) *whole = all;
            if ((l->steps[i]->slice_group >= 0 || e->by_counters) && one > *slot) *slot = one;
        }
    *whole = dtp_round_up_size(*whole, DTP_NO_SHARE);
    *slot = dtp_round_up_size(*slot, DTP_NO_SHARE);
}

dnnl_tp_status_t dtp_plan(dtp_exec_t *e, dtp_lower_t *l, const dtp_orderings_t *orderings,
                          size_t memory_budget) {
    DTP_TRY(plan_scopes(e, l, orderings));
    dtp_allocation_t *r =
        e->nslice_groups ? dtp_arena_take(l->ir->arena, sizeof *r * (size_t)(l->nbufs + 1)) : NULL;
    if (e->nslice_groups && !r) return dnnl_tp_out_of_memory;
    for (int i = 0; i < e->nslice_groups; ++i)
        DTP_TRY(plan_local(e, l, (dtp_slice_group_t *)(uintptr_t)&e->slice_groups[i], i, r));
    DTP_TRY(dtp_emit_tables(e, l));
    DTP_ZONES(plan(e, l));
    for (int i = 0; i < e->nslice_groups; ++i)
        if (e->slice_groups[i].nslices > e->max_slices) e->max_slices = e->slice_groups[i].nslices;
    size_t whole, slot;
    measure_scratch(e, l, &whole, &slot);
    if (e->by_stream) whole = slot = 0; /* the stream's */
    size_t slots = e->nslice_groups ? (size_t)e->num_threads : 0, alone = e->local_total;
    if (e->slot_bytes * slots > e->local_total) e->local_total = e->slot_bytes * slots;
    e->slot_scratch_bytes = slot;
    e->scratch_at = dtp_round_up_size(e->memory_bytes, DTP_NO_SHARE);
    e->slots_at = e->scratch_at + whole;
    e->slot_scratch_at = e->slots_at + dtp_round_up_size(e->local_total, DTP_NO_SHARE);
    e->memory_bytes = e->slot_scratch_at + slot * slots;
    if (e->by_counters) {
        e->dataflow_at = e->memory_bytes;
        e->dataflow_local_at = slot;
        if (e->slot_bytes > alone) alone = e->slot_bytes;
        e->dataflow_bounds_at = e->dataflow_local_at + dtp_round_up_size(alone, DTP_NO_SHARE);
        size_t bounds = e->nslice_groups ? sizeof(int64_t) * 2 * (size_t)(e->max_slices + 1) : 0;
        e->dataflow_slot_bytes = e->dataflow_bounds_at + dtp_round_up_size(bounds, DTP_NO_SHARE);
        e->memory_bytes += e->dataflow_slot_bytes * (size_t)e->num_threads;
    }
    if (memory_budget && e->memory_bytes > memory_budget)
        return dtp_fail(dnnl_tp_out_of_memory, DTP_GRAPH_BUDGET, "a run needs %zu bytes, the budget is %zu",
                        e->memory_bytes, memory_budget);
    return dnnl_tp_success;
}
