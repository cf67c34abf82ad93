/* Addresses, bounds, loads and stores. */
#include <stdlib.h>
#include <string.h>
#include "internal.h"

static const char *const space_names[] = {"generic", "global", "const", "shared", "local", "param"};

static size_t region_count(const run_t *r) { return r->launch->num_regions + 1; }

static const ptx_region_t *region_at(const run_t *r, size_t i) {
    return i < r->launch->num_regions ? &r->launch->regions[i] : &r->module_region;
}

static bool inside(const ptx_region_t *g, uint64_t first, uint64_t end) {
    return first >= g->address && end - g->address <= g->bytes && end >= first;
}

/* The region of [first, end), or -1. */
static int64_t find_region(const run_t *r, uint64_t first, uint64_t end) {
    size_t low = 0, high = region_count(r);
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (region_at(r, mid)->address <= first) low = mid;
        else high = mid;
    }
    return inside(region_at(r, low), first, end) ? (int64_t)low : -1;
}

static bool outside(warp_t *w, const insn_t *in, int lane, space_t space, uint64_t at, uint32_t bytes) {
    const run_t *r = w->run;
    unsigned long long a = at;
    if (space == SPACE_SHARED || space == SPACE_LOCAL || space == SPACE_PARAM) {
        uint64_t limit = space == SPACE_SHARED  ? r->shared_bytes
                         : space == SPACE_LOCAL ? r->kernel->local_bytes
                                                : r->kernel->params_bytes;
        return ptx_trap(w, in, lane, "%u bytes at %llu are outside of %s memory, which has %llu bytes", bytes,
                        a, space_names[space], (unsigned long long)limit);
    }
    const ptx_region_t *nearest = NULL;
    uint64_t distance = UINT64_MAX;
    for (size_t i = 0; i < r->launch->num_regions; ++i) {
        const ptx_region_t *g = region_at(r, i);
        uint64_t d = at < g->address                      ? g->address - at
                     : at + bytes > g->address + g->bytes ? at + bytes - (g->address + g->bytes)
                                                          : 0;
        if (d >= distance) continue;
        distance = d;
        nearest = g;
    }
    if (!nearest)
        return ptx_trap(w, in, lane, "%u bytes at 0x%llx are outside: there is no memory", bytes, a);
    return ptx_trap(w, in, lane,
                    "%u bytes at 0x%llx are outside, %llu bytes %s the region of %llu bytes at 0x%llx", bytes,
                    a, (unsigned long long)distance, at < nearest->address ? "before" : "after the end of",
                    (unsigned long long)nearest->bytes, (unsigned long long)nearest->address);
}

static shadow_t *shadow_of(run_t *r, size_t i) {
    if (!r->shadows[i]) r->shadows[i] = calloc(region_at(r, i)->bytes / 4 + 2, sizeof(shadow_t));
    return r->shadows[i];
}

static space_t space_at(uint64_t at) {
    if (at < PTX_SHARED_WINDOW || at >= PTX_MODULE_WINDOW) return SPACE_GLOBAL;
    return at < PTX_LOCAL_WINDOW ? SPACE_SHARED : at < PTX_PARAM_WINDOW ? SPACE_LOCAL : SPACE_PARAM;
}

/* Addresses where lanes outside of the mask have that of its lowest lane. */
static void spread(uint32_t mask, const uint64_t at[LANES], uint64_t all[LANES]) {
    uint64_t first = at[lowest_lane(mask)];
    for (int i = 0; i < LANES; ++i) all[i] = mask >> i & 1 ? at[i] : first;
}

/* The lanes' lowest and highest address and all their bits. */
static void extent(uint32_t mask, const uint64_t at[LANES], uint64_t *min, uint64_t *max, uint64_t *bits) {
    uint64_t a, b, c, all[LANES];
    a = b = c = at[lowest_lane(mask)];
    if (mask & (mask - 1)) {
        spread(mask, at, all);
        for (int i = 0; i < LANES; ++i) {
            a = all[i] < a ? all[i] : a;
            b = all[i] > b ? all[i] : b;
            c |= all[i];
        }
    }
    *min = a, *max = b, *bits = c;
}

static void view_small(warp_t *w, space_t space, view_t *v, uint64_t base) {
    run_t *r = w->run;
    *v = (view_t){.base = base};
    if (space == SPACE_SHARED) {
        v->host = r->shared, v->state = r->shared_state, v->shadow = r->shared_shadow;
        v->shared = true;
    } else if (space == SPACE_LOCAL) {
        v->host = w->local;
        v->lane_stride = r->kernel->local_bytes;
    } else {
        union {
            const void *from;
            unsigned char *to;
        } params = {.from = r->launch->params};
        v->host = params.to;
        v->constant = true;
    }
}

int ptx_view(warp_t *w, const insn_t *in, space_t space, uint32_t mask, const uint64_t at[LANES],
             uint32_t bytes, view_t *v) {
    run_t *r = w->run;
    uint64_t min, max, bits;
    int lane = lowest_lane(mask);
    bool one = (mask & (mask - 1)) == 0;
    extent(mask, at, &min, &max, &bits);
    if (bits & (bytes - 1)) {
        for (lane = 0; !(mask >> lane & 1) || !(at[lane] & (bytes - 1));) ++lane;
        return ptx_trap(w, in, lane, "misaligned: %u bytes at 0x%llx", bytes, (unsigned long long)at[lane]);
    }
    uint64_t base = 0;
    if (space == SPACE_GENERIC) {
        space = space_at(min);
        if (space_at(max) != space) return 2;
        base = space == SPACE_SHARED  ? PTX_SHARED_WINDOW
               : space == SPACE_LOCAL ? PTX_LOCAL_WINDOW
               : space == SPACE_PARAM ? PTX_PARAM_WINDOW
                                      : 0;
    }
    if (space == SPACE_SHARED || space == SPACE_LOCAL || space == SPACE_PARAM) {
        uint64_t limit = space == SPACE_SHARED  ? r->shared_bytes
                         : space == SPACE_LOCAL ? r->kernel->local_bytes
                                                : r->kernel->params_bytes;
        if (max - base + bytes > limit || max - base + bytes < bytes)
            return one ? outside(w, in, lane, space, min - base, bytes) : 2;
        view_small(w, space, v, base);
        return 1;
    }
    uint32_t *cache = &r->cache[in - r->kernel->code];
    int64_t i = *cache;
    if (!inside(region_at(r, (size_t)i), min, max + bytes)) i = find_region(r, min, max + bytes);
    if (i < 0) return one ? outside(w, in, lane, space, min, bytes) : 2;
    *cache = (uint32_t)i;
    const ptx_region_t *g = region_at(r, (size_t)i);
    *v = (view_t){.host = g->host, .state = g->set, .base = g->address, .constant = space == SPACE_CONST};
    if (space == SPACE_GLOBAL && !(v->shadow = shadow_of(r, (size_t)i)))
        return ptx_trap(w, in, lane, "out of memory");
    return 1;
}

enum { EACH_BYTE = 0x01010101 };

/* Checks and sets the states of 1, 2 or 4 bytes; false: they want a closer look. */
static inline bool states_quickly(unsigned char *state, bool shared, uint32_t bytes, access_t access) {
    uint32_t s = 0, each = EACH_BYTE >> (32 - 8 * bytes), high = each * PTX_WAS_READ;
    memcpy(&s, state, bytes);
    if (access == ACCESS_READ) {
        if (shared) return s == each * STATE_SET;
        if ((s - each) & ~s & high) return false; /* a byte is 0 */
        s |= high;
    } else {
        if (shared && s & each * STATE_PENDING) return false;
        s = each * STATE_SET;
    }
    memcpy(state, &s, bytes);
    return true;
}

static bool states(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset, uint32_t bytes,
                   access_t access) {
    unsigned char *state = v->state + offset;
    bool ok = bytes % 4 == 0;
    for (uint32_t i = 0; ok && i < bytes; i += 4) ok = states_quickly(state + i, v->shared, 4, access);
    if (ok) return true;
    if (access != ACCESS_READ) {
        for (uint32_t i = 0; i < bytes && v->shared; ++i)
            if (state[i] == STATE_PENDING)
                return ptx_trap(w, in, lane,
                                "writes shared memory at %llu, where an asynchronous copy is under way",
                                (unsigned long long)(offset + i));
        memset(state, STATE_SET, bytes);
        return true;
    }
    for (uint32_t i = 0; i < bytes; ++i) {
        if (state[i] && !v->shared) state[i] |= PTX_WAS_READ;
        if (state[i] && (state[i] != STATE_PENDING || !v->shared)) continue;
        unsigned long long at = v->shared ? offset + i : v->base + offset + i;
        if (state[i])
            return ptx_trap(w, in, lane,
                            "reads shared memory at %llu before the wait for its asynchronous copy", at);
        return ptx_trap(w, in, lane, "reads %s memory at 0x%llx that was never written",
                        v->shared ? "shared" : "global", at);
    }
    return true;
}

/* The lanes whose bytes want a closer look. */
static uint32_t states_of_lanes(const view_t *v, uint32_t mask, const uint64_t offset[LANES], uint32_t bytes,
                                access_t access) {
    uint32_t left = 0;
    for (; mask; mask &= mask - 1) {
        int lane = lowest_lane(mask);
        unsigned char *state = v->state + offset[lane];
        bool ok = true;
        if (bytes == 1) ok = states_quickly(state, v->shared, 1, access);
        else if (bytes == 2) ok = states_quickly(state, v->shared, 2, access);
        else
            for (uint32_t k = 0; k < bytes; k += 4) ok &= states_quickly(state + k, v->shared, 4, access);
        left |= (uint32_t)!ok << lane;
    }
    return left;
}

uint32_t ptx_access_lanes(const warp_t *w, const view_t *v, uint32_t mask, const uint64_t at[LANES],
                          uint32_t bytes, access_t access) {
    uint64_t offset[LANES], differ = 0;
    int first = lowest_lane(mask);
    if (!v->state && !v->shadow) return 0;
    spread(mask, at, offset);
    for (int i = 0; i < LANES; ++i) {
        differ |= offset[i] ^ offset[first];
        offset[i] -= v->base;
    }
    uint32_t all = mask;
    if (!differ && access == ACCESS_READ) mask = UINT32_C(1) << first;
    uint32_t left = v->state ? states_of_lanes(v, mask, offset, bytes, access) : 0;
    if (v->shadow && v->base % 4) left = mask;
    else if (v->shadow && left != mask)
        left |= ptx_note_lanes(w, v, mask & ~left, offset, bytes, access, v->together || mask != all);
    return mask != all && left ? all : left;
}

unsigned char *ptx_access(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t at, uint32_t bytes,
                          access_t access, const unsigned char *value) {
    uint64_t offset = at - v->base;
    if (v->state && !states(w, in, v, lane, offset, bytes, access)) return NULL;
    if (v->shadow && !ptx_note(w, in, v, lane, offset, bytes, access, value)) return NULL;
    return v->host + offset + (uint64_t)lane * v->lane_stride;
}

void ptx_addresses(const warp_t *w, const insn_t *in, int src, int64_t offset, uint64_t at[LANES]) {
    const lanes_t *a = ptx_source(w, in, src);
    if (in->width[in->n_dst + src] == 8) {
        for (int i = 0; i < LANES; ++i) at[i] = a->u64[i] + (uint64_t)offset;
    } else {
        for (int i = 0; i < LANES; ++i) at[i] = (uint32_t)(a->u32[i] + (uint32_t)offset);
    }
}

static uint64_t read_value(const unsigned char *p, type_t type) {
    uint8_t b;
    uint16_t h;
    uint32_t u;
    uint64_t d;
    switch (type) {
    case T_B8:
    case T_U8:
    case T_S8: memcpy(&b, p, sizeof b); return type == T_S8 ? (uint64_t)(int64_t)(int8_t)b : b;
    case T_B16:
    case T_U16:
    case T_S16:
    case T_F16:
    case T_BF16: memcpy(&h, p, sizeof h); return type == T_S16 ? (uint64_t)(int64_t)(int16_t)h : h;
    case T_B64:
    case T_U64:
    case T_S64:
    case T_F64: memcpy(&d, p, sizeof d); return d;
    default: memcpy(&u, p, sizeof u); return type == T_S32 ? (uint64_t)(int64_t)(int32_t)u : u;
    }
}

static uint32_t type_bytes(type_t type) {
    return type <= T_S8 ? 1 : type <= T_BF16 ? 2 : type <= T_TF32 ? 4 : 8;
}

/* What the lanes' registers of a load become: lane i's bytes are at from[i]. */
static void read_lanes(const unsigned char *const from[LANES], type_t type, uint8_t width, lanes_t *value) {
    uint32_t each = type_bytes(type);
    if (each == 4 && width == 4) {
        for (int i = 0; i < LANES; ++i) memcpy(&value->u32[i], from[i], 4);
    } else if (each == 8 && width == 8) {
        for (int i = 0; i < LANES; ++i) memcpy(&value->u64[i], from[i], 8);
    } else {
        for (int i = 0; i < LANES; ++i) {
            uint64_t x = read_value(from[i], type);
            if (width == 8) value->u64[i] = x;
            else value->u32[i] = width == 2 ? (uint16_t)x : (uint32_t)x;
        }
    }
}

static bool load(warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES]) {
    type_t type = (type_t)in->type;
    uint32_t each = type_bytes(type), bytes = each * in->vec;
    view_t v;
    uint64_t all[LANES];
    const unsigned char *from[LANES];
    int found = ptx_view(w, in, (space_t)in->space, mask, at, bytes, &v);
    if (found == 0) return false;
    if (found == 2) {
        for (int i = 0; i < LANES; ++i)
            if (mask >> i & 1 && !load(w, in, UINT32_C(1) << i, at)) return false;
        return true;
    }
    if (in->relaxed) v.shadow = NULL;
    for (uint32_t left = ptx_access_lanes(w, &v, mask, at, bytes, ACCESS_READ); left; left &= left - 1) {
        int i = lowest_lane(left);
        if (!ptx_access(w, in, &v, i, at[i], bytes, ACCESS_READ, NULL)) return false;
    }
    spread(mask, at, all);
    for (int i = 0; i < LANES; ++i) from[i] = v.host + (all[i] - v.base) + (uint64_t)i * v.lane_stride;
    for (int k = 0; k < in->vec; ++k) {
        lanes_t value;
        if (in->width[k]) read_lanes(from, type, in->width[k], &value);
        ptx_store(w, in, k, &value, mask);
        for (int i = 0; i < LANES; ++i) from[i] += each;
    }
    return true;
}

bool ptx_exec_ld(warp_t *w, const insn_t *in, uint32_t mask) {
    uint64_t at[LANES];
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_addresses(w, in, 0, in->offset, at);
    if (ptx_counts(w)) ptx_count(w, in, mask, at, type_bytes((type_t)in->type) * in->vec, ACCESS_READ);
    return load(w, in, mask, at);
}

static bool store(warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES]) {
    uint32_t each = type_bytes((type_t)in->type), bytes = each * in->vec;
    view_t v;
    unsigned char value[64];
    int found = ptx_view(w, in, (space_t)in->space, mask, at, bytes, &v);
    if (found == 0) return false;
    if (found == 1 && v.constant) return ptx_trap(w, in, -1, "a store to constant memory");
    if (found == 2) {
        for (int i = 0; i < LANES; ++i)
            if (mask >> i & 1 && !store(w, in, UINT32_C(1) << i, at)) return false;
        return true;
    }
    access_t access = in->relaxed ? ACCESS_ATOMIC : ACCESS_WRITE;
    uint32_t left = ptx_access_lanes(w, &v, mask, at, bytes, access);
    if (left) left = mask; /* lanes that store to the same bytes are compared in their order */
    for (; mask; mask &= mask - 1) {
        int i = lowest_lane(mask);
        for (int k = 0; k < in->vec; ++k) {
            const lanes_t *a = ptx_source(w, in, k + 1);
            const void *from = in->width[k + 1] == 8 ? (const void *)&a->u64[i] : (const void *)&a->u32[i];
            memcpy(value + (uint32_t)k * each, from, each);
        }
        if (left >> i & 1 && !ptx_access(w, in, &v, i, at[i], bytes, access, value)) return false;
        memcpy(v.host + (at[i] - v.base) + (uint64_t)i * v.lane_stride, value, bytes);
    }
    return true;
}

bool ptx_exec_st(warp_t *w, const insn_t *in, uint32_t mask) {
    uint64_t at[LANES];
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_addresses(w, in, 0, in->offset, at);
    if (ptx_counts(w)) ptx_count(w, in, mask, at, type_bytes((type_t)in->type) * in->vec, ACCESS_WRITE);
    return store(w, in, mask, at);
}

bool ptx_exec_isspacep(warp_t *w, const insn_t *in, uint32_t mask) {
    lanes_t r = {.u32 = {0}};
    uint64_t at[LANES];
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_wide(w, in, 0, at);
    for (int i = 0; i < LANES; ++i) {
        space_t found = space_at(at[i]);
        r.u32[0] |= (uint32_t)(in->space == (uint8_t)found) << i;
    }
    ptx_store(w, in, 0, &r, mask);
    return true;
}
