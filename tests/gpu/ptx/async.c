/* cp.async: bytes are taken at once but arrive in shared memory only when their thread waits for them. They are then that
 * thread's: other lanes of its warp, too, read them behind a barrier only. */
#include <stdlib.h>
#include <string.h>
#include "internal.h"

static bool read_source(warp_t *w, const insn_t *in, int lane, const uint64_t at[LANES], uint32_t bytes,
                        unsigned char *to) {
    view_t v;
    uint32_t align = in->vec;
    if (at[lane] & (align - 1))
        return ptx_trap(w, in, lane, "misaligned: %u bytes from 0x%llx", align, (unsigned long long)at[lane]);
    if (!bytes) return true;
    /* Fewer bytes than the copy's size need not be a power of two. */
    uint64_t one[LANES];
    for (uint32_t i = 0; i < bytes; i += 4) {
        uint32_t part = bytes - i < 4 ? bytes - i : 4;
        for (uint32_t k = 0; k < part; k += part == 4 ? 4 : 1) {
            uint32_t n = part == 4 ? 4 : 1;
            one[lane] = at[lane] + i + k;
            if (!ptx_view(w, in, SPACE_GLOBAL, UINT32_C(1) << lane, one, n, &v)) return false;
            const unsigned char *p = ptx_access(w, in, &v, lane, one[lane], n, ACCESS_READ, NULL);
            if (!p) return false;
            memcpy(to + i + k, p, n);
        }
    }
    return true;
}

/* Reads the lanes that copy all bytes, if nothing speaks against it at first sight; which ones that were. */
static uint32_t read_whole(warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES],
                           const uint64_t size[LANES], view_t *v) {
    uint32_t whole = 0;
    for (int i = 0; i < LANES; ++i) whole |= (uint32_t)(size[i] == in->vec && at[i] % in->vec == 0) << i;
    whole &= mask;
    if (!whole || ptx_view(w, in, SPACE_GLOBAL, whole, at, in->vec, v) != 1) return 0;
    return whole & ~ptx_access_lanes(w, v, whole, at, in->vec, ACCESS_READ);
}

static copy_t *new_copy(warp_t *w) {
    if (w->num_copies == w->max_copies) {
        w->max_copies = w->max_copies ? 2 * w->max_copies : 256;
        copy_t *grown = realloc(w->copies, w->max_copies * sizeof *grown);
        if (!grown) abort();
        w->copies = grown;
    }
    return &w->copies[w->num_copies++];
}

bool ptx_exec_copy(warp_t *w, const insn_t *in, uint32_t mask) {
    run_t *r = w->run;
    uint64_t to[LANES], from[LANES], size[LANES];
    view_t v, global;
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_addresses(w, in, 0, in->offset, to);
    ptx_addresses(w, in, 1, in->offset2, from);
    for (int i = 0; i < LANES; ++i) size[i] = in->vec;
    if (in->n_src > 2 && in->op2) {
        uint32_t p = ptx_source(w, in, 2)->u32[0] ^ (in->invert ? ALL_LANES : 0);
        for (int i = 0; i < LANES; ++i) size[i] = p >> i & 1 ? 0 : in->vec;
    } else if (in->n_src > 2) {
        ptx_wide(w, in, 2, size);
    }
    if (ptx_counts(w)) ptx_count_copy(w, in, mask, to, from, size);
    uint32_t read = read_whole(w, in, mask, from, size, &global);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = lowest_lane(rest);
        if (size[i] > in->vec)
            return ptx_trap(w, in, i, "reads %llu of %u bytes", (unsigned long long)size[i], in->vec);
        if (!ptx_view(w, in, SPACE_SHARED, UINT32_C(1) << i, to, in->vec, &v)) return false;
        copy_t *c = new_copy(w);
        *c = (copy_t){.lane = (uint32_t)i, .group = w->committed[i], .at = (uint32_t)to[i], .bytes = in->vec};
        if (read >> i & 1) memcpy(c->data, global.host + (from[i] - global.base), in->vec);
        else if (!read_source(w, in, i, from, (uint32_t)size[i], c->data)) return false;
        if (!ptx_access(w, in, &v, i, to[i], in->vec, ACCESS_WRITE, NULL)) return false;
        memset(r->shared_state + to[i], STATE_PENDING, in->vec);
    }
    return true;
}

bool ptx_exec_commit(warp_t *w, const insn_t *in, uint32_t mask) {
    (void)in;
    for (int i = 0; i < LANES; ++i) w->committed[i] += mask >> i & 1;
    return true;
}

/* Copies of the lanes in mask arrive, of groups before lane's `committed` - left. */
static bool arrive(warp_t *w, const insn_t *in, uint32_t mask, uint32_t left, bool all) {
    run_t *r = w->run;
    uint32_t kept = 0;
    const view_t v = {.host = r->shared, .shadow = r->shared_shadow, .shared = true};
    for (uint32_t i = 0; i < w->num_copies; ++i) {
        const copy_t *c = &w->copies[i];
        bool done = mask >> c->lane & 1 && (all || c->group + left < w->committed[c->lane]);
        if (!done) {
            w->copies[kept++] = *c;
            continue;
        }
        if (!ptx_access(w, in, &v, (int)c->lane, c->at, c->bytes, ACCESS_WRITE, c->data)) return false;
        memcpy(r->shared + c->at, c->data, c->bytes);
        memset(r->shared_state + c->at, STATE_SET, c->bytes);
    }
    w->num_copies = kept;
    return true;
}

bool ptx_exec_wait(warp_t *w, const insn_t *in, uint32_t mask) {
    int lane = lowest_lane(mask);
    return arrive(w, in, mask, ptx_source(w, in, 0)->u32[lane], false);
}

bool ptx_exec_wait_all(warp_t *w, const insn_t *in, uint32_t mask) { return arrive(w, in, mask, 0, true); }
