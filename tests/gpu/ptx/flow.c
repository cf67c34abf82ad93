/* Branches, exits and barriers. */
#include <string.h>
#include "internal.h"

/* Puts lanes at an instruction; groups stay sorted by falling pc, lanes at one pc are one group. */
static void add_group(warp_t *w, uint32_t pc, uint32_t mask) {
    uint32_t i = w->num_groups;
    if (!mask) return;
    while (i > 0 && w->groups[i - 1].pc < pc) --i;
    if (i > 0 && w->groups[i - 1].pc == pc) {
        w->groups[i - 1].mask |= mask;
        return;
    }
    memmove(w->groups + i + 1, w->groups + i, (w->num_groups - i) * sizeof *w->groups);
    w->groups[i] = (group_t){pc, mask};
    ++w->num_groups;
}

/* The running group is the last one and its pc is already past the instruction. */
bool ptx_exec_bra(warp_t *w, const insn_t *in, uint32_t mask) {
    group_t g = w->groups[--w->num_groups];
    add_group(w, g.pc, g.mask & ~mask);
    add_group(w, in->target, mask);
    return true;
}

bool ptx_exec_brx(warp_t *w, const insn_t *in, uint32_t mask) {
    const ptx_kernel_t *k = w->run->kernel;
    uint64_t index[LANES];
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_wide(w, in, 0, index);
    for (int i = 0; i < LANES; ++i)
        if (mask >> i & 1 && index[i] >= k->targets[in->target])
            return ptx_trap(w, in, i, "branch number %llu of %u", (unsigned long long)index[i],
                            k->targets[in->target]);
    group_t g = w->groups[--w->num_groups];
    add_group(w, g.pc, g.mask & ~mask);
    for (int i = 0; i < LANES; ++i)
        if (mask >> i & 1) add_group(w, k->targets[in->target + 1 + index[i]], UINT32_C(1) << i);
    return true;
}

bool ptx_exec_ret(warp_t *w, const insn_t *in, uint32_t mask) {
    (void)in;
    w->live &= ~mask;
    group_t *g = &w->groups[w->num_groups - 1];
    g->mask &= ~mask;
    if (!g->mask) --w->num_groups;
    return true;
}

bool ptx_exec_trap(warp_t *w, const insn_t *in, uint32_t mask) {
    int lane = lowest_lane(mask);
    return ptx_trap(w, in, lane, "trap");
}

/* One number that all lanes agree on. */
static bool same_in_all(warp_t *w, const insn_t *in, int src, uint32_t mask, uint32_t *value) {
    const lanes_t *a = ptx_source(w, in, src);
    int first = lowest_lane(mask);
    *value = a->u32[first];
    for (int i = first; i < LANES; ++i)
        if (mask >> i & 1 && a->u32[i] != *value)
            return ptx_trap(w, in, i, "the lanes of a warp name different barriers");
    return true;
}

bool ptx_exec_bar(warp_t *w, const insn_t *in, uint32_t mask) {
    run_t *r = w->run;
    uint32_t id, threads = 0;
    if (!ptx_sources_set(w, in, mask)) return false;
    if (mask != w->live)
        return ptx_trap(w, in, -1, "divergent barrier: lanes %08x of %08x are there", mask, w->live);
    if (!same_in_all(w, in, 0, mask, &id) || (in->n_src > 1 && !same_in_all(w, in, 1, mask, &threads)))
        return false;
    if (id >= MAX_BARRIERS) return ptx_trap(w, in, -1, "barrier %u", id);
    if (threads % LANES) return ptx_trap(w, in, -1, "a barrier of %u threads", threads);
    barrier_t *b = &r->barriers[id];
    if (b->arrived && b->needed != threads)
        return ptx_trap(w, in, -1, "barrier %u of %u threads, others expect %u", id, threads, b->needed);
    b->needed = threads;
    /* Whole warps count, also the last one of a block. */
    b->arrived += threads ? LANES : count_lanes(mask);
    if (!in->op) w->waits = (int)id;
    return true;
}

bool ptx_exec_bar_warp(warp_t *w, const insn_t *in, uint32_t mask) {
    if (!ptx_sources_set(w, in, mask)) return false;
    const lanes_t *a = ptx_source(w, in, 0);
    for (int i = 0; i < LANES; ++i) {
        if (!(mask >> i & 1)) continue;
        if (!(a->u32[i] >> i & 1))
            return ptx_trap(w, in, i, "the mask %08x leaves out the lane itself", a->u32[i]);
        if (a->u32[i] & w->live & ~mask)
            return ptx_trap(w, in, i, "the mask %08x names lanes that are elsewhere (%08x are here)",
                            a->u32[i], mask);
    }
    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        int first = lowest_lane(rest);
        same = 0;
        for (int i = first; i < LANES; ++i) same |= (uint32_t)(a->u32[i] == a->u32[first]) << i;
        ptx_order_lanes(w, a->u32[first]);
    }
    return true;
}
