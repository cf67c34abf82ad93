/* Instructions between the lanes of a warp: shfl, vote, match, redux. */
#include "internal.h"

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

/* The mask operand must be the same in all lanes, name them, and name no lane that is elsewhere or has ended. */
static bool members(warp_t *w, const insn_t *in, int src, uint32_t mask, uint32_t *value) {
    const lanes_t *a = ptx_source(w, in, src);
    int first = lowest_lane(mask);
    if (!ptx_sources_set(w, in, mask)) return false;
    *value = a->u32[first];
    for (int i = first; i < LANES; ++i) {
        if (!(mask >> i & 1)) continue;
        if (a->u32[i] != *value)
            return ptx_trap(w, in, i, "the lanes have different masks, %08x and %08x", *value, a->u32[i]);
        if (!(*value >> i & 1)) return ptx_trap(w, in, i, "the mask %08x leaves out the lane itself", *value);
    }
    if (*value & ~mask)
        return ptx_trap(w, in, first, "the mask %08x names lanes that are not there (%08x are)", *value,
                        mask);
    return true;
}

bool ptx_exec_shfl(warp_t *w, const insn_t *in, uint32_t mask) {
    const lanes_t *a = ptx_source(w, in, 0), *b = ptx_source(w, in, 1), *c = ptx_source(w, in, 2);
    uint32_t member;
    lanes_t d, p;
    if (!members(w, in, 3, mask, &member)) return false;
    p.u32[0] = 0;
    for (int i = 0; i < LANES; ++i) {
        if (!(mask >> i & 1)) continue;
        int segment = (int)(c->u32[i] >> 8 & 31), clamp = (int)(c->u32[i] & 31), n = (int)(b->u32[i] & 31);
        int max = (i & segment) | (clamp & ~segment), min = i & segment, j;
        bool ok;
        switch (in->op) {
        case SHFL_UP:
            j = i - n;
            ok = j >= max;
            break;
        case SHFL_DOWN:
            j = i + n;
            ok = j <= max;
            break;
        case SHFL_BFLY:
            j = i ^ n;
            ok = j <= max;
            break;
        default: j = min | (n & ~segment); ok = j <= max;
        }
        if (!ok) j = i;
        if (!(mask >> j & 1))
            return ptx_trap(w, in, i, "reads lane %d, which is not there (%08x are)", j, mask);
        d.u32[i] = a->u32[j];
        p.u32[0] |= (uint32_t)ok << i;
    }
    ptx_store(w, in, 0, &d, mask);
    if (in->n_dst > 1) ptx_store(w, in, 1, &p, mask);
    return true;
}

bool ptx_exec_vote(warp_t *w, const insn_t *in, uint32_t mask) {
    enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
    uint32_t member, p = ptx_source(w, in, 0)->u32[0];
    lanes_t d;
    if (!members(w, in, 1, mask, &member)) return false;
    p = (in->invert ? ~p : p) & member;
    if (in->op == VOTE_BALLOT) {
        for (int i = 0; i < LANES; ++i) d.u32[i] = p;
    } else {
        bool yes = in->op == VOTE_ALL ? p == member : in->op == VOTE_ANY ? p != 0 : p == member || p == 0;
        d.u32[0] = yes ? ALL_LANES : 0;
    }
    ptx_store(w, in, 0, &d, mask);
    return true;
}

bool ptx_exec_match(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t member;
    uint64_t a[LANES];
    lanes_t d, p;
    if (!members(w, in, 1, mask, &member)) return false;
    ptx_wide(w, in, 0, a);
    for (int i = 0; i < LANES; ++i) {
        uint32_t equal = 0;
        for (int j = 0; j < LANES; ++j) equal |= (uint32_t)(a[i] == a[j]) << j;
        d.u32[i] = equal & member;
        if (in->op && d.u32[i] != member) d.u32[i] = 0;
    }
    p.u32[0] = 0;
    for (int i = 0; i < LANES; ++i) p.u32[0] |= (uint32_t)(d.u32[i] == member) << i;
    ptx_store(w, in, 0, &d, mask);
    if (in->n_dst > 1) ptx_store(w, in, 1, &p, mask);
    return true;
}

static uint32_t reduce(int op, bool sign, uint32_t a, uint32_t b) {
    bool less = sign ? (int32_t)a < (int32_t)b : a < b;
    switch (op) {
    case 0: return a + b;
    case 1: return less ? a : b;
    case 2: return less ? b : a;
    case 3: return a & b;
    case 4: return a | b;
    default: return a ^ b;
    }
}

bool ptx_exec_redux(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t member, value = 0;
    const lanes_t *a = ptx_source(w, in, 0);
    bool first = true;
    lanes_t d;
    if (!members(w, in, 1, mask, &member)) return false;
    for (int i = 0; i < LANES; ++i) {
        if (!(member >> i & 1)) continue;
        value = first ? a->u32[i] : reduce(in->op, in->type == T_S32, value, a->u32[i]);
        first = false;
    }
    for (int i = 0; i < LANES; ++i) d.u32[i] = value;
    ptx_store(w, in, 0, &d, mask);
    return true;
}

bool ptx_exec_activemask(warp_t *w, const insn_t *in, uint32_t mask) {
    lanes_t d;
    for (int i = 0; i < LANES; ++i) d.u32[i] = mask;
    ptx_store(w, in, 0, &d, mask);
    return true;
}

/* elect.sync: the lowest lane. */
bool ptx_exec_elect(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t member;
    lanes_t d, p;
    if (!members(w, in, 0, mask, &member)) return false;
    int lane = lowest_lane(member);
    for (int i = 0; i < LANES; ++i) d.u32[i] = (uint32_t)lane;
    p.u32[0] = UINT32_C(1) << lane;
    ptx_store(w, in, 0, &d, mask);
    ptx_store(w, in, 1, &p, mask);
    return true;
}
