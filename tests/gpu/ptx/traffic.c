/* Counts what the warps of a launch ask of memory, request by request: sectors of global memory, wavefronts of shared memory.
 *
 * A request of shared memory goes in phases: all lanes, halves of a warp for 8 bytes a lane, quarters for 16 (ldmatrix: its matrices,
 * eight rows of 16 bytes each, which is the same). A phase takes as many wavefronts as the bank with the most words has words: one
 * word is read by any number of lanes at once. Atomic operations on one word go one by one.
 * Not counted: parameters, constants, caches, what a wavefront costs. What is there: ptx_traffic_t. */
#include <stdlib.h>
#include "internal.h"

enum { BANKS = 32, WORD = 4 };

bool ptx_count_begin(run_t *r) {
    r->touched = calloc(2 * r->launch->num_regions + 1, sizeof *r->touched);
    return r->touched != NULL;
}

/* The sectors of a region, from that of its first byte on. */
static size_t sectors_of(const ptx_region_t *g) {
    return (size_t)((g->address % PTX_SECTOR + g->bytes + PTX_SECTOR - 1) / PTX_SECTOR);
}

void ptx_count_end(run_t *r) {
    const uint32_t *grid = r->launch->grid;
    ptx_traffic_t *t = r->launch->traffic;
    for (size_t i = 0; i < 2 * r->launch->num_regions; ++i) {
        ptx_global_traffic_t *g = i % 2 ? &t->store : &t->load;
        const size_t n = r->touched[i] ? sectors_of(&r->launch->regions[i / 2]) : 0;
        for (size_t k = 0; k < n; ++k) {
            g->footprint += count_lanes(r->touched[i][k]);
            g->touched_sectors += r->touched[i][k] != 0;
        }
        free(r->touched[i]);
    }
    free(r->touched);
    r->touched = NULL;
    t->instructions += r->steps;
    t->warps += (int64_t)grid[0] * grid[1] * grid[2] * r->num_warps;
}

static ptx_line_traffic_t *line_of(const ptx_traffic_t *t, const insn_t *in) {
    return in->line < t->num_lines ? &t->lines[in->line] : NULL;
}

/* ---- Global memory ------------------------------------------------------------------------------------- */

/* The sector at this address is touched in these bytes. Memory of modules is in no region. */
static void touch(run_t *r, bool store, uint64_t sector, uint32_t bytes) {
    const ptx_launch_t *l = r->launch;
    const uint64_t at = sector * PTX_SECTOR + (uint32_t)__builtin_ctz(bytes);
    size_t low = 0, high = l->num_regions;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (l->regions[mid].address <= at) low = mid;
        else high = mid;
    }
    if (!high || at < l->regions[low].address || at - l->regions[low].address >= l->regions[low].bytes)
        return;
    uint32_t **touched = &r->touched[2 * low + store];
    if (!*touched) *touched = calloc(sectors_of(&l->regions[low]), sizeof **touched);
    if (!*touched) abort();
    (*touched)[sector - l->regions[low].address / PTX_SECTOR] |= bytes;
}

/* size: bytes of each lane, of which none crosses the end of a sector; 0: the lane asks for nothing. */
static void count_global(const warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES],
                         const uint64_t size[LANES], bool store) {
    ptx_traffic_t *t = w->run->launch->traffic;
    ptx_global_traffic_t *g = store ? &t->store : &t->load;
    ptx_line_traffic_t *line = line_of(t, in);
    uint64_t sector[LANES];
    uint32_t bytes[LANES], n = 0, lanes = 0, distinct = 0;
    for (; mask; mask &= mask - 1) {
        const int i = lowest_lane(mask);
        if (!size[i]) continue;
        const uint32_t all = (uint32_t)((UINT64_C(1) << size[i]) - 1) << at[i] % PTX_SECTOR;
        uint32_t k = n;
        while (k > 0 && sector[k - 1] != at[i] / PTX_SECTOR) --k;
        if (!k) {
            sector[n] = at[i] / PTX_SECTOR;
            bytes[n] = 0;
            k = ++n;
        }
        bytes[k - 1] |= all;
        g->asked += (int64_t)size[i];
        ++lanes;
    }
    if (!n) return;
    for (uint32_t k = 0; k < n; ++k) {
        distinct += count_lanes(bytes[k]);
        touch(w->run, store, sector[k], bytes[k]);
    }
    ++g->requests;
    g->lanes += lanes;
    g->sectors += n;
    g->distinct += distinct;
    if (!line) return;
    ++line->requests;
    line->lanes += lanes;
    line->sectors += n;
    line->distinct += distinct;
}

/* ---- Shared memory ------------------------------------------------------------------------------------- */

/* Of the lanes of one phase. one_by_one: lanes that want the same word wait for each other. */
static uint32_t wavefronts(uint32_t mask, const uint64_t at[LANES], uint32_t bytes, bool one_by_one) {
    uint64_t word[BANKS][LANES];
    uint32_t n[BANKS] = {0}, most = 1;
    for (; mask; mask &= mask - 1) {
        const int i = lowest_lane(mask);
        for (uint64_t k = at[i] / WORD; k <= (at[i] + bytes - 1) / WORD; ++k) {
            const uint32_t bank = (uint32_t)(k % BANKS);
            uint32_t e = one_by_one ? n[bank] : 0;
            while (e < n[bank] && word[bank][e] != k) ++e;
            if (e == n[bank]) word[bank][n[bank]++] = k;
            if (n[bank] > most) most = n[bank];
        }
    }
    return most;
}

static void count_shared(const warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES],
                         uint32_t bytes, access_t access) {
    ptx_traffic_t *t = w->run->launch->traffic;
    ptx_shared_traffic_t *s = access == ACCESS_READ ? &t->shared_load : &t->shared_store;
    ptx_line_traffic_t *line = line_of(t, in);
    const uint32_t lanes = bytes <= WORD ? LANES : bytes <= 2 * WORD ? LANES / 2 : LANES / 4;
    uint32_t all = 0, ideal = 0;
    for (uint32_t first = 0; first < LANES; first += lanes) {
        const uint32_t phase = mask & ALL_LANES >> (LANES - lanes) << first;
        if (!phase) continue;
        all += wavefronts(phase, at, bytes, access == ACCESS_ATOMIC);
        ++ideal;
    }
    ++s->requests;
    s->lanes += count_lanes(mask);
    s->asked += (int64_t)count_lanes(mask) * bytes;
    s->wavefronts += all;
    s->ideal += ideal;
    if (!line) return;
    ++line->shared_requests;
    line->wavefronts += all;
    line->ideal += ideal;
}

/* ---- Any ----------------------------------------------------------------------------------------------- */

/* The lanes whose generic addresses lie in [first, end). */
static uint32_t lanes_in(uint32_t mask, const uint64_t at[LANES], uint64_t first, uint64_t end) {
    uint32_t in = 0;
    for (int i = 0; i < LANES; ++i) in |= (uint32_t)(at[i] >= first && at[i] < end) << i;
    return in & mask;
}

void ptx_count(const warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES], uint32_t bytes,
               access_t access) {
    uint32_t shared = 0, local = 0, global = 0;
    uint64_t size[LANES];
    switch (in->space) {
    case SPACE_GENERIC:
        shared = lanes_in(mask, at, PTX_SHARED_WINDOW, PTX_LOCAL_WINDOW);
        local = lanes_in(mask, at, PTX_LOCAL_WINDOW, PTX_PARAM_WINDOW);
        global = mask & ~shared & ~local & ~lanes_in(mask, at, PTX_PARAM_WINDOW, PTX_MODULE_WINDOW);
        break;
    case SPACE_GLOBAL: global = mask; break;
    case SPACE_SHARED: shared = mask; break;
    case SPACE_LOCAL: local = mask; break;
    default: break;
    }
    w->run->launch->traffic->local += count_lanes(local);
    if (shared) count_shared(w, in, shared, at, bytes, access);
    if (!global) return;
    for (int i = 0; i < LANES; ++i) size[i] = bytes;
    count_global(w, in, global, at, size, access != ACCESS_READ);
}

/* cp.async: lanes read `size` bytes and write as many as the instruction says. */
void ptx_count_copy(const warp_t *w, const insn_t *in, uint32_t mask, const uint64_t to[LANES],
                    const uint64_t from[LANES], const uint64_t size[LANES]) {
    count_global(w, in, mask, from, size, false);
    count_shared(w, in, mask, to, in->vec, ACCESS_WRITE);
}
